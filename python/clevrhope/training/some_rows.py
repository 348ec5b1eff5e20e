"""Some of the rows of a split, in the form of a split: what a run is trained or tuned on in place of all."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.training.data import Split


class SomeRows:
    """Rows of a split, in their order, in the form of `Split`."""

    def __init__(self, split: Split, rows: npt.NDArray[np.int64]) -> None:
        """Reads all rows and keeps those with these numbers."""
        self._all, self._rows = split, rows
        self.hop, self.split, self.pool = split.hop, split.split, split.pool
        blocks = [(questions, programs) for _, questions, programs in split.blocks()]
        self._questions: Ints = np.concatenate([each for each, _ in blocks])[rows]
        self._programs: Ints = np.concatenate([each for _, each in blocks])[rows]
        self.answers, self.image_idxs = split.answers[rows], split.image_idxs[rows]
        self.question_families = split.question_families[rows]
        self.question_lengths = split.question_lengths[rows]
        self.program_lengths = split.program_lengths[rows]

    def __len__(self) -> int:
        return len(self.answers)

    def sentences(self) -> list[str]:
        """The sentences of the rows."""
        sentences = self._all.sentences()
        return [sentences[row] for row in self._rows]

    def blocks(self) -> Iterator[tuple[int, Ints, Ints]]:
        """All rows in one block, in the form of `Split.blocks`."""
        yield 0, self._questions, self._programs
