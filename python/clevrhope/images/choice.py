"""Settings in, the renderer that they are for out."""

from __future__ import annotations

from dataclasses import asdict

from clevrhope.images.cycles import CyclesRenderer
from clevrhope.images.look import Look
from clevrhope.images.native import NativeRenderer
from clevrhope.images.renderer import Renderer
from clevrhope.images.settings import NativeSettings, Rendering


def open_renderer(rendering: Rendering, *, look: Look | None = None, workers: int | None = None) -> Renderer:
    """A renderer that is open until it is closed.

    Args:
        rendering: size and effort; of Blender or of the native renderer.
        look: what the names in the scenes look like; by default the package's.
        workers: processes of Blender, or pictures that the native renderer has under way at once; both use
            all cores whatever their number.

    Raises:
        ConfigError: a look that is none.
        RenderError: Blender is asked for, and missing.
        SceneError: a shape or material that the native renderer has no formula for.
    """
    if isinstance(rendering, NativeSettings):
        return NativeRenderer(look=look, workers=workers, **asdict(rendering))
    return CyclesRenderer(look=look, settings=rendering, workers=workers)
