"""The two sides of each pair in a suite's file: which rows are from the split, and which were generated."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.split_files import PairArrays

Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sides:
    """The K pairs of a file; an odd row at its end belongs to no pair.

    Attributes:
        given: (K,) rows of the split's own questions, or of the original if the suite searched for it.
        made: (K,) rows of the other questions.
        originals: (K,) rows of the split's questions in its own file; -1 unless a pair has exactly one.
        swapped: (K,) whether the split's question is the pair's partner.
        searched: (K,) whether the suite made both questions.
        own: (N,) rows of all questions that the suite made, in order.
    """

    given: Places
    made: Places
    originals: Places
    swapped: Flags
    searched: Flags
    own: Places

    @classmethod
    def of(cls, arrays: PairArrays) -> "Sides":
        """Finds the sides by `orig_idxs`, which is -1 for a question that the suite made."""
        n = len(arrays) // 2
        numbers = arrays.columns["orig_idxs"][: 2 * n].reshape(n, 2).astype(np.int64)
        is_given = numbers >= 0
        swapped = is_given[:, 1] & ~is_given[:, 0]
        first = 2 * np.arange(n)
        originals = np.where(is_given.sum(axis=1) == 1, numbers.max(axis=1, initial=-1), -1)
        searched = ~is_given.any(axis=1)
        given, made = first + swapped, first + 1 - swapped
        own = np.sort(np.concatenate([made, given[searched]]))
        return cls(given, made, originals, swapped, searched, own)

    def numbers(self, arrays: PairArrays) -> Places:
        """(K,) a number for each original: its row, or a number below -1 if it was searched for.

        The number is -1 if a pair has no original.
        """
        numbers = self.originals.copy()
        searched = np.flatnonzero(self.searched)
        if len(searched):
            questions, programs = (arrays.tokens(name, 0, len(arrays)) for name in ("questions", "programs"))
            images, known = arrays.columns["image_idxs"], dict[tuple[int, bytes, bytes], int]()
            for k, row in zip(searched.tolist(), self.given[searched].tolist(), strict=True):
                asked = (int(images[row]), questions[row].tobytes(), programs[row].tobytes())
                numbers[k] = known.setdefault(asked, -2 - len(known))
        return numbers

    def column(self, arrays: PairArrays, name: str) -> npt.NDArray[Any]:
        """(K, 2) a column of the file, the two questions of a pair side by side."""
        n = len(self.given)
        return arrays.columns[name][: 2 * n].reshape(n, 2)
