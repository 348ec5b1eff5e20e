"""Checks a whole plan before its first step, with the code that the steps themselves begin with.

What only the machine or a folder can tell, such as a full disk, is left to the steps.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from clevrhope.config.presets import suggestion
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ClevrhopeError, ConfigError, shown
from clevrhope.experiments.config import DatasetConfig, ModelConfig
from clevrhope.experiments.plan import Plan, RunChain, Step, build_arguments, names_of
from clevrhope.experiments.settings import Places, places_below, write_settings
from clevrhope.models.names import MODELS
from clevrhope.splits.kinds import TRAIN

if TYPE_CHECKING:
    import click

    from clevrhope.training.request import TrainRequest

_OWN = ("folder", "model", "hop", "size", "seed", "out", "run")
"""What the experiment itself says of a step."""


@dataclass(frozen=True)
class _Built:
    """What a dataset will have: what its vocabulary is, and splits with questions by sub-dataset."""

    vocab: Vocab
    splits: Mapping[str, Mapping[str, int]]


def check_plan(plan: Plan) -> None:
    """Passes for a plan of which nothing that its file says is bound to fail; writes nothing.

    Of datasets and runs that are done, nothing is looked at.

    Raises:
        ConfigError: something is; names the place in the file.
    """
    ways: set[str] = set()
    every_way_is_known = True
    for k, dataset in enumerate(plan.experiment.datasets):
        at = f"{plan.experiment.file}: dataset[{k}]"
        steps = {step.name: step for step in plan.datasets[dataset.name].steps}
        runs = [run for run in plan.runs if run.dataset == dataset.name]
        left = [run for run in runs if not run.chain.done]
        every_way_is_known &= left == runs
        if all(step.done for step in steps.values()) and not left:
            continue
        built = _built(plan, dataset, at)
        features = [step for step in steps.values() if step.arguments[0] == "features"]
        for j, step in enumerate(features):
            if not step.done:
                with _named(f"{at}.features[{j}]"):
                    _check_features(step)
        for model_number, model in enumerate(plan.experiment.models):
            its_runs = [run for run in left if run.model == model_number]
            with _named(f"{plan.experiment.file}: model[{model_number}]"):
                for way in _check_runs(its_runs, model, dataset, built):
                    ways.add(way)
        every_way_is_known &= all(model.name in MODELS for model in plan.experiment.models)
    if every_way_is_known:
        _check_ways(plan, ways)


def _built(plan: Plan, dataset: DatasetConfig, at: str) -> _Built:
    """What a dataset's builds resolve to, into a folder of nothing."""
    if dataset.folder is not None:
        layout = Layout(dataset.folder)
        return _Built(read_vocab(layout.vocab), {})
    from clevrhope.cli.datasets import build as command
    from clevrhope.cli.request import read_request
    from clevrhope.pipeline.engine import vocabulary
    from clevrhope.pipeline.resolved import resolve
    from clevrhope.pipeline.run import try_each_split

    splits: dict[str, dict[str, int]] = {}
    vocab = None
    own = places_below(plan.experiment.out, dataset)
    with TemporaryDirectory(prefix="clevrhope-") as folder:
        places = places_below(Path(folder), dataset)
        write_settings(dataset, places, at)
        for j, build in enumerate(dataset.builds):
            with _named(f"{at}.build[{j}]", lambda said: _in_its_words(said, places, own, at)):
                choices = _parsed(command, build_arguments(dataset, build, places))
                resolved = resolve(read_request(choices))
                vocab = vocabulary(resolved.world, resolved.engine.templates)
                try_each_split(resolved)
                for job in resolved.jobs:
                    splits.setdefault(job.hop.name, {})[job.split] = job.goal
                for name in names_of(build):  # which may be spelled in another way
                    splits.setdefault(name, splits[resolved.hop(name).name])
    assert vocab is not None  # there is a build
    return _Built(vocab, splits)


def _in_its_words(said: str, places: Places, own: Places, at: str) -> str:
    """A sentence about the files that were written for a look, about the experiment's file."""
    said = re.sub(rf"{re.escape(str(places.config))}: (?!unknown setting)", f"{at}.config.", said)
    for path, words in (
        (places.config, f"{at}.config"),
        (places.templates, f"{at}.templates"),
        (places.properties, f"{at}.values"),
        (places.data, str(own.data)),
    ):
        said = said.replace(str(path), words)
    return said


def _check_features(step: Step) -> None:
    from clevrhope.cli.models import features as command
    from clevrhope.cli.models import read_size
    from clevrhope.features.kinds import check_options

    choices = _parsed(command, step.arguments)
    check_options(choices["kind"], size=read_size(choices["size"]), weights=choices["weights"])


def _check_runs(
    runs: Sequence[RunChain], model: ModelConfig, dataset: DatasetConfig, built: _Built
) -> Iterator[str]:
    """Passes for runs of a model on a dataset; gives the ways that it answers in."""
    from clevrhope.cli.models import evaluate, read_train_request, train
    from clevrhope.models.names import find_model

    looked_at: set[int] = set()
    for run in runs:
        trained, evaluated = run.chain.steps
        choices = _parsed(train, trained.arguments)
        _check_own(trained, choices, train, model.options, "options")
        request = read_train_request(choices)
        _check_train_set(built, request, dataset)
        with _named("evaluate"):
            answers = _parsed(evaluate, evaluated.arguments)
            _check_own(evaluated, answers, evaluate, model.evaluate, "evaluate")
            _check_tests(built, request.hop, answers["splits"])
        if request.size in looked_at:
            continue
        looked_at.add(request.size)
        if model.name not in MODELS:
            find_model(model.name)  # what its settings are, and which features it reads, it knows alone
            continue
        from clevrhope.training.run import check_settings

        made = check_settings(request, built.vocab)
        _check_reads(getattr(made, "feature_kind", ""), model, dataset)
        yield from (*getattr(made, "ways", {}), *getattr(made, "program_ways", {}))


def _check_own(
    step: Step, choices: Mapping[str, Any], command: "click.Command", options: Sequence[str], what: str
) -> None:
    """Passes where options that were added change nothing of what the experiment says itself."""
    plain = step.arguments[: -1 - len(options)]  # --quiet comes last
    without = _parsed(command, plain)
    for name in _OWN:
        if choices.get(name) != without.get(name):
            raise ConfigError(f"{what}: --{name} is what the experiment says itself; leave it out")


def _check_train_set(built: _Built, request: "TrainRequest", dataset: DatasetConfig) -> None:
    from clevrhope.training.request import TUNE_SET

    if not built.splits:
        return  # of a folder that is there
    if request.tune_on == TUNE_SET and TUNE_SET not in built.splits.get("none", {}):
        raise ConfigError(
            f"options: --tune-on {TUNE_SET} is the val split of none, which dataset {dataset.name} does not "
            "build"
        )
    splits = built.splits[request.hop]
    if TRAIN.name not in splits:
        raise ConfigError(
            f"{request.hop} in dataset {dataset.name} has no split {TRAIN.name}; add it to the dataset's "
            "splits"
        )
    if request.size > splits[TRAIN.name]:
        raise ConfigError(
            f"sizes: {request.size:,} questions, but the train set of {request.hop} in dataset "
            f"{dataset.name} has {splits[TRAIN.name]:,}; ask for fewer, or for more with the dataset's "
            "config.sizes.train"
        )


def _check_tests(built: _Built, hop: str, wanted: Sequence[str]) -> None:
    from clevrhope.cli.arguments import read_names
    from clevrhope.training.evaluation import chosen_splits

    if hop in built.splits:
        chosen_splits(tuple(built.splits[hop]), hop, read_names(wanted) or None)


def _check_reads(kind: str, model: ModelConfig, dataset: DatasetConfig) -> None:
    """Passes where a dataset has the features that a model reads, or somebody says where they are."""
    from clevrhope.features.store import NOTHING

    if kind == NOTHING or model.features is not None or dataset.folder is not None:
        return
    made = [each.kind for each in dataset.features]
    if kind not in made:
        raise ConfigError(
            f"{model.name} reads features of kind {kind}, which dataset {dataset.name} has none of "
            f"(it has: {', '.join(made) or 'none'}); add them to its features, or set others for the model"
        )
    if made.count(kind) > 1:
        raise ConfigError(
            f"{model.name} reads features of kind {kind}, of which dataset {dataset.name} has several; say "
            "which with features"
        )


def _check_ways(plan: Plan, known: set[str]) -> None:
    for name in plan.experiment.ways:
        if name not in known:
            raise ConfigError(
                f"{plan.experiment.file}: report.ways: no model answers in the way {shown(name)}"
                f"{suggestion(name, known)}; there are: {', '.join(sorted(known)) or 'none'}"
            )


def _parsed(command: "click.Command", arguments: Sequence[str]) -> dict[str, Any]:
    """The values of a command line's options, as the command itself gets them; nothing is run."""
    import click

    try:
        with redirect_stdout(io.StringIO()):
            return command.make_context(arguments[0], list(arguments[1:])).params
    except click.exceptions.Exit as error:
        raise ConfigError("--help is no option of a step; leave it out") from error


@contextmanager
def _named(place: str, words: Any = str) -> Iterator[None]:
    """Puts a place of the file before what a block refuses, where it is not named yet."""
    import click

    try:
        yield
    except click.ClickException as error:
        raise ConfigError(f"{place}: {words(error.format_message())}") from error
    except ClevrhopeError as error:
        said = words(str(error))
        file = place.partition(": ")[0] + ": "
        raise ConfigError(said if said.startswith(file) else f"{place}: {said}") from error
