"""The order of a run's questions, which depends on its seed alone."""

import hashlib
from collections.abc import Iterator
from itertools import count

import numpy as np
import numpy.typing as npt


def permutation(seed: int, epoch: int, n: int) -> npt.NDArray[np.int64]:
    """(n,) int64 order of the questions in an epoch.

    Questions are sorted by the raw output of a bit generator, which is the same in all versions of numpy,
    unlike `shuffle`.
    """
    return np.argsort(np.random.PCG64([seed, epoch]).random_raw(n), kind="stable")


def batch_rows(
    seed: int, n: int, size: int, *, epoch: int = 0, n_made: int = 0
) -> Iterator[npt.NDArray[np.int64]]:
    """(size,) int64 rows of each batch of n questions, without end; an epoch's partial last batch is dropped.

    Begins with the batch after the first `n_made` since the start of `epoch`.
    """
    n_batches = n // size
    n_epochs, first = divmod(n_made, n_batches)
    for each in count(epoch + n_epochs):
        order = permutation(seed, each, n)
        yield from (order[k * size : (k + 1) * size] for k in range(first, n_batches))
        first = 0


def derived_seed(seed: int, what: str) -> int:
    """A 63-bit seed for one part of a run, such as its weights."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{what}".encode()).digest()[:8], "big") >> 1
