"""The exported COCO files, read by pycocotools, against the folder's masks and scenes."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from building import Cli, request
from pycocotools.coco import COCO
from truth import HOP, Truth

from clevrhope.errors import ConfigError
from clevrhope.export import export
from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline import build
from wording import check_words, refused

SPLITS = ("train", "minimal_ood")
SIZES = {"train": 36, "complex_iid": 9, "complex_ood": 1, "minimal_places": 1}


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("coco") / "data"
    asked = request(out, sizes=SIZES)
    rendering = NativeSettings(width=120, height=80, quality="draft")
    build(replace(asked, config=replace(asked.config, rendering=rendering, passes=("mask",))))
    return out


@pytest.fixture(scope="module")
def exported(annotated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("coco") / "out"
    export(annotated, out, format="coco", splits=SPLITS)
    return out


@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy")  # pycocotools, numpy 2
@pytest.mark.parametrize(("split", "pool"), [("train", "train"), ("minimal_ood", "minimal_material_shape")])
def test_pycocotools_reads_the_very_masks(split: str, pool: str, annotated: Path, exported: Path) -> None:
    coco = COCO(exported / HOP / "annotations" / f"instances_{split}.json")
    with h5py.File(annotated / "hops" / HOP / f"{split}.h5") as file:
        used = np.unique(file["image_idxs"][:]).tolist()
    assert sorted(coco.getImgIds()) == used
    scenes = Truth(annotated).scenes(pool)
    n_hidden = 0
    with h5py.File(annotated / "passes" / f"{pool}.h5") as file:
        for image in coco.loadImgs(used):
            index = image["id"]
            assert (image["width"], image["height"]) == (120, 80)
            assert (exported / HOP / split / image["file_name"]).read_bytes() == (
                annotated / "images" / pool / image["file_name"]
            ).read_bytes()
            mask = file["mask"][index]
            objects = scenes[index]["objects"]
            annotations = coco.loadAnns(coco.getAnnIds(imgIds=[index]))
            n_hidden += len(objects) - len(annotations)
            painted = np.full_like(mask, 255)
            for each in annotations:
                number = each["attributes"]["object_index"]
                decoded = coco.annToMask(each)
                assert (decoded == (mask == number)).all()
                assert each["area"] == decoded.sum()
                assert each["bbox"] == file["boxes"][index, number].tolist()
                assert each["iscrowd"] == 0
                painted[decoded == 1] = number
                (category,) = coco.loadCats([each["category_id"]])
                assert category["name"] == objects[number]["shape"]
                for kind in ("size", "color", "material"):
                    assert each["attributes"][kind] == objects[number][kind]
                fraction = each["attributes"]["visible_fraction"]
                assert fraction == pytest.approx(objects[number]["visible_fraction"], abs=0.15)
            assert (painted == mask).all()
    assert n_hidden == 0
    assert coco.getCatIds(catNms=["cube", "sphere", "cylinder"]) == [1, 2, 3]


def test_annotations_are_numbered_from_one(exported: Path) -> None:
    raw = json.loads((exported / HOP / "annotations" / "instances_train.json").read_text())
    assert [each["id"] for each in raw["annotations"]] == list(range(1, len(raw["annotations"]) + 1))
    assert raw["licenses"][0]["name"] == "CC BY 4.0"


def test_a_folder_without_masks_is_refused(copy: Path, annotated: Path, tmp_path: Path, cli: Cli) -> None:
    shutil.rmtree(copy / "passes")
    with refused(ConfigError):
        export(copy, tmp_path / "out", format="coco", splits=("train",), hops=(HOP,))
    check_words(
        cli("export", annotated, "--format", "coco", "--out", tmp_path / "out", "--no-images", code=2).err
    )
    assert not (tmp_path / "out").exists()
