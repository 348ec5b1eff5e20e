"""What an experiment's TOML file asks for, as frozen data; docs/experiments.md has every key."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from clevrhope.config.presets import suggestion
from clevrhope.errors import ConfigError, shown
from clevrhope.metrics.paper import size_name
from clevrhope.models.names import check_name
from clevrhope.runtime import assets
from clevrhope.runtime.settings import check_at_least, read_settings
from clevrhope.runtime.toml import read_toml
from clevrhope.splits.hops import HOP_GROUPS
from clevrhope.training.request import parse_size

_PATHS_OF_BUILD = ("properties", "templates", "clevr")
"""What of build's configuration is a path; it is written to another folder, so these become absolute."""
_PATHS_OF_MODELS = ("weights",)
_RANDOM = "random"
"""Stands for weights, in place of a path."""
_PART_OF_A_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)


@dataclass(frozen=True)
class BuildConfig:
    """One call of `build`: pairs, and what limits the combinations of values."""

    hops: tuple[str, ...]
    """Held-out pairs; first6 and all become their pairs."""
    diversity: tuple[int, ...] = ()
    mode: Literal["nested", "grid"] = "nested"
    palette: Path | None = None

    def __post_init__(self) -> None:
        hops = tuple(hop for name in self.hops for hop in HOP_GROUPS.get(name, (name,)))
        if not hops:
            raise ConfigError("hops is empty; name held-out pairs, first6 or all")
        object.__setattr__(self, "hops", hops)


@dataclass(frozen=True)
class FeaturesConfig:
    """One call of `features`."""

    kind: str
    size: str | None = None
    weights: str | None = None
    """A path, or random."""


@dataclass(frozen=True)
class DatasetConfig:
    """A dataset's folder: calls of `build` and of `features`.

    Attributes:
        name: of the folder below the experiment's, and in models' `datasets`.
        builds: one or more.
        seed: as build's; None where nothing is built.
        splits: those to build; all where none is named.
        templates: names of the package's template files, such as zero_hop; all where none is named.
        asks: of these, only templates that end with such a function, count or query_color; all where none is
            named.
        mentions: types that descriptions may name, such as color; all where none is named.
        values: of the package's properties, only these values of these types (sizes, colors, materials,
            shapes); all of a type that is not named.
        config: what build's `--config` takes, as it is.
        features: kinds of features.
        folder: a dataset that is there, to be used as it is; nothing is built then.
    """

    name: str
    builds: tuple[BuildConfig, ...] = field(metadata={"key": "build"})
    seed: int | None = None
    splits: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    features: tuple[FeaturesConfig, ...] = ()
    folder: Path | None = None

    def __post_init__(self) -> None:
        _check_name("name", self.name)
        if not self.builds:
            raise ConfigError("build is empty; a dataset needs [[dataset.build]] with hops")
        if self.seed is None and self.folder is None:
            raise ConfigError("seed is missing; it decides the dataset")
        check_at_least(0, seed=self.seed)

    @property
    def has_templates(self) -> bool:
        """Whether it takes templates of its own, or changed ones."""
        return bool(self.templates or self.asks or self.mentions)


@dataclass(frozen=True)
class ModelConfig:
    """A model on some datasets, pairs, sizes and seeds.

    Attributes:
        name: as `train` takes it.
        label: what its runs' folders are called by; its name where it has none.
        sizes: train sizes, as `--size` takes them.
        seeds: one run each.
        datasets: names; all where none is named.
        hops: sub-datasets, by their names in the folder; all where none is named.
        updates: as `--updates`.
        settings: as `--set`, by name.
        keep_last: late checkpoints, as `--keep-last`.
        keep_every: updates between them.
        features: as `--features`.
        options: further options of `train`, as they are.
        evaluate: further options of `evaluate`.
    """

    name: str
    sizes: tuple[int | str, ...]
    seeds: tuple[int, ...]
    datasets: tuple[str, ...] = ()
    hops: tuple[str, ...] = ()
    updates: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, metadata={"key": "set"})
    keep_last: int = 1
    keep_every: int | None = None
    features: str | None = None
    options: tuple[str, ...] = ()
    evaluate: tuple[str, ...] = ()
    label: str | None = None

    def __post_init__(self) -> None:
        with _naming("name"):
            check_name(self.name)
        if self.label is not None:
            _check_name("label", self.label)
        with _naming("sizes"):
            sizes = self.size_names
        if not sizes or not self.seeds:
            raise ConfigError("sizes and seeds need a value each")
        for name, values in (("sizes", sizes), ("seeds", self.seeds)):
            _check_unique(name, list(map(str, values)))
        check_at_least(0, seeds=min(self.seeds))
        check_at_least(1, keep_last=self.keep_last, keep_every=self.keep_every, updates=self.updates)

    @property
    def size_names(self) -> tuple[str, ...]:
        """The train sizes as the paper writes them, so that 2000 and "2k" are the same run."""
        return tuple(size_name(parse_size(str(each))) for each in self.sizes)

    @property
    def folder_label(self) -> str:
        """What its runs' folders are called by."""
        return self.label or self.name.rpartition(":")[2]


@dataclass(frozen=True)
class Experiment:
    """A whole file.

    Attributes:
        file: where it was read from.
        title: of the report.
        out: the folder that everything goes into.
        jobs: runs side by side; None for one a core.
        threads: of each run; None for the cores divided by the jobs.
        datasets: folders.
        models: grids of runs.
        least_iid: complex_iid accuracy in per cent from which runs count in controlled diversity.
        ways: of models that answer in several ways, those to report; all where none is named.
    """

    file: Path
    title: str
    out: Path
    jobs: int | None
    threads: int | None
    datasets: tuple[DatasetConfig, ...]
    models: tuple[ModelConfig, ...]
    least_iid: float = 0.0
    ways: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Report:
    title: str | None = None
    least_iid: float = 0.0
    ways: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.least_iid <= 100:
            raise ConfigError(f"least_iid is {shown(self.least_iid)}; expected a number from 0 to 100")


@dataclass(frozen=True)
class _File:
    """The file's own tables and keys."""

    dataset: tuple[DatasetConfig, ...] = ()
    model: tuple[ModelConfig, ...] = ()
    report: _Report = field(default_factory=_Report)
    title: str | None = None
    out: str | None = None
    jobs: int | Literal["cores"] = 1
    threads: int | None = None

    def __post_init__(self) -> None:
        check_at_least(1, jobs=None if self.jobs == "cores" else self.jobs, threads=self.threads)
        if not self.dataset or not self.model:
            raise ConfigError("an experiment needs a [[dataset]] and a [[model]]")
        names = [each.name for each in self.dataset]
        _check_unique("dataset", names)
        for k, model in enumerate(self.model):
            for name in model.datasets:
                if name not in names:
                    raise ConfigError(
                        f"model[{k}].datasets: no dataset {shown(name)}{suggestion(name, names)}"
                    )
        _check_labels(self.model)


def read_experiment(file: Path, *, out: Path | None = None) -> Experiment:
    """Reads an experiment; its `out` is meant from the working directory, its other paths from where it lies.

    Those in a file of the package are meant from the working directory, too: nobody puts weights beside it.

    Args:
        file: TOML.
        out: in place of the file's `out`, which is by default `out/` and the file's name.

    Raises:
        ConfigError: no such file, or an unknown key or value; names the place in it.
    """
    raw = read_toml(file, "an experiment")
    base = Path() if file.resolve().parent == assets.experiments().resolve() else file.parent
    found = read_settings(_File, raw, where=file, base=base)
    return Experiment(
        file=file,
        title=found.report.title or found.title or file.stem,
        out=out or Path(found.out or Path("out") / file.stem),
        jobs=None if found.jobs == "cores" else found.jobs,
        threads=found.threads,
        datasets=tuple(_with_paths(each, base) for each in found.dataset),
        models=tuple(
            # What the settings of a user's own model are, that model alone knows.
            each
            if ":" in each.name
            else replace(each, settings=_from_folder(each.settings, _PATHS_OF_MODELS, base))
            for each in found.model
        ),
        least_iid=found.report.least_iid,
        ways=found.report.ways,
    )


def _with_paths(dataset: DatasetConfig, base: Path) -> DatasetConfig:
    """A dataset whose paths in strings and tables are told from the working directory."""
    features = tuple(
        each if each.weights in (None, _RANDOM) else replace(each, weights=str(base / str(each.weights)))
        for each in dataset.features
    )
    config = _from_folder(dataset.config, _PATHS_OF_BUILD, base.resolve())
    return replace(dataset, features=features, config=config)


def _from_folder(table: Mapping[str, Any], names: Sequence[str], base: Path) -> dict[str, Any]:
    paths = {name: str(base / table[name]) for name in names if isinstance(table.get(name), str)}
    return {**table, **paths}


def _check_labels(models: Sequence[ModelConfig]) -> None:
    """Passes where tables whose runs have the same label differ in pairs, sizes and seeds alone."""
    first: dict[str, tuple[int, ModelConfig]] = {}
    varied = ("datasets", "hops", "sizes", "seeds")
    for k, model in enumerate(models):
        j, other = first.setdefault(model.folder_label, (k, model))
        alike = all(
            getattr(model, each.name) == getattr(other, each.name)
            for each in fields(model)
            if each.name not in varied
        )
        if not alike and (model.label or other.label or model.name != other.name):
            raise ConfigError(
                f"model[{k}].label: {shown(model.folder_label)} is what model[{j}] is called, which "
                "has other settings; give each a label of its own"
            )


def _check_unique(name: str, values: Sequence[str]) -> None:
    repeated = {each for each in values if values.count(each) > 1}
    if repeated:
        raise ConfigError(f"{name}: {shown(min(repeated))} is there twice")


def _check_name(key: str, value: str) -> None:
    if not _PART_OF_A_NAME.fullmatch(value):
        raise ConfigError(
            f'{key} is {shown(value)}; expected letters, digits, "_", "." and "-", of a folder\'s name, '
            "100 at most"
        )


@contextmanager
def _naming(key: str) -> Iterator[None]:
    """Puts a key before what is wrong with its value."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from error
