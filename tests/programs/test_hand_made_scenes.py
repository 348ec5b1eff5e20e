"""A hand-made scene needs what a program asks for, and no more."""

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from program_strategies import RELATIONS, VALUES, Nodes, Scene, answer_if_any, scenes_and_programs

from clevrhope import ConfigError, Program, SceneError, SceneSet, execute, sample_scenes, scenes, trace
from clevrhope.programs import Scene as CheckedScene
from wording import check_refused, refused


def asked_for(nodes: Nodes) -> tuple[set[str], set[str]]:
    """The attribute types and relations that a program's functions name."""
    values = {value for node in nodes for value in node["value_inputs"]}
    kinds = {kind for kind in VALUES for node in nodes if node["function"].endswith(f"_{kind}")}
    return kinds, values & set(RELATIONS)


def parts(scene: Scene, kinds: set[str], relations: set[str]) -> Scene:
    related = {name: scene["relationships"][name] for name in relations}
    return {
        "objects": [{kind: item[kind] for kind in kinds} for item in scene["objects"]],
        **({"relationships": related} if related else {}),
    }


@pytest.mark.slow
@settings(max_examples=1000)
@given(scenes_and_programs())
def test_what_a_program_does_not_ask_for_may_be_missing(pair: tuple[Scene, Nodes]) -> None:
    scene, nodes = pair
    kinds, relations = asked_for(nodes)
    own = parts(scene, kinds, relations)
    assert answer_if_any(nodes, own) == answer_if_any(nodes, scene)
    assert [step.output for step in trace(nodes, own)] == [step.output for step in trace(nodes, scene)]
    if not scene["objects"]:
        return
    for kind in kinds:
        with pytest.raises(
            SceneError, match=rf'_{kind}.* needs the "{kind}" of each object, but objects\[0\]'
        ):
            execute(nodes, parts(scene, kinds - {kind}, relations))
    for relation in relations:
        with pytest.raises(SceneError, match=rf'\[{relation}\] needs "relationships'):
            execute(nodes, parts(scene, kinds, relations - {relation}))


def test_one_attribute_is_a_scene() -> None:
    assert execute("exist(filter_color[red](scene))", {"objects": [{"color": "red"}]}) is True
    assert execute("count(scene)", {"objects": [{}, {}]}) == 2
    assert execute("count(scene)", {"objects": []}) == 0


def test_messages_say_which_object_lacks_what() -> None:
    objects = [{"color": "red", "shape": "cube"}, {"colour": "red", "shape": "cube"}]
    for program in ("exist(filter_color[red](scene))", "exist(relate[left](unique(scene)))"):
        check_refused(SceneError, execute, program, {"objects": objects})
    with refused(SceneError):
        execute(
            "exist(relate[left](unique(scene)))", {"objects": objects, "relationships": {"right": [[], []]}}
        )
    with refused(SceneError):
        execute("exist(filter_color[red](scene))", SceneSet([{"objects": objects[:1]}, {"objects": objects}]))
    # What is there is still checked.
    for odd in (3, "left", [[], []], {"left": 3}):
        with refused(SceneError):
            execute("exist(relate[left](unique(scene)))", {"objects": objects[:1], "relationships": odd})
    check_refused(SceneError, execute, "count(scene)", {"objects": [{"color": "redd"}]})


def test_relations_follow_the_scenes_own_camera() -> None:
    """The camera of each scene is jittered: two objects may be level for CLEVR's camera, but not for it."""
    for scene in json.loads(scenes.sample_scenes(20, seed=4).to_json()):
        bare = {key: value for key, value in scene.items() if key not in ("directions", "relationships")}
        for relation, one in product(RELATIONS, ("filter_size[small]", "filter_color[red]")):
            program = Program(f"count(relate[{relation}](unique({one}(scene))))")
            assert answer_if_any(program, bare) == answer_if_any(program, scene)
    for camera in ({"location": [0, 0, 5]}, {"location": "here"}, 3):
        check_refused(SceneError, execute, "exist(relate[left](unique(scene)))", {**bare, "camera": camera})


def test_a_choice_of_relations_needs_both() -> None:
    program = "choose_relation[left](unique(filter_color[red](scene)), filter_color[blue](scene))"
    objects = [{"color": "red"}, {"color": "blue"}]
    both = {"left": [[], [0]], "right": [[1], []]}
    assert execute(program, {"objects": objects, "relationships": both}) == "left"
    check_refused(SceneError, execute, program, {"objects": objects, "relationships": {"left": both["left"]}})


def test_a_scene_is_read_once_for_programs_of_all_kinds() -> None:
    scene = CheckedScene({"objects": [{"color": "red"}, {"color": "red"}]})
    assert execute("count(filter_color[red](scene))", scene) == 2
    check_refused(SceneError, execute, "count(filter_size[small](scene))", scene)
    assert scene.content == {"objects": [{"color": "red"}, {"color": "red"}]}


WHOLE: dict[str, Any] = {
    "objects": [
        {**dict(zip(VALUES, values.split(), strict=True)), "3d_coords": place}
        for values, place in (
            ("large red metal cube", [-1.5, 0, 0.7]),
            ("small blue rubber sphere", [1, 1, 0.35]),
            ("small cyan rubber cube", [1, -1, 0.35]),
        )
    ]
}


def test_a_hand_made_scene_is_asked_about() -> None:
    scene = CheckedScene(WHOLE)
    asked = scene.ask(5, seed=2)
    assert len(asked) == 5
    assert [each.text for each in asked] == [each.text for each in scene.ask(5, seed=2)]
    for question in asked:
        answer = execute(question.program, scene)
        assert question.answer == ("no", "yes")[answer] if isinstance(answer, bool) else str(answer)
    with refused(SceneError):
        CheckedScene({"objects": [{"color": "red"}]}).ask(seed=1)


def test_a_hand_made_scene_is_rendered() -> None:
    scene = CheckedScene(WHOLE)
    image = scene.render(width=96, height=64, quality="draft")
    assert (image.size, image.mode) == ((96, 64), "RGB")
    assert len(np.unique(np.asarray(image))) > 100
    with refused(SceneError):
        CheckedScene({"objects": [{"color": "red", "3d_coords": [0, 0, 1]}]}).render()


ONE_RELATION = {"objects": [{}], "relationships": {"left": 3}}


@pytest.mark.parametrize(
    "given", [3, None, {}, {"scenes": 3}, {"objects": 3}, {"objects": [3]}, ONE_RELATION]
)
def test_messages_about_one_scene_speak_of_one(given: Any) -> None:
    check_refused(SceneError, CheckedScene, given)


def test_messages_of_questions_about_one_scene_speak_of_one() -> None:
    scene = CheckedScene({**WHOLE, "relationships": {each: [[], [], []] for each in RELATIONS}})
    assert scene.ask(1, seed=1)
    content = scene.content
    content["objects"][1]["pixel_coords"] = "a"
    with refused(SceneError):
        CheckedScene(content).ask(seed=1)


@pytest.mark.parametrize("given", [None, WHOLE, {"scenes": [WHOLE]}, "ab", [WHOLE, 3], [{}, WHOLE]])
def test_what_is_no_set_of_scenes(given: Any) -> None:
    check_refused(SceneError, SceneSet, given)


@pytest.mark.parametrize(
    "arguments", [{"seed": -1}, {"seed": 1 << 64}, {"seed": 1, "n": -1}, {"seed": 1, "n": 1.5}]
)
def test_numbers_of_questions_that_are_wrong(arguments: dict[str, Any]) -> None:
    with refused(ConfigError):
        CheckedScene(WHOLE).ask(**arguments)


@pytest.mark.parametrize("indices", [-2, True, 1.5, None, "ab", [0, -1], [1.5], np.asarray([0.5]), [1 << 64]])
def test_indices_of_scenes_that_are_wrong(indices: Any) -> None:
    check_refused(ConfigError, sample_scenes, indices, seed=1)
    check_refused(ConfigError, scenes.sample_scenes, indices, seed=1)


def test_a_seed_of_scenes_that_is_wrong() -> None:
    check_refused(ConfigError, sample_scenes, 2, seed=-1)


def test_indices_of_scenes_may_be_of_numpy() -> None:
    wanted = scenes.sample_scenes([2, 5], seed=1).to_json()
    for dtype in (np.int32, np.uint64):
        assert scenes.sample_scenes(np.asarray([2, 5], dtype), seed=1).to_json() == wanted
    assert scenes.sample_scenes(iter((2, 5)), seed=1).to_json() == wanted
    assert len(scenes.sample_scenes(0, seed=1)) == 0
