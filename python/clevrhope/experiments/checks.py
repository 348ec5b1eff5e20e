"""Checks of a whole plan before its first step, by the code with which the steps themselves begin.

What depends on the machine or on a folder, such as a full disk, is left to the steps.
"""

import io
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from clevrhope._core import ProgramTokens
from clevrhope.dataset.contents import find_hop, same_hop
from clevrhope.dataset.covr_questions import words_of
from clevrhope.dataset.folder_check import is_published
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.suite_questions import n_augmented, suite_of_split
from clevrhope.dataset.vocab import Vocab, make_vocab, read_vocab
from clevrhope.errors import ClevrhopeError, ConfigError, MissingFileError
from clevrhope.experiments.build_files import Places, build_arguments, write_settings
from clevrhope.experiments.config import DatasetConfig, ModelConfig, ZeroShotConfig
from clevrhope.experiments.plan import Plan, RunChain, Step, names_of, sub_datasets
from clevrhope.models.names import MODELS
from clevrhope.pipeline.importing import choose_splits
from clevrhope.questions import read_templates
from clevrhope.scenes import read_world
from clevrhope.sources import find_source
from clevrhope.splits.covr.description import Words
from clevrhope.splits.covr.expression import parse_expression
from clevrhope.splits.covr.kinds import COVR_TRAIN, is_covr
from clevrhope.splits.hops import NONE
from clevrhope.splits.kinds import TRAIN

if TYPE_CHECKING:
    import click

    from clevrhope.training.request import TrainRequest

_OWN = ("--hop", "--size", "--seed", "--out")
"""Options of steps that the experiment itself sets."""


@dataclass(frozen=True)
class _Built:
    """What a dataset will have.

    Attributes:
        vocab: of the questions about one image.
        splits: sub-dataset -> split -> number of questions; empty for an existing folder.
        covr_vocab: of the questions about sets of images; None where there are none.
        covr_words: the names that predicates on these may use; None for an existing folder.
    """

    vocab: Vocab
    splits: Mapping[str, Mapping[str, int]]
    covr_vocab: Vocab | None = None
    covr_words: Words | None = None


def check_plan(plan: Plan) -> None:
    """Checks that nothing in the experiment's file is bound to fail; writes nothing.

    Raises:
        ConfigError: something is bound to fail; names the place in the file.
    """
    for finding in findings(plan):
        if isinstance(finding, ConfigError):
            raise finding


def findings(plan: Plan) -> Iterator[ConfigError | str]:
    """Everything that is bound to fail, the first problem of each table, such as a file that is missing.

    Among it are sentences on what runs on existing folders hold out of covr_train, as `train` says them.
    Datasets, runs and zero-shot models that are done are not checked.
    """
    content, file = plan.experiment.content, plan.experiment.file
    for k, dataset in zip(plan.experiment.tables, plan.experiment.datasets, strict=True):
        at = f"{file}: dataset[{k}]"
        chain = plan.datasets[dataset.name]
        left = [run for run in plan.runs if run.dataset == dataset.name and not run.done]
        if chain.done and not left:
            continue
        for j, step in enumerate(each for each in chain.steps if each.arguments[0] == "features"):
            if not step.done:
                yield from _checked(f"{at}.features[{j}]", partial(_check_features, step))
        try:
            built = _built(plan, dataset, at)
        except ConfigError as error:
            yield error
            continue
        for model_number, model in enumerate(plan.experiment.models):
            its_runs = [run for run in left if run.model == model_number]
            place = f"{file}: model[{plan.experiment.model_tables[model_number]}]"
            yield from _checked(place, partial(_check_runs, its_runs, model, dataset, built))
    for k, (chain, asked) in enumerate(zip(plan.zero_shot, content.zero_shot, strict=True)):
        if not chain.done:
            (dataset,) = (each for each in plan.experiment.datasets if each.name == asked.dataset)
            yield from _checked(f"{file}: zero_shot[{k}]", partial(_check_zero_shot, asked, dataset))


def _checked(place: str, check: Callable[[], Sequence[str] | None]) -> Iterator[ConfigError | str]:
    """What a check says, or its error with its place in the file."""
    try:
        with _naming(place):
            yield from check() or ()
    except ConfigError as error:
        yield error


def _check_zero_shot(asked: ZeroShotConfig, dataset: DatasetConfig) -> None:
    from clevrhope.features.weights import check_file_exists
    from clevrhope.models.lxmert.config import LxmertConfig
    from clevrhope.training.zero_shot import NAME, WHAT, read_labels

    check_file_exists(asked.weights, what=WHAT)
    read_labels(asked.labels)
    _check_reads(LxmertConfig().features, NAME, asked.features, dataset)


def _built(plan: Plan, dataset: DatasetConfig, at: str) -> _Built:
    """What the builds of a dataset would make in an empty folder."""
    layout = Layout(Places(plan.experiment.out, dataset).data)
    if dataset.published is not None and not plan.datasets[dataset.name].steps[0].done:
        with _naming(f"{at}.published"):
            return _imported(dataset.published, sub_datasets(dataset), dataset.splits)
    if not dataset.is_built:
        covr_vocab = read_vocab(layout.covr_vocab) if layout.covr_vocab.exists() else None
        return _Built(read_vocab(layout.vocab), {}, covr_vocab)
    from clevrhope.cli.datasets import build as command
    from clevrhope.cli.request import read_request
    from clevrhope.pipeline.resolution import resolve
    from clevrhope.pipeline.run import try_each_split

    splits: dict[str, dict[str, int]] = {}
    vocab, covr = None, None
    with TemporaryDirectory(prefix="clevrhope-") as folder:
        places = Places(Path(folder), dataset)
        translate = partial(_translated, places=places, own=Places(plan.experiment.out, dataset), at=at)
        write_settings(places, at)
        for j, build in enumerate(dataset.builds):
            with _naming(f"{at}.build[{j}]", translate):
                choices = parsed(command, build_arguments(build, places))
                resolved = resolve(read_request(choices))
                vocab = resolved.engine.encoder.vocab
                try_each_split(resolved)
                covr = resolved.engine.sets if resolved.of_sets else covr
                for job in resolved.jobs:
                    splits.setdefault(job.hop.name, {})[job.split] = job.goal
                for name in names_of(build):  # which may be spelled differently
                    splits.setdefault(name, splits[resolved.hop(name).name])
    assert vocab is not None  # there is a build
    if covr is None:
        return _Built(vocab, splits)
    return _Built(vocab, splits, covr.encoder.vocab, words_of(covr.encoder.vocab, covr.attributes))


def _imported(published: Path, hops: Sequence[str], splits: Sequence[str]) -> _Built:
    """What the import of published files would make in an empty folder."""
    if not is_published(published):
        raise MissingFileError(
            f"{published}: no published files are there; put a copy there, such as CLEVR_v1.0 (nothing is "
            "ever downloaded)"
        )
    world = read_world()
    made: dict[str, dict[str, int]] = {}
    for each in choose_splits(find_source(published, world.vocabulary), hops, splits):
        if not each.suite:
            name = next(name for name in hops if same_hop(name, each.hop))
            made.setdefault(name, {})[each.split] = each.n_questions
    words = read_templates(world, None).words
    answers = world.vocabulary.answers
    return _Built(make_vocab(words, ProgramTokens(world.vocabulary).names, answers), made)


def _translated(message: str, places: Places, own: Places, at: str) -> str:
    """A message about temporary files, as one about the experiment's file."""
    message = re.sub(rf"{re.escape(str(places.config))}: (?!unknown setting)", f"{at}.config.", message)
    for path, words in (
        (places.config, f"{at}.config"),
        (places.templates, f"{at}.templates"),
        (places.properties, f"{at}.values"),
        (places.data, str(own.data)),
    ):
        message = message.replace(str(path), words)
    return message


def _check_features(step: Step) -> None:
    from clevrhope.cli.models import features as command
    from clevrhope.cli.models import read_size
    from clevrhope.features.kinds import check_options

    choices = parsed(command, step.arguments)
    check_options(choices["kind"], size=read_size(choices["size"]), weights=choices["weights"])


def _check_runs(
    runs: Sequence[RunChain], model: ModelConfig, dataset: DatasetConfig, built: _Built
) -> list[str]:
    """Checks the runs of a model on a dataset; returns what they hold out of an existing folder."""
    from clevrhope.cli.arguments import read_names
    from clevrhope.cli.models import evaluate, read_train_request, train
    from clevrhope.models.names import find_model
    from clevrhope.training.request import check_reaching, chosen_splits
    from clevrhope.training.train_sets import choose_covr_split

    checked: set[tuple[int, str, bool]] = set()
    held_out: dict[Hashable, Sequence[str]] = {}
    for run in runs:
        trained, evaluated = run.steps[:2]
        _check_own(model.options, "options")
        request = read_train_request(parsed(train, trained.arguments))
        _check_train_set(built, request, dataset)
        part = (request.hop, request.size, request.covr_split, request.iid_size_of, request.shots)
        if dataset.folder is not None and request.is_of_sets and part not in held_out:
            held_out[part] = choose_covr_split(Layout(dataset.folder), request).sentences
        if model.reaching is not None and request.tune_on is None:
            raise ConfigError("reaching: it is an accuracy on the set of --tune-on; add that to options")
        with _naming("evaluate"):
            _check_own(model.evaluate, "evaluate")
            answers = parsed(evaluate, evaluated.arguments)
            check_reaching(answers["reaching"], answers["checkpoints"])
            if request.hop in built.splits:
                tests = read_names(answers["splits"]) or None
                there = [each for each in built.splits[request.hop] if is_covr(each) == request.is_of_sets]
                chosen_splits(there, request.hop, tests)
        n_questions = _n_trained_on(request, dataset)
        kind = (n_questions, request.split, bool(request.drop_types))
        if kind in checked:
            continue
        checked.add(kind)
        if model.name not in MODELS:  # only the model itself knows its settings and features
            find_model(model.name)
            continue
        from clevrhope.training.run import check_settings

        vocab = (built.covr_vocab if request.is_of_sets else None) or built.vocab
        made = check_settings(request, vocab, n_questions)
        _check_reads(getattr(made, "feature_kind", ""), model.name, model.features, dataset)
    return [sentence for sentences in held_out.values() for sentence in sentences]


def _n_trained_on(request: "TrainRequest", dataset: DatasetConfig) -> int:
    """Number of questions that a run trains on, including those that a suite added to the train set."""
    from clevrhope.training.train_sets import open_train_set

    if suite_of_split(request.split) is None:
        return request.size
    if dataset.folder is None:
        return n_augmented(request.size)
    layout = Layout(dataset.folder)
    return len(open_train_set(layout, find_hop(layout, request.hop), request.split, request.size)[0])


def _check_own(options: Sequence[str], what: str) -> None:
    """Checks that added options change nothing that the experiment itself sets."""
    for option in options:
        name = option.partition("=")[0]
        if name in _OWN:
            raise ConfigError(f"{what}: {name} is set by the experiment itself; leave it out")


def _check_train_set(built: _Built, request: "TrainRequest", dataset: DatasetConfig) -> None:
    from clevrhope.training.request import TUNE_SET, TUNE_SET_OF_NONE, tune_split

    if not built.splits:
        return
    if request.tune_on in (TUNE_SET, TUNE_SET_OF_NONE):
        hop = request.hop if request.tune_on == TUNE_SET else NONE
        split = tune_split(hop)
        if split not in built.splits.get(hop, {}):
            raise ConfigError(
                f"options: --tune-on {request.tune_on} is the split {split} of {hop}, which dataset "
                f"{dataset.name} does not have"
            )
    splits = built.splits[request.hop]
    name, remedy = TRAIN.name, "add it to the dataset's splits"
    if request.is_of_sets:
        name, remedy = COVR_TRAIN, "set the dataset's covr to true"
    if name not in splits:
        if dataset.published is not None and (request.is_of_sets or not dataset.splits):
            remedy = f"{dataset.published} has none"
        raise ConfigError(f"{request.hop} in dataset {dataset.name} has no split {name}; {remedy}")
    if request.size > splits[name]:
        more = f", or for more with the dataset's config.sizes.{name}" if dataset.is_built else ""
        raise ConfigError(
            f"sizes: {request.size:,} questions, but the train set of {request.hop} in dataset "
            f"{dataset.name} has {splits[name]:,}; ask for fewer{more}"
        )
    text = request.covr_split or request.iid_size_of
    if text is not None and built.covr_words:  # its questions can only be counted once they are built
        parse_expression(text, built.covr_words)


def _check_reads(kind: str, model: str, store: str | None, dataset: DatasetConfig) -> None:
    """Checks that a dataset has the features that a model reads; a named store of a new one may be any."""
    from clevrhope.features.store import NOTHING, open_store

    made = [each.kind for each in dataset.features]
    if kind == NOTHING:
        return
    if dataset.folder is not None:
        if kind not in made:
            open_store(dataset.folder, kind=kind, name=store)
    elif store is None and kind not in made:
        raise ConfigError(
            f"{model} reads features of kind {kind}, which dataset {dataset.name} has none of "
            f"(it has: {', '.join(made) or 'none'}); add them to its features"
            + (", or set others for the model" if model in MODELS else "")
        )
    elif store is None and made.count(kind) > 1:
        raise ConfigError(
            f"{model} reads features of kind {kind}, of which dataset {dataset.name} has several; say "
            "which with features"
        )


def parsed(command: "click.Command", arguments: Sequence[str]) -> dict[str, Any]:
    """The values of a command line's options, parsed by the command itself, which is not run."""
    import click

    try:
        with redirect_stdout(io.StringIO()):
            return command.make_context(arguments[0], list(arguments[1:])).params
    except click.exceptions.Exit as error:
        raise ConfigError("--help is not an option of a step; leave it out") from error


@contextmanager
def _naming(place: str, translate: Callable[[str], str] = str) -> Iterator[None]:
    """Puts a place in the file before a message that does not name it yet."""
    import click

    try:
        yield
    except click.ClickException as error:
        raise ConfigError(f"{place}: {translate(error.format_message())}") from error
    except ClevrhopeError as error:
        message = translate(str(error))
        file = place.partition(": ")[0] + ": "
        kind = MissingFileError if isinstance(error, MissingFileError) else ConfigError
        raise kind(message if message.startswith(file) else f"{place}: {message}") from error
