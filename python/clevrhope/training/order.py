"""The order of a run's questions, which follows from its seed, and the run's position in it."""

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Position:
    """A run's position in its data: batch `index` of epoch `epoch` comes next. Stages start new epochs."""

    epoch: int = 0
    index: int = 0

    def after(self, batches_an_epoch: int) -> "Position":
        """The position after the next batch."""
        if self.index + 1 == batches_an_epoch:
            return Position(self.epoch + 1)
        return Position(self.epoch, self.index + 1)


def permutation(seed: int, epoch: int, n: int) -> npt.NDArray[np.int64]:
    """(n,) int64 order of the questions in an epoch.

    Questions are sorted by the raw numbers of a bit generator, which numpy keeps the same in all versions,
    unlike `shuffle`.
    """
    return np.argsort(np.random.PCG64([seed, epoch]).random_raw(n), kind="stable")


def derived_seed(seed: int, what: str) -> int:
    """A 63-bit seed of torch's generators for a part of a run."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{what}".encode()).digest()[:8], "big") >> 1
