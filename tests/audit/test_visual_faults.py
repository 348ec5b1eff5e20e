"""Faults planted in edited images: found by the line of the audit's report that looks for them, and named."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from spoiling import Arrays, Row, check_faults, failed
from suite_spoiling import Spoil, SpoiltSuite

from clevrhope.audit import audit
from clevrhope.config.presets import PRESETS
from clevrhope.images.png import encode_png
from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline import Request, build
from clevrhope.pipeline.visual.suite import make_visual_suite

pytestmark = pytest.mark.slow

HOP, IID, OOD = "rubber_cylinder", "complex_iid", "complex_ood"
FOLDER = f"hops/{HOP}/suites/visual"
PAIRS = f"{FOLDER}/{IID}"
SCENES, IMAGES = f"{FOLDER}/scenes/{IID}", f"{FOLDER}/images/{IID}.h5"


@pytest.fixture(scope="module")
def visual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("audit") / "visual"
    sizes = replace(PRESETS["demo"].sizes, train=27, complex_iid=45, complex_ood=8)
    rendering = NativeSettings(width=240, height=160, quality="draft")
    config = replace(PRESETS["demo"], sizes=sizes, rendering=rendering)
    build(Request(out=out, hops=(HOP,), splits=("train", IID, OOD), config=config, seed=5))
    make_visual_suite(out, 4)
    return out


@pytest.fixture
def data(visual: Path, tmp_path: Path) -> "SpoiltVisual":
    return SpoiltVisual.copy(visual, tmp_path / "spoilt")


class SpoiltVisual(SpoiltSuite):
    """A folder with edited images that may be written to."""

    def scenes(self, change: Callable[[list[Row]], None]) -> None:
        self._rows(f"{SCENES}/0000.json", "scenes", change)

    def edit(self, kind: str, change: Callable[[Row], None]) -> None:
        """Changes the first scene of a kind."""
        self.scenes(lambda rows: change(next(row for row in rows if row["edit"]["kind"] == kind)))

    def index(self, kind: str, skip: int = 0) -> int:
        rows = json.loads(self.path(f"{SCENES}/0000.json").read_text())["scenes"]
        return int([row["image_index"] for row in rows if row["edit"]["kind"] == kind][skip])

    def image(self, kind: str, pixels_of: Callable[[Callable[[str], Any]], Any], *, png: bool = True) -> None:
        """Replaces the first image of a kind in HDF5, and as a PNG file."""
        index = self.index(kind)
        with h5py.File(self.path(IMAGES), "r+") as file:
            images = file["images"]
            pixels = pixels_of(lambda other: images[self.index(other)])
            images[index] = pixels
        if png:
            name = f"HOPE_{HOP}.visual.{IID}_{index:06d}.png"
            self.path(f"{FOLDER}/images/{IID}/{name}").write_bytes(encode_png(pixels))
        self.sign()


Plant = Callable[[SpoiltVisual], None]


def in_scene(kind: str, change: Callable[[Row], None]) -> Plant:
    return lambda data: data.edit(kind, change)


def instead(kind: str, of: str, **options: bool) -> Plant:
    """The image of another kind in place of one."""
    return lambda data: data.image(kind, lambda image: image(of), **options)


def moved(row: Row) -> None:
    row["objects"][0]["3d_coords"][0] += 0.5


def recolored(row: Row) -> None:
    row["objects"][0]["color"] = "red" if row["objects"][0]["color"] != "red" else "blue"


def twice_edited(row: Row) -> None:
    other = next(each for k, each in enumerate(row["objects"]) if k != row["edit"]["object"])
    other["color"] = "red" if other["color"] != "red" else "blue"


def held_out(row: Row) -> None:
    """The edit makes a rubber cylinder where none may be."""
    edited = row["objects"][row["edit"]["object"]]
    edited["material"], edited["shape"] = "rubber", "cylinder"


def of_another_question(row: Row) -> None:
    row["edit"]["question_index"] += 1


def without_value(row: Row) -> None:
    del row["edit"]["value"]


def more_pixels(row: Row) -> None:
    row["objects"][0]["visible_pixels"] += 1


def fewer_kept(row: Row) -> None:
    row["edit"]["objects"] = row["edit"]["objects"][:-1] or [len(row["objects"]) - 1]


def other_source(row: Row) -> None:
    row["edit"]["source"] = "HOPE_test_iid_999999.png"


def other_camera(row: Row) -> None:
    row["camera"]["location"][0] += 0.1


def other_relation(row: Row) -> None:
    left = row["relationships"]["left"]
    left[0] = [] if left[0] else [1]


def loose_box(row: Row) -> None:
    box = row["edit"]["box"]
    box[0] += -40 if box[0] >= 40 else 20


def other_sigma(row: Row) -> None:
    row["edit"]["sigma_px"] += 1


def noise(data: SpoiltVisual) -> None:
    """A fill whose background is not of one color."""

    def pixels(image: Callable[[str], Any]) -> Any:
        found = image("fill").copy()
        found[:4, :4] = 255
        return found

    data.image("fill", pixels)


def other_image(data: SpoiltSuite, arrays: Arrays) -> None:
    """A partner that is asked about the fill in place of the crop."""
    crop = data.test("crop", PAIRS)
    row = 2 * int(np.flatnonzero(arrays["test"][::2] == crop)[0]) + 1
    arrays["image_idxs"][row] -= 1


def other_copy(data: SpoiltSuite, arrays: Arrays) -> None:
    """The copy for the next question that has one of its own."""
    images = arrays["image_idxs"]
    images[0] = next(index for index in images[::2] if index != images[0])


def same_for_flip(data: SpoiltSuite, arrays: Arrays) -> None:
    rows = arrays["test"] == data.test("edit", PAIRS)
    arrays["relation"][rows] = 0


def other_question(data: SpoiltSuite, arrays: Arrays) -> None:
    arrays["questions"][1] = arrays["questions"][-1]


def lost_image(data: SpoiltVisual) -> None:
    with h5py.File(data.path(IMAGES), "r+") as file:
        indices = file["indices"][:]
        del file["indices"]
        file["indices"] = indices[:-1]
    data.sign()


def renamed(data: SpoiltVisual) -> None:
    data.scenes(lambda rows: rows[0].update(image_filename="HOPE_test_iid_000000.png"))


def wrong_counts(raw: Row) -> None:
    raw["suites"][HOP]["visual"][IID]["images"] += 1


def in_arrays(spoil: Spoil) -> Plant:
    """A plant that changes the arrays of the pairs."""
    return lambda data: data.change(f"{PAIRS}.h5", partial(spoil, data))


FAULTS: dict[str, Plant] = {
    "moved": in_scene("copy", moved),
    "recolored": in_scene("blur_1", recolored),
    "recolored removal": in_scene("removal", recolored),
    "twice edited": in_scene("edit", twice_edited),
    "held out": in_scene("edit", held_out),
    "of another question": in_scene("fill", of_another_question),
    "without value": in_scene("edit", without_value),
    "more pixels": in_scene("removal", more_pixels),
    "other foreground": in_scene("blur_2", fewer_kept),
    "other source": in_scene("fill", other_source),
    "other camera": in_scene("removal", other_camera),
    "other relation": in_scene("blur_3", other_relation),
    "loose box": in_scene("crop", loose_box),
    "other sigma": in_scene("blur_1", other_sigma),
    "no removal": instead("removal", "copy"),
    "no value changed": instead("edit", "copy"),
    "no blur": instead("blur_1", "copy"),
    "less blur": instead("blur_3", "blur_1"),
    "blur for fill": instead("fill", "blur_3"),
    "copy for crop": instead("crop", "copy"),
    "edited copy": instead("copy", "blur_1"),
    "another PNG": instead("fill", "blur_1", png=False),
    "noise": noise,
    "other image": in_arrays(other_image),
    "other copy": in_arrays(other_copy),
    "same for flip": in_arrays(same_for_flip),
    "other question": in_arrays(other_question),
    "lost image": lost_image,
    "renamed": renamed,
    "wrong counts": lambda data: data.manifest(wrong_counts),
}


def test_a_sound_folder_passes(visual: Path) -> None:
    report = audit(visual)
    assert not failed(report), [str(fault) for each in report.checks for fault in each.faults]
    line = {each.name: each for each in report.checks}["pair images"]
    assert line.result == "passed"
    assert line.n_checked > 40


@pytest.mark.parametrize("plant", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found(plant: Plant, data: SpoiltVisual) -> None:
    plant(data)
    check_faults(data.root)
