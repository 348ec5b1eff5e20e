"""The log of a run: JSON lines and, optionally, TensorBoard files and calls of a user's function."""

import json
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError

OnLog = Callable[[dict[str, Any]], object]
"""A function that is called with each record of the log plus `step`, the number of updates in all stages."""


class Log:
    """An open log. Every line in its file is complete."""

    def __init__(
        self,
        path: Path,
        *,
        length: int = 0,
        step: int = 0,
        tensorboard: Path | None = None,
        on_log: OnLog | None = None,
    ) -> None:
        """Opens a log and cuts it to the `length` bytes written up to update `step`, as a run resumes there.

        Raises:
            ConfigError: `tensorboard` names a folder for TensorBoard files, but TensorBoard is not installed.
        """
        self._on_log = on_log
        self._writer = _writer(tensorboard, step) if tensorboard else None
        path.touch()
        os.truncate(path, min(length, path.stat().st_size))
        self._file = path.open("ab")

    @property
    def length(self) -> int:
        """Length of the file in bytes."""
        return self._file.tell()

    def add(self, line: Mapping[str, Any], *, step: int) -> None:
        """Writes a record; `step` is the number of updates in all stages.

        Raises:
            Exception: any exception in `on_log`, with the step as a note.
        """
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        if self._writer is not None:
            for name, value in line.items():
                if isinstance(value, int | float) and name != "update":
                    self._writer.add_scalar(f"{line['stage']}/{name}", value, step)
        if self._on_log is not None:
            try:
                self._on_log({**line, "step": step})
            except Exception as error:
                error.add_note(f"(raised in on_log at update {step:,}; the same call resumes the run)")
                raise

    def sync(self) -> None:
        """Flushes the file to disk, so that what was written survives a loss of power."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the files."""
        self._file.close()
        if self._writer is not None:
            self._writer.close()


def _writer(folder: Path, step: int) -> Any:
    try:
        writer = import_module("torch.utils.tensorboard").SummaryWriter
        return writer(str(folder), purge_step=step + 1 if folder.exists() else None)
    except ModuleNotFoundError as error:
        raise ConfigError(
            "TensorBoard is not installed: pip install tensorboard, or leave --tensorboard out"
        ) from error
