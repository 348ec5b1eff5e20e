"""The check for leaks: files that disagree, are missing or cannot be read, and how violations are counted."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from leak_dataset import HOP, clean, report_on, wrong_answer

from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.leaks.report import LeakKind
from clevrhope.errors import DatasetError
from clevrhope.splits.hops import Hop
from wording import refused


@pytest.mark.parametrize(
    ("column", "place", "value"),
    [
        ("answers", 1, 4),
        ("image_idxs", 1, 3),
        ("orig_idxs", 2, 1),
        ("question_families", 0, 84),
        ("question_lengths", 0, 9),
        ("program_lengths", 0, 3),
        ("questions", (1, 3), 3),
        ("questions", (1, 39), 5),
        ("programs", (2, 1), 3),
    ],
)
def test_arrays_that_say_something_else_are_found(
    column: str, place: int | tuple[int, int], value: int, tmp_path: Path
) -> None:
    def spoil(split: str, arrays: dict[str, Any]) -> None:
        if split == "train":
            values = np.array(arrays[column])
            assert values[place] != value
            values[place] = value
            arrays[column] = values

    data = clean()
    data.spoil_arrays = spoil
    report = report_on(data, tmp_path)
    row = place if isinstance(place, int) else place[0]
    told = [v for v in report.violations if v.file == "hops/rubber_cylinder/train.h5"]
    assert [v.index for v in told] == [row]
    assert told[0].problem.startswith(column)
    # Of another image, program or answer, the answer does not come out either.
    others = [v for v in report.violations if v not in told]
    assert {v.index for v in others} <= {row}
    assert all(v.problem.startswith("its program") for v in others)


def test_rows_that_are_too_many_or_too_few_are_found(tmp_path: Path) -> None:
    def cut(split: str, arrays: dict[str, Any]) -> None:
        if split == "complex_ood":
            for name, values in arrays.items():
                arrays[name] = values[:1]

    data = clean()
    data.spoil_arrays = cut
    problems = [(v.file, v.problem) for v in report_on(data, tmp_path).violations]
    assert problems == [
        (
            "hops/rubber_cylinder/complex_ood_questions.json",
            "has 2 questions, but the HDF5 file has another number",
        )
    ]


def test_all_violations_are_counted_and_the_first_listed(tmp_path: Path) -> None:
    data = clean()
    data.questions["train"] = [{**data.questions["train"][0], "answer": "maybe"} for _ in range(300)]
    report = report_on(data, tmp_path)
    assert report.results[LeakKind.PROGRAM].n_faults == report.n_violations == 300
    assert len(report.violations) == 20
    assert str(report.violations[0]) == (
        "hops/rubber_cylinder/train_questions.json[0]: its program gives 1, not the answer: maybe"
    )


def test_many_violations_of_one_kind_hide_none_of_another(tmp_path: Path) -> None:
    data = clean()
    train = data.questions["train"]
    train[:] = [{**train[0], "answer": "maybe"} for _ in range(200)]
    train.append({**train[0], "answer": "1", "question": "How many matte cylinders are there?"})
    report = report_on(data, tmp_path)
    assert report.results[LeakKind.PROGRAM].n_faults == 200
    assert [v.index for v in report.results[LeakKind.PAIR].faults] == [200]


def test_without_a_pair_all_else_is_checked(tmp_path: Path) -> None:
    data = clean()
    data.questions["train"][0]["answer"] = "0"
    data.write(tmp_path)
    none = (tmp_path / "hops" / HOP.name).rename(tmp_path / "hops" / "none")
    for path in none.glob("minimal_*"):
        path.unlink()
    report = LeakCheck(tmp_path).check(Hop("none", None, 0))
    assert [v.problem for v in report.violations] == ["its program gives 1, not the answer"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("vocab.json", "{}"),
        ("vocab.json", '{"question_token_to_idx": ['),
        ("hops/rubber_cylinder/train_questions.json", '{"questions": [{}]}'),
        ("hops/rubber_cylinder/train_questions.json", '{"questions": [\n{"question": \n]}'),
        ("scenes/train/0000.json", '{"scenes": [{"image_index": 0}]}'),
        ("scenes/train/0000.json", '{"scenes": ['),
        ("hops/rubber_cylinder/train.h5", "none"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(name: str, content: str, tmp_path: Path) -> None:
    clean().write(tmp_path)
    (tmp_path / name).write_text(content)
    with refused(DatasetError):
        LeakCheck(tmp_path).check(HOP)


def test_files_with_a_row_a_line_say_the_same(tmp_path: Path) -> None:
    data = clean()
    wrong_answer(data)
    expected = report_on(data, tmp_path)
    for path in [*tmp_path.glob("scenes/*/*.json"), *tmp_path.glob("hops/*/*.json")]:
        content = json.loads(path.read_text())
        key = "scenes" if "scenes" in content else "questions"
        rows = ",\n".join(json.dumps(row) for row in content[key])
        path.write_text(f'{{"info": {{}}, "{key}": [\n{rows}\n]}}\n')
    assert LeakCheck(tmp_path).check(HOP) == expected
