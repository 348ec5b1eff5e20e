"""Scenes and images of a split's windows, made on demand."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.images.pixel_cache import PixelCache
from clevrhope.images.renderer import Renderer
from clevrhope.images.renderers import open_renderer
from clevrhope.images.settings import Rendering
from clevrhope.look.definition import read_look
from clevrhope.pipeline.engine import Engine
from clevrhope.pipeline.split_source import SplitSource


class WindowScenes:
    """The scenes of the open windows, by index, sampled a window at a time. Pickles without windows."""

    def __init__(self, source: SplitSource) -> None:
        self._source = source
        self._engine: Engine | None = None
        self._windows: Sequence[Ints] = ()
        self._rows: dict[int, str] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_engine": None, "_windows": (), "_rows": {}}

    def open(self, windows: Sequence[Ints]) -> None:
        """Opens windows, given by the indices of their scenes, and closes those that were open."""
        self._windows, self._rows = windows, {}

    def __getitem__(self, index: int) -> str:
        """A scene of an open window, as JSON."""
        if index not in self._rows:
            self._engine = self._engine or self._source.open_engine()
            (window,) = (each for each in self._windows if index in each)
            rows = (row for rows in self._engine.scene_rows(self._source.job.pool, window) for row in rows)
            self._rows |= zip(window.tolist(), map(bytes.decode, rows), strict=True)
        return self._rows[index]


class WindowImages:
    """The images of the open windows, each rendered on first access. Pickles without windows."""

    def __init__(
        self, scenes: WindowScenes, source: SplitSource, rendering: Rendering, cache: PixelCache | None
    ) -> None:
        self._scenes, self._source, self._rendering, self._cache = scenes, source, rendering, cache
        self._renderer: Renderer | None = None
        self._windows: list[_Window] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_renderer": None, "_windows": []}

    def open(self, windows: Sequence[Ints]) -> None:
        """Opens windows as `WindowScenes` does, which must have the same windows open."""
        shape = (self._rendering.height, self._rendering.width, 3)
        self._windows = [_Window(each, shape, self._cache) for each in windows]

    def pixels(self, index: int) -> ImageArray:
        """(height, width, 3) uint8 RGB of a scene of an open window, in an array that the caller owns.

        Raises:
            DatasetError: the cache cannot be read or written.
            SceneError: the renderer has no formula for a shape or material.
        """
        (window,) = (each for each in self._windows if index in each.indices)
        place = int(np.searchsorted(window.indices, index))
        if not window.is_made[place]:
            ((_, pixels),) = self._open_renderer().render([(index, json.loads(self._scenes[index]))])
            window.add(place, pixels)
        return np.array(window.pixels[place])

    def _open_renderer(self) -> Renderer:
        if self._renderer is None:
            config = self._source.config
            look = read_look(properties=config.properties, changes=config.look)
            self._renderer = open_renderer(self._rendering, look=look, workers=1)
        return self._renderer


class _Window:
    """The images of one window, from the cache or rendered so far."""

    def __init__(self, indices: Ints, shape: tuple[int, int, int], cache: PixelCache | None) -> None:
        self.indices, self._cache = indices, cache
        found = cache.read(indices, shape) if cache else None
        self.pixels = np.empty((len(indices), *shape), np.uint8) if found is None else found
        self.is_made = np.full(len(indices), found is not None)

    def add(self, place: int, pixels: ImageArray) -> None:
        self.pixels[place] = pixels
        self.is_made[place] = True
        if self._cache and self.is_made.all():
            self._cache.write(self.indices, self.pixels)
