"""Counts by group, the shares computed from them, and the bootstrap intervals of these shares over images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.bootstrap import Floats, interval, resample
from clevrhope.metrics.pairs.relations import Flags
from clevrhope.metrics.pairs.results import Measure

Counted = Flags | npt.NDArray[np.int8]


@dataclass(frozen=True)
class Share:
    """Shares in [0, 1] or differences of two shares, and their denominators, as arrays of one shape."""

    value: Floats
    """NaN where the denominator is 0."""
    n: Floats

    def measure(self, drawn: "Share") -> Measure:
        """The mean over the runs that define it, from (R,) shares and (n_samples, R) bootstrap samples."""
        n = int(self.n.sum())
        defined = ~np.isnan(self.value)
        if not defined.any():
            return Measure(None, n)
        found = self.value[defined]
        return Measure(
            value=100 * float(found.mean()),
            n=n,
            interval=interval(100 * drawn.value[:, defined].mean(axis=1)) if len(drawn.value) else None,
            deviation=100 * float(found.std(ddof=1)) if len(found) > 1 else None,
        )


def cell_counts(columns: Sequence[Counted], cells: Ints, n_cells: int) -> Floats:
    """(n_cells, C) sums of C columns over the items in each cell; columns and `cells` are (N,)."""
    return np.stack([np.bincount(cells, each, minlength=n_cells) for each in columns], axis=1)


@dataclass(frozen=True)
class Images:
    """The M images of N questions or pairs, of which the bootstrap draws M with replacement."""

    at: Ints
    """(N,) which of the M images each question or pair is about; -1 if no run answered it."""
    n_images: int
    n_samples: int
    seed: int

    @classmethod
    def among(cls, images: Ints, answered: Flags, *, n_samples: int, seed: int) -> "Images":
        """The images of the answered questions; `images` and `answered` are (N,)."""
        places = np.full(len(images), -1, dtype=np.int32)
        if not n_samples:
            return cls(places, 0, n_samples, seed)
        numbers, places[answered] = np.unique(images[answered], return_inverse=True)
        return cls(places, len(numbers), n_samples, seed)

    def drawn_counts(self, runs: Sequence[Sequence[Flags]], part: Ints, n_parts: int) -> Floats:
        """(n_samples, R, n_parts, C) counts as from `cell_counts`, over the drawn images.

        Every call draws the same images.

        Args:
            runs: for each of R runs, C columns of N flags.
            part: (N,) the part of each.
            n_parts: number of parts.
        """
        n_columns = len(runs[0])
        shape = (self.n_samples, len(runs), n_parts, n_columns)
        if not (self.n_images and self.n_samples):
            return np.zeros(shape)
        there = self.at >= 0
        cells = self.at[there].astype(np.int64) * n_parts + part[there]
        sums = [
            cell_counts([each[there] for each in columns], cells, self.n_images * n_parts).reshape(
                self.n_images, n_parts * n_columns
            )
            for columns in runs
        ]
        drawn = resample(np.concatenate(sums, axis=1), n_samples=self.n_samples, seed=(self.seed, *b"pairs"))
        return drawn.reshape(shape)


@dataclass(frozen=True)
class RunCounts:
    """Counts of C flags in R runs, over all questions and over each bootstrap draw of the images."""

    found: Floats
    """(R, C)"""
    drawn: Floats
    """(n_samples, R, C)"""

    @classmethod
    def of(cls, images: Ints, runs: Sequence[Sequence[Flags]], *, n_samples: int, seed: int) -> "RunCounts":
        """Counts flags; `images` is (N,), and `runs` has C columns of N flags for each of R runs.

        The first column says which questions a run answered. Images whose questions no run answered are not
        drawn.
        """
        answered = np.any([columns[0] for columns in runs], axis=0)
        whole = np.zeros(len(images), dtype=np.int32)
        among = Images.among(images, answered, n_samples=n_samples, seed=seed)
        return cls(
            found=np.stack([cell_counts(columns, whole, 1)[0] for columns in runs]),
            drawn=among.drawn_counts(runs, whole, 1)[:, :, 0],
        )

    def measures(self, runs: slice, shares: Callable[[Floats], Mapping[str, Share]]) -> dict[str, Measure]:
        """The measures of the given runs by name; `shares` computes them from (..., C) counts."""
        drawn = shares(self.drawn[:, runs])
        return {name: share.measure(drawn[name]) for name, share in shares(self.found[runs]).items()}
