"""The datasets, scenes and images that figures show, made by the package itself."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from style import Pixels

import clevrhope
from clevrhope.images.native import NativeRenderer
from clevrhope.images.passes import Passes

Scene = dict[str, Any]
SIZE = (480, 320)
SEED = 3
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Asked:
    """A question of a dataset with its scene."""

    text: str
    answer: str
    program: str
    scene: Scene
    index: int


def diversities(folder: Path) -> Path:
    """Train sets of cyan_cylinder at four diversities, without images."""
    options = "--hop cyan_cylinder --diversity 4,8,16,24 --preset small --splits train --no-render"
    return build(folder / "diversity", *options.split())


def build(folder: Path, *options: str) -> Path:
    """Runs `clevrhope build` into a folder, once."""
    if not (folder / "manifest.json").exists():
        run("build", "--seed", str(SEED), "--out", str(folder), *options)
    return folder


def run(*arguments: str) -> None:
    """Runs a command of the package.

    Raises:
        subprocess.CalledProcessError: it failed; it has said why.
    """
    command = [sys.executable, "-m", "clevrhope", *arguments, "--quiet"]
    subprocess.run(command, check=True)


def questions(folder: Path, hop: str, split: str) -> list[Asked]:
    """All questions of a split, in order."""
    rows = clevrhope.load(folder, hop, split, images=False, text=True, scenes=True)
    return [
        Asked(row["question_text"], row["answer_text"], row["program_text"], row["scene"], row["image_index"])
        for row in rows
    ]


def find(rows: list[Asked], text: str) -> Asked:
    """The first question with this text.

    Raises:
        LookupError: there is none, since the generator gives other questions now; choose another one.
    """
    for row in rows:
        if row.text == text:
            return row
    raise LookupError(f"no question {text!r} any more; choose another one for the figure")


def has(item: Scene, *values: str) -> bool:
    """Whether an object has all of these values."""
    return set(values) <= {item[kind] for kind in ("size", "color", "material", "shape")}


def boxes(scene: Scene, *values: str) -> list[list[int]]:
    """The boxes of the objects that have all of these values, in pixels: left, top, right, bottom."""
    return [item["bbox"] for item in scene["objects"] if has(item, *values)]


@cache
def _renderer() -> NativeRenderer:
    return NativeRenderer(width=SIZE[0], height=SIZE[1], quality="high")


def image(scene: Scene) -> Pixels:
    """The scene's image."""
    return next(pixels for _, pixels in _renderer().render([(0, scene)]))


def passes(scene: Scene) -> Passes:
    """The scene's annotations."""
    return next(found for _, found in _renderer().passes([(0, scene)]))


def scenes(number: int, *, pool: str = "train", seed: int = SEED, **world: Any) -> list[Scene]:
    """The first scenes of a pool."""
    made = clevrhope.scenes.sample_scenes(
        number, seed=seed, pool=pool, world=clevrhope.scenes.read_world(**world) if world else None
    )
    found: list[Scene] = json.loads(made.to_json())
    return found


def frame_of(shown: list[Scene], *, margin: float = 34, least: float = 200) -> tuple[int, int, int, int]:
    """The part of an image, 3 by 2, that has all objects of these scenes: left, top, right, bottom."""
    edges = np.array([item["bbox"] for scene in shown for item in scene["objects"]])
    (left, top), (right, bottom) = edges[:, :2].min(axis=0) - margin, edges[:, 2:].max(axis=0) + margin
    width = min(max(right - left, 1.5 * (bottom - top), least), SIZE[0])
    height = width / 1.5
    x = min(max((left + right - width) / 2, 0), SIZE[0] - width)
    y = min(max((top + bottom - height) / 2, 0), SIZE[1] - height)
    return round(x), round(y), round(x + width), round(y + height)
