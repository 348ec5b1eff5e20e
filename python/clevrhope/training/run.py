"""Trains a model into a run folder; after any interruption the same call resumes the run."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import torch
from torch import nn

from clevrhope.dataset.clevr_questions import ClevrSplit
from clevrhope.dataset.contents import find_hop, find_split, hops_in, splits_in
from clevrhope.dataset.identity import identity, vocab_digest
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import finished_manifest
from clevrhope.dataset.split_reader import open_split
from clevrhope.dataset.vocab import Vocab, read_vocab, write_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.features.device import chosen_device
from clevrhope.features.store import FeatureStore, open_store, store_like
from clevrhope.models.names import build_model
from clevrhope.models.recipe import Recipe
from clevrhope.runtime.atomic import sweep, write_whole
from clevrhope.runtime.json_text import as_json_values
from clevrhope.runtime.lock import locked
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.hops import NONE
from clevrhope.training.checkpoints import RunProgress, check_states, read_about, read_state, remove_states
from clevrhope.training.checks import determinism_errors
from clevrhope.training.covr_split import CovrSplit, choose_covr_split, covr_binding
from clevrhope.training.data import Questions, Split
from clevrhope.training.device import chosen_precision, computing
from clevrhope.training.dropped_types import KeptSplit
from clevrhope.training.initial_weights import initial_binding, initial_warnings, load_initial
from clevrhope.training.interrupts import Interrupt, interrupts
from clevrhope.training.log import Log, OnLog
from clevrhope.training.loop import Loop, Trainer, updates_made
from clevrhope.training.order import derived_seed
from clevrhope.training.recipe_settings import DEFAULT_RECIPE, apply_settings, split_settings
from clevrhope.training.rehearsal import rehearse
from clevrhope.training.request import (
    TUNE_SET,
    TUNE_SET_OF_NONE,
    Precision,
    TrainRequest,
    TrainSummary,
    tune_set_name,
    tune_split,
)
from clevrhope.training.run_folder import RunFolder
from clevrhope.training.some_rows import SomeRows
from clevrhope.training.stages import check_stage
from clevrhope.training.train_sets import open_train_set
from clevrhope.version import software_version


def train(
    request: TrainRequest,
    progress: Progress | None = None,
    *,
    tell: Callable[[Sequence[str]], None] = lambda _: None,
    on_log: OnLog | None = None,
) -> TrainSummary:
    """Trains a model, or resumes a run that an earlier call with the same request left unfinished.

    On a CPU the same request gives the same weights bit for bit, however often it was interrupted, with the
    same version of torch and the same number of threads; on a GPU it does so with `deterministic`.

    Args:
        request: model, dataset, settings and the run's folder.
        progress: displays progress.
        tell: called once, before the first update and after all checks of the request, with sentences on
            what is held out of covr_train, and on the run that this one starts from.
        on_log: called with each record of log.jsonl as a dictionary, to which `step` is added, the number of
            updates in all stages. A resumed run repeats the records after its last state. An exception in it
            stops the run and passes to the caller; the same call resumes from the last state.

    Raises:
        ConfigError: an unknown model, HOP, size, setting or device, or some that do not fit together.
        SplitError: what is held out of covr_train leaves nothing to train, tune or test on.
        DatasetError: the dataset, its features or the run's folder are incomplete or do not belong together.
        TrainingError: the loss or the weights became infinite or NaN.
        KeyboardInterrupt: SIGTERM or Ctrl-C came; the state is written.
    """
    began = monotonic()
    run = prepare(request)
    request, folder = run.request, run.folder
    questions, tune = Questions(run.reader, run.store, run.device), run.tune_questions()
    if not folder.is_started:
        rehearse_run(run, questions)
    with locked(request.out):
        run.bind()
        tell(run.sentences)
        if folder.finished.exists():
            return run.summary(began, None)
        done, tensors = read_state(folder.state) or (RunProgress(), None)
        log = run.open_log(done, on_log)
        try:
            with (
                interrupts() as interrupt,
                computing(run.device, precision=run.precision, deterministic=request.deterministic),
            ):
                trainer = run.trainer(tune, log, progress or Silent(), interrupt, done)
                loop = Loop([trainer], run.model, questions, [(0, len(questions))])
                loop.run(None if tensors is None else [tensors])
        finally:
            log.close()
        for error in loop.errors.values():
            raise error
        return run.finish(began, trainer)


@dataclass(frozen=True)
class PreparedRun:
    """A run whose request was checked, with all that it reads; nothing of it is written yet.

    Attributes:
        request: with the HOP as the folder spells it.
        folder: the run's.
        model: on the device; with new weights, to be replaced by those of a state if there is one.
        vocab: of its train set.
        recipe: with the request's settings.
        precision: to compute in.
        device: to compute on.
        reader: the questions of the train set.
        store: the features of their images.
        tune: the split that weights are chosen by, and its features; None for none.
        binding: the content of run.json.
        sentences: what is to be said of the run before it begins.
    """

    request: TrainRequest
    folder: RunFolder
    model: nn.Module
    vocab: Vocab
    recipe: Recipe
    precision: Precision
    device: torch.device
    reader: Split
    store: FeatureStore
    tune: tuple[Split, FeatureStore] | None
    binding: Mapping[str, Any]
    sentences: Sequence[str]

    @property
    def n_updates(self) -> int:
        """Updates of all stages."""
        return sum(stage.updates for stage in self.recipe.stages)

    def tune_questions(self) -> Questions | None:
        """The questions that weights are chosen by; errors as of `Questions`."""
        return None if self.tune is None else Questions(*self.tune, self.device)

    def bind(self) -> None:
        """Writes run.json and vocab.json, or checks the folder, which the caller has locked.

        Raises:
            DatasetError: the folder holds another run, or other files.
        """
        sweep(self.folder.folders())
        check_states(self.folder.state)
        self.folder.bind(self.binding)
        if not self.folder.vocab.exists():
            write_vocab(self.folder.vocab, self.vocab)

    def open_log(self, done: RunProgress, on_log: OnLog | None = None) -> Log:
        """The run's log, cut to what it was at `done`."""
        return Log(
            self.folder.log,
            length=done.log_bytes,
            step=updates_made(self.recipe.stages, done),
            tensorboard=self.folder.tensorboard if self.request.tensorboard else None,
            on_log=on_log,
        )

    def trainer(
        self,
        tune: Questions | None,
        log: Log,
        progress: Progress,
        interrupt: Interrupt,
        done: RunProgress,
    ) -> Trainer:
        """A trainer that makes the updates that are left."""
        request = self.request
        return Trainer(
            model=self.model,
            request=request,
            folder=self.folder,
            stages=self.recipe.stages,
            precision=self.precision,
            tune=tune,
            n_answers=len(self.vocab.answers()),
            about={
                "model": request.model,
                "hop": request.hop,
                "size": request.size,
                "seed": request.seed,
                "vocab": vocab_digest(self.vocab),
            },
            log=log,
            progress=progress,
            interrupt=interrupt,
            done=done,
        )

    def finish(self, began: float, trainer: Trainer) -> TrainSummary:
        """Writes finished.json after all updates, and removes the states."""
        content = {
            "updates": self.n_updates,
            "loss": trainer.last_loss,
            "parameters": sum(each.numel() for each in self.model.parameters()),
        }
        write_whole(self.folder.finished, (json.dumps(content, indent=2) + "\n").encode())
        remove_states(self.folder.state)
        return self.summary(began, trainer)

    def summary(self, began: float, trainer: Trainer | None) -> TrainSummary:
        """The summary of a call that began at a time; without a trainer, of a run that was finished before.

        Raises:
            DatasetError: that run has lost a checkpoint.
        """
        if trainer is None:
            _check_whole(self.folder)
        n_made, busy, loss = (
            (0, 0.0, None) if trainer is None else (trainer.n_made, trainer.busy_seconds, trainer.last_loss)
        )
        return TrainSummary(
            folder=self.request.out,
            updates=self.n_updates,
            resumed_at=self.n_updates - n_made,
            seconds=monotonic() - began,
            updates_a_second=n_made / busy if busy else 0.0,
            checkpoints=self.folder.checkpoints(),
            loss=loss,
        )


def prepare(request: TrainRequest) -> PreparedRun:
    """Checks a request and opens what it reads; errors as of `train`."""
    layout = Layout(request.dataset)
    manifest = finished_manifest(layout.manifest)
    request = replace(request, hop=find_hop(layout, request.hop))
    opened, vocab, of_train_set = open_train_set(layout, request.hop, request.split, request.size)
    reader: Split = opened
    device = chosen_device(request.device)

    torch.manual_seed(derived_seed(request.seed, "weights"))
    config, _ = split_settings(request.settings)
    model = build_model(request.model, config, vocab, sets=request.is_of_sets)
    folder = RunFolder(request.out)
    store = open_store(request.dataset, kind=getattr(model, "feature_kind", "pixels"), name=request.features)
    init = initial_binding(request, folder, described_features(store))
    if not folder.is_started:
        if request.init_from is None:
            getattr(model, "begin", lambda: None)()
        else:
            load_initial(model, request.init_from, vocab)
    recipe = recipe_of(model, request)
    precision = _precision(request, recipe, device, folder)
    covr_split = choose_covr_split(layout, request)
    if covr_split is not None:
        reader = SomeRows(reader, covr_split.train)
    if request.drop_types:
        reader = KeptSplit(reader, request.drop_types, seed=request.seed, vocab=vocab)
    for stage in recipe.stages:
        check_stage(model, stage, len(reader.answers))
    held_out = covr_split.sentences() if covr_split is not None else ()
    return PreparedRun(
        request=request,
        folder=folder,
        model=model.to(device),
        vocab=vocab,
        recipe=recipe,
        precision=precision,
        device=device,
        reader=reader,
        store=store,
        tune=_tune_set(request, layout, manifest.world["attributes"], vocab, store, covr_split),
        binding={
            "model": request.model,
            "hop": request.hop,
            "size": request.size,
            **of_train_set,
            **covr_binding(layout, request, covr_split),
            **init,
            "seed": request.seed,
            "settings": dict(request.settings),
            "recipe": asdict(recipe),
            "precision": precision,
            "deterministic": request.deterministic,
            "keep": {"last": request.keep_last, "every": request.keep_every},
            "tune": {"on": tune_set_name(request), "every": request.tune_every},
            **({"drop_types": dict(request.drop_types)} if request.drop_types else {}),
            "features": described_features(store),
            "dataset": identity(
                manifest, read_vocab(layout.vocab), hop=request.hop, images=store.info.of_images
            ),
            "places": {"dataset": str(layout.root.resolve()), "features": str(store.folder.resolve())},
            "versions": {"clevrhope": software_version(), "torch": torch.__version__},
        },
        sentences=(*held_out, *initial_warnings(request, init)),
    )


def rehearse_run(run: PreparedRun, questions: Questions) -> None:
    """Tries each loss and way of answering of a run's model on the first questions; errors as `rehearse`."""
    deterministic = run.request.deterministic
    with (
        computing(run.device, precision=run.precision, deterministic=deterministic),
        determinism_errors(deterministic=deterministic),
    ):
        n_answers = len(run.vocab.answers())
        rehearse(run.model, run.recipe.stages, questions, n_answers=n_answers, precision=run.precision)


def check_settings(request: TrainRequest, vocab: Vocab) -> nn.Module:
    """Checks that a request's model can be built with its settings and trained by its recipe.

    Nothing is read or trained: the weights have shapes but no values.

    Args:
        request: the request to check.
        vocab: vocabulary of the dataset, which need not exist yet.

    Returns:
        The model on torch's device meta, which tells its kind of features and its ways of answering.

    Raises:
        ConfigError: an unknown model or setting, or an invalid value.
    """
    config, _ = split_settings(request.settings)
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        model = build_model(request.model, config, vocab, sets=request.is_of_sets)
    if request.init_from is None:
        getattr(model, "check_begin", lambda: None)()
    for stage in recipe_of(model, request).stages:
        check_stage(model, stage, request.n_questions)
    return model


def recipe_of(model: nn.Module, request: TrainRequest) -> Recipe:
    """The recipe of a request's model, with the request's settings and updates.

    Raises:
        ConfigError: it is not a recipe, or the settings do not fit it.
    """
    recipe = getattr(model, "recipe", DEFAULT_RECIPE)
    if not isinstance(recipe, Recipe) or not recipe.stages:
        raise ConfigError(f'model "{request.model}": its recipe is not a Recipe with at least one stage')
    names = [stage.name for stage in recipe.stages]
    if len(set(names)) < len(names) or {"last", "best"} & set(names):
        raise ConfigError(
            f'model "{request.model}": its stages are called {", ".join(names)}; expected unique names other '
            "than last and best"
        )
    _, settings = split_settings(request.settings)
    return apply_settings(recipe, settings, request.updates)


def described_features(store: FeatureStore) -> dict[str, Any]:
    """A run's record of the features that it reads: the store, without the dataset that it belongs to."""
    info = store.info.as_json()
    return {name: info[name] for name in ("kind", "options", "weights", "code", "note")}


def _tune_set(
    request: TrainRequest,
    layout: Layout,
    attributes: Mapping[str, Sequence[str]],
    vocab: Vocab,
    store: FeatureStore,
    covr_split: CovrSplit | None,
) -> tuple[Split, FeatureStore] | None:
    """The split that weights are chosen by, and the features of its images."""
    if request.tune_on is None:
        return None
    if request.is_of_sets:
        split = find_split(layout, request.hop, request.tune_on)
        reader: Split = open_split(layout, request.hop, split, vocab=vocab)
        if covr_split is not None and covr_split.dev is not None:
            reader = SomeRows(reader, covr_split.dev)
        return reader, store
    if request.tune_on in (TUNE_SET, TUNE_SET_OF_NONE):
        hop, split = _tune_split(layout, request)
        return open_split(layout, hop, split, vocab=vocab), store
    clevr = Path(request.tune_on)
    return ClevrSplit(clevr, TUNE_SET, vocab, attributes), store_like(clevr, store.info)


def _tune_split(layout: Layout, request: TrainRequest) -> tuple[str, str]:
    """The HOP and the split that weights are chosen by.

    Raises:
        ConfigError: the folder does not have it.
    """
    hop = request.hop if request.tune_on == TUNE_SET else NONE
    name = tune_split(hop)
    if hop in hops_in(layout) and name in splits_in(layout, hop):
        return hop, name
    raise ConfigError(
        f"{layout.root}: --tune-on {request.tune_on}: there is no split {name} of {hop}; build it into the "
        f"folder with --hop {hop} (with --splits, name {name} as well); files that are there stay as they are"
    )


def _precision(request: TrainRequest, recipe: Recipe, device: torch.device, folder: RunFolder) -> Precision:
    """The precision of a resumed run, or else the requested one or what the device allows of the recipe's."""
    if request.precision is None and folder.is_started and folder.run.exists():
        run = folder.read()
        if run["recipe"] == as_json_values(asdict(recipe)):
            own: Precision = run["precision"]
            return own
    return chosen_precision(request.precision, recipe.precision, device)


def _check_whole(folder: RunFolder) -> None:
    """Checks that a finished run still has its checkpoints.

    Raises:
        DatasetError: the last weights are missing, or a checkpoint is damaged.
    """
    names = folder.checkpoints()
    if "last" not in names:
        raise DatasetError(
            f"{folder.root}: finished, but its last weights are gone; put back a copy, or train into another "
            "folder"
        )
    for name in names:
        try:
            read_about(folder.checkpoint(name))
        except DatasetError as error:
            raise DatasetError(
                f"{error}; put back a whole copy, or move it elsewhere if it is not of this run"
            ) from error
