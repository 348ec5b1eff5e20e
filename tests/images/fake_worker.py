"""A worker that renders nothing and behaves as its scenes ask: {"do": ok, die, kill, swell, unfit, ...}.

With a "marker", a file that it makes, a worker behaves so once; the next one does what is asked of it.
"""

import os
import signal
import sys
import time
from pathlib import Path

from clevrhope.images.blender.protocol import write_frame
from clevrhope.images.blender.worker import open_pipes


def main(folder: Path) -> None:
    tasks, replies = open_pipes(folder)
    start = tasks.get()
    sys.stdout.write("what is printed stays out of the answers\n")
    sys.stderr.write("a line of chatter\n")
    sys.stderr.flush()
    if start["settings"]["samples"] == 13:
        write_frame(replies, {"problem": "ModuleNotFoundError: No module named 'bpy'"})
        return
    if start["settings"]["samples"] == 14:
        os._exit(3)
    device = start["gpu"]["name"] if start["gpu"] else "CPU"
    write_frame(replies, {"device": device})
    is_first = True
    while True:
        scene = tasks.get()["scene"]
        do = scene.get("do", "ok")
        if "marker" in scene:
            if Path(scene["marker"]).exists():
                do = "ok"
            Path(scene["marker"]).touch()
        if do == "die":
            os._exit(7)
        if do == "kill":  # as the system does when memory runs out
            os.kill(os.getpid(), signal.SIGKILL)
        if do == "swell":
            _held = b"x" * scene["bytes"]
            time.sleep(3600)
        if do == "unfit":
            write_frame(replies, {"unfit": "failed with RuntimeError: illegal address in the queue"})
            continue
        if do == "full":
            write_frame(
                replies, {"unfit": "failed with OSError: No space left on device", "is_outside": True}
            )
            continue
        if do == "spin":
            end = time.process_time() + scene["seconds"]
            while time.process_time() < end:
                pass
        if do == "slow":
            time.sleep(scene["seconds"])
        if do == "hang":
            time.sleep(3600)
        if "log" in scene:
            with Path(scene["log"]).open("a") as log:
                log.write(f"{scene['value']} {os.environ.get('CUDA_CACHE_PATH')}\n")
        if do == "problem":
            write_frame(replies, {"problem": "objects[0].color: unknown name"})
            continue
        header = {"height": 1, "width": 2, "channels": 3, "seconds": 2.0}
        header["seconds"] += 10.0 * is_first  # compiles kernels
        is_first = False
        header["memory_bytes"] = scene.get("memory_bytes", 1)
        write_frame(replies, header, bytes([scene.get("value", 0)] * 6))


main(Path(sys.argv[1]))
