"""The interface that all renderers share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

K = TypeVar("K", bound=Hashable)

#: A scene in CLEVR's JSON form, with the camera and the lights that CLEVR never wrote down.
Scene = Mapping[str, Any]
Pixels = npt.NDArray[np.uint8]


class Renderer(Protocol):
    """Something that turns scenes into images; it may hold processes or devices until it is closed."""

    @property
    def workers(self) -> int:
        """How many images are under way at once when all are at work."""
        ...

    def render(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Pixels]]:
        """Yields (key, (height, width, 3) uint8 sRGB) for each (key, scene), in any order.

        Raises:
            RenderError: nothing can be rendered here.
            ScenesFailedError: after all others are done, if some scenes gave no image.
        """
        ...

    def close(self) -> None:
        """Releases what it holds; it may be used again."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
