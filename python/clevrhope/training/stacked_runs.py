"""Trains several runs in one process, as a stack of their models; each gets the folder that `train` writes.

Of models that are too small to fill a GPU, many are trained in little more time than one. A run's result is
that of `train` up to rounding: it has its own questions, order, random numbers and state of the optimiser.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from clevrhope.dataset.identity import vocab_digest
from clevrhope.errors import ClevrhopeError, ConfigError, TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Stage
from clevrhope.models.stack import show_model, stack_models
from clevrhope.runtime.lock import locked
from clevrhope.runtime.progress import Advance, Progress, Silent
from clevrhope.splits.kinds import TRAIN
from clevrhope.training.checkpoints import (
    OptimiserState,
    RunProgress,
    load_state,
    optimiser_state,
    read_state,
    remove_states,
    state_name,
    states_in,
)
from clevrhope.training.data import Numbers, Questions
from clevrhope.training.device import casting, computing
from clevrhope.training.interrupts import Interrupt, interrupts
from clevrhope.training.joint_train_set import TrainSetPart, join_train_sets
from clevrhope.training.log import Log
from clevrhope.training.loop import GPU_CHECK_UPDATES, SHOW_SECONDS, Trainer, updates_made
from clevrhope.training.optimisers import make_optimiser
from clevrhope.training.order import Position, derived_seed, permutation
from clevrhope.training.request import TrainRequest, TrainSummary
from clevrhope.training.run import PreparedRun, prepare, recipe_of, rehearse_run
from clevrhope.training.stages import average_weights, averaged_model, select_weights, trainable_weights

UPDATES_AT_ONCE = 100
"""Updates whose questions are put in order at a time."""


def train_together(
    requests: Sequence[TrainRequest], progress: Progress | None = None
) -> list[TrainSummary | ClevrhopeError]:
    """Trains runs that differ in their datasets, HOPs and seeds alone, or resumes them.

    Args:
        requests: as for `train`, each with a folder of its own.
        progress: displays progress.

    Returns:
        For each request its summary, or the error that `train` would raise for it, which stops no other run.

    Raises:
        ConfigError: runs that differ in more, or whose model cannot be trained together with others.
        KeyboardInterrupt: SIGTERM or Ctrl-C came; the states of the runs are written, or all are finished.
    """
    began = monotonic()
    made: dict[int, TrainSummary | ClevrhopeError] = {}
    runs: dict[int, PreparedRun] = {}
    tunes: dict[int, Questions | None] = {}
    for number, request in enumerate(requests):
        try:
            run = prepare(request)
            tunes[number] = run.tune_questions()
            runs[number] = run
        except ClevrhopeError as error:
            made[number] = error
    check_alike(list(runs.values()))
    with ExitStack() as locks:
        for number, run in list(runs.items()):
            try:
                locks.enter_context(locked(run.request.out))
                run.bind()
                if not run.folder.finished.exists():
                    continue
                made[number] = run.summary(began, None)
            except ClevrhopeError as error:
                made[number] = error
            del runs[number]
        with interrupts() as interrupt:
            for state, numbers in groups_at_a_state(runs):
                group = [(runs[number], tunes[number]) for number in numbers]
                ended = _train_group(group, state, began, progress or Silent(), interrupt)
                made.update(zip(numbers, ended, strict=True))
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # evaluation, in other processes, comes next
    if interrupt.is_set:
        raise KeyboardInterrupt
    return [made[number] for number in range(len(requests))]


def check_alike(runs: Sequence[PreparedRun]) -> None:
    """Checks that runs can be trained together.

    Raises:
        ConfigError: they cannot; says why.
    """
    for run in runs:
        check_stackable(run.model, run.request)
        for what, own in _common(run).items():
            if own != _common(runs[0])[what]:
                raise ConfigError(
                    f"{runs[0].request.out} and {run.request.out}: runs that are trained together have "
                    f"different {what}"
                )


def check_stackable(model: nn.Module, request: TrainRequest) -> None:
    """Checks that a request's model can be trained together with others of its kind.

    Raises:
        ConfigError: it cannot; says why.
    """
    losses = getattr(model, "stack_losses", {})
    for stage in recipe_of(model, request).stages:
        if stage.loss not in losses:
            raise ConfigError(
                f"{request.model} cannot be trained together with others in its stage {stage.name}; of the "
                'package\'s models, tensor_nmn can with stages = "engine" and features = "pixels"'
            )
        if stage.optimiser.clip_norm is not None:
            raise ConfigError(
                f"{request.model} clips the norm of its gradients, which runs that are trained together "
                'cannot; set recipe.clip_norm to "none"'
            )
    if request.split != TRAIN.name or request.drop_types:
        raise ConfigError(f"runs that are trained together learn from all questions of {TRAIN.name}")


def _common(run: PreparedRun) -> dict[str, Any]:
    """What runs that are trained together have in common, by what it is called in messages."""
    request = run.request
    options = ("device", "deterministic", "keep_last", "keep_every", "save_every", "tune_every")
    return {
        "models": request.model,
        "settings": request.settings,
        "recipes": run.recipe,
        "precisions": run.precision,
        "vocabularies": vocab_digest(run.vocab),
        "sets to tune on": run.tune is None,
        **{f"values of --{name.replace('_', '-')}": getattr(request, name) for name in options},
    }


def groups_at_a_state(runs: dict[int, PreparedRun]) -> Iterator[tuple[str, list[int]]]:
    """Runs that can go on together, as the name of a state that all of them have and their numbers.

    The state of a new run is that after 0 updates. If a process was killed while it wrote the states of its
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
    interrupt: Interrupt,
) -> list[TrainSummary | ClevrhopeError]:
    """Trains runs, each with what it is tuned on, from a state that all have; gives summaries or errors."""
    runs = [run for run, _ in group]
    first, tensors = runs[0], []
    parts = [TrainSetPart(run.reader, run.store) for run in runs]
    questions, places = join_train_sets(parts, first.device)
    if not first.folder.is_started:
        rehearse_run(first, questions)
    logs: list[Log] = []
    trainers = []
    try:
        for run, tune in group:
            remove_states(run.folder.state, but=state)
            found = read_state(run.folder.state, state)
            done = found[0] if found else RunProgress()
            tensors.append(found[1] if found else None)
            logs.append(run.open_log(done))
            trainer = run.trainer(questions, tune, logs[-1], progress, interrupt, done)
            # One model is shown after the other, so a single one is enough.
            trainer.model, trainer.stages = first.model, first.recipe.stages
            trainers.append(trainer)
        stack = stack_models([run.model for run in runs])
        generators = [torch.Generator(first.device) for _ in runs]
        trained = GroupTrainer(trainers, stack, questions, places, generators)
        deterministic = first.request.deterministic
        with computing(first.device, precision=first.precision, deterministic=deterministic):
            trained.run(None if tensors[0] is None else [each for each in tensors if each is not None])
    finally:
        for log in logs:
            log.close()
    return [
        trained.errors[number] if number in trained.errors else run.finish(began, trainers[number])
        for number, run in enumerate(runs)
    ]


@dataclass(repr=False)
class GroupTrainer:
    """Runs that are trained together.

    Attributes:
        trainers: of the M runs, for what each run has of its own: progress, log, checkpoints and states. They
            share one model, which shows that of each run in turn, and one for the averages.
        stack: of the models.
        questions: of all runs.
        places: for each run, its first row in them, and the number of its questions.
        generators: of each run, seeded as torch's own is in a run by itself.
        averaged: the moving average of the stack's weights; None where the stage averages none.
        errors: of runs that cannot continue; their models are trained with the others, but not kept.
    """

    trainers: Sequence[Trainer]
    stack: nn.Module
    questions: Questions
    places: Sequence[tuple[int, int]]
    generators: Sequence[torch.Generator]
    averaged: nn.Module | None = None
    errors: dict[int, TrainingError] = field(default_factory=dict)

    @property
    def running(self) -> list[int]:
        """The numbers of the runs without an error."""
        return [number for number in range(len(self.trainers)) if number not in self.errors]

    @property
    def done(self) -> RunProgress:
        """The progress of one of these runs; stage and update are those of all."""
        return self.trainers[self.running[0]].done

    def run(self, states: Sequence[dict[str, Tensor]] | None) -> None:
        """Makes all remaining updates, and writes the last weights.

        Args:
            states: the tensors of each run's state; None for new runs.

        Raises:
            KeyboardInterrupt: the runs were interrupted; their states are written.
        """
        first = self.trainers[0]
        trainable = trainable_weights(self.stack)
        for stage in first.stages[self.done.stage :]:
            if not self.running:
                return
            weights = select_weights(self.stack, stage, trainable)
            optimiser = make_optimiser(stage.optimiser, weights)
            self.averaged = averaged_model(self.stack, stage)
            shown = averaged_model(first.model, stage)
            for trainer in self.trainers:
                trainer.averaged = shown
            if self.done.update == 0:
                for trainer, generator in zip(self.trainers, self.generators, strict=True):
                    generator.manual_seed(derived_seed(trainer.request.seed, f"stage {self.done.stage}"))
            if states is not None:
                self._load(states, optimiser)
                states = None
            title = f"{len(self.trainers)} x {first.about['model']} {stage.name}"
            with first.progress.stage(title, total=stage.updates, unit="updates") as advance:
                advance(self.done.update, there=True)
                self._make_updates(stage, optimiser, advance)
            for number in self.running:
                with self._showing(number) as trainer:
                    trainer.end_stage(stage)
            self._save(None)
            if stage is not first.stages[-1] and first.interrupt.is_set:
                raise KeyboardInterrupt

    def _make_updates(self, stage: Stage, optimiser: torch.optim.Optimizer, advance: Advance) -> None:
        """Makes the remaining updates of a stage, with all that is due between them."""
        first, done, device = self.trainers[0], self.done, self.questions.device
        stack: Any = self.stack
        compute_losses = getattr(stack, stack.stack_losses[stage.loss])
        check_every = GPU_CHECK_UPDATES if device.type == "cuda" else 1
        losses: list[Tensor] = []  # (M,) each, not checked yet
        line_seconds = 0.0
        n_shown = 0
        clock = saved = shown = monotonic()
        batches = self._batches(stage)
        while done.update < stage.updates and self.running:
            batch = next(batches)
            for group in optimiser.param_groups:
                group["lr"] = stage.optimiser.rate * stage.schedule.factor(done.update, stage.updates)
            with casting(device, first.precision):
                own_losses = compute_losses(batch, self.generators)  # (M,)
            optimiser.zero_grad(set_to_none=True)
            own_losses.sum().backward()
            losses.append(own_losses.detach())
            if len(losses) >= check_every:
                self._check_losses(losses, stage, done.update + 1)
            optimiser.step()
            for trainer, (_, n_questions) in zip(self.trainers, self.places, strict=True):
                trainer.done.update += 1
                trainer.done.position = trainer.done.position.after(n_questions // stage.batch_size)
                trainer.n_made += 1
            if self.averaged is not None:
                average_weights(self.averaged, self.stack, stage, done.update)
            n_shown += 1

            # What is due after it.
            now = monotonic()
            if now - shown >= SHOW_SECONDS or done.update == stage.updates:
                advance(n_shown)
                n_shown, shown = 0, now
            due = first.due(stage, now - saved)
            if not any(due):
                continue
            self._check_losses(losses, stage, done.update)
            seconds = monotonic() - clock
            line_seconds += seconds
            for trainer in self.trainers:
                trainer.busy_seconds += seconds
            for number in self.running:
                with self._showing(number) as trainer:
                    trainer.report(due, stage, optimiser.param_groups[0]["lr"], line_seconds)
            if due.log:
                line_seconds = 0.0
            if due.state:
                self._save(optimiser.state_dict()["state"])
                saved = monotonic()
                if first.interrupt.is_set:
                    raise KeyboardInterrupt
            clock = monotonic()

    def _batches(self, stage: Stage) -> Iterator[Batch]:
        """The batches of the stage that are left: a part for each run, those of one update in one batch."""
        size, left = stage.batch_size, stage.updates - self.done.update
        plan: Any = self.stack.stack_plan
        orders = [
            _rows(trainer.request.seed, trainer.done.position, first_row, n_questions, size)
            for trainer, (first_row, n_questions) in zip(self.trainers, self.places, strict=True)
        ]
        while left:
            n = min(left, UPDATES_AT_ONCE)
            rows = np.concatenate([next(order) for _ in range(n) for order in orders])
            yield from self.questions.batches(rows, len(orders) * size, plan)
            left -= n

    def _check_losses(self, losses: list[Tensor], stage: Stage, update: int) -> None:
        """Checks the losses of all runs as `Trainer.check_losses` does those of one."""
        if not losses:
            return
        of_runs = torch.stack(losses).cpu().unbind(1)
        for number in self.running:
            with self._showing(number) as trainer:
                trainer.check_losses(list(of_runs[number]), stage, update)
        losses.clear()

    @contextmanager
    def _showing(self, number: int) -> Iterator[Trainer]:
        """A run's trainer, whose model shows the run's weights; an error of the run in the block is noted.

        The average shows the run's, too.
        """
        trainer = self.trainers[number]
        show_model(trainer.model, self.stack, number)
        if self.averaged is not None and trainer.averaged is not None:
            show_model(trainer.averaged, self.averaged, number)
        try:
            yield trainer
        except TrainingError as error:
            self.errors[number] = error

    def _save(self, optimiser: OptimiserState | None) -> None:
        """Writes the states of all runs, and only then removes older ones, so that all have one in common."""
        for number in self.running:
            own = None if optimiser is None else _part(optimiser, number)
            with self._showing(number) as trainer:
                trainer.save(own, generator=self.generators[number], removes_others=False)
        for number in self.running:
            trainer = self.trainers[number]
            remove_states(trainer.folder.state, but=state_name(updates_made(trainer.stages, trainer.done)))

    def _load(self, states: Sequence[dict[str, Tensor]], optimiser: torch.optim.Optimizer) -> None:
        """Restores weights, averages, generators and the optimiser from the runs' states."""
        is_begun = self.done.update > 0
        for number, tensors in enumerate(states):
            with self._showing(number) as trainer:
                averaged = trainer.averaged if is_begun else None
                load_state(trainer.folder.state, tensors, trainer.model, None, averaged)
            generator = f"generator.{self.questions.device.type}"
            if is_begun and generator in tensors:
                self.generators[number].set_state(tensors[generator])
        if is_begun:
            state = _joined_states([optimiser_state(tensors) for tensors in states])
            optimiser.load_state_dict({**optimiser.state_dict(), "state": state})


def _rows(seed: int, position: Position, first_row: int, n_questions: int, size: int) -> Iterator[Numbers]:
    """The rows of a run's batches from a position on, without end."""
    while True:
        order = first_row + permutation(seed, position.epoch, n_questions)
        for index in range(position.index, n_questions // size):
            yield order[index * size : (index + 1) * size]
        position = Position(position.epoch + 1)


def _part(state: OptimiserState, number: int) -> dict[int, dict[str, Tensor]]:
    """A run's part of the state of a stack's optimiser; numbers of steps are those of all runs."""
    return {
        weight: {name: value if value.ndim == 0 else value[number] for name, value in values.items()}
        for weight, values in state.items()
    }


def _joined_states(states: Sequence[OptimiserState]) -> dict[int, dict[str, Tensor]]:
    """The state of a stack's optimiser, of which each run has a part."""
    return {
        weight: {
            name: value if value.ndim == 0 else torch.stack([state[weight][name] for state in states])
            for name, value in values.items()
        }
        for weight, values in states[0].items()
    }
