"""A model, its recipe and questions in; update by update to trained weights: the one loop."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import monotonic, time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from clevrhope.errors import ConfigError, TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Stage
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.training.checkpoints import Progressed, load_state, save_state, save_weights, states_in
from clevrhope.training.checks import as_sentence, check_loss
from clevrhope.training.data import Questions
from clevrhope.training.device import casting
from clevrhope.training.interrupts import Interrupt
from clevrhope.training.log import Log
from clevrhope.training.optimisers import make_optimiser
from clevrhope.training.order import Position, derived_seed, permutation
from clevrhope.training.predicting import accuracy, predicted
from clevrhope.training.request import Precision, TrainRequest
from clevrhope.training.run_folder import RunFolder
from clevrhope.training.schedules import factor
from clevrhope.training.trained import choose_weights, trainable

SAVE_SECONDS = 300.0
"""Between two states to resume from, where no number of updates was asked for. Saving changes no result."""

LOOKS = 20
"""At the tune set, where it is not said how often."""

LOG_UPDATES = 100
"""Between two lines of the log, or fewer, so that a stage has twenty."""

GPU_CHECK_UPDATES = 50
"""Between two looks at the losses on a GPU, each of which waits for it."""

SHOW_SECONDS = 0.25


@dataclass(frozen=True)
class Setting:
    """What a run works with, and never changes."""

    request: TrainRequest
    folder: RunFolder
    stages: tuple[Stage, ...]
    precision: Precision
    questions: Questions
    tune: Questions | None
    n_answers: int
    about: Mapping[str, Any]
    """Of every checkpoint: model, dataset's vocabulary and so on."""


class Trainer:
    """A run under way."""

    def __init__(
        self, setting: Setting, model: nn.Module, *, log: Log, progress: Progress, interrupt: Interrupt
    ) -> None:
        self.setting = setting
        self.model = model
        self.done = Progressed()
        self.last_loss: float | None = None
        self.busy_seconds = 0.0
        self.n_made = 0
        self._log, self._progress, self._interrupt = log, progress, interrupt
        self._trainable = trainable(model)
        self._before = [0]
        for stage in setting.stages:
            self._before.append(self._before[-1] + stage.updates)
        for stage in setting.stages:
            check_stage(model, stage, len(setting.questions))

    @property
    def total(self) -> int:
        """Updates made, of all stages."""
        return self._before[self.done.stage] + self.done.update

    def run(self, resumed: tuple[Progressed, Mapping[str, Tensor]] | None) -> None:
        """Makes all updates that are missing, and writes the last weights.

        Raises:
            TrainingError: a loss or weights that are no numbers.
            KeyboardInterrupt: somebody asked to stop; the state is written.
        """
        tensors: Mapping[str, Tensor] | None = None
        if resumed is not None:
            self.done, tensors = resumed
        while self.done.stage < len(self.setting.stages):
            self._run_stage(self.setting.stages[self.done.stage], tensors)
            tensors = None

    def _run_stage(self, stage: Stage, tensors: Mapping[str, Tensor] | None) -> None:
        number = self.done.stage
        weights = choose_weights(self.model, stage, self._trainable)
        optimiser = make_optimiser(stage.optimiser, weights)
        if tensors is not None:
            begun = self.done.update > 0
            load_state(tensors, self.model, optimiser if begun else None)
        if self.done.update == 0:
            torch.manual_seed(derived_seed(self.setting.request.seed, f"stage {number}"))
        title = f"{self.setting.about['model']} {stage.name}"
        with self._progress.stage(title, total=stage.updates, unit="updates") as advance:
            advance(self.done.update, there=True)
            with as_sentence(deterministic=self.setting.request.deterministic):
                _Updates(self, stage, weights, optimiser, advance).run()
        self._end_stage(stage)

    def _end_stage(self, stage: Stage) -> None:
        is_last = self.done.stage + 1 == len(self.setting.stages)
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
            log_bytes=self._log.length,
        )
        self.save(None)
        if not is_last and self.is_asked_to_stop:
            raise KeyboardInterrupt

    def keep(self, name: str, stage: Stage) -> None:
        """Writes weights to be evaluated."""
        about = {**self.setting.about, "checkpoint": name, "stage": stage.name, "update": self.done.update}
        save_weights(self.setting.folder.checkpoint(name), self.model, about)

    def save(self, optimiser: torch.optim.Optimizer | None) -> None:
        """Writes what a run resumes from."""
        self._log.sync()
        save_state(self.setting.folder.state, self.done, self.total, self.model, optimiser)

    @property
    def is_asked_to_stop(self) -> bool:
        """Whether somebody asked for it."""
        return self._interrupt.asked

    def write(self, line: Mapping[str, Any]) -> None:
        """Adds a line to the log."""
        self._log.add(line, step=self.total)
        self.done = replace(self.done, log_bytes=self._log.length)

    def check_weights(self, stage: Stage) -> None:
        """Passes where all weights are numbers.

        Raises:
            TrainingError: some are not.
        """
        bad = [name for name, each in self.model.named_parameters() if not bool(each.isfinite().all())]
        if bad:
            raise TrainingError(
                self.told(f"weights are no numbers ({bad[0]}) after update {self.done.update:,}", stage)
            )

    def told(self, what: str, stage: Stage) -> str:
        """A sentence on why the run cannot go on, and what there is of it."""
        saved = states_in(self.setting.folder.state)
        there = (
            f"the last good state, after {int(saved[-1].name):,} updates in all, is kept"
            if saved
            else "no state was saved yet"
        )
        return (
            f"{self.setting.folder.root}: {what} of stage {stage.name}; {there}; begin another run, such as "
            f"with a smaller rate (--set recipe.{stage.name}.rate={stage.optimiser.rate / 10:g})"
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
        setting, request = trainer.setting, trainer.setting.request
        self._setting = setting
        self._per_epoch = len(setting.questions) // stage.batch_size
        self._is_last = stage is setting.stages[-1]
        self._log_every = max(1, min(LOG_UPDATES, stage.updates // 20))
        self._tune_every = request.tune_every or max(1, stage.updates // LOOKS)
        self._check_every = GPU_CHECK_UPDATES if setting.questions.device.type == "cuda" else 1
        self._losses: list[Tensor] = []
        """Of updates since the last look at them."""
        self._seconds = 0.0
        """Busy since the last line of the log."""
        self._clock = monotonic()

    def run(self) -> None:
        """Makes the updates that are missing."""
        trainer, stage, setting = self._trainer, self._stage, self._setting
        groups = self._optimiser.param_groups
        clip = stage.optimiser.clip_norm
        device, precision = setting.questions.device, setting.precision
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
                group["lr"] = stage.optimiser.rate * factor(stage.schedule, update, stage.updates)
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
                self._look_at_losses(update + 1)
            self._optimiser.step()
            trainer.done = replace(trainer.done, update=update + 1, position=position.after(self._per_epoch))
            trainer.n_made += 1
            n_shown += 1
            now = monotonic()
            if now - self._shown >= SHOW_SECONDS or update + 1 == stage.updates:
                self._advance(n_shown)
                n_shown, self._shown = 0, now
            self._after(update + 1, now)
        batches = iter(())

    def _batches(self, position: Position) -> Iterator[Batch]:
        """The rest of an epoch from a position on."""
        size, questions = self._stage.batch_size, self._setting.questions
        order = permutation(self._setting.request.seed, position.epoch, len(questions))
        return questions.batches(order[position.index * size : self._per_epoch * size], size)

    def _after(self, made: int, now: float) -> None:
        """What is due after an update: a line of the log, a look at the tune set, weights, a state."""
        trainer, stage, request = self._trainer, self._stage, self._setting.request
        is_end = made == stage.updates
        is_log = made % self._log_every == 0 or is_end
        is_tune = (
            self._is_last and self._setting.tune is not None and (made % self._tune_every == 0 or is_end)
        )
        name = self._kept_name(made)
        if request.save_every is None:
            is_save = now - self._saved >= SAVE_SECONDS
        else:
            is_save = made % request.save_every == 0
        is_save = (is_save or trainer.is_asked_to_stop) and not is_end
        if not (is_log or is_tune or name or is_save):
            return
        self._look_at_losses(made)
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
            if trainer.is_asked_to_stop:
                raise KeyboardInterrupt
        self._clock = monotonic()

    def _kept_name(self, made: int) -> str | None:
        """The name of a late checkpoint of the last stage that is due; its end is "last"."""
        request = self._setting.request
        left = self._stage.updates - made
        if not self._is_last or request.keep_every is None or left == 0 or left % request.keep_every:
            return None
        return f"{self._stage.name}-{made:07d}" if left // request.keep_every < request.keep_last else None

    def _look_at_losses(self, made: int) -> None:
        """Passes where the losses since the last look are numbers.

        Raises:
            TrainingError: one is none; says at which update.
        """
        if not self._losses:
            return
        values = [self._losses[0].item()] if len(self._losses) == 1 else torch.stack(self._losses).tolist()
        first = made - len(values) + 1
        self._losses.clear()
        for number, value in enumerate(values, first):
            if value - value != 0:  # neither infinite nor NaN
                raise TrainingError(
                    self._trainer.told(f"the loss is {value} at update {number:,}", self._stage)
                )
        done = self._trainer.done
        self._trainer.done = replace(
            done, losses=done.losses + sum(values), n_losses=done.n_losses + len(values)
        )

    def _write_line(self, made: int) -> None:
        trainer, stage = self._trainer, self._stage
        n = trainer.done.n_losses
        trainer.last_loss = trainer.done.losses / n
        told: Mapping[str, Tensor] = getattr(trainer.model, "log_values", dict)()
        trainer.write(
            {
                "stage": stage.name,
                "update": made,
                "of": stage.updates,
                "epoch": trainer.done.position.epoch,
                "loss": trainer.last_loss,
                "rate": self._optimiser.param_groups[0]["lr"],
                **{name: float(value) for name, value in told.items()},
                "updates_a_second": round(min(n, trainer.n_made) / self._seconds, 3),
                "time": round(time(), 3),
            }
        )
        trainer.done = replace(trainer.done, losses=0.0, n_losses=0)
        self._seconds = 0.0

    def _tune(self, made: int) -> None:
        trainer, setting = self._trainer, self._setting
        assert setting.tune is not None
        answers = predicted(
            trainer.model, "predict", setting.tune, n_answers=setting.n_answers, precision=setting.precision
        )
        percent = accuracy(answers, setting.tune)
        trainer.write(
            {
                "stage": self._stage.name,
                "update": made,
                "of": self._stage.updates,
                "tuned_on": setting.request.tune_on,
                "accuracy": percent,
                "time": round(time(), 3),
            }
        )
        if trainer.done.best is None or percent > trainer.done.best:
            trainer.done = replace(trainer.done, best=percent)
            trainer.keep("best", self._stage)


def check_stage(model: nn.Module, stage: Stage, n_questions: int) -> None:
    """Passes for a stage that the model can be trained in.

    Raises:
        ConfigError: no such method or submodule, or fewer questions than a batch.
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
            f"size: {n_questions:,} questions, but a batch of stage {stage.name} has {stage.batch_size:,}; "
            "ask for more, or set recipe.batch_size"
        )
