"""Trains several runs in one process as a stack of their models; each gets the folder that `train` writes.

Many models that are too small to fill a GPU train in little more time than one. A run's result is that of
`train` up to rounding: it has its own questions, order, random numbers and optimiser state.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from threading import Event
from time import monotonic
from typing import Any

import numpy as np
import torch
from torch import nn

from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.vocab import vocab_digest
from clevrhope.errors import ClevrhopeError, ConfigError
from clevrhope.features.store import PoolFeatures
from clevrhope.models.stack import stack_models
from clevrhope.runtime.lock import locked
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.kinds import TRAIN
from clevrhope.training.checkpoints import remove_states, state_name, states_in
from clevrhope.training.data import Questions
from clevrhope.training.loop import Loop, interrupts
from clevrhope.training.member import Member
from clevrhope.training.order import Numbers
from clevrhope.training.prepared_run import PreparedRun, rehearse
from clevrhope.training.recipe_settings import recipe_of
from clevrhope.training.request import TrainRequest, TrainSummary
from clevrhope.training.run import finish, finished_summary
from clevrhope.training.run_folder import WRITTEN
from clevrhope.training.train_sets import joined_tables


def train_together(
    requests: Sequence[TrainRequest], progress: Progress | None = None
) -> list[TrainSummary | ClevrhopeError]:
    """Trains or resumes runs that differ only in their datasets, HOPs and seeds.

    Args:
        requests: as for `train`, each with a folder of its own.
        progress: displays progress.

    Returns:
        For each request its summary, or the error that `train` would raise; an error stops no other run.

    Raises:
        ConfigError: the runs differ in more, or their model cannot be trained together with others.
        KeyboardInterrupt: SIGTERM or Ctrl-C came; the states of the runs are written, or all are finished.
    """
    began = monotonic()
    made: dict[int, TrainSummary | ClevrhopeError] = {}
    runs: dict[int, tuple[PreparedRun, Questions | None]] = {}
    for number, request in enumerate(requests):
        try:
            run = PreparedRun(request)
            runs[number] = run, run.tune_questions()
        except ClevrhopeError as error:
            made[number] = error
    check_alike([run for run, _ in runs.values()])
    with ExitStack() as locks:
        for number, (run, _) in list(runs.items()):
            try:
                locks.enter_context(locked(run.request.out, WRITTEN))
                run.bind()
                if not run.folder.finished.exists():
                    continue
                made[number] = finished_summary(run, began)
            except ClevrhopeError as error:
                made[number] = error
            del runs[number]
        with interrupts() as interrupt:
            for state, numbers in groups_at_a_state({number: run for number, (run, _) in runs.items()}):
                group = [runs[number] for number in numbers]
                ended = _train_group(group, state, began, progress or Silent(), interrupt)
                made.update(zip(numbers, ended, strict=True))
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # evaluation, in other processes, comes next
    if interrupt.is_set():
        raise KeyboardInterrupt
    return [made[number] for number in range(len(requests))]


def check_alike(runs: Sequence[PreparedRun]) -> None:
    """Checks that runs can be trained together; if not, raises a ConfigError that says why."""
    for run in runs:
        check_stackable(run.model, run.request)
        if _common(run) != _common(runs[0]):
            raise ConfigError(
                f"{runs[0].request.out} and {run.request.out}: runs that are trained together may only "
                "differ in the seed and in what they learn from, in one vocabulary"
            )


def check_stackable(model: nn.Module, request: TrainRequest) -> None:
    """Checks that a request's model can be trained with others of its kind; else a ConfigError says why."""
    losses, recipe = getattr(model, "stack_losses", {}), recipe_of(model, request)
    ends_early = recipe.stop_at is not None or recipe.patience is not None
    is_other = any(stage.accumulation > 1 or stage.compile for stage in recipe.stages)
    if ends_early or recipe.learns_from_rewards or is_other:
        raise ConfigError(
            "runs that are trained together make the same updates, on whole batches, and learn from labels; "
            "leave out recipe.stop_at, .patience, .accumulation, .compile and .objective"
        )
    for stage in recipe.stages:
        if stage.loss not in losses:
            raise ConfigError(
                f"{request.model} cannot be trained together with others in its stage {stage.name}; of the "
                'package\'s models, film with features = "pixels" and tensor_nmn with the same and '
                'stages = "engine" can be'
            )
        if stage.optimiser.clip_norm is not None:
            raise ConfigError(
                f"{request.model} clips the norm of its gradients, which runs that are trained together "
                'cannot; set recipe.clip_norm to "none"'
            )
    if request.split != TRAIN.name or request.drop_types:
        raise ConfigError(f"runs that are trained together learn from all questions of {TRAIN.name}")


def _common(run: PreparedRun) -> tuple[Any, ...]:
    """Everything that must be the same in runs that are trained together."""
    own = dict.fromkeys(("dataset", "features", "hop", "seed", "out", "size", "init_from", "tune_on"))
    options = {**vars(run.request), **own}
    return options, run.recipe, run.precision, vocab_digest(run.vocab), run.tune is None


def groups_at_a_state(runs: dict[int, PreparedRun]) -> Iterator[tuple[str, list[int]]]:
    """Groups of runs that can be resumed together: the name of a state that all of them have, and the runs.

    A new run counts as at the state after 0 updates. If a process was killed while it wrote the states of its
    runs, all of them still have the older ones.
    """
    states = {
        number: [each.name for each in states_in(run.folder.state)] or [state_name(0)]
        for number, run in runs.items()
    }
    while states:
        state = min(own[-1] for own in states.values())
        numbers = [number for number, own in states.items() if state in own]
        for number in numbers:
            del states[number]
        yield state, numbers


def _train_group(
    group: Sequence[tuple[PreparedRun, Questions | None]],
    state: str,
    began: float,
    progress: Progress,
    interrupt: Event,
) -> list[TrainSummary | ClevrhopeError]:
    """Trains runs, each with its tune set, from a state that all have; returns their summaries or errors."""
    runs = [run for run, _ in group]
    first = runs[0]
    questions, first_rows = join_train_sets(runs)
    rehearse(first, questions)
    stack = stack_models([run.model for run in runs])
    members = []
    with ExitStack() as logs:
        for (run, tune), first_row in zip(group, first_rows, strict=True):
            remove_states(run.folder.state, but=state)
            member = Member(run, tune, state=state)
            member.first_row, member.generator = first_row, torch.Generator(first.device)
            logs.callback(member.log.close)
            members.append(member)
        loop = Loop(members, stack, questions, progress, interrupt)
        with first.computing():
            loop.run()
    return [member.error or finish(began, loop, member) for member in members]


def join_train_sets(runs: Sequence[PreparedRun]) -> tuple[Questions, list[int]]:
    """The questions of several runs' train sets as one, and the row at which those of each run begin.

    A train set that several runs share, which differ in their seeds, is held once.

    Raises:
        ConfigError: the features have different sizes.
        DatasetError: an incomplete file, or images without features.
    """
    keys = [(str(run.store.folder), run.request.hop, run.n_questions) for run in runs]
    different = dict(zip(keys, runs, strict=True))
    starts: dict[tuple[str, str, int], int] = {}
    for key in different:
        starts[key] = sum(n for _, _, n in starts)
    parts = [run.reader for run in different.values()]
    pools = [run.store.pool(run.reader.pool) for run in different.values()]
    images, features = _joined_features(parts, pools)
    table = joined_tables(parts, "several", np.concatenate(images))
    return Questions(table, features, runs[0].device), [starts[key] for key in keys]


def _joined_features(
    parts: Sequence[QuestionTable], pools: Sequence[PoolFeatures]
) -> tuple[list[Numbers], PoolFeatures]:
    """For each part the row of each question's image, and the joined features, with each image once."""
    images, used, n_rows = [], [], 0
    for part, pool in zip(parts, pools, strict=True):
        own, rows = np.unique(pool.rows(part.image_idxs), return_inverse=True)
        images.append((n_rows + rows).astype(np.int64))
        used.append(own)
        n_rows += len(own)
    arrays: dict[str, Any] = {}
    for name, like in pools[0].arrays.items():
        for pool in pools:
            shape = pool.arrays[name].shape[1:]
            if shape != like.shape[1:]:
                raise ConfigError(
                    f"{pool.place}: {name} are {shape}, but those of {pools[0].place} are "
                    f"{like.shape[1:]}; train these runs apart, or make features of one size"
                )
        arrays[name] = np.empty((n_rows, *like.shape[1:]), like.dtype)
        first = 0
        for pool, own in zip(pools, used, strict=True):
            arrays[name][first : first + len(own)] = pool.arrays[name][own]
            first += len(own)
    return images, PoolFeatures(np.arange(n_rows, dtype=np.int32), arrays, "features of several datasets")
