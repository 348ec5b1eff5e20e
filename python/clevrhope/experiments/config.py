"""The settings of experiments; docs/experiments.md describes every key."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from clevrhope.errors import ConfigError, shown
from clevrhope.metrics.published import size_name
from clevrhope.models.names import check_name
from clevrhope.runtime.settings import check_at_least, check_known, naming
from clevrhope.splits.covr.kinds import COVR_TRAIN
from clevrhope.splits.hops import HOP_GROUPS
from clevrhope.training.request import parse_drops, parse_size

_OF_DATASET = re.compile(r"dataset(\+[1-9]\d{0,8})?", re.ASCII)
_PART_OF_A_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)


@dataclass(frozen=True)
class BuildConfig:
    """One call of `build`: pairs, and limits on the combinations of values."""

    hops: tuple[str, ...]
    """Held-out pairs; first6 and all stand for their pairs."""
    diversity: tuple[int, ...] = ()
    mode: Literal["nested", "grid"] = "nested"
    palette: Path | None = None
    """A file; {seed} in its path stands for the seed of a replicate."""

    def of_replicate(self, seed: int) -> "BuildConfig":
        """The call of a replicate with this seed."""
        return replace(self, palette=self.palette and Path(str(self.palette).replace("{seed}", str(seed))))

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
    """A path, or "random"; for a class of one's own, whatever that takes."""


@dataclass(frozen=True)
class DatasetConfig:
    """A dataset's folder: calls of `build` and of `features`.

    Attributes:
        seed: None where nothing is built, or where there are `seeds`.
        seeds: one replicate of the dataset is built with each seed, which also decides its palettes. It is
            named by the dataset and the seed, such as "hour-1"; the dataset's name alone means all of them.
        splits, templates, asks, mentions: those to take; empty for all.
        values: which of the package's properties to use, by type (sizes, colors, materials, shapes); all
            values of types that are left out.
        suites: suites of paired tests to make, each with the tests to take of it; empty for all of them.
        folder: an existing dataset to use as it is, in which case nothing is built.
        published: published files, such as CLEVR_v1.0, which are imported in place of a build.
        shared_test: the sub-dataset whose complex_ood all runs on its pair answer, too; None for the smallest
            of nested diversities.
        cpu_minutes: what building it costs, as measured; for `--plan` alone.
    """

    name: str
    builds: tuple[BuildConfig, ...] = field(metadata={"key": "build"})
    seed: int | None = None
    seeds: tuple[int, ...] = ()
    splits: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    features: tuple[FeaturesConfig, ...] = ()
    suites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    render: bool = True
    covr: bool = False
    folder: Path | None = None
    published: Path | None = None
    shared_test: str | None = None
    cpu_minutes: float | None = None

    def __post_init__(self) -> None:
        _check_name("name", self.name)
        if not self.builds:
            raise ConfigError("build is empty; a dataset needs [[dataset.build]] with hops")
        if self.seed is None and not self.seeds and self.is_built:
            raise ConfigError("seed is missing; it decides the dataset")
        given = [name for name in ("seed", "folder", "published") if getattr(self, name) is not None]
        if self.seeds and given:
            raise ConfigError(f"seeds does not go with {given[0]}; give one of the two")
        of_builds = ("templates", "asks", "mentions", "values", "config", "suites", "covr")
        given += [name for name in of_builds if getattr(self, name)]
        others = [name for name in given if name != "published"]
        if self.published is not None and others:
            raise ConfigError(
                f"published does not go with {', '.join(others)}: published files are taken as they are"
            )
        _check_unique(seeds=self.seeds)
        check_at_least(0, seed=self.seed, seeds=min(self.seeds, default=None))
        if self.suites and (self.asks or self.mentions):
            left_out = "asks" if self.asks else "mentions"
            raise ConfigError(
                f"suites do not go with {left_out}: their tests name templates by file and number; choose "
                "whole files with templates"
            )

    @property
    def is_built(self) -> bool:
        """Whether it is built here: neither an existing folder nor published files."""
        return self.folder is None and self.published is None

    @property
    def replicates(self) -> tuple["DatasetConfig", ...]:
        """A dataset for each of its seeds; itself if it has one seed."""
        if not self.seeds:
            return (self,)
        return tuple(
            replace(
                self,
                name=f"{self.name}-{seed}",
                builds=tuple(each.of_replicate(seed) for each in self.builds),
                seed=seed,
                seeds=(),
            )
            for seed in self.seeds
        )

    @property
    def has_templates(self) -> bool:
        """Whether it uses a subset of the package's templates, or changed ones."""
        return bool(self.templates or self.asks or self.mentions)


@dataclass(frozen=True)
class Variant:
    """What a run learns from, besides its dataset, pair and size: options of `train`, "" or None for none."""

    drop_type: str = ""
    split: str | None = None
    covr_split: str | None = None
    iid_size_of: str | None = None
    shots: int | None = None


@dataclass(frozen=True)
class ModelConfig:
    """A model on some datasets, pairs, sizes and seeds.

    Attributes:
        seeds: one run each; "dataset" for one run with the seed of its dataset, so that replicates of a
            dataset do not share their first weights, and "dataset+100" for another one, with that seed + 100.
        datasets, hops: names; empty for all.
        drops: one run each; "" for a run that drops nothing.
        covr_splits: one run each on covr_train; "" for a run on all of it.
        shots: one run each for every predicate of `covr_splits` and `iid_size_of`; empty for none.
        init_from: label of an earlier [[model]] with one size, from whose run of the same dataset, pair and
            seed each run starts.
        reaching: as for `evaluate --reaching`; None to evaluate all checkpoints.
        options: further options of `train`.
        evaluate: further options of `evaluate`.
        label: begins the names of its runs' folders; None for its name.
        cpu_minutes: what a run with its evaluation costs, as measured; for `--plan` alone.
    """

    name: str
    sizes: tuple[int | str, ...]
    seeds: tuple[int, ...] | str
    datasets: tuple[str, ...] = ()
    hops: tuple[str, ...] = ()
    updates: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, metadata={"key": "set"})
    drops: tuple[str, ...] = ("",)
    covr_splits: tuple[str, ...] = ()
    iid_size_of: tuple[str, ...] = ()
    shots: tuple[int, ...] = ()
    init_from: str | None = None
    keep_last: int = 1
    keep_every: int | None = None
    reaching: float | None = None
    features: str | None = None
    options: tuple[str, ...] = ()
    evaluate: tuple[str, ...] = ()
    label: str | None = None
    cpu_minutes: float | None = None

    def __post_init__(self) -> None:
        with naming("name"):
            check_name(self.name)
        if self.label is not None:
            _check_name("label", self.label)
        with naming("sizes"):
            sizes = self.size_names
        if not sizes or not self.seeds or not self.drops:
            raise ConfigError("sizes, seeds and drops need at least one value each")
        with naming("drops"):
            for drop in filter(None, self.drops):
                parse_drops(drop.split(","))
        seeds = () if isinstance(self.seeds, str) else self.seeds
        if isinstance(self.seeds, str) and not _OF_DATASET.fullmatch(self.seeds):
            raise ConfigError(f'seeds is {shown(self.seeds)}; expected numbers, "dataset" or "dataset+100"')
        _check_unique(sizes=sizes, seeds=seeds, drops=self.drops)
        _check_unique(covr_splits=self.covr_splits, iid_size_of=self.iid_size_of, shots=self.shots)
        if "" in self.iid_size_of:
            raise ConfigError('iid_size_of: "" is no predicate; expected one, such as "has-quant-all"')
        if self.shots and not (self.iid_size_of or any(self.covr_splits)):
            raise ConfigError("shots go with covr_splits or iid_size_of: they are of what these hold out")
        check_at_least(0, seeds=min(seeds, default=None), shots=min(self.shots, default=None))
        check_at_least(1, keep_last=self.keep_last, keep_every=self.keep_every, updates=self.updates)
        if self.reaching is not None and self.keep_last == 1:
            raise ConfigError("reaching needs keep_last and keep_every: it chooses among late checkpoints")

    def seeds_on(self, dataset: DatasetConfig) -> tuple[int, ...]:
        """The seeds of its runs on a dataset; a ConfigError if they are those of an existing folder."""
        if not isinstance(self.seeds, str):
            return self.seeds
        if dataset.seed is None:
            raise ConfigError(
                f'seeds is "{self.seeds}", but dataset {dataset.name} is not built here; list seeds instead'
            )
        return (dataset.seed + int(self.seeds.partition("+")[2] or 0),)

    @property
    def variants(self) -> tuple["Variant", ...]:
        """What the runs of one dataset, pair, size and seed differ in."""
        plain = Variant(split=COVR_TRAIN)
        held_out = [replace(plain, shots=shots) for shots in self.shots or (None,)]
        of_sets = [
            *(replace(e, covr_split=text) if text else plain for text in self.covr_splits for e in held_out),
            *(replace(e, iid_size_of=text) for text in self.iid_size_of for e in held_out),
        ]
        of_sets = list(dict.fromkeys(of_sets))  # a run on all questions has no shots
        return tuple(replace(each, drop_type=drop) for each in of_sets or [Variant()] for drop in self.drops)

    @property
    def size_names(self) -> tuple[str, ...]:
        """The train sizes as the paper writes them, so that 2000 and "2k" give the same run."""
        return tuple(size_name(parse_size(str(each))) for each in self.sizes)

    @property
    def folder_label(self) -> str:
        """The beginning of the names of its runs' folders."""
        return self.label or self.name.rpartition(":")[2]


@dataclass(frozen=True)
class ReportConfig:
    """What a report begins with; None for the paper's question."""

    question: str | None = None


@dataclass(frozen=True)
class ZeroShotConfig:
    """An LXMERT that others finetuned, which answers a dataset without training: weights and its answers."""

    weights: Path
    labels: Path
    dataset: str
    features: str | None = None
    """As for `evaluate`, where the dataset has several stores of the kind."""


@dataclass(frozen=True)
class ExperimentFile:
    """The tables and keys of a file."""

    dataset: tuple[DatasetConfig, ...] = ()
    model: tuple[ModelConfig, ...] = ()
    zero_shot: tuple[ZeroShotConfig, ...] = ()
    report: ReportConfig = field(default_factory=ReportConfig)
    title: str | None = None
    out: str | None = None
    jobs: int | Literal["cores"] = 1
    threads: int = 1
    """Of each run."""

    def __post_init__(self) -> None:
        check_at_least(1, jobs=None if self.jobs == "cores" else self.jobs, threads=self.threads)
        if not self.dataset or not self.model:
            raise ConfigError("an experiment needs a [[dataset]] and a [[model]]")
        tables = [each.name for each in self.dataset]
        replicates = [own.name for each in self.dataset for own in each.replicates]
        _check_unique(dataset=tables)
        _check_unique(dataset=replicates)
        names = list(dict.fromkeys([*tables, *replicates]))
        for k, model in enumerate(self.model):
            check_known(model.datasets, names, f"model[{k}].datasets: no dataset")
        for k, asked in enumerate(self.zero_shot):
            check_known([asked.dataset], replicates, f"zero_shot[{k}].dataset: no dataset")


@dataclass(frozen=True)
class Experiment:
    """An experiment, with its paths relative to the working directory.

    Attributes:
        file: its path.
        content: what the file says.
        out: the folder for everything.
        datasets: to build or use, with replicates one by one.
        tables: the numbers of their [[dataset]] tables.
        models: grids of runs; their `datasets` name replicates one by one. Tables with lists of settings are
            several of these.
        model_tables: the numbers of their [[model]] tables.
    """

    file: Path
    content: ExperimentFile
    out: Path
    datasets: tuple[DatasetConfig, ...]
    tables: tuple[int, ...]
    models: tuple[ModelConfig, ...]
    model_tables: tuple[int, ...]


def _check_unique(**lists: Sequence[object]) -> None:
    for name, values in lists.items():
        repeated = [str(each) for each in values if values.count(each) > 1]
        if repeated:
            raise ConfigError(f"{name}: {shown(min(repeated))} is listed twice")


def _check_name(key: str, value: str) -> None:
    if not _PART_OF_A_NAME.fullmatch(value):
        raise ConfigError(
            f'{key} is {shown(value)}; expected the name of a folder: at most 100 letters, digits, "_", "." '
            'and "-"'
        )
