"""An experiment in, its steps out: command lines, what each needs, and whether it is done.

A step is done when its mark is there, a file written after its command ended well that holds the command; so
another command for the same step is another step, and is run. A build's mark holds a digest of the files that
are written for it, too; marks of what follows from a dataset hold a digest of what it reads of it.

A run is bound to its settings, so other settings (more updates, say) are another run: where the folder of its
name holds one of other settings, it gets a folder whose name ends in a digest of its own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from clevrhope.config.presets import suggestion
from clevrhope.dataset.contents import find_hop
from clevrhope.dataset.layout import Layout
from clevrhope.errors import ConfigError, DatasetError, shown
from clevrhope.experiments.config import BuildConfig, DatasetConfig, Experiment, ModelConfig
from clevrhope.experiments.made_from import MadeFrom
from clevrhope.experiments.settings import Places, places_below
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.json_text import read_json
from clevrhope.runtime.toml import toml_text, toml_value
from clevrhope.splits.palettes import diversity_name

BOUND = ".experiment.json"
"""In a run's folder: what of the experiment's file the run in it is bound to."""

_DIGITS = 6
"""Of the digest in a folder's name."""

_FREE_OPTIONS: Mapping[str, int] = {"--device": 1, "--save-every": 1, "--tensorboard": 0}
"""Options of `train` that a run is not bound to, and how many values they take."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command.

    Attributes:
        name: unique in the experiment; of its mark and log.
        arguments: of `clevrhope`.
        reads: a digest of what the experiment's file says that is in no argument.
        made_from: what it reads of a dataset; where that changed, it is not done.
        made: what it leaves behind, a file or folder; where that is gone, it is not done.
        holds: the folder that no other process may be at work in meanwhile.
        mark: the file that says that it is done.
        log: where what it prints goes.
    """

    name: str
    arguments: tuple[str, ...]
    made: Path
    mark: Path
    log: Path
    reads: str = ""
    made_from: MadeFrom | None = None
    holds: Path | None = None

    @property
    def done(self) -> bool:
        """Whether this very command ended well before."""
        try:
            return self.made.exists() and bool(read_json(self.mark) == self._marked)
        except (OSError, DatasetError):
            return False

    def set_done(self) -> None:
        """Writes the mark."""
        write_whole(self.mark, json.dumps(self._marked).encode())

    @property
    def _marked(self) -> list[str]:
        read = [self.reads] if self.reads else []
        return [*self.arguments, *read, *([self.made_from.digest] if self.made_from else [])]


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
    """A run, trained and evaluated, and the dataset that it needs.

    Attributes:
        chain: its name is that of its folder.
        dataset: by name.
        folder: the run's.
        model: the number of its [[model]] table.
        bound: what of the experiment's file it is bound to.
    """

    chain: Chain
    dataset: str
    folder: Path
    model: int
    bound: Mapping[str, Any]

    def claim(self) -> None:
        """Notes in the folder, where no run is in it yet, what the run is bound to that will be."""
        if not (self.folder / "run.json").exists():
            write_whole(self.folder / BOUND, json.dumps(self.bound).encode())


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
        ConfigError: pairs that no dataset of a model has, or that a folder has not; or the same run twice.
        DatasetError: a folder that is to be used as it is, and holds no dataset.
    """
    out = experiment.out
    for each in experiment.datasets:
        _check_there(experiment, each)
    datasets = {each.name: _dataset_chain(experiment, each) for each in experiment.datasets}
    runs: dict[str, RunChain] = {}
    for model in experiment.models:
        for dataset in experiment.datasets:
            if not model.datasets or dataset.name in model.datasets:
                for hop, size, seed in product(
                    _hops_of(experiment, model, dataset), model.size_names, model.seeds
                ):
                    name = _run_name(experiment, model, dataset, hop, size, seed)
                    if name in runs:
                        raise ConfigError(
                            f"{experiment.file}: the run {name} is asked for twice; where settings differ, "
                            "give one of its [[model]] tables another label"
                        )
                    runs[name] = _run_chain(experiment, model, dataset, name, hop, size, seed)
    return Plan(experiment, datasets, tuple(runs.values()), out / "runs", out / "report")


def sub_datasets(dataset: DatasetConfig) -> tuple[str, ...]:
    """Names of a dataset's sub-datasets, as `build` calls them."""
    return tuple(dict.fromkeys(name for build in dataset.builds for name in names_of(build)))


def _check_there(experiment: Experiment, dataset: DatasetConfig) -> None:
    """Passes for a dataset that is built, and for one whose folder has all that is asked of it."""
    if dataset.folder is None:
        return
    layout = Layout(dataset.folder)
    for name in sub_datasets(dataset):
        try:
            find_hop(layout, name)
        except ConfigError as error:
            raise ConfigError(f"{experiment.file}: dataset {dataset.name}: {error}") from error


def names_of(build: BuildConfig) -> Sequence[str]:
    """Names of the sub-datasets that a build makes."""
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
                f"{experiment.file}: model {model.name}: no pair {shown(name)}{suggestion(name, known)}"
            )
    return [name for name in there if not model.hops or name in model.hops]


def build_arguments(dataset: DatasetConfig, build: BuildConfig, places: Places) -> list[str]:
    """The command line that builds sub-datasets of a dataset."""
    arguments = ["build", "--out", str(places.data), "--seed", str(dataset.seed)]
    for hop in build.hops:
        arguments += ["--hop", hop]
    if build.diversity:
        arguments += ["--diversity", ",".join(map(str, build.diversity))]
        arguments += ["--diversity-mode", build.mode]
    if build.palette is not None:
        arguments += ["--palette", str(build.palette)]
    if dataset.splits:
        arguments += ["--splits", ",".join(dataset.splits)]
    if dataset.has_templates:
        arguments += ["--templates", str(places.templates)]
    if dataset.values:
        arguments += ["--properties", str(places.properties)]
    return [*arguments, "--config", str(places.config), "--quiet"]


def _dataset_chain(experiment: Experiment, dataset: DatasetConfig) -> Chain:
    places = places_below(experiment.out, dataset)
    folder = places.data
    steps = []
    if dataset.folder is None:
        for k, build in enumerate(dataset.builds):
            arguments = build_arguments(dataset, build, places)
            step = _step(experiment, f"build-{dataset.name}-{k}", arguments, folder / "manifest.json")
            steps.append(replace(step, reads=_digest(dataset), holds=folder))
    for k, features in enumerate(dataset.features):
        arguments = ["features", str(folder), "--kind", features.kind]
        if features.size:
            arguments += ["--size", features.size]
        if features.weights:
            arguments += ["--weights", features.weights]
        name = f"features-{dataset.name}-{features.kind}-{k}"
        step = _step(experiment, name, [*arguments, "--quiet"], folder / "features")
        steps.append(replace(step, made_from=MadeFrom(folder, images=True)))
    return Chain(dataset.name, tuple(steps))


def _run_name(
    experiment: Experiment, model: ModelConfig, dataset: DatasetConfig, hop: str, size: str, seed: int
) -> str:
    """The name of a run's folder; its dataset is in it but for the first, so that more can be added."""
    of = "" if dataset is experiment.datasets[0] else f"{dataset.name}-"
    return f"{model.folder_label}-{of}{hop}-{size}-{seed}"


def _run_chain(
    experiment: Experiment,
    model: ModelConfig,
    dataset: DatasetConfig,
    name: str,
    hop: str,
    size: str,
    seed: int,
) -> RunChain:
    data = places_below(experiment.out, dataset).data
    bound = _bound(model, dataset)
    if _is_taken(experiment.out / "runs" / name, bound):
        name += f"-{sha256(json.dumps(bound).encode()).hexdigest()[:_DIGITS]}"
    run = experiment.out / "runs" / name
    train = ["train", model.name, str(data), "--hop", hop, "--size", size,
             "--seed", str(seed), "--out", str(run)]  # fmt: skip
    if model.updates:
        train += ["--updates", str(model.updates)]
    for key, each in model.settings.items():
        train += ["--set", f"{key}={toml_value(each)}"]
    if model.keep_last > 1:
        train += ["--keep-last", str(model.keep_last)]
    if model.keep_every:
        train += ["--keep-every", str(model.keep_every)]
    if model.features:
        train += ["--features", model.features]
    train += [*model.options, "--quiet"]
    evaluate = ["evaluate", str(run), *model.evaluate, "--quiet"]
    trained = _step(experiment, f"train-{name}", train, run / "finished.json")
    evaluated = _step(experiment, f"evaluate-{name}", evaluate, run / "predictions")
    steps = (
        replace(trained, made_from=MadeFrom(data), holds=run),
        replace(evaluated, made_from=MadeFrom(data, tests_of=hop)),
    )
    return RunChain(Chain(name, steps), dataset.name, run, experiment.models.index(model), bound)


def _bound(model: ModelConfig, dataset: DatasetConfig) -> dict[str, Any]:
    """What a run is bound to that its folder's name does not say; as JSON gives it back."""
    options, left = [], list(model.options)
    while left:
        option = left.pop(0)
        name, equals, _ = option.partition("=")
        if name not in _FREE_OPTIONS:
            options.append(option)
        elif not equals:
            del left[: _FREE_OPTIONS[name]]
    bound = {
        "model": model.name,
        "dataset": dataset.name,
        "updates": model.updates,
        "set": dict(sorted(model.settings.items())),
        "keep": [model.keep_last, model.keep_every],
        "features": model.features,
        "options": options,
    }
    return dict(json.loads(json.dumps(bound, default=str)))


def _is_taken(folder: Path, bound: Mapping[str, Any]) -> bool:
    """Whether a run of other settings is in a folder. What says nothing of its settings is taken for ours."""
    try:
        said = read_json(folder / BOUND)
    except DatasetError:
        return False
    return (folder / "run.json").exists() and bool(said != bound)


def _digest(dataset: DatasetConfig) -> str:
    """Of what is written for a build to read."""
    written = [toml_text(dataset.config), dataset.templates, dataset.asks, dataset.mentions, dataset.values]
    return sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()[:16]


def _step(experiment: Experiment, name: str, arguments: Sequence[str], made: Path) -> Step:
    out = experiment.out
    return Step(name, tuple(arguments), made, out / "done" / f"{name}.json", out / "logs" / f"{name}.log")
