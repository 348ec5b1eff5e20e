"""What `Program`, `Scene` and `Look` show of themselves."""

import json

from clevrhope.look.definition import read_look
from clevrhope.programs import Program, Scene
from clevrhope.scenes import sample_scenes


def test_a_program_shows_its_functions() -> None:
    nodes = [
        {"function": "scene", "inputs": [], "value_inputs": []},
        {"function": "filter_color", "inputs": [0], "value_inputs": ["red"]},
        {"function": "filter_shape", "inputs": [0], "value_inputs": ["cube"]},
        {"function": "union", "inputs": [1, 2], "value_inputs": []},
        {"function": "count", "inputs": [3], "value_inputs": []},
    ]
    shown = repr(Program(nodes))
    assert shown == "Program(count(union(filter_color[red](scene), filter_shape[cube](scene))))"


def test_a_scene_and_a_look_show_how_much_they_hold() -> None:
    (scene,) = json.loads(sample_scenes(1, seed=1).to_json())
    assert repr(Scene(scene)) == f"Scene({len(scene['objects'])} objects)"
    assert repr(read_look()) == "Look(2 sizes, 8 colors, 2 materials, 3 shapes)"
