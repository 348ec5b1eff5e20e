"""The steps of an experiment: command lines, what each reads, and whether it is done.

A step is done when its mark exists: a file that holds the command, written after the command succeeded. So
a step whose command has changed is run again. A build's mark also holds a digest of the files written for it;
the marks of steps that read a dataset hold a digest of what they read.

A run's folder is bound to its settings: where these have changed (more updates, say), `train` refuses it.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from clevrhope.dataset.contents import find_hop
from clevrhope.dataset.layout import Layout
from clevrhope.errors import ConfigError, DatasetError, shown
from clevrhope.experiments.build_files import Places, build_arguments, command_options
from clevrhope.experiments.config import BuildConfig, DatasetConfig, Experiment, ModelConfig, Variant
from clevrhope.experiments.grids import MOST_RUNS
from clevrhope.experiments.inputs import DatasetInputs
from clevrhope.runtime.atomic import disk_errors, write_whole
from clevrhope.runtime.json_text import read_json
from clevrhope.runtime.settings import check_known, naming, suggestion
from clevrhope.runtime.toml import toml_text, toml_value
from clevrhope.splits.kinds import OOD
from clevrhope.splits.palettes import MARK, diversity_name
from clevrhope.training.recipe_settings import split_settings
from clevrhope.training.request import covr_part_name
from clevrhope.training.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class Step:
    """One command.

    Attributes:
        name: names its mark and log; unique in the experiment.
        arguments: of `clevrhope`.
        made: the file or folder that it makes; if that is missing, the step is not done.
        mark: the file that records that it is done.
        log: the file for its output.
        settings: digest of the settings that it depends on besides its arguments; "" for none.
        inputs: what it reads of a dataset; if that changes, the step is not done.
        holds: the folder in which no other process may work at the same time.
    """

    name: str
    arguments: tuple[str, ...]
    made: Path
    mark: Path
    log: Path
    settings: str = ""
    inputs: DatasetInputs | None = None
    holds: Path | None = None

    @property
    def done(self) -> bool:
        """Whether this very command succeeded before, on the same inputs."""
        try:
            return self.made.exists() and bool(read_json(self.mark) == self._marked)
        except (OSError, DatasetError):
            return False

    def begin(self) -> None:
        """Removes the mark and empties the log; raises DatasetError if one of them cannot be written."""
        with disk_errors(self.mark):
            self.mark.unlink(missing_ok=True)
        with disk_errors(self.log):
            self.log.parent.mkdir(parents=True, exist_ok=True)
            self.log.write_bytes(b"")

    def set_done(self) -> None:
        """Writes the mark."""
        write_whole(self.mark, json.dumps(self._marked).encode())

    @property
    def _marked(self) -> list[str]:
        settings = [self.settings] if self.settings else []
        return [*self.arguments, *settings, *([self.inputs.digest] if self.inputs else [])]


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps in order; if one fails, those after it are not run."""

    name: str
    steps: tuple[Step, ...]

    @property
    def done(self) -> bool:
        """Whether all steps are done."""
        return all(step.done for step in self.steps)


@dataclass(frozen=True, slots=True)
class RunChain(Chain):
    """The training and evaluation of one run, under the name of its folder.

    Attributes:
        dataset: the name of its dataset.
        folder: of the run.
        model: its number among the experiment's models; runs of one grid have several.
        source: the run that it starts from, which is trained before it; None for random weights.
    """

    dataset: str
    folder: Path
    model: int
    source: "RunChain | None" = None

    @property
    def is_trained(self) -> bool:
        """Whether it has been trained as the file says now."""
        return self.steps[0].done


@dataclass(frozen=True)
class Plan:
    """All steps of an experiment: a chain for each dataset, by name, each run and each zero-shot model."""

    experiment: Experiment
    datasets: dict[str, Chain]
    runs: tuple[RunChain, ...]
    zero_shot: tuple[Chain, ...] = ()

    @property
    def report(self) -> Path:
        """The report's folder."""
        return self.experiment.out / "report"

    @property
    def cpu_minutes_left(self) -> float:
        """What is to do costs, as far as the file says it."""
        of_data = {each.name: each.cpu_minutes for each in self.experiment.datasets}
        left = [of_data[name] for name, chain in self.datasets.items() if not chain.done]
        left += [self.experiment.models[run.model].cpu_minutes for run in self.runs if not run.done]
        return sum(filter(None, left))

    @property
    def n_done(self) -> int:
        """Number of runs that are done."""
        return sum(run.done for run in self.runs)


def make_plan(experiment: Experiment) -> Plan:
    """The steps of an experiment, in order; writes nothing.

    Raises:
        ConfigError: a HOP is in no dataset, or not in an existing folder, a run is there twice, or a grid of
            settings has too many.
        DatasetError: an existing folder holds no dataset.
    """
    file, first = experiment.file, experiment.datasets[0]
    for dataset in experiment.datasets:
        if dataset.folder is not None:
            with naming(f"{file}: dataset {dataset.name}"):
                for hop in sub_datasets(dataset):
                    find_hop(Layout(dataset.folder), hop)
        if dataset.shared_test is not None:
            check_known([dataset.shared_test], sub_datasets(dataset), f"{file}: shared_test: no sub-dataset")
    datasets = {each.name: _dataset_chain(experiment, each) for each in experiment.datasets}
    known = {hop for dataset in experiment.datasets for hop in sub_datasets(dataset)}
    runs: dict[str, RunChain] = {}
    n_runs = Counter[int]()
    for (model, table), dataset in product(
        zip(experiment.models, experiment.model_tables, strict=True), experiment.datasets
    ):
        if model.datasets and dataset.name not in model.datasets:
            continue
        unknown = [hop for hop in model.hops if hop not in known]
        if unknown:
            hint = suggestion(unknown[0], known)
            raise ConfigError(f"{file}: model {model.name}: no pair {shown(unknown[0])}{hint}")
        hops = [hop for hop in sub_datasets(dataset) if not model.hops or hop in model.hops]
        with naming(f"{file}: model {model.name}"):
            seeds = model.seeds_on(dataset)
        n_runs[table] += len(hops) * len(model.sizes) * len(seeds) * len(model.variants)
        if n_runs[table] > MOST_RUNS and experiment.model_tables.count(table) > 1:
            raise ConfigError(
                f"{file}: model[{table}]: its grid of settings has more than {MOST_RUNS:,} runs, over all "
                "pairs, sizes and seeds; list fewer values, or name hops"
            )
        # Names leave out the first dataset, so that others can be added later.
        label = model.folder_label if dataset is first else f"{model.folder_label}-{dataset.name}"
        for hop, size, seed, variant in product(hops, model.size_names, seeds, model.variants):
            name = f"{label}-{hop}-{size}-{seed}"
            if variant.split:
                name += f"-{covr_part_name(variant.covr_split, variant.iid_size_of, variant.shots) or 'covr'}"
            if variant.drop_type:
                name += f"-without-{variant.drop_type.replace(',', '-').replace('=', '')}"
            if name in runs:
                raise ConfigError(
                    f"{file}: the run {name} is asked for twice; where settings differ, give one of its "
                    "[[model]] tables another label"
                )
            begin = "-".join([str(model.init_from), *([] if dataset is first else [dataset.name]), hop])
            source = _source(experiment, model, runs, begin, seed) if model.init_from else None
            runs[name] = _run_chain(experiment, model, dataset, name, hop, size, seed, variant, source)
    return Plan(experiment, datasets, tuple(runs.values()), tuple(_zero_shot_chains(experiment)))


def _zero_shot_chains(experiment: Experiment) -> Iterator[Chain]:
    """The steps of the models that answer without training: predictions, and their scores in the log."""
    of_name = {dataset.name: dataset for dataset in experiment.datasets}
    for k, asked in enumerate(experiment.content.zero_shot):
        name, data = f"zero_shot-{asked.dataset}-{k}", Places(experiment.out, of_name[asked.dataset]).data
        made, inputs = RunFolder(experiment.out / "runs" / name), DatasetInputs(data, "sources")
        options = command_options(labels=asked.labels, dataset=data, features=asked.features, out=made.root)
        path = made.prediction("last", "predict")
        evaluate = _step(experiment, f"evaluate-{name}", ["evaluate", str(asked.weights), *options], path)
        score = _step(experiment, f"score-{name}", [], path)
        score = replace(score, arguments=("score", str(data), str(path)))  # which is never quiet
        yield Chain(name, (replace(evaluate, inputs=inputs), replace(score, inputs=inputs)))


def sub_datasets(dataset: DatasetConfig) -> tuple[str, ...]:
    """The names of a dataset's sub-datasets, as `build` gives them."""
    return tuple(dict.fromkeys(name for build in dataset.builds for name in names_of(build)))


def names_of(build: BuildConfig) -> Sequence[str]:
    """The names of the sub-datasets that a build makes."""
    if build.palette is not None:
        return [f"{hop}-{Path(build.palette).stem}" for hop in build.hops]
    if build.diversity:
        return [f"{hop}-{diversity_name(k, build.mode)}" for hop in build.hops for k in build.diversity]
    return build.hops


def smallest_palette(dataset: DatasetConfig, hop: str) -> str | None:
    """The sub-dataset of a pair with its smallest diversity, whose test set runs on larger ones answer, too.

    It is the `shared_test` of the dataset if it has one. None where the pair's diversities are not nested,
    where `hop` is the smallest, or where that test set is not built.
    """
    if dataset.splits and OOD not in dataset.splits:
        return None
    if dataset.shared_test is not None:
        pairs = [each.partition(MARK)[0] for each in (dataset.shared_test, hop)]
        return dataset.shared_test if pairs[0] == pairs[1] and dataset.shared_test != hop else None
    nested: dict[str, dict[str, int]] = {}
    for build in dataset.builds:
        for pair, k in product(build.hops, build.diversity if build.mode == "nested" else ()):
            nested.setdefault(pair, {})[f"{pair}-{diversity_name(k, build.mode)}"] = k
    names = next((each for each in nested.values() if hop in each), {hop: 0})
    smallest = min(names, key=lambda name: (names[name], name))
    return smallest if smallest != hop else None


def _dataset_chain(experiment: Experiment, dataset: DatasetConfig) -> Chain:
    places = Places(experiment.out, dataset)
    folder, steps = places.data, []
    files = [toml_text(dataset.config), dataset.templates, dataset.asks, dataset.mentions, dataset.values]
    digest = sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
    if dataset.published is not None:
        options = command_options(out=folder, hop=sub_datasets(dataset), splits=",".join(dataset.splits))
        arguments, made = ["import", str(dataset.published), *options], folder / "manifest.json"
        steps.append(_step(experiment, f"import-{dataset.name}", arguments, made, holds=folder))
    for k, build in enumerate(dataset.builds if dataset.is_built else ()):
        name, arguments = f"build-{dataset.name}-{k}", build_arguments(build, places)
        made = folder / "manifest.json"
        steps.append(_step(experiment, name, arguments, made, settings=digest, holds=folder))
    images, sources = DatasetInputs(folder, "images"), DatasetInputs(folder, "sources")
    for k, features in enumerate(dataset.features):
        name = f"features-{dataset.name}-{features.kind.rpartition(':')[2]}-{k}"
        options = command_options(kind=features.kind, size=features.size, weights=features.weights)
        arguments = ["features", str(folder), *options]
        steps.append(_step(experiment, name, arguments, folder / "features", inputs=images))
    for suite, tests in dataset.suites.items():
        own_name = places.suite_name(suite)
        arguments = ["suite", own_name, str(folder), *command_options(templates=places.own_suite(suite))]
        made = Layout(folder).suite_vocab(sub_datasets(dataset)[0], own_name)
        name, chosen = f"suite-{dataset.name}-{suite}", json.dumps([dataset.templates, tests])
        steps.append(_step(experiment, name, arguments, made, settings=chosen, inputs=sources))
    return Chain(dataset.name, tuple(steps))


def _run_chain(
    experiment: Experiment,
    model: ModelConfig,
    dataset: DatasetConfig,
    name: str,
    hop: str,
    size: str,
    seed: int,
    variant: Variant,
    source: RunChain | None,
) -> RunChain:
    places = Places(experiment.out, dataset)
    data, run = places.data, experiment.out / "runs" / name
    options = command_options(
        hop=hop,
        size=size,
        seed=seed,
        out=run,
        updates=model.updates,
        threads=experiment.content.threads if experiment.content.threads > 1 else None,
        set=[f"{key}={toml_value(each)}" for key, each in model.settings.items()],
        keep_last=model.keep_last if model.keep_last > 1 else None,
        keep_every=model.keep_every,
        features=model.features,
        init_from=None if source is None else source.folder,
    )
    train = ["train", model.name, str(data), *options, *command_options(**asdict(variant)), *model.options]
    reaching = None if model.reaching is None else f"{model.reaching:g}"
    named = model.name if ":" in model.name else None  # a class of one's own
    answer = ["evaluate", str(run), *command_options(model=named, reaching=reaching)]
    evaluate = [*answer, *model.evaluate]
    made, tests, finished = run / "predictions", DatasetInputs(data, f"tests/{hop}"), RunFolder(run).finished
    begun = "" if source is None else " ".join(source.steps[0].arguments)
    own = DatasetInputs(data)
    steps = [
        _step(experiment, f"train-{name}", train, finished, settings=begun, inputs=own, holds=run),
        _step(experiment, f"evaluate-{name}", evaluate, made, inputs=tests),
    ]
    smallest = None if variant.split else smallest_palette(dataset, hop)
    if smallest is not None:
        options = _without(model.evaluate, {"--splits": 1, "--suite": 1})
        elsewhere = [*answer, *options, *command_options(hop=smallest, splits=OOD)]
        there, others = RunFolder(run).other_hop(smallest), DatasetInputs(data, f"tests/{smallest}")
        steps.append(_step(experiment, f"smallest-{name}", elsewhere, there, inputs=others))
    if dataset.suites:
        paired = [*evaluate, *command_options(suite=[*map(places.suite_name, dataset.suites)])]
        steps.append(_step(experiment, f"suites-{name}", paired, made, inputs=tests))
    return RunChain(name, tuple(steps), dataset.name, run, experiment.models.index(model), source)


def _source(
    experiment: Experiment, model: ModelConfig, runs: Mapping[str, RunChain], begin: str, seed: int
) -> RunChain:
    """The run that another one starts from; `begin` has its label, dataset and pair.

    Raises:
        ConfigError: there is no such run before it, it has other settings, or it has a source itself.
    """
    place = f"{experiment.file}: model {model.name}: init_from"
    sources = [each for each in experiment.models if each.folder_label == model.init_from]
    sizes = [name for each in sources for name in each.size_names]
    if len(sizes) != 1:
        known = [each.folder_label for each in experiment.models if each.init_from is None]
        raise ConfigError(
            f"{place}: expected one [[model]] with one size and the label {shown(model.init_from)}"
            f"{suggestion(str(model.init_from), known)}; there are {len(sizes)}"
        )
    (other,) = sources
    if (other.name, other.init_from) != (model.name, None):
        raise ConfigError(
            f"{place}: {model.init_from} should be a {model.name} without an init_from of its own"
        )
    own, theirs = (split_settings(each.settings)[0] for each in (model, other))
    if own != theirs:
        raise ConfigError(f"{place}: {model.init_from} and this model differ in set, other than in recipe.*")
    source = runs.get(f"{begin}-{sizes[0]}-{seed}")
    if source is None:
        raise ConfigError(f"{place}: no run {begin}-{sizes[0]}-{seed} in a [[model]] above this one")
    return source


def _without(options: Sequence[str], names: Mapping[str, int]) -> list[str]:
    """Options of a command without some of them; `names` says how many values each of these has."""
    kept, left = [], list(options)
    while left:
        option = left.pop(0)
        name, equals, _ = option.partition("=")
        if name not in names:
            kept.append(option)
        elif not equals:
            del left[: names[name]]
    return kept


def _step(experiment: Experiment, name: str, arguments: Sequence[str], made: Path, **more: Any) -> Step:
    mark, log = experiment.out / "done" / f"{name}.json", experiment.out / "logs" / f"{name}.log"
    return Step(name, (*arguments, "--quiet"), made, mark, log, **more)
