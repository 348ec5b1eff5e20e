"""One of the runs that a training loop advances: its log, its checkpoints and its progress."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from time import time
from typing import Any

import torch
from torch import Tensor, nn

from clevrhope.dataset.vocab import vocab_digest
from clevrhope.errors import TrainingError
from clevrhope.models.recipe import Stage
from clevrhope.runtime.atomic import disk_errors
from clevrhope.training.checkpoints import RunProgress, read_state, save_weights, states_in
from clevrhope.training.data import Questions
from clevrhope.training.prepared_run import PreparedRun

OnLog = Callable[[dict[str, Any]], object]
"""A function that is called with each record of the log plus `step`, the number of updates in all stages."""


class Log:
    """An open log. Every line in its file is complete."""

    def __init__(self, path: Path, *, length: int, on_log: OnLog | None) -> None:
        """Opens a log and cuts it to `length` bytes, as a run resumes there."""
        self._on_log = on_log
        path.touch()
        os.truncate(path, min(length, path.stat().st_size))
        self._path, self._file = path, path.open("ab")

    @property
    def length(self) -> int:
        """Length of the file in bytes."""
        return self._file.tell()

    def add(self, line: Mapping[str, Any], *, step: int) -> None:
        """Writes a record; `step` is the number of updates in all stages.

        Raises:
            DatasetError: the disk is full or not writable.
            Exception: any exception in `on_log`, with the step as a note.
        """
        with disk_errors(self._path):
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
        if self._on_log is not None:
            try:
                self._on_log({**line, "step": step})
            except Exception as error:
                error.add_note(f"(raised in on_log at update {step:,}; the same call resumes the run)")
                raise

    def sync(self) -> None:
        """Flushes the file to disk, so that what was written survives a loss of power."""
        with disk_errors(self._path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file."""
        with disk_errors(self._path):  # what a full disk did not take is written once more
            self._file.close()


class Member:
    """One of the runs that a loop trains.

    Attributes:
        run: the run. In a stack, the model and the recipe of the first run stand for those of all.
        tune: the tune set; None for none.
        done: its progress: everything that resuming needs besides tensors.
        tensors: the tensors of the state that it resumes from; None for a new run.
        log: its log.
        first_row: the row at which its questions begin among those of all runs.
        generator: in a stack, its random numbers, seeded as torch's own are for a single run.
        last_loss: mean loss of the last line of the log; None if this process wrote none.
        error: why it cannot continue. In a stack its model is still trained, but no longer saved.
    """

    def __init__(
        self,
        run: PreparedRun,
        tune: Questions | None,
        *,
        state: str | None = None,
        on_log: OnLog | None = None,
    ) -> None:
        """Opens a run at a state, by default its newest, with its log; errors as of `read_state`."""
        self.run, self.tune = run, tune
        self.tensors: Mapping[str, Tensor] | None
        self.done, self.tensors = read_state(run.folder.state, state) or (RunProgress(), None)
        self.log = Log(run.folder.log, length=self.done.log_bytes, on_log=on_log)
        self.first_row = 0
        self.generator: torch.Generator | None = None
        self.last_loss: float | None = None
        self.error: TrainingError | None = None

    def n_batches(self, stage: Stage) -> int:
        """Number of batches in an epoch of a stage."""
        return self.run.n_questions // stage.batch_size

    def write(self, stage: Stage, values: Mapping[str, Any]) -> None:
        """Adds a line to its log."""
        place = {"stage": stage.name, "update": self.done.update, "of": stage.updates}
        step = self.run.updates_made(self.done)
        self.log.add({**place, **values, "time": round(time(), 3)}, step=step)
        self.done.log_bytes = self.log.length

    def keep(self, stage: Stage, name: str, model: nn.Module) -> None:
        """Writes a checkpoint, with the weights of `model`."""
        request = self.run.request
        about = {
            **{key: getattr(request, key) for key in ("model", "hop", "size", "seed")},
            "vocab": vocab_digest(self.run.vocab),
            "checkpoint": name,
            "stage": stage.name,
            "update": self.done.update,
        }
        save_weights(self.run.folder.checkpoint(name), model, about)

    def failure(self, stage: Stage, problem: str) -> TrainingError:
        """An error that says why it cannot continue, and which of its states is kept."""
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
