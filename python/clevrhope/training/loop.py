"""The training loop: stage by stage and update by update, with log, tuning, checkpoints and states.

`Loop` makes the updates, and a `Trainer` does for a run what is due between them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil, isfinite
from time import monotonic, time
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import Parameter

from clevrhope.dataset.identity import vocab_digest
from clevrhope.errors import TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Stage
from clevrhope.models.stack import show_model
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.training.checkpoints import (
    OptimiserState,
    RunProgress,
    load_state,
    optimiser_state,
    remove_states,
    save_state,
    save_weights,
    state_name,
    states_in,
)
from clevrhope.training.checks import check_loss, determinism_errors
from clevrhope.training.data import Questions
from clevrhope.training.device import casting
from clevrhope.training.interrupts import Interrupt
from clevrhope.training.log import Log
from clevrhope.training.optimisers import make_optimiser
from clevrhope.training.order import batch_rows, derived_seed
from clevrhope.training.prediction import accuracy, predict_answers
from clevrhope.training.prepared_run import PreparedRun
from clevrhope.training.request import tune_set_name
from clevrhope.training.run_folder import late_checkpoint
from clevrhope.training.stages import average_weights, averaged_model, select_weights, trainable_weights

SAVE_SECONDS = 300.0
"""Time between two states to resume from, without `save_every`. Saving changes no result."""

TUNE_EVALUATIONS = 20
"""Number of evaluations on the tune set, without `tune_every`."""

LOG_UPDATES = 100
"""Most updates between two lines of the log; fewer in a short stage, so that it has twenty lines."""

GPU_CHECK_UPDATES = 50
"""Updates between two checks of the losses on a GPU, each of which waits for it."""

UPDATES_AT_ONCE = 1000
"""Updates whose questions are put in order at a time."""

SHOW_SECONDS = 0.25


class Due(NamedTuple):
    """What is due after an update."""

    log: bool
    tune: bool
    checkpoint: str | None
    """The name of a late checkpoint."""
    state: bool


@dataclass(repr=False)
class Loop:
    """Makes the updates of a run, or of several whose models are stacked (`clevrhope.models.stack`).

    Attributes:
        trainers: of the M runs, with what each has of its own. Those of stacked models share one recipe and
            one model, which shows that of each run in turn, and one for the averages.
        model: the run's model, or the stack of all.
        questions: of all runs.
        first_rows: for each run, its first row in them.
        progress: displays progress.
        interrupt: whether to stop after the next update.
        generators: of stacked models, one for each run, seeded as torch's own is for a run by itself; empty
            for one run.
        averaged: the moving average of the weights; None where the stage averages none.
        errors: of runs of a stack that cannot continue; their models are trained with the others, but are
            not kept.
        n_made: updates that this process made.
        busy_seconds: the time that they took, without tuning and saving.
    """

    trainers: Sequence["Trainer"]
    model: nn.Module
    questions: Questions
    first_rows: Sequence[int]
    progress: Progress
    interrupt: Interrupt
    generators: Sequence[torch.Generator] = ()
    averaged: nn.Module | None = None
    errors: dict[int, TrainingError] = field(default_factory=dict)
    n_made: int = 0
    busy_seconds: float = 0.0

    @property
    def running(self) -> list[int]:
        """The numbers of the runs without an error."""
        return [number for number in range(len(self.trainers)) if number not in self.errors]

    @property
    def done(self) -> RunProgress:
        """The progress of one of these runs; stage and update are those of all."""
        return self.trainers[self.running[0]].done

    def run(self, states: Sequence[Mapping[str, Tensor]] | None) -> None:
        """Makes all remaining updates, and writes the last weights.

        Args:
            states: the tensors of each run's state; None for new runs.

        Raises:
            TrainingError: a loss or weights of a single run that are not finite.
            KeyboardInterrupt: the runs were interrupted; their states are written.
        """
        first = self.trainers[0].run
        trainable = trainable_weights(self.model)
        for stage in first.recipe.stages[self.done.stage :]:
            if not self.running:
                return
            weights = select_weights(self.model, stage, trainable)
            optimiser = make_optimiser(stage.optimiser, weights)
            self.averaged = averaged_model(self.model, stage)
            shown = averaged_model(first.model, stage) if self.generators else self.averaged
            for trainer in self.trainers:
                trainer.averaged = shown
            if states is not None:
                self._load(states, optimiser)
                states = None
            if self.done.update == 0:
                self._seed()
            runs = f"{len(self.trainers)} x " if self.generators else ""
            title = f"{runs}{first.request.model} {stage.name}"
            with (
                self.progress.stage(title, total=stage.updates, unit="updates") as advance,
                determinism_errors(deterministic=first.request.deterministic),
            ):
                advance(self.done.update, there=True)
                self._make_updates(stage, weights, optimiser, advance)
            for number in self.running:
                with self._showing(number) as trainer:
                    trainer.end_stage(stage)
            self._save(None)
            if stage is not first.recipe.stages[-1] and self.interrupt.is_set:
                raise KeyboardInterrupt

    def _make_updates(
        self, stage: Stage, weights: list[Parameter], optimiser: torch.optim.Optimizer, advance: Advance
    ) -> None:
        """Makes the remaining updates of a stage, with all that is due between them."""
        precision, done, device = self.trainers[0].run.precision, self.done, self.questions.device
        check_every = GPU_CHECK_UPDATES if device.type == "cuda" else 1
        losses: list[Tensor] = []  # (M,) each, not checked yet
        line_seconds, line_updates = 0.0, 0  # since the last line of the log
        n_shown = 0  # made since the display last moved
        clock = saved = shown = monotonic()
        batches = self._batches(stage)
        while done.update < stage.updates and self.running:
            batch = next(batches)
            for group in optimiser.param_groups:
                group["lr"] = stage.optimiser.rate * stage.schedule.factor(done.update, stage.updates)
            with casting(device, precision):
                own_losses = self._losses(stage, batch)
            optimiser.zero_grad(set_to_none=True)
            own_losses.sum().backward()  # type: ignore[no-untyped-call]
            if stage.optimiser.clip_norm is not None:
                nn.utils.clip_grad_norm_(weights, stage.optimiser.clip_norm)
            losses.append(own_losses.detach())
            if len(losses) >= check_every:
                self._check_losses(losses, stage, done.update + 1)
            optimiser.step()
            for trainer in self.trainers:
                trainer.done.update += 1
            self.n_made += 1
            line_updates += 1
            if self.averaged is not None:
                average_weights(self.averaged, self.model, stage, done.update)
            n_shown += 1

            # What is due after it.
            now = monotonic()
            if now - shown >= SHOW_SECONDS or done.update == stage.updates:
                advance(n_shown)
                n_shown, shown = 0, now
            due = self._due(stage, done.update, now - saved)
            if not any(due):
                continue
            self._check_losses(losses, stage, done.update)
            seconds = monotonic() - clock
            line_seconds += seconds
            self.busy_seconds += seconds
            speed = line_updates / line_seconds
            for number in self.running:
                with self._showing(number) as trainer:
                    trainer.report(due, stage, optimiser.param_groups[0]["lr"], speed)
            if due.log:
                line_seconds, line_updates = 0.0, 0
            if due.state:
                self._save(optimiser.state_dict()["state"])
                saved = monotonic()
                if self.interrupt.is_set:
                    raise KeyboardInterrupt
            clock = monotonic()

    def _due(self, stage: Stage, update: int, unsaved_seconds: float) -> Due:
        """What is due after an update, so many seconds after the last state."""
        run, left = self.trainers[0].run, stage.updates - update
        request, is_last = run.request, stage is run.recipe.stages[-1]
        log_every = max(1, min(LOG_UPDATES, stage.updates // 20))
        tune_every = request.tune_every or max(1, stage.updates // TUNE_EVALUATIONS)
        if request.save_every is None:
            is_state = unsaved_seconds >= SAVE_SECONDS
        else:
            is_state = update % request.save_every == 0
        n_left, off = divmod(left, request.keep_every or stage.updates)
        is_late = is_last and off == 0 and 0 < n_left < request.keep_last  # the last one is called "last"
        return Due(
            log=update % log_every == 0 or left == 0,
            tune=is_last and self.trainers[0].tune is not None and (update % tune_every == 0 or left == 0),
            checkpoint=late_checkpoint(stage.name, update) if is_late else None,
            state=(is_state or self.interrupt.is_set) and left > 0,
        )

    def _losses(self, stage: Stage, batch: Batch) -> Tensor:
        """(M,) losses of the runs."""
        model: Any = self.model
        if self.generators:
            losses: Tensor = getattr(model, model.stack_losses[stage.loss])(batch, self.generators)
            return losses
        loss = getattr(model, stage.loss)(batch)
        if self.done.update == 0:
            check_loss(model, stage, loss)
        return loss.reshape(1)  # type: ignore[no-any-return]

    def _batches(self, stage: Stage) -> Iterator[Batch]:
        """The batches of the stage that are left: a part for each run, those of one update in one batch."""
        size, left = stage.batch_size, stage.updates - self.done.update
        plan = getattr(self.model, "stack_plan" if self.generators else "plan", None)
        orders = []
        for trainer, first_row in zip(self.trainers, self.first_rows, strict=True):
            run, done = trainer.run, trainer.done
            rows = batch_rows(run.request.seed, run.n_questions, size, epoch=done.epoch, n_made=done.update)
            orders.append((first_row, rows))
        while left:
            n = min(left, UPDATES_AT_ONCE)
            several = np.concatenate([first + next(rows) for _ in range(n) for first, rows in orders])
            yield from self.questions.batches(several, len(orders) * size, plan)
            left -= n

    def _check_losses(self, losses: list[Tensor], stage: Stage, update: int) -> None:
        """Checks the losses of all runs, the last of which are those of an update, and forgets them."""
        if not losses:
            return
        of_runs = torch.stack(losses, dim=1).tolist()
        losses.clear()
        for number in self.running:
            with self._showing(number) as trainer:
                trainer.check_losses(of_runs[number], stage, update)

    @contextmanager
    def _showing(self, number: int) -> Iterator["Trainer"]:
        """A run's trainer, whose model and average show the run's; in a stack, an error of it is noted."""
        trainer = self.trainers[number]
        if self.generators:
            show_model(trainer.run.model, self.model, number)
            if self.averaged is not None and trainer.averaged is not None:
                show_model(trainer.averaged, self.averaged, number)
        try:
            yield trainer
        except TrainingError as error:
            if not self.generators:
                raise
            self.errors[number] = error

    def _seed(self) -> None:
        """Seeds the runs' random numbers at the start of a stage."""
        for number, trainer in enumerate(self.trainers):
            seed = derived_seed(trainer.run.request.seed, f"stage {trainer.done.stage}")
            if self.generators:
                self.generators[number].manual_seed(seed)
            else:
                torch.manual_seed(seed)

    def _save(self, optimiser: OptimiserState | None) -> None:
        """Writes the states of all runs, and only then removes older ones, so that all have one in common."""
        for number in self.running:
            own, generator = optimiser, None
            if self.generators:
                own = None if optimiser is None else _part(optimiser, number)
                generator = self.generators[number]
            with self._showing(number) as trainer:
                trainer.save(own, generator)
        for number in self.running:
            run, done = self.trainers[number].run, self.trainers[number].done
            remove_states(run.folder.state, but=state_name(run.updates_made(done)))

    def _load(self, states: Sequence[Mapping[str, Tensor]], optimiser: torch.optim.Optimizer) -> None:
        """Restores weights, averages, random numbers and the optimiser from the runs' states."""
        is_begun = self.done.update > 0
        for number, tensors in enumerate(states):
            with self._showing(number) as trainer:
                averaged = trainer.averaged if is_begun else None
                load_state(trainer.run.folder.state, tensors, trainer.run.model, averaged)
            generator = f"generator.{self.questions.device.type}"
            if self.generators and is_begun and generator in tensors:
                self.generators[number].set_state(tensors[generator])
        if is_begun:
            parts = [optimiser_state(tensors) for tensors in states]
            state = _joined_states(parts) if self.generators else parts[0]
            optimiser.load_state_dict({**optimiser.state_dict(), "state": state})


@dataclass(repr=False)
class Trainer:
    """What a run has of its own while its updates are made: log, tuning, checkpoints and states.

    Attributes:
        run: the run.
        tune: the questions that weights are chosen by; None for none.
        log: its log.
        done: how far it is, which is all that a resumed run needs besides tensors.
        last_loss: mean loss of the last line of the log; None if this process wrote none.
        averaged: the moving average of the weights; None where the stage averages none.
    """

    run: PreparedRun
    tune: Questions | None
    log: Log
    done: RunProgress
    last_loss: float | None = None
    averaged: nn.Module | None = None

    @property
    def evaluated(self) -> nn.Module:
        """The weights that are tuned, kept and evaluated."""
        return self.run.model if self.averaged is None else self.averaged

    def report(self, due: Due, stage: Stage, rate: float, speed: float) -> None:
        """Does what is due except for the state; `speed` is in updates a second.

        Raises:
            TrainingError: weights that are not finite.
        """
        if due.log:
            self._log_loss(stage, rate, speed)
        if due.tune or due.checkpoint or due.state:
            self._check_weights(stage)
        if due.tune:
            self._tune(stage)
        if due.checkpoint:
            self._keep(due.checkpoint, stage)

    def end_stage(self, stage: Stage) -> None:
        """Keeps the weights at a stage's end where they are evaluated, and moves on to the next stage.

        Raises:
            TrainingError: weights that are not finite.
        """
        is_last = stage is self.run.recipe.stages[-1]
        self._check_weights(stage)
        if is_last:
            self._keep("last", stage)
        elif stage.evaluated:
            self._keep(stage.name, stage)
        done = self.done
        done.epoch += ceil(done.update / self._n_batches(stage))  # the next stage begins an epoch
        done.stage, done.update = done.stage + 1, 0

    def check_losses(self, losses: list[float], stage: Stage, update: int) -> None:
        """Checks that losses, the last of which is that of an update, are finite, and adds them up.

        Raises:
            TrainingError: one is not; says at which update.
        """
        for number, value in enumerate(losses, update - len(losses) + 1):
            if not isfinite(value):
                raise self._failure(f"the loss is {value} at update {number:,}", stage)
        self.done.losses += sum(losses)
        self.done.n_losses += len(losses)

    def _check_weights(self, stage: Stage) -> None:
        """Checks that all weights are finite.

        Raises:
            TrainingError: some are not.
        """
        bad = [name for name, each in self.run.model.named_parameters() if not bool(each.isfinite().all())]
        if bad:
            raise self._failure(f"non-finite weights ({bad[0]}) after update {self.done.update:,}", stage)

    def _failure(self, problem: str, stage: Stage) -> TrainingError:
        """An error that says why the run cannot continue, and what is kept of it."""
        saved = states_in(self.run.folder.state)
        kept = (
            f"the last good state, after {int(saved[-1].name):,} updates in all, is kept"
            if saved
            else "no state was saved yet"
        )
        return TrainingError(
            f"{self.run.folder.root}: {problem} of stage {stage.name}; {kept}; start another run, for "
            f"example with a smaller rate (--set recipe.{stage.name}.rate={stage.optimiser.rate / 10:g})"
        )

    def _log_loss(self, stage: Stage, rate: float, speed: float) -> None:
        done = self.done
        self.last_loss = done.losses / done.n_losses
        values: Mapping[str, Tensor] = getattr(self.run.model, "log_values", dict)()
        self._write(
            stage,
            {
                "epoch": done.epoch + done.update // self._n_batches(stage),
                "loss": self.last_loss,
                "rate": rate,
                **{name: float(value) for name, value in values.items()},
                "updates_a_second": round(speed, 3),
            },
        )
        done.losses, done.n_losses = 0.0, 0

    def _tune(self, stage: Stage) -> None:
        """Evaluates the weights on the tune set, and keeps them if they are the best so far."""
        assert self.tune is not None
        n_answers, precision = len(self.run.vocab.answers()), self.run.precision
        answers = predict_answers(
            self.evaluated, "predict", self.tune, n_answers=n_answers, precision=precision
        )
        percent = accuracy(answers, self.tune)
        self._write(stage, {"tuned_on": tune_set_name(self.run.request), "accuracy": percent})
        if self.done.best is None or percent > self.done.best:
            self.done.best = percent
            self._keep("best", stage)

    def _write(self, stage: Stage, values: Mapping[str, Any]) -> None:
        """Adds a line to the log."""
        place = {"stage": stage.name, "update": self.done.update, "of": stage.updates}
        step = self.run.updates_made(self.done)
        self.log.add({**place, **values, "time": round(time(), 3)}, step=step)
        self.done.log_bytes = self.log.length

    def _keep(self, name: str, stage: Stage) -> None:
        """Writes a checkpoint."""
        request = self.run.request
        about = {
            "model": request.model,
            "hop": request.hop,
            "size": request.size,
            "seed": request.seed,
            "vocab": vocab_digest(self.run.vocab),
            "checkpoint": name,
            "stage": stage.name,
            "update": self.done.update,
        }
        save_weights(self.run.folder.checkpoint(name), self.evaluated, about)

    def save(self, optimiser: OptimiserState | None, generator: torch.Generator | None) -> None:
        """Writes the state that a run resumes from; arguments as of `save_state`."""
        self.log.sync()
        run, done = self.run, self.done
        averaged = None if optimiser is None else self.averaged
        save_state(run.folder.state, done, run.updates_made(done), run.model, optimiser, averaged, generator)

    def _n_batches(self, stage: Stage) -> int:
        """Batches of an epoch."""
        return self.run.n_questions // stage.batch_size


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
