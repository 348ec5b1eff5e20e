"""Functions that render scenes to pixels or to PNG files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from clevrhope.images.blender.pool import ScenesFailedError
from clevrhope.images.png import encode_png, is_whole_png
from clevrhope.images.renderer import Pixels, Renderer, Scene
from clevrhope.images.renderers import DEFAULT_RENDERER, open_renderer, row_named
from clevrhope.images.settings import Rendering
from clevrhope.look.definition import Look
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.threads import map_in_threads
from clevrhope.scenes.forms import Scenes, contents

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

#: Their files are missing, so the next run begins with them.
TRY_AGAIN = "; all others are done, and the same command tries again"
#: Threads that encode and write, so that a disk that is slow to sync does not delay the renderer. Packing an
#: image for HDF5 takes a tenth of the time that one core needs to render it with the native draft.
WRITERS = 4


def render(
    scenes: Scenes,
    *,
    settings: Rendering | None = None,
    look: Look | None = None,
    workers: int | None = None,
    renderer: Renderer | str | None = None,
    width: int | None = None,
    height: int | None = None,
    quality: str | None = None,
) -> Iterator[tuple[int, Pixels]]:
    """Renders scenes with Blender, with the native renderer, or with a renderer of your own.

    Args:
        scenes: those of `sample_scenes`, one scene in CLEVR's JSON form, a list of them, or what json.load
            gives of a scene file; taken one by one as workers become free. Without `camera` and `lights`,
            these stand where they do before jitter; an object without `rotation` has 0.
        settings: the renderer's settings, if they are not chosen by the arguments below.
        look: how the names in the scenes are drawn; by default as in CLEVR.
        workers: number of processes, or of images that the native renderer has in flight; by default as many
            as suit the cores.
        renderer: "blender", the default, or "native"; or an open renderer, which decides all but the scenes
            and stays open.
        width: the images' width in pixels, by default 480.
        height: the images' height in pixels, by default 320.
        quality: a quality of the renderer, by default "standard".

    Yields:
        (i, pixels) of scene i, in order of completion: (height, width, 3) uint8 sRGB. On one machine, the
        same scene gives the same bytes, whatever the number of workers.

    Raises:
        ConfigError: there is no such renderer or quality, or a size is invalid.
        RenderError: Blender is missing or cannot be started.
        SceneError: something is not a scene, or the native renderer cannot render it.
        ScenesFailedError: some scenes could not be rendered; raised after all others are done.
    """
    numbered = enumerate(contents(scenes))
    if renderer is not None and not isinstance(renderer, str):
        yield from renderer.render(numbered)
        return
    settings = settings or row_named(renderer or DEFAULT_RENDERER).settings()
    sides = {"width": width or settings.width, "height": height or settings.height}
    settings = replace(settings, **sides)
    with open_renderer(
        settings if quality is None else settings.with_quality(quality), look=look, workers=workers
    ) as own:
        yield from own.render(numbered)


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
