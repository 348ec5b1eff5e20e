"""Makes feature stores, block by block, so that a killed run can be resumed."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.binding import difference
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.features.dataset_folder import BuiltDataset
from clevrhope.features.extractor import Array, ArraySpec, Extractor, ExtractorOptions
from clevrhope.features.kinds import make_extractor
from clevrhope.features.source import DIGEST_BYTES, Batches, Block, PoolSource
from clevrhope.features.store import (
    FOLDER,
    STORE_FORM,
    PoolFeatures,
    StoreInfo,
    map_array,
    map_pool,
    read_info,
)
from clevrhope.runtime.atomic import OWN_PREFIX, WorkingFolder, disk_errors, sync_folder, write_whole
from clevrhope.runtime.forms import check_form
from clevrhope.runtime.json_text import as_json_values, read_object
from clevrhope.runtime.lock import locked
from clevrhope.runtime.paths import check_links
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import check_known
from clevrhope.runtime.threads import map_in_threads

STORE = "store.json"
"""File with a store's kind and dataset, written before its first features."""

BLOCK = 256
"""Images that are read and made at a time: the most that a resumed run computes again."""

_OWN_ARRAYS = frozenset({"indices", "sums"})
"""Arrays that every pool has, besides those of the kind."""


@dataclass(frozen=True)
class FeatureSummary:
    """The result of `make_features`.

    Attributes:
        folder: the store's folder.
        kind: kind of features.
        pools: pool -> its number of images.
        n_made: rows computed by this call; the others were already in the store.
        n_bytes: size of all arrays in bytes.
        note: as in `StoreInfo`.
        n_skipped: suites' images that were edited pixel by pixel, which are left out of features that read
            scenes.
    """

    folder: Path
    kind: str
    pools: Mapping[str, int]
    n_made: int
    n_bytes: int
    note: str | None
    n_skipped: int = 0


def make_features(
    dataset: Path | str,
    *,
    kind: str,
    size: tuple[int, int] | Literal["image"] | None = None,
    weights: Path | str | None = None,
    out: Path | None = None,
    pools: Sequence[str] | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> FeatureSummary:
    """Makes a dataset's features of a kind, or adds those of images that were added since.

    Args:
        dataset: the folder of a finished dataset.
        kind: a name in `KINDS`, or "package.module:Class".
        size: width and height to which images are resized; "image" for their own, None for the kind's
            default.
        weights: a local file of the backbone's weights, or "random" for the kinds that allow it; for a custom
            class, whatever it accepts.
        out: the store's folder; None for `features/<kind><suffix>` below the dataset, where the kind of a
            custom class is the class's name.
        pools: pools to make features of; None for all.
        device: where a backbone runs.
        progress: displays progress.

    Raises:
        ConfigError: there is no such kind or pool, or there are no weights; an option does not apply to the
            kind; or a custom class returns something else than it declares.
        DatasetError: the dataset is not finished or lacks images, or `out` holds another store.
    """
    folder = BuiltDataset(Path(dataset))
    extractor = make_extractor(kind, _options(folder, size, weights, device))
    info = _store_info(kind, extractor, folder)
    own = f"{FOLDER}/{kind.rpartition(':')[2]}{extractor.suffix}"
    store = out or folder.root / own
    if out is None:
        check_links(folder.root, (own,), deep=False)
    known = folder.pools()
    check_known(pools or (), known, f"{folder.root}: no pool")
    n_made = 0
    with locked(store, known):
        is_new = _check_bound(store, info)
        sources = {
            pool: PoolSource(folder, pool, extractor) for pool in known if pools is None or pool in pools
        }
        batches = Batches(kind, extractor, device=device)
        writers = [_PoolWriter(store / pool, source, info, batches) for pool, source in sources.items()]
        if is_new:
            write_whole(store / STORE, (json.dumps(info.as_json(), indent=2) + "\n").encode())
        total = sum(len(each.indices) for each in sources.values())
        with (progress or Silent()).stage(f"Features of kind {kind}", total=total, unit="images") as advance:
            for pool, writer in zip(sources, writers, strict=True):
                for n_rows, n_new in writer.make(
                    folder.digest(pool, images=info.of_images, scenes=info.of_scenes)
                ):
                    n_made += n_new
                    advance(n_rows - n_new, there=True)
                    advance(n_new)
    return FeatureSummary(
        folder=store,
        kind=kind,
        pools={pool: len(each.indices) for pool, each in sources.items()},
        n_made=n_made,
        n_bytes=sum(path.stat().st_size for path in store.glob("*/*.npy")),
        note=info.note,
        n_skipped=sum(each.n_skipped for each in sources.values()),
    )


def _store_info(kind: str, extractor: Extractor, folder: BuiltDataset) -> StoreInfo:
    """The content of store.json for an extractor's features of a dataset.

    Raises:
        ConfigError: an attribute of the extractor has another form.
    """
    place = f'features "{kind}"'
    size = extractor.size
    info = StoreInfo(
        kind=kind,
        reads=extractor.reads,
        options={**extractor.options, **({} if size is None else {"width": size[0], "height": size[1]})},
        arrays=extractor.arrays,
        weights=extractor.weights,
        code=extractor.code,
        note=extractor.note,
        dataset=folder.described(images="image" in extractor.reads),
    )
    try:
        content = as_json_values(info.as_json())
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{place}: its options cannot be written as JSON ({error})") from error
    check_form(content, STORE_FORM, place, error=ConfigError)
    if not info.arrays or _OWN_ARRAYS & set(info.arrays):
        raise ConfigError(f"{place}: its arrays need names, other than {' and '.join(sorted(_OWN_ARRAYS))}")
    return info


def _options(
    folder: BuiltDataset,
    size: tuple[int, int] | Literal["image"] | None,
    weights: Path | str | None,
    device: str,
) -> ExtractorOptions:
    image_size = _image_size(folder)
    if size == "image":
        if image_size is None:
            raise ConfigError(
                f"{folder.root}: no images, so their size is unknown; build it without --no-render"
            )
        size = image_size
    world = folder.manifest.world
    limits = world["constraints"]
    raster = (limits["width"], limits["height"])
    return ExtractorOptions(
        size, weights, device, world["attributes"], raster, limits["max_objects"], image_size
    )


def _image_size(folder: BuiltDataset) -> tuple[int, int] | None:
    """Width and height of the dataset's first image; all images of a dataset have one size."""
    for pool in folder.pools():
        indices = folder.image_indices(pool)[:1]
        if len(indices) and (images := folder.images(pool, indices)) is not None:
            height, width = images.pixels(int(indices[0])).shape[:2]
            return width, height
    return None


def _check_bound(folder: Path, info: StoreInfo) -> bool:
    """Checks that a folder is empty or holds a store with the same store.json; True if it is empty."""
    path = folder / STORE
    if not os.path.lexists(path):
        others = [each.name for each in folder.iterdir() if not each.name.startswith(".")]
        if others:
            raise DatasetError(f"{folder}: not a feature store: {others[0]} is in it; choose another --out")
        return True
    there, here = (as_json_values(each.as_json()) for each in (read_info(folder), info))
    if there != here:
        raise DatasetError(
            f"{folder}: another feature store is there ({difference(there, here)}); remove it, or choose "
            "another --out"
        )
    return False


class _PoolWriter:
    """Makes a pool's arrays in a hidden folder, which is renamed when it is complete."""

    def __init__(self, folder: Path, source: PoolSource, info: StoreInfo, batches: Batches) -> None:
        """Makes nothing yet; raises a DatasetError if a user's files are in the way."""
        self._folder, self._source, self._batches = folder, source, batches
        self._info = replace(info, arrays={**info.arrays, "sums": ArraySpec("uint8", (DIGEST_BYTES,))})
        self._work = folder.with_name(f"{OWN_PREFIX}{folder.name}.work")
        self._old = folder.with_name(f"{OWN_PREFIX}{folder.name}.old")
        arrays = "|".join(map(re.escape, ("indices", *self._info.arrays)))
        self._names = re.compile(rf"(?:{arrays})\.npy|pool\.json")
        for each in (self._folder, self._work, self._old):
            self._own(each).check()

    def _own(self, folder: Path) -> WorkingFolder:
        return WorkingFolder(folder, self._names)

    def make(self, digest: str) -> Iterator[tuple[int, int]]:
        """Makes the missing rows; yields, after each block, its number of rows and of computed rows."""
        source = self._source
        n = len(source.indices)
        if self._folder.is_dir():
            self._own(self._old).remove()
        if self._is_whole(digest):
            yield n, 0
            return
        with disk_errors(self._folder):
            arrays = self._open()
            old = _old_rows(self._folder if self._folder.is_dir() else self._old, self._info)
            parts = [slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]
            for part, block in zip(parts, map_in_threads(source.block, parts, threads=1), strict=True):
                yield len(block), self._fill(arrays, part, block, old)
            self._finish(digest)

    def _is_whole(self, digest: str) -> bool:
        """Whether the pool is complete, was made from the same files, and still has all of its arrays."""
        try:
            record = read_object(self._folder / "pool.json", "a record of finished features")
        except DatasetError:
            return False
        if record.get("source") != digest:
            return False
        old = _old_rows(self._folder, self._info)
        return old is not None and np.array_equal(old.indices, self._source.indices)

    def _open(self) -> dict[str, Array]:
        """Opens the arrays to fill; those of a killed run keep the rows that it made."""
        n = len(self._source.indices)
        if not n:
            raise DatasetError(f"{self._folder}: no scenes in the pool")
        specs = {name: (each.dtype, (n, *each.shape)) for name, each in self._info.arrays.items()}
        paths = {name: self._work / f"{name}.npy" for name in specs}
        opened = self._resumed(paths, specs)
        if opened is None:
            self._own(self._work).remove()
            self._work.mkdir(parents=True)
            opened = {
                name: np.lib.format.open_memmap(  # type: ignore[no-untyped-call]
                    paths[name], mode="w+", dtype=np.dtype(dtype), shape=shape
                )
                for name, (dtype, shape) in specs.items()
            }
        for path in paths.values() if hasattr(os, "posix_fallocate") else ():
            # A full disk is an error here; later, writing to the mapped file would end the process.
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        return opened

    def _resumed(
        self, paths: Mapping[str, Path], specs: Mapping[str, tuple[str, tuple[int, ...]]]
    ) -> dict[str, Array] | None:
        """The arrays of a killed run; None if there are none of this form."""
        with suppress(DatasetError):
            opened = {name: map_array(path, mode="r+") for name, path in paths.items()}
            if all((str(opened[name].dtype), opened[name].shape) == spec for name, spec in specs.items()):
                return opened
        return None

    def _fill(self, arrays: Mapping[str, Array], part: slice, block: Block, old: PoolFeatures | None) -> int:
        """Fills the rows of a block that a killed run has not filled; returns how many were computed."""
        is_missing = (arrays["sums"][part] != block.sums).any(axis=1)
        known = _rows_of(self._source.indices[part], block.sums, old)
        new = np.flatnonzero(is_missing & (known < 0))
        kept = np.flatnonzero(is_missing & (known >= 0))
        made = {"sums": block.sums[new]}
        if len(new):
            made |= self._batches.rows(*block.chosen(new))
        # A row's digest is written after the row, so whatever has its digest is whole: "sums" come last.
        for name in self._info.arrays:
            array = arrays[name]
            if len(new):
                array[part.start + new] = made[name]
            if len(kept) and old is not None:
                array[part.start + kept] = old.arrays[name][known[kept]]
            if isinstance(array, np.memmap):
                array.flush()
        return len(new)

    def _finish(self, digest: str) -> None:
        np.save(self._work / "indices.npy", self._source.indices)
        for path in self._work.glob("*.npy"):
            with path.open("r+b") as file:
                os.fsync(file.fileno())
        content = {"source": digest, "images": len(self._source.indices)}
        write_whole(self._work / "pool.json", (json.dumps(content) + "\n").encode())
        if self._folder.exists():
            self._own(self._old).remove()
            self._folder.rename(self._old)
        self._work.rename(self._folder)
        sync_folder(self._folder.parent)
        self._own(self._old).remove()


def _old_rows(folder: Path, info: StoreInfo) -> PoolFeatures | None:
    """The rows of a pool from before images were added, which are kept; None if they have another form."""
    try:
        return map_pool(folder, info, mode="r")
    except DatasetError:
        return None


def _rows_of(indices: Ints, sums: npt.NDArray[np.uint8], old: PoolFeatures | None) -> npt.NDArray[np.int64]:
    """(n,) int64 old row of each scene, if it was made from the same content; -1 for a new scene."""
    if old is None or not len(old.indices):
        return np.full(len(indices), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(old.indices, indices), len(old.indices) - 1)
    same = (old.indices[at] == indices) & (old.arrays["sums"][at] == sums).all(axis=1)
    return np.where(same, at, -1).astype(np.int64)
