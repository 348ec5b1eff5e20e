"""Folders with episodes of nonce words: what is written, loaded and refused, and what a stop leaves."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli, Make, build_demo, renderer, request, tree
from fake_renderer import FakeRenderer

import clevrhope
from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.nonce_text import statements_of
from clevrhope.dataset.question_kinds import NONCE
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError, RenderError, SceneError
from clevrhope.export import export
from clevrhope.images.settings import BlenderSettings
from clevrhope.pipeline import build
from clevrhope.pipeline.forecast import make_plan
from clevrhope.splits.nonce.words import nonce_words
from wording import refused

N = 33
ALONE: dict[str, Any] = {
    "hops": ("none",),
    "splits": (),
    "nonce": N,
    "images": "h5",
    "rendering": BlenderSettings(width=48, height=32),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("nonce") / "made"
    build_demo(out, **ALONE)
    return out


def test_an_episode_is_loaded_in_nonce_words(folder: Path) -> None:
    unseen, seen = (
        clevrhope.load(folder, "none", f"nonce_{name}", text=True, scenes=True) for name in ("unseen", "seen")
    )
    assert len(unseen) == len(seen) == N
    table = unseen.table
    for row, (one, other) in enumerate(zip(unseen, seen, strict=True)):
        assert one["question_text"] == other["question_text"]
        assert one["image_index"] == other["image_index"] == row
        assert one["answer_text"] == other["answer_text"]
        assert len(one["statements"]) == len(one["support_images"]) == len(one["support_indices"])
        assert one["support_images"][0].shape == (32, 48, 3)
        named = [unseen.vocab.questions()[table.words[row, value]] for value in table.pairs[row]]
        assert all(word in nonce_words() and word in one["question_text"] for word in named)
        together = [
            sum(all(word in each for word in named) for each in item["statements"]) for item in (one, other)
        ]
        assert together == [0, 1 if "3x3" in one["form"] else 2]
    assert Counter(item["form"] for item in unseen) == {
        "exist_3x3": 6, "exist_3x2": 6, "query_3x3": 6, "count_3x3": 9, "complex_3x3": 6,
    }  # fmt: skip
    assert unseen[0]["partner"] == 1
    assert unseen[0]["question_text"].startswith("Is there a ")
    assert [unseen[9 + k]["answer_text"] for k in (0, 1, 11, 12)] == ["no", "yes"] * 2
    assert unseen[9]["question_text"] == unseen[10]["question_text"]
    assert (unseen[0]["question"] == unseen[1]["question"]).all()


def test_statements_in_real_words_are_true(folder: Path) -> None:
    layout = Layout(folder)
    vocab = read_vocab(layout.nonce_vocab)
    table = read_table(layout.questions_h5("none", "nonce_seen"), NONCE, vocab=vocab).load()
    scenes = {
        row["image_index"]: row
        for row in json.loads(layout.scene_shard(table.support_pool, 0).read_text())["scenes"]
    }
    for row in range(9):
        said = statements_of(table.statements[row], vocab)
        for sentence, index in zip(said, table.support_idxs[row].tolist(), strict=False):
            values = sentence.removeprefix("This is a ").strip(".").split()
            (shown,) = scenes[index]["objects"]
            assert {*values} <= {"thing", *(shown[kind] for kind in ("size", "color", "material", "shape"))}


def test_everything_that_can_be_proved_is_right(folder: Path) -> None:
    report = audit(folder)
    lines = {each.name: each for each in report.checks}
    assert report.ok, [str(fault) for each in report.checks for fault in each.faults]
    assert {
        name: each.n_checked for name, each in lines.items() if name.startswith("nonce words")
    } == dict.fromkeys(
        [f"nonce words: {name}" for name in ("answers", "support", "held out", "words", "scenes", "balance")],
        N,
    )
    assert lines["images"].n_checked == len(read_used(folder)) + N


def read_used(folder: Path) -> set[int]:
    """The support scenes that either condition uses."""
    tables = [
        read_table(Layout(folder).questions_h5("none", f"nonce_{name}"), NONCE) for name in ("unseen", "seen")
    ]
    return {int(index) for table in tables for index in np.unique(table.support_idxs)} - {-1}


@pytest.mark.slow
def test_more_episodes_extend_fewer(folder: Path, make: Make, tmp_path: Path) -> None:
    grown = tmp_path / "grown"
    make(grown, **{**ALONE, "nonce": 10})
    make(grown, **ALONE)
    assert tree(grown) == tree(folder)
    before = tree(grown)
    summary = make(grown, **{**ALONE, "nonce": 3})
    assert summary.n_rendered == 0
    assert tree(grown) == before
    assert summary.nonce["none"]["nonce_seen"]["questions"] == N


def test_a_stopped_build_is_resumed(folder: Path, tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"
    with pytest.raises(RenderError):
        build(
            request(stopped, **ALONE),
            make_renderer=lambda settings, workers: FakeRenderer(settings=settings, fails_on=40),
        )
    build(request(stopped, **ALONE), make_renderer=renderer)
    assert tree(stopped) == tree(folder)


def test_a_damaged_file_is_made_again(folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    path = damaged / "nonce" / "seen.h5"
    path.write_bytes(path.read_bytes()[:-100])
    (damaged / "scenes" / "nonce_scenes" / "0000.json").unlink()
    build_demo(damaged, **ALONE)
    assert tree(damaged) == tree(folder)


@pytest.mark.slow
def test_episodes_stand_beside_a_pair(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "both", splits=("complex_iid",), nonce=9, render=False)
    make(tmp_path / "later", splits=("complex_iid",), render=False)
    make(tmp_path / "later", **{**ALONE, "nonce": 9, "images": "both"}, render=False)
    both, later = (
        clevrhope.load(tmp_path / name, "none", "nonce_seen", text=True) for name in ("both", "later")
    )
    assert [item["question_text"] for item in both] == [item["question_text"] for item in later]
    assert len(clevrhope.load(tmp_path / "both", "rubber_cylinder", "complex_iid")) > 0
    assert audit(tmp_path / "both").ok
    with refused(ConfigError):
        clevrhope.load(tmp_path / "both", "rubber_cylinder", "nonce_seen")


@pytest.mark.slow
def test_types_that_are_to_be_found(tmp_path: Path, make: Make) -> None:
    out = tmp_path / "found"
    make(out, **{**ALONE, "nonce": 9}, nonce_types="found", render=False)
    table = read_table(Layout(out).questions_h5("none", "nonce_unseen"), NONCE)
    assert (table.types, table.support_idxs.shape) == ("found", (9, 11))
    assert audit(out).ok
    with refused(ConfigError):
        make(out, **ALONE, nonce_types="told", render=False)


def test_a_plan_says_what_is_needed_and_what_cannot_be_made(folder: Path, cli: Cli, tmp_path: Path) -> None:
    planned = make_plan(request(tmp_path / "planned", **ALONE, render=False))
    assert planned.scenes == len(read_used(folder)) + N
    few = {
        "shapes": {"cube": "SmoothCube_v2"},
        "colors": {"red": [173, 35, 35], "blue": [42, 75, 215], "gray": [87, 87, 87]},
        "materials": {"rubber": "Rubber"},
        "sizes": {"large": 0.7, "small": 0.35},
    }
    (tmp_path / "few.json").write_text(json.dumps(few))
    about = ("--nonce", 4, "--seed", 1, "--no-render", "--properties", "few.json")
    said = cli("plan", *about, "--out", "out").out
    assert "no episodes exist_3x3 of color and shape: shape has 1 value; expected at least 3" in said
    cli("build", *about, "--out", "out", "--quiet")
    assert {item["form"] for item in clevrhope.load("out", "none", "nonce_seen")} == {"exist_3x2"}
    few["colors"] = {"red": [173, 35, 35]}
    (tmp_path / "few.json").write_text(json.dumps(few))
    assert (
        "no episodes can be made of this world's values" in cli("build", *about, "--out", "other", code=2).err
    )


def test_the_command_line(cli: Cli) -> None:
    arguments = ("--nonce", 9, "--seed", 5, "--no-render")
    said = cli("build", *arguments, "--out", "a")
    assert "episodes with nonce words: unseen 9, seen 9" in said.out
    assert "Nonce words (images)" in cli("info", "a").out
    assert "--nonce 9 --no-render" in cli("info", "a").out
    assert "expected a number" in cli("build", "--nonce", 100_001, "--seed", 5, "--out", "b", code=2).err
    assert "whole number" in cli("build", "--nonce", 0, "--out", "b", code=2).err
    assert "--nonce-types" in cli("build", *arguments, "--nonce-types", "found", "--out", "a", code=2).err
    named = cli("build", "--nonce", 3, "--splits", "train", "--out", "b", code=2).err
    assert "--splits: it names splits of HOPs" in named
    assert "no HOP given" not in named
    assert "--nonce: parts have" in cli("build", *arguments, "--shard", "1/2", "--out", "c", code=2).err
    assert (
        "no place for the supports"
        in cli("export", "a", "--format", "coco", "--splits", "nonce_seen", "--out", "d", code=2).err
    )
    assert "add --nonce" in cli("build", "--hop", "none", "--nonce-types", "found", "--out", "c", code=2).err


def test_pages_and_messages_say_what_a_folder_of_episodes_has(folder: Path, cli: Cli, tmp_path: Path) -> None:
    page = (folder / "DATASHEET.md").read_text()
    assert "33 queries, each in the two conditions `nonce_unseen` and `nonce_seen`" in page
    assert "| `count_3x3` | 9 |\n| `complex_3x3` | 6 |" in page
    assert "nothing held out" not in page
    said = cli("plan", "--nonce", 500, "--seed", 1, "--no-render", "--out", "planned").out
    assert "500 episodes: plus or minus 2.8 points if 10% of them" in said
    assert "3.9 if 20%" in said
    for code, words in (
        (1, ("ask", folder, "--out", tmp_path / "asked.jsonl")),
        (2, ("train", "question_only", folder, "--hop", "none", "--size", "25k", "--out", tmp_path / "run")),
    ):
        assert "it has episodes with nonce words alone: clevrhope ask" in cli(*words, code=code).err


def test_an_episode_is_shown_in_its_words(folder: Path, cli: Cli) -> None:
    about = ("--hop", "none", "--split", "nonce_seen", "--question", 9)
    item = clevrhope.load(folder, "none", "nonce_seen", text=True)[9]
    said, found = cli("show", folder, *about).out, json.loads(cli("show", folder, *about, "--json").out)
    assert found["text"] == item["question_text"]
    assert [statement for statement, _ in found["support"]] == item["statements"]
    assert [image["index"] for _, image in found["support"]] == [*item["support_indices"]]
    for statement, image in found["support"]:
        *_, color, shape = statement.rstrip(".").split()
        (shown,) = image["objects"]
        assert {found["words"][color], found["words"][shape]} < {*shown.split()}
        assert f"{statement}  {shown} ({image['name']})" in said


def test_a_world_that_is_too_crowded_is_named(tmp_path: Path) -> None:
    with refused(SceneError):
        build_demo(tmp_path, **ALONE, render=False, world={"min_pixels": 4000, "max_restarts": 50})


def test_episodes_are_batched_and_public_functions_take_texts_as_paths(folder: Path, tmp_path: Path) -> None:
    torch_data = pytest.importorskip(
        "torch.utils.data", reason="torch is not installed: pip install clevrhope[train]"
    )
    dataset = clevrhope.load(str(folder), "none", "nonce_seen")
    batch = next(iter(torch_data.DataLoader(dataset, batch_size=2, collate_fn=clevrhope.collate)))
    assert batch["partner"].tolist() == [item["partner"] for item in (dataset[0], dataset[1])]
    assert audit(str(folder)).ok
    export(str(folder), str(tmp_path / "parquet"), format="parquet")
    assert [*(tmp_path / "parquet" / "nonce").glob("nonce_seen-*.parquet")]
