"""Images of any shape: their scenes are sampled for it, and no object lies outside the image."""

import json
import math
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from building import Cli, request, tree

from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline import Request, build
from clevrhope.scenes import raster, read_world
from wording import refused

SHAPES = {
    (288, 192): (480, 320),
    (240, 240): (392, 392),
    (264, 198): (453, 339),
    (320, 180): (523, 294),
    (192, 288): (320, 480),
}
"""Width and height of images, and of the raster that their scenes are sampled in."""


def asked(out: Path, size: tuple[int, int]) -> Request:
    sizes = {"train": 45, "complex_iid": 90, "complex_ood": 4, "minimal_places": 1}
    made = request(out, sizes=sizes, passes=("mask",))
    width, height = size
    rendering = NativeSettings(width=width, height=height, quality="draft")
    return replace(made, config=replace(made.config, rendering=rendering))


def overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(N,) the intersections over the unions of boxes (N, 4) of left, top, right and bottom."""
    shared = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
    areas = [(each[:, 2:] - each[:, :2]).prod(axis=1) for each in (a, b)]
    both = shared.clip(min=0).prod(axis=1)
    return np.asarray(both / (sum(areas) - both))


QUICK = ((240, 240), (192, 288))


@pytest.mark.parametrize(
    ("size", "sampled"),
    [pytest.param(*each, marks=[] if each[0] in QUICK else [pytest.mark.slow]) for each in SHAPES.items()],
    ids=lambda size: "x".join(map(str, size)),
)
def test_every_object_is_in_its_image(
    size: tuple[int, int], sampled: tuple[int, int], tmp_path: Path
) -> None:
    folder = build(asked(tmp_path / "made", size)).folder
    constraints = existing_manifest(Layout(folder).manifest).world["constraints"]
    assert (constraints["width"], constraints["height"]) == sampled
    overlaps = []
    for pool in ("train", "test_iid", "test_ood"):
        with h5py.File(folder / "passes" / f"{pool}.h5") as file:
            n_objects, visible = file["n_objects"][:], file["visible_px"][:]
            boxes = file["boxes"][:].astype(float)
        for path in Layout(folder).scene_files(pool):
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


def test_sizes_of_one_shape_have_the_same_scenes() -> None:
    assert read_world().fingerprint == read_world(size=(96, 64)).fingerprint
    assert read_world(size=(224, 224)).fingerprint == read_world(size=(640, 640)).fingerprint
    assert read_world(size=(224, 224)).fingerprint != read_world().fingerprint


def test_a_folder_is_bound_to_its_shape(tmp_path: Path) -> None:
    folder = build(asked(tmp_path / "made", (48, 32))).folder
    before = tree(folder)
    with refused(DatasetError):
        build(asked(folder, (48, 48)))
    assert tree(folder) == before


def test_an_image_may_not_be_endlessly_long() -> None:
    with refused(ConfigError):
        raster(8192, 1)


def test_the_raster_is_no_setting(tmp_path: Path, cli: Cli) -> None:
    settings = tmp_path / "own.toml"
    settings.write_text("[world]\nwidth = 240\n")
    said = cli(
        "build", "--hop", "red_cube", "--config", settings, "--seed", 1, "--out", tmp_path / "o", code=2
    )
    assert "world.width is not a constraint" in said.err


def test_an_export_for_clevr_is_in_the_pixels_of_its_images(tmp_path: Path, cli: Cli) -> None:
    folder = build(replace(asked(tmp_path / "made", (96, 64)), splits=("train",))).folder
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
