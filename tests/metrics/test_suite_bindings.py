"""Predictions about a suite that was made anew, whose file was deleted, or about another suite."""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from building import Cli
from made_folder import Rows, make_folder, right_answers, write_lines
from made_suite import MadePair, write_suite

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import read_manifest, write_manifest
from clevrhope.dataset.suite_questions import suite_columns
from clevrhope.errors import DatasetError, PredictionsError
from clevrhope.metrics import score
from clevrhope.metrics.baselines import baseline
from clevrhope.metrics.pairs import Relation
from clevrhope.metrics.predictions import write_predictions
from clevrhope.metrics.suites import score_suite
from wording import check_refused

HOP, SPLIT = "rubber_cylinder", "complex_iid"

QUESTIONS = {HOP: {"train": [(0, 0, "yes")], SPLIT: [(4, 0, "yes"), (4, 1, "3")]}}

PAIRS = [
    MadePair(0, "yes", "rephrase", Relation.SAME),
    MadePair(1, "yes", "any", Relation.POSITIVE),
    MadePair(0, "no", "antonym", Relation.FLIP),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = make_folder(tmp_path / "data", QUESTIONS)
    write_suite(root, HOP, SPLIT, PAIRS)
    return root


def answers(folder: Path) -> Rows:
    """The right answers to all questions, those about the suite bound to its file."""
    columns = suite_columns("mine", Layout(folder).suite_h5(HOP, "mine", SPLIT))
    place = {"hop": HOP, "split": SPLIT}
    return [
        *right_answers(QUESTIONS),
        *({**place, **columns, "question_index": 2 * k + 1, "answer": p.answer} for k, p in enumerate(PAIRS)),
    ]


def list_suite(folder: Path) -> None:
    """Lists the suite in the manifest, as the command that makes suites does."""
    path = Layout(folder).manifest
    suites = {HOP: {"mine": {SPLIT: {"pairs": len(PAIRS), "originals": 2}}}}
    write_manifest(path, replace(read_manifest(path), suites=suites))


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("digits", [8, 12, 64])
def test_bound_predictions_are_scored_until_the_suite_is_made_anew(
    folder: Path, tmp_path: Path, suffix: str, digits: int
) -> None:
    rows = answers(folder)
    path = tmp_path / f"given.{suffix}"

    def write(rows: Rows) -> None:
        if suffix == "jsonl":
            write_lines(path, rows)
        else:
            # Its schema is that of the first row.
            table = pa.Table.from_pylist([{"suite": None, "suite_sha256": None, **row} for row in rows])
            pq.write_table(table, path)

    content = Layout(folder).suite_h5(HOP, "mine", SPLIT).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    full = [{**row, "suite_sha256": digest[:digits]} if "suite" in row else row for row in rows]
    write(full)
    scores = score_suite(folder, "mine", path, seed=1, bootstrap=0)
    assert scores.conditions[0].accuracies[SPLIT] == 100.0
    assert scores.n_missing == 0
    # Entries that were changed make other pairs in the rows of those before.
    write_suite(folder, HOP, SPLIT, [PAIRS[2], *PAIRS[:2]])
    with pytest.raises(PredictionsError) as caught:
        score_suite(folder, "mine", path, seed=1, bootstrap=0)
    assert caught.value.counts == {"suite": 3}
    told = str(caught.value)
    assert f"{HOP} {SPLIT}, answered for a file with SHA-256 {digest[:digits][:12]}; it has " in told
    assert told.endswith("so answer it again: clevrhope evaluate RUN --suite mine")
    assert told.count("answered for") == 1
    # The questions of the splits are as they were, and rows that do not say what they are about are taken.
    score(folder, path, seed=1, bootstrap=0, by=["answer"])
    write([{name: value for name, value in row.items() if name != "suite_sha256"} for row in rows])
    unbound = score_suite(folder, "mine", path, seed=1, bootstrap=0)
    assert unbound.conditions[0].accuracies[SPLIT] < 100.0


@pytest.mark.parametrize("value", ["3f2a", "not a digest", 12345678, True, "ABCDEF0123"])
def test_what_is_not_a_digest(folder: Path, tmp_path: Path, value: object) -> None:
    rows = [{**row, "suite_sha256": value} if "suite" in row else row for row in answers(folder)]
    given = write_lines(tmp_path / "given.jsonl", rows)
    check_refused(PredictionsError, score_suite, folder, "mine", given, seed=1, bootstrap=0)


def test_baselines_are_bound(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "no.jsonl"
    write_predictions(path, baseline(folder, "always_no", suite="mine"))
    score_suite(folder, "mine", path, seed=1, bootstrap=0)
    write_suite(folder, HOP, SPLIT, PAIRS[:2])
    check_refused(PredictionsError, score_suite, folder, "mine", path, seed=1, bootstrap=0)


def test_predictions_about_another_suite(folder: Path, tmp_path: Path) -> None:
    write_suite(folder, HOP, SPLIT, PAIRS, name="mime")
    rows = answers(folder)
    for some in ([row for row in rows if "suite" in row], rows):
        given = write_lines(tmp_path / "given.jsonl", some)
        check_refused(PredictionsError, score_suite, folder, "mime", given, seed=1)


@pytest.mark.parametrize("name", ["complex_iid.h5", "vocab.json", ""])
def test_a_file_of_the_suite_that_is_gone(cli: Cli, folder: Path, tmp_path: Path, name: str) -> None:
    """With "" the whole folder is."""
    list_suite(folder)
    given = write_lines(tmp_path / "given.jsonl", answers(folder))
    place = folder / "hops" / HOP / "suites/mine"
    if name:
        (place / name).unlink()
    else:
        shutil.rmtree(place.parent)
    for command in (
        ["score", folder, given, "--seed", "1"],
        ["baseline", folder, "--kind", "always_no", "--out", tmp_path / "no.jsonl"],
        ["ask", folder, "--out", tmp_path / "ask.jsonl"],
    ):
        told = cli(*command, "--suite", "mine", code=1).err
        assert told.rstrip().endswith(
            f"{place / (name or 'complex_iid.h5')}: no such file, though manifest.json lists it; restore it, "
            f"or make the suite again: clevrhope suite mine {folder} --hop {HOP}"
        )
    check_refused(DatasetError, score_suite, folder, "mine", given, seed=1)
    # What is about the test sets alone does not need it.
    told = cli("score", folder, given, "--seed", "1", "--by", "answer", "--json").out
    assert json.loads(told)["n_of_suites"] == 3
