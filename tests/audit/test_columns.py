"""Faults in arrays that say nothing of a question, in folders without JSON: each is found."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from spoiling import TRAIN, Arrays, Change, Spoilt, put

from clevrhope.audit import audit
from clevrhope.audit.checks.questions import ends_of

pytestmark = pytest.mark.slow

ROW = 3
"""Its program has two relations, of three that there is place for."""


def add(name: str, step: int) -> Change:
    return lambda each: each[name].__setitem__(ROW, each[name][ROW] + step)


def behind(name: str, lengths: str, token: int) -> Change:
    """A token behind <END>, and one place free before it."""
    return lambda each: each[name].__setitem__((ROW, each[lengths][ROW] + 1), token)


def swapped_numbers(each: Arrays) -> None:
    each["orig_idxs"][[ROW, ROW + 1]] = each["orig_idxs"][[ROW + 1, ROW]]


def relation_more(each: Arrays) -> None:
    """A relation that the program has not."""
    each["relation_needed"][ROW][each["relation_needed"][ROW] == -1] = 0


NEEDED = "relation_needed is not 0 or 1 for each of"
CHANGES: tuple[tuple[Change, str], ...] = (
    *((add("question_lengths", step), "question_lengths is not") for step in (1, -1)),
    *((add("program_lengths", step), "program_lengths is not") for step in (1, -1)),
    (behind("questions", "question_lengths", 7), "questions: tokens after <END>"),
    (behind("questions", "question_lengths", 2), "questions: tokens after <END>"),
    (behind("programs", "program_lengths", 5), "programs: tokens after <END>"),
    (swapped_numbers, "orig_idxs is not the row's number"),
    (relation_more, NEEDED),
    (put("relation_needed", ROW, -1), NEEDED),
    (put("relation_needed", (ROW, 0), 2), NEEDED),
)


@pytest.mark.parametrize(("change", "problem"), CHANGES)
def test_a_changed_array_is_found_without_json(change: Change, problem: str, spoilt_textless: Spoilt) -> None:
    spoilt_textless.arrays("train", change)
    failed = {each.name: each for each in audit(spoilt_textless.root).checks if each.result == "failed"}
    fault = failed["arrays"].faults[0]
    assert (fault.file, fault.index) == (TRAIN, ROW)
    assert fault.problem.startswith(problem)


@pytest.mark.parametrize(("name", "value"), [("hop", "metal_cube"), ("split", "complex_iid")])
def test_a_file_that_names_another_pair_or_split_is_found(
    spoilt_textless: Spoilt, name: str, value: str
) -> None:
    spoilt_textless.attribute(TRAIN, name, value)
    (check,) = (each for each in audit(spoilt_textless.root).checks if each.result == "failed")
    ((fault),) = check.faults
    assert (fault.file, fault.value) == (TRAIN, value)
    assert fault.problem.startswith(f"attribute {name} is not ")


def test_a_file_without_relations_is_named(spoilt_textless: Spoilt) -> None:
    with h5py.File(spoilt_textless.h5("train"), "r+") as file:
        del file["relation_needed"]
    spoilt_textless.sign()
    found = {each.name: each for each in audit(spoilt_textless.root).checks}
    assert [str(each) for each in found["readable"].faults] == [
        f"{TRAIN}: cannot be read: no array relation_needed"
    ]
    assert found["arrays"].result == "in part"
    assert found["arrays"].n_checked > 100


@pytest.mark.parametrize("name", ["orig_idxs", "relation_needed"])
def test_an_array_that_lost_a_row_is_named(spoilt_textless: Spoilt, name: str) -> None:
    spoilt_textless.arrays("train", lambda each: each.__setitem__(name, each[name][:-1]))
    (fault,) = next(each.faults for each in audit(spoilt_textless.root).checks if each.name == "readable")
    assert f"{TRAIN}: cannot be read: not a question file of clevrhope (" in str(fault)
    assert f"{name} has 161 rows, questions 162" in str(fault)


def test_nothing_is_wrong_without_json(textless: Path) -> None:
    report = audit(textless)
    assert report.ok
    found = {each.name: each for each in report.checks}
    assert found["arrays"].n_checked == found["text"].n_checked > 600
    assert found["HDF5 and JSON"].result == "not done"


@pytest.mark.parametrize(
    ("row", "end", "broken", "more"),
    [
        ([1, 9, 2, 0, 0], 2, False, False),
        ([1, 9, 8, 7, 2], 4, False, False),
        ([1, 9, 2, 0, 8], 2, False, True),
        ([1, 9, 2, 2, 0], 2, False, True),
        ([9, 8, 2, 0, 0], 2, True, False),
        ([1, 0, 8, 2, 0], 3, True, False),
        ([1, 1, 8, 2, 0], 3, True, False),
    ],
)
def test_where_a_row_ends(row: list[int], end: int, broken: bool, more: bool) -> None:
    found = ends_of(np.array([row], np.int32))
    assert [each.tolist() for each in found] == [[end], [broken], [more]]


def test_a_row_without_an_end_is_none() -> None:
    _, broken, _ = ends_of(np.array([[1, 9, 8, 7, 6], [1, 9, 8, 7, 2]], np.int32))
    assert broken.tolist() == [True, False]
