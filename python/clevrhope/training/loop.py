"""The training loop: stages and updates, with the log, evaluation on the tune set, checkpoints and states."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import ceil, isfinite
from threading import Event, current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import Parameter

from clevrhope.errors import TrainingError
from clevrhope.models.batch import Batch
from clevrhope.models.stack import show_model
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.training import checkpoints, optimisers
from clevrhope.training.answers import accuracy, most_frequent, predict_answers
from clevrhope.training.data import Questions
from clevrhope.training.gradients import Gradients, Losses, compiled
from clevrhope.training.member import Member
from clevrhope.training.order import batch_rows, derived_seed
from clevrhope.training.prepared_run import check_loss
from clevrhope.training.request import tune_set_name
from clevrhope.training.run_folder import late_checkpoint

SAVE_SECONDS = 300.0
"""Time between two saved states if `save_every` is not given. Saving changes no result."""

TUNE_EVALUATIONS = 20
"""Number of evaluations on the tune set if `tune_every` is not given."""

LOG_UPDATES = 100
"""Updates between two lines of the log; fewer in a short stage, so that it has twenty lines."""

GPU_CHECK_UPDATES = 50
"""Updates between two checks of the losses on a GPU; each check waits for the GPU."""

UPDATES_AT_ONCE = 1000
"""Updates whose order of questions is computed at a time."""


@contextmanager
def interrupts() -> Iterator[Event]:
    """Turns SIGTERM and Ctrl-C within the block into an event, so that a run only stops between two updates.

    A second signal of a kind has its usual effect.
    """
    interrupt = Event()
    if current_thread() is not main_thread():
        yield interrupt  # only the main thread can handle signals
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def note(number: int, frame: FrameType | None) -> None:
        interrupt.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, note)
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Loop:
    """Makes the updates of a run, or of M runs whose models are stacked (`clevrhope.models.stack`).

    Attributes:
        members: the M runs.
        model: the run's model, or the stack of all.
        questions: the train sets of all runs.
        n_made: updates that this process made.
        busy_seconds: the time that they took, without tuning and saving.
    """

    def __init__(
        self,
        members: Sequence[Member],
        model: nn.Module,
        questions: Questions,
        progress: Progress,
        interrupt: Event,
    ) -> None:
        """`interrupt` says whether to stop after the next update."""
        self.members, self.model, self.questions = members, model, questions
        self._first = members[0].run
        self._stage = self._first.recipe.stages[0]
        self._loss: Losses  # of a run by itself, in the stage
        self._is_stack = model is not self._first.model
        self._progress, self._interrupt = progress, interrupt
        self._averaged: nn.Module | None = None  # the moving average of the weights, if the stage has one
        self._evaluated = self._first.model  # the weights of a run that are evaluated and saved
        self.n_made, self.busy_seconds = 0, 0.0

    @property
    def _running(self) -> list[int]:
        """Indices of the runs without an error."""
        return [number for number, member in enumerate(self.members) if member.error is None]

    @property
    def _done(self) -> checkpoints.RunProgress:
        """The progress of one of these runs; all are at the same stage and update."""
        return self.members[self._running[0]].done

    @property
    def _is_last_stage(self) -> bool:
        return self._stage is self._first.recipe.stages[-1]

    def run(self) -> None:
        """Makes all remaining updates and writes the last weights.

        Raises:
            TrainingError: the loss or the weights of a single run are not finite.
            KeyboardInterrupt: the runs were interrupted; their states are written.
        """
        recipe, request = self._first.recipe, self._first.request
        trainable = optimisers.trainable_weights(self.model)
        for stage in recipe.stages[self._done.stage :]:
            if not self._running:
                return
            self._stage = stage
            own_loss = partial(self._first.loss, self.model, stage)
            self._loss = compiled(self.model, stage.loss) if stage.compile else own_loss
            weights = optimisers.select_weights(self.model, stage, trainable)
            groups = optimisers.weight_groups(self.model, stage, weights)
            optimiser = optimisers.make_optimiser(stage.optimiser, groups)
            self._averaged = optimisers.averaged_model(self.model, stage)
            own = optimisers.averaged_model(self._first.model, stage) if self._is_stack else self._averaged
            self._evaluated = self._first.model if own is None else own
            self._load(optimiser)
            if self._done.update == 0:
                for member in self.members:
                    seed = derived_seed(member.run.request.seed, f"stage {member.done.stage}")
                    (member.generator or torch).manual_seed(seed)
            runs = f"{len(self.members)} x " if self._is_stack else ""
            title = f"{runs}{request.model} {stage.name}"
            with self._progress.stage(title, total=stage.updates, unit="updates") as advance:
                advance(self._done.update, there=True)
                self._make_updates(weights, optimiser, advance)
            for number in self._running:
                with self._viewing(number) as member:
                    self._end_stage(member)
            self._save(None)
            if not self._is_last_stage and self._interrupt.is_set():
                raise KeyboardInterrupt

    def _make_updates(
        self, weights: list[Parameter], optimiser: torch.optim.Optimizer, advance: Advance
    ) -> None:
        """Makes the remaining updates of the stage: logs, evaluates on the tune set and saves when due."""
        request, device, done = self._first.request, self.questions.device, self._done
        stage, is_last = self._stage, self._is_last_stage
        check_every = GPU_CHECK_UPDATES if device.type == "cuda" else 1
        log_every = max(1, min(LOG_UPDATES, stage.updates // 20))
        tune_every = request.tune_every or max(1, stage.updates // TUNE_EVALUATIONS)
        is_tuned = is_last and self.members[0].tune is not None
        losses: list[Tensor] = []  # (M,) each; those that were not checked yet
        line_seconds, line_updates = 0.0, 0  # since the last line of the log
        clock = saved = monotonic()
        batches = self._batches()
        is_static = not self._is_stack and getattr(self.model, "is_static", False)
        is_static = is_static and stage.objective == "labels"  # rewards are computed outside of torch
        precision, parts = self._first.precision, stage.accumulation
        gradients = Gradients(self._losses, weights, device, precision, is_static=is_static, parts=parts)
        is_over = False  # whether the stage stops by its accuracy
        while done.update < stage.updates and self._running and not is_over:
            rate = stage.optimiser.rate * stage.schedule.factor(done.update, stage.updates)
            for group in optimiser.param_groups:
                group["lr"] = rate * group["factor"]
            of_parts = [gradients(next(batches), part=part) for part in range(parts)]
            losses.append(torch.stack(of_parts).mean(dim=0))
            if stage.optimiser.clip_norm is not None:
                nn.utils.clip_grad_norm_(weights, stage.optimiser.clip_norm)
            if len(losses) >= check_every:
                self._check_losses(losses, done.update + 1)
            optimiser.step()
            for member in self.members:
                member.done.update += 1
            if self._averaged is not None:
                optimisers.average_weights(self._averaged, self.model, stage, done.update)
            self.n_made += 1
            line_updates += 1
            advance(1)

            left = stage.updates - done.update
            logs = done.update % log_every == 0 or not left
            tunes = is_tuned and (done.update % tune_every == 0 or not left)
            n_left, off = divmod(left, request.keep_every or stage.updates)
            keeps = is_last and off == 0 and 0 < n_left < request.keep_last  # the last one is called "last"
            if request.save_every is None:
                saves = monotonic() - saved >= SAVE_SECONDS
            else:
                saves = done.update % request.save_every == 0
            saves = (saves or self._interrupt.is_set()) and left > 0
            if not (logs or tunes or keeps or saves):
                continue
            self._check_losses(losses, done.update)
            seconds = monotonic() - clock
            line_seconds += seconds
            self.busy_seconds += seconds
            for number in self._running:
                with self._viewing(number) as member:
                    if logs:
                        self._log_loss(member, rate, speed=line_updates / line_seconds)
                    if tunes or keeps or saves:
                        self._check_weights(member)
                    if tunes:
                        is_over = self._tune(member)
                    if keeps and not is_over:
                        member.keep(stage, late_checkpoint(stage.name, done.update), self._evaluated)
            if logs:
                line_seconds, line_updates = 0.0, 0
            if saves and not is_over:
                self._save(optimiser.state_dict()["state"])
                saved = monotonic()
                if self._interrupt.is_set():
                    raise KeyboardInterrupt
            clock = monotonic()

    def _batches(self) -> Iterator[Batch]:
        """The remaining batches of the stage; each has the questions of one run after those of another."""
        size, left = self._stage.batch_size, self._stage.updates - self._done.update
        plan = getattr(self.model, "stack_plan" if self._is_stack else "plan", None)
        orders = []
        for member in self.members:
            seed, n, done = member.run.request.seed, member.run.n_questions, member.done
            rows = batch_rows(seed, n, size, epoch=done.epoch, n_made=done.update)
            orders.append((member.first_row, rows))
        while left:
            n = min(left, UPDATES_AT_ONCE)
            several = np.concatenate([first + next(rows) for _ in range(n) for first, rows in orders])
            yield from self.questions.batches(several, len(orders) * size // self._stage.accumulation, plan)
            left -= n

    def _losses(self, batch: Batch) -> Tensor:
        """(M,) losses of the runs."""
        model: Any = self.model
        stage = self._stage
        if self._is_stack:
            generators = [member.generator for member in self.members]
            losses: Tensor = getattr(model, model.stack_losses[stage.loss])(batch, generators)
            return losses
        loss = self._loss(batch)
        if self._done.update == 0:
            check_loss(model, stage, loss)
        return loss.reshape(1)

    def _check_losses(self, losses: list[Tensor], update: int) -> None:
        """Checks that losses up to an update are finite, adds them to the runs' sums and clears the list."""
        if not losses:
            return
        of_runs = torch.stack(losses, dim=1).tolist()
        losses.clear()
        for number in self._running:
            with self._viewing(number) as member:
                for at, value in enumerate(of_runs[number], update - len(of_runs[number]) + 1):
                    if not isfinite(value):
                        raise member.failure(self._stage, f"the loss is {value} at update {at:,}")
                member.done.losses += sum(of_runs[number])
                member.done.n_losses += len(of_runs[number])

    def _check_weights(self, member: Member) -> None:
        """Checks that all weights of a run are finite."""
        named = self._first.model.named_parameters()
        bad = next((name for name, each in named if not bool(each.isfinite().all())), None)
        if bad is not None:
            raise member.failure(
                self._stage, f"non-finite weights ({bad}) after update {member.done.update:,}"
            )

    def _log_loss(self, member: Member, rate: float, speed: float) -> None:
        """Adds the mean loss to the log of a run; `speed` is in updates per second."""
        done = member.done
        member.last_loss = done.losses / done.n_losses
        values: Mapping[str, Tensor] = getattr(self._first.model, "log_values", dict)()
        line = {
            "epoch": done.epoch + done.update // member.n_batches(self._stage),
            "loss": member.last_loss,
            "rate": rate,
            **{name: float(value) for name, value in values.items()},
            "updates_a_second": round(speed, 3),
        }
        member.write(self._stage, line)
        done.losses, done.n_losses = 0.0, 0

    def _tune(self, member: Member) -> bool:
        """Evaluates the weights of a run on its tune set, and saves them if they are the best so far.

        Returns whether the run stops, at this accuracy or since it has not become better for long.
        """
        assert member.tune is not None
        n_answers, precision = len(member.run.vocab.answers()), member.run.precision
        answers = predict_answers(
            self._evaluated, "predict", member.tune, n_answers=n_answers, precision=precision
        )
        percent, stop_at = accuracy(answers, member.tune), member.run.recipe.stop_at
        values = {"accuracy": percent, "most_frequent": most_frequent(answers)}
        member.write(self._stage, {"tuned_on": tune_set_name(member.run.request), **values})
        member.done.stale += 1
        if member.done.best is None or percent > member.done.best:
            member.done.best, member.done.stale = percent, 0
            member.keep(self._stage, "best", self._evaluated)
        patience = member.run.recipe.patience
        is_stale = patience is not None and member.done.stale >= patience
        return is_stale or (stop_at is not None and percent >= stop_at)

    def _end_stage(self, member: Member) -> None:
        """Writes a checkpoint of a run if the stage is to be evaluated, and moves to the next stage."""
        self._check_weights(member)
        if self._is_last_stage or self._stage.evaluated:
            member.keep(self._stage, "last" if self._is_last_stage else self._stage.name, self._evaluated)
        done = member.done
        done.epoch += ceil(done.update / member.n_batches(self._stage))  # the next stage begins an epoch
        done.stage, done.update = done.stage + 1, 0

    @contextmanager
    def _viewing(self, number: int) -> Iterator[Member]:
        """Makes the model and the average views of a run's own; a run of a stack keeps its TrainingError."""
        member = self.members[number]
        if self._is_stack:
            show_model(self._first.model, self.model, number)
            if self._averaged is not None:
                show_model(self._evaluated, self._averaged, number)
        try:
            yield member
        except TrainingError as error:
            if not self._is_stack:
                raise
            member.error = error

    def _save(self, optimiser: checkpoints.OptimiserState | None) -> None:
        """Writes the states of all runs, and only then removes older ones, so that all have one in common.

        `optimiser` is None between stages.
        """
        for number in self._running:
            with self._viewing(number) as member:
                member.log.sync()
                run, done = member.run, member.done
                averaged = self._evaluated if optimiser is not None and self._averaged is not None else None
                state = optimiser
                if optimiser is not None and self._is_stack:
                    state = checkpoints.state_part(optimiser, number)
                model, total = self._first.model, run.updates_made(done)
                checkpoints.save_state(
                    run.folder.state, done, total, model, state, averaged, member.generator
                )
        for number in self._running:
            run, done = self.members[number].run, self.members[number].done
            checkpoints.remove_states(run.folder.state, but=checkpoints.state_name(run.updates_made(done)))

    def _load(self, optimiser: torch.optim.Optimizer) -> None:
        """Restores weights, averages, random numbers and the optimiser of runs that resume from a state."""
        parts, is_begun = [], self._done.update > 0
        for number, member in enumerate(self.members):
            if member.tensors is None:
                return
            with self._viewing(number):
                averaged = self._evaluated if is_begun and self._averaged is not None else None
                state, model = member.run.folder.state, self._first.model
                parts.append(checkpoints.load_state(state, member.tensors, model, averaged, member.generator))
            member.tensors = None
        if is_begun:
            joined = checkpoints.joined_states(parts) if self._is_stack else parts[0]
            optimiser.load_state_dict({**optimiser.state_dict(), "state": joined})
