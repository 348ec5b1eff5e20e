"""Scenes in, a file of annotations for each out: the rendering of masks, depths and normals as a function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from clevrhope.errors import ConfigError
from clevrhope.images.passes import Annotator, Passes
from clevrhope.images.renderer import Renderer, Scene
from clevrhope.images.stage import written

K = TypeVar("K", bound=Hashable)


def annotator_of(renderer: Renderer) -> Annotator:
    """The renderer, as one that gives annotations.

    Raises:
        ConfigError: it gives none.
    """
    if not isinstance(renderer, Annotator):
        raise ConfigError(
            "--passes: this renderer makes images alone; it has no `passes` method that gives masks, "
            "depths and normals"
        )
    return renderer


def annotate(
    scenes: Iterable[tuple[K, Scene]], annotator: Annotator, write: Callable[[K, Passes], None]
) -> Iterator[K]:
    """Yields each key when `write`, which is called in another thread, is done with its annotations.

    Raises:
        DatasetError: no space left, or no permission to write.
        RenderError: as `Renderer.render`.
        ScenesFailedError: after all others are written, if some scenes gave nothing.
    """
    return written(annotator.passes(scenes), write)
