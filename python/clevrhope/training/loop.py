"""The training loop: stage by stage and update by update, with log, tuning, checkpoints and states."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from time import monotonic, time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from clevrhope.errors import ConfigError, TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Stage
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.training.checkpoints import RunProgress, load_state, save_state, save_weights, states_in
from clevrhope.training.checks import check_loss, determinism_errors
from clevrhope.training.data import Questions
from clevrhope.training.device import casting
from clevrhope.training.interrupts import Interrupt
from clevrhope.training.log import Log
from clevrhope.training.optimisers import make_optimiser
from clevrhope.training.order import Position, derived_seed, permutation
from clevrhope.training.prediction import accuracy, predict_answers
from clevrhope.training.request import Precision, TrainRequest
from clevrhope.training.run_folder import RunFolder
from clevrhope.training.stage_weights import select_weights, trainable_weights

SAVE_SECONDS = 300.0
"""Time between two states to resume from, without `save_every`. Saving changes no result."""

TUNE_EVALUATIONS = 20
"""Number of evaluations on the tune set, without `tune_every`."""

LOG_UPDATES = 100
"""Most updates between two lines of the log; fewer in a short stage, so that it has twenty lines."""

GPU_CHECK_UPDATES = 50
"""Updates between two checks of the losses on a GPU, each of which waits for it."""

SHOW_SECONDS = 0.25


@dataclass(repr=False)
class Trainer:
    """A run in progress: runs the stages, and writes checkpoints and states.

    The first fields are what it works with and never changes; `about` is the metadata of its checkpoints.
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
    busy_seconds: float = 0.0
    n_made: int = 0

    def __post_init__(self) -> None:
        self._trainable = trainable_weights(self.model)

    @property
    def total(self) -> int:
        """Updates made in all stages."""
        return updates_made(self.stages, self.done)

    def run(self, resumed: tuple[RunProgress, Mapping[str, Tensor]] | None) -> None:
        """Makes all remaining updates, and writes the last weights.

        Raises:
            TrainingError: a loss or weights that are not finite.
            KeyboardInterrupt: the run was interrupted; its state is written.
        """
        tensors: Mapping[str, Tensor] | None = None
        if resumed is not None:
            self.done, tensors = resumed
        while self.done.stage < len(self.stages):
            self._run_stage(self.stages[self.done.stage], tensors)
            tensors = None

    def _run_stage(self, stage: Stage, tensors: Mapping[str, Tensor] | None) -> None:
        number = self.done.stage
        weights = select_weights(self.model, stage, self._trainable)
        optimiser = make_optimiser(stage.optimiser, weights)
        if tensors is not None:
            load_state(tensors, self.model, optimiser if self.done.update > 0 else None)
        if self.done.update == 0:
            torch.manual_seed(derived_seed(self.request.seed, f"stage {number}"))
        title = f"{self.about['model']} {stage.name}"
        with self.progress.stage(title, total=stage.updates, unit="updates") as advance:
            advance(self.done.update, there=True)
            with determinism_errors(deterministic=self.request.deterministic):
                _Updates(self, stage, weights, optimiser, advance).run()
        self._end_stage(stage)

    def _end_stage(self, stage: Stage) -> None:
        is_last = self.done.stage + 1 == len(self.stages)
        self.check_weights(stage)
        if stage.evaluated and not is_last:
            self.keep(stage.name, stage)
        if is_last:
            self.keep("last", stage)
        epoch = self.done.position.epoch + (self.done.position.index > 0)
        self.done = replace(
            self.done,
            stage=self.done.stage + 1,
            update=0,
            position=Position(epoch),
            log_bytes=self.log.length,
        )
        self.save(None)
        if not is_last and self.interrupt.is_set:
            raise KeyboardInterrupt

    def keep(self, name: str, stage: Stage) -> None:
        """Writes a checkpoint."""
        about = {**self.about, "checkpoint": name, "stage": stage.name, "update": self.done.update}
        save_weights(self.folder.checkpoint(name), self.model, about)

    def save(self, optimiser: torch.optim.Optimizer | None) -> None:
        """Writes the state that a run resumes from."""
        self.log.sync()
        save_state(self.folder.state, self.done, self.total, self.model, optimiser)

    def write(self, line: Mapping[str, Any]) -> None:
        """Adds a line to the log."""
        self.log.add(line, step=self.total)
        self.done = replace(self.done, log_bytes=self.log.length)

    def check_weights(self, stage: Stage) -> None:
        """Checks that all weights are finite.

        Raises:
            TrainingError: some are not.
        """
        bad = [name for name, each in self.model.named_parameters() if not bool(each.isfinite().all())]
        if bad:
            raise self.failure(f"non-finite weights ({bad[0]}) after update {self.done.update:,}", stage)

    def failure(self, problem: str, stage: Stage) -> TrainingError:
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


class _Updates:
    """The updates of one stage."""

    def __init__(
        self,
        trainer: Trainer,
        stage: Stage,
        weights: list[Parameter],
        optimiser: torch.optim.Optimizer,
        advance: Advance,
    ) -> None:
        self._trainer, self._stage, self._weights, self._optimiser = trainer, stage, weights, optimiser
        self._advance = advance
        self._loss: Callable[[Batch], Tensor] = getattr(trainer.model, stage.loss)
        self._per_epoch = len(trainer.questions) // stage.batch_size
        self._is_last = stage is trainer.stages[-1]
        self._log_every = max(1, min(LOG_UPDATES, stage.updates // 20))
        self._tune_every = trainer.request.tune_every or max(1, stage.updates // TUNE_EVALUATIONS)
        self._check_every = GPU_CHECK_UPDATES if trainer.questions.device.type == "cuda" else 1
        self._losses: list[Tensor] = []
        """Losses that have not been checked yet."""
        self._seconds = 0.0
        """Training time since the last line of the log."""
        self._clock = monotonic()

    def run(self) -> None:
        """Makes the remaining updates."""
        trainer, stage = self._trainer, self._stage
        groups = self._optimiser.param_groups
        clip = stage.optimiser.clip_norm
        device, precision = trainer.questions.device, trainer.precision
        batches: Iterator[Batch] = iter(())
        self._saved = self._shown = self._clock = monotonic()
        n_shown = 0
        for update in range(trainer.done.update, stage.updates):
            position = trainer.done.position
            batch = next(batches, None)
            if batch is None:
                batches = self._batches(position)
                batch = next(batches)
            for group in groups:
                group["lr"] = stage.optimiser.rate * stage.schedule.factor(update, stage.updates)
            with casting(device, precision):
                loss = self._loss(batch)
            if update == 0:
                check_loss(trainer.model, stage, loss)
            self._optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            if clip is not None:
                nn.utils.clip_grad_norm_(self._weights, clip)
            self._losses.append(loss.detach())
            if len(self._losses) >= self._check_every:
                self._check_losses(update + 1)
            self._optimiser.step()
            trainer.done = replace(trainer.done, update=update + 1, position=position.after(self._per_epoch))
            trainer.n_made += 1
            n_shown += 1
            now = monotonic()
            if now - self._shown >= SHOW_SECONDS or update + 1 == stage.updates:
                self._advance(n_shown)
                n_shown, self._shown = 0, now
            self._after(update + 1, now)

    def _batches(self, position: Position) -> Iterator[Batch]:
        """The rest of an epoch from a position on."""
        size, questions = self._stage.batch_size, self._trainer.questions
        order = permutation(self._trainer.request.seed, position.epoch, len(questions))
        rest = order[position.index * size : self._per_epoch * size]
        return questions.batches(rest, size, getattr(self._trainer.model, "plan", None))

    def _after(self, made: int, now: float) -> None:
        """Does what is due after an update: a line of the log, tuning, a checkpoint, a state."""
        trainer, stage, request = self._trainer, self._stage, self._trainer.request
        is_end = made == stage.updates
        is_log = made % self._log_every == 0 or is_end
        is_tune = self._is_last and trainer.tune is not None and (made % self._tune_every == 0 or is_end)
        name = self._kept_name(made)
        if request.save_every is None:
            is_save = now - self._saved >= SAVE_SECONDS
        else:
            is_save = made % request.save_every == 0
        is_save = (is_save or trainer.interrupt.is_set) and not is_end
        if not (is_log or is_tune or name or is_save):
            return
        self._check_losses(made)
        seconds = monotonic() - self._clock
        trainer.busy_seconds += seconds
        self._seconds += seconds
        if is_log:
            self._write_line(made)
        if is_tune or name or is_save:
            trainer.check_weights(stage)
        if is_tune:
            self._tune(made)
        if name:
            trainer.keep(name, stage)
        if is_save:
            trainer.save(self._optimiser)
            self._saved = monotonic()
            if trainer.interrupt.is_set:
                raise KeyboardInterrupt
        self._clock = monotonic()

    def _kept_name(self, made: int) -> str | None:
        """The name of the late checkpoint of the last stage that is due; the one at its end is "last"."""
        request = self._trainer.request
        left = self._stage.updates - made
        if not self._is_last or request.keep_every is None or left == 0 or left % request.keep_every:
            return None
        return f"{self._stage.name}-{made:07d}" if left // request.keep_every < request.keep_last else None

    def _check_losses(self, made: int) -> None:
        """Checks that the losses since the last check are finite.

        Raises:
            TrainingError: one is not; says at which update.
        """
        if not self._losses:
            return
        values = [self._losses[0].item()] if len(self._losses) == 1 else torch.stack(self._losses).tolist()
        first = made - len(values) + 1
        self._losses.clear()
        for number, value in enumerate(values, first):
            if not isfinite(value):
                raise self._trainer.failure(f"the loss is {value} at update {number:,}", self._stage)
        done = self._trainer.done
        self._trainer.done = replace(
            done, losses=done.losses + sum(values), n_losses=done.n_losses + len(values)
        )

    def _write_line(self, made: int) -> None:
        trainer, stage = self._trainer, self._stage
        n = trainer.done.n_losses
        trainer.last_loss = trainer.done.losses / n
        values: Mapping[str, Tensor] = getattr(trainer.model, "log_values", dict)()
        trainer.write(
            {
                "stage": stage.name,
                "update": made,
                "of": stage.updates,
                "epoch": trainer.done.position.epoch,
                "loss": trainer.last_loss,
                "rate": self._optimiser.param_groups[0]["lr"],
                **{name: float(value) for name, value in values.items()},
                "updates_a_second": round(min(n, trainer.n_made) / self._seconds, 3),
                "time": round(time(), 3),
            }
        )
        trainer.done = replace(trainer.done, losses=0.0, n_losses=0)
        self._seconds = 0.0

    def _tune(self, made: int) -> None:
        trainer = self._trainer
        assert trainer.tune is not None
        answers = predict_answers(
            trainer.model, "predict", trainer.tune, n_answers=trainer.n_answers, precision=trainer.precision
        )
        percent = accuracy(answers, trainer.tune)
        trainer.write(
            {
                "stage": self._stage.name,
                "update": made,
                "of": self._stage.updates,
                "tuned_on": trainer.request.tune_on,
                "accuracy": percent,
                "time": round(time(), 3),
            }
        )
        if trainer.done.best is None or percent > trainer.done.best:
            trainer.done = replace(trainer.done, best=percent)
            trainer.keep("best", self._stage)


def updates_made(stages: Sequence[Stage], done: RunProgress) -> int:
    """The number of updates made in all stages."""
    return sum(stage.updates for stage in stages[: done.stage]) + done.update


def check_stage(model: nn.Module, stage: Stage, n_questions: int) -> None:
    """Checks that a model can be trained in a stage.

    Raises:
        ConfigError: no such method or submodule, or fewer questions than a batch has.
    """
    kind = type(model).__name__
    if not callable(getattr(model, stage.loss, None)):
        raise ConfigError(f"{kind}: no method {stage.loss}, which stage {stage.name} of its recipe names")
    for name in stage.trains:
        try:
            model.get_submodule(name)
        except AttributeError as error:
            raise ConfigError(
                f"{kind}: no submodule {name}, which stage {stage.name} of its recipe names"
            ) from error
    if stage.batch_size > n_questions:
        raise ConfigError(
            f"--size: {n_questions:,} questions, but a batch of stage {stage.name} has {stage.batch_size:,}; "
            "use more questions, or set recipe.batch_size"
        )
