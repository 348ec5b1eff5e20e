"""The questions of a split in memory, with the interface that a `SplitReader` has for a file."""

import numpy as np

from clevrhope.dataset.questions_h5 import Ints, QuestionRows


class MemorySplit:
    """A split whose rows were generated, not read; its tokens may have a narrower dtype than a file's."""

    def __init__(self, rows: QuestionRows, *, hop: str, split: str, pool: str) -> None:
        self.hop, self.split, self.pool = hop, split, pool
        self.answers, self.image_idxs = rows.answers, rows.image_idxs
        self.question_families = rows.question_families
        self.question_lengths, self.program_lengths = rows.question_lengths, rows.program_lengths
        self._questions, self._programs = rows.questions, rows.programs

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        return f"<{len(self):,} questions of {self.hop}/{self.split}>"

    def tokens(self, first: int, n: int = 1) -> tuple[Ints, Ints]:
        """Questions (n, Q) and programs (n, P), int32 tokens, from question `first` on."""
        rows = slice(first, first + n)
        return self._questions[rows].astype(np.int32), self._programs[rows].astype(np.int32)
