"""Edits of scenes and questions that are asked again: what is given back, and what is refused."""

import json
from typing import Any

import numpy as np
import pytest
from small_worlds import SPECIAL, asked_on, sampled

from clevrhope import _core
from clevrhope.questions import read_templates
from wording import check_refused

NO_CHANGE = np.full((2, 3), -1, dtype=np.int32)
COLOR = 1


@pytest.fixture(scope="module")
def scenes(world: _core.World) -> _core.SceneBatch:
    return sampled(world, 7, 9)


def edited(world: _core.World, scenes: _core.SceneBatch, **changes: Any) -> tuple[list[Any], list[bool]]:
    columns: dict[str, Any] = {
        "scene_rows": np.asarray([0, 1], np.uint32),
        "kept": np.asarray([0xFFFF_FFFF] * 2, np.uint32),
        "changes": NO_CHANGE,
        "indices": np.asarray([3, 4], np.uint64),
        **changes,
    }
    made, is_made = _core.edit_scenes(world, scenes, *columns.values(), pool="mine")
    return json.loads(made.to_json()), is_made.tolist()


def test_objects_are_taken_out_and_values_changed(world: _core.World, scenes: _core.SceneBatch) -> None:
    sources = json.loads(scenes.to_json())
    changes = np.asarray([[-1, -1, -1], [0, COLOR, 2]], np.int32)
    (removal, edit), is_made = edited(
        world, scenes, kept=np.asarray([0b110, 0xFFFF_FFFF], np.uint32), changes=changes
    )
    assert is_made == [True, True]
    assert [each["color"] for each in removal["objects"]] == [
        each["color"] for each in sources[0]["objects"][1:3]
    ]
    assert (removal["image_filename"], removal["split"]) == ("HOPE_mine_000003.png", "mine")
    assert "stream" not in removal
    assert removal["camera"] == sources[0]["camera"]
    assert edit["objects"][0]["color"] == dict(world.attribute_types)["color"][2]
    assert edit["objects"][1:] == sources[1]["objects"][1:]


@pytest.mark.parametrize(
    "changes",
    [
        {"scene_rows": np.asarray([0, 2], np.uint32)},
        {"changes": np.asarray([[0, COLOR, 99], [-1, -1, -1]], np.int32)},
        {"changes": np.asarray([[31, COLOR, 1], [-1, -1, -1]], np.int32)},
        {"changes": np.asarray([[0, 7, 1], [-1, -1, -1]], np.int32)},
        {"changes": np.asarray([[0, -1, 1], [-1, -1, -1]], np.int32)},
        {"changes": np.full((2, 2), -1, np.int32)},
    ],
)
def test_what_is_not_there_is_refused(
    world: _core.World, scenes: _core.SceneBatch, changes: dict[str, Any]
) -> None:
    check_refused(IndexError, edited, world, scenes, **changes)


def test_columns_have_one_length(world: _core.World, scenes: _core.SceneBatch) -> None:
    with pytest.raises(ValueError, match="arrays of 2 and of 1 entries"):
        edited(world, scenes, kept=np.asarray([1], np.uint32))


def test_questions_are_asked_again_where_they_have_an_answer(
    world: _core.World, scenes: _core.SceneBatch
) -> None:
    templates = read_templates(world.vocabulary)
    asked = asked_on(scenes, templates, 5)
    words = [*SPECIAL, *templates.words]
    tokens = _core.ProgramTokens(world.vocabulary)
    questions = _core.SplitQuestions(
        templates,
        asked.question_tokens(words, 60)[0],
        asked.program_tokens(tokens, 60)[0],
        asked.column("question_families"),
        asked.column("answers"),
        words=words,
        tokens=tokens,
        answer_names=world.answers,
    )
    images = asked.column("image_idxs").astype(np.int64)
    places = np.searchsorted(scenes.indices, images.astype(np.uint64)).astype(np.uint32)
    kept = questions.foregrounds(scenes.graphs, places)
    assert (kept < 1 << scenes.n_objects[places].astype(np.uint64)).all()
    again = questions.on(scenes.graphs, places, images, pool="train")
    assert again.json_rows(split="a") == asked.json_rows(split="a")
    relations: dict[str, list[int]] = {name: [] for name in ("left", "right", "front", "behind")}
    nothing = json.dumps([{"objects": [], "relationships": relations}])
    bare = _core.SceneGraphs.from_json(world.vocabulary, nothing.encode(), file="bare")
    with pytest.raises(ValueError, match="no answer on its scene"):
        questions.on(bare, np.zeros_like(places), images, pool="train")
    check_refused(IndexError, questions.foregrounds, scenes.graphs, places + 5)
