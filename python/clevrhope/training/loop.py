"""The training loop: stage by stage and update by update, with log, tuning, checkpoints and states."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from time import monotonic, time
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from clevrhope.errors import TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Stage
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.training.checkpoints import (
    OptimiserState,
    RunProgress,
    load_state,
    save_state,
    save_weights,
    states_in,
)
from clevrhope.training.checks import check_loss, determinism_errors
from clevrhope.training.data import Questions
from clevrhope.training.device import casting
from clevrhope.training.interrupts import Interrupt
from clevrhope.training.log import Log
from clevrhope.training.optimisers import make_optimiser
from clevrhope.training.order import Position, derived_seed, permutation
from clevrhope.training.prediction import accuracy, predict_answers
from clevrhope.training.request import Precision, TrainRequest, tune_set_name
from clevrhope.training.run_folder import RunFolder, late_checkpoint
from clevrhope.training.stages import average_weights, averaged_model, select_weights, trainable_weights

SAVE_SECONDS = 300.0
"""Time between two states to resume from, without `save_every`. Saving changes no result."""

TUNE_EVALUATIONS = 20
"""Number of evaluations on the tune set, without `tune_every`."""

LOG_UPDATES = 100
"""Most updates between two lines of the log; fewer in a short stage, so that it has twenty lines."""

GPU_CHECK_UPDATES = 50
"""Updates between two checks of the losses on a GPU, each of which waits for it."""

SHOW_SECONDS = 0.25


class Due(NamedTuple):
    """What is due after an update."""

    log: bool
    tune: bool
    checkpoint: str | None
    """The name of a late checkpoint."""
    state: bool


@dataclass(repr=False)
class Trainer:
    """A run: what it works with, which never changes, and then how far it is.

    Attributes:
        about: the metadata of its checkpoints.
        done: how far it is, which is all that a resumed run needs besides tensors.
        last_loss: mean loss of the last line of the log; None if this process wrote none.
        n_made: updates that this process made.
        busy_seconds: the time that they took, without tuning and saving.
        averaged: the moving average of the weights; None where the stage averages none.
    """

    model: nn.Module
    request: TrainRequest
    folder: RunFolder
    stages: tuple[Stage, ...]
    precision: Precision
    questions: Questions
    tune: Questions | None
    n_answers: int
    about: Mapping[str, Any]
    log: Log
    progress: Progress
    interrupt: Interrupt
    done: RunProgress = field(default_factory=RunProgress)
    last_loss: float | None = None
    n_made: int = 0
    busy_seconds: float = 0.0
    averaged: nn.Module | None = None

    @property
    def evaluated(self) -> nn.Module:
        """The weights that are tuned, kept and evaluated."""
        return self.model if self.averaged is None else self.averaged

    def run(self, tensors: Mapping[str, Tensor] | None) -> None:
        """Makes all remaining updates, and writes the last weights.

        Args:
            tensors: of the state that the run resumes from; None for a new one.

        Raises:
            TrainingError: a loss or weights that are not finite.
            KeyboardInterrupt: the run was interrupted; its state is written.
        """
        trainable = trainable_weights(self.model)
        for stage in self.stages[self.done.stage :]:
            weights = select_weights(self.model, stage, trainable)
            optimiser = make_optimiser(stage.optimiser, weights)
            self.averaged = averaged_model(self.model, stage)
            if tensors is not None:
                is_begun = self.done.update > 0
                load_state(
                    self.folder.state,
                    tensors,
                    self.model,
                    optimiser if is_begun else None,
                    self.averaged if is_begun else None,
                )
                tensors = None
            if self.done.update == 0:
                torch.manual_seed(derived_seed(self.request.seed, f"stage {self.done.stage}"))
            title = f"{self.about['model']} {stage.name}"
            with (
                self.progress.stage(title, total=stage.updates, unit="updates") as advance,
                determinism_errors(deterministic=self.request.deterministic),
            ):
                advance(self.done.update, there=True)
                self._make_updates(stage, weights, optimiser, advance)
            self.end_stage(stage)
            self.save(None)
            if stage is not self.stages[-1] and self.interrupt.is_set:
                raise KeyboardInterrupt

    def _make_updates(
        self, stage: Stage, weights: list[Parameter], optimiser: torch.optim.Optimizer, advance: Advance
    ) -> None:
        """Makes the remaining updates of a stage, with all that is due between them."""
        done, device = self.done, self.questions.device
        per_epoch = len(self.questions) // stage.batch_size
        check_every = GPU_CHECK_UPDATES if device.type == "cuda" else 1
        losses: list[Tensor] = []  # not checked yet
        line_seconds = 0.0  # busy since the last line of the log
        n_shown = 0  # made since the display last moved
        clock = saved = shown = monotonic()
        batches: Iterator[Batch] = iter(())
        while done.update < stage.updates:
            batch = next(batches, None)
            if batch is None:
                batches = self._rest_of_epoch(stage.batch_size, per_epoch)
                batch = next(batches)
            for group in optimiser.param_groups:
                group["lr"] = stage.optimiser.rate * stage.schedule.factor(done.update, stage.updates)
            with casting(device, self.precision):
                loss = getattr(self.model, stage.loss)(batch)
            if done.update == 0:
                check_loss(self.model, stage, loss)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            if stage.optimiser.clip_norm is not None:
                nn.utils.clip_grad_norm_(weights, stage.optimiser.clip_norm)
            losses.append(loss.detach())
            if len(losses) >= check_every:
                self.check_losses(losses, stage, done.update + 1)
            optimiser.step()
            done.update += 1
            if self.averaged is not None:
                average_weights(self.averaged, self.model, stage, done.update)
            done.position = done.position.after(per_epoch)
            self.n_made += 1
            n_shown += 1

            # What is due after it.
            now = monotonic()
            if now - shown >= SHOW_SECONDS or done.update == stage.updates:
                advance(n_shown)
                n_shown, shown = 0, now
            due = self.due(stage, now - saved)
            if not any(due):
                continue
            self.check_losses(losses, stage, done.update)
            seconds = monotonic() - clock
            self.busy_seconds += seconds
            line_seconds += seconds
            self.report(due, stage, optimiser.param_groups[0]["lr"], line_seconds)
            if due.log:
                line_seconds = 0.0
            if due.state:
                self.save(optimiser.state_dict()["state"])
                saved = monotonic()
                if self.interrupt.is_set:
                    raise KeyboardInterrupt
            clock = monotonic()

    def due(self, stage: Stage, unsaved_seconds: float) -> Due:
        """What is due after the last update, so many seconds after the last state."""
        update, request, ended = self.done.update, self.request, self.done.update == stage.updates
        log_every = max(1, min(LOG_UPDATES, stage.updates // 20))
        tune_every = request.tune_every or max(1, stage.updates // TUNE_EVALUATIONS)
        tunes = self.tune is not None and stage is self.stages[-1]
        if request.save_every is None:
            is_state = unsaved_seconds >= SAVE_SECONDS
        else:
            is_state = update % request.save_every == 0
        return Due(
            log=update % log_every == 0 or ended,
            tune=tunes and (update % tune_every == 0 or ended),
            checkpoint=self._late_checkpoint(stage),
            state=(is_state or self.interrupt.is_set) and not ended,
        )

    def report(self, due: Due, stage: Stage, rate: float, seconds: float) -> None:
        """Does what is due except for the state; `seconds` is the busy time since the log's last line.

        Raises:
            TrainingError: weights that are not finite.
        """
        if due.log:
            self._log_loss(stage, rate, seconds)
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
        is_last = stage is self.stages[-1]
        self._check_weights(stage)
        if is_last:
            self._keep("last", stage)
        elif stage.evaluated:
            self._keep(stage.name, stage)
        done = self.done
        done.stage, done.update = done.stage + 1, 0
        done.position = Position(done.position.epoch + (done.position.index > 0))

    def _rest_of_epoch(self, size: int, per_epoch: int) -> Iterator[Batch]:
        """The batches of the current epoch from the run's position on."""
        position = self.done.position
        order = permutation(self.request.seed, position.epoch, len(self.questions))
        rest = order[position.index * size : per_epoch * size]
        return self.questions.batches(rest, size, getattr(self.model, "plan", None))

    def _late_checkpoint(self, stage: Stage) -> str | None:
        """The name of the late checkpoint of the last stage that is due; the one at its end is "last"."""
        left, every = stage.updates - self.done.update, self.request.keep_every
        if stage is not self.stages[-1] or every is None or left == 0 or left % every:
            return None
        return (
            late_checkpoint(stage.name, self.done.update) if left // every < self.request.keep_last else None
        )

    def check_losses(self, losses: list[Tensor], stage: Stage, update: int) -> None:
        """Checks that losses, the last of which is that of an update, are finite; adds and removes them.

        Raises:
            TrainingError: one is not; says at which update.
        """
        values = [losses[0].item()] if len(losses) == 1 else torch.stack(losses).tolist() if losses else []
        losses.clear()
        for number, value in enumerate(values, update - len(values) + 1):
            if not isfinite(value):
                raise self._failure(f"the loss is {value} at update {number:,}", stage)
        self.done.losses += sum(values)
        self.done.n_losses += len(values)

    def _check_weights(self, stage: Stage) -> None:
        """Checks that all weights are finite.

        Raises:
            TrainingError: some are not.
        """
        bad = [name for name, each in self.model.named_parameters() if not bool(each.isfinite().all())]
        if bad:
            raise self._failure(f"non-finite weights ({bad[0]}) after update {self.done.update:,}", stage)

    def _failure(self, problem: str, stage: Stage) -> TrainingError:
        """An error that says why the run cannot continue, and what is kept of it."""
        saved = states_in(self.folder.state)
        kept = (
            f"the last good state, after {int(saved[-1].name):,} updates in all, is kept"
            if saved
            else "no state was saved yet"
        )
        return TrainingError(
            f"{self.folder.root}: {problem} of stage {stage.name}; {kept}; start another run, for "
            f"example with a smaller rate (--set recipe.{stage.name}.rate={stage.optimiser.rate / 10:g})"
        )

    def _log_loss(self, stage: Stage, rate: float, seconds: float) -> None:
        done = self.done
        self.last_loss = done.losses / done.n_losses
        values: Mapping[str, Tensor] = getattr(self.model, "log_values", dict)()
        self._write(
            stage,
            {
                "epoch": done.position.epoch,
                "loss": self.last_loss,
                "rate": rate,
                **{name: float(value) for name, value in values.items()},
                "updates_a_second": round(min(done.n_losses, self.n_made) / seconds, 3),
            },
        )
        done.losses, done.n_losses = 0.0, 0

    def _tune(self, stage: Stage) -> None:
        """Evaluates the weights on the tune set, and keeps them if they are the best so far."""
        assert self.tune is not None
        answers = predict_answers(
            self.evaluated, "predict", self.tune, n_answers=self.n_answers, precision=self.precision
        )
        percent = accuracy(answers, self.tune)
        self._write(stage, {"tuned_on": tune_set_name(self.request), "accuracy": percent})
        if self.done.best is None or percent > self.done.best:
            self.done.best = percent
            self._keep("best", stage)

    def _write(self, stage: Stage, values: Mapping[str, Any]) -> None:
        """Adds a line to the log."""
        place = {"stage": stage.name, "update": self.done.update, "of": stage.updates}
        self.log.add({**place, **values, "time": round(time(), 3)}, step=updates_made(self.stages, self.done))
        self.done.log_bytes = self.log.length

    def _keep(self, name: str, stage: Stage) -> None:
        """Writes a checkpoint."""
        about = {**self.about, "checkpoint": name, "stage": stage.name, "update": self.done.update}
        save_weights(self.folder.checkpoint(name), self.evaluated, about)

    def save(self, optimiser: OptimiserState | None, **options: Any) -> None:
        """Writes the state that a run resumes from; options as of `save_state`."""
        self.log.sync()
        total = updates_made(self.stages, self.done)
        averaged = None if optimiser is None else self.averaged
        save_state(self.folder.state, self.done, total, self.model, optimiser, averaged, **options)


def updates_made(stages: Sequence[Stage], done: RunProgress) -> int:
    """The number of updates made in all stages."""
    return sum(stage.updates for stage in stages[: done.stage]) + done.update
