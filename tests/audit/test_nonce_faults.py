"""Faults planted in episodes with nonce words: found, each by its own line of the report, and named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from spoiling import Arrays, Spoilt, failed, put

from clevrhope.audit import audit
from clevrhope.config.presets import PRESETS
from clevrhope.pipeline import Request, build

pytestmark = pytest.mark.slow

UNSEEN, SEEN = "nonce/unseen.h5", "nonce/seen.h5"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("audit") / "whole"
    build(Request(out, ("none",), PRESETS["demo"], seed=3, splits=(), nonce=66, render=False))
    return out


@pytest.fixture
def data(whole: Path, tmp_path: Path) -> Spoilt:
    return Spoilt.copy(whole, tmp_path / "spoilt")


def both(data: Spoilt, change: Callable[[Arrays], None]) -> None:
    for name in (UNSEEN, SEEN):
        data.change(name, change)


def rows_of(data: Spoilt, name: str, column: str) -> Any:
    with h5py.File(data.path(name)) as file:
        return file[column][:]


def wrong_answer(data: Spoilt) -> None:
    both(data, put("answers", 0, rows_of(data, UNSEEN, "answers")[1]))


def other_text(data: Spoilt) -> None:
    both(data, put("questions", 0, rows_of(data, UNSEEN, "questions")[4]))


def other_program(data: Spoilt) -> None:
    both(data, put("programs", 0, rows_of(data, UNSEEN, "programs")[4]))


def other_form(data: Spoilt) -> None:
    """Row 0 asks whether a pair of a 3 x 3 grid is there."""
    both(data, put("question_families", 0, 1))


def other_grid(data: Spoilt) -> None:
    both(data, put("grids", 0, 1))


def complex_wrong_answer(data: Spoilt) -> None:
    both(data, put("answers", 9, rows_of(data, UNSEEN, "answers")[10]))


def complex_other_text(data: Spoilt) -> None:
    for row in (9, 10):
        both(data, put("questions", row, rows_of(data, UNSEEN, "questions")[20]))


def complex_other_program(data: Spoilt) -> None:
    for row in (9, 10):
        both(data, put("programs", row, rows_of(data, UNSEEN, "programs")[20]))


def complex_about_another_pair(data: Spoilt) -> None:
    for row in (9, 10):
        both(data, put("pairs", row, rows_of(data, UNSEEN, "pairs")[20]))
        both(data, put("words", row, rows_of(data, UNSEEN, "words")[20]))


def second_word_for_a_value(data: Spoilt) -> None:
    """A synonym has no nonce word, so that it tells what the word would have meant."""
    questions = rows_of(data, UNSEEN, "questions")
    for word, other in {"cube": "block", "cubes": "blocks", "sphere": "ball", "spheres": "balls"}.items():
        questions[questions == data.word(word)] = data.word(other)
    for row in range(66):
        if row % 11 in (9, 10):
            both(data, put("questions", row, questions[row]))


def third_object_changed(data: Spoilt) -> None:
    unseen, seen = (rows_of(data, name, "support_idxs") for name in (UNSEEN, SEEN))
    (slot, *_) = np.flatnonzero(unseen[0] == seen[0])
    data.change(SEEN, put("support_idxs", (0, slot), seen[4, slot]))


def swap_undone(data: Spoilt) -> None:
    data.change(UNSEEN, put("support_idxs", 0, rows_of(data, SEEN, "support_idxs")[0]))
    data.change(UNSEEN, put("statements", 0, rows_of(data, SEEN, "statements")[0]))


def statement_untrue(data: Spoilt) -> None:
    statements = rows_of(data, UNSEEN, "statements")[0].tolist()
    other = next(each for each in statements if each != statements[0])
    data.change(UNSEEN, put("statements", (0, 0), other))


def pair_said(data: Spoilt) -> None:
    said = {*rows_of(data, SEEN, "statements")[0].ravel().tolist()}
    asked = [token for token in rows_of(data, SEEN, "questions")[0].tolist() if token in said - {0, 1, 2}]
    pair = next(each for each in rows_of(data, SEEN, "statements")[0].tolist() if {*asked[-2:]} <= {*each})
    data.change(UNSEEN, put("statements", (0, 0), pair))


def one_word_for_two_values(data: Spoilt) -> None:
    words = rows_of(data, UNSEEN, "words")[0]
    first, second = np.flatnonzero(words)[:2]
    both(data, put("words", (0, first), words[second]))


def known_word(data: Spoilt) -> None:
    words = rows_of(data, UNSEEN, "words")[0]
    both(data, put("words", (0, np.flatnonzero(words)[0]), data.word("shiny")))


def types_not_told(data: Spoilt) -> None:
    for name in (UNSEEN, SEEN):
        data.attribute(name, "types", "found")


def other_partner(data: Spoilt) -> None:
    both(data, put("partners", 0, 9))


def scene_recolored(data: Spoilt) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for each in rows[1]["objects"]:
            each["color"], each["material"] = "gray", "metal"

    data.scenes("nonce_scenes", change)


def support_moved(data: Spoilt) -> None:
    unseen, seen = (rows_of(data, name, "support_idxs")[0] for name in (UNSEEN, SEEN))
    index = int(seen[unseen != seen][0])

    def change(rows: list[dict[str, Any]]) -> None:
        (row,) = (each for each in rows if each["image_index"] == index)
        row["objects"][0]["rotation"] += 10

    data.scenes("nonce_objects", change)


def answers_of_one_kind(data: Spoilt) -> None:
    numbers = rows_of(data, UNSEEN, "answers")
    both(data, put("answers", numbers == numbers[0], numbers[1]))


def rows_missing(data: Spoilt) -> None:
    def change(arrays: Arrays) -> None:
        for name in arrays:
            arrays[name] = arrays[name][:-1]

    data.change(SEEN, change)


def always_the_same_first(data: Spoilt) -> None:
    """Supports in which the value asked about of A always comes first among swapped objects."""
    unseen, seen = (rows_of(data, name, "support_idxs") for name in (UNSEEN, SEEN))
    with h5py.File(data.path(UNSEEN)) as file:
        asked = [data.word(file.attrs["value_names"][a]) for a, _ in file["pairs"][:]]

    def change(arrays: Arrays) -> None:
        for row, (one, other) in enumerate(zip(unseen, seen, strict=True)):
            is_first = (one != other) & (arrays["statements"][row] == asked[row]).any(axis=1)
            order = np.argsort(~is_first, kind="stable")
            for name in ("support_idxs", "statements"):
                arrays[name][row] = arrays[name][row][order]

    both(data, change)


@pytest.mark.parametrize(
    ("plant", "lines"),
    [
        (wrong_answer, {"answers", "scenes", "balance"}),
        (other_text, {"answers", "scenes"}),
        (other_program, {"answers", "scenes", "words"}),
        (other_form, {"words"}),
        (other_grid, {"words"}),
        (complex_wrong_answer, {"answers", "scenes", "balance"}),
        (complex_other_text, {"answers"}),
        (complex_other_program, {"answers"}),
        (complex_about_another_pair, {"answers", "held out", "words"}),
        (second_word_for_a_value, {"answers"}),
        (third_object_changed, {"support", "words"}),
        (swap_undone, {"support", "held out", "scenes"}),
        (statement_untrue, {"support", "words", "scenes"}),
        (pair_said, {"support", "held out", "words", "scenes"}),
        (one_word_for_two_values, {"words", "scenes"}),
        (known_word, {"words", "scenes"}),
        (types_not_told, {"words"}),
        (other_partner, {"scenes"}),
        (scene_recolored, {"answers", "scenes"}),
        (support_moved, {"support"}),
        (answers_of_one_kind, {"answers", "scenes", "balance"}),
        (rows_missing, {"support"}),
        (always_the_same_first, {"balance"}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_fault_is_found(data: Spoilt, plant: Callable[[Spoilt], None], lines: set[str]) -> None:
    plant(data)
    lines_failed = failed(audit(data.root))
    found = {name.removeprefix("nonce words: ") for name in lines_failed if name.startswith("nonce words")}
    assert found == lines
    assert all(str(each.faults[0]).startswith(("nonce/", "scenes/")) for each in lines_failed.values())
