"""A folder laid out like CLEVR_v1.0 out, its train scenes sampled and its images painted here."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from painting import PaintedRenderer
from PIL import Image

from clevrhope.images.renderer import Pixels
from clevrhope.scenes import read_world, sample_scenes

Row = dict[str, Any]

NOT_PUBLISHED = ("camera", "lights", "stream")
NOT_PUBLISHED_OF_OBJECTS = ("visible_pixels", "visible_fraction", "bbox")


@dataclass(frozen=True)
class MadeClevr:
    """A CLEVR folder, and what its images show."""

    root: Path
    sampled: dict[str, Row]
    """Name of an image -> its scene with camera and lights."""

    @property
    def scenes(self) -> Path:
        return self.root / "scenes" / "CLEVR_train_scenes.json"

    def image(self, name: str) -> Path:
        return self.root / "images" / "train" / name

    def pixels(self, name: str) -> Pixels:
        """What the image is painted with."""
        return PaintedRenderer().pixels(self.sampled[name])

    def paint(self, names: Iterable[str]) -> None:
        """Writes images as CLEVR's are: with an opacity that is full."""
        for name in names:
            pixels = self.pixels(name)
            opaque = np.full((*pixels.shape[:2], 1), 255, np.uint8)
            self.image(name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.concatenate([pixels, opaque], axis=2), "RGBA").save(self.image(name))

    def change(self, change: Callable[[list[Row]], None]) -> None:
        """Changes the scenes in the file."""
        raw = json.loads(self.scenes.read_text())
        change(raw["scenes"])
        self.scenes.write_text(json.dumps(raw))


def make_clevr(root: Path, n: int, *, seed: int = 1, split: str = "train") -> MadeClevr:
    """A folder with n scenes of a split, in CLEVR's published form, and no images yet."""
    world = read_world(constraints={"directions": "clevr"})
    rows: list[Row] = json.loads(
        sample_scenes(n, seed=seed, pool=f"published_{split}", world=world).to_json()
    )
    sampled, scenes = {}, []
    for index, row in enumerate(rows):
        name = f"CLEVR_{split}_{index:06d}.png"
        sampled[name] = row
        objects = [
            {key: value for key, value in each.items() if key not in NOT_PUBLISHED_OF_OBJECTS}
            for each in row["objects"]
        ]
        named = {"split": split, "image_index": index, "image_filename": name, "objects": objects}
        scenes.append({key: value for key, value in {**row, **named}.items() if key not in NOT_PUBLISHED})
    path = root / "scenes" / f"CLEVR_{split}_scenes.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"info": {"split": split, "version": "1.0"}, "scenes": scenes}))
    return MadeClevr(root, sampled)
