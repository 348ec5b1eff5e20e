"""A split of a dataset with another vocabulary in, the same questions in a model's own numbers out.

Such are test sets from other templates, CLOSURE's for one: the same functions and answers, and mostly the
same words, in other numbers.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import DatasetError
from clevrhope.training.data import Split

_UNKNOWN = SPECIAL_TOKENS.index("<UNK>")
_NOWHERE = -1


class Renumbered:
    """A split in the numbers of another vocabulary; words that this one does not have become <UNK>.

    Attributes:
        unknown: these words, sorted.
    """

    def __init__(self, split: Split, *, there: Vocab, here: Vocab, place: str) -> None:
        """Reads all rows.

        Args:
            split: in the numbers of `there`.
            there: the dataset's vocabulary.
            here: the model's.
            place: what to name in messages.

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
            there.questions()[word] for word in np.unique(questions).tolist() if words[word] == _NOWHERE
        )
        self._questions: Ints = np.where(words == _NOWHERE, _UNKNOWN, words).astype(np.int32)[questions]
        self._programs = _known(programs, there.programs(), here.program_token_to_idx, "function", place)
        self.answers = _known(split.answers, there.answers(), here.answer_token_to_idx, "answer", place)

    def __len__(self) -> int:
        return len(self.answers)

    def blocks(self) -> Iterator[tuple[int, Ints, Ints]]:
        """All rows at once, as `Split` has them."""
        yield 0, self._questions, self._programs


def _table(names: list[str], numbers: Mapping[str, int]) -> Ints:
    return np.asarray([numbers.get(name, _NOWHERE) for name in names], dtype=np.int32)


def _known(tokens: Ints, names: list[str], numbers: Mapping[str, int], what: str, place: str) -> Ints:
    table = _table(names, numbers)
    found: Ints = table[tokens]
    if (found == _NOWHERE).any():
        name = names[int(tokens[found == _NOWHERE].flat[0])]
        raise DatasetError(
            f'{place}: the {what} "{name}" is in it, which the model was never told of; evaluate on a '
            "dataset of the same world"
        )
    return found
