"""Questions over several images: their files, folders that get them, and the plan of what is then made."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import SET_SIZES, Cli, Make, request, tree

import clevrhope
from clevrhope.config.presets import PRESETS
from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.question_kinds import SETS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.errors import ClevrhopeError, SceneError
from clevrhope.pipeline import build, forecast
from clevrhope.pipeline.forecast import Plan, make_plan, plan_json, plan_lines
from clevrhope.programs import execute_batch
from clevrhope.runtime import assets
from clevrhope.runtime.atomic import record
from clevrhope.splits.covr.kinds import COVR_SPLITS, covr_splits
from wording import check_refused, refused

HOP = "rubber_cylinder"
GOLDEN = ("Do all cubes in the images have the same color?", "yes", [58, 192, 11, 356, 217])
"""The first question of covr_train, which changes with the version of the dataset alone."""

PAIR = {("material", "rubber"), ("shape", "cylinder")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo with a held-out pair and none, without images."""
    out = tmp_path_factory.mktemp("covr") / "demo"
    build(request(out, covr=True, render=False, hops=(HOP, "none")))
    return out


def rows(folder: Path, split: str, hop: str = HOP) -> QuestionTable:
    return read_table(Layout(folder).questions_h5(hop, split), SETS)


def texts(folder: Path, split: str, hop: str = HOP) -> list[dict[str, Any]]:
    content = json.loads(Layout(folder).questions_json(hop, split).read_text())
    found: list[dict[str, Any]] = content["questions"]
    return found


def test_a_folder_has_the_splits_and_sizes_of_its_preset(folder: Path) -> None:
    manifest = existing_manifest(Layout(folder).manifest)
    assert {hop: tuple(splits) for hop, splits in manifest.covr.items()} == {
        "none": covr_splits(held_out=False),
        HOP: COVR_SPLITS,
    }
    sizes = PRESETS["demo"].sizes
    assert [manifest.covr[HOP][split]["questions"] for split in COVR_SPLITS] == [
        sizes.covr_train,
        sizes.covr_dev,
        *[sizes.covr_test] * 3,
    ]
    pools = {split: entry["pool"] for split, entry in manifest.covr[HOP].items()}
    assert list(pools.values()) == ["train", "val_iid", "test_iid", "test_iid", "test_ood"]
    assert [entry["pool"] for entry in manifest.covr["none"].values()] == [
        "train",
        "val",
        "test_iid",
        "test_iid",
    ]
    for split in COVR_SPLITS:
        assert manifest.covr[HOP][split]["images"] == len(np.unique(rows(folder, split).image_idxs)) - 1


def test_rows_of_tokens_are_executed_on_sets(folder: Path) -> None:
    layout, arrays = Layout(folder), rows(folder, "covr_train")
    (scenes,) = layout.scene_files("train")
    answers = execute_batch(arrays.programs, scenes, image_idxs=arrays.image_idxs, vocab=layout.covr_vocab)
    assert np.array_equal(answers, arrays.answers)
    with refused(SceneError):
        execute_batch(arrays.programs, scenes, image_idxs=arrays.image_idxs[:3], vocab=layout.covr_vocab)
    with refused(SceneError):
        execute_batch(
            arrays.programs[:1], scenes, image_idxs=np.arange(6)[np.newaxis], vocab=layout.covr_vocab
        )


def test_sets_come_in_batches(folder: Path) -> None:
    data = pytest.importorskip("torch.utils.data")
    items = clevrhope.load(folder, HOP, "covr_train", text=True, scenes=True)
    (batch, *_) = data.DataLoader(items, batch_size=8, collate_fn=clevrhope.collate)
    assert batch["question"].shape[0] == len(batch["answer"]) == 8
    for name in ("image_indices", "scenes", "question_text", "template"):
        assert batch[name] == [item[name] for item in items[:8]]
    assert items[[2, 5]][1]["question_text"] == items[5]["question_text"]
    sampler = data.BatchSampler(data.SequentialSampler(items), 4, drop_last=False)
    loader = data.DataLoader(items, sampler=sampler, batch_size=None, collate_fn=clevrhope.collate)
    assert next(iter(loader))["question_index"].tolist() == [0, 1, 2, 3]


def test_no_image_and_no_text_shows_what_is_held_out(folder: Path) -> None:
    layout = Layout(folder)

    def shows(pool: str) -> set[int]:
        index = read_scene_objects(layout, pool)
        return {i for i, objects in index.items() if any(set(each.items()) >= PAIR for each in objects)}

    for split in COVR_SPLITS[:-1]:
        pool = existing_manifest(layout.manifest).covr[HOP][split]["pool"]
        used = set(np.unique(rows(folder, split).image_idxs).tolist()) - {-1}
        assert not used & shows(pool), split
        assert not any("rubber cylinder" in row["question"] for row in texts(folder, split))
    places = rows(folder, "covr_test_ood").pair_places
    assert set(places.tolist()) == {1, 2}
    with_pair = shows("test_ood")
    for place, images in zip(places.tolist(), rows(folder, "covr_test_ood").image_idxs.tolist(), strict=True):
        assert place == 1 or with_pair & set(images)


def read_scene_objects(layout: Layout, pool: str) -> dict[int, list[dict[str, str]]]:
    return {
        scene["image_index"]: [{k: str(v) for k, v in each.items()} for each in scene["objects"]]
        for path in layout.scene_files(pool)
        for scene in json.loads(path.read_text())["scenes"]
    }


def test_dev_and_test_share_no_text_and_paraphrases_change_words_alone(folder: Path) -> None:
    dev, test = ({row["question"] for row in texts(folder, split)} for split in ("covr_dev", "covr_test"))
    assert not dev & test
    plain, said = rows(folder, "covr_test").arrays(), rows(folder, "covr_test_paraphrased").arrays()
    words = {"questions", "question_lengths"}
    assert {name for name in plain if not np.array_equal(plain[name], said[name])} <= words
    pairs = zip(texts(folder, "covr_test"), texts(folder, "covr_test_paraphrased"), strict=True)
    assert all(a["question"] != b["question"] and a["program"] == b["program"] for a, b in pairs)


@pytest.mark.slow
def test_a_folder_is_bound_to_how_pairs_are_held_out(folder: Path, tmp_path: Path) -> None:
    check_refused(BindingError, build, request(folder, covr=True, render=False, covr_hold="words"))
    check_refused(BindingError, build, request(folder, covr=True, render=False, distractors="random"))
    out = tmp_path / "words"
    build(request(out, render=False))
    build(request(out, render=False, covr=True, covr_hold="words"))
    assert existing_manifest(Layout(out).manifest).questions["covr_hold"] == "words"
    assert set(rows(out, "covr_test_ood").pair_places.tolist()) == {1}
    used = set(np.unique(rows(out, "covr_train").image_idxs).tolist()) - {-1}
    objects = read_scene_objects(Layout(out), "train")
    assert any(set(each.items()) >= PAIR for index in used for each in objects[index])
    assert not any("rubber cylinder" in row["question"] for row in texts(out, "covr_train"))


def test_a_missing_file_is_made_again_without_being_asked_for(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    Layout(copy).questions_h5(HOP, "covr_dev").unlink()
    build(request(copy, render=False))
    assert tree(copy) == tree(folder)


def test_they_need_a_world_with_room_for_them(tmp_path: Path) -> None:
    properties = json.loads((assets.blender_assets() / "properties.json").read_text())
    properties["shapes"] = {"cube": properties["shapes"]["cube"]}
    path = tmp_path / "properties.json"
    path.write_text(json.dumps(properties))
    with refused(ClevrhopeError):
        build(request(tmp_path / "out", hops=("none",), covr=True, render=False, properties=path))
    assert not (tmp_path / "out" / "covr").exists()


@pytest.mark.slow
def test_without_a_pair_they_are_made_of_none(tmp_path: Path, cli: Cli) -> None:
    demo = ["build", "--covr", "--preset", "demo", "--no-render", "--seed", "5", "--quiet"]
    cli(*demo, "--out", tmp_path / "out")
    assert list(existing_manifest(Layout(tmp_path / "out").manifest).covr) == ["none"]
    with refused(ClevrhopeError):
        build(request(tmp_path / "prelim", covr=True, render=False, hops=(), prelim=("cyan",)))


def test_the_stream_is_the_one_that_folders_have(folder: Path) -> None:
    first = texts(folder, "covr_train")[0]
    assert (first["question"], first["answer"], first["image_indices"]) == GOLDEN


def images(made: Plan) -> dict[str, int]:
    return {each["split"]: each["images"] for each in made.splits}


def test_a_counted_plan_is_what_is_built(make: Make, tmp_path: Path) -> None:
    asked = request(tmp_path / "data", covr=True, render=False)
    planned = make_plan(asked)
    found = plan_json(planned)
    assert not (tmp_path / "data").exists()
    built = make(tmp_path / "data", covr=True, render=False)
    assert planned.exact
    assert found["questions"] == built.n_questions
    assert found["scenes"] == built.n_images == found["hops"][HOP]
    entries = {**built.splits[HOP], **built.covr[HOP]}
    assert images(planned) == {split: entry["images"] for split, entry in entries.items()}
    assert any(line.split()[:2] == [HOP, "covr_test_paraphrased"] for line in plan_lines(planned))


@pytest.mark.slow
def test_an_existing_folder_needs_only_the_other_images(make: Make, tmp_path: Path) -> None:
    make(tmp_path / "data")
    there = {path.name for path in (tmp_path / "data/images").rglob("*.png")}
    n_new = make_plan(request(tmp_path / "data", covr=True, sizes=SET_SIZES)).images_to_render
    make(tmp_path / "data", covr=True, sizes=SET_SIZES)
    made = {path.name for path in (tmp_path / "data/images").rglob("*.png")}
    assert n_new == len(made - there) > 0


@pytest.mark.slow
def test_an_estimate_is_near_the_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"covr_train": 3_000, "covr_dev": 400, "covr_test": 400}
    asked = request(tmp_path / "data", covr=True, render=False, sizes=sizes)
    counted = make_plan(asked)
    monkeypatch.setattr(forecast, "COUNTED", 0)
    estimated = make_plan(asked)
    assert (counted.exact, estimated.exact) == (True, False)
    assert estimated.questions == pytest.approx(counted.questions, rel=0.02)
    for split, n in images(counted).items():
        if split.startswith("covr_"):
            assert images(estimated)[split] == pytest.approx(n, rel=0.1), split
    assert estimated.scenes == pytest.approx(counted.scenes, rel=0.1)
    assert estimated.hops[HOP] == pytest.approx(counted.hops[HOP], rel=0.1)


def test_a_bad_row_that_the_manifest_lists_is_named(folder: Path, tmp_path: Path) -> None:
    """The checksum is right, as of a file that another program wrote and listed."""
    out = Path(shutil.copytree(folder, tmp_path / "copy"))
    path = Layout(out).questions_h5(HOP, "covr_test")
    with h5py.File(path, "r+") as file:
        file["questions"][0, 2] = 60_000
    raw = json.loads((out / "manifest.json").read_text())
    raw["files"][path.relative_to(out).as_posix()] = asdict(record(path))
    (out / "manifest.json").write_text(json.dumps(raw))
    with refused(ClevrhopeError) as told:
        build(request(out, covr=True, render=False, hops=(HOP, "none")))
    assert str(told.value).startswith(f"{path}: questions[0")
