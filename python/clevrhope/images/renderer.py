"""What all renderers share: their interface, the row that describes one, and the choice of devices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from clevrhope.errors import ConfigError

if TYPE_CHECKING:
    from clevrhope.images.settings import Rendering
    from clevrhope.look.definition import Look

K = TypeVar("K", bound=Hashable)

#: A scene in CLEVR's JSON form, with camera and lights, which CLEVR's own files do not record.
Scene = Mapping[str, Any]
Pixels = npt.NDArray[np.uint8]

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


@dataclass(frozen=True)
class RendererRow:
    """All that the package knows of a renderer: its row in `renderers.RENDERERS`.

    Attributes:
        title: its name in sentences.
        made_by: the words after "rendered by", with fields for its settings.
        settings: the class of its settings.
        qualities: the names of its qualities.
        effort: the setting, and the option, that says how much work an image takes.
        open: opens it on this machine, given the settings and the arguments of `renderers.open_renderer`.
        open_in_actor: opens it in a Ray actor, given the settings, the look, and the cores and the share of a
            GPU that Ray reserved.
        revision: increased by one whenever its images change, so that no folder mixes two revisions; None if
            the folder need not be bound to one.
        most_objects: the most objects of a scene; None for any number.
        is_in_process: whether it renders in the caller's process, as a stream needs it.
        images_timed: how many images of each worker `plan` times, after one to warm up.
        licence: a sentence for datasheets on what its licence means for images, if anything.
    """

    title: str
    made_by: str
    settings: type[Rendering]
    qualities: tuple[str, ...]
    effort: str
    open: Callable[..., Renderer]
    open_in_actor: Callable[[Any, Look, int, float], Renderer]
    revision: int | None = None
    most_objects: int | None = None
    is_in_process: bool = False
    images_timed: int = 1
    licence: str = ""

    def takes(self, setting: str) -> bool:
        """Whether it has a setting of this name, such as `samples` or `device`."""
        return any(each.name == setting for each in fields(self.settings))


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
    """Parses a device such as auto, cpu, cuda, or optix:0,1; raises ConfigError for another form."""
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
