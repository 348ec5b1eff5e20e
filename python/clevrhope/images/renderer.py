"""The interface that all renderers share, and the choice of a renderer and of its devices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from clevrhope.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from clevrhope.images.settings import Rendering
    from clevrhope.look.definition import Look

K = TypeVar("K", bound=Hashable)

#: A scene in CLEVR's JSON form, with camera and lights, which CLEVR's own files do not record.
Scene = Mapping[str, Any]
Pixels = npt.NDArray[np.uint8]

#: Where renderers run: in processes that this one starts, or in the actors of a Ray cluster.
ENGINES = ("local", "ray")

#: Kind of GPU -> its makers' spelling, in the order in which `auto` tries them; Blender uses capitals.
INTERFACES: Mapping[str, str] = {
    "optix": "OptiX",
    "cuda": "CUDA",
    "hip": "HIP",
    "oneapi": "oneAPI",
    "metal": "Metal",
}
ANY, CPU = "auto", "cpu"


class Renderer(Protocol):
    """Turns scenes into images; it may hold processes or devices until it is closed."""

    @property
    def workers(self) -> int:
        """How many images are in flight at once when all workers are busy."""
        ...

    def render(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Pixels]]:
        """Yields (key, (height, width, 3) uint8 sRGB) for each (key, scene), in any order.

        Raises:
            RenderError: nothing can be rendered here.
            ScenesFailedError: some scenes could not be rendered; raised after all others are done.
        """
        ...

    def close(self) -> None:
        """Releases its processes and devices; it may be used again."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open_renderer(
    rendering: Rendering,
    *,
    look: Look | None = None,
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
    folder: Path | None = None,
) -> Renderer:
    """Opens a renderer, which stays open until it is closed.

    Args:
        rendering: size and effort, for Blender or the native renderer.
        look: how the names in the scenes are drawn; by default the package's look.
        workers: Blender processes, or images that the native renderer has in flight at once; both use all
            cores whatever this number. With Ray, the number of actors, or of actors per GPU if there are
            GPUs.
        engine: one of `ENGINES`.
        address: the address of the Ray cluster; by default a cluster on this machine.
        folder: the folder of the images, for the compiled kernels of this machine's GPUs, see
            `CyclesRenderer`.

    Raises:
        ConfigError: the look, engine, address or device is invalid.
        RenderError: Blender or Ray is needed but missing, or Ray does not answer.
        SceneError: the native renderer has no formula for a shape or material.
    """
    # Renderers import this module, and Ray may not be installed.
    from clevrhope.images.blender.cycles import CyclesRenderer
    from clevrhope.images.native import NativeRenderer
    from clevrhope.images.settings import NativeSettings

    if engine not in ENGINES:
        raise ConfigError(f"engine {engine!r} should be {' or '.join(ENGINES)}")
    if engine == "ray":
        from clevrhope.images.ray.engine import RayRenderer

        return RayRenderer(rendering, look=look, workers=workers, address=address)
    if address is not None:
        raise ConfigError(f"--address: {address} is the address of a Ray cluster; add --engine ray")
    if isinstance(rendering, NativeSettings):
        return NativeRenderer(look=look, workers=workers, **asdict(rendering))
    return CyclesRenderer(look=look, settings=rendering, workers=workers, folder=folder)


@dataclass(frozen=True)
class DeviceChoice:
    """The devices on which images should be rendered.

    Attributes:
        kind: auto, cpu, or a key of `INTERFACES`.
        numbers: the GPUs of that kind, numbered as in `clevrhope devices`; empty for all.
    """

    kind: str
    numbers: tuple[int, ...] = ()


def parse_device(text: str) -> DeviceChoice:
    """Parses a device such as auto, cpu, cuda, or optix:0,1.

    Raises:
        ConfigError: the string has another form.
    """
    kind, colon, listed = text.partition(":")
    numbers = listed.split(",")
    known = kind in INTERFACES if colon else kind in (ANY, CPU, *INTERFACES)
    if not known or (colon and not all(each.isdecimal() for each in numbers)):
        raise ConfigError(
            f"{text!r} should be auto, cpu, or one of {', '.join(INTERFACES)}, with numbers behind a colon "
            "for some of them, such as cuda:0,1"
        )
    if not colon:
        return DeviceChoice(kind)
    chosen = tuple(map(int, numbers))
    if len(set(chosen)) < len(chosen):
        raise ConfigError(f"{text!r} names a GPU twice; --workers says how many processes each one has")
    return DeviceChoice(kind, chosen)
