"""Questions and scenes as JSON rows in, CLEVR's question and scene files out, and back a row at a time.

Both kinds are one JSON object, laid out a row a line, so that files of any size are written and read in a
stream; any JSON reader takes them as they are.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.atomic import whole_file
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError

_INDEX = re.compile(rb'"image_index": ?(\d+)')

LICENCE = "Creative Commons Attribution (CC BY 4.0)"


@contextmanager
def rows_file(
    path: Path, *, key: str, info: Mapping[str, Any]
) -> Iterator[Callable[[Sequence[bytes]], None]]:
    """Gives a function that adds rows, JSON objects without line breaks; at the block's end the file appears.

    `key` is "questions" or "scenes"; `info` goes in front, as in CLEVR's files. Errors as `whole_file`.
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
    """The `info` of a question file; `prefixes` names smaller sets, the first so many questions."""
    info: dict[str, Any] = {"split": split, "license": LICENCE, "version": "1.0"}
    return {**info, "prefixes": list(prefixes)} if prefixes else info


def scene_info(pool: str) -> dict[str, str]:
    """The `info` of a scene file; its split is the pool."""
    return {"split": pool, "license": LICENCE, "version": "1.0"}


def read_row_lines(path: Path) -> Iterator[bytes]:
    """The rows of a file written here, as JSON bytes, without parsing them."""
    try:
        with path.open("rb") as file:
            next(file, None)
            for line in file:
                row = line.rstrip(b",\n")
                if row.startswith(b"{"):
                    yield row
    except FileNotFoundError as error:
        raise DatasetError(f"{path}: no such file") from error


def read_scene_indices(path: Path) -> Ints:
    """The `image_index` of every scene in a file written here, in order, found without parsing."""
    matches = map(_INDEX.search, read_row_lines(path))
    return np.asarray([int(match[1]) for match in matches if match is not None], dtype=np.int32)


def read_scenes_at(path: Path, wanted: Collection[int]) -> Iterator[dict[str, Any]]:
    """The scenes with these indices in a file written here, in its order; the others are not parsed."""
    left = set(wanted)
    for row in read_row_lines(path):
        match = _INDEX.search(row)
        if match is not None and int(match[1]) in left:
            left.discard(int(match[1]))
            yield json.loads(row)
        if not left:
            return


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file written here, one at a time."""
    return map(json.loads, read_row_lines(path))
