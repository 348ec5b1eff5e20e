"""A worker that renders nothing and behaves as its scenes ask: {"do": ok, die, die_once, hang, problem}."""

import os
import sys
import time
from pathlib import Path

from clevrhope.images.protocol import write_frame
from clevrhope.images.worker import open_pipes


def main(folder: Path) -> None:
    tasks, replies = open_pipes(folder)
    start = tasks.get()
    sys.stdout.write("what is printed stays out of the answers\n")
    sys.stderr.write("a line of chatter\n")
    sys.stderr.flush()
    if start["settings"]["samples"] == 13:
        write_frame(replies, {"ready": False, "problem": "ModuleNotFoundError: No module named 'bpy'"})
        return
    if start["settings"]["samples"] == 14:
        os._exit(3)
    write_frame(replies, {"ready": True, "device": "CPU", "bpy": "4.5.0"})
    while True:
        scene = tasks.get()["scene"]
        do = scene["do"]
        if do == "die" or (do == "die_once" and not Path(scene["marker"]).exists()):
            if do == "die_once":
                Path(scene["marker"]).touch()
            os._exit(7)
        if do == "hang":
            time.sleep(600)
        if do == "problem":
            write_frame(replies, {"problem": "objects[0].color: unknown name"})
            continue
        header = {"height": 1, "width": 2, "channels": 3, "memory_bytes": scene.get("memory_bytes", 1)}
        write_frame(replies, header, bytes([scene["value"]] * 6))


main(Path(sys.argv[1]))
