"""Choice of a renderer by its settings: Blender or native, in local processes or on a Ray cluster."""

from __future__ import annotations

from dataclasses import asdict

from clevrhope.errors import ConfigError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.native import NativeRenderer
from clevrhope.images.renderer import Renderer
from clevrhope.images.settings import NativeSettings, Rendering
from clevrhope.look.definition import Look

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
    """A renderer, which stays open until it is closed.

    Args:
        rendering: size and effort; of Blender or of the native renderer.
        look: what the names in the scenes look like; by default the package's.
        workers: Blender processes, or images that the native renderer has under way at once; both use
            all cores whatever their number. With Ray, the number of actors; where there are GPUs, for each.
        engine: one of `ENGINES`.
        address: of the Ray cluster; by default one on this machine.

    Raises:
        ConfigError: the look, engine, address or device is invalid.
        RenderError: Blender or Ray is needed and is missing, or Ray does not answer.
        SceneError: the native renderer has no formula for a shape or material.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine {engine!r} should be {' or '.join(ENGINES)}")
    if engine == "ray":
        from clevrhope.images.ray.engine import RayRenderer  # imports Ray, which may not be installed

        return RayRenderer(rendering, look=look, workers=workers, address=address)
    if address is not None:
        raise ConfigError(f"--address: {address} is the address of a Ray cluster; add --engine ray")
    if isinstance(rendering, NativeSettings):
        return NativeRenderer(look=look, workers=workers, **asdict(rendering))
    return CyclesRenderer(look=look, settings=rendering, workers=workers)
