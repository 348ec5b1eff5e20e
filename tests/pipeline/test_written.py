"""What a build writes is what CLEVR's own readers expect, and says the same in every file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import request

from clevrhope.__main__ import run_command
from clevrhope.dataset.layout import Layout
from clevrhope.errors import TemplateError
from clevrhope.pipeline import build
from clevrhope.scenes import SceneBatch, read_world
from wording import check_refused


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """A demo of rubber_cylinder without images."""
    out = tmp_path_factory.mktemp("written") / "out"
    arguments = ["build", "--hop", "rubber_cylinder", "--seed", "11", "--no-render", "--quiet"]
    assert run_command([*arguments, "--out", str(out)]) == 0
    return Layout(out)


def questions(layout: Layout, split: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(layout.questions_json("rubber_cylinder", split).read_bytes())[
        "questions"
    ]
    return rows


def scenes(layout: Layout, pool: str) -> dict[int, dict[str, Any]]:
    rows = json.loads(layout.scene_shard(pool, 0).read_bytes())["scenes"]
    return {row["image_index"]: row for row in rows}


def test_rows_have_the_keys_of_published_files(layout: Layout, test_data: Path) -> None:
    real = test_data / "real_clevr"
    question = json.loads((real / "CLEVR_val_questions.json").read_bytes())["questions"][0]
    scene = json.loads((real / "CLEVR_val_scenes.json").read_bytes())["scenes"][0]
    made_question = questions(layout, "train")[0]
    made_scene = next(iter(scenes(layout, "train").values()))
    assert question.keys() <= made_question.keys()
    assert question["program"][0].keys() == made_question["program"][0].keys()
    assert scene.keys() <= made_scene.keys()
    assert scene["objects"][0].keys() <= made_scene["objects"][0].keys()
    assert scene["directions"].keys() == made_scene["directions"].keys()
    assert scene["relationships"].keys() == made_scene["relationships"].keys()


def test_images_of_a_split_have_as_many_questions_as_they_should(layout: Layout) -> None:
    for split, n in (
        ("train", 9),
        ("val_iid", 9),
        ("complex_iid", 9),
        ("complex_ood", 1),
        ("minimal_ood", 1),
    ):
        _, counts = np.unique([row["image_index"] for row in questions(layout, split)], return_counts=True)
        assert counts.max() == n
        assert np.median(counts) == n


def test_a_scene_file_reads_back_and_can_be_sampled_again(layout: Layout) -> None:
    for pool in ("train", "minimal_material_shape"):
        path = layout.scene_shard(pool, 0)
        batch = SceneBatch.from_json(read_world().vocabulary, path.read_bytes(), file=str(path))
        assert batch.indices.tolist() == sorted(scenes(layout, pool))
        assert batch.json_rows()[0] in path.read_bytes()


VERIFY = {
    "text": ["Is the <S> <C>?"],
    "nodes": [
        {"type": "scene", "inputs": []},
        {"type": "filter_shape", "inputs": [0], "side_inputs": ["<S>"]},
        {"type": "unique", "inputs": [1]},
        {"type": "verify_color", "inputs": [2], "side_inputs": ["<C>"]},
    ],
    "params": [{"type": "Shape", "name": "<S>"}, {"type": "Color", "name": "<C>"}],
}


def test_functions_that_datasets_have_no_tokens_for_are_named_before_anything_is_written(
    tmp_path: Path,
) -> None:
    templates, out = tmp_path / "templates", tmp_path / "out"
    templates.mkdir()
    (templates / "verify.json").write_text(json.dumps([VERIFY]))
    check_refused(TemplateError, build, request(out, templates=templates, render=False))
    assert not out.exists()


def test_each_part_of_a_datasheet_for_datasets_is_answered_from_the_files(layout: Layout) -> None:
    """Gebru et al. (2021): motivation, composition, collection, preprocessing, uses, distribution, upkeep."""
    sheet = layout.hop_datasheet("rubber_cylinder").read_text()
    parts = {part.partition("\n")[0]: part for part in sheet.split("\n## ")[1:]}
    manifest = json.loads(layout.manifest.read_bytes())
    asked = {
        "Why was it made?": ["`rubber`", "`cylinder`"],  # motivation
        "What is in it?": [  # composition
            f"| `{name}` | `{split['pool']}` | {split['questions']:,} | {split['images']:,} |"
            for name, split in manifest["splits"]["rubber_cylinder"].items()
        ],
        "What is shared?": ["image"],
        "How was it validated?": ["no image"],
        "What is it for, and what not?": ["Do not train on"],  # uses
        "How was it made?": [  # collection and preprocessing
            f"| seed | {manifest['seed']} |",
            manifest["world"]["fingerprint"],
            "balanced over windows of 250 scenes",
        ],
        "How is it distributed and kept?": ["CC BY 4.0", "MIT"],
    }
    assert set(asked) < set(parts)
    for heading, facts in asked.items():
        for fact in facts:
            assert fact.lower() in parts[heading].lower(), (heading, fact)


def test_a_datasheet_names_the_split_to_choose_settings_on(layout: Layout, tmp_path: Path) -> None:
    sheet = layout.hop_datasheet("rubber_cylinder").read_text().replace("\\", "")
    assert "Choose settings and checkpoints on `val_iid`, never on the test sets." in sheet
    assert "the paper had no validation split" in sheet
    assert "val_iid: 36 questions on 4 images; there is no rubber cylinder in any image" in sheet
    build(request(tmp_path / "out", splits=("train", "complex_ood"), render=False))
    sheet = Layout(tmp_path / "out").hop_datasheet("rubber_cylinder").read_text()
    assert "Never choose settings or checkpoints on the test sets." in sheet
    assert "val_iid" not in sheet.replace("\\", "")
