"""What takes scenes takes one, several, or a file's content; and what they lack is assumed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clevrhope
from clevrhope import ConfigError, ProgramError, SceneError, execute, instantiate_questions, trace
from clevrhope.programs import default_vocabulary, read_vocabulary
from clevrhope.runtime.assets import blender_assets
from clevrhope.scenes import SceneBatch, sample_scenes
from clevrhope.scenes.forms import Scenes
from wording import check_refused, refused

BATCH = sample_scenes(3, seed=6)
WHOLE: list[dict[str, Any]] = json.loads(BATCH.to_json())
FORMS: dict[str, Any] = {
    "handles": clevrhope.sample_scenes(3, seed=6),
    "list": WHOLE,
    "tuple": tuple(WHOLE),
    "mixed": [WHOLE[0], *clevrhope.sample_scenes((1, 2), seed=6)],
    "file": {"info": {}, "scenes": WHOLE},
    "batch": BATCH,
}


def images(scenes: Scenes) -> list[bytes]:
    made = clevrhope.render(scenes, renderer="native", quality="draft", width=48, height=32)
    return [pixels.tobytes() for _, pixels in sorted(made, key=lambda each: each[0])]


def questions(scenes: Scenes) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(instantiate_questions(scenes, seed=2).to_json(split="x"))
    return made


def answers(scenes: Any) -> Any:
    return execute("count(filter_color[red](scene))", scenes)


def last_outputs(scenes: Any) -> Any:
    return [each[-1].output for each in trace("count(filter_color[red](scene))", scenes)]


@pytest.mark.parametrize("form", FORMS)
def test_several_scenes_may_come_in_any_form(form: str) -> None:
    scenes = FORMS[form]
    assert answers(scenes) == last_outputs(scenes) == [answers(scene) for scene in WHOLE]
    assert images(scenes) == [image for scene in WHOLE for image in images(scene)]
    assert questions(scenes) == questions(BATCH)


def test_scenes_bring_their_vocabulary(tmp_path: Path) -> None:
    """Those of a world with a color of its own are asked about without naming its values again."""
    properties = json.loads((blender_assets() / "properties.json").read_text())
    properties["colors"]["orange"] = [255, 165, 0]
    (tmp_path / "properties.json").write_text(json.dumps(properties))
    values = read_vocabulary(tmp_path / "properties.json")
    whole = [
        {**scene, "objects": [{**item, "color": "orange"} for item in scene["objects"]]} for scene in WHOLE
    ]
    n_objects = [len(scene["objects"]) for scene in whole]
    batch = SceneBatch.from_json(values, json.dumps(whole).encode(), file="whole")
    for scenes in ([clevrhope.Scene(scene, vocabulary=values) for scene in whole], batch):
        assert execute("count(filter_color[orange](scene))", scenes) == n_objects
        assert "orange" in json.dumps(questions(scenes))


def test_one_scene_may_come_in_any_form() -> None:
    (handle,), one = clevrhope.sample_scenes(1, seed=6), WHOLE[0]
    assert answers(handle) == answers(one)
    assert images(handle) == images(one) == images([one]) == images({"scenes": [one]})
    assert questions(handle) == questions(one) == questions([one])
    assert answers([one]) == answers({"scenes": [one]}) == [answers(one)]
    assert answers([]) == images([]) == []


@pytest.mark.parametrize("kept", [(), ("camera",), ("directions",), ("relationships",)])
def test_what_questions_do_not_need_is_assumed(kept: tuple[str, ...]) -> None:
    """Without anything, relations are those of CLEVR's camera."""
    constraints = {} if kept else {"directions": "clevr"}
    world = clevrhope.scenes.read_world(constraints=constraints)
    whole = json.loads(sample_scenes(3, seed=6, world=world).to_json())
    types = [kind for kind, _ in default_vocabulary().attribute_types]
    of_objects = types if kept == ("relationships",) else [*types, "3d_coords"]
    bare = [
        {
            "objects": [{key: item[key] for key in of_objects} for item in scene["objects"]],
            **{key: scene[key] for key in kept},
        }
        for scene in whole
    ]
    for row, expected in zip(questions(bare), questions(whole), strict=True):
        assert row == {**expected, "image_filename": f"{row['image_index']:06d}.png"}


OTHERS: tuple[Callable[[Any], object], ...] = (answers, images, questions)


@pytest.mark.parametrize(
    "given", [3, "scenes.json", None, {}, [3], [WHOLE[0], "a"], {"scenes": [WHOLE[0], {}]}]
)
@pytest.mark.parametrize("use", OTHERS, ids=lambda use: use.__name__)
def test_what_is_no_scene_is_named(use: Callable[[Any], object], given: Any) -> None:
    check_refused(SceneError, use, given)


def test_messages_about_several_scenes_give_the_number() -> None:
    red: dict[str, Any] = {"objects": [{"color": "red"}]}
    program = "query_color(unique(scene))"
    assert execute(program, [red]) == ["red"]
    check_refused(SceneError, execute, program, [red, {"objects": [{}]}])
    check_refused(ProgramError, execute, program, [red, {"objects": []}])
    with refused(ProgramError):  # the program's own fault
        execute("query_colour(unique(scene))", [red])


def test_questions_name_their_scene() -> None:
    check_refused(SceneError, questions, [WHOLE[0], WHOLE[1], WHOLE[0]])
    blind = {key: value for key, value in WHOLE[1].items() if key not in ("directions", "relationships")}
    check_refused(SceneError, questions, [WHOLE[0], {**blind, "camera": {"location": [0, 0, 5]}}])
    check_refused(SceneError, questions, [{**WHOLE[0], "split": np.int64(3)}])


def test_numbers_of_questions() -> None:
    assert len(instantiate_questions(WHOLE[0], seed=1, questions_per_scene=1 << 40)) > 50
    for wrong in ({"seed": -1}, {"seed": 1, "questions_per_scene": 1.5}):
        check_refused(ConfigError, instantiate_questions, WHOLE[0], **wrong)
