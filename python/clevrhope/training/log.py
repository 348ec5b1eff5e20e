"""The log of a run: lines of JSON and, optionally, TensorBoard files."""

import json
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError


class Log:
    """An open log. Every line in its file is complete."""

    def __init__(
        self, path: Path, *, length: int = 0, step: int = 0, tensorboard: Path | None = None
    ) -> None:
        """Opens the log and cuts it to `length` bytes: a resumed run writes the rest again.

        Args:
            path: the log's file.
            length: bytes of it to keep.
            step: the update that these bytes go up to; TensorBoard drops what was drawn after it.
            tensorboard: the folder of the TensorBoard files; None for none.

        Raises:
            ConfigError: TensorBoard files are requested, but TensorBoard is not installed.
        """
        self._writer = _writer(tensorboard, step) if tensorboard else None
        path.touch()
        os.truncate(path, min(length, path.stat().st_size))
        self._file = path.open("ab")

    @property
    def length(self) -> int:
        """Length of the file in bytes."""
        return self._file.tell()

    def add(self, line: Mapping[str, Any], *, step: int) -> None:
        """Writes a line; `step`, the number of updates in all stages, is its place in TensorBoard."""
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        if self._writer is not None:
            for name, value in line.items():
                if isinstance(value, int | float) and name != "update":
                    self._writer.add_scalar(f"{line['stage']}/{name}", value, step)

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
