"""A renderer for the pipeline's tests that makes images without Blender. As a script: the command line.

`python fake_renderer.py build --hop ...` is `clevrhope build --hop ...` with these images. The environment
variable FAKE_RENDERER_DELAY_S makes each take so long, and after FAKE_RENDERER_HANGS_AFTER images there is no
other, so that a test can interrupt it.
"""

import os
import time
from collections.abc import Hashable, Iterable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from clevrhope.errors import RenderError
from clevrhope.images.passes import Passes, measure_passes
from clevrhope.images.renderer import Pixels, Scene
from clevrhope.images.settings import BlenderSettings

K = TypeVar("K", bound=Hashable)

#: A tenth of an image's sides, so that tests are quick.
HEIGHT, WIDTH = 32, 48


class FakeRenderer:
    """Colours an image by its scene; with more workers images come in another order."""

    where = ""

    def __init__(
        self,
        *,
        settings: BlenderSettings,
        workers: int | None = None,
        look: object = None,
        folder: object = None,
        fails_on: int | None = None,
    ) -> None:
        self.settings = settings
        self._workers = workers or 1
        self._fails_on = fails_on

    @property
    def workers(self) -> int:
        return self._workers

    def render(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Pixels]]:
        held: list[tuple[K, Pixels]] = []
        for number, (key, scene) in enumerate(scenes):
            if number == self._fails_on:
                raise RenderError("the render worker cannot be started: it was killed")
            if str(number) == os.environ.get("FAKE_RENDERER_HANGS_AFTER"):
                time.sleep(3600)
            time.sleep(float(os.environ.get("FAKE_RENDERER_DELAY_S", "0")))
            held.append((key, pixels_of(scene)))
            if len(held) == self._workers:
                yield from reversed(held)
                held = []
        yield from reversed(held)

    def passes(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Passes]]:
        for key, scene in scenes:
            yield key, passes_of(scene)

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def pixels_of(scene: Scene) -> Pixels:
    """(HEIGHT, WIDTH, 3): a stripe an object, in a shade that its place decides."""
    pixels = np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8)
    objects: list[dict[str, Any]] = scene["objects"]
    for place, each in enumerate(objects):
        shade = [int(abs(x) * 1000) % 256 for x in each["3d_coords"]]
        pixels[place * 3 : place * 3 + 3] = shade
    return pixels


def passes_of(scene: Scene) -> Passes:
    """The masks of those stripes; as deep and turned as nothing is."""
    mask = np.full((HEIGHT, WIDTH), 255, dtype=np.uint8)
    n_objects = len(scene["objects"])
    for place in range(n_objects):
        mask[place * 3 : place * 3 + 3] = place
    flat = np.zeros((HEIGHT, WIDTH, 3), dtype=np.float32)
    return measure_passes(mask, flat[:, :, 0], flat, [3 * WIDTH] * n_objects)


if __name__ == "__main__":
    from clevrhope.images.blender import cycles
    from clevrhope.start import main

    cycles.CyclesRenderer = FakeRenderer  # type: ignore[misc,assignment]
    main()
