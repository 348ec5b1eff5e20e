"""Images of any shape: their scenes are sampled for it, and no object lies outside the image."""

import json
import math
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest
from building import Cli, request, tree
from spoiling import Spoilt, failed

from clevrhope.audit import audit
from clevrhope.browse.addresses import Links, Query
from clevrhope.browse.folder import SiteFolder, SplitKey
from clevrhope.browse.indexes import Indexes
from clevrhope.browse.models import Models
from clevrhope.browse.pages import Pages
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.images.settings import BlenderSettings, NativeSettings, Rendering
from clevrhope.pipeline import Request, build
from clevrhope.pipeline.engine import open_world
from clevrhope.runtime.progress import Silent
from clevrhope.scenes import raster, read_world, sample_scenes
from clevrhope.scenes.sketch import scene_svg
from wording import check_refused, check_words

DRAFT = NativeSettings(quality="draft")

SIZES = {"train": 45, "complex_iid": 90, "complex_ood": 4, "minimal_places": 1}

SHAPES = {
    (288, 192): (480, 320),
    (240, 240): (392, 392),
    (264, 198): (453, 339),
    (320, 180): (523, 294),
    (192, 288): (320, 480),
}
"""Width and height of images, and of the raster that their scenes are sampled in."""


def asked(out: Path, size: tuple[int, int], rendering: Rendering = DRAFT, **changes: Any) -> Request:
    made = request(out, **{"sizes": SIZES, "passes": ("mask",), **changes})
    width, height = size
    sized = replace(rendering, width=width, height=height)
    return replace(made, config=replace(made.config, rendering=sized))


def overlap(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(N,) the intersections over the unions of boxes (N, 4) of left, top, right and bottom."""
    shared = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
    areas = [(each[:, 2:] - each[:, :2]).prod(axis=1) for each in (a, b)]
    both = shared.clip(min=0).prod(axis=1)
    return np.asarray(both / (sum(areas) - both))


QUICK = ((240, 240), (192, 288))


def check_objects(folder: Path, size: tuple[int, int]) -> None:
    """Each object shows a pixel of the mask, and its box there is that of its scene."""
    sampled = existing_manifest(Layout(folder).manifest).raster_px
    assert sampled == SHAPES[size]
    overlaps = []
    for file_of_pool in (folder / "passes").glob("*.h5"):
        with h5py.File(file_of_pool) as file:
            n_objects, visible = file["n_objects"][:], file["visible_px"][:]
            boxes = file["boxes"][:].astype(float)
        for path in Layout(folder).scene_files(file_of_pool.stem):
            for scene in json.loads(path.read_text())["scenes"]:
                row = scene["image_index"]
                n = len(scene["objects"])
                assert n_objects[row] == n
                assert visible[row, :n].min() >= 1
                mine = boxes[row, :n]
                mine[:, 2:] += mine[:, :2]
                of_scene = np.array([item["bbox"] for item in scene["objects"]], dtype=float)
                overlaps.append(overlap(mine / np.tile(size, 2), of_scene / np.tile(sampled, 2)))
    assert np.concatenate(overlaps).mean() > 0.95
    assert audit(folder).ok


@pytest.mark.parametrize(
    "size",
    [pytest.param(each, marks=[] if each in QUICK else [pytest.mark.slow]) for each in SHAPES],
    ids=lambda size: "x".join(map(str, size)),
)
def test_every_object_is_in_its_image(size: tuple[int, int], tmp_path: Path) -> None:
    check_objects(build(asked(tmp_path / "made", size)).folder, size)


@pytest.mark.slow
@pytest.mark.parametrize("size", QUICK, ids=lambda size: "x".join(map(str, size)))
def test_every_object_is_in_an_image_of_blender(size: tuple[int, int], tmp_path: Path) -> None:
    rendering = BlenderSettings(samples=1, device="cpu")
    few = {"sizes": {"train": 36}, "splits": ("train",)}
    check_objects(build(asked(tmp_path / "made", size, rendering, **few)).folder, size)


def test_audit_looks_at_shapes_without_masks(tmp_path: Path) -> None:
    """Images of another shape than the scenes were sampled for, and an object out of the image, are named."""
    clean = build(asked(tmp_path / "made", (48, 48), passes=(), splits=("train",))).folder
    assert audit(clean).ok
    shaped, moved = (Spoilt.copy(clean, tmp_path / name) for name in ("shaped", "moved"))
    shaped.manifest(lambda raw: raw["rendering"].update(height=32))
    moved.scenes("train", lambda rows: rows[0]["objects"][0].update({"3d_coords": [6.0, 6.0, 0.7]}))
    for folder in (shaped, moved):
        faults = failed(audit(folder.root))["visible objects"].faults
        check_words(str(faults[0]))


def test_any_shape_is_audited_without_images(tmp_path: Path) -> None:
    """The shape of a raster can differ from that of the images by half a pixel."""
    wide = replace(asked(tmp_path / "made", (360, 100), passes=(), splits=("train",)), render=False)
    folder = build(wide).folder
    assert raster(*existing_manifest(Layout(folder).manifest).raster_px) != raster(360, 100)
    assert audit(folder).ok


@pytest.fixture(scope="module")
def square(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of 320 x 320, whose scenes are sampled for 392 x 392."""
    out = tmp_path_factory.mktemp("square") / "made"
    return build(asked(out, (320, 320), splits=("train",))).folder


def test_datasheets_say_for_which_shape_scenes_are_sampled(square: Path) -> None:
    for sheet in (square / "DATASHEET.md", square / "hops/rubber_cylinder/DATASHEET.md"):
        text = " ".join(sheet.read_text().split())
        assert "sampled for images of 392 x 392 pixels, or of another size in this shape" in text
        assert "Each object covers at least 100 of these pixels" in text
        assert "an image's border may cut an object" in text


def test_boxes_of_features_are_those_of_the_masks(square: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from clevrhope.features.extraction import make_features

    make_features(square, kind="scene-boxes", size=(64, 64), weights="random", out=tmp_path / "boxes")
    n_boxes, boxes, indices = (
        np.load(tmp_path / "boxes" / "train" / f"{name}.npy") for name in ("n_boxes", "boxes", "indices")
    )
    overlaps = []
    with h5py.File(square / "passes" / "train.h5") as file:
        for n, mine, index in zip(n_boxes, boxes, indices, strict=True):
            of_mask = file["boxes"][int(index), :n].astype(float)
            of_mask[:, 2:] += of_mask[:, :2]
            overlaps.append(overlap(mine[:n], of_mask / 320))
    assert np.concatenate(overlaps).mean() > 0.95


def test_pages_show_boxes_where_the_objects_are(square: Path) -> None:
    folder = SiteFolder(square)
    with closing(Indexes(folder, Silent())) as indexes:
        pages = Pages(folder, Models(), indexes)
        text = pages.question(Links(3), SplitKey(folder.hops[0], "train"), 0, Query())
    assert 'width="392" height="392"' in text
    assert 'viewBox="0 0 392 392"' in text
    image = int(re.findall(r"HOPE_train_(\d{6})", text)[0])
    boxes = re.findall(r'class="line" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', text)
    with h5py.File(square / "passes" / "train.h5") as file:
        of_mask = file["boxes"][image, : len(boxes)].astype(float)
    mine = np.array(boxes, dtype=float)
    for each in (mine, of_mask):
        each[:, 2:] += each[:, :2]
    assert overlap(mine / 392, of_mask / 320).mean() > 0.9
    assert "aspect-ratio" not in (square / "index.html").read_text()  # which would stretch the images


def test_a_sketch_of_a_scene_of_another_shape_shows_all_objects() -> None:
    scene = json.loads(sample_scenes(1, seed=1, world=read_world(size=(2, 3))).to_json())[0]
    bottom = max(item["bbox"][3] for item in scene["objects"])
    assert bottom > 320
    assert f'viewBox="0 0 480 {bottom}"' in scene_svg(scene)
    assert 'viewBox="0 0 320 480"' in scene_svg(scene, size_px=(320, 480))


def test_sizes_of_one_shape_have_the_same_scenes() -> None:
    assert read_world().fingerprint == read_world(size=(96, 64)).fingerprint
    assert read_world(size=(224, 224)).fingerprint == read_world(size=(640, 640)).fingerprint
    assert read_world(size=(224, 224)).fingerprint != read_world().fingerprint


def test_a_folder_is_bound_to_its_shape(tmp_path: Path) -> None:
    folder = build(asked(tmp_path / "made", (48, 32))).folder
    before = tree(folder)
    check_refused(DatasetError, build, asked(folder, (48, 48)))
    assert tree(folder) == before


def test_an_image_may_not_be_endlessly_long() -> None:
    check_refused(ConfigError, raster, 8192, 1)


def test_images_in_which_objects_would_show_no_pixel_are_refused(tmp_path: Path) -> None:
    """Of objects with 100 visible pixels in a raster of 153,600."""
    assert open_world(asked(tmp_path, (48, 32)).config)
    small = asked(tmp_path, (48, 31)).config
    check_refused(ConfigError, open_world, small)
    assert open_world(replace(small, world={"min_pixels": 104}))


def test_the_raster_is_no_setting(tmp_path: Path, cli: Cli) -> None:
    settings = tmp_path / "own.toml"
    settings.write_text("[world]\nwidth = 240\n")
    said = cli(
        "build", "--hop", "red_cube", "--config", settings, "--seed", 1, "--out", tmp_path / "o", code=2
    )
    assert 'unknown setting "world.width"' in said.err


def test_an_export_for_clevr_is_in_the_pixels_of_its_images(tmp_path: Path, cli: Cli) -> None:
    folder = build(asked(tmp_path / "made", (96, 64), splits=("train",))).folder
    cli("export", folder, "--format", "clevr", "--hop", "rubber_cylinder", "--out", tmp_path / "clevr")
    (sampled,) = Layout(folder).scene_files("train")
    own = json.loads(sampled.read_text())["scenes"]
    exported = json.loads((tmp_path / "clevr/scenes/CLEVR_train_scenes.json").read_text())["scenes"]
    assert len(exported) == len(own)
    for scene, other in zip(own, exported, strict=True):
        for item, smaller in zip(scene["objects"], other["objects"], strict=True):
            *place, depth = item["pixel_coords"]
            assert smaller["pixel_coords"] == [*(round(each / 5) for each in place), depth]
            corners = [each / 5 for each in item["bbox"]]
            assert smaller["bbox"] == [*map(math.floor, corners[:2]), *map(math.ceil, corners[2:])]
            assert smaller["visible_pixels"] == item["visible_pixels"]
