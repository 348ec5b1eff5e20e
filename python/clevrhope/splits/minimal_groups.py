"""Groups of minimal sets: one question about images that differ in the values of the pair's types alone.

The first of them is the one to which yes is right. A model that always says no has an accuracy of 75% on
groups of four, but no group of which all answers are right.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]


class Groups(NamedTuple):
    """The G groups of a minimal set's N questions."""

    first: npt.NDArray[np.int64]
    """(G,) the row of the first question of each."""
    size: npt.NDArray[np.int64]
    """(G,) the number of questions, and so of images, of each."""

    def all_of(self, flags: Flags) -> Flags:
        """(..., G) whether all questions of each group have a flag, from (..., N) flags."""
        found: Flags = np.logical_and.reduceat(flags, self.first, axis=-1)
        return found


def groups_of(is_yes: Flags) -> Groups:
    """The groups, from (N,) whether yes is the right answer to each question."""
    first = np.flatnonzero(is_yes | (np.arange(len(is_yes)) == 0))
    return Groups(first, np.diff(np.append(first, len(is_yes))))
