"""An attribute that has one value: named, but never asked for or compared, and the plan says so."""

import json
from pathlib import Path

import pytest
from building import request

import clevrhope
from clevrhope.__main__ import run_command
from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.pipeline.forecast import make_plan, plan_json, plan_lines
from clevrhope.runtime.assets import blender_assets

WORDS_FOR_ASKING = ("size", "big as")


@pytest.fixture(scope="module")
def properties(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """CLEVR's properties with large objects only."""
    content = json.loads((blender_assets() / "properties.json").read_bytes())
    content["sizes"] = {"large": 0.7}
    path = tmp_path_factory.mktemp("one_size") / "properties.json"
    path.write_text(json.dumps(content))
    return path


def test_the_only_size_is_not_asked_for(properties: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["build", "--hop", "rubber_cube", "--seed", "3", "--no-render", "--quiet", "--out", str(out)]
    sizes = ["--train-questions", "600", "--test-questions", "40"]
    assert run_command([*words, *sizes, "--properties", str(properties)]) == 0
    rows = json.loads(Layout(out).questions_json("rubber_cube", "train").read_bytes())["questions"]
    functions = {node["function"] for row in rows for node in row["program"]}
    assert {"filter_size", "query_color", "same_shape", "equal_material"} <= functions
    assert not functions & {"query_size", "same_size", "equal_size"}
    texts = [row["question"] for row in rows]
    assert any(" large " in text for text in texts)
    assert not any(word in text for text in texts for word in WORDS_FOR_ASKING)
    assert audit(out, properties=properties).ok


def test_the_plan_says_so(properties: Path, tmp_path: Path) -> None:
    asked = {"hops": ("none",), "render": False}
    plan = make_plan(request(tmp_path / "out", **asked, properties=properties))
    assert plan_json(plan)["not_asked"] == {"size": 19}
    line = "the size has one value, so questions never ask for it or compare it: 19 question families"
    assert any(each.startswith(line) for each in plan_lines(plan))
    assert plan_json(make_plan(request(tmp_path / "out", **asked)))["not_asked"] == {}


def test_questions_about_one_scene_leave_it_out_too(properties: Path) -> None:
    vocabulary = clevrhope.programs.read_vocabulary(properties)
    item = {"size": "large", "material": "rubber"}
    objects = [{**item, "color": "red", "shape": "cube"}, {**item, "color": "blue", "shape": "sphere"}]
    places = [{**each, "3d_coords": [1.0, float(k), 0.7]} for k, each in enumerate(objects)]
    scene = clevrhope.Scene({"objects": places}, vocabulary=vocabulary)
    asked = scene.ask(90, seed=1)
    assert asked
    assert not any("size" in question.text for question in asked)
