"""Faults in arrays that say nothing of a question, in folders without JSON: each is found."""

from pathlib import Path

import h5py
import pytest
from spoiling import TRAIN, Arrays, Change, Spoilt, check_faults, put

from clevrhope.audit import audit

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


CHANGES: dict[str, Change] = {
    **{f"question_lengths {step:+}": add("question_lengths", step) for step in (1, -1)},
    **{f"program_lengths {step:+}": add("program_lengths", step) for step in (1, -1)},
    "word behind the end": behind("questions", "question_lengths", 7),
    "end behind the end": behind("questions", "question_lengths", 2),
    "function behind the end": behind("programs", "program_lengths", 5),
    "no start": put("questions", (ROW, 0), 9),
    "padding inside": put("questions", (ROW, 2), 0),
    "start inside": put("questions", (ROW, 2), 1),
    "no end": put("questions", (ROW, slice(4, None)), 9),
    "swapped numbers": swapped_numbers,
    "a relation more": relation_more,
    "a relation fewer": put("relation_needed", ROW, -1),
    "relation_needed 2": put("relation_needed", (ROW, 0), 2),
    "orig_idxs without a row": lambda arrays: arrays.update(orig_idxs=arrays["orig_idxs"][:-1]),
    "relation_needed without a row": lambda arrays: arrays.update(
        relation_needed=arrays["relation_needed"][:-1]
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_array_is_found_without_json(change: Change, spoilt_textless: Spoilt) -> None:
    spoilt_textless.arrays("train", change)
    check_faults(spoilt_textless.root)


@pytest.mark.parametrize(("name", "value"), [("hop", "metal_cube"), ("split", "complex_iid")])
def test_a_file_that_names_another_pair_or_split_is_found(
    spoilt_textless: Spoilt, name: str, value: str
) -> None:
    spoilt_textless.attribute(TRAIN, name, value)
    check_faults(spoilt_textless.root)


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


def test_nothing_is_wrong_without_json(textless: Path) -> None:
    report = audit(textless)
    assert report.ok
    found = {each.name: each for each in report.checks}
    assert found["arrays"].n_checked == found["text"].n_checked > 600
    assert found["HDF5 and JSON"].result == "not done"
