"""Numbers of a run in, lines of JSON out, and TensorBoard's files where they are wanted."""

import json
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError


class Log:
    """An open log; a line that is there is whole."""

    def __init__(
        self, path: Path, *, length: int = 0, step: int = 0, tensorboard: Path | None = None
    ) -> None:
        """Opens it, without what was written after its first `length` bytes: a resumed run writes that again.

        Args:
            path: of the file.
            length: bytes of it to keep.
            step: the update that these bytes go up to; TensorBoard forgets what was drawn behind it.
            tensorboard: the folder of TensorBoard's files; None for none.

        Raises:
            ConfigError: TensorBoard's files are wanted, and it is not installed.
        """
        self._writer = _writer(tensorboard, step) if tensorboard else None
        path.touch()
        os.truncate(path, min(length, path.stat().st_size))
        self._file = path.open("ab")

    @property
    def length(self) -> int:
        """Bytes written."""
        return self._file.tell()

    def add(self, line: Mapping[str, Any], *, step: int) -> None:
        """Writes a line; `step` is the update, of all stages, that TensorBoard draws it at."""
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        if self._writer is not None:
            for name, value in line.items():
                if isinstance(value, int | float) and name != "update":
                    self._writer.add_scalar(f"{line['stage']}/{name}", value, step)

    def sync(self) -> None:
        """Makes what was written last through a loss of power."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes it."""
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
