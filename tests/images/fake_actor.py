"""A Ray actor that renders nothing and behaves as its scenes ask.

They have {"do": ok, die, kill, refuse, wear, break, full}. With a "marker", a file that it makes, an actor
behaves so once.
"""

import asyncio
import errno
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.images.ray.actor import Answer


class FakeActor:
    """Takes what the real one does, and tells of it in its process' environment."""

    def __init__(self, opens: partial[Any], version: str) -> None:
        rendering, _, cores, gpus = opens.args
        self._size = (rendering.height, rendering.width)
        self._told = Answer() if cores and not gpus else Answer(problem="no cores")
        if rendering.width == 13:
            self._told = Answer(problem="here: rendering needs Blender's module bpy, which is not installed")
        if rendering.width == 14:
            raise ModuleNotFoundError("No module named 'something'")

    def hello(self) -> Answer:
        return self._told

    def render(self, scene: Any) -> Answer:
        do = scene["do"]
        if "marker" in scene:
            if Path(scene["marker"]).exists():
                do = "ok"
            Path(scene["marker"]).touch()
        if do == "die":
            os._exit(7)
        if do == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if do == "full":
            raise OSError(errno.ENOSPC, "No space left on device")
        if do == "break":
            return Answer(problem="here: no space left in memory")
        if do == "wear":
            return Answer(reason="3 workers in turn ended over it", ended="ran out of memory")
        if do == "refuse":
            return Answer(reason="objects[0].color: unknown name")
        return Answer(np.full((*self._size, 3), scene["value"], dtype=np.uint8))


class LateActor:
    """Answers half a second late and begins the next scene meanwhile, and dies with answers unsent."""

    def __init__(self, *given: Any) -> None:
        self._actor = FakeActor(*given)

    async def hello(self) -> Answer:
        return self._actor.hello()

    async def render(self, scene: Any) -> Answer:
        answer = self._actor.render(scene)
        await asyncio.sleep(0.5)
        return answer
