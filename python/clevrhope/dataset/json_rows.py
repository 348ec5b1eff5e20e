"""Reads the objects of one long JSON list one at a time, however the file is formatted.

CLEVR's own files are a single line of hundreds of megabytes; only a piece of it is in memory at a time.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from clevrhope.errors import DatasetError
from clevrhope.runtime.json_text import decode, decode_at, read_json
from clevrhope.runtime.reading import check_regular, open_text, reading

_PIECE = 1 << 20
"""Characters read at a time."""

_LONGEST_ROW = 1 << 24
"""The most characters of an object; an object that has not ended by then is broken."""

_SPACE = re.compile(r"\s*")


def read_list(path: Path, key: str) -> Iterator[dict[str, Any]]:
    """Yields the objects of the list under `key` near the beginning of the file.

    Raises:
        DatasetError: the file or list is missing, or its JSON is broken or truncated; says at which object.
    """
    with reading(path, "JSON"), open_text(path) as file:
        yield from _Reader(path, key, file).rows()


def read_scenes(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the scenes of a file in CLEVR's form, of a list of scenes, or of a file of one scene.

    Raises:
        DatasetError: as for `read_list`, or the file has none of these forms.
    """
    with reading(path, "JSON"), open_text(path) as file:
        reader = _Reader(path, "scenes", file)
        if reader.has_list():
            yield from reader.rows()
            return
    content = read_json(path)
    scenes = [content] if isinstance(content, dict) and "objects" in content else content
    if not isinstance(scenes, list) or not all(isinstance(scene, dict) for scene in scenes):
        raise DatasetError(f"{path}: expected a scene file of CLEVR, a list of scenes, or one scene")
    yield from scenes


@contextmanager
def open_lines(path: Path) -> Iterator[BinaryIO]:
    """Opens a file for reading line by line.

    Raises:
        DatasetError: the file is missing, or cannot be read inside the block.
    """
    with reading(path, "JSON"):
        check_regular(path)
        with path.open("rb") as file:
            yield file


def rows_of_lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields line number and JSON of the objects in a file with one per line; its first line was read before.

    Raises:
        DatasetError: a line is too long for an object.
    """
    number = 1
    while line := file.readline(_LONGEST_ROW + 1):
        number += 1
        if len(line) > _LONGEST_ROW:
            raise DatasetError(
                f"{path}:{number}: a line of over {_LONGEST_ROW >> 20} MiB, too long for a row"
            )
        row = line.strip().rstrip(b",")
        if row.startswith(b"{"):
            yield number, row


class _Reader:
    """A window that moves over the file; `_at` is the next position to read in it."""

    def __init__(self, path: Path, key: str, file: TextIO) -> None:
        self._path, self._key, self._file = path, key, file
        self._text = file.read(_PIECE)
        self._at = 0
        self._n = 0
        self._lines_read = 0

    def has_list(self) -> bool:
        """Whether the list begins in the first piece of the file."""
        return self._beginning() is not None

    def _beginning(self) -> re.Match[str] | None:
        return re.search(rf'"{re.escape(self._key)}"\s*:\s*\[', self._text)

    def rows(self) -> Iterator[dict[str, Any]]:
        begin = self._beginning()
        if begin is None:
            raise DatasetError(f'{self._path}: no list "{self._key}" in it, as CLEVR\'s files have')
        self._at = begin.end()
        letter = self._next_letter()
        while letter != "]":
            if letter != "{":
                raise self._broken("an object should begin here" if letter else "the file ends here")
            yield self._object()
            self._n += 1
            letter = self._next_letter()
            if letter == ",":
                self._at += 1
                letter = self._next_letter()
            elif letter != "]":
                raise self._broken(
                    "a comma or the list's end should be here" if letter else "the file ends here"
                )
        self._check_rest()

    def _object(self) -> dict[str, Any]:
        while True:
            try:
                row, self._at = decode_at(self._text, self._at)
            except json.JSONDecodeError as error:
                # The object is cut off by the window's end, or broken; only more text can tell.
                if len(self._text) - self._at > _LONGEST_ROW:
                    raise self._broken(f"an object of over {_LONGEST_ROW >> 20} MiB has not ended") from error
                into = error.pos - self._at
                if not self._read_on():
                    raise self._broken(f"{error.msg}, or the file was cut off", self._at + into) from error
            except (ValueError, RecursionError) as error:
                what = str(error) if isinstance(error, ValueError) else "nested too deeply"
                raise self._broken(what) from error
            else:
                found: dict[str, Any] = row
                return found

    def _next_letter(self) -> str:
        """The next character that is not a space, without consuming it; "" at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_on():
                return ""

    def _read_on(self) -> bool:
        more = self._file.read(_PIECE)
        self._lines_read += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)

    def _check_rest(self) -> None:
        """Checks that only the end of the enclosing JSON object follows the list."""
        rest = self._text[self._at + 1 :]
        while len(rest) < _LONGEST_ROW and (more := self._file.read(_PIECE)):
            rest += more
        try:
            decode(f'{{"": 0{rest}')
        except json.JSONDecodeError as error:
            raise self._broken(f"after the list: {error.msg}, or the file was cut off") from error
        except (ValueError, RecursionError) as error:
            raise self._broken(f"after the list: {error}") from error

    def _broken(self, what: str, place: int | None = None) -> DatasetError:
        """The error for a fault at a position in the window, by default the next position to read."""
        line = self._lines_read + self._text.count("\n", 0, self._at if place is None else place) + 1
        return DatasetError(f"{self._path}: {self._key}[{self._n}]: broken JSON ({what}; line {line})")
