"""Every kind of fault that sets of single values can have, planted: found by its own check, and named."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from spoiling import Plant, Row, Spoilt, check_faults, failed

from clevrhope.audit import audit
from clevrhope.config.presets import PRESETS
from clevrhope.pipeline import Request, build

HOP = "prelim_cyan"


def spoils(split: str) -> Callable[[Callable[[Spoilt, Any], None]], Plant]:
    """Makes a plant of a function that changes the arrays of a split."""
    return lambda spoil: lambda data: data.arrays(split, partial(spoil, data), HOP)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("prelim") / "whole"
    config = PRESETS["demo"]
    config = replace(config, sizes=replace(config.sizes, prelim_existence=4, prelim_counting=4))
    build(Request(out=out, hops=(), prelim=("cyan", "cube"), config=config, seed=3, render=False))
    return out


@pytest.fixture
def data(whole: Path, tmp_path: Path) -> Spoilt:
    return Spoilt.copy(whole, tmp_path / "spoilt")


def test_nothing_is_wrong_with_sets_as_they_were_built(whole: Path) -> None:
    report = audit(whole)
    assert failed(report) == {}
    line = next(each for each in report.checks if each.name == "groups")
    assert (line.result, line.n_checked) == ("passed", 2 * (2 * 4 + 6 * 4))


def test_a_folder_without_groups_says_so(train_alone: Path) -> None:
    line = next(each for each in audit(train_alone).checks if each.name == "groups")
    assert (line.result, line.note) == (
        "not done",
        "this folder has no minimal sets, nor questions about single values",
    )


def in_scene(pool: str, k: int, change: Callable[[Row], None]) -> Plant:
    return lambda data: data.scenes(pool, lambda rows: change(rows[k]))


def moved(scene: Row) -> None:
    scene["objects"][2]["3d_coords"][0] += 0.25


def moved_in_a_whole_set(data: Spoilt) -> None:
    def change(rows: list[Row]) -> None:
        for scene in rows[:6]:
            moved(scene)

    data.scenes("counting_color", change)


def other_material(scene: Row) -> None:
    first = scene["objects"][0]
    first["material"] = "metal" if first["material"] == "rubber" else "rubber"


def other_distractor(scene: Row) -> None:
    """One that is not cyan takes another colour for one image."""
    first = next(each for each in scene["objects"] if each["color"] != "cyan")
    first["color"] = "red" if first["color"] != "red" else "blue"


def other_camera(scene: Row) -> None:
    scene["camera"]["location"][0] += 0.1


def one_more(scene: Row) -> None:
    """An image with two cyan objects has three."""
    next(each for each in scene["objects"] if each["color"] != "cyan")["color"] = "cyan"


def no_longer(scene: Row) -> None:
    """The image of a group that shows the value does not."""
    (only,) = scene["objects"]
    only["color"] = "red"


def fewer_objects(scene: Row) -> None:
    del scene["objects"][4]
    for relation, lists in scene["relationships"].items():
        scene["relationships"][relation] = [[other for other in each if other < 4] for each in lists[:4]]


def first_cyan(rows: list[Row]) -> Row:
    return next(row for row in rows if row["objects"][0]["color"] == "cyan")


def not_shown(data: Spoilt) -> None:
    data.scenes("minimal_color", lambda rows: no_longer(first_cyan(rows)))


def other_words(split: str) -> Plant:
    """A question of a set in other words, in HDF5 and JSON alike."""

    def plant(data: Spoilt) -> None:
        def swap(arrays: dict[str, Any]) -> None:
            words = {data.text(split, k, HOP): k for k in range(len(arrays["answers"]))}
            mine = data.text(split, 1, HOP)
            other = next(k for text, k in words.items() if text != mine)
            for name in ("questions", "question_lengths"):
                arrays[name][1] = arrays[name][other]

        data.arrays(split, swap, HOP)

    return plant


def other_value_asked_for(data: Spoilt) -> None:
    """All words "cyan" of a question become "red": its program still asks for cyan."""
    cyan, red = data.word("cyan"), data.word("red")

    def change(arrays: dict[str, Any]) -> None:
        arrays["questions"][:6][arrays["questions"][:6] == cyan] = red

    data.arrays("counting", change, HOP)


@spoils("counting")
def other_answers(data: Spoilt, arrays: dict[str, Any]) -> None:
    arrays["answers"][1] = arrays["answers"][2]


@spoils("existence")
def always_yes(data: Spoilt, arrays: dict[str, Any]) -> None:
    arrays["answers"][:] = data.vocab["answer_token_to_idx"]["yes"]


@spoils("counting")
def lost_question(data: Spoilt, arrays: dict[str, Any]) -> None:
    for name in arrays:
        arrays[name] = arrays[name][:-1]


FAULTS: dict[str, Plant] = {
    "object moved": in_scene("counting_color", 3, moved),
    "object moved in a set": moved_in_a_whole_set,
    "another attribute changed": in_scene("counting_color", 3, other_material),
    "distractor changed": in_scene("counting_color", 2, other_distractor),
    "camera moved": in_scene("counting_color", 2, other_camera),
    "camera moved in a group": in_scene("minimal_color", 0, other_camera),
    "material in a group": in_scene("minimal_color", 0, other_material),
    "one more": in_scene("counting_color", 2, one_more),
    "not shown": not_shown,
    "an object fewer": in_scene("counting_color", 5, fewer_objects),
    "other words": other_words("counting"),
    "other words in a group": other_words("existence"),
    "another value named": other_value_asked_for,
    "answer": other_answers,
    "always yes": always_yes,
    "lost question": lost_question,
}


@pytest.mark.slow
@pytest.mark.parametrize("plant", FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_found(plant: Plant, data: Spoilt) -> None:
    plant(data)
    check_faults(data.root)
