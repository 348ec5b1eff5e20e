"""A Ray actor that renders, on any machine where Ray has placed it.

Ray is not imported here. Errors are returned as answers, so that a missing requirement of a node is reported
in a sentence, not as a traceback.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clevrhope.errors import ClevrhopeError, RenderError
from clevrhope.images.blender.pool import ScenesFailedError
from clevrhope.images.passes import Passes, annotator_of
from clevrhope.images.renderer import Pixels, Renderer, Scene
from clevrhope.version import software_version


@dataclass(frozen=True)
class Answer:
    """The outcome of a task.

    Attributes:
        made: an image, (height, width, 3) uint8, or annotations.
        reason: why this scene could not be rendered.
        ended: how the last worker ended over this scene; empty if none did.
        problem: why this machine cannot render any scene.
    """

    made: Pixels | Passes | None = None
    reason: str = ""
    ended: str = ""
    problem: str = ""


class RenderActor:
    """A renderer on the cores and the GPU that Ray reserved.

    Args:
        opens: opens the renderer here; see `RendererRow.open_in_actor`.
        version: the package's version on the machine where the run was started.
    """

    def __init__(self, opens: Callable[[], Renderer], version: str) -> None:
        self._opens, self._version = opens, version
        self._renderer: Renderer | None = None

    def hello(self) -> Answer:
        """Opens the renderer; the answer says what is missing."""
        version = software_version()
        try:
            if version != self._version:
                raise RenderError(
                    f"clevrhope {version}, but {self._version} where the run was started; install the same"
                )
            self._renderer = self._opens()
        except ClevrhopeError as error:
            return Answer(problem=f"{socket.gethostname()}: {error}")
        return Answer()

    def render(self, scene: Scene) -> Answer:
        """Renders an image, after a successful `hello`."""
        return self._made(lambda renderer: renderer.render([(0, scene)]))

    def passes(self, scene: Scene) -> Answer:
        """Renders annotations, after a successful `hello`."""
        return self._made(lambda renderer: annotator_of(renderer).passes([(0, scene)]))

    def _made(self, make: Callable[[Renderer], Iterable[tuple[int, Pixels | Passes]]]) -> Answer:
        if self._renderer is None:
            return Answer(problem=f"{socket.gethostname()}: not ready")
        try:
            ((_, made),) = make(self._renderer)
        except ScenesFailedError as error:
            return Answer(reason=next(iter(error.reasons.values())), ended=error.ended)
        except RenderError as error:
            return Answer(problem=f"{socket.gethostname()}: {error}")
        except ClevrhopeError as error:
            return Answer(reason=str(error))
        return Answer(made)
