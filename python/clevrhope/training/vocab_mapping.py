"""Maps a split with another vocabulary to a model's own tokens and answers.

Such are test sets from other templates, CLOSURE's for one: their functions and answers are the same and their
words mostly so, but the indices differ.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import DatasetError
from clevrhope.training.data import Split

_UNKNOWN = SPECIAL_TOKENS.index("<UNK>")
_MISSING = -1


class MappedSplit:
    """A split in the indices of another vocabulary; words that this one lacks become <UNK>.

    Attributes:
        unknown: these words, sorted.
    """

    def __init__(self, split: Split, *, there: Vocab, here: Vocab, place: str) -> None:
        """Reads all rows.

        Args:
            split: in the indices of `there`.
            there: the dataset's vocabulary.
            here: the model's vocabulary.
            place: names the split in messages.

        Raises:
            DatasetError: an answer or a function that the model's vocabulary lacks.
        """
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
        self._programs = _mapped(programs, there.programs(), here.program_token_to_idx, "function", place)
        self.answers = _mapped(split.answers, there.answers(), here.answer_token_to_idx, "answer", place)

    def __len__(self) -> int:
        return len(self.answers)

    def blocks(self) -> Iterator[tuple[int, Ints, Ints]]:
        """All rows in one block, in the form of `Split.blocks`."""
        yield 0, self._questions, self._programs


def _table(names: list[str], indices: Mapping[str, int]) -> Ints:
    return np.asarray([indices.get(name, _MISSING) for name in names], dtype=np.int32)


def _mapped(tokens: Ints, names: list[str], indices: Mapping[str, int], what: str, place: str) -> Ints:
    mapped: Ints = _table(names, indices)[tokens]
    if (mapped == _MISSING).any():
        name = names[int(tokens[mapped == _MISSING].flat[0])]
        raise DatasetError(
            f'{place}: the {what} "{name}" is in it, which the model does not know; evaluate on a dataset of '
            "the same world"
        )
    return mapped
