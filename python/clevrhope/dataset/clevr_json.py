"""Writes and reads CLEVR's question and scene files, one row at a time.

Both kinds of file are one JSON object with one row per line, so that files of any size can be written and
read as a stream. Any JSON reader can read them.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.json_rows import open_lines, rows_of_lines
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import whole_file
from clevrhope.runtime.forms import INDEX, NAME, NUMBER, TEXT, Fields, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.splits.hops import NAME_ORDER

_INDEX = re.compile(rb'"image_index": ?(\d{1,9})\b')

LICENCE = "Creative Commons Attribution (CC BY 4.0)"


@contextmanager
def rows_file(
    path: Path, *, key: str, info: Mapping[str, Any]
) -> Iterator[Callable[[Sequence[bytes]], None]]:
    """Yields a function that adds rows, JSON objects without line breaks; at the end, the file appears.

    `key` is "questions" or "scenes"; `info` comes first, as in CLEVR's files. Raises the errors of
    `whole_file`.
    """
    head = json.dumps({"info": dict(info)}, ensure_ascii=False)
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(f'{head[:-1]}, "{key}": ['.encode())
        separator = b"\n"

        def add(rows: Sequence[bytes]) -> None:
            nonlocal separator
            if rows:
                file.write(separator)
                file.write(b",\n".join(rows))
                separator = b",\n"

        yield add
        file.write(b"\n]}\n")


def question_info(split: str, *, prefixes: Sequence[int] = ()) -> dict[str, Any]:
    """The `info` of a question file; `prefixes` are the sizes of smaller sets, each its first questions."""
    return {**scene_info(split), **({"prefixes": list(prefixes)} if prefixes else {})}


def scene_info(pool: str) -> dict[str, str]:
    """The `info` of a scene file; its split is the pool."""
    return {"split": pool, "license": LICENCE, "version": "1.0"}


def read_row_lines(path: Path) -> Iterator[bytes]:
    """The rows of a file written by this package, as unparsed JSON."""
    return (row for _, row in read_numbered_rows(path))


def read_numbered_rows(path: Path) -> Iterator[tuple[int, bytes]]:
    """The rows of a file written by this package, unparsed, each with its line number."""
    with open_lines(path) as file:
        file.readline()
        yield from rows_of_lines(file, path)


def read_scene_indices(path: Path) -> Ints:
    """The `image_index` of every scene in a file written by this package, in order, without parsing."""
    found = (scene_index(row, path, line) for line, row in read_numbered_rows(path))
    return np.fromiter(found, dtype=np.int32)


def scenes_of(layout: Layout, pool: str, indices: Ints) -> Iterator[dict[str, Any]]:
    """The scenes of a pool with these indices (each once), as rows of its files, sorted by index.

    No other scenes are parsed.

    Raises:
        DatasetError: a scene or its file is missing, or the file is broken.
    """
    for shard in np.unique(indices // SCENES_A_SHARD).tolist():
        path = layout.scene_shard(pool, shard)
        missing = set(indices[indices // SCENES_A_SHARD == shard].tolist())
        n_wanted = len(missing)
        for line, row in read_numbered_rows(path):
            index = scene_index(row, path, line)
            if index in missing:
                missing.remove(index)
                yield parse_row(row, path, line)
            if not missing:
                break
        if missing:
            raise DatasetError(
                f"{path}: {len(missing):,} of {n_wanted:,} scenes are missing; run the dataset's build again"
            )


def parse_row(row: bytes, path: Path, line: int) -> dict[str, Any]:
    """Parses the row at this line of a file.

    Raises:
        DatasetError: the JSON is broken, or not a scene or question of a dataset.
    """
    found = parse_json(row, path, line=line)
    check_form(found, _ROW, f"{path}:{line}")
    return dict(found)


def scene_index(row: bytes, path: Path, line: int) -> int:
    """The `image_index` of the scene at this line of a file, found without parsing.

    Raises:
        DatasetError: the row has none.
    """
    match = _INDEX.search(row)
    if match is None:
        raise DatasetError(f"{path}:{line}: image_index is missing; expected {INDEX.words}")
    return int(match[1])


class SceneLines:
    """The positions of the scenes in a file written by this package; takes about 200 bytes per scene."""

    def __init__(self, path: Path) -> None:
        """Finds the positions without parsing the scenes.

        Raises:
            DatasetError: the file is missing, or not a scene file.
        """
        self._path = path
        self._places: dict[int, tuple[int, int]] = {}
        with open_lines(path) as file:
            place = len(file.readline())
            for line, row in rows_of_lines(file, path):
                self._places.setdefault(scene_index(row, path, line), (line, place))
                place = file.tell()

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<{len(self):,} scenes of {self._path}>"

    def read(self, index: int) -> dict[str, Any]:
        """Reads the scene with this index, as in its row.

        Raises:
            DatasetError: the scene is missing or broken, or the file has changed.
        """
        if index not in self._places:
            raise DatasetError(f"{self._path}: no scene {index}; run the dataset's build again")
        line, place = self._places[index]
        with open_lines(self._path) as file:
            file.seek(place)
            _, row = next(rows_of_lines(file, self._path), (line, b""))
            scene = parse_row(row, self._path, line)
        if scene["image_index"] != index:
            raise DatasetError(f"{self._path}:{line}: not scene {index} any more; load the page again")
        return scene


_VECTOR = ListOf(NUMBER, 3)
_OBJECT = Fields({"3d_coords": _VECTOR, "rotation": NUMBER, **dict.fromkeys(NAME_ORDER, TEXT)})
_ROW = Fields(
    {"image_index": INDEX, "image_filename": NAME},
    {
        "objects": ListOf(_OBJECT),
        "relationships": MapOf(ListOf(ListOf(INDEX))),
        "directions": MapOf(_VECTOR),
        "camera": Fields({"location": _VECTOR}),
        "lights": MapOf(_VECTOR),
        "question": TEXT,
    },
)
"""The keys that every row has: scenes have objects, and questions have a text."""
