"""The order of questions: of a run, by its seed alone, and of a stream, window by window."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from clevrhope.config.presets import WINDOW
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError

Numbers = npt.NDArray[np.int64]


def permutation(seed: int, epoch: int, n: int) -> Numbers:
    """(n,) int64 order of the questions in an epoch.

    Questions are sorted by the raw output of a bit generator, which is the same in all versions of numpy,
    unlike `shuffle`.
    """
    return np.argsort(np.random.PCG64([seed, epoch]).random_raw(n), kind="stable")


def batch_rows(seed: int, n: int, size: int, *, epoch: int = 0, n_made: int = 0) -> Iterator[Numbers]:
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


@dataclass(frozen=True)
class Share:
    """The part of the windows that a process goes through; in the main process `n_workers` is 0."""

    rank: int = 0
    world_size: int = 1
    worker: int = 0
    n_workers: int = 0

    def of_rank(self, windows: Numbers) -> Numbers:
        """The windows of all workers of the rank."""
        return windows[self.rank :: self.world_size]

    def of(self, windows: Numbers) -> Numbers:
        """The windows of the process."""
        return self.of_rank(windows)[self.worker :: max(1, self.n_workers)]

    def check(self, now: "Share") -> None:
        """Checks that a state of this part is resumed by the same one; raises ConfigError if not."""
        if self != now:
            raise ConfigError(f"state: taken in {self}, not in {now}; resume with as many ranks and workers")

    def __str__(self) -> str:
        process = f"worker {self.worker} of {self.n_workers}" if self.n_workers else "the main process"
        return f"{process} on rank {self.rank} of {self.world_size}"


def window_bounds(image_idxs: Ints, group: int) -> Numbers:
    """(windows + 1,) int64: the first question of each window of 250 images, and the number of questions.

    Args:
        image_idxs: (N,) the image of each question.
        group: number of images that belong together; their questions are consecutive and in one window.
    """
    groups = image_idxs // group
    is_new = np.diff(groups, prepend=groups[:1]) != 0
    number = np.cumsum(is_new) // (WINDOW // group)
    return np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1, [len(image_idxs)]])


@dataclass(frozen=True)
class Order:
    """The order of windows and questions: the split's own, or one that a seed gives for each epoch."""

    shuffle: int | None
    buffer: int
    """Windows whose questions are shuffled together."""

    def windows(self, n: int, epoch: int) -> Numbers:
        """(n,) int64: all windows, in the order of an epoch."""
        if self.shuffle is None:
            return np.arange(n)
        return permutation(derived_seed(self.shuffle, "windows"), epoch, n)

    def pieces(self, windows: Numbers, bounds: Numbers, epoch: int) -> Iterator[tuple[list[int], Numbers]]:
        """Windows that are opened together, and the order of their questions."""
        n = 1 if self.shuffle is None else self.buffer
        for begin in range(0, len(windows), n):
            together = windows[begin : begin + n].tolist()
            rows = np.concatenate([np.arange(bounds[each], bounds[each + 1]) for each in together])
            if self.shuffle is not None:
                seed = derived_seed(self.shuffle, f"questions of window {together[0]} and the next")
                rows = rows[permutation(seed, epoch, len(rows))]
            yield together, rows
