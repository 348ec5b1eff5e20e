"""Folders with episodes whose images can be read, and the requests about them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fake_renderer
import numpy as np
import pytest
from building import build_demo

from clevrhope.images.settings import BlenderSettings
from clevrhope.metrics.nonce_requests import NonceRequests
from clevrhope.scenes.vocabulary import default_vocabulary

N = 33
"""Three turns of all forms."""

TYPES = [(kind, [*values]) for kind, values in default_vocabulary().attribute_types]
Rows = list[dict[str, Any]]


def readable(scene: Mapping[str, Any]) -> Any:
    """(32, 48, 3): a stripe an object, whose shades are the numbers of its values."""
    pixels = np.zeros((fake_renderer.HEIGHT, fake_renderer.WIDTH, 3), dtype=np.uint8)
    for place, each in enumerate(scene["objects"]):
        size, color, material, shape = (1 + values.index(each[kind]) for kind, values in TYPES)
        pixels[place * 3 : place * 3 + 3] = (10 * size + shape, color, material)
    return pixels


def build_episodes(out: Path, *, types: str = "told") -> Path:
    """A dataset of episodes with images that can be read."""
    rendering = BlenderSettings(width=fake_renderer.WIDTH, height=fake_renderer.HEIGHT)
    choices: dict[str, Any] = {"hops": ("none",), "splits": (), "images": "h5", "rendering": rendering}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fake_renderer, "pixels_of", readable)
        build_demo(out, nonce=N, nonce_types=types, **choices)
    return out


def lines(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def asked(folder: Path, **choices: Any) -> Rows:
    """The requests about a folder's episodes, as a file has them."""
    out = folder.parent / f"{folder.name}.jsonl"
    NonceRequests(folder, **{"seed": 1, **choices}).write(out)
    return lines(out)
