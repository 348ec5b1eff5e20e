"""A file of predictions in, blocks of rows as arrays out; what a row may hold is in docs/predictions.md.

A block is some ten thousand rows, so memory stays flat however long the file is.
"""

import json
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from clevrhope.errors import PredictionsError

Indices = npt.NDArray[np.int64]

ROWS_A_BLOCK = 50_000

REQUIRED = ("hop", "split", "question_index", "answer")
OPTIONAL = ("run", "train_size")

_PARQUET_MAGIC = b"PAR1"
_SIZE = re.compile(r"(\d+)(k?)")
_LARGEST_INDEX = 2**62

_T = TypeVar("_T", bound=Hashable)


class Target(NamedTuple):
    """What a prediction is about, its question apart."""

    hop: str
    split: str
    run: str | None
    train_size: int | None

    def __str__(self) -> str:
        told = [] if self.run is None else [f"run {self.run}"]
        told += [] if self.train_size is None else [f"train size {self.train_size}"]
        return " ".join([self.hop, self.split, f"({', '.join(told)})" if told else ""]).strip()


@dataclass(frozen=True)
class Block:
    """Some rows of a file, in order."""

    path: Path
    row_word: str
    """What stands between the file's name and a row's number in messages."""
    rows: Indices
    """(n,) numbers of the rows: lines from 1 in JSON lines, rows from 0 in Parquet."""
    targets: Sequence[Target]
    target: Indices
    """(n,) places in `targets`."""
    question_index: Indices
    """(n,)"""
    answers: Sequence[str]
    answer: Indices
    """(n,) places in `answers`."""

    def place(self, k: int) -> str:
        """Where the k-th row is."""
        return f"{self.path.name}{self.row_word}{self.rows[k]}"


def read_predictions(path: Path) -> Iterator[Block]:
    """The rows of a JSON lines or Parquet file; which of the two it is, its first bytes say.

    Raises:
        PredictionsError: no such file, a row that is none, a column missing, or Parquet without pyarrow.
    """
    try:
        with path.open("rb") as file:
            is_parquet = file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
        if is_parquet:
            yield from _read_parquet(path)
        else:
            with path.open(encoding="utf-8") as text:
                yield from _read_lines(path, text)
    except OSError as error:
        raise PredictionsError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise PredictionsError(f"{path}: neither JSON lines in UTF-8 nor Parquet ({error.reason})") from error


# JSON lines


def _read_lines(path: Path, file: IO[str]) -> Iterator[Block]:
    lines = enumerate(file, 1)
    while some := list(islice(lines, ROWS_A_BLOCK)):
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
    at = _At(path, ":", rows)
    return Block(
        path=path,
        row_word=":",
        rows=np.asarray(rows, dtype=np.int64),
        targets=[_target(key[:4], partial(at, first_row_of[k])) for key, k in targets.items()],
        target=np.asarray(target, dtype=np.int64),
        question_index=_question_indices(indices, at),
        answers=[_spelled(given, partial(at, first_answer_of[k])) for (_, given), k in answers.items()],
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
        raise PredictionsError(f"{where}: {_short(row)} is no JSON object; expected {example}")
    missing = [name for name in REQUIRED if name not in row]
    if missing:
        raise PredictionsError(f'{where}: no "{missing[0]}"; expected {example}')
    name, value = next(
        (name, row[name]) for name in (*REQUIRED, *OPTIONAL) if isinstance(row.get(name), list | dict)
    )
    raise PredictionsError(f'{where}: "{name}" is {_short(value)}, not a plain value; expected {example}')


class _At:
    """Tells where the k-th row of a block is."""

    def __init__(self, path: Path, word: str, rows: Sequence[int] | Indices) -> None:
        self._path, self._word, self._rows = path, word, rows

    def __call__(self, k: int) -> str:
        return f"{self._path}{self._word}{self._rows[k]}"


def _first_places(numbers: Sequence[int]) -> list[int]:
    """Where each of 0, 1, 2 ... first occurs; they begin in this order."""
    found: list[int] = []
    for place, number in enumerate(numbers):
        if number == len(found):
            found.append(place)
    return found


# Parquet


def _read_parquet(path: Path) -> Iterator[Block]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise PredictionsError(
            f"{path}: reading Parquet needs pyarrow: pip install 'clevrhope[export]', or give JSON lines"
        ) from error
    try:
        with pq.ParquetFile(path) as file:
            there = file.schema_arrow.names
            missing = [name for name in REQUIRED if name not in there]
            if missing:
                raise PredictionsError(
                    f'{path}: no column "{missing[0]}" (there are: {", ".join(there)}); '
                    f"expected {', '.join(REQUIRED)}"
                )
            columns = [name for name in (*REQUIRED, *OPTIONAL) if name in there]
            begin = 0
            for batch in file.iter_batches(batch_size=ROWS_A_BLOCK, columns=columns):
                if len(batch):
                    yield _block_of_batch(path, batch, begin)
                begin += len(batch)
    except pa.ArrowException as error:
        raise PredictionsError(f"{path}: no whole Parquet file ({str(error).splitlines()[0]})") from error


def _block_of_batch(path: Path, batch: Any, begin: int) -> Block:
    """A record batch of pyarrow as a block; its rows are counted from `begin`."""
    n = len(batch)
    rows = np.arange(begin, begin + n)
    at = _At(path, " row ", rows)
    combined = np.zeros(n, dtype=np.int64)
    values: list[list[Any]] = []
    for name in ("hop", "split", *OPTIONAL):
        number, distinct = _distinct(batch, name, at)
        combined = combined * len(distinct) + number
        values.append(distinct)
    keys, firsts, target = np.unique(combined, return_index=True, return_inverse=True)
    targets = []
    for key, first in zip(keys.tolist(), firsts.tolist(), strict=True):
        parts = []
        for distinct in reversed(values):
            key, k = divmod(key, len(distinct))
            parts.append(distinct[k])
        targets.append(_target(tuple(reversed(parts)), partial(at, first)))
    number, given = _distinct(batch, "answer", at)
    used, firsts, answer = np.unique(number, return_index=True, return_inverse=True)
    return Block(
        path=path,
        row_word=" row ",
        rows=rows,
        targets=targets,
        target=target,
        question_index=_question_indices(batch.column("question_index").to_pylist(), at),
        answers=[_spelled(given[k], partial(at, first)) for k, first in zip(used, firsts, strict=True)],
        answer=answer,
    )


def _distinct(batch: Any, name: str, at: _At) -> tuple[Indices, list[Any]]:
    """A column as numbers of its distinct values, of which the last is None; not all have to occur."""
    if name not in batch.schema.names:
        return np.zeros(len(batch), dtype=np.int64), [None]
    import pyarrow as pa

    column = batch.column(name)
    if pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type):
        raise PredictionsError(f'{at(0)}: column "{name}" holds {column.type}, not plain values')
    encoded = column.dictionary_encode()
    values = [*encoded.dictionary.to_pylist(), None]
    numbers = encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    return numbers.astype(np.int64), values


# Values


def _target(raw: Sequence[Any], where: Callable[[], str]) -> Target:
    hop, split, run, size = raw
    for name, value in (("hop", hop), ("split", split)):
        if not isinstance(value, str):
            raise PredictionsError(f'{where()}: "{name}" is {_short(value)}, not a name')
    return Target(hop, split, _run(run, where), _train_size(size, where))


def _run(value: Any, where: Callable[[], str]) -> str | None:
    value = _whole(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise PredictionsError(f'{where()}: "run" is {_short(value)}, neither a name nor a whole number')


def _train_size(value: Any, where: Callable[[], str]) -> int | None:
    value = _whole(value)
    if value is None:
        return None
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        return int(match[1]) * (1000 if match[2] else 1)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise PredictionsError(
        f'{where()}: "train_size" is {_short(value)}; expected a number of questions, such as 25000 or "25k"'
    )


def _spelled(value: Any, where: Callable[[], str]) -> str:
    """An answer as CLEVR spells it; whether there is such an answer is not asked here."""
    value = _whole(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | str):
        return str(value)
    raise PredictionsError(f'{where()}: "answer" is {_short(value)}; expected text, true, false or a number')


def _question_indices(values: Sequence[Any], at: _At) -> Indices:
    if {*map(type, values)} <= {int} and (not values or max(values) <= _LARGEST_INDEX >= -min(values)):
        return np.asarray(values, dtype=np.int64)
    indices = []
    for k, value in enumerate(map(_whole, values)):
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST_INDEX:
            raise PredictionsError(
                f'{at(k)}: "question_index" is {_short(value)}; '
                "expected the question's place in its split's file, from 0"
            )
        indices.append(value)
    return np.asarray(indices, dtype=np.int64)


def _whole(value: Any) -> Any:
    """A float without fraction as an integer, not-a-number as None: tables with gaps make numbers floats."""
    if not isinstance(value, float):
        return value
    if value != value:
        return None
    return int(value) if value.is_integer() else value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
