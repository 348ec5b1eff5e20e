"""An experiment's TOML file in, what it asks for as frozen data out; docs/experiments.md has every key."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clevrhope.config.presets import suggestion
from clevrhope.errors import ConfigError, shown
from clevrhope.metrics.paper import size_name
from clevrhope.models.names import check_name
from clevrhope.runtime import assets
from clevrhope.runtime.toml import read_toml
from clevrhope.splits.hops import HOP_GROUPS
from clevrhope.training.request import parse_size

_TOP = ("title", "out", "jobs", "threads", "dataset", "model", "report")
_BUILD = ("hops", "diversity", "mode", "palette")
_DATASET = (
    "name",
    "seed",
    "build",
    "splits",
    "templates",
    "asks",
    "mentions",
    "values",
    "config",
    "features",
    "folder",
)
_FEATURES = ("kind", "size", "weights")
_MODEL = ("name", "label", "datasets", "hops", "sizes", "seeds", "updates", "set", "keep_last", "keep_every",
          "features", "options", "evaluate")  # fmt: skip
_REPORT = ("title", "least_iid", "ways")
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
    diversity: tuple[int, ...] = ()
    mode: str = "nested"
    palette: str | None = None


@dataclass(frozen=True)
class FeaturesConfig:
    """One call of `features`."""

    kind: str
    size: str | None = None
    weights: str | None = None


@dataclass(frozen=True)
class DatasetConfig:
    """A dataset's folder: calls of `build` and of `features`.

    Attributes:
        name: of the folder below the experiment's, and in models' `datasets`.
        seed: as build's.
        builds: one or more.
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
    seed: int
    builds: tuple[BuildConfig, ...]
    splits: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    features: tuple[FeaturesConfig, ...] = ()
    folder: Path | None = None

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
    sizes: tuple[str, ...]
    seeds: tuple[int, ...]
    datasets: tuple[str, ...] = ()
    hops: tuple[str, ...] = ()
    updates: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    keep_last: int = 1
    keep_every: int | None = None
    features: str | None = None
    options: tuple[str, ...] = ()
    evaluate: tuple[str, ...] = ()
    label: str | None = None

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
    at = _Place(file)
    at.check_keys(raw, _TOP)
    beside = Path() if file.resolve().parent == assets.experiments().resolve() else file.parent
    datasets = tuple(_dataset(at.inside(f"dataset[{k}]"), each, beside)
                     for k, each in enumerate(at.tables(raw, "dataset")))  # fmt: skip
    models = tuple(_model(at.inside(f"model[{k}]"), each, beside)
                   for k, each in enumerate(at.tables(raw, "model")))  # fmt: skip
    if not datasets or not models:
        raise ConfigError(f"{file}: an experiment needs a [[dataset]] and a [[model]]")
    names = [each.name for each in datasets]
    at.check_unique(names, "dataset")
    for k, model in enumerate(models):
        for name in model.datasets:
            if name not in names:
                raise ConfigError(
                    f"{file}: model[{k}].datasets: no dataset {shown(name)}{suggestion(name, names)}"
                )
    _check_labels(at, models)
    report, of_report = at.table(raw, "report"), at.inside("report")
    of_report.check_keys(report, _REPORT)
    title = at.text(raw, "title", file.stem)
    own_out = at.text(raw, "out", None)
    return Experiment(
        file=file,
        title=of_report.text(report, "title", title) or "",
        out=out or (Path("out") / file.stem if own_out is None else Path(own_out)),
        jobs=at.jobs(raw),
        threads=at.whole(raw, "threads", None, least=1),
        datasets=datasets,
        models=models,
        least_iid=of_report.percent(report, "least_iid", 0.0),
        ways=of_report.texts(report, "ways"),
    )


def _check_labels(at: "_Place", models: Sequence[ModelConfig]) -> None:
    """Passes where tables whose runs have the same label differ in pairs, sizes and seeds alone."""
    first: dict[str, tuple[int, ModelConfig]] = {}
    for k, model in enumerate(models):
        j, other = first.setdefault(model.folder_label, (k, model))
        alike = replace(other, datasets=(), hops=(), sizes=(), seeds=()) == replace(
            model, datasets=(), hops=(), sizes=(), seeds=()
        )
        if not alike and (model.label or other.label or model.name != other.name):
            raise ConfigError(
                f"{at}: model[{k}].label: {shown(model.folder_label)} is what model[{j}] is called, which "
                "has other settings; give each a label of its own"
            )


def _dataset(at: "_Place", raw: Mapping[str, Any], beside: Path) -> DatasetConfig:
    at.check_keys(raw, _DATASET)
    folder = at.text(raw, "folder", None)
    builds = []
    for k, each in enumerate(at.tables(raw, "build")):
        here = at.inside(f"build[{k}]")
        here.check_keys(each, _BUILD)
        names = here.texts(each, "hops")
        hops = tuple(hop for name in names for hop in HOP_GROUPS.get(name, (name,)))
        if not hops:
            raise ConfigError(f'{here}: no "hops"; name held-out pairs, first6 or all')
        mode = here.text(each, "mode", "nested")
        if mode not in ("nested", "grid"):
            raise ConfigError(f'{here}.mode: {shown(mode)}; expected "nested" or "grid"')
        palette = here.text(each, "palette", None)
        builds.append(
            BuildConfig(hops, here.wholes(each, "diversity"), mode, palette and str(beside / palette))
        )
    if not builds:
        raise ConfigError(f"{at}: a dataset needs [[dataset.build]] with hops")
    if folder is None and "seed" not in raw:
        raise ConfigError(f"{at}: no seed; it decides the dataset")
    features = []
    for k, each in enumerate(at.tables(raw, "features")):
        here = at.inside(f"features[{k}]")
        here.check_keys(each, _FEATURES)
        weights = here.text(each, "weights", None)
        if weights not in (None, _RANDOM):
            weights = str(beside / str(weights))
        features.append(FeaturesConfig(here.needed(each, "kind"), here.text(each, "size", None), weights))
    values = at.table(raw, "values")
    return DatasetConfig(
        name=at.part_of_a_name(raw, "name") or at.needed(raw, "name"),
        seed=at.whole(raw, "seed", 0) or 0,
        builds=tuple(builds),
        splits=at.texts(raw, "splits"),
        templates=at.texts(raw, "templates"),
        asks=at.texts(raw, "asks"),
        mentions=at.texts(raw, "mentions"),
        values={name: at.inside("values").texts(values, name) for name in values},
        config=_from_where_it_lies(at.table(raw, "config"), _PATHS_OF_BUILD, beside.resolve()),
        features=tuple(features),
        folder=None if folder is None else beside / folder,
    )


def _from_where_it_lies(table: Mapping[str, Any], names: Sequence[str], beside: Path) -> dict[str, Any]:
    """The table, with those of its values that are paths told from the working directory."""
    paths = {name: str(beside / table[name]) for name in names if isinstance(table.get(name), str)}
    return {**table, **paths}


def _model(at: "_Place", raw: Mapping[str, Any], beside: Path) -> ModelConfig:
    at.check_keys(raw, _MODEL)
    name = at.needed(raw, "name")
    with at.here():
        check_name(name)
    paths = _PATHS_OF_MODELS if ":" not in name else ()  # what anybody's own settings are, they know alone
    with at.inside("sizes").here():
        # One name for each, so that 2000 and "2k" are the same run.
        sizes = tuple(size_name(parse_size(str(each))) for each in at.many(raw, "sizes"))
    seeds = at.wholes(raw, "seeds")
    if not sizes or not seeds:
        raise ConfigError(f'{at}: a model needs "sizes" and "seeds", a list each')
    at.check_unique(sizes, "sizes")
    at.check_unique([str(each) for each in seeds], "seeds")
    return ModelConfig(
        name=name,
        sizes=sizes,
        seeds=seeds,
        datasets=at.texts(raw, "datasets"),
        hops=at.texts(raw, "hops"),
        updates=at.whole(raw, "updates", None, least=1),
        settings=_from_where_it_lies(at.table(raw, "set"), paths, beside),
        keep_last=at.whole(raw, "keep_last", 1, least=1) or 1,
        keep_every=at.whole(raw, "keep_every", None, least=1),
        features=at.text(raw, "features", None),
        options=at.texts(raw, "options"),
        evaluate=at.texts(raw, "evaluate"),
        label=at.part_of_a_name(raw, "label"),
    )


@dataclass(frozen=True)
class _Place:
    """A place in the file, for messages, and what reads values there."""

    file: Path
    place: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.place}" if self.place else str(self.file)

    def inside(self, name: str) -> "_Place":
        return _Place(self.file, f"{self.place}.{name}" if self.place else name)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Puts the place in front of what a block refuses."""
        try:
            yield
        except ConfigError as error:
            raise ConfigError(f"{self}: {error}") from error

    def check_keys(self, raw: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in raw:
            if key not in known:
                raise ConfigError(
                    f"{self}: unknown key {shown(key)}{suggestion(key, known)}; there are: {', '.join(known)}"
                )

    def check_unique(self, names: Sequence[str], what: str) -> None:
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ConfigError(f"{self}: {what} {shown(min(twice))} is there twice")

    def table(self, raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = raw.get(key, {})
        if not isinstance(value, dict):
            raise ConfigError(f"{self.inside(key)}: expected a table")
        return value

    def tables(self, raw: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        value = raw.get(key, [])
        value = [value] if isinstance(value, dict) else value
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise ConfigError(f"{self.inside(key)}: expected a table, or [[{key}]] for several")
        return value

    def many(self, raw: Mapping[str, Any], key: str) -> list[Any]:
        value = raw.get(key, [])
        return list(value) if isinstance(value, list) else [value]

    def texts(self, raw: Mapping[str, Any], key: str) -> tuple[str, ...]:
        found = self.many(raw, key)
        for each in found:
            if not isinstance(each, str):
                raise ConfigError(
                    f"{self.inside(key)}: {shown(each)}; expected a string or a list of strings"
                )
        return tuple(found)

    def wholes(self, raw: Mapping[str, Any], key: str) -> tuple[int, ...]:
        found = self.many(raw, key)
        for each in found:
            if type(each) is not int or each < 0:
                raise ConfigError(f"{self.inside(key)}: {shown(each)}; expected whole numbers from 0")
        return tuple(found)

    def whole(self, raw: Mapping[str, Any], key: str, default: int | None, *, least: int = 0) -> int | None:
        value = raw.get(key, default)
        if value is not None and (type(value) is not int or value < least):
            raise ConfigError(f"{self.inside(key)}: {shown(value)}; expected a whole number from {least}")
        return value

    def percent(self, raw: Mapping[str, Any], key: str, default: float) -> float:
        value = raw.get(key, default)
        if type(value) not in (int, float) or not 0 <= value <= 100:
            raise ConfigError(f"{self.inside(key)}: {shown(value)}; expected a number from 0 to 100")
        return float(value)

    def jobs(self, raw: Mapping[str, Any]) -> int | None:
        value = raw.get("jobs", 1)
        if value == "cores":
            return None
        if type(value) is not int or value < 1:
            raise ConfigError(
                f'{self.inside("jobs")}: {shown(value)}; expected a whole number from 1, or "cores"'
            )
        return value

    def text(self, raw: Mapping[str, Any], key: str, default: str | None) -> str | None:
        value = raw.get(key, default)
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{self.inside(key)}: {shown(value)}; expected a string")
        return value

    def part_of_a_name(self, raw: Mapping[str, Any], key: str) -> str | None:
        value = self.text(raw, key, None)
        if value is not None and not _PART_OF_A_NAME.fullmatch(value):
            raise ConfigError(
                f'{self.inside(key)}: {shown(value)}; expected letters, digits, "_", "." and "-", of a '
                "folder's name, 100 at most"
            )
        return value

    def needed(self, raw: Mapping[str, Any], key: str) -> str:
        value = self.text(raw, key, None)
        if not value:
            raise ConfigError(f'{self}: no "{key}"')
        return value
