"""A dataset's folder in, the arrays of one of its feature stores out, a row an image. No torch.

```
features/<store>/store.json           kind, arrays, and what they were made from: dataset, weights, code
features/<store>/<pool>/<array>.npy   (images, ...), memory-mapped by whoever reads it
features/<store>/<pool>/indices.npy   (images,) int32: the scene that each row is of, sorted
features/<store>/<pool>/sums.npy      (images, 16) uint8: digests of what each row was made from
features/<store>/<pool>/pool.json     digest of the pool's images; with it the pool is whole
```
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.manifest import difference
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.features.owner import Owner, owner_of
from clevrhope.runtime.forms import (
    COUNT,
    NAME,
    OBJECT,
    TEXT,
    Fields,
    Kind,
    ListOf,
    MapOf,
    Nullable,
    check_form,
)
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.reading import check_regular, reading

FOLDER = "features"
"""Below a dataset's folder; its manifest does not list it."""

NOTHING = "none"
"""Kind of features of models that look at no image."""

FORMAT = 1

ARRAYS: Mapping[str, frozenset[str]] = {
    "pixels": frozenset({"pixels"}),
    "attributes": frozenset({"attributes", "places", "n_boxes"}),
    "scene-boxes": frozenset({"vectors", "boxes", "n_boxes"}),
    "resnet101": frozenset({"maps"}),
    "frcnn": frozenset({"vectors", "boxes", "n_boxes"}),
}
"""The arrays of each kind, which models read by name."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ArraySpec:
    """The row of one array: numpy's name of its type, and its shape."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class StoreInfo:
    """What a store says of itself; two with the same hold the same numbers, up to rounding.

    Attributes:
        kind: such as "pixels".
        options: that were given for the kind, such as the size of images.
        arrays: by name.
        weights: SHA-256 of the file of weights; "random" for random ones; None where there are none.
        code: a number that moves when the kind's code comes to give other numbers.
        note: what has to be said of everything that is made with these features; None for nothing.
        dataset: what the dataset's scenes and images depend on.
    """

    kind: str
    options: Mapping[str, Any]
    arrays: Mapping[str, ArraySpec]
    weights: str | None
    code: int
    note: str | None
    dataset: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The content of store.json."""
        return {"format": FORMAT, **asdict(self)}

    @property
    def of_images(self) -> bool:
        """Whether they depend on images, not on scenes alone."""
        return "rendering" in self.dataset

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all of it."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class PoolFeatures:
    """The features of a pool's images.

    Attributes:
        indices: (n,) int32, scenes, sorted.
        arrays: by name, each (n, ...), mapped into memory copy-on-write: reading is what it costs.
    """

    indices: npt.NDArray[np.int32]
    arrays: Mapping[str, Array]
    place: str

    def rows(self, image_idxs: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """(N,) the row of each scene (N,).

        Raises:
            DatasetError: one of them has no features.
        """
        at = np.searchsorted(self.indices, image_idxs)
        found = self.indices[np.minimum(at, len(self.indices) - 1)] if len(self.indices) else at - 1
        if not np.array_equal(found, image_idxs):
            missing = int(np.asarray(image_idxs)[found != image_idxs][0])
            raise DatasetError(f"{self.place}: no features of scene {missing}; run clevrhope features again")
        return at.astype(np.int64)


class FeatureStore:
    """A store on disk, opened for the dataset that it belongs to."""

    def __init__(self, folder: Path, owner: Owner) -> None:
        """Reads store.json.

        Raises:
            DatasetError: no store there, or one of another dataset.
        """
        self.folder = folder
        self._owner = owner
        self.info = read_info(folder)
        here = owner.described(images=self.info.of_images)
        if dict(self.info.dataset) != here:
            raise DatasetError(
                f"{folder}: features of another dataset than {owner.root} "
                f"({difference(self.info.dataset, here)}); make this one's with clevrhope features"
            )

    def pool(self, pool: str) -> PoolFeatures:
        """The arrays of a pool.

        Raises:
            DatasetError: it is not there, half-made, or made from other images than the dataset has now.
        """
        folder = self.folder / pool
        remedy = f"run {_command(self._owner.root, self.info, self.folder)} again"
        if not (folder / "pool.json").exists():
            raise DatasetError(f"{folder}: no features of pool {pool} yet; {remedy}")
        said = read_object(folder / "pool.json", "what features are made from", remedy=remedy)
        if said.get("source") != pool_source(self._owner, pool, self.info):
            raise DatasetError(f"{folder}: made before the pool's images or scenes changed; {remedy}")
        indices = _mapped(folder / "indices.npy", remedy)
        if indices.ndim != 1 or indices.dtype != np.int32:
            raise DatasetError(f"{folder / 'indices.npy'}: not a column of scenes' indices; {remedy}")
        arrays = {name: _mapped(folder / f"{name}.npy", remedy) for name in self.info.arrays}
        for name, spec in self.info.arrays.items():
            wanted = (len(indices), *spec.shape)
            if arrays[name].shape != wanted or arrays[name].dtype != spec.dtype:
                raise DatasetError(
                    f"{folder / name}.npy: {arrays[name].dtype} {arrays[name].shape}, not {spec.dtype} "
                    f"{wanted}; {remedy}"
                )
        return PoolFeatures(indices, arrays, str(folder))


class NoFeatures(FeatureStore):
    """What a model reads that looks at no image; on no disk."""

    def __init__(self, owner: Owner) -> None:
        """Errors as `Owner.described`."""
        self.folder = owner.root
        self._owner = owner
        described = owner.described(images=False)
        self.info = StoreInfo(NOTHING, {}, {}, None, code=1, note=None, dataset=described)

    def pool(self, pool: str) -> PoolFeatures:
        """Of any pool."""
        return _NoRows(np.zeros(0, np.int32), {}, f"{self.folder}, pool {pool}")


class _NoRows(PoolFeatures):
    def rows(self, image_idxs: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        return np.zeros(len(image_idxs), np.int64)


def open_store(dataset: Path, *, kind: str, name: str | None = None) -> FeatureStore:
    """A dataset's store of a kind.

    Args:
        dataset: its folder.
        kind: of features; `NOTHING` of a model that reads none.
        name: the store's name below `features`, or its folder; where it is left out, the only one there is.

    Raises:
        ConfigError: no such store, several of them, one of another kind, or a name where none is read.
        DatasetError: it belongs to another dataset.
    """
    owner = owner_of(dataset)
    home = dataset / FOLDER
    if kind == NOTHING:
        if name is not None:
            raise ConfigError(f'features: "{name}", but the model reads none; leave it out')
        return NoFeatures(owner)
    if name is not None:
        folder = home / name if (home / name).is_dir() else Path(name)
        if not (folder / "store.json").is_file():
            raise ConfigError(f'--features: no store "{name}", in {home} or as a folder{_there(home, name)}')
        store = FeatureStore(folder, owner)
        if store.info.kind != kind:
            raise ConfigError(f"{folder}: features of kind {store.info.kind}, but the model reads {kind}")
        return store
    owner.described(images=False)  # a folder that is no dataset is told as that
    found = [folder for folder in stores_in(dataset) if read_info(folder).kind == kind]
    if not found:
        raise ConfigError(
            f"{home}: no features of kind {kind}; make them first: clevrhope features {dataset} --kind {kind}"
        )
    if len(found) > 1:
        names = ", ".join(folder.name for folder in found)
        raise ConfigError(f"{home}: several stores of kind {kind} ({names}); say which with --features")
    return FeatureStore(found[0], owner)


def store_like(root: Path, info: StoreInfo) -> FeatureStore:
    """The store of another folder that a model which reads `info`'s features can read as well.

    Raises:
        ConfigError: it has none of the same kind, options, weights and code.
    """
    if info.kind == NOTHING:
        return NoFeatures(owner_of(root))
    alike = [folder for folder in stores_in(root) if _is_alike(read_info(folder), info)]
    if not alike:
        options = "".join(f" {name} {value}" for name, value in info.options.items())
        raise ConfigError(
            f"{root / FOLDER}: no features of kind {info.kind}{options} with the same weights; make them: "
            f"{_command(root, info)}"
        )
    return FeatureStore(alike[0], owner_of(root))


def _command(root: Path, info: StoreInfo, folder: Path | None = None) -> str:
    """What makes such a store, or the one in a folder; where its weights lie, a store does not know."""
    width, height = (info.options.get(name) for name in ("width", "height"))
    size = f" --size {width}x{height}" if width and height else ""
    weights = f" --weights {info.weights if info.weights == 'random' else 'PATH'}" if info.weights else ""
    out = f" --out {folder}" if folder else ""
    return f"clevrhope features {root} --kind {info.kind}{size}{weights}{out}"


def _is_alike(one: StoreInfo, other: StoreInfo) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in ("kind", "options", "weights", "code"))


def stores_in(dataset: Path) -> list[Path]:
    """The folders of a dataset's stores, by name."""
    return sorted(path.parent for path in (dataset / FOLDER).glob("*/store.json"))


def read_info(folder: Path) -> StoreInfo:
    """What a store says of itself.

    Raises:
        DatasetError: no store there, or of another format.
    """
    path = folder / "store.json"
    raw = read_object(path, "a feature store", remedy="make one with clevrhope features")
    if raw.get("format") != FORMAT:
        raise DatasetError(f"{path}: of another version of clevrhope; make it again: clevrhope features")
    check_form(raw, _STORE, path)
    arrays = {name: ArraySpec(each["dtype"], tuple(each["shape"])) for name, each in raw["arrays"].items()}
    if set(arrays) != ARRAYS.get(raw["kind"], set(arrays)):
        raise DatasetError(
            f"{path}: arrays are {', '.join(sorted(arrays)) or 'none'}; expected "
            f"{', '.join(sorted(ARRAYS[raw['kind']]))}, those of kind {raw['kind']}"
        )
    names = (each.name for each in fields(StoreInfo) if each.name != "arrays")
    return StoreInfo(arrays=arrays, **{name: raw[name] for name in names})


_DTYPES = ("uint8", "int8", "uint16", "int16", "int32", "int64", "float16", "float32", "float64", "bool")
_DTYPE = Kind("the name of a type of numbers, such as float32", lambda value: value in _DTYPES)
_STORE = Fields(
    {
        "kind": TEXT,
        "options": OBJECT,
        "arrays": MapOf(Fields({"dtype": _DTYPE, "shape": ListOf(COUNT)}), keys=NAME),
        "weights": Nullable(TEXT),
        "code": COUNT,
        "note": Nullable(TEXT),
        "dataset": OBJECT,
    }
)
"""The form of store.json."""


def pool_source(owner: Owner, pool: str, info: StoreInfo) -> str:
    """SHA-256 of what a pool's features are made from."""
    return owner.digest(pool, kind=info.kind, images=info.of_images)


def _mapped(path: Path, remedy: str) -> Array:
    # Copy-on-write: torch takes such an array without a copy and without a warning, and no file changes.
    return map_array(path, mode="c", remedy=remedy)


def map_array(path: Path, *, mode: Literal["c", "r", "r+"], remedy: str = "") -> Array:
    """A .npy file, mapped into memory; arguments as of numpy's `load` and of `reading`.

    Raises:
        DatasetError: no such file, or not a whole array of numbers.
    """
    with reading(path, "a whole array", remedy=remedy):
        check_regular(path)
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)  # type: ignore[no-untyped-call]
            if version not in _HEADERS:
                raise DatasetError(f"{path}: of version {version[0]}.{version[1]} of the format; {remedy}")
            header = _HEADERS[version](file, max_header_size=MAX_HEADER)
        if header[2].hasobject:
            raise DatasetError(f"{path}: holds Python objects, not numbers; {remedy}")
        return np.load(path, mmap_mode=mode, allow_pickle=False, max_header_size=MAX_HEADER)  # type: ignore[no-any-return, call-arg]


MAX_HEADER = 10_000
"""Characters of a .npy file's header; those that are written here have 128."""

_HEADERS: Mapping[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def _there(home: Path, name: str) -> str:
    names: Sequence[str] = [folder.parent.name for folder in home.glob("*/store.json")]
    near = get_close_matches(name, names, n=1)
    hint = f' (did you mean "{near[0]}"?)' if near else ""
    return f"{hint}; there: {', '.join(sorted(names)) or 'none'}"
