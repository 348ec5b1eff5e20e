"""Faults planted in suites of paired tests: found, each by its own line of the audit's report, and named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from spoiling import Arrays, Row, check_faults, failed
from suite_spoiling import (
    ADDED,
    CARETS,
    HOLDOUT,
    HOLDOUT_IID,
    HOP,
    IID,
    MEASURED,
    OF_SUITES,
    OOD,
    RAD,
    SpoiltSuite,
    with_suites,
    without_pairs,
)

from clevrhope.audit import CheckResult, audit
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.errors import TemplateError
from clevrhope.pipeline.request import Limits
from clevrhope.pipeline.suites import make_suite
from clevrhope.runtime import assets
from wording import check_refused

pytestmark = pytest.mark.slow

Plant = Callable[[SpoiltSuite], Any]


def unbalanced_values(data: SpoiltSuite) -> None:
    """A pair whose value is asked for with no is lost, in both files and all numbers."""
    pair = -1

    def change(arrays: Arrays) -> None:
        nonlocal pair
        is_no = arrays["answers"][1::2] == data.answer("no")
        pair = int(np.flatnonzero((arrays["relation"] == 2)[::2] & is_no)[0])
        without_pairs(arrays, [pair])

    def leave_out(rows: list[Row]) -> None:
        del rows[2 * pair : 2 * pair + 2]
        for k, row in enumerate(rows):
            row["question_index"], row["pair_index"] = k, k // 2

    def count(raw: Row) -> None:
        raw["suites"][HOP]["rad"][IID]["pairs"] -= 1

    data.change(f"{RAD}.h5", change)
    data.rows(leave_out, RAD)
    data.manifest(count)
    data.measure()


def list_attribute(file: str, name: str, change: Callable[[list[str]], list[str]]) -> Plant:
    """A plant that changes a list in the attributes of a file."""

    def plant(data: SpoiltSuite) -> None:
        with h5py.File(data.path(f"{file}.h5")) as opened:
            values = [str(value) for value in opened.attrs[name]]
        data.attribute(f"{file}.h5", name, change(values))

    return plant


def other_numbers_of_words(data: SpoiltSuite) -> None:
    path = data.path(f"hops/{HOP}/suites/carets/vocab.json")
    vocab = json.loads(path.read_text())
    numbers = vocab["question_token_to_idx"]
    numbers["?!"] = numbers.pop("left")
    path.write_text(json.dumps(vocab))
    data.sign()


def original_in_json(rows: list[Row]) -> None:
    rows[10]["original_index"] += 1


def in_manifest(change: Callable[[Row], Any]) -> Plant:
    """A plant that changes what the manifest says of suites."""
    return lambda data: data.manifest(lambda raw: change(raw["suites"][HOP]))


def in_measured(change: Callable[[Row], Any]) -> Plant:
    """A plant that changes the measurements of suites."""
    return lambda data: data.measured(MEASURED, lambda raw: change(raw["suites"]))


def other_control(names: list[str]) -> list[str]:
    return [name.replace("ing_shape", "ing_color") for name in names]


IN_OTHER_PLACES: dict[str, Plant] = {
    "balance of values": unbalanced_values,
    "per_cell of carets": lambda data: data.attribute(f"{CARETS}.h5", "per_cell", 3),
    "per_cell of holdout": lambda data: data.attribute(f"{HOLDOUT}.h5", "per_cell", 4),
    "another suite": lambda data: data.attribute(f"{CARETS}.h5", "suite", "rad"),
    "n_originals": lambda data: data.attribute(f"{CARETS}.h5", "n_originals", 449),
    "order of tests": list_attribute(CARETS, "tests", lambda tests: [*tests[1:], tests[0]]),
    "another control": list_attribute(HOLDOUT_IID, "controls", other_control),
    "answer in JSON": lambda data: data.rows(lambda rows: rows[1].update(answer="metal"), CARETS),
    "a row less in JSON": lambda data: data.rows(lambda rows: rows.pop(), CARETS),
    "original in JSON": lambda data: data.rows(original_in_json, ADDED),
    "pairs in the manifest": in_manifest(lambda suites: suites["rad"][IID].update(pairs=1000)),
    "suite that is not in the manifest": in_manifest(lambda suites: suites.pop("rad")),
    "split without a file": in_manifest(
        lambda suites: suites["rad"].update(val={"pairs": 1, "originals": 1})
    ),
    "numbers of words": other_numbers_of_words,
    "pairs measured": in_measured(lambda raw: raw["rad"][IID].update(pairs=9)),
    "originals measured": in_measured(lambda raw: raw["rad"][IID].update(originals=9)),
    "relations measured": in_measured(lambda raw: raw["rad"][IID]["tests"]["any"].update(relations=["same"])),
    "cells measured": in_measured(
        lambda raw: raw["carets"][IID]["tests"]["rephrase"]["cells"].update({"00": 1})
    ),
    "partners measured": in_measured(lambda raw: raw["rad"][OOD]["tests"]["any"].update(partners_yes=1)),
    "test that was not measured": in_measured(lambda raw: raw["carets"][OOD]["tests"].pop("rephrase")),
    "nothing measured": in_measured(lambda raw: raw.clear()),
    "another suite measured": in_measured(lambda raw: raw.update(rat=raw["rad"])),
}


@pytest.mark.parametrize("plant", IN_OTHER_PLACES.values(), ids=IN_OTHER_PLACES)
def test_a_planted_fault_is_found(plant: Plant, spoilt_suites: SpoiltSuite) -> None:
    plant(spoilt_suites)
    check_faults(spoilt_suites.root)


def test_each_key_of_a_row_is_compared_with_the_arrays(spoilt_suites: SpoiltSuite) -> None:
    others = {
        "split": "val",
        "question_index": 6,
        "template_index": 99,
        "suite": "rad",
        "pair_index": 7,
        "role": "original",
        "test": "synonyms",
        "tier": "in",
        "original_index": 3,
        "relation": "same",
        "value": "red",
    }
    spoilt_suites.rows(lambda rows: rows[1].update(others), CARETS)
    (line,) = failed(audit(spoilt_suites.root)).values()
    assert line.name == "pair files"
    assert {fault.file for fault in line.faults} == {f"{CARETS}_questions.json"}
    assert {fault.problem.partition(" is not ")[0] for fault in line.faults} == others.keys()
    assert line.n_faults == len(others)


def lines(folder: Path, **choices: Any) -> dict[str, CheckResult]:
    report = audit(folder, **choices)
    assert report.ok, {name: str(each.faults[0]) for name, each in failed(report).items()}
    return {each.name: each for each in report.checks if each.name in OF_SUITES}


def number_searched(folder: Path) -> int:
    """The pairs of a folder's suites of which both questions were made."""
    files = [path for path in sorted(folder.glob("hops/*/suites/*/*.h5")) if "train" not in path.stem]
    both = [(read_table(path, PAIRS).orig_idxs.reshape(-1, 2) < 0).all(axis=1) for path in files]
    return int(sum(each.sum() for each in both))


def test_nothing_is_wrong_with_suites_as_they_were_made(paired: Path) -> None:
    found = lines(paired)
    assert {each.result for each in found.values()} == {"passed"}
    n_pairs = found["pairs"].n_checked
    manifest = json.loads((paired / "manifest.json").read_text())
    of_splits = [split for suite in manifest["suites"][HOP].values() for split in suite.values()]
    assert n_pairs == sum(split["pairs"] for split in of_splits) > 1000
    n_searched = number_searched(paired)
    assert found["pair answers"].n_checked == n_pairs > n_searched > 500
    assert found["pair texts"].n_checked == n_pairs + n_searched
    assert found["pair programs"].n_checked == 2 * n_pairs
    n_added = manifest["suites"][HOP]["rad"]["train_rad"]["pairs"]
    assert found["added questions"].n_checked == 66
    assert found["pair files"].n_checked == 2 * (n_pairs - n_added) + 66


def test_without_suites_nothing_is_checked(clean: Path) -> None:
    found = lines(clean)
    assert {(each.result, each.note) for each in found.values()} == {
        ("not done", "this folder has no suites of paired tests")
    }


def test_suites_of_other_kinds_of_folders(tmp_path: Path) -> None:
    implied = with_suites(tmp_path / "implied", hops=(HOP, "none"), strictness="implied")
    palette = with_suites(tmp_path / "palette", hops=("cyan_cylinder",), limits=Limits((4,)))
    for folder in (implied, palette):
        assert {each.result for each in lines(folder).values()} == {"passed"}
        for suite in ("carets", "rad", "holdout"):
            make_suite(folder, suite, origin="search", per_cell=8)
        assert {each.result for each in lines(folder).values()} == {"passed"}


def test_a_file_that_cannot_be_read_leaves_out_its_pairs_alone(spoilt_suites: SpoiltSuite) -> None:
    whole = {each.name: each for each in audit(spoilt_suites.root).checks}
    path = spoilt_suites.path(f"{RAD}.h5")
    path.write_bytes(path.read_bytes()[:1000])
    found = {each.name: each for each in audit(spoilt_suites.root).checks}
    assert list(found) == list(whole)
    for name in OF_SUITES:
        assert found[name].result == "in part"
        # The suite has no tests with foils of that kind, and its train set can be read.
        same = name in ("pair foils", "added questions")
        assert 0 < found[name].n_checked <= whole[name].n_checked - (not same)
    assert found["text"].result == "passed"
    assert found["text"].n_checked == whole["text"].n_checked


OWN = {
    "test": "some",
    "tier": "beyond",
    "source": ["single_or"],
    "then": [{"type": "exist", "inputs": ["asked"]}],
    "text": ["Is it true that {X} exist?"],
    "relation": "positive",
}


def test_texts_of_an_own_suite_are_read_where_its_files_are_given(tmp_path: Path) -> None:
    own = tmp_path / "templates"
    shutil.copytree(assets.question_templates(), own, ignore=shutil.ignore_patterns("suites"))
    (own / "suites" / "mine").mkdir(parents=True)
    (own / "suites" / "mine" / "tests.json").write_text(json.dumps([OWN]))
    shutil.copy(assets.question_templates() / "suites" / "rad" / "subjects.json", own / "suites" / "mine")
    out = with_suites(tmp_path / "out")
    (split, *_) = make_suite(out, "mine", suite_files=own / "suites" / "mine")
    assert split.n_pairs >= 2
    checks = lines(out)
    assert "mine: not checked without its files" in checks["pair balance"].note
    note = checks["pair texts"].note
    assert note.endswith(" that are not the package's; give their folder with --templates")
    n_texts = lines(out)["pairs"].n_checked + number_searched(out)
    alone = shutil.copytree(own / "suites" / "mine", tmp_path / "elsewhere")
    for folder in (own, own / "suites" / "mine", alone):
        whole = lines(out, templates=folder)["pair texts"]
        assert whole.note == ""
        assert whole.n_checked == n_texts
    assert make_suite(out, "mine", suite_files=own) == make_suite(out, "mine", suite_files=Path(alone))
    (alone / "tests.json").write_text(json.dumps([{**OWN, "tier": "in"}]))
    check_refused(TemplateError, audit, out, templates=Path(alone))
