"""Lines of JSON in, blocks of predictions out."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from clevrhope.errors import PredictionsError
from clevrhope.metrics.rows import (
    OPTIONAL,
    REQUIRED,
    Block,
    Places,
    read_answer,
    read_indices,
    read_target,
    shortened,
)


def read_lines(path: Path, file: IO[str], *, rows_a_block: int) -> Iterator[Block]:
    """The rows of an open file; errors as `read_predictions`."""
    lines = enumerate(file, 1)
    while some := list(islice(lines, rows_a_block)):
        yield _block_of_lines(path, some)


def _block_of_lines(path: Path, lines: Sequence[tuple[int, str]]) -> Block:
    """Parses lines; the loop is bare, since it takes most of the time, and errors are explained apart."""
    rows: list[int] = []
    indices: list[int] = []
    # JSON's true, 1 and 1.0 are equal as keys, so their types belong to them.
    targets: dict[tuple[Any, ...], int] = {}
    answers: dict[tuple[type, Any], int] = {}
    target: list[int] = []
    answer: list[int] = []
    number, line = 0, ""
    try:
        for number, line in lines:
            if line.isspace():
                continue
            row = json.loads(line)
            run, size, given = row.get("run"), row.get("train_size"), row["answer"]
            key = (row["hop"], row["split"], run, size, type(run), type(size))
            target.append(targets.setdefault(key, len(targets)))
            answer.append(answers.setdefault((type(given), given), len(answers)))
            indices.append(row["question_index"])
            rows.append(number)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        _explain(path, number, line)
    first_row_of = _first_places(target)
    first_answer_of = _first_places(answer)
    at = Places(path, ":", rows)
    return Block(
        at=at,
        targets=[read_target(key[:4], partial(at, first_row_of[k])) for key, k in targets.items()],
        target=np.asarray(target, dtype=np.int64),
        question_index=read_indices(indices, at),
        answers=[read_answer(given, partial(at, first_answer_of[k])) for (_, given), k in answers.items()],
        answer=np.asarray(answer, dtype=np.int64),
    )


def _explain(path: Path, number: int, line: str) -> NoReturn:
    """Says what is wrong with a line that could not be read."""
    where = f"{path}:{number}"
    example = '{"hop": "rubber_cylinder", "split": "complex_ood", "question_index": 0, "answer": "yes"}'
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        if number == 1 and line.lstrip().startswith("["):
            raise PredictionsError(
                f"{where}: a JSON list; write one object a line, such as {example}"
            ) from error
        what = f"column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise PredictionsError(f"{where}: no JSON object in one line ({what}); expected {example}") from error
    if not isinstance(row, dict):
        raise PredictionsError(f"{where}: {shortened(row)} is no JSON object; expected {example}")
    missing = [name for name in REQUIRED if name not in row]
    if missing:
        raise PredictionsError(f'{where}: no "{missing[0]}"; expected {example}')
    name, value = next(
        (name, row[name]) for name in (*REQUIRED, *OPTIONAL) if isinstance(row.get(name), list | dict)
    )
    raise PredictionsError(f'{where}: "{name}" is {shortened(value)}, not a plain value; expected {example}')


def _first_places(numbers: Sequence[int]) -> list[int]:
    """Where each of 0, 1, 2 ... first occurs; they begin in this order."""
    found: list[int] = []
    for place, number in enumerate(numbers):
        if number == len(found):
            found.append(place)
    return found
