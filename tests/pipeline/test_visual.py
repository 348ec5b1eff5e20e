"""The suite of edited images: what its files hold, and that runs can be repeated, extended and resumed."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import request, stamps, tree

from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.suite_pools import PIXEL_TESTS, VISUAL_TESTS
from clevrhope.dataset.suite_questions import open_suite
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.features.extraction import make_features
from clevrhope.features.store import map_array
from clevrhope.images.png import read_png
from clevrhope.images.settings import NativeSettings
from clevrhope.metrics.baselines import baseline
from clevrhope.metrics.predictions import write_predictions
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline import build
from clevrhope.pipeline.images import WriteImage
from clevrhope.pipeline.visual import images as visual_images
from clevrhope.pipeline.visual.suite import VisualSplit, make_visual_suite
from wording import check_refused

HOP = "rubber_cylinder"
IID, OOD = "complex_iid", "complex_ood"
N = 5


def build_small(out: Path, *, render: bool = True, images: str = "both", n_iid: int = 54) -> Path:
    sizes = {"train": 27, "complex_iid": n_iid, "complex_ood": 9}
    asked = {"sizes": sizes, "splits": ("train", IID, OOD), "render": render, "images": images}
    build(request(out, rendering=NativeSettings(width=120, height=80, quality="draft"), **asked))
    return out


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_small(tmp_path_factory.mktemp("visual") / "plain")


@pytest.fixture(scope="module")
def made(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[VisualSplit, ...]]:
    out = shutil.copytree(plain, tmp_path_factory.mktemp("visual") / "made")
    return out, make_visual_suite(out, N)


@pytest.fixture(scope="module")
def folder(made: tuple[Path, tuple[VisualSplit, ...]]) -> Path:
    return made[0]


def rows_of(folder: Path, split: str) -> list[dict[str, Any]]:
    path = Layout(folder).suite_json(HOP, "visual", split)
    return list(json.loads(path.read_text())["questions"])


def scenes_of(folder: Path, pool: str) -> dict[int, dict[str, Any]]:
    files = Layout(folder).scene_files(pool)
    rows = [row for path in files for row in json.loads(path.read_text())["scenes"]]
    return {row["image_index"]: row for row in rows}


def pairs_of(folder: Path, split: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    rows = rows_of(folder, split)
    return zip(rows[::2], rows[1::2], strict=True)


@pytest.mark.parametrize("split", [IID, OOD])
def test_the_same_question_is_asked_about_another_image(folder: Path, split: str) -> None:
    layout, own = Layout(folder), f"{HOP}.visual.{split}"
    questions = json.loads(layout.questions_json(HOP, split).read_text())["questions"]
    scenes, images = scenes_of(folder, own), layout.images(own)
    seen = set()
    for original, partner in pairs_of(folder, split):
        test = partner["test"]
        source = questions[original["original_index"]]
        for name in ("question", "program"):
            assert original[name] == partner[name] == source[name]
        assert original["answer"] == source["answer"]
        assert (partner["answer"] == original["answer"]) == (test != "edit")
        edit = scenes[partner["image_index"]]["edit"]
        assert (edit["kind"], edit["question_index"]) == (test, original["original_index"])
        assert edit["source"] == source["image_filename"]
        copy = scenes[original["image_index"]]
        assert copy["edit"] == {
            "kind": "copy",
            "source": source["image_filename"],
            "source_index": source["image_index"],
        }
        sides = [images / each["image_filename"] for each in (original, partner)]
        before = layout.images(read_pool(folder, split)) / source["image_filename"]
        assert np.array_equal(read_png(sides[0]), read_png(before))
        assert not np.array_equal(read_png(sides[0]), read_png(sides[1]))
        seen.add(test)
    assert seen >= {*VISUAL_TESTS} - ({"edit"} if split == OOD else set())


def read_pool(folder: Path, split: str) -> str:
    manifest = existing_manifest(Layout(folder).manifest)
    return str(manifest.splits[HOP][split]["pool"])


def values_of(scene: dict[str, Any]) -> list[list[str]]:
    return [[each[kind] for kind in ("size", "color", "material", "shape")] for each in scene["objects"]]


def test_removal_takes_out_and_an_edit_changes_one_value(folder: Path) -> None:
    for split in (IID, OOD):
        sources = scenes_of(folder, read_pool(folder, split))
        for scene in scenes_of(folder, f"{HOP}.visual.{split}").values():
            edit, source = scene["edit"], sources[scene["edit"]["source_index"]]
            values, before = values_of(scene), values_of(source)
            if edit["kind"] == "removal":
                assert values == [before[number] for number in edit["objects"]]
                assert len(values) < len(before)
            elif edit["kind"] == "edit":
                differ = [(a, b) for a, b in zip(values, before, strict=True) if a != b]
                assert len(differ) == 1
                assert sum(a != b for a, b in zip(*differ[0], strict=True)) == 1
                shows = any(each[2:] == ["rubber", "cylinder"] for each in values)
                assert shows == (split == OOD)
            else:
                assert values == before


def test_images_lie_in_hdf5_by_the_rows_indices(folder: Path) -> None:
    layout = Layout(folder)
    for split in (IID, OOD):
        pairs = read_table(layout.suite_h5(HOP, "visual", split), PAIRS)
        assert pairs.pool == f"{HOP}.visual.{split}"
        with h5py.File(layout.images_h5(pairs.pool)) as file:
            assert file["indices"][:].tolist() == sorted(set(pairs.image_idxs.tolist()))
            for row, index in zip(rows_of(folder, split), pairs.image_idxs.tolist(), strict=True):
                png = read_png(layout.images(pairs.pool) / row["image_filename"])
                assert np.array_equal(file["images"][index], png)


def test_counts_are_those_of_the_files(made: tuple[Path, tuple[VisualSplit, ...]]) -> None:
    iid, ood = made[1]
    assert [each.n_pairs for each in iid.tests] == [N] * 7
    assert [each.n_pairs for each in ood.tests][:6] == [N] * 6
    manifest = existing_manifest(Layout(made[0]).manifest)
    entry = manifest.suites[HOP]["visual"][IID]
    assert entry == {"pairs": 35, "originals": 54, "images": iid.n_images, "visual": N}
    of_suite = {name for name in manifest.files if "/suites/visual/" in name}
    there = [path for path in (made[0] / f"hops/{HOP}/suites/visual").rglob("*") if path.is_file()]
    assert {path.relative_to(made[0]).as_posix() for path in there} == of_suite


@pytest.mark.slow
def test_the_same_command_writes_nothing_and_more_questions_extend(
    folder: Path, plain: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(plain, tmp_path / "copy")
    make_visual_suite(copy, 2)
    few = tree(copy / f"hops/{HOP}/suites/visual/images/{IID}")
    make_visual_suite(copy, N)
    assert tree(copy) == tree(folder)
    more = tree(copy / f"hops/{HOP}/suites/visual/images/{IID}")
    edited = {name for name in few if int(Path(name).stem[-6:]) % 8}
    assert edited
    assert all(more[name] == few[name] for name in edited)
    before = stamps(copy)
    make_visual_suite(copy, N)
    after = stamps(copy)
    assert {name for name in before if before[name] != after.get(name)} <= {"manifest.json"}


@pytest.mark.slow
@pytest.mark.parametrize("images", ["both", "h5"])
def test_a_run_that_was_killed_is_resumed(
    images: str, plain: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the middle of its images, then after a folder has an older suite of fewer questions."""
    copy = tmp_path / "copy"
    if images == "both":
        shutil.copytree(plain, copy)
    else:
        build_small(copy, images=images)
    writer, n_left = visual_images.image_writer, [30]

    @contextmanager
    def killed_writer(*arguments: Any, as_png: bool) -> Iterator[WriteImage]:
        with writer(*arguments, as_png=as_png) as write:

            def killed(path: Path, pixels: ImageArray) -> None:
                n_left[0] -= 1
                if not n_left[0]:
                    raise KeyboardInterrupt
                write(path, pixels)

            yield killed

    with monkeypatch.context() as patched:
        patched.setattr(visual_images, "image_writer", killed_writer)
        with pytest.raises(KeyboardInterrupt):
            make_visual_suite(copy, N)
    stores = list((copy / f"hops/{HOP}/suites/visual/images").glob(".clevrhope-*"))
    assert len(stores) == (images == "h5")
    make_visual_suite(copy, N)
    found, expected = (tree(each / f"hops/{HOP}/suites") for each in (copy, folder))
    if images == "h5":
        expected = {name: each for name, each in expected.items() if not name.endswith(".png")}
    assert found == expected


def test_a_larger_split_removes_its_suite_with_its_images(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    build_small(copy, n_iid=63)
    visual = copy / f"hops/{HOP}/suites/visual"
    assert not list(visual.rglob(f"{IID}*"))
    assert not list(visual.glob(f"*/{IID}/*"))
    assert (visual / f"{OOD}.h5").is_file()
    assert list((visual / "images" / OOD).glob("*.png"))


def test_features_of_scenes_leave_pixel_edits_out(folder: Path, tmp_path: Path) -> None:
    pool = f"{HOP}.visual.{IID}"
    of_scenes = make_features(folder, kind="attributes", out=tmp_path / "attributes", pools=[pool])
    of_images = make_features(folder, kind="pixels", size=(24, 16), out=tmp_path / "pixels", pools=[pool])
    kinds = {index: scene["edit"]["kind"] for index, scene in scenes_of(folder, pool).items()}
    seen = [index for index, kind in kinds.items() if kind not in PIXEL_TESTS]
    assert map_array(tmp_path / "attributes" / pool / "indices.npy", mode="r").tolist() == seen
    assert map_array(tmp_path / "pixels" / pool / "indices.npy", mode="r").tolist() == list(kinds)
    assert (of_scenes.n_skipped, of_images.n_skipped) == (len(kinds) - len(seen), 0)
    layout = Layout(folder)
    vocab = read_vocab(layout.suite_vocab(HOP, "visual"))
    table, _, n_skipped = open_suite(layout, HOP, "visual", IID, vocab=vocab, without_pixel_edits=True)
    assert {kinds[index] for index in table.image_idxs.tolist()} == {"removal", "edit"}
    assert (len(table), n_skipped) == (2 * N, 5 * N)
    assert open_suite(layout, HOP, "visual", IID, vocab=vocab).n_skipped == 0


def test_the_oracle_is_right_and_a_constant_flips_nothing(folder: Path, tmp_path: Path) -> None:
    for kind, accuracy, flips in (("symbolic", 100.0, 100.0), ("always_no", None, 0.0)):
        path = tmp_path / f"{kind}.jsonl"
        write_predictions(path, baseline(folder, kind, suite="visual"))
        (condition,) = score_suite(folder, "visual", path, seed=1, bootstrap=0).conditions
        scored = condition.splits[IID]
        tests = {name: each.mean for name, each in scored.by("test").items()}
        assert tests["edit"]["consistency"].value == flips
        assert tests["removal"]["consistency"].value == 100.0
        assert accuracy is None or all(mean["accuracy"].value == accuracy for mean in tests.values())
        assert scored.traits["same_programs"] == ()


def test_what_cannot_be_made_is_said(plain: Path, tmp_path: Path) -> None:
    bare = build_small(tmp_path / "bare", render=False)
    check_refused(ConfigError, make_visual_suite, bare)
    properties = tmp_path / "properties.json"
    raw = json.loads(Path("blender_assets/properties.json").read_text())
    raw["colors"]["pink"] = [255, 100, 150]
    properties.write_text(json.dumps(raw))
    check_refused(DatasetError, make_visual_suite, plain, properties=properties)
