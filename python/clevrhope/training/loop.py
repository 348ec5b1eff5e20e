"""The training loop: stage by stage and update by update, with log, tuning, checkpoints and states."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil, isfinite
from time import monotonic, time
from typing import Any

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
    read_state,
    remove_states,
    save_state,
    save_weights,
    state_name,
    states_in,
)
from clevrhope.training.checks import check_loss, determinism_errors
from clevrhope.training.data import Questions
from clevrhope.training.gradients import Gradients
from clevrhope.training.interrupts import Interrupt
from clevrhope.training.log import Log, OnLog
from clevrhope.training.optimisers import make_optimiser
from clevrhope.training.order import batch_rows, derived_seed
from clevrhope.training.predictions import accuracy, predict_answers
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


@dataclass(repr=False)
class Member:
    """A run of a loop, with what it has of its own.

    Attributes:
        run: the run. Those of a stack share one recipe and one model, which shows that of each run in turn.
        tune: the questions that weights are chosen by; None for none.
        log: its log.
        done: how far it is, which is all that a resumed run needs besides tensors.
        tensors: those of the state that it resumes from; None for a new run.
        first_row: its first row in the questions of all runs.
        generator: in a stack, its random numbers, seeded as torch's own are for a run by itself.
        last_loss: mean loss of the last line of the log; None if this process wrote none.
        error: why it cannot continue. In a stack its model is trained with the others, but not kept.
    """

    run: PreparedRun
    tune: Questions | None
    log: Log
    done: RunProgress
    tensors: Mapping[str, Tensor] | None
    first_row: int = 0
    generator: torch.Generator | None = None
    last_loss: float | None = None
    error: TrainingError | None = None


def open_member(
    run: PreparedRun, tune: Questions | None, *, state: str | None = None, on_log: OnLog | None = None
) -> Member:
    """A run at a state, by default its newest, with its log open; errors as of `read_state` and `Log`."""
    done, tensors = read_state(run.folder.state, state) or (RunProgress(), None)
    log = Log(
        run.folder.log,
        length=done.log_bytes,
        step=run.updates_made(done),
        tensorboard=run.folder.tensorboard if run.request.tensorboard else None,
        on_log=on_log,
    )
    return Member(run, tune, log, done, tensors)


class Loop:
    """Makes the updates of a run, or of several whose models are stacked (`clevrhope.models.stack`).

    Attributes:
        members: the M runs.
        model: the run's model, or the stack of all.
        questions: of all runs.
        n_made: updates that this process made.
        busy_seconds: the time that they took, without tuning and saving.
    """

    def __init__(
        self,
        members: Sequence[Member],
        model: nn.Module,
        questions: Questions,
        progress: Progress,
        interrupt: Interrupt,
    ) -> None:
        """`progress` displays progress; `interrupt` says whether to stop after the next update."""
        self.members, self.model, self.questions = members, model, questions
        self._first = members[0].run
        self._is_stack = model is not self._first.model
        self._progress, self._interrupt = progress, interrupt
        self._averaged: nn.Module | None = None  # the moving average of the weights, where a stage has one
        self._evaluated = self._first.model  # the weights of a run that are tuned, kept and evaluated
        self.n_made, self.busy_seconds = 0, 0.0

    @property
    def _running(self) -> list[int]:
        """The numbers of the runs without an error."""
        return [number for number, member in enumerate(self.members) if member.error is None]

    @property
    def _done(self) -> RunProgress:
        """The progress of one of these runs; stage and update are those of all."""
        return self.members[self._running[0]].done

    def run(self) -> None:
        """Makes all remaining updates, and writes the last weights.

        Raises:
            TrainingError: a loss or weights of a single run that are not finite.
            KeyboardInterrupt: the runs were interrupted; their states are written.
        """
        recipe, request = self._first.recipe, self._first.request
        trainable = trainable_weights(self.model)
        for stage in recipe.stages[self._done.stage :]:
            if not self._running:
                return
            weights = select_weights(self.model, stage, trainable)
            optimiser = make_optimiser(stage.optimiser, weights)
            self._averaged = averaged_model(self.model, stage)
            own = averaged_model(self._first.model, stage) if self._is_stack else self._averaged
            self._evaluated = self._first.model if own is None else own
            self._load(optimiser)
            if self._done.update == 0:
                self._seed()
            runs = f"{len(self.members)} x " if self._is_stack else ""
            with (
                self._progress.stage(
                    f"{runs}{request.model} {stage.name}", total=stage.updates, unit="updates"
                ) as advance,
                determinism_errors(deterministic=request.deterministic),
            ):
                advance(self._done.update, there=True)
                self._make_updates(stage, weights, optimiser, advance)
            for number in self._running:
                with self._showing(number) as member:
                    self._end_stage(member, stage)
            self._save(None)
            if stage is not recipe.stages[-1] and self._interrupt.is_set:
                raise KeyboardInterrupt

    def _make_updates(
        self, stage: Stage, weights: list[Parameter], optimiser: torch.optim.Optimizer, advance: Advance
    ) -> None:
        """Makes the remaining updates of a stage, with all that is due between them."""
        request, device, done = self._first.request, self.questions.device, self._done
        is_last = stage is self._first.recipe.stages[-1]
        check_every = GPU_CHECK_UPDATES if device.type == "cuda" else 1
        log_every = max(1, min(LOG_UPDATES, stage.updates // 20))
        tune_every = request.tune_every or max(1, stage.updates // TUNE_EVALUATIONS)
        is_tuned = is_last and self.members[0].tune is not None
        losses: list[Tensor] = []  # (M,) each, not checked yet
        line_seconds, line_updates = 0.0, 0  # since the last line of the log
        n_shown = 0  # made since the display last moved
        clock = saved = shown = monotonic()
        batches = self._batches(stage)
        is_static = not self._is_stack and getattr(self.model, "is_static", False)
        losses_of = partial(self._losses, stage)
        gradients = Gradients(losses_of, weights, device, self._first.precision, is_static=is_static)
        while done.update < stage.updates and self._running:
            batch = next(batches)
            rate = stage.optimiser.rate * stage.schedule.factor(done.update, stage.updates)
            for group in optimiser.param_groups:
                group["lr"] = rate
            losses.append(gradients(batch))
            if stage.optimiser.clip_norm is not None:
                nn.utils.clip_grad_norm_(weights, stage.optimiser.clip_norm)
            if len(losses) >= check_every:
                self._check_losses(losses, stage, done.update + 1)
            optimiser.step()
            for member in self.members:
                member.done.update += 1
            if self._averaged is not None:
                average_weights(self._averaged, self.model, stage, done.update)
            self.n_made += 1
            line_updates += 1
            n_shown += 1

            now, left = monotonic(), stage.updates - done.update
            if now - shown >= SHOW_SECONDS or not left:
                advance(n_shown)
                n_shown, shown = 0, now
            logs = done.update % log_every == 0 or not left
            tunes = is_tuned and (done.update % tune_every == 0 or not left)
            n_left, off = divmod(left, request.keep_every or stage.updates)
            keeps = is_last and off == 0 and 0 < n_left < request.keep_last  # the last one is called "last"
            if request.save_every is None:
                saves = now - saved >= SAVE_SECONDS
            else:
                saves = done.update % request.save_every == 0
            saves = (saves or self._interrupt.is_set) and left > 0
            if not (logs or tunes or keeps or saves):
                continue
            self._check_losses(losses, stage, done.update)
            seconds = monotonic() - clock
            line_seconds += seconds
            self.busy_seconds += seconds
            for number in self._running:
                with self._showing(number) as member:
                    if logs:
                        self._log_loss(member, stage, rate, speed=line_updates / line_seconds)
                    if tunes or keeps or saves:
                        self._check_weights(member, stage)
                    if tunes:
                        self._tune(member, stage)
                    if keeps:
                        self._keep(member, late_checkpoint(stage.name, done.update), stage)
            if logs:
                line_seconds, line_updates = 0.0, 0
            if saves:
                self._save(optimiser.state_dict()["state"])
                saved = monotonic()
                if self._interrupt.is_set:
                    raise KeyboardInterrupt
            clock = monotonic()

    def _batches(self, stage: Stage) -> Iterator[Batch]:
        """The batches of the stage that are left: a part for each run, those of one update in one batch."""
        size, left = stage.batch_size, stage.updates - self._done.update
        plan = getattr(self.model, "stack_plan" if self._is_stack else "plan", None)
        orders = []
        for member in self.members:
            seed, n, done = member.run.request.seed, member.run.n_questions, member.done
            rows = batch_rows(seed, n, size, epoch=done.epoch, n_made=done.update)
            orders.append((member.first_row, rows))
        while left:
            n = min(left, UPDATES_AT_ONCE)
            several = np.concatenate([first + next(rows) for _ in range(n) for first, rows in orders])
            yield from self.questions.batches(several, len(orders) * size, plan)
            left -= n

    def _losses(self, stage: Stage, batch: Batch) -> Tensor:
        """(M,) losses of the runs."""
        model: Any = self.model
        if self._is_stack:
            generators = [member.generator for member in self.members]
            losses: Tensor = getattr(model, model.stack_losses[stage.loss])(batch, generators)
            return losses
        loss = getattr(model, stage.loss)(batch)
        if self._done.update == 0:
            check_loss(model, stage, loss)
        return loss.reshape(1)  # type: ignore[no-any-return]

    def _check_losses(self, losses: list[Tensor], stage: Stage, update: int) -> None:
        """Checks that losses, the last of them of an update, are finite; adds them up and forgets them."""
        if not losses:
            return
        of_runs = torch.stack(losses, dim=1).tolist()
        losses.clear()
        for number in self._running:
            with self._showing(number) as member:
                for at, value in enumerate(of_runs[number], update - len(of_runs[number]) + 1):
                    if not isfinite(value):
                        raise _failure(member, f"the loss is {value} at update {at:,}", stage)
                member.done.losses += sum(of_runs[number])
                member.done.n_losses += len(of_runs[number])

    def _check_weights(self, member: Member, stage: Stage) -> None:
        """Checks that all weights of a run are finite."""
        named = self._first.model.named_parameters()
        bad = [name for name, each in named if not bool(each.isfinite().all())]
        if bad:
            problem = f"non-finite weights ({bad[0]}) after update {member.done.update:,}"
            raise _failure(member, problem, stage)

    def _log_loss(self, member: Member, stage: Stage, rate: float, speed: float) -> None:
        """Adds a line to the log of a run; `speed` is in updates a second."""
        done = member.done
        member.last_loss = done.losses / done.n_losses
        values: Mapping[str, Tensor] = getattr(self._first.model, "log_values", dict)()
        line = {
            "epoch": done.epoch + done.update // _n_batches(member, stage),
            "loss": member.last_loss,
            "rate": rate,
            **{name: float(value) for name, value in values.items()},
            "updates_a_second": round(speed, 3),
        }
        _write(member, stage, line)
        done.losses, done.n_losses = 0.0, 0

    def _tune(self, member: Member, stage: Stage) -> None:
        """Evaluates the weights of a run on its tune set, and keeps them if they are the best so far."""
        assert member.tune is not None
        n_answers, precision = len(member.run.vocab.answers()), member.run.precision
        answers = predict_answers(
            self._evaluated, "predict", member.tune, n_answers=n_answers, precision=precision
        )
        percent = accuracy(answers, member.tune)
        _write(member, stage, {"tuned_on": tune_set_name(member.run.request), "accuracy": percent})
        if member.done.best is None or percent > member.done.best:
            member.done.best = percent
            self._keep(member, "best", stage)

    def _keep(self, member: Member, name: str, stage: Stage) -> None:
        """Writes a checkpoint of a run."""
        request = member.run.request
        about = {
            "model": request.model,
            "hop": request.hop,
            "size": request.size,
            "seed": request.seed,
            "vocab": vocab_digest(member.run.vocab),
            "checkpoint": name,
            "stage": stage.name,
            "update": member.done.update,
        }
        save_weights(member.run.folder.checkpoint(name), self._evaluated, about)

    def _end_stage(self, member: Member, stage: Stage) -> None:
        """Keeps the weights of a run where they are evaluated, and moves it on to the next stage."""
        self._check_weights(member, stage)
        is_last = stage is self._first.recipe.stages[-1]
        if is_last or stage.evaluated:
            self._keep(member, "last" if is_last else stage.name, stage)
        done = member.done
        done.epoch += ceil(done.update / _n_batches(member, stage))  # the next stage begins an epoch
        done.stage, done.update = done.stage + 1, 0

    @contextmanager
    def _showing(self, number: int) -> Iterator[Member]:
        """A run, which the model and the average of all show; in a stack, an error of it is noted."""
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

    def _seed(self) -> None:
        """Seeds the runs' random numbers at the start of a stage."""
        for member in self.members:
            seed = derived_seed(member.run.request.seed, f"stage {member.done.stage}")
            (member.generator or torch).manual_seed(seed)

    def _save(self, optimiser: OptimiserState | None) -> None:
        """Writes the states of all runs, and only then removes older ones, so that all have one in common.

        Args:
            optimiser: the state of the optimiser; None between stages.
        """
        for number in self._running:
            with self._showing(number) as member:
                member.log.sync()
                run, done = member.run, member.done
                averaged = self._evaluated if optimiser is not None and self._averaged is not None else None
                own = _part(optimiser, number) if optimiser is not None and self._is_stack else optimiser
                model, total = self._first.model, run.updates_made(done)
                save_state(run.folder.state, done, total, model, own, averaged, member.generator)
        for number in self._running:
            run, done = self.members[number].run, self.members[number].done
            remove_states(run.folder.state, but=state_name(run.updates_made(done)))

    def _load(self, optimiser: torch.optim.Optimizer) -> None:
        """Restores weights, averages, random numbers and the optimiser of runs that resume from a state."""
        parts, is_begun = [], self._done.update > 0
        for number, member in enumerate(self.members):
            if member.tensors is None:
                return
            with self._showing(number):
                averaged = self._evaluated if is_begun and self._averaged is not None else None
                load_state(member.run.folder.state, member.tensors, self._first.model, averaged)
            generator = member.tensors.get(f"generator.{self.questions.device.type}")
            if member.generator is not None and is_begun and generator is not None:
                member.generator.set_state(generator)
            parts.append(optimiser_state(member.tensors))
            member.tensors = None
        if is_begun:
            state = _joined_states(parts) if self._is_stack else parts[0]
            optimiser.load_state_dict({**optimiser.state_dict(), "state": state})


def _write(member: Member, stage: Stage, values: Mapping[str, Any]) -> None:
    """Adds a line to the log of a run."""
    place = {"stage": stage.name, "update": member.done.update, "of": stage.updates}
    step = member.run.updates_made(member.done)
    member.log.add({**place, **values, "time": round(time(), 3)}, step=step)
    member.done.log_bytes = member.log.length


def _n_batches(member: Member, stage: Stage) -> int:
    """Batches of an epoch."""
    return member.run.n_questions // stage.batch_size


def _failure(member: Member, problem: str, stage: Stage) -> TrainingError:
    """An error that says why a run cannot continue, and what is kept of it."""
    saved = states_in(member.run.folder.state)
    kept = (
        f"the last good state, after {int(saved[-1].name):,} updates in all, is kept"
        if saved
        else "no state was saved yet"
    )
    return TrainingError(
        f"{member.run.folder.root}: {problem} of stage {stage.name}; {kept}; start another run, for "
        f"example with a smaller rate (--set recipe.{stage.name}.rate={stage.optimiser.rate / 10:g})"
    )


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
