"""The scenes of each pool in the form that the audit needs, read once for all pairs."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditScenes, Vocabulary
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import read_plainly
from clevrhope.dataset.split_files import Value
from clevrhope.errors import DatasetError, SceneError

Rows = npt.NDArray[np.int64]
"""Positions of scenes in a pool's files; -1 for a scene that the files do not have."""

MISSING = -1


class PoolScenes:
    """The S scenes of a pool, in the order of its files."""

    def __init__(self, layout: Layout, pool: str, vocabulary: Vocabulary, sums: Mapping[str, str]) -> None:
        """Reads the pool's scene files.

        Args:
            layout: the dataset's layout.
            pool: the name of the pool.
            vocabulary: the dataset's vocabulary.
            sums: checksums of images, by file name.

        Raises:
            DatasetError: a file is not a scene file.
        """
        self.name = pool
        self.types = vocabulary.attribute_types
        """Attribute types and their values, by number."""
        try:
            self.native = AuditScenes.read(vocabulary, layout.scene_files(pool))
        except SceneError as error:
            raise DatasetError(str(error)) from error
        self.indices: Rows = self.native.indices
        """(S,) the scenes' indices in the pool."""
        self.filenames: list[str] = self.native.filenames
        self.places: npt.NDArray[np.uint64] = self.native.places
        """(S,) digests, equal for scenes whose objects have the same positions and rotations."""
        self._order = np.argsort(self.indices, kind="stable")
        self._sorted = self.indices[self._order]
        self._sums = sums
        self._holding: dict[tuple[Value, ...], npt.NDArray[np.bool_]] = {}

    def __repr__(self) -> str:
        return f"<{len(self.indices):,} scenes of {self.name}>"

    def twice(self) -> list[int]:
        """Indices that several scenes share."""
        repeated: list[int] = np.unique(self._sorted[1:][self._sorted[1:] == self._sorted[:-1]]).tolist()
        return repeated

    def rows(self, image_idxs: npt.NDArray[np.integer[Any]]) -> Rows:
        """(N,) the row of each scene; `MISSING` for one that is not in the files."""
        if not len(self._sorted):
            return np.full(len(image_idxs), MISSING, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._sorted, image_idxs), len(self._sorted) - 1)
        return np.where(self._sorted[at] == image_idxs, self._order[at], MISSING)

    def holding(self, values: Sequence[Value]) -> npt.NDArray[np.bool_]:
        """(S,) whether some object in the scene has all these values."""
        key = tuple(values)
        if key not in self._holding:
            self._holding[key] = self.native.holding(list(key))
        return self._holding[key]

    @cached_property
    def marks(self) -> Sequence[npt.NDArray[Any]]:
        """What no two images may share, (S,) each: looks, file names, and checksums if they are known."""
        sums = [self._sums.get(name, name) for name in self.filenames]
        names, of_files = (np.asarray([*map(hash, each)], np.int64) for each in (self.filenames, sums))
        return self.native.looks, names, of_files


class Pools:
    """The pools of a folder, each read at its first use; threads can share them."""

    def __init__(self, layout: Layout, vocabulary: Vocabulary) -> None:
        self._layout = layout
        self._vocabulary = vocabulary
        self._pools: dict[str, PoolScenes] = {}
        self._lock = RLock()
        self._twins: dict[tuple[str, str], list[tuple[int, int]]] = {}

    def __getitem__(self, pool: str) -> PoolScenes:
        with self._lock:
            if pool not in self._pools:
                self._pools[pool] = PoolScenes(self._layout, pool, self._vocabulary, self._sums)
            return self._pools[pool]

    def twins(self, a: str, b: str) -> list[tuple[int, int]]:
        """Pairs of rows of a and b whose images share a mark, in the order of b."""
        with self._lock:
            if (a, b) not in self._twins:
                both = zip(self[a].marks, self[b].marks, strict=True)
                found = {pair for mine, theirs in both for pair in _equal(mine, theirs)}
                self._twins[a, b] = sorted(found, key=lambda pair: (pair[1], pair[0]))
            return self._twins[a, b]

    @cached_property
    def _sums(self) -> Mapping[str, str]:
        """The checksum of each PNG file in the manifest, by file name; empty before there is a manifest."""
        return {
            name.rpartition("/")[2]: each["sha256"]
            for name, each in read_plainly(self._layout.manifest).get("files", {}).items()
            if name.startswith("images/") and name.endswith(".png")
        }


def _equal(mine: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> list[tuple[int, int]]:
    """Pairs of positions whose marks are equal."""
    common = np.intersect1d(mine, theirs)
    if not len(common):
        return []
    places: dict[Any, list[int]] = {mark: [] for mark in common.tolist()}
    for place in np.flatnonzero(np.isin(mine, common)).tolist():
        places[mine[place].item()].append(place)
    shared = np.flatnonzero(np.isin(theirs, common)).tolist()
    return [(place, other) for other in shared for place in places[theirs[other].item()]]
