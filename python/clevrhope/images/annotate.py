"""Scenes in, a file of annotations for each out: the rendering of masks, depths and normals as a function."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from clevrhope.errors import ConfigError
from clevrhope.images.passes import Annotator, Passes
from clevrhope.images.pool import ScenesFailedError
from clevrhope.images.renderer import Renderer, Scene
from clevrhope.images.stage import TRY_AGAIN

K = TypeVar("K", bound=Hashable)

#: Threads that pack and write; zlib lets others run meanwhile.
WRITERS = 2
#: Annotations that wait for them at most.
WRITTEN_AHEAD = 8


def annotator_of(renderer: Renderer) -> Annotator:
    """The renderer, as one that gives annotations.

    Raises:
        ConfigError: it gives none.
    """
    if not isinstance(renderer, Annotator):
        raise ConfigError(
            "--passes: this renderer makes pictures alone; it has no `passes` method that gives masks, "
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

    def written(key: K, passes: Passes) -> K:
        write(key, passes)
        return key

    with ThreadPoolExecutor(WRITERS) as threads:
        under_way: deque[Future[K]] = deque()
        failed: ScenesFailedError | None = None
        try:
            for key, passes in annotator.passes(scenes):
                under_way.append(threads.submit(written, key, passes))
                while under_way and (under_way[0].done() or len(under_way) > WRITTEN_AHEAD):
                    yield under_way.popleft().result()
        except ScenesFailedError as error:
            failed = error  # all others are done; they are to be written first
        while under_way:
            yield under_way.popleft().result()
        if failed is not None:
            raise ScenesFailedError(failed.reasons, remedy=TRY_AGAIN)
