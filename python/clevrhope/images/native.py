"""The native renderer: CLEVR's look without Blender."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import asdict
from typing import TypeVar, get_args

from clevrhope._core import NativeStudio, RenderStop
from clevrhope.errors import ConfigError, SceneError
from clevrhope.images.passes import Passes, measure_passes
from clevrhope.images.placement import place_inside
from clevrhope.images.renderer import Pixels, Renderer, RendererRow, Scene
from clevrhope.images.settings import NATIVE_REVISION, NativeQuality, NativeSettings
from clevrhope.look.blend_files import is_blend
from clevrhope.look.definition import Look, read_look
from clevrhope.runtime.digits import read_variable
from clevrhope.runtime.resources import available_cores
from clevrhope.runtime.threads import map_in_threads

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

#: The most objects of a scene; the native module rejects more.
MOST_OBJECTS = 64


class NativeRenderer(Renderer):
    """Renders CLEVR's look on all cores of this process; any number of threads gives the same bytes.

    It supports the shapes, lights and materials that look.json can name, and meshes from files. Its images of
    the sixteen reference scenes reach 40.4 dB (draft), 46.4 dB (standard) and 48.1 dB (high) against 512
    samples.

    Args:
        look: shapes, materials, lights, camera and properties; by default the package's.
        width: pixels.
        height: pixels.
        quality: draft, standard or high.
        workers: images in flight at once, which share all cores; by default as many as there are cores.

    Raises:
        ConfigError: an invalid size, quality or number of workers, also in RAYON_NUM_THREADS.
        SceneError: there is no formula for a shape or material.
    """

    def __init__(
        self,
        *,
        look: Look | None = None,
        width: int = 480,
        height: int = 320,
        quality: NativeQuality = "standard",
        workers: int | None = None,
    ) -> None:
        NativeSettings(width, height, quality)  # validates them
        if workers is not None and workers < 1:
            raise ConfigError(f"workers: {workers} should be 1 or more")
        # A small image cannot keep many cores busy. The native module obeys this variable, too.
        self._workers = workers or read_variable("RAYON_NUM_THREADS", default=available_cores())
        self._look = look or read_look()
        for name, asset in self._look.properties["materials"].items():
            if is_blend(asset):
                raise SceneError(
                    f"materials.{name}: {asset} is a .blend file, for which the native renderer has no "
                    "formula; take --renderer blender"
                )
        self._size = {"width": width, "height": height}
        self._quality = quality
        self._studio = NativeStudio(json.dumps(self._look.look).encode(), file="look.json")

    @property
    def workers(self) -> int:
        """How many images are in flight at once."""
        return self._workers

    def render(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Pixels]]:
        """Yields (key, (height, width, 3) uint8 sRGB) for each (key, scene), in their order.

        Raises:
            SceneError: the scene names something that the look does not have, or an object is outside the
                world; names the scene if its key is a number.
        """
        return self._each(self._image, scenes)

    def passes(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Passes]]:
        """Yields (key, annotations) for each (key, scene), in their order; errors as for `render`."""
        return self._each(self._passes, scenes)

    def _each(
        self, make: Callable[[Scene, RenderStop], T], scenes: Iterable[tuple[K, Scene]]
    ) -> Iterator[tuple[K, T]]:
        stop = RenderStop()

        def keyed(task: tuple[K, Scene]) -> tuple[K, T]:
            key, scene = task
            try:
                return key, make(scene, stop)
            except SceneError as error:
                if not isinstance(key, int):
                    raise
                raise SceneError(f"scenes[{key}]: {error}") from error

        if self._workers == 1:
            return map(keyed, scenes)
        return map_in_threads(keyed, scenes, threads=self._workers, stop=stop.set)

    def _image(self, scene: Scene, stop: RenderStop) -> Pixels:
        placement = self._placement(scene)
        return self._studio.render(placement, quality=self._quality, stop=stop, **self._size)

    def _passes(self, scene: Scene, stop: RenderStop) -> Passes:
        return measure_passes(*self._studio.passes(self._placement(scene), stop=stop, **self._size))

    def _placement(self, scene: Scene) -> bytes:
        width_px, height_px = self._size["width"], self._size["height"]
        placement = place_inside(scene, self._look, width_px=width_px, height_px=height_px)
        return json.dumps(placement, default=vars).encode()

    def close(self) -> None:
        """Does nothing, because there is nothing to release."""


def _open(settings: NativeSettings, *, look: Look | None, workers: int | None, **_: object) -> Renderer:
    return NativeRenderer(look=look, workers=workers, **asdict(settings))


def _open_in_actor(settings: NativeSettings, look: Look, cores: int, _: float) -> Renderer:
    # Read when the first image is rendered; by default, each actor would use all cores of its node.
    os.environ["RAYON_NUM_THREADS"] = str(cores)
    return NativeRenderer(look=look, workers=1, **asdict(settings))


NATIVE = RendererRow(
    title="the native renderer",
    made_by="clevrhope's native renderer (quality {quality})",
    settings=NativeSettings,
    qualities=get_args(NativeQuality),
    effort="quality",
    open=_open,
    open_in_actor=_open_in_actor,
    revision=NATIVE_REVISION,
    most_objects=MOST_OBJECTS,
    is_in_process=True,
    images_timed=8,
)
