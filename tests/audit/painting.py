"""Painted images for the audit, without Blender: each object's pixels in its colour."""

import json
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from fake_renderer import FakeRenderer

from clevrhope._core import SceneBatch, object_ids
from clevrhope.images.renderer import Pixels, Scene
from clevrhope.runtime import assets
from clevrhope.scenes import read_world

K = TypeVar("K", bound=Hashable)


class PaintedRenderer(FakeRenderer):
    """Paints objects dull, as light and shadow make them, on a ground that gets lighter downwards."""

    def __init__(self, **_: Any) -> None:
        self._world = read_world()
        path = assets.blender_assets() / "properties.json"
        self._colours = json.loads(path.read_bytes())["colors"]

    def render(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Pixels]]:
        for key, scene in scenes:
            yield key, self.pixels(scene)

    def pixels(self, scene: Scene) -> Pixels:
        data = json.dumps({"scenes": [scene]}).encode()
        batch = SceneBatch.from_json(self._world.vocabulary, data, file="painted")
        (ids,) = object_ids(self._world, batch)
        ground = np.linspace(80, 140, ids.shape[0])[:, None, None]
        pixels = np.broadcast_to(ground, (*ids.shape, 3)).copy()
        for number, each in enumerate(scene["objects"], 1):
            pixels[ids == number] = 40 + 0.4 * np.asarray(self._colours[each["color"]])
        painted: Pixels = pixels.astype(np.uint8)
        return painted
