"""Maps a split with another vocabulary to a model's own tokens and answers.

Such are test sets from other templates, CLOSURE's for one: their functions and answers are the same and their
words mostly so, but the indices differ.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_reader import SuiteReader
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import DatasetError
from clevrhope.training.data import Split

_PADDING, _UNKNOWN = SPECIAL_TOKENS.index("<NULL>"), SPECIAL_TOKENS.index("<UNK>")
_MISSING = -1


class MappedSplit:
    """A split in the indices of another vocabulary; words that this one lacks become <UNK>.

    Attributes:
        unknown: these words, sorted.
    """

    def __init__(
        self, split: Split, *, there: Vocab, here: Vocab, place: str, may_lack: bool = False
    ) -> None:
        """Reads all rows.

        Args:
            split: in the indices of `there`.
            there: the dataset's vocabulary.
            here: the model's vocabulary.
            place: names the split in messages.
            may_lack: whether the model may lack answers and functions. A question with such an answer has
                the answer <UNK>, which no model gives. A program with such a function is replaced by the
                equivalent in CLEVR's functions that the split has of it; without one, it is empty, and models
                that read programs have no answer.

        Raises:
            DatasetError: an answer or a function that the model's vocabulary lacks, unless it may.
        """
        self._split = split
        self.hop, self.split, self.pool = split.hop, split.split, split.pool
        self.image_idxs, self.question_families = split.image_idxs, split.question_families
        self.question_lengths, self.program_lengths = split.question_lengths, split.program_lengths
        blocks = [(questions, programs) for _, questions, programs in split.blocks()]
        questions = np.concatenate([each for each, _ in blocks])
        programs = np.concatenate([each for _, each in blocks])
        words = _table(there.questions(), here.question_token_to_idx)
        self.unknown = sorted(
            there.questions()[word] for word in np.unique(questions).tolist() if words[word] == _MISSING
        )
        self._questions: Ints = np.where(words == _MISSING, _UNKNOWN, words).astype(np.int32)[questions]
        functions = _table(there.programs(), here.program_token_to_idx)[programs]
        answers = _table(there.answers(), here.answer_token_to_idx)[split.answers]
        if not may_lack:
            _check_known(functions, programs, there.programs(), "function", place)
            _check_known(answers, split.answers, there.answers(), "answer", place)
        if isinstance(split, SuiteReader):
            functions, self.program_lengths = _with_equivalents(functions, split, there, here)
        lacks_function = (functions == _MISSING).any(axis=1)
        self._programs: Ints = np.where(lacks_function[:, np.newaxis], _PADDING, functions).astype(np.int32)
        self.answers: Ints = np.where(answers == _MISSING, _UNKNOWN, answers).astype(np.int32)

    def __len__(self) -> int:
        return len(self.answers)

    def sentences(self) -> Sequence[str]:
        """The sentences of the split, with the words that the model's vocabulary lacks."""
        return self._split.sentences()

    def blocks(self) -> Iterator[tuple[int, Ints, Ints]]:
        """All rows in one block, in the form of `Split.blocks`."""
        yield 0, self._questions, self._programs


def _with_equivalents(functions: Ints, split: SuiteReader, there: Vocab, here: Vocab) -> tuple[Ints, Ints]:
    """Mapped programs (N, P), those with a missing function in CLEVR's functions, and their lengths (N,)."""
    equivalents = _table(there.programs(), here.program_token_to_idx)[split.clevr_programs]
    has_one = (split.clevr_programs != _PADDING).any(axis=1)
    replaced = (functions == _MISSING).any(axis=1) & has_one
    n_more = equivalents.shape[1] - functions.shape[1]
    functions = np.pad(functions, ((0, 0), (0, max(n_more, 0))), constant_values=_PADDING)
    equivalents = np.pad(equivalents, ((0, 0), (0, max(-n_more, 0))), constant_values=_PADDING)
    lengths = np.where(replaced, np.count_nonzero(equivalents != _PADDING, axis=1), split.program_lengths)
    return np.where(replaced[:, np.newaxis], equivalents, functions), lengths.astype(np.int32)


def _table(names: list[str], indices: Mapping[str, int]) -> Ints:
    return np.asarray([indices.get(name, _MISSING) for name in names], dtype=np.int32)


def _check_known(mapped: Ints, tokens: Ints, names: list[str], what: str, place: str) -> None:
    """Checks that all tokens, whose names are those of the dataset, have numbers of the model's.

    Raises:
        DatasetError: one has none.
    """
    if (mapped == _MISSING).any():
        name = names[int(tokens[mapped == _MISSING].flat[0])]
        raise DatasetError(
            f'{place}: the {what} "{name}" is in it, which the model does not know; evaluate on a dataset of '
            "the same world"
        )
