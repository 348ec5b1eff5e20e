"""Functions that render scenes to pixels or to PNG files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.blender.pool import ScenesFailedError
from clevrhope.images.png import encode_png, is_whole_png
from clevrhope.images.renderer import Pixels, Renderer, Scene
from clevrhope.images.settings import BlenderSettings
from clevrhope.look.definition import Look
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.threads import map_in_threads

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

#: Their files are missing, so the next run begins with them.
TRY_AGAIN = "; all others are done, and the same command tries again"
#: Threads that encode and write, so that a disk that is slow to sync does not delay the renderer. Packing an
#: image for HDF5 takes a tenth of the time that one core needs to render it with the native draft.
WRITERS = 4


def render(
    scenes: Iterable[Scene],
    *,
    settings: BlenderSettings | None = None,
    look: Look | None = None,
    workers: int | None = None,
    renderer: Renderer | None = None,
) -> Iterator[tuple[int, Pixels]]:
    """Renders scenes with Blender, or with a renderer of your own.

    Args:
        scenes: scenes in CLEVR's JSON form with `camera` and `lights`, as `sample_scenes` makes them; taken
            one by one as workers become free.
        settings: size and effort; by default 480 x 320 pixels, 16 samples, denoised.
        look: how the names in the scenes are drawn; by default as in CLEVR.
        workers: number of processes; by default one for every two cores.
        renderer: an open renderer, to be used instead of a new one with the three arguments above; it stays
            open.

    Yields:
        (i, pixels) of scene i, in order of completion: (height, width, 3) uint8 sRGB. On one machine, the
        same scene gives the same bytes, whatever the number of workers.

    Raises:
        RenderError: Blender is missing or cannot be started.
        ScenesFailedError: some scenes could not be rendered; raised after all others are done.
    """
    if renderer is not None:
        yield from renderer.render(enumerate(scenes))
        return
    with CyclesRenderer(settings=settings, look=look, workers=workers) as own:
        yield from own.render(enumerate(scenes))


def render_png_files(
    scenes: Iterable[Scene], path_of: Callable[[Scene], Path], *, renderer: Renderer
) -> Iterator[Path]:
    """Renders the scenes whose files are missing or incomplete; yields each path when its file is whole.

    Raises:
        DatasetError: no space is left, or the folder may not be written to.
        RenderError: as for `render`.
    """
    missing = ((path, scene) for scene in scenes if not is_whole_png(path := path_of(scene)))
    return write_results(renderer.render(missing), lambda path, pixels: write_whole(path, encode_png(pixels)))


def stage_title(renderer: Renderer) -> str:
    """The title of the rendering stage: the renderer, Blender's device, and why GPUs could not be listed."""
    where = getattr(renderer, "where", "")
    return f"Rendering images on {where}" if where else "Rendering images"


def write_results(results: Iterator[tuple[K, T]], write: Callable[[K, T], None]) -> Iterator[K]:
    """Calls `write(key, result)` for each result, in other threads; yields each key when that is done.

    Raises:
        DatasetError: no space is left, or the folder may not be written to.
        ScenesFailedError: some scenes could not be rendered; raised after all others are written.
    """
    failed: ScenesFailedError | None = None

    def rendered() -> Iterator[tuple[K, T]]:
        nonlocal failed
        try:
            yield from results
        except ScenesFailedError as error:
            failed = error  # raised when all others are written

    def done(result: tuple[K, T]) -> K:
        write(*result)
        return result[0]

    yield from map_in_threads(done, rendered(), threads=WRITERS)
    if failed is not None:
        raise ScenesFailedError(failed.reasons, remedy=TRY_AGAIN)
