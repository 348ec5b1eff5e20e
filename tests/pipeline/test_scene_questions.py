"""`clevrhope questions`: questions about any scene file, in the form of CLEVR's question files."""

import json
from pathlib import Path
from typing import Any

import pytest
from building import Cli

from clevrhope.errors import ClevrhopeError, DatasetError, SceneError
from clevrhope.pipeline.scene_questions import ask_about_scene_file
from clevrhope.programs import default_vocabulary, execute_batch
from clevrhope.scenes import sample_scenes
from wording import check_refused, check_words, refused


def scene_file(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


@pytest.fixture(scope="module")
def scenes() -> list[dict[str, Any]]:
    sampled: list[dict[str, Any]] = json.loads(sample_scenes((4, 7), seed=3).to_json())
    return sampled


def test_questions_of_a_file_have_the_right_answers_and_name_its_images(
    scenes: list[dict[str, Any]], tmp_path: Path, cli: Cli
) -> None:
    for scene in scenes:
        del scene["image_filename"]  # then both commands name an image by its number in the file
    file = scene_file(tmp_path / "s.json", {"info": {}, "scenes": scenes})
    out = tmp_path / "q.json"
    cli("questions", file, "--seed", 8, "--questions-per-scene", 5, "--out", out)
    cli("render", file, "--renderer", "native", "--quality", "draft", "--width", 48, "--height", 32,
        "--out", tmp_path / "images")  # fmt: skip
    asked = json.loads(out.read_text())
    assert asked["info"] | {"split": "train", "seed": 8, "questions_per_scene": 5} == asked["info"]
    rows = asked["questions"]
    assert [row["question_index"] for row in rows] == list(range(10))
    assert [row["image_index"] for row in rows] == [4] * 5 + [7] * 5
    assert {row["image_filename"] for row in rows} == {
        path.name for path in (tmp_path / "images").glob("*.png")
    }
    numbers = execute_batch(out, file)
    assert [default_vocabulary().answers[number] for number in numbers] == [row["answer"] for row in rows]


def test_the_command_says_what_it_assumed_and_draws_a_seed(
    scenes: list[dict[str, Any]], tmp_path: Path, cli: Cli
) -> None:
    with_camera = [{key: scene[key] for key in ("objects", "camera", "image_index")} for scene in scenes]
    blind = {"objects": scenes[0]["objects"], "image_index": 1}
    for name, content in {"both": [*with_camera, blind], "none": blind, "camera": with_camera}.items():
        file = scene_file(tmp_path / f"{name}.json", content)
        said = cli("questions", file, "--seed", 1, "--out", tmp_path / f"{name}_q.json").out
        check_words(said.replace(str(tmp_path), "FOLDER"))
    told = cli("questions", file, "--out", tmp_path / "drawn.json").out
    seed = json.loads((tmp_path / "drawn.json").read_text())["info"]["seed"]
    assert f"--seed {seed}" in told


@pytest.mark.parametrize(
    ("content", "error"),
    [({"scenes": []}, SceneError), ([{}], SceneError), ({"info": {}}, DatasetError), ("one", DatasetError)],
    ids=["none", "empty", "no_list", "text"],
)
def test_files_that_cannot_be_asked_about(content: Any, error: type[ClevrhopeError], tmp_path: Path) -> None:
    with refused(error):
        ask_about_scene_file(scene_file(tmp_path / "s.json", content), tmp_path / "q.json", seed=1)
    assert not (tmp_path / "q.json").exists()


def test_a_file_that_is_there_is_not_replaced(scenes: list[dict[str, Any]], tmp_path: Path) -> None:
    file = scene_file(tmp_path / "s.json", scenes)
    before = file.read_bytes()
    check_refused(DatasetError, ask_about_scene_file, file, file, seed=1)
    assert file.read_bytes() == before
