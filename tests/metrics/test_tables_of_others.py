"""Predictions as editors and table libraries write them: read where the meaning is certain, else refused."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clevrhope.errors import PredictionsError
from clevrhope.metrics.predictions import read_predictions, said_of_all
from wording import check_refused

ROWS: list[dict[str, Any]] = [
    {"hop": "none", "split": "test", "question_index": k, "answer": answer, "model": "ours"}
    for k, answer in enumerate(["yes", "no", "3", "10"])
]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in rows)


def read(path: Path) -> list[tuple[int, str, int | None]]:
    return [
        (int(index), block.answers[answer], block.targets[target].train_size)
        for block in read_predictions(path)
        for index, answer, target in zip(block.question_index, block.answer, block.target, strict=True)
    ]


WANTED = [(0, "yes", None), (1, "no", None), (2, "3", None), (3, "10", None)]


@pytest.mark.parametrize(
    "encoded",
    [
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r\n").encode("utf-8-sig") + b"\r\n",
    ],
    ids=["a byte order mark", "ends of lines of Windows", "both"],
)
def test_what_editors_add_changes_nothing(tmp_path: Path, encoded: Callable[[str], bytes]) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(encoded(lines(ROWS)))
    assert read(path) == WANTED
    assert said_of_all(path, "model") == "ours"


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_told(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(lines(ROWS).replace("yes", "s\xed"), encoding)
    check_refused(PredictionsError, read, path)


@pytest.mark.parametrize("number", [float, str, lambda k: f"{k}.0", lambda k: f" {k} "])
def test_indices_may_be_any_whole_number(tmp_path: Path, number: Callable[[int], Any]) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(lines([{**each, "question_index": number(each["question_index"])} for each in ROWS]))
    assert read(path) == WANTED


def test_counts_and_sizes_may_be_floats_in_text(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    rows = [{**each, "train_size": "25000.0"} for each in ROWS]
    rows[2]["answer"], rows[3]["answer"] = "3.0", 10.0
    path.write_text(lines(rows))
    assert read(path) == [(index, answer, 25000) for index, answer, _ in WANTED]


@pytest.mark.parametrize("number", [float, str, Decimal])
def test_columns_of_tables_may_have_any_type(tmp_path: Path, number: Callable[[int], Any]) -> None:
    path = tmp_path / "p.parquet"
    rows = [{"": 7, **each, "question_index": number(k)} for k, each in enumerate(ROWS)]
    pq.write_table(pa.Table.from_pylist(rows), path)
    assert read(path) == WANTED


@pytest.mark.parametrize(
    "text",
    [
        "hop,split,question_index,answer\nnone,test,0,yes\n",
        '{"hop": "none", "split": "test", "question_index": "1.5", "answer": "yes"}',
        '{"hop": "none", "split": "test", "question_index": "", "answer": "yes"}',
        '{"hop": "none", "split": "test", "question_index": 0, "answer": NaN}',
        '{"hop": "none", "split": "test", "question_index": 0, "answer": null}',
    ],
)
def test_what_is_uncertain_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(text)
    check_refused(PredictionsError, read, path)
