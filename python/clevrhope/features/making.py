"""A dataset's folder and a kind of features in, a feature store out, block by block; killed runs go on.

CLEVR's own folder can stand for a dataset's, with kinds that read images alone.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.clevr_folder import image_indices
from clevrhope.dataset.clevr_json import read_scene_indices, read_scenes_at
from clevrhope.dataset.image_source import Images, clevr_images, find_images, png_indices
from clevrhope.dataset.images_h5 import images_in
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout
from clevrhope.dataset.manifest import difference
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.features.extractor import Asked, Extractor, Sample
from clevrhope.features.kinds import make_extractor
from clevrhope.features.owner import BuiltDataset, ClevrFolder, Owner, owner_of
from clevrhope.features.store import FOLDER, Array, StoreInfo, map_array, pool_source, read_info
from clevrhope.runtime.atomic import OWN_PREFIX, WorkingFolder, disk_errors, sync_folder, write_whole
from clevrhope.runtime.forms import COUNT, TEXT, Fields, check_form
from clevrhope.runtime.json_text import as_json_values, read_object
from clevrhope.runtime.lock import locked
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import suggestion

STORE = "store.json"
"""What a folder's features are, and of which dataset: written before the first of them."""

BLOCK = 256
"""Images between two marks of how far a run is; what a killed run does again at most."""

DIGEST_BYTES = 16

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class FeatureSummary:
    """What a call made.

    Attributes:
        folder: the store's.
        kind: of features.
        pools: pool -> images in it.
        n_made: rows computed now; the others were there, in this store or from a killed run.
        n_bytes: of all arrays.
        note: what has to be said of everything made with them; None for nothing.
    """

    folder: Path
    kind: str
    pools: Mapping[str, int]
    n_made: int
    n_bytes: int
    note: str | None


def make_features(
    dataset: Path | str,
    *,
    kind: str,
    size: tuple[int, int] | Literal["picture"] | None = None,
    weights: Path | str | None = None,
    out: Path | None = None,
    pools: Sequence[str] | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> FeatureSummary:
    """Makes a dataset's features of a kind, or extends them to images that were added since.

    Args:
        dataset: a finished folder, or CLEVR v1.0 as it was published.
        kind: a name of `KINDS`.
        size: width and height that images are brought to; "picture" for their own, None for the kind's.
        weights: a local file of the backbone's weights, or "random" for the kinds that allow it.
        out: the store's folder; None for `features/<kind>` and what tells it apart, below the dataset.
        pools: of which images; None for all.
        device: where a backbone runs.
        progress: shows how far it is.

    Raises:
        ConfigError: no such kind, pool or weights, or options that the kind does not take.
        DatasetError: the dataset is not finished, lacks images, or `out` holds another store.
    """
    owner = owner_of(Path(dataset))
    extractor = make_extractor(kind, _asked(owner, size, weights, device))
    if isinstance(owner, ClevrFolder) and "scene" in extractor.reads:
        raise ConfigError(
            f"{owner.root}: CLEVR's own folder, of which features can be made from images alone; "
            f"{kind} reads scenes"
        )
    info = StoreInfo(
        kind=kind,
        options=extractor.options,
        arrays=extractor.arrays,
        weights=extractor.weights,
        code=extractor.code,
        note=extractor.note,
        dataset=owner.described(images="picture" in extractor.reads),
    )
    folder = out or owner.root / FOLDER / f"{kind}{extractor.suffix}"
    chosen = _chosen(owner, pools)
    n_made = 0
    with locked(folder):
        is_new = _check_bound(folder, info)
        sources = {pool: _Source(owner, pool, extractor) for pool in chosen}
        work = [_Pool(folder / pool, source, info, extractor) for pool, source in sources.items()]
        if is_new:
            write_whole(folder / STORE, (json.dumps(info.as_json(), indent=2) + "\n").encode())
        total = sum(len(each.indices) for each in sources.values())
        with (progress or Silent()).stage(f"Features of kind {kind}", total=total, unit="images") as advance:
            for pool, each in zip(sources, work, strict=True):
                for n_rows, n_new in each.make(pool_source(owner, pool, info)):
                    n_made += n_new
                    advance(n_rows - n_new, there=True)
                    advance(n_new)
    return FeatureSummary(
        folder=folder,
        kind=kind,
        pools={pool: len(each.indices) for pool, each in sources.items()},
        n_made=n_made,
        n_bytes=sum(path.stat().st_size for path in folder.glob("*/*.npy")),
        note=info.note,
    )


def _asked(
    owner: Owner, size: tuple[int, int] | Literal["picture"] | None, weights: Path | str | None, device: str
) -> Asked:
    image_size = _image_size(owner)
    if size == "picture":
        if image_size is None:
            raise ConfigError(
                f"{owner.root}: no images, so their size is unknown; build it without --no-render"
            )
        size = image_size
    asked = partial(Asked, size=size, weights=weights, device=device, image_size=image_size)
    if not isinstance(owner, BuiltDataset):
        return asked(attributes={}, raster=(0, 0), most_objects=0)
    constraints = owner.manifest.world["constraints"]
    return asked(
        attributes=owner.manifest.world["attributes"],
        raster=(constraints["width"], constraints["height"]),
        most_objects=constraints["max_objects"],
    )


def _image_size(owner: Owner) -> tuple[int, int] | None:
    """Width and height of the first image there is, as all of a dataset are of one size."""
    for pool in _pools(owner):
        indices = _shown(owner, pool)[:1]
        if len(indices) and (images := _images(owner, pool, indices)) is not None:
            height, width = images.pixels(int(indices[0])).shape[:2]
            return width, height
    return None


def _shown(owner: Owner, pool: str) -> Ints:
    """The scenes of a pool that have an image, sorted."""
    if not isinstance(owner, BuiltDataset):
        return np.asarray(image_indices(owner.root, pool), dtype=np.int32)
    h5 = images_in(owner.layout.images_h5(pool))
    return h5 if len(h5) else png_indices(owner.layout, pool)


def _images(owner: Owner, pool: str, indices: Ints) -> Images | None:
    if not isinstance(owner, BuiltDataset):
        return clevr_images(owner.root, pool)
    return find_images(owner.layout, pool, indices, prefer="h5")


def _pools(owner: Owner) -> list[str]:
    if isinstance(owner, ClevrFolder):
        return owner.pools()
    assert isinstance(owner, BuiltDataset)
    # A manifest lists the pools that have images; scenes of all of them are there in any case.
    with_scenes = (path.parent.name for path in (owner.root / "scenes").glob("*/[!.]*.json"))
    return sorted({*owner.manifest.pools, *with_scenes})


def _chosen(owner: Owner, pools: Sequence[str] | None) -> list[str]:
    known = _pools(owner)
    for name in pools or ():
        if name not in known:
            raise ConfigError(
                f'{owner.root}: no pool "{name}"{suggestion(name, known)}; there: {", ".join(known)}'
            )
    return [name for name in known if pools is None or name in pools]


def _check_bound(folder: Path, info: StoreInfo) -> bool:
    """Passes for a folder whose store.json says the same, or that is empty; True for an empty one."""
    path = folder / STORE
    if not os.path.lexists(path):
        others = [each.name for each in folder.iterdir() if not each.name.startswith(".")]
        if others:
            raise DatasetError(f"{folder}: no feature store, but {others[0]} is in it; choose another --out")
        return True
    there, here = (as_json_values(each.as_json()) for each in (read_info(folder), info))
    if there != here:
        raise DatasetError(
            f"{folder}: another feature store is there ({difference(there, here)}); remove it, or choose "
            "another --out"
        )
    return False


class _Source:
    """The scenes of a pool that get features, and what they are made from."""

    def __init__(self, owner: Owner, pool: str, extractor: Extractor) -> None:
        self._layout, self._pool = Layout(owner.root), pool
        self._images: Images | None = None
        self._scenes = "scene" in extractor.reads
        if "picture" in extractor.reads:
            self.indices: Ints = _shown(owner, pool)
            if not len(self.indices):
                raise DatasetError(
                    f"{owner.root / 'images'}: no images of pool {pool}; build the dataset "
                    "without --no-render"
                )
            self._images = _images(owner, pool, self.indices)
        else:
            shards = self._layout.scene_files(pool)
            found = [read_scene_indices(shard) for shard in shards]
            self.indices = np.sort(np.concatenate([np.zeros(0, dtype=np.int32), *found])).astype(np.int32)

    def samples(self, first: int, n: int) -> tuple[list[Sample], npt.NDArray[np.uint8]]:
        """Some samples, and a digest of each, (n, 16)."""
        indices = self.indices[first : first + n].tolist()
        scenes = self._read_scenes(indices) if self._scenes else {}
        samples, sums = [], []
        for index in indices:
            image = None if self._images is None else self._images.pixels(index)
            sample = Sample(index, image, scenes.get(index))
            if self._scenes and sample.scene is None:
                path = self._layout.scene_shard(self._pool, index // SCENES_A_SHARD)
                raise DatasetError(f"{path}: no scene {index}; run the dataset's build again")
            samples.append(sample)
            digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
            if image is not None:
                digest.update(repr(image.shape).encode())
                digest.update(np.ascontiguousarray(image).data)
            if sample.scene is not None:
                digest.update(json.dumps(sample.scene, sort_keys=True).encode())
            sums.append(np.frombuffer(digest.digest(), dtype=np.uint8))
        return samples, np.stack(sums)

    def _read_scenes(self, indices: Sequence[int]) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for shard in sorted({index // SCENES_A_SHARD for index in indices}):
            wanted = [index for index in indices if index // SCENES_A_SHARD == shard]
            for scene in read_scenes_at(self._layout.scene_shard(self._pool, shard), wanted):
                found[scene["image_index"]] = scene
        return found


class _Pool:
    """A pool's arrays on their way: in a hidden folder, which takes its name when it is whole."""

    def __init__(self, folder: Path, source: _Source, info: StoreInfo, extractor: Extractor) -> None:
        """Makes nothing yet; a DatasetError tells of a user's files where the pool's are put or removed."""
        self._folder, self._source, self._info, self._extractor = folder, source, info, extractor
        self._work = folder.with_name(f"{OWN_PREFIX}{folder.name}.work")
        self._old = folder.with_name(f"{OWN_PREFIX}{folder.name}.old")
        arrays = "|".join(map(re.escape, ("indices", "sums", *info.arrays)))
        self._names = re.compile(rf"(?:{arrays})\.npy|progress\.json|pool\.json")
        for each in (self._folder, self._work, self._old):
            self._own(each).check()

    def _own(self, folder: Path) -> WorkingFolder:
        return WorkingFolder(folder, self._names)

    def make(self, digest: str) -> Iterator[tuple[int, int]]:
        """Makes what is missing; yields rows dealt with and rows computed since the last time."""
        source, info = self._source, self._info
        n = len(source.indices)
        if self._folder.is_dir():
            self._own(self._old).remove()
        if self._is_whole(digest):
            yield n, 0
            return
        identity = hashlib.sha256(f"{info.fingerprint} {digest} {n}".encode()).hexdigest()
        with disk_errors(self._folder):
            arrays, done = self._open(identity)
            yield done, 0
            old = _OldRows.read(self._folder if self._folder.is_dir() else self._old, info)
            with ThreadPoolExecutor(1) as reader:
                firsts = range(done, n, BLOCK)
                # One block is read while the one before it is computed.
                coming = [reader.submit(source.samples, first, BLOCK) for first in firsts[:1]]
                for first in firsts:
                    samples, sums = coming.pop().result()
                    if first + BLOCK < n:
                        coming.append(reader.submit(source.samples, first + BLOCK, BLOCK))
                    known = old.places(source.indices[first : first + BLOCK], sums)
                    self._fill(arrays, first, samples, sums, old, known)
                    for each in arrays.values():
                        if isinstance(each, np.memmap):
                            each.flush()
                    self._mark(identity, first + len(samples))
                    yield len(samples), int((known < 0).sum())
            self._finish(digest)

    def _is_whole(self, digest: str) -> bool:
        """Whether the pool was made from the same, and nothing of its arrays was lost since."""
        try:
            said = read_object(self._folder / "pool.json", "what features are made from")
        except DatasetError:
            return False
        if said.get("source") != digest:
            return False
        return np.array_equal(_OldRows.read(self._folder, self._info).indices, self._source.indices)

    def _open(self, identity: str) -> tuple[dict[str, Array], int]:
        """The arrays to fill, and how many rows of them a killed run has filled."""
        n = len(self._source.indices)
        specs = {name: (each.dtype, (n, *each.shape)) for name, each in self._info.arrays.items()}
        specs["sums"] = ("uint8", (n, DIGEST_BYTES))
        try:
            mark = read_object(self._work / "progress.json", "a mark of progress")
            check_form(mark, Fields({"identity": TEXT, "rows": COUNT}), self._work / "progress.json")
            if mark["identity"] == identity and mark["rows"] <= n:
                opened = {name: map_array(self._work / f"{name}.npy", mode="r+") for name in specs}
                if all((str(opened[name].dtype), opened[name].shape) == spec for name, spec in specs.items()):
                    return opened, mark["rows"]
        except DatasetError:
            pass
        self._own(self._work).remove()
        self._work.mkdir(parents=True)
        made = {}
        for name, (dtype, shape) in specs.items():
            path = self._work / f"{name}.npy"
            if 0 in shape:
                raise DatasetError(f"{self._folder}: no scenes in the pool")
            made[name] = np.lib.format.open_memmap(  # type: ignore[no-untyped-call]
                path, mode="w+", dtype=np.dtype(dtype), shape=shape
            )
        self._mark(identity, 0)
        return made, 0

    def _fill(
        self,
        arrays: Mapping[str, Array],
        first: int,
        samples: Sequence[Sample],
        sums: npt.NDArray[np.uint8],
        old: "_OldRows",
        known: npt.NDArray[np.int64],
    ) -> None:
        new = np.flatnonzero(known < 0)
        kept = np.flatnonzero(known >= 0)
        made = self._extractor.rows([samples[k] for k in new]) if len(new) else {}
        for name in self._info.arrays:
            if len(new):
                arrays[name][first + new] = made[name]
            if len(kept):
                arrays[name][first + kept] = old.arrays[name][known[kept]]
        arrays["sums"][first : first + len(samples)] = sums

    def _mark(self, identity: str, rows: int) -> None:
        content = json.dumps({"identity": identity, "rows": rows})
        write_whole(self._work / "progress.json", content.encode())

    def _finish(self, digest: str) -> None:
        np.save(self._work / "indices.npy", self._source.indices)
        for path in self._work.glob("*.npy"):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        content = {"source": digest, "pictures": len(self._source.indices)}
        write_whole(self._work / "pool.json", (json.dumps(content) + "\n").encode())
        if self._folder.exists():
            self._own(self._old).remove()
            self._folder.rename(self._old)
        self._work.rename(self._folder)
        sync_folder(self._folder.parent)
        (self._folder / "progress.json").unlink()
        self._own(self._old).remove()


@dataclass(frozen=True)
class _OldRows:
    """Rows of a store that was made before images were added."""

    indices: Ints
    sums: npt.NDArray[np.uint8]
    arrays: Mapping[str, Array]

    @classmethod
    def read(cls, folder: Path, info: StoreInfo) -> "_OldRows":
        """Those in a folder; none where it has none that are whole."""
        none = cls(np.zeros(0, dtype=np.int32), np.zeros((0, DIGEST_BYTES), dtype=np.uint8), {})
        try:
            if not (folder / "pool.json").is_file():
                return none
            names = ("indices", "sums", *info.arrays)
            read = {name: map_array(folder / f"{name}.npy", mode="r") for name in names}
        except (OSError, DatasetError):
            return none
        if read["indices"].ndim != 1 or read["sums"].ndim != 2:
            return none
        if any(each.ndim < 1 or len(each) != len(read["indices"]) for each in read.values()):
            return none
        arrays = {name: read[name] for name in info.arrays}
        same = all(
            each.shape[1:] == spec.shape and each.dtype == spec.dtype
            for each, spec in zip(arrays.values(), info.arrays.values(), strict=True)
        )
        return cls(read["indices"], read["sums"], arrays) if same else none

    def places(self, indices: Ints, sums: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """(n,) the old row of each scene that was made from the same; -1 for a new one."""
        if not len(self.indices):
            return np.full(len(indices), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.indices, indices), len(self.indices) - 1)
        same = (self.indices[at] == indices) & (self.sums[at] == sums).all(axis=1)
        return np.where(same, at, -1).astype(np.int64)
