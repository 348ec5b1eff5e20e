"""What a build writes is what CLEVR's own readers expect, and says the same in every file."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import tree

from clevrhope import execute
from clevrhope.__main__ import run_command
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.vocab import read_vocab
from clevrhope.scenes import SceneBatch, read_world

SPLITS = ("train", "val_iid", "complex_iid", "complex_ood", "minimal_iid", "minimal_ood")


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


def pool_of(layout: Layout, split: str) -> str:
    with h5py.File(layout.questions_h5("rubber_cylinder", split), "r") as file:
        return str(file.attrs["pool"])


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


@pytest.mark.parametrize("split", SPLITS)
def test_arrays_and_json_say_the_same(layout: Layout, split: str) -> None:
    vocab = read_vocab(layout.vocab)
    rows = questions(layout, split)
    with h5py.File(layout.questions_h5("rubber_cylinder", split), "r") as file:
        assert len(file["questions"]) == len(rows)
        np.testing.assert_array_equal(file["image_idxs"][:], [row["image_index"] for row in rows])
        families = [row["question_family_index"] for row in rows]
        np.testing.assert_array_equal(file["question_families"][:], families)
        np.testing.assert_array_equal(file["orig_idxs"][:], [row["question_index"] for row in rows])
        np.testing.assert_array_equal(file["orig_idxs"][:], np.arange(len(rows)))
        answers = [vocab.answer_token_to_idx[row["answer"]] for row in rows]
        np.testing.assert_array_equal(file["answers"][:], answers)
        for row, tokens, n in zip(rows, file["questions"][:], file["question_lengths"][:], strict=True):
            words = (
                row["question"]
                .replace(";", " ;")
                .replace(",", " ,")
                .replace("?", "")
                .replace(".", "")
                .split()
            )
            expected = [1, *(vocab.question_token_to_idx[word] for word in words), 2]
            assert tokens[:n].tolist() == expected
            assert not tokens[n:].any()
        for row, needed in zip(rows, file["relation_needed"][:], strict=True):
            assert [bool(each) for each in needed if each >= 0] == row["relation_needed"]


@pytest.mark.parametrize("split", SPLITS)
def test_answers_are_what_the_executor_says(layout: Layout, split: str) -> None:
    by_index = scenes(layout, pool_of(layout, split))
    for row in questions(layout, split):
        answer = execute(row["program"], by_index[row["image_index"]])
        spoken = ("no", "yes")[answer] if isinstance(answer, bool) else str(answer)
        assert spoken == row["answer"], row


@pytest.mark.parametrize("split", SPLITS)
def test_the_pair_is_where_it_belongs(layout: Layout, split: str) -> None:
    """The obvious part of the check for leaks, once more: who has it in the image."""

    def has_pair(scene: dict[str, Any]) -> bool:
        return any((each["material"], each["shape"]) == ("rubber", "cylinder") for each in scene["objects"])

    by_index = scenes(layout, pool_of(layout, split))
    used = {row["image_index"] for row in questions(layout, split)}
    shares = {"complex_ood": 1.0, "minimal_ood": 0.25}
    assert np.mean([has_pair(by_index[index]) for index in used]) == shares.get(split, 0.0)


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
    for pool in ("train", pool_of(layout, "minimal_ood")):
        path = layout.scene_shard(pool, 0)
        batch = SceneBatch.from_json(read_world().vocabulary, path.read_bytes(), file=str(path))
        assert batch.indices.tolist() == sorted(scenes(layout, pool))
        assert batch.json_rows()[0] in path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["clevr_v1/templates", "closure_templates"])
def test_other_templates_build_and_are_named(tmp_path: Path, test_data: Path, folder: str) -> None:
    """CLOSURE's have no family that asks for existence alone, which the minimal sets need."""
    splits = "train,complex_iid" if folder.startswith("closure") else ",".join(SPLITS)
    out = tmp_path / "out"
    arguments = [
        "build",
        "--hop",
        "rubber_cylinder",
        "--seed",
        "1",
        "--no-render",
        "--quiet",
        "--splits",
        splits,
    ]
    assert run_command([*arguments, "--out", str(out), "--templates", str(test_data / folder)]) == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["config"]["templates"] == Path(folder).name
    names = {path.name for path in (test_data / folder).glob("*.json")}
    assert set(manifest["templates"]["files"]) == names
    assert Path(folder).name in (out / "DATASHEET.md").read_text().replace("\\", "")


@pytest.mark.slow
def test_seeds_and_folders_do_not_show_in_each_other(tmp_path: Path, layout: Layout) -> None:
    arguments = ["build", "--hop", "rubber_cylinder", "--no-render", "--quiet", "--seed"]
    assert run_command([*arguments, "11", "--out", str(tmp_path / "elsewhere")]) == 0
    assert tree(tmp_path / "elsewhere") == tree(layout.root)
    assert run_command([*arguments, "12", "--out", str(tmp_path / "other")]) == 0
    assert questions(Layout(tmp_path / "other"), "train") != questions(layout, "train")


def test_each_part_of_a_datasheet_for_datasets_is_answered_from_the_files(layout: Layout) -> None:
    """Gebru et al. (2021): motivation, composition, collection, preprocessing, uses, distribution, upkeep."""
    sheet = layout.hop_datasheet("rubber_cylinder").read_text()
    parts = {part.partition("\n")[0]: part for part in sheet.split("\n## ")[1:]}
    manifest = json.loads(layout.manifest.read_bytes())
    asked = {
        "Why was it made?": ["`rubber`", "`cylinder`"],  # motivation
        "What is in it?": [  # composition
            f"| `{name}` | `{split['pool']}` | {split['questions']:,} | {split['pictures']:,} |"
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
