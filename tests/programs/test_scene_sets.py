"""Programs on sets of scenes: reading, execution and traces, through the binding."""

from typing import Any

import numpy as np
import pytest

from clevrhope import _core
from clevrhope.errors import ProgramError, SceneError
from clevrhope.programs import Program, Scene, SceneSet, default_vocabulary, execute, trace
from wording import check_refused, refused


def _scene(*objects: str) -> dict[str, Any]:
    """A scene of objects as "large red rubber cube", from left to right."""
    keys = ("size", "color", "material", "shape")
    n = len(objects)
    before = [list(range(i)) for i in range(n)]
    after = [list(range(i + 1, n)) for i in range(n)]
    return {
        "objects": [dict(zip(keys, words.split(), strict=True)) for words in objects],
        "relationships": {"left": before, "right": after, "behind": before, "front": after},
    }


SCENES = [
    _scene("large red rubber cube", "small blue metal sphere"),
    _scene("small red metal sphere", "large green rubber cube", "small red rubber sphere"),
]

FIND: dict[str, Any] = {"operation": "find", "arguments": ["cube"]}
LEFT: list[dict[str, Any]] = [
    {"operation": "find", "arguments": ["sphere"]},
    FIND,
    {"operation": "with_relation", "dependencies": [0, 1], "arguments": ["left"]},
]


def test_relations_hold_within_an_image() -> None:
    both = SceneSet(SCENES)
    assert execute([*LEFT, {"operation": "count", "dependencies": [2]}], both) == 1
    steps = trace(
        [
            *LEFT,
            {"operation": "unique_images", "dependencies": [2]},
            {"operation": "count", "dependencies": [3]},
        ],
        both,
    )
    assert [(step.function, step.type, step.output) for step in steps] == [
        ("scene", "ObjectSet", [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]),
        ("filter_shape", "ObjectSet", [(0, 1), (1, 0), (1, 2)]),
        ("scene", "ObjectSet", [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]),
        ("filter_shape", "ObjectSet", [(0, 0), (1, 1)]),
        ("with_relation", "ObjectSet", [(1, 0)]),
        ("unique_images", "Images", [1]),
        ("count_images", "Integer", 1),
    ]


def test_a_choice_is_a_value_a_relation_or_fails() -> None:
    unique = [*LEFT, {"operation": "unique", "dependencies": [2]}]
    both = SceneSet(SCENES)

    def choose(*colors: str) -> list[dict[str, Any]]:
        return [*unique, {"operation": "choose_attr", "dependencies": [3], "arguments": colors}]

    assert execute(choose("red", "blue"), both) == "red"
    check_refused(ProgramError, execute, choose("gray", "blue"), both)
    relation = {"operation": "choose_relation", "dependencies": [3, 1], "arguments": ["right", "left"]}
    program = Program([*unique, relation])
    assert execute(program, both) == "left"
    outputs = [step.output for step in trace(choose("gray", "blue"), both)]
    assert outputs[-3:] == [(1, 0), "blue", None]
    assert program.covr_nodes()[-1] == relation
    assert Program(program.nodes()).nodes() == program.nodes()


def test_a_scene_is_a_set_of_one() -> None:
    counts = [
        FIND,
        {"operation": "group_by_images", "dependencies": [0]},
        {"operation": "count", "dependencies": [1]},
    ]
    assert [
        execute(counts, SceneSet(SCENES)),
        execute(counts, SceneSet(SCENES[:1])),
        execute(counts, SCENES[1]),
    ] == [2, 1, 1]
    assert (repr(SceneSet(SCENES)), repr(SceneSet(SCENES[:1]))) == ("SceneSet(2 images)", "SceneSet(1 image)")


def test_a_batch_numbers_relations_behind_the_answers_of_one_image() -> None:
    vocabulary = default_vocabulary()
    assert vocabulary.set_answers == [*vocabulary.answers, "left", "right", "behind", "front"]
    graphs = _core.SceneGraphs.joined(vocabulary, [Scene(scene)._handle for scene in SCENES])
    sets = _core.SceneSets(graphs, np.array([[0, -1], [1, 0], [1, -1]], np.int32))
    assert (len(sets), repr(sets)) == (3, "<SceneSets: 3, 4 images in all>")
    relation = {"operation": "choose_relation", "dependencies": [3, 1], "arguments": ["left", "right"]}
    program = Program([*LEFT, {"operation": "unique", "dependencies": [2]}, relation])
    numbers = np.zeros(3, np.uint32), np.arange(3, dtype=np.uint32)
    answers = _core.execute_batch(program._handle, sets, *numbers)
    left = vocabulary.set_answers.index("left")
    assert answers.tolist() == [_core.NO_ANSWER, left, left]
    with refused(IndexError):
        _core.execute_batch(program._handle, sets, numbers[0][:1], np.array([3], np.uint32))


@pytest.mark.parametrize("row", [[-1, -1], [0, 0], [2, -1]])
def test_rows_that_are_no_sets_are_refused(row: list[int]) -> None:
    graphs = _core.SceneGraphs.joined(default_vocabulary(), [Scene(scene)._handle for scene in SCENES])
    check_refused(SceneError, _core.SceneSets, graphs, np.array([[0, 1], row], np.int32))


def test_sets_have_a_size() -> None:
    for scenes in ([], SCENES * 3):
        check_refused(SceneError, SceneSet, scenes)
    check_refused(SceneError, SceneSet, [*SCENES, SCENES[0]])
    many = [_scene(*[f"large {color} rubber cube"] * 22) for color in ("red", "blue", "green")]
    check_refused(SceneError, SceneSet, many)
    check_refused(ProgramError, Program, [{"operation": "fnd", "arguments": ["cube"]}])
    nodes: list[dict[str, Any]] = [
        {"function": "scene", "inputs": []},
        {"function": "unique", "inputs": [0]},
        {"function": "relate", "inputs": [1], "value_inputs": ["left"]},
        {"function": "count", "inputs": [2]},
    ]
    with refused(ProgramError):
        Program(nodes).covr_nodes()
