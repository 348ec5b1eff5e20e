"""Scenes in, images or PNG files out: the rendering stage as functions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.blender.pool import ScenesFailedError
from clevrhope.images.png import encode_png, is_whole_png
from clevrhope.images.renderer import Pixels, Renderer, Scene
from clevrhope.images.settings import RenderSettings
from clevrhope.look.read import Look
from clevrhope.runtime.atomic import write_whole

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

#: What helps when some scenes gave no image: their files are missing, so a later run begins with them.
TRY_AGAIN = "; all others are done, and the same command tries again"
#: Threads that encode and write: a disk that is slow to sync holds up neither the renderer nor the other.
WRITERS = 2
#: Images, or annotations, that wait for them at most.
WRITTEN_AHEAD = 8


def render(
    scenes: Iterable[Scene],
    *,
    settings: RenderSettings | None = None,
    look: Look | None = None,
    workers: int | None = None,
    renderer: Renderer | None = None,
) -> Iterator[tuple[int, Pixels]]:
    """Renders scenes.

    Args:
        scenes: in CLEVR's JSON form with `camera` and `lights`, as `sample_scenes` makes them; taken one by
            one as workers get free.
        settings: size and effort; by default 480 x 320 pixels, 16 samples, denoised.
        look: what the names in the scenes look like; by default CLEVR's.
        workers: processes; by default one for every two cores.
        renderer: one that is kept open, instead of a new one made of the three above.

    Yields:
        (i, pixels) for the scene that came i-th, in the order in which they are done: (height, width, 3)
        uint8 sRGB. The same scene gives the same bytes on one machine, whatever the workers.

    Raises:
        RenderError: Blender is missing or cannot be started.
        ScenesFailedError: after all others are done, if some scenes gave no image.
    """
    with _opened(renderer, settings, look, workers) as opened:
        yield from opened.render(enumerate(scenes))


def render_png_files(
    scenes: Iterable[Scene],
    path_of: Callable[[Scene], Path],
    *,
    settings: RenderSettings | None = None,
    look: Look | None = None,
    workers: int | None = None,
    renderer: Renderer | None = None,
) -> Iterator[Path]:
    """Renders the scenes whose files are not there or not whole; yields each path when its file is whole.

    Raises:
        DatasetError: no space left, or no permission to write.
        RenderError: as `render`.
    """
    missing = ((path, scene) for scene in scenes if not is_whole_png(path := path_of(scene)))
    with _opened(renderer, settings, look, workers) as opened:
        yield from written(opened.render(missing), _write)


def stage_title(renderer: Renderer) -> str:
    """What a display says while images are rendered: with Blender, on what; after a failure, why."""
    where = renderer.where if isinstance(renderer, CyclesRenderer) else ""
    return f"Rendering images on {where}" if where else "Rendering images"


def written(made: Iterator[tuple[K, T]], write: Callable[[K, T], None]) -> Iterator[K]:
    """Yields each key when `write`, which is called in another thread, is done with what was made of it.

    Raises:
        DatasetError: no space left, or no permission to write.
        ScenesFailedError: after all others are written, if some scenes gave nothing.
    """

    def done(key: K, result: T) -> K:
        write(key, result)
        return key

    with ThreadPoolExecutor(WRITERS) as threads:
        under_way: deque[Future[K]] = deque()
        failed: ScenesFailedError | None = None
        try:
            for key, result in made:
                under_way.append(threads.submit(done, key, result))
                while under_way and (under_way[0].done() or len(under_way) > WRITTEN_AHEAD):
                    yield under_way.popleft().result()
        except ScenesFailedError as error:
            failed = error  # all others are made; they are to be written first
        while under_way:
            yield under_way.popleft().result()
        if failed is not None:
            raise ScenesFailedError(failed.reasons, remedy=TRY_AGAIN)


def _write(path: Path, pixels: Pixels) -> None:
    write_whole(path, encode_png(pixels))


@contextmanager
def _opened(
    renderer: Renderer | None, settings: RenderSettings | None, look: Look | None, workers: int | None
) -> Iterator[Renderer]:
    """The renderer given, left open; or a new one, closed at the end."""
    if renderer is not None:
        yield renderer
        return
    with CyclesRenderer(settings=settings, look=look, workers=workers) as made:
        yield made
