"""What all renderers share: their interface, and the row that describes one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from clevrhope.images.settings import Rendering

if TYPE_CHECKING:  # the look needs the engine, which Blender's own process loads where it can say what fails
    from clevrhope.look.definition import Look

K = TypeVar("K", bound=Hashable)

#: A scene in CLEVR's JSON form, with camera and lights, which CLEVR's own files do not record.
Scene = Mapping[str, Any]
Pixels = npt.NDArray[np.uint8]


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
