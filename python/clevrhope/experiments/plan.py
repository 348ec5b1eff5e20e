"""An experiment in, its steps out: command lines, what each needs, and whether it is done.

A step is done when its mark is there, a file written after its command ended well that holds the command; so
another command for the same step (more updates, say) is another step, and is run. A build's mark holds a
digest of the files that are written for it, too.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from clevrhope.atomic import write_whole
from clevrhope.config import suggestion
from clevrhope.errors import ConfigError
from clevrhope.experiments.config import BuildConfig, DatasetConfig, Experiment, ModelConfig
from clevrhope.experiments.toml import toml, value
from clevrhope.palettes import diversity_name


@dataclass(frozen=True, slots=True)
class Step:
    """One command.

    Attributes:
        name: unique in the experiment; of its mark and log.
        arguments: of `clevrhope`.
        reads: of what the experiment's file says in the files that it names, a digest.
        made: what it leaves behind, a file or folder; where that is gone, it is not done.
        mark: the file that says that it is done.
        log: where what it prints goes.
    """

    name: str
    arguments: tuple[str, ...]
    made: Path
    mark: Path
    log: Path
    reads: str = ""

    @property
    def done(self) -> bool:
        """Whether this very command ended well before."""
        try:
            return self.made.exists() and bool(json.loads(self.mark.read_bytes()) == self._marked)
        except (OSError, ValueError):
            return False

    def set_done(self) -> None:
        """Writes the mark."""
        write_whole(self.mark, json.dumps(self._marked).encode())

    @property
    def _marked(self) -> list[str]:
        return [*self.arguments, self.reads] if self.reads else list(self.arguments)


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps one after the other; where one fails, those after it are left."""

    name: str
    steps: tuple[Step, ...]

    @property
    def done(self) -> bool:
        """Whether all are."""
        return all(step.done for step in self.steps)


@dataclass(frozen=True, slots=True)
class RunChain:
    """A run, trained and evaluated, and the dataset that it needs."""

    chain: Chain
    dataset: str


@dataclass(frozen=True)
class Plan:
    """All of an experiment.

    Attributes:
        experiment: what it is of.
        datasets: a chain a dataset (builds, then features), by name; they are run one at a time.
        runs: of which several go side by side.
        runs_folder: where their folders are.
        report: the report's folder.
    """

    experiment: Experiment
    datasets: dict[str, Chain]
    runs: tuple[RunChain, ...]
    runs_folder: Path
    report: Path

    @property
    def n_done(self) -> int:
        """Runs that are done."""
        return sum(run.chain.done for run in self.runs)


def make_plan(experiment: Experiment) -> Plan:
    """The steps of an experiment, in order; writes nothing.

    Raises:
        ConfigError: pairs that no dataset of a model has, or the same run twice.
    """
    out = experiment.out
    datasets = {each.name: _dataset_chain(experiment, each) for each in experiment.datasets}
    runs = []
    for model in experiment.models:
        for dataset in experiment.datasets:
            if not model.datasets or dataset.name in model.datasets:
                for hop in _hops_of(experiment, model, dataset):
                    runs += [
                        RunChain(_run_chain(experiment, model, dataset, hop, size, seed), dataset.name)
                        for size in model.sizes
                        for seed in model.seeds
                    ]
    names = [run.chain.name for run in runs]
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice:
        raise ConfigError(f"{experiment.file}: the run {twice} is asked for twice")
    return Plan(experiment, datasets, tuple(runs), out / "runs", out / "report")


def sub_datasets(dataset: DatasetConfig) -> tuple[str, ...]:
    """Names of a dataset's sub-datasets, as `build` calls them."""
    return tuple(dict.fromkeys(name for build in dataset.builds for name in _names(build)))


def data_folder(experiment: Experiment, dataset: DatasetConfig) -> Path:
    """Where a dataset lies."""
    return dataset.folder or experiment.out / "data" / dataset.name


def config_file(experiment: Experiment, dataset: DatasetConfig) -> Path:
    """The settings that a dataset is built with, written before it is."""
    return experiment.out / "config" / f"{dataset.name}.toml"


def templates_folder(experiment: Experiment, dataset: DatasetConfig) -> Path:
    """The templates that a dataset is built with, where it takes some of the package's only."""
    return experiment.out / "config" / f"{dataset.name}_templates"


def properties_file(experiment: Experiment, dataset: DatasetConfig) -> Path:
    """The properties that a dataset is built with, where it takes some of the package's values only."""
    return experiment.out / "config" / f"{dataset.name}_properties.json"


def _names(build: BuildConfig) -> Sequence[str]:
    if build.palette is not None:
        return [f"{hop}-{Path(build.palette).stem}" for hop in build.hops]
    if build.diversity:
        return [f"{hop}-{diversity_name(k, build.mode)}" for hop in build.hops for k in build.diversity]
    return build.hops


def _hops_of(experiment: Experiment, model: ModelConfig, dataset: DatasetConfig) -> Sequence[str]:
    there = sub_datasets(dataset)
    for name in model.hops:
        known = {each for other in experiment.datasets for each in sub_datasets(other)}
        if name not in known:
            raise ConfigError(
                f'{experiment.file}: model {model.name}: no pair "{name}"{suggestion(name, known)}'
            )
    return [name for name in there if not model.hops or name in model.hops]


def _dataset_chain(experiment: Experiment, dataset: DatasetConfig) -> Chain:
    folder = data_folder(experiment, dataset)
    steps = []
    if dataset.folder is None:
        for k, build in enumerate(dataset.builds):
            arguments = ["build", "--out", str(folder), "--seed", str(dataset.seed)]
            for hop in build.hops:
                arguments += ["--hop", hop]
            if build.diversity:
                arguments += ["--diversity", ",".join(map(str, build.diversity))]
                arguments += ["--diversity-mode", build.mode]
            if build.palette is not None:
                arguments += ["--palette", str(experiment.file.parent / build.palette)]
            if dataset.splits:
                arguments += ["--splits", ",".join(dataset.splits)]
            if dataset.has_templates:
                arguments += ["--templates", str(templates_folder(experiment, dataset))]
            if dataset.values:
                arguments += ["--properties", str(properties_file(experiment, dataset))]
            arguments += ["--config", str(config_file(experiment, dataset)), "--quiet"]
            step = _step(experiment, f"build-{dataset.name}-{k}", arguments, folder / "manifest.json")
            steps.append(replace(step, reads=_digest(dataset)))
    for features in dataset.features:
        arguments = ["features", str(folder), "--kind", features.kind]
        if features.size:
            arguments += ["--size", features.size]
        if features.weights:
            arguments += ["--weights", features.weights]
        steps.append(
            _step(experiment, f"features-{dataset.name}-{features.kind}", [*arguments, "--quiet"], folder)
        )
    return Chain(dataset.name, tuple(steps))


def _run_chain(
    experiment: Experiment, model: ModelConfig, dataset: DatasetConfig, hop: str, size: str, seed: int
) -> Chain:
    several = f"{dataset.name}-" if len(experiment.datasets) > 1 else ""
    name = f"{model.name.rpartition(':')[2]}-{several}{hop}-{size}-{seed}"
    run = experiment.out / "runs" / name
    train = ["train", model.name, str(data_folder(experiment, dataset)), "--hop", hop, "--size", size,
             "--seed", str(seed), "--out", str(run)]  # fmt: skip
    if model.updates:
        train += ["--updates", str(model.updates)]
    for key, each in model.settings.items():
        train += ["--set", f"{key}={value(each)}"]
    if model.keep_last > 1:
        train += ["--keep-last", str(model.keep_last)]
    if model.keep_every:
        train += ["--keep-every", str(model.keep_every)]
    if model.features:
        train += ["--features", model.features]
    train += [*model.options, "--quiet"]
    evaluate = ["evaluate", str(run), *model.evaluate, "--quiet"]
    steps = (
        _step(experiment, f"train-{name}", train, run / "finished.json"),
        _step(experiment, f"evaluate-{name}", evaluate, run / "predictions"),
    )
    return Chain(name, steps)


def _digest(dataset: DatasetConfig) -> str:
    """Of what is written for a build to read."""
    written = [toml(dataset.config), dataset.templates, dataset.asks, dataset.mentions, dataset.values]
    return sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()[:16]


def _step(experiment: Experiment, name: str, arguments: Sequence[str], made: Path) -> Step:
    out = experiment.out
    return Step(name, tuple(arguments), made, out / "done" / f"{name}.json", out / "logs" / f"{name}.log")
