"""Scenes in, images out without Blender: the renderer of this world in the native module."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from types import TracebackType
from typing import Self, TypeVar, get_args

from clevrhope._core import NativeStudio
from clevrhope.errors import ConfigError, SceneError
from clevrhope.images.passes import Passes, measured
from clevrhope.images.placement import place
from clevrhope.images.renderer import Pixels, Scene
from clevrhope.images.settings import NativeQuality
from clevrhope.look.blend_files import is_blend
from clevrhope.look.read import Look, read_look
from clevrhope.runtime.cores import available_cores

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

#: Of so many, one image keeps nearly all busy.
CORES_OF_A_IMAGE = 8

#: Of one scene; the native module refuses more.
MOST_OBJECTS = 64


class NativeRenderer:
    """Renders CLEVR's look on all cores of this process; the same bytes for any number of threads.

    It knows the shapes, lights and materials that look.json can name, and those alone. Its images of
    the sixteen reference scenes keep 39.4 dB (draft), 44.3 (standard) and 46.7 (high) against 512 samples.

    Args:
        look: shapes, materials, lights, camera and properties; by default the package's.
        width: pixels.
        height: pixels.
        quality: draft, standard or high.
        workers: images under way at once, each on all cores; by default one for every eight cores, where
            one image alone leaves some of them idle.

    Raises:
        ConfigError: a size or quality that is none, or no workers.
        SceneError: a shape or material that there is no formula for.
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
        if quality not in get_args(NativeQuality):
            raise ConfigError(f'quality: "{quality}" should be {", ".join(get_args(NativeQuality))}')
        if not (1 <= width <= 8192 and 1 <= height <= 8192):
            raise ConfigError(f"{width} x {height} should be from 1 to 8192 pixels a side")
        if workers is not None and workers < 1:
            raise ConfigError(f"workers: {workers} should be 1 or more")
        self._workers = workers or max(1, available_cores() // CORES_OF_A_IMAGE)
        self._look = look or read_look()
        for section in ("shapes", "materials"):
            for name, asset in self._look.properties[section].items():
                if is_blend(asset):
                    raise SceneError(
                        f"{section}.{name}: {asset} is a .blend file, for which the native renderer has no "
                        "formula; take --renderer blender"
                    )
        self._size = {"width": width, "height": height}
        self._quality = quality
        self._studio = NativeStudio(json.dumps(self._look.look).encode(), file="look.json")

    @property
    def workers(self) -> int:
        """How many images are under way at once."""
        return self._workers

    def render(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Pixels]]:
        """Yields (key, (height, width, 3) uint8 sRGB) for each (key, scene), in their order.

        Raises:
            SceneError: the scene names what the look does not have.
        """
        return self._each(self._image, scenes)

    def passes(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Passes]]:
        """Yields (key, annotations) for each (key, scene), in their order; raises as `render`."""
        return self._each(self._passes, scenes)

    def _each(self, make: Callable[[Scene], T], scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, T]]:
        if self._workers == 1:
            for key, scene in scenes:
                yield key, make(scene)
            return
        with ThreadPoolExecutor(self._workers) as threads:
            under_way: deque[tuple[K, Future[T]]] = deque()
            for key, scene in scenes:
                under_way.append((key, threads.submit(make, scene)))
                if len(under_way) > self._workers:
                    first, made = under_way.popleft()
                    yield first, made.result()
            for first, made in under_way:
                yield first, made.result()

    def _image(self, scene: Scene) -> Pixels:
        return self._studio.render(self._placement(scene), quality=self._quality, **self._size)

    def _passes(self, scene: Scene) -> Passes:
        return measured(*self._studio.passes(self._placement(scene), **self._size))

    def _placement(self, scene: Scene) -> bytes:
        return json.dumps(asdict(place(scene, self._look))).encode()

    def close(self) -> None:
        """Holds nothing that needs to be given back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
