"""The process in which Blender runs; see protocol.py for what it reads and writes.

The pool starts it through runtime/launcher.py, in the interpreter that has Blender, with its own folder,
which is removed when it ends. It ends when its standard input closes, which happens when its parent ends. If
Blender holds the interpreter's lock then, it ends when Blender's call returns, or at a limit of processor
time.
"""

from __future__ import annotations

import os
import queue
import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from clevrhope.errors import ClevrhopeError
from clevrhope.images.blender.protocol import read_frame, write_frame
from clevrhope.images.passes import to_bytes
from clevrhope.runtime.resources import resident_bytes

Tasks = queue.SimpleQueue[dict[str, Any]]

#: The highest value: if memory runs out, Linux ends this process before the run that would replace it.
OUT_OF_MEMORY_SCORE = 1000

RAN_OUT = "ran out of"


def main(folder: Path) -> int:
    """Serves the pool until the pipe closes."""
    # This user's settings, add-ons and caches of Blender must not change the images. Blender's temporary
    # folder is inside the worker's own, because a worker that is killed removes nothing itself.
    os.environ.update(BLENDER_USER_RESOURCES=str(folder), TMPDIR=str(folder))
    with suppress(OSError):  # not Linux, or a system that forbids it
        Path("/proc/self/oom_score_adj").write_text(str(OUT_OF_MEMORY_SCORE))
    tasks, replies = open_pipes(folder)
    start = tasks.get()
    if "list" in start:
        return _list_devices(start, tasks, replies)
    try:
        scene = _load(start, folder)
    except Exception as error:
        write_frame(replies, {"problem": f"{type(error).__name__}: {error}"})
        return 1
    write_frame(replies, {"device": scene.device})
    allowance_s = start["allowance_s"]
    while True:
        task = tasks.get()
        _limit_processor_time((start["work_s"] + allowance_s) * 1.5 + 5.0)
        _serve(scene, task, replies, on_gpu=start["gpu"] is not None)
        allowance_s = 0.0


def _limit_processor_time(seconds: float) -> None:
    """Ends this process after `seconds` more processor time, if its parent is gone and Blender is spinning.

    The thread that notices the parent's end needs the interpreter's lock, which Blender may hold.
    """
    if sys.platform == "win32":  # has no such limit
        return
    import resource

    end = int(time.process_time() + seconds) + 1
    with suppress(OSError, ValueError):  # the system already enforces a lower limit
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def open_pipes(folder: Path) -> tuple[Tasks, BinaryIO]:
    """Opens a queue of incoming tasks, and the pipe for replies.

    The pool's pipes are moved to other descriptors, and Blender's own output is discarded. When the pool
    closes its end, or dies, the folder is removed and this process ends, whatever it is doing.
    """
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    tasks: Tasks = queue.SimpleQueue()
    threading.Thread(target=_read_until_closed, args=(requests, tasks, folder), daemon=True).start()
    return tasks, replies


def _load(start: dict[str, Any], folder: Path) -> Any:
    from clevrhope.images.blender.scene import BlenderScene
    from clevrhope.images.settings import BlenderSettings
    from clevrhope.look.definition import Look

    look = Look(start["look"], start["properties"])
    settings = BlenderSettings(**start["settings"])
    return BlenderScene(look, settings, threads=start["threads"], folder=folder, gpu=start["gpu"])


def _list_devices(start: dict[str, Any], tasks: Tasks, replies: BinaryIO) -> int:
    try:
        from clevrhope.images.blender.devices import list_devices
        from clevrhope.images.blender.scene import cycles_preferences
    except Exception as error:
        write_frame(replies, {"problem": f"{type(error).__name__}: {error}"})
        return 1
    while True:
        write_frame(replies, list_devices(cycles_preferences(), start["list"]))
        start = tasks.get()


def _serve(scene: Any, task: dict[str, Any], replies: BinaryIO, *, on_gpu: bool) -> None:
    began = time.perf_counter()
    try:
        pixels = _answer(scene, task)
    except ClevrhopeError as error:
        write_frame(replies, {"problem": str(error)})
        return
    except Exception as error:  # the state of Blender, or of a GPU, is now unknown
        why = _why_unfit(error, on_gpu=on_gpu)
        is_outside = isinstance(error, OSError) or why.startswith(RAN_OUT)
        write_frame(replies, {"unfit": why, "is_outside": is_outside})
        return
    height, width = pixels.shape[:2]
    header = {"height": height, "width": width, "channels": pixels.size // (height * width)}
    header |= {"seconds": time.perf_counter() - began, "memory_bytes": resident_bytes()}
    write_frame(replies, header, pixels.tobytes())


def _answer(scene: Any, task: dict[str, Any]) -> Any:
    if task["task"] == "passes":
        return to_bytes(scene.passes(task["scene"]))
    return scene.render(task["scene"])


def _read_until_closed(requests: BinaryIO, tasks: Tasks, folder: Path) -> None:
    """Passes tasks on, and ends the process at once when no more can come."""
    while (frame := read_frame(requests)) is not None:
        tasks.put(frame[0])
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _why_unfit(error: Exception, *, on_gpu: bool) -> str:
    """What happened to this process, as a clause that follows "it"."""
    text = " ".join(str(error).split())
    in_python, lower = isinstance(error, MemoryError), text.lower()
    if on_gpu and not in_python and "memory" in lower and "address" not in lower:
        return f"{RAN_OUT} the GPU's memory ({text}); take fewer workers for each GPU, or a larger GPU"
    if in_python or "out of memory" in lower:
        return f"{RAN_OUT} memory; take fewer workers"
    return f"failed with {type(error).__name__}: {text}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
