"""A run before its first update: its request is checked, what it reads is open, its model is rehearsed."""

import copy
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from clevrhope.dataset.contents import find_hop, find_split, hops_in, splits_in
from clevrhope.dataset.folder import Folder, identity
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import QuestionTable, open_split
from clevrhope.dataset.vocab import read_vocab, write_vocab
from clevrhope.errors import ConfigError
from clevrhope.features.device import chosen_device
from clevrhope.features.store import FeatureStore, open_store
from clevrhope.models.batch import Batch
from clevrhope.models.maps import MapsConfig
from clevrhope.models.names import build_model, find_model
from clevrhope.models.protocol import answer_methods
from clevrhope.models.recipe import Stage
from clevrhope.runtime.atomic import sweep
from clevrhope.runtime.json_text import as_json_values
from clevrhope.runtime.made_with import made_with
from clevrhope.splits.hops import NONE
from clevrhope.training.answers import check_programs, check_scores, described
from clevrhope.training.checkpoints import RunProgress, check_states
from clevrhope.training.data import Questions
from clevrhope.training.device import casting, chosen_precision, computing, machine
from clevrhope.training.initial_weights import initial_binding, initial_warnings, load_initial
from clevrhope.training.optimisers import select_weights, trainable_weights
from clevrhope.training.order import derived_seed
from clevrhope.training.policy import AnswerRewards, policy_loss
from clevrhope.training.recipe_settings import check_stage, recipe_of, split_settings
from clevrhope.training.request import (
    TUNE_SET,
    Precision,
    TrainRequest,
    tune_set_name,
    tune_split,
)
from clevrhope.training.run_folder import RunFolder
from clevrhope.training.train_sets import CovrSplit, choose_covr_split, kept_rows, open_train_set


class PreparedRun:
    """A run whose request was checked, with everything that it reads; nothing of it is written yet."""

    def __init__(self, request: TrainRequest) -> None:
        """Checks a request and opens what it reads; errors as of `train`."""
        find_model(request.model)  # before the weights' seed is set: importing a user's class may set another
        config, _ = split_settings(request.settings)
        layout = Layout(request.dataset)
        manifest = Folder.open(layout.root).manifest
        self.request = request = replace(request, hop=find_hop(layout, request.hop))
        """The request, with the HOP as the dataset spells it."""
        reader, self.vocab, of_train_set = open_train_set(layout, request.hop, request.split, request.size)
        """The vocabulary of the train set."""
        self.device = chosen_device(request.device)

        torch.manual_seed(derived_seed(request.seed, "weights"))
        model = build_model(request.model, config, self.vocab, sets=request.is_of_sets)
        self.folder = RunFolder(request.out)
        self.store = open_store(
            request.dataset,
            kind=getattr(model, "feature_kind", "pixels"),
            name=request.features,
            reads_pixels=isinstance(getattr(model, "config", None), MapsConfig),
        )
        """The features of the train set's images."""
        features = described_features(self.store)
        init = initial_binding(request, self.folder, features)
        if not self.folder.is_started:
            if request.init_from is None:
                getattr(model, "begin", lambda: None)()
            else:
                load_initial(model, request.init_from, self.vocab)
        self.recipe = recipe_of(model, request)
        """The model's recipe with the request's settings."""
        self.precision = self._chosen_precision()
        covr = choose_covr_split(layout, request)
        if covr.train is not None:
            reader = reader.take(covr.train)
        if request.drop_types:
            kept = kept_rows(reader.programs, request.drop_types, seed=request.seed, vocab=self.vocab)
            reader = reader.take(kept)
        self.reader = reader
        """The questions of the train set."""
        for stage in self.recipe.stages:
            check_stage(model, stage, self.n_questions)
        self.model = model.to(self.device)
        """The model on the device, with new weights; a state's weights replace them if there is one."""
        self.tune = self._tune_set(layout, covr)
        """The tune set and the features of its images; None for none."""
        attributes = manifest.world["attributes"]
        self.rewards = AnswerRewards(self.vocab, attributes) if self.recipe.learns_from_rewards else None
        """The rewards of answers; None if all stages learn from labels."""
        there, images = read_vocab(layout.vocab), self.store.info.of_images
        self.binding: Mapping[str, Any] = {
            "model": request.model,
            "hop": request.hop,
            "size": request.size,
            **of_train_set,
            **covr.binding,
            **init,
            "seed": request.seed,
            "settings": dict(request.settings),
            "recipe": self.recipe.record(),
            "precision": self.precision,
            "deterministic": request.deterministic,
            "keep": {"last": request.keep_last, "every": request.keep_every},
            "tune": {"on": tune_set_name(request), "every": request.tune_every},
            **({"drop_types": dict(request.drop_types)} if request.drop_types else {}),
            "features": features,
            "dataset": identity(manifest, there, hop=request.hop, images=images),
            "places": {"dataset": str(layout.root.resolve()), "features": str(self.store.folder.resolve())},
            "threads": request.threads,
            "made_with": {**made_with(), **machine(self.device)},
        }
        """The content of run.json."""
        self.sentences = (*covr.sentences, *initial_warnings(request, init))
        """What to tell the user before the run begins."""

    def _chosen_precision(self) -> Precision:
        """The requested precision, or that of a resumed run, or the recipe's if the device allows it."""
        requested = self.request.precision
        if requested is None and self.folder.is_started and self.folder.run.exists():
            run = self.folder.read()
            if run["recipe"] == as_json_values(self.recipe.record()):
                own: Precision = run["precision"]
                return own
        return chosen_precision(requested, self.recipe.precision, self.device)

    def _tune_set(self, layout: Layout, covr: CovrSplit) -> tuple[QuestionTable, FeatureStore] | None:
        request = self.request
        if request.tune_on is None:
            return None
        if request.is_of_sets:
            split = find_split(layout, request.hop, request.tune_on)
            reader = open_split(layout, request.hop, split, vocab=self.vocab)
            return (reader if covr.dev is None else reader.take(covr.dev)), self.store
        hop = request.hop if request.tune_on == TUNE_SET else NONE
        name = tune_split(hop)
        if hop not in hops_in(layout) or name not in splits_in(layout, hop):
            raise ConfigError(
                f"{layout.root}: --tune-on {request.tune_on}: there is no split {name} of {hop}; build it "
                f"into the folder with --hop {hop} (with --splits, name {name} as well); files that are "
                "there stay as they are"
            )
        return open_split(layout, hop, name, vocab=self.vocab), self.store

    @property
    def n_questions(self) -> int:
        """Number of questions to train on."""
        return len(self.reader.answers)

    def updates_made(self, done: RunProgress) -> int:
        """Number of updates made in all stages."""
        return sum(stage.updates for stage in self.recipe.stages[: done.stage]) + done.update

    def loss(self, model: nn.Module, stage: Stage, batch: Batch) -> Tensor:
        """The loss of a batch in a stage: the model's own, or that of its answers' rewards."""
        if self.rewards is not None and stage.objective == "rewards":
            return policy_loss(model, stage, batch, self.rewards)
        return getattr(model, stage.loss)(batch)  # type: ignore[no-any-return]

    def computing(self) -> AbstractContextManager[None]:
        """Sets torch's switches to the run's precision, threads and so on; see `device.computing`."""
        request = self.request
        return computing(
            self.device,
            precision=self.precision,
            deterministic=request.deterministic,
            threads=request.threads,
        )

    def train_questions(self) -> Questions:
        """The questions to train on; errors as of `Questions`."""
        return Questions(self.reader, self.store.pool(self.reader.pool), self.device)

    def tune_questions(self) -> Questions | None:
        """The questions that weights are chosen by; errors as of `Questions`."""
        if self.tune is None:
            return None
        split, store = self.tune
        return Questions(split, store.pool(split.pool), self.device)

    def bind(self) -> None:
        """Writes run.json and vocab.json, or checks those in the folder, which the caller has locked.

        Raises:
            DatasetError: the folder holds another run, or other files.
        """
        sweep(self.folder.folders())
        check_states(self.folder.state)
        self.folder.bind(self.binding)
        if not self.folder.vocab.exists():
            write_vocab(self.folder.vocab, self.vocab)


def described_features(store: FeatureStore) -> dict[str, Any]:
    """What run.json says of a feature store: everything but the dataset that it belongs to."""
    info = store.info.as_json()
    return {name: info[name] for name in ("kind", "options", "weights", "code", "note")}


def check_loss(model: nn.Module, stage: Stage, loss: Any) -> None:
    """Checks that a loss is one number that depends on a weight; raises ConfigError if not."""
    name = f"{type(model).__name__}.{stage.loss}"
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        raise ConfigError(f"{name} returns {described(loss)}; expected one number as a tensor")
    if not loss.requires_grad:
        raise ConfigError(f"{name} returns a loss that depends on no weight of stage {stage.name}")


def rehearse(run: PreparedRun, questions: Questions) -> None:
    """Calls each method of a model that its run and evaluation will call, and checks what it returns.

    A mistake that a later stage or `evaluate` would hit after hours is then found before anything is written.
    Each stage is run forward and backward on a batch of the first questions. The model and torch's generators
    stay unchanged. Nothing is done for a run that has already started.

    Raises:
        ConfigError: a loss, scores or programs have another form, or the model rejects its features.
        Exception: any exception in the model, with the shapes of the batch as a note.
    """
    if run.folder.is_started or not getattr(run.model, "rehearses", True):
        return
    try:
        copied = copy.deepcopy(run.model)
    except (RuntimeError, TypeError):  # some modules cannot be copied; any errors then come in the run itself
        return
    trainable = trainable_weights(copied)
    gpus = [run.device] if run.device.type == "cuda" else []
    batch: Batch | None = None
    with (
        torch.random.fork_rng(devices=gpus),
        run.computing(),
    ):
        try:
            for stage in run.recipe.stages:
                first = np.arange(stage.batch_size // stage.accumulation)
                (batch,) = questions.batches(first, len(first), getattr(copied, "plan", None))
                select_weights(copied, stage, trainable)
                with casting(run.device, run.precision):
                    loss = run.loss(copied, stage, batch)
                check_loss(copied, stage, loss)
                loss.backward()  # type: ignore[no-untyped-call]
            if batch is not None:
                with casting(run.device, run.precision):
                    _check_answers(copied, batch, len(run.vocab.answers()))
        except Exception as error:
            if batch is not None:
                tensors = {
                    "questions": batch.questions,
                    "programs": batch.programs,
                    **{f'features["{name}"]': each for name, each in batch.features.items()},
                }
                shapes = ", ".join(f"{name} {tuple(each.shape)}" for name, each in tensors.items())
                error.add_note(
                    f"({type(copied).__name__}, tried before its run on {len(batch)} questions: {shapes}; a "
                    f"model that cannot be tried like this sets rehearses = False)"
                )
            raise


@torch.no_grad()
def _check_answers(model: nn.Module, batch: Batch, n_answers: int) -> None:
    model.eval()
    ways, program_ways = answer_methods(model)
    for method in ways.values():
        check_scores(model, method, batch, getattr(model, method)(batch), n_answers)
    for method in program_ways.values():
        check_programs(model, method, batch, getattr(model, method)(batch))
