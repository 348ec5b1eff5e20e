"""Folders with masks, depths and normals: made, resumed, grown, joined, loaded, planned and audited."""

import json
import pickle
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import Cli, request

import clevrhope
from clevrhope.audit import audit
from clevrhope.dataset.manifest import existing_manifest, write_manifest
from clevrhope.errors import ConfigError
from clevrhope.images.passes import annotator_of
from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline import Request, Summary, build
from clevrhope.runtime.atomic import record
from wording import check_refused

#: A quarter of an image's sides: objects of some hundred pixels, in milliseconds.
TINY = NativeSettings(width=120, height=80, quality="draft")
SIZES = {"train": 45, "complex_iid": 18, "complex_ood": 2, "minimal_places": 1}
ALL = ("mask", "depth", "normal")


def asked(out: Path, passes: tuple[str, ...] = ALL, **changes: Any) -> Request:
    return request(out, passes=passes, **{"sizes": SIZES, "rendering": TINY, **changes})


def make(out: Path, passes: tuple[str, ...] = ALL, **changes: Any) -> Summary:
    return build(asked(out, passes, **changes))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small folder with all passes, not to be changed."""
    return make(tmp_path_factory.mktemp("passes") / "whole").folder


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without passes."""
    return make(tmp_path_factory.mktemp("passes") / "bare", ()).folder


@pytest.fixture
def spoilt(whole: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copytree(whole, tmp_path / "spoilt"))


def scenes_of(folder: Path, pool: str) -> dict[int, dict[str, Any]]:
    rows = [json.loads(path.read_bytes())["scenes"] for path in sorted((folder / "scenes" / pool).glob("*"))]
    return {scene["image_index"]: scene for part in rows for scene in part}


def test_arrays_are_as_the_documentation_says(whole: Path) -> None:
    manifest = existing_manifest(whole / "manifest.json")
    assert manifest.config["passes"] == list(ALL)
    for pool, entry in manifest.pools.items():
        assert entry["passes"] == list(ALL)
        assert f"passes/{pool}.h5" in manifest.files
        scenes = scenes_of(whole, pool)
        with (
            h5py.File(whole / "passes" / f"{pool}.h5") as file,
            h5py.File(whole / "images" / f"{pool}.h5") as images,
        ):
            assert file["indices"][:].tolist() == images["indices"][:].tolist() == sorted(scenes)
            assert file.attrs["pool"] == pool
            size = (images["images"].shape[0], 80, 120)
            for kind, dtype, more in (("mask", "u1", ()), ("depth", "f4", ()), ("normal", "f2", (3,))):
                array = file[kind]
                assert (array.shape, array.dtype) == ((*size, *more), np.dtype(dtype))
                assert array.chunks == (1, 80, 120, *more)
                assert array.compression == "gzip"
                assert {"units", "background"} <= set(array.attrs)
            assert file["mask"].attrs["background"] == 255
            assert file["depth"].attrs["space"].startswith("camera: along its axis")
            assert file["normal"].attrs["space"].startswith("world")
            for index, scene in scenes.items():
                n = len(scene["objects"])
                assert file["n_objects"][index] == n
                mask = file["mask"][index]
                assert set(np.unique(mask)) <= {*range(n), 255}
                for number, each in enumerate(scene["objects"]):
                    shown = mask == number
                    rows, columns = np.nonzero(shown)
                    x, y, width, height = file["boxes"][index, number]
                    assert (x, y) == (columns.min(), rows.min())
                    assert (x + width, y + height) == (columns.max() + 1, rows.max() + 1)
                    # The scene counts pixels in an image of four times the sides.
                    sides = np.asarray([x, y, x + width, y + height])
                    assert np.abs(sides - np.asarray(each["bbox"]) / 4).max() < 1.01
                    visible = file["visible_px"][index, number]
                    assert visible == shown.sum()
                    assert visible == pytest.approx(each["visible_pixels"] / 16, rel=0.15, abs=4)
                    fraction = visible / file["alone_px"][index, number]
                    assert fraction == pytest.approx(each["visible_fraction"], abs=0.15)


def test_datasheets_name_them_where_they_are(whole: Path, bare: Path) -> None:
    sheet = (whole / "DATASHEET.md").read_text()
    assert "- passes/&lt;pool&gt;.h5: of each pixel of an image" in sheet
    assert "`mask`, `depth` and `normal`" in sheet
    assert "passes" not in (bare / "manifest.json").read_text()
    assert not (bare / "passes").exists()
    assert "mask" not in (bare / "DATASHEET.md").read_text()
    checks = {check.name: check for check in audit(bare).checks}
    assert (checks["passes"].result, checks["passes"].note) == ("not done", "made without --passes")


def test_loaded_beside_the_images(whole: Path) -> None:
    split = clevrhope.load(whole, "rubber_cylinder", "train", passes=("mask", "normal"))
    item = split[3]
    scene = scenes_of(whole, "train")[item["image_index"]]
    with h5py.File(whole / "passes" / "train.h5") as file:
        np.testing.assert_array_equal(item["mask"], file["mask"][item["image_index"]])
        assert item["boxes"].shape == file["boxes"].shape[1:]
    assert item["normal"].shape == (80, 120, 3)
    assert "depth" not in item
    n = len(scene["objects"])
    assert item["n_objects"] == n
    assert not item["boxes"][n:].any()
    for fraction, each in zip(item["visible_fraction"][:n], scene["objects"], strict=True):
        assert fraction == pytest.approx(each["visible_fraction"], abs=0.15)
    assert "mask" not in clevrhope.load(whole, "rubber_cylinder", "train")[3]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(split))[3]["mask"], item["mask"])


def test_masks_come_in_batches(whole: Path) -> None:
    data = pytest.importorskip("torch.utils.data")
    items = clevrhope.load(whole, "rubber_cylinder", "train", passes=("mask",))
    for batch in data.DataLoader(items, batch_size=16):
        n = len(batch["answer"])
        assert batch["mask"].shape == (n, 80, 120)
        assert batch["boxes"].shape == (n, items[0]["boxes"].shape[0], 4)
        assert batch["visible_fraction"].shape == batch["boxes"].shape[:2]
        assert batch["n_objects"].shape == (n,)


def test_what_cannot_be_loaded_or_made_is_said(whole: Path, bare: Path, tmp_path: Path) -> None:
    for folder, kind in ((bare, "mask"), (whole, "masks")):
        check_refused(ConfigError, clevrhope.load, folder, "rubber_cylinder", "train", passes=(kind,))
    check_refused(ConfigError, make, tmp_path / "x", clevr=tmp_path)
    check_refused(ConfigError, annotator_of, _ImagesAlone())


@pytest.mark.slow
def test_text_alone_can_still_be_added(spoilt: Path) -> None:
    build(asked(spoilt, (), hops=("none",), render=False))
    assert make(spoilt, ()).n_annotated > 0
    assert problems(spoilt) == []


@pytest.mark.slow
def test_plan_counts_their_bytes_and_time(tmp_path: Path, cli: Cli) -> None:
    plan = ["plan", "--hop", "none", "--splits", "val", "--test-questions", "9", "--seed", "1"]
    plan += ["--renderer", "native", "--quality", "draft", "--out", str(tmp_path / "none"), "--json"]
    choices = ([], ["--passes", "mask"], ["--passes", "mask,depth,normal"])
    without, mask, every = (json.loads(cli(*plan, *more).out) for more in choices)
    assert without["images_to_annotate"] == 0
    assert every["images_to_annotate"] == every["images_to_render"] == 1
    assert without["bytes"] < mask["bytes"] < without["bytes"] + 20_000 < every["bytes"]


class _ImagesAlone:
    """A renderer without annotations."""

    def render(self, scenes: Any) -> Any:
        return iter(())


def of_pool(folder: Path, change: Callable[[h5py.File], None], pool: str = "train") -> None:
    """Changes a file of annotations, and what the manifest says of its bytes."""
    path = folder / "passes" / f"{pool}.h5"
    with h5py.File(path, "r+") as file:
        change(file)
    manifest = existing_manifest(folder / "manifest.json")
    write_manifest(folder / "manifest.json", manifest.with_files({f"passes/{pool}.h5": record(path)}))


def problems(folder: Path) -> list[str]:
    report = audit(folder)
    failed = [check for check in report.checks if check.result == "failed"]
    assert [check.name for check in failed] in ([], ["passes"])
    return [fault.problem for check in failed for fault in check.faults]


def test_the_audit_passes_what_was_built(whole: Path) -> None:
    checks = {check.name: check for check in audit(whole).checks}
    assert all(check.result != "failed" for check in checks.values())
    n_images = sum(len(list(path.glob("*.png"))) for path in (whole / "images").iterdir())
    assert checks["passes"].n_checked == n_images


def _renumbered(file: h5py.File) -> None:
    """Two objects' numbers exchanged."""
    row = file["indices"][0]
    mask = file["mask"][row]
    file["mask"][row] = np.choose(np.clip(mask, 0, 2), [1, 0, mask])


def _strange(file: h5py.File) -> None:
    mask = file["mask"][file["indices"][0]]
    mask[0, 0] = 77
    file["mask"][file["indices"][0]] = mask


def _one_missing(file: h5py.File) -> None:
    rows = file["indices"][:]
    del file["indices"]
    file["indices"] = rows[1:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_renumbered, "mask: does not show object 0 where its scene has it"),
        (_strange, "mask: a number that is neither one of the"),
        (_one_missing, "no annotations of the image"),
    ],
    ids=["renumbered", "strange", "one missing"],
)
def test_the_audit_finds(change: Callable[[h5py.File], None], words: str, spoilt: Path) -> None:
    of_pool(spoilt, change)
    faults = problems(spoilt)
    assert faults
    assert all(words in each for each in faults)


@pytest.mark.slow
def test_a_manifest_that_promises_other_passes_is_found(spoilt: Path) -> None:
    path = spoilt / "manifest.json"
    manifest = existing_manifest(path)
    write_manifest(path, replace(manifest, config={**manifest.config, "passes": ["mask"]}))
    faults = problems(spoilt)
    assert len(faults) == len(manifest.pools)
    assert all(re.match(r"config\.passes is mask, but pools\.\w+\.passes is", each) for each in faults)


def test_a_file_that_is_cut_off_is_named(spoilt: Path) -> None:
    path = spoilt / "passes" / "train.h5"
    path.write_bytes(path.read_bytes()[:-500])
    checks = {check.name: check for check in audit(spoilt).checks}
    assert [fault.file for fault in checks["readable"].faults] == ["passes/train.h5"]
    assert checks["passes"].result == "in part"
