"""Files of predictions: both formats say the same, and whatever is wrong is counted, named, and only that."""

import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from building import Cli
from made_folder import Rows, make_folder, right_answers, write_lines

from clevrhope.errors import PredictionsError
from clevrhope.metrics import predictions, score
from wording import check_refused, check_words, refused

HOP = "rubber_cylinder"
QUESTIONS = {
    HOP: {
        "train": [(0, 0, "yes")],
        "complex_iid": [(4, 0, "yes"), (4, 1, "3"), (4, 11, "red"), (7, 0, "no")],
        "complex_ood": [(1, 0, "yes"), (2, 1, "3"), (3, 11, "blue"), (5, 0, "no"), (6, 1, "10")],
    },
    "none": {"test": [(2, 0, "no"), (2, 1, "1")]},
}

Fail = Callable[..., PredictionsError]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("made") / "data", QUESTIONS)


@pytest.fixture
def rows() -> Rows:
    """Everything right: four, five and two predictions, in lines 1 to 11."""
    return right_answers(QUESTIONS)


@pytest.fixture
def fail(folder: Path, tmp_path: Path) -> Fail:
    """Scores rows, or a file's text, that have to fail; gives the error."""

    def run(given: Rows | str, **more: Any) -> PredictionsError:
        path = tmp_path / "p.jsonl"
        if isinstance(given, str):
            path.write_text(given)
        else:
            write_lines(path, given)
        with refused(PredictionsError) as caught:
            score(folder, path, **{"seed": 1, "by": (), **more})
        assert "\n" not in str(caught.value)
        return caught.value

    return run


def parquet(path: Path, rows: Rows, **columns: pa.DataType) -> Path:
    """Rows as Parquet, with types for some columns."""
    table = pa.Table.from_pylist(rows)
    for name, kind in columns.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(name).cast(kind))
    pq.write_table(table, path, row_group_size=4)
    return path


# Both formats


ODD_LINES = [
    '{"hop": "h", "split": "s", "question_index": 3, "answer": "yes", "run": 1}',
    '{"hop": "h", "split": "s", "question_index": 0, "answer": "yes", "run": 1}',
    '{"hop": "h", "split": "s", "question_index": 123456789012345678, "answer": "yes", "run": 1}',
    '{"hop": "h", "split": "s", "question_index": 3.0, "answer": "yes", "run": 1}',
    '{"hop": "h", "split": "s", "question_index": 4, "answer": "yes", "run": "1"}',
    '{"hop": "h", "split": "s", "question_index": 5, "answer": 1, "run": 1}',
    '{"hop": "h", "split": "s", "question_index": 6, "answer": true, "run": 1}',
    # The first number is not the question's: it belongs to another object.
    '{"x": {"question_index": 7, "y": 1}, "hop": "h", "split": "s", "question_index": 8, "answer": "no"}',
    '{"x": {"question_index": 9, "y": 1}, "hop": "h", "split": "s", "question_index": 8, "answer": "no"}',
    '{"note": "\\"question_index\\": 1,", "hop": "h", "split": "s", "question_index": 13, "answer": "no"}',
    '{"note": "\\"question_index\\": 2,", "hop": "h", "split": "s", "question_index": 14, "answer": "no"}',
    '{"answer": "no", "hop": "h", "split": "s", "question_index": 15}',
    '{"answer": "no", "hop": "h", "split": "s", "question_index": 16}',
]


@pytest.mark.parametrize("most", [0, 1, 5_000])
def test_lines_that_look_alike_are_read_as_json_reads_them(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions, "_MOST_SHAPES", most)
    path = tmp_path / "p.jsonl"
    path.write_text("\n\n".join(ODD_LINES * 2) + "\n")
    (block,) = predictions.read_predictions(path)
    said = [json.loads(line) for line in ODD_LINES] * 2
    assert block.question_index.tolist() == [row["question_index"] for row in said]
    answers = ["yes" if row["answer"] is True else str(row["answer"]) for row in said]
    assert [block.answers[k] for k in block.answer] == answers
    runs = [None if "run" not in row else str(row["run"]) for row in said]
    assert [block.targets[k].run for k in block.target] == runs
    assert list(block.rows) == list(range(1, 4 * len(ODD_LINES), 2))


def test_a_number_that_is_said_twice_is_refused(tmp_path: Path) -> None:
    twice = '{"hop": "h", "split": "s", "question_index": 10, "answer": "no", "question_index": 11}'
    path = tmp_path / "p.jsonl"
    path.write_text(f"{ODD_LINES[0]}\n{twice}\n")
    check_refused(PredictionsError, list, predictions.read_predictions(path))


@pytest.mark.parametrize("index", ["007", "\u0664", "1_0", "+1", ""])
def test_what_is_no_number_in_json_is_none_in_a_line_like_others(tmp_path: Path, index: str) -> None:
    first = ODD_LINES[0]
    path = tmp_path / "p.jsonl"
    path.write_text(f"{first}\n{first.replace(': 3,', f': {index},')}\n")
    check_refused(PredictionsError, list, predictions.read_predictions(path))


@pytest.mark.parametrize("block", [1, 4, 50_000])
def test_both_formats_say_the_same(
    folder: Path, tmp_path: Path, rows: Rows, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions, "ROWS_A_BLOCK", block)
    rows[1]["answer"] = "2"
    many = [{**row, "run": run, "train_size": 25_000, "logit": 0.5} for run in ("a", "b") for row in rows]
    many[-1]["answer"] = "yes"
    many = many[::2] + many[1::2]
    expected = score(folder, write_lines(tmp_path / "p.jsonl", many), seed=2, by=["answer"])
    small = {"question_index": pa.int16(), "hop": pa.dictionary(pa.int8(), pa.string())}
    for n, types in enumerate(({}, small, {"train_size": pa.float32(), "run": pa.large_string()})):
        path = parquet(tmp_path / f"{n}.parquet", many, **types)
        assert score(folder, path, seed=2, by=["answer"]) == expected
    halves = [write_lines(tmp_path / f"{k}.jsonl", many[k::2]) for k in range(2)]
    assert score(folder, halves, seed=2, by=["answer"]) == expected
    assert expected.condition(HOP, 25_000).accuracies["complex_iid"] == 75.0
    assert [run["accuracy"].value for run in expected.condition("none", 25_000).splits["test"].runs] == [
        100.0,
        50.0,
    ]


@pytest.mark.parametrize("as_parquet", [False, True])
def test_answers_may_be_booleans_and_numbers(
    folder: Path, tmp_path: Path, rows: Rows, as_parquet: bool
) -> None:
    """One column of Parquet has one type, so each kind of question comes in a file of its own there."""
    values = {"yes": True, "no": False, "3": 3.0, "10": 10, "1": 1}
    for row in rows:
        row["answer"] = values.get(row["answer"], row["answer"])
    kinds: dict[type, Rows] = {}
    for row in rows:
        kinds.setdefault(type(row["answer"]), []).append(row)
    assert set(kinds) == {bool, int, float, str}
    if as_parquet:
        files = [parquet(tmp_path / f"{kind.__name__}.parquet", some) for kind, some in kinds.items()]
    else:
        files = [write_lines(tmp_path / "p.jsonl", rows)]
    for condition in score(folder, files, seed=1, by=()).conditions:
        assert set(condition.accuracies.values()) == {100.0}


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """60,000 rows are 12 bytes a question and 2 a prediction, 360 kB; as dictionaries they take 20 MB."""
    monkeypatch.setattr(predictions, "ROWS_A_BLOCK", 1000)
    questions = {"none": {"test": [(k // 9, 0, "no") for k in range(20_000)]}}
    folder = make_folder(tmp_path / "data", questions, measured=False)
    rows = right_answers(questions)
    given = write_lines(tmp_path / "p.jsonl", ({**row, "run": run} for run in range(3) for row in rows))
    del rows
    score(folder, given, seed=1, by=(), bootstrap=0)  # once before, for what is imported and kept
    tracemalloc.start()
    try:
        assert score(folder, given, seed=1, by=(), bootstrap=0).n_predictions == 60_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4e6


# Missing, doubled, unknown


def test_missing_questions_are_counted_and_named(fail: Fail, rows: Rows) -> None:
    error = fail([row for row in rows if (row["split"], row["question_index"]) not in
                  {("complex_iid", 1), ("complex_iid", 3), ("complex_ood", 4)}])  # fmt: skip
    assert error.counts == {"missing": 3}


def test_a_missing_split_and_a_missing_hop(fail: Fail, rows: Rows) -> None:
    error = fail([row for row in rows if row["split"] == "complex_iid"])
    assert error.counts == {"hops missing": 1, "missing": 5}


def test_each_run_has_to_be_whole(fail: Fail, rows: Rows) -> None:
    """What another run or train size answered does not count."""
    more = [{**row, "run": "b", "train_size": 7} for row in rows[:-1]]
    error = fail([{**row, "run": "a", "train_size": 7} for row in rows] + more)
    assert error.counts == {"missing": 1}


def test_doubled_questions(fail: Fail, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one block or in two; the same answer twice is twice too."""
    for block in (50_000, 3):
        monkeypatch.setattr(predictions, "ROWS_A_BLOCK", block)
        error = fail([*rows, rows[2], rows[2], {**rows[5], "answer": "red"}])
        assert error.counts == {"doubled": 3}


def test_unknown_ones_are_counted_by_kind_and_the_first_three_named(fail: Fail, rows: Rows) -> None:
    odd = [
        {**rows[0], "hop": "rubber_cilinder"},
        {**rows[0], "split": "complex_odd"},
        {**rows[0], "split": "train"},
        *({**rows[0], "question_index": k} for k in (-1, 4, 5, 10**15)),
    ]
    rows[7]["answer"] = "ten"
    rows[8]["answer"] = "<NULL>"
    error = fail(rows + odd)
    assert error.counts == {"hop": 1, "split": 2, "question": 4, "answer": 2}


def test_unknown_names_are_told_once_and_dots_stand_for_more_of_them(fail: Fail, rows: Rows) -> None:
    """A HOP has many predictions in several splits and blocks: its name, not its rows, is what is listed."""
    odd = [{**row, "hop": hop} for hop in ("one", "two", "three") for row in rows[:6]]
    assert fail(rows + odd).counts == {"hop": 18}
    assert fail(rows + odd + [{**rows[0], "hop": "four"}]).counts == {"hop": 19}


def test_partial_scores_what_is_there(folder: Path, tmp_path: Path, rows: Rows) -> None:
    """Three of four in distribution are there, two of them right; run b has nothing else."""
    rows[0]["answer"] = "no"
    given = [{**row, "run": "a"} for row in rows[:3] + rows[4:9]] + [{**row, "run": "b"} for row in rows[1:3]]
    scores = score(folder, write_lines(tmp_path / "p.jsonl", given), seed=1, by=["answer"], partial=True)
    (condition,) = scores.conditions
    iid, ood = condition.splits.values()
    third = pytest.approx(100 / 3)
    assert [run["accuracy"].value for run in iid.runs] == [pytest.approx(200 / 3), 100.0]
    assert iid.runs[0].counts["n_questions"] == 3
    assert [run["accuracy"].value for run in ood.runs] == [100.0, None]
    assert [run["gap"].value for run in condition.gaps["complex"].runs] == [third, None]
    assert iid.mean["accuracy"].value == pytest.approx((200 / 3 + 100) / 2)
    assert condition.gaps["complex"].mean["gap"].value == third
    assert condition.missing == {"complex_iid": 1 + 2, "complex_ood": 5}
    assert (scores.n_missing, scores.hops_missing) == (8, ("none",))
    counted = {name: each.mean for name, each in iid.by("answer").items()}
    assert {name: (each["accuracy"].value, each.counts["n_questions"]) for name, each in counted.items()} == {
        "yes/no": (0.0, 1),
        "count": (100.0, 1),
        "color": (100.0, 1),
    }


def test_partial_forgives_nothing_else(fail: Fail, rows: Rows) -> None:
    assert fail([rows[0], rows[0]], partial=True).counts == {"doubled": 1}
    assert fail([{**rows[0], "answer": "ten"}], partial=True).counts == {"answer": 1}
    fail([], partial=True)


def test_chosen_hops_alone_have_to_be_there(folder: Path, tmp_path: Path, rows: Rows, fail: Fail) -> None:
    scores = score(folder, write_lines(tmp_path / "q.jsonl", rows), seed=1, by=(), hops=["none"])
    assert ([each.hop for each in scores.conditions], scores.n_left_aside) == (["none"], 9)
    elsewhere = [{**row, "hop": "cyan_cube"} for row in rows[:3]]
    more = write_lines(tmp_path / "more.jsonl", rows + elsewhere)
    assert score(folder, more, seed=1, by=(), hops=["none"]).n_left_aside == 9 + 3, "unknown to the folder"
    assert fail(rows + elsewhere).counts == {"hop": 3}
    fail(rows, hops=["nune"])
    fail(rows[:9], hops=["none"])


# Files that cannot be read

GOOD = {"hop": HOP, "split": "complex_iid", "question_index": 0, "answer": "yes"}


def line(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes}) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        line() + '{"hop": "rubber',
        "[" + line() + "]",
        line() + "3\n",
        line() + '{"hop": "none", "split": "test", "answer": "no"}\n',
        line() + line(answer=["yes"]),
        line() + line(answer=None),
        line() + line(answer=2.5),
        line() + line(hop=7),
        line() + line(question_index=True),
        line() + line(question_index=1.5),
        line() + line(question_index=10**30),
        line() + line(question_index=10**40),
        line() + line(run=True),
        line(run=1) + line(run=True),
        line() + line(train_size="all"),
        line() + line(train_size=-5),
        "hop,split\n",
        "[" * 100_000,
        "",
    ],
    ids=lambda text: text[-40:].strip(),
)
def test_a_file_that_is_none(fail: Fail, text: str) -> None:
    assert not fail(text).counts


def test_bytes_that_are_no_text(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    for given in (path, tmp_path / "nowhere.jsonl", tmp_path):
        check_refused(PredictionsError, score, folder, given, seed=1)


def test_parquet_that_is_none(
    folder: Path, tmp_path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet(tmp_path / "p.parquet", rows)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    check_refused(PredictionsError, score, folder, path, seed=1)

    def fail(changed: Rows) -> None:
        check_refused(PredictionsError, score, folder, parquet(path, changed), seed=1)

    without = [{key: value for key, value in row.items() if key != "split"} for row in rows]
    fail(without)
    rows[2]["question_index"] = None
    fail(rows)
    rows[2]["question_index"] = 99
    fail(rows)
    monkeypatch.setattr(predictions, "ROWS_A_BLOCK", 2)
    fail(rows)
    fail([{**row, "answer": ["yes"]} for row in rows])


def test_parquet_without_pyarrow(
    folder: Path, tmp_path: Path, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet(tmp_path / "p.parquet", rows)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    check_refused(PredictionsError, score, folder, path, seed=1)
    assert score(folder, write_lines(tmp_path / "p.jsonl", rows), seed=1, by=()).n_predictions == 11


# The folder, and the command line


def test_folders_that_cannot_be_scored(cli: Cli, folder: Path, tmp_path: Path, rows: Rows) -> None:
    given = write_lines(tmp_path / "p.jsonl", rows)
    fewer = write_lines(tmp_path / "fewer.jsonl", rows[1:])
    for code, *arguments in (
        (2, tmp_path, given),
        # No scene files were made for this folder: only the breakdown by objects needs them.
        (1, folder, given, "--by", "objects"),
        (2, folder, given, "--by", "famly"),
        (2, folder, fewer, "--by", "none"),
    ):
        said = cli("score", *arguments, "--quiet", code=code)
        assert said.out == ""
        (sentence,) = said.err.splitlines()
        check_words(sentence)
    partial = cli("score", folder, fewer, "--by", "none", "--partial", "--quiet").out
    assert "1 question has no prediction and is left out." in partial
