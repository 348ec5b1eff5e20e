"""Trains a model into a run folder; after any interruption the same call resumes the run."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from time import monotonic

import torch
from torch import nn

from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import DatasetError
from clevrhope.models.names import build_model
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.lock import locked
from clevrhope.runtime.progress import LOG, Progress, Silent
from clevrhope.training.checkpoints import read_about, remove_states
from clevrhope.training.loop import Loop, interrupts
from clevrhope.training.member import Member, OnLog
from clevrhope.training.prepared_run import PreparedRun, rehearse
from clevrhope.training.recipe_settings import check_stage, recipe_of, split_settings
from clevrhope.training.request import TrainRequest, TrainSummary
from clevrhope.training.run_folder import WRITTEN


def _log(sentences: Sequence[str]) -> None:
    for sentence in sentences:
        LOG.info(sentence)


def train(
    request: TrainRequest,
    progress: Progress | None = None,
    *,
    tell: Callable[[Sequence[str]], None] = _log,
    on_log: OnLog | None = None,
) -> TrainSummary:
    """Trains a model, or resumes a run that an earlier call with the same request left unfinished.

    On a CPU the same request gives the same weights bit for bit, however often it was interrupted, with the
    same version of torch and on the same processor; on a GPU it does so with `deterministic`.

    Args:
        request: model, dataset, settings and the run's folder.
        progress: displays progress.
        tell: called once, before the first update and after all checks of the request, with sentences about
            what is held out of covr_train and about the run that this one starts from; by default, the log
            gets them.
        on_log: called with each record of log.jsonl as a dictionary, to which `step` is added, the number of
            updates in all stages. A resumed run repeats the records after its last state. An exception in
            `on_log` stops the run and passes to the caller; the same call resumes from the last state.

    Raises:
        ConfigError: an unknown model, HOP, size, setting or device, or some that do not fit together.
        SplitError: what is held out of covr_train leaves nothing to train, tune or test on.
        DatasetError: the dataset, its features or the run's folder are incomplete or do not belong together.
        TrainingError: the loss or the weights became infinite or NaN.
        KeyboardInterrupt: SIGTERM or Ctrl-C came; the state is written.
    """
    began = monotonic()
    run = PreparedRun(request)
    request = run.request
    questions, tune = run.train_questions(), run.tune_questions()
    rehearse(run, questions)
    with locked(request.out, WRITTEN):
        run.bind()
        tell(run.sentences)
        if run.folder.finished.exists():
            return finished_summary(run, began)
        member = Member(run, tune, on_log=on_log)
        with closing(member.log), interrupts() as interrupt, run.computing():
            loop = Loop([member], run.model, questions, progress or Silent(), interrupt)
            loop.run()
        return finish(began, loop, member)


def check_settings(request: TrainRequest, vocab: Vocab, n_questions: int) -> nn.Module:
    """Checks that a request's model can be built with its settings and trained by its recipe.

    Nothing is read or trained: the weights have shapes but no values.

    Args:
        request: the request to check.
        vocab: vocabulary of the dataset, which need not exist yet.
        n_questions: number of questions to train on, including those that a suite added.

    Returns:
        The model on torch's device "meta", from which its kind of features and its ways can be read.

    Raises:
        ConfigError: an unknown model or setting, or an invalid value.
    """
    config, _ = split_settings(request.settings)
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        model = build_model(request.model, config, vocab, sets=request.is_of_sets)
    if request.init_from is None:
        getattr(model, "check_begin", lambda: None)()
    for stage in recipe_of(model, request).stages:
        check_stage(model, stage, n_questions)
    return model


def finish(began: float, loop: Loop, member: Member) -> TrainSummary:
    """Writes finished.json of a run that made all updates in a loop, and removes its states."""
    run, loss = member.run, member.last_loss
    content = {
        "updates": _updates_of(run),
        "loss": loss,
        "parameters": sum(each.numel() for each in run.model.parameters()),
    }
    write_whole(run.folder.finished, (json.dumps(content, indent=2) + "\n").encode())
    remove_states(run.folder.state)
    return _summary(run, began, loop.n_made, loop.busy_seconds, loss)


def finished_summary(run: PreparedRun, began: float) -> TrainSummary:
    """The summary of a run that an earlier call finished, once its checkpoints are checked.

    Raises:
        DatasetError: the last weights are missing, or a checkpoint is damaged.
    """
    folder = run.folder
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
    return _summary(run, began)


def _summary(
    run: PreparedRun, began: float, n_made: int = 0, busy_seconds: float = 0.0, loss: float | None = None
) -> TrainSummary:
    is_tuned = run.request.tune_on is not None and run.folder.log.exists()
    updates, evaluations = _updates_of(run), run.folder.evaluations() if is_tuned else []
    return TrainSummary(
        folder=run.request.out,
        updates=updates,
        resumed_at=updates - n_made,
        seconds=monotonic() - began,
        updates_a_second=n_made / busy_seconds if busy_seconds else 0.0,
        checkpoints=run.folder.checkpoints(),
        loss=loss,
        most_frequent=evaluations[-1].get("most_frequent") if evaluations else None,
    )


def _updates_of(run: PreparedRun) -> int:
    """Number of updates that were made in all stages, fewer than in the recipe if it stopped before."""
    *before, last = run.recipe.stages
    about = read_about(run.folder.checkpoint("last"))
    return sum(stage.updates for stage in before) + int(about.get("update", last.updates))
