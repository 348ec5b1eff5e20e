"""Scenes in one by one, pixels out: what a Ray actor does, on whatever machine Ray has put it.

Ray is not imported here. Errors are answers: what a node lacks comes back as a sentence, not as a traceback.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from clevrhope.errors import ClevrhopeError, RenderError
from clevrhope.images.annotate import annotator_of
from clevrhope.images.blender.devices import gpus_of
from clevrhope.images.blender.pool import ScenesFailedError
from clevrhope.images.device_choice import CPU, parse_device
from clevrhope.images.passes import Passes
from clevrhope.images.renderer import Pixels, Renderer, Scene
from clevrhope.images.settings import Rendering, RenderSettings
from clevrhope.look.read import Look
from clevrhope.version import software_version


@dataclass(frozen=True)
class Answer:
    """What became of a task.

    Attributes:
        made: of a scene: an image, (height, width, 3) uint8, or annotations.
        reason: why there is none for this scene.
        problem: why there is none for any, on this machine.
        pid: process number of the actor.
    """

    made: Pixels | Passes | None = None
    reason: str = ""
    problem: str = ""
    pid: int = 0


class RenderActor:
    """One of Blender's workers, on the cores and the GPU that Ray set aside; or the native renderer.

    Args:
        rendering: size and effort; where Ray set no GPU aside, the device is the CPU.
        look: what the names in the scenes look like.
        cores: that Ray set aside.
        has_gpu: Ray set a GPU aside, or a part of one, and shows this process no other.
        version: of the package, on the machine that the run was started on.
    """

    def __init__(self, rendering: Rendering, look: Look, cores: int, has_gpu: bool, version: str) -> None:
        self._rendering, self._look, self._cores = rendering, look, cores
        self._has_gpu, self._version = has_gpu, version
        self._renderer: Renderer | None = None

    def hello(self) -> Answer:
        """Makes ready; says what is missing."""
        try:
            self._renderer = self._opened()
        except ClevrhopeError as error:
            return Answer(problem=f"{socket.gethostname()}: {error}")
        return Answer(pid=os.getpid())

    def render(self, scene: Scene) -> Answer:
        """An image; `hello` was well."""
        return self._made(lambda renderer: renderer.render([(0, scene)]))

    def passes(self, scene: Scene) -> Answer:
        """Annotations; `hello` was well."""
        return self._made(lambda renderer: annotator_of(renderer).passes([(0, scene)]))

    def _made(self, make: Callable[[Renderer], Iterable[tuple[int, Pixels | Passes]]]) -> Answer:
        if self._renderer is None:
            return Answer(problem=f"{socket.gethostname()}: not ready")
        try:
            ((_, made),) = make(self._renderer)
        except ScenesFailedError as error:
            return Answer(reason=next(iter(error.reasons.values())))
        except ClevrhopeError as error:
            if isinstance(error, RenderError):
                return Answer(problem=f"{socket.gethostname()}: {error}")
            return Answer(reason=str(error))
        return Answer(made)

    def _opened(self) -> Renderer:
        from clevrhope.images.blender.cycles import CyclesRenderer
        from clevrhope.images.native import NativeRenderer

        own = software_version()
        if own != self._version:
            raise RenderError(
                f"clevrhope {own}, but {self._version} where the run was started; install the same"
            )
        rendering = self._rendering
        if not isinstance(rendering, RenderSettings):
            # Read when the first image is rendered: all cores of a node would be too many for each actor.
            os.environ["RAYON_NUM_THREADS"] = str(self._cores)
            return NativeRenderer(
                look=self._look,
                width=rendering.width,
                height=rendering.height,
                quality=rendering.quality,
                workers=1,
            )
        device = CPU
        if self._has_gpu:
            gpus = gpus_of(parse_device(rendering.device))
            if not gpus:
                raise RenderError(
                    "Ray has a GPU here, but Blender finds none; see clevrhope devices there, or take "
                    "--device cpu"
                )
            device = gpus[0].name
        settings = replace(rendering, device=device)
        return CyclesRenderer(look=self._look, settings=settings, workers=1, cores=self._cores)
