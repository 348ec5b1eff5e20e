"""Settings in, the renderer that they are for out."""

from __future__ import annotations

from dataclasses import asdict

from clevrhope.errors import ConfigError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.native import NativeRenderer
from clevrhope.images.renderer import Renderer
from clevrhope.images.settings import NativeSettings, Rendering
from clevrhope.look.read import Look

#: Where renderers work: in processes that this one starts, or in the actors of a Ray cluster.
ENGINES = ("local", "ray")


def open_renderer(
    rendering: Rendering,
    *,
    look: Look | None = None,
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
) -> Renderer:
    """A renderer that is open until it is closed.

    Args:
        rendering: size and effort; of Blender or of the native renderer.
        look: what the names in the scenes look like; by default the package's.
        workers: processes of Blender, or images that the native renderer has under way at once; both use
            all cores whatever their number. With Ray, actors; where there are GPUs, for each of them.
        engine: one of `ENGINES`.
        address: of the Ray cluster; by default one on this machine.

    Raises:
        ConfigError: a look that is none; an engine, an address or a device that is none.
        RenderError: Blender is asked for, and missing; Ray is, or does not answer.
        SceneError: a shape or material that the native renderer has no formula for.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine {engine!r} should be {' or '.join(ENGINES)}")
    if engine == "ray":
        from clevrhope.images.ray.engine import RayRenderer  # Ray itself is imported where it is asked for

        return RayRenderer(rendering, look=look, workers=workers, address=address)
    if address is not None:
        raise ConfigError(f"--address: {address} is that of a Ray cluster; give --engine ray too")
    if isinstance(rendering, NativeSettings):
        return NativeRenderer(look=look, workers=workers, **asdict(rendering))
    return CyclesRenderer(look=look, settings=rendering, workers=workers)
