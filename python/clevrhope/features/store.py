"""Feature stores on disk: arrays with one row per image, mapped into memory. No torch.

```
features/<store>/store.json           kind, arrays, and what they were made from: dataset, weights, code
features/<store>/<pool>/<array>.npy   (images, ...), mapped into memory by readers
features/<store>/<pool>/indices.npy   (images,) int32: the scene of each row, sorted
features/<store>/<pool>/sums.npy      (images, 16) uint8: digests of what each row was made from
features/<store>/<pool>/pool.json     digest of the pool's images; written last, once the pool is complete
```
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.binding import difference
from clevrhope.errors import ConfigError, DatasetError, command_line
from clevrhope.features.dataset_folder import BuiltDataset
from clevrhope.features.extractor import Array, ArraySpec, Source
from clevrhope.features.kinds import KINDS
from clevrhope.runtime import forms
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.reading import check_regular, reading
from clevrhope.runtime.settings import suggestion

FOLDER = "features"
"""The folder of all stores below a dataset's folder; the manifest does not list it."""

NOTHING = "none"
"""The kind of features for models that read no image."""

PIXELS = "pixels"
"""The kind of features that needs neither a backbone's weights nor the true scene."""

FORMAT = 2


@dataclass(frozen=True)
class StoreInfo:
    """The content of store.json; stores with equal content hold equal numbers, up to rounding.

    Attributes:
        kind: kind of features, such as "pixels".
        reads: what the features are made from.
        options: options of the kind, such as the size of images.
        arrays: array name -> dtype and shape of a row.
        weights: SHA-256 of the weights file, or of the weights themselves; "random" for random ones; None
            without weights.
        code: version of the kind's code, increased when the numbers change.
        note: a remark that results with these features must carry; None for none.
        dataset: what the dataset's scenes and images depend on.
    """

    kind: str
    reads: tuple[Source, ...]
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
        """Whether the features are made from images, alone or with scenes."""
        return "image" in self.reads

    @property
    def of_scenes(self) -> bool:
        """Whether the features are made from scene files, alone or with images."""
        return "scene" in self.reads


@dataclass(frozen=True, repr=False)
class PoolFeatures:
    """The features of a pool's images.

    Attributes:
        indices: (n,) int32 scene indices, sorted.
        arrays: array name -> (n, ...), mapped into memory copy-on-write.
        place: the folder, for messages.
    """

    indices: npt.NDArray[np.int32]
    arrays: Mapping[str, Array]
    place: str

    def __repr__(self) -> str:
        shapes = "".join(f", {name} {array.dtype} {array.shape}" for name, array in self.arrays.items())
        return f"PoolFeatures({self.place}{shapes})"

    def rows(self, image_idxs: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """(N,) int64 row of each scene in `image_idxs`, (N,).

        Raises:
            DatasetError: a scene has no features.
        """
        if not self.arrays:
            return np.zeros(len(image_idxs), np.int64)
        at = np.searchsorted(self.indices, image_idxs)
        found = self.indices[np.minimum(at, len(self.indices) - 1)] if len(self.indices) else at - 1
        if not np.array_equal(found, image_idxs):
            missing = int(np.asarray(image_idxs)[found != image_idxs][0])
            raise DatasetError(f"{self.place}: no features of scene {missing}; run clevrhope features again")
        return at.astype(np.int64)


class FeatureStore:
    """A store on disk, opened for its dataset."""

    def __init__(self, folder: Path, dataset: BuiltDataset) -> None:
        """Reads store.json; raises DatasetError if there is none, or it belongs to another dataset."""
        self.folder = folder
        self._dataset = dataset
        self.info = read_info(folder)
        here = dataset.described(images=self.info.of_images)
        if dict(self.info.dataset) != here:
            raise DatasetError(
                f"{folder}: it holds features of another dataset than {dataset.root} "
                f"({difference(self.info.dataset, here)}); make those of this dataset with clevrhope features"
            )

    def __repr__(self) -> str:
        return f"FeatureStore({self.folder}, kind {self.info.kind})"

    def pool(self, pool: str) -> PoolFeatures:
        """The arrays of a pool.

        Raises:
            DatasetError: features are missing or incomplete, or were made from other images than the dataset
                has now.
        """
        folder = self.folder / pool
        remedy = f"run {_command(self._dataset.root, self.info, self.folder)} again"
        if not (folder / "pool.json").exists():
            raise DatasetError(f"{folder}: no features of pool {pool} yet; {remedy}")
        record = read_object(folder / "pool.json", "a record of finished features", remedy=remedy)
        info = self.info
        if record.get("source") != self._dataset.digest(pool, images=info.of_images, scenes=info.of_scenes):
            raise DatasetError(f"{folder}: it was made before the pool's images or scenes changed; {remedy}")
        # Copy-on-write: torch accepts such an array without a copy or a warning, and no file can change.
        return map_pool(folder, info, mode="c", remedy=remedy)


class NoFeatures(FeatureStore):
    """The store for models that read no image; it has no files."""

    def __init__(self, dataset: BuiltDataset) -> None:
        """Raises the errors of `BuiltDataset.described`."""
        self.folder = dataset.root
        described = dataset.described(images=False)
        self.info = StoreInfo(NOTHING, (), {}, {}, None, code=1, note=None, dataset=described)

    def pool(self, pool: str) -> PoolFeatures:
        """No arrays, for any scene of any pool."""
        return PoolFeatures(np.zeros(0, np.int32), {}, f"{self.folder}, pool {pool}")


def open_store(
    dataset: Path, *, kind: str, name: str | None = None, reads_pixels: bool = False
) -> FeatureStore:
    """Opens a dataset's store of a kind.

    Args:
        dataset: the dataset's folder.
        kind: kind of features; `NOTHING` for a model that reads none.
        name: the store's name below `features`, or its folder; None for the only store of the kind.
        reads_pixels: whether the model also has the setting features=pixels, which needs no weights.

    Raises:
        ConfigError: there is no such store, there are several, it is of another kind, or a name was given for
            a model that reads no features.
        DatasetError: the store belongs to another dataset.
    """
    opened = BuiltDataset(dataset)
    home = dataset / FOLDER
    if kind == NOTHING:
        if name is not None:
            raise ConfigError(f'features: "{name}", but the model reads no features; leave it out')
        return NoFeatures(opened)
    if name is not None:
        folder = home / name if (home / name).is_dir() else Path(name)
        if not (folder / "store.json").is_file():
            known = [store.name for store in stores_in(dataset)]
            raise ConfigError(
                f'--features: no store "{name}", in {home} or as a folder{suggestion(name, known)}; '
                f"there: {', '.join(known) or 'none'}"
            )
        store = FeatureStore(folder, opened)
        if store.info.kind != kind:
            raise ConfigError(f"{folder}: features of kind {store.info.kind}, but the model reads {kind}")
        return store
    opened.described(images=False)  # raises the appropriate error for a folder that is not a dataset
    found = [folder for folder in stores_in(dataset) if read_info(folder).kind == kind]
    if not found:
        raise ConfigError(f"{home}: no features of kind {kind}; {_remedy(dataset, kind, reads_pixels)}")
    if len(found) > 1:
        names = ", ".join(folder.name for folder in found)
        raise ConfigError(
            f"{home}: there are several stores of kind {kind} ({names}); choose one with --features"
        )
    return FeatureStore(found[0], opened)


def _remedy(dataset: Path, kind: str, reads_pixels: bool) -> str:
    """What to do if there is no store of a kind: pixels come first, because they need no weights."""
    kinds = sorted(read_info(folder).kind for folder in stores_in(dataset))
    if kind == PIXELS or not reads_pixels:
        make = f"make them first: {command_line('features', dataset, '--kind', kind)}"
        if kinds:
            make += f"; or train with --set features={kinds[0]}, which are there, if the model can read them"
        return make
    make = command_line("features", dataset, "--kind", PIXELS) + ", then "
    return (
        f"the model can read pixels, which need no weights: {'' if PIXELS in kinds else make}train with "
        f"--set features={PIXELS}; or make {kind} from a file of weights: "
        + command_line("features", dataset, "--kind", kind, "--weights", "PATH")
    )


def _command(root: Path, info: StoreInfo, folder: Path | None = None) -> str:
    """The command that makes such a store; a store does not know the path of its weights."""
    width, height = (info.options.get(name) for name in ("width", "height"))
    size = ["--size", f"{width}x{height}"] if width and height else []
    # Only a custom class knows where its weights come from.
    has_file = info.weights and info.kind in KINDS
    weights = ["--weights", "random" if info.weights == "random" else "PATH"] if has_file else []
    out = ["--out", folder] if folder else []
    return command_line("features", root, "--kind", info.kind, *size, *weights, *out)


def stores_in(dataset: Path) -> list[Path]:
    """The folders of a dataset's stores, sorted by name."""
    return sorted(path.parent for path in (dataset / FOLDER).glob("*/store.json"))


def read_info(folder: Path) -> StoreInfo:
    """Reads the store.json of a store; raises DatasetError if there is none, or it has another format."""
    path = folder / "store.json"
    raw = read_object(path, "a feature store", remedy="make one with clevrhope features")
    if raw.get("format") != FORMAT:
        raise DatasetError(
            f"{path}: it was made by another version of clevrhope; remove its folder, and make it again with "
            "clevrhope features"
        )
    forms.check_form(raw, STORE_FORM, path)
    arrays = {name: ArraySpec(each["dtype"], tuple(each["shape"])) for name, each in raw["arrays"].items()}
    row = KINDS.get(raw["kind"])
    if row is not None and set(arrays) != row.arrays:
        raise DatasetError(
            f"{path}: arrays are {', '.join(sorted(arrays)) or 'none'}; expected "
            f"{', '.join(sorted(row.arrays))}, those of kind {raw['kind']}"
        )
    names = (each.name for each in fields(StoreInfo) if each.name not in ("arrays", "reads"))
    return StoreInfo(arrays=arrays, reads=tuple(raw["reads"]), **{name: raw[name] for name in names})


_DTYPES = ("uint8", "int8", "uint16", "int16", "int32", "int64", "float16", "float32", "float64", "bool")
_DTYPE = forms.Kind("the name of a numpy dtype, such as float32", lambda value: value in _DTYPES)
_SOURCE = forms.Kind('"image" or "scene"', lambda value: value in get_args(Source))
STORE_FORM = forms.Fields(
    {
        "kind": forms.TEXT,
        "reads": forms.ListOf(_SOURCE),
        "options": forms.OBJECT,
        "arrays": forms.MapOf(
            forms.Fields({"dtype": _DTYPE, "shape": forms.ListOf(forms.COUNT)}), keys=forms.NAME
        ),
        "weights": forms.Nullable(forms.TEXT),
        "code": forms.COUNT,
        "note": forms.Nullable(forms.TEXT),
        "dataset": forms.OBJECT,
    }
)
"""The form of store.json."""


Mode = Literal["c", "r", "r+"]
"""How numpy maps an array: copy-on-write, to read, or to read and write."""


def map_pool(folder: Path, info: StoreInfo, *, mode: Mode, remedy: str = "") -> PoolFeatures:
    """Maps the arrays of a pool into memory; raises DatasetError if one is missing or has another form."""
    indices = map_array(folder / "indices.npy", mode=mode, remedy=remedy)
    if indices.ndim != 1 or indices.dtype != np.int32:
        raise DatasetError(f"{folder / 'indices.npy'}: not a column of scene indices; {remedy}")
    arrays = {name: map_array(folder / f"{name}.npy", mode=mode, remedy=remedy) for name in info.arrays}
    for name, spec in info.arrays.items():
        expected = (len(indices), *spec.shape)
        if arrays[name].shape != expected or arrays[name].dtype != spec.dtype:
            raise DatasetError(
                f"{folder / name}.npy: {arrays[name].dtype} {arrays[name].shape}, not {spec.dtype} "
                f"{expected}; {remedy}"
            )
    return PoolFeatures(indices, arrays, str(folder))


def map_array(path: Path, *, mode: Mode, remedy: str = "") -> Array:
    """Maps a .npy file into memory; arguments as for `numpy.load` and `reading`.

    Raises:
        DatasetError: there is no such file, or it is not a complete array of numbers.
    """
    with reading(path, "a whole array", remedy=remedy):
        check_regular(path)
        return np.lib.format.open_memmap(path, mode=mode)  # type: ignore[no-untyped-call, no-any-return]
