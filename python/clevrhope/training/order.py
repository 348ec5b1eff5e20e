"""A seed and an epoch in, the order of its questions out; an update's place in all of them."""

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Position:
    """Where a run is in its data: batch `index` of epoch `epoch` comes next. Stages begin epochs."""

    epoch: int = 0
    index: int = 0

    def after(self, batches_an_epoch: int) -> "Position":
        """The place behind the next batch."""
        if self.index + 1 == batches_an_epoch:
            return Position(self.epoch + 1)
        return Position(self.epoch, self.index + 1)


def permutation(seed: int, epoch: int, n: int) -> npt.NDArray[np.int64]:
    """(n,) the questions' order in an epoch.

    Sorted by the raw numbers of a bit generator: numpy promises those in all versions, and `shuffle` not.
    """
    return np.argsort(np.random.PCG64([seed, epoch]).random_raw(n), kind="stable")


def derived_seed(seed: int, what: str) -> int:
    """A seed of torch's generators (63 bits) for a part of a run."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{what}".encode()).digest()[:8], "big") >> 1
