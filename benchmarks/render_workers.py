"""Measures Blender on a device with 1, 2 and 4 workers: speed, memory, and the time to compile kernels."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.reference_images import chosen_scenes, reference_image, reference_scenes
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.png import read_png
from clevrhope.images.settings import BlenderSettings
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.resources import resident_bytes

WORKERS_TRIED = (1, 2, 4)
"""Numbers of workers per GPU, or in total on a CPU."""


@dataclass(frozen=True)
class WorkersRun:
    """The measurements with one number of workers.

    Attributes:
        workers: number per GPU; on a CPU, in total.
        images_per_second: of all workers together.
        seconds: seconds per image of a worker, without its first ones.
        worker_bytes: memory of the largest worker; 0 if unknown.
    """

    workers: int
    images_per_second: float
    seconds: float
    worker_bytes: int


@dataclass(frozen=True)
class DeviceRun:
    """The measurements of a device.

    Attributes:
        device: its name; several names if Blender used several devices.
        compile_seconds: how much longer the very first image took than later ones, without kernels kept from
            other runs; includes reading kernels and the look's meshes.
        runs: the runs, by number of workers.
    """

    device: str
    compile_seconds: float
    runs: Sequence[WorkersRun]

    @property
    def best(self) -> WorkersRun:
        """The run with the most images per second."""
        return max(self.runs, key=lambda run: run.images_per_second)

    def as_json(self) -> dict[str, Any]:
        """Name -> value, for `--json`."""
        return {**asdict(self), "best_workers": self.best.workers}


def measure_workers(
    n_images: int,
    device: str,
    kernels: Path,
    *,
    tried: Sequence[int] = WORKERS_TRIED,
    folder: Path | None = None,
    advance: Callable[[str], None] = lambda _: None,
    progress: Progress | None = None,
) -> DeviceRun:
    """Renders reference scenes at standard quality with each number of workers, at least two per worker.

    Args:
        n_images: number of reference scenes, spread over all of them.
        device: where Blender renders, see `parse_device`.
        kernels: an empty folder for the kernels that a GPU's driver compiles.
        tried: the numbers of workers.
        folder: as for `compare`.
        advance: called with the name of the next measurement.
        progress: shows how workers start.

    Raises:
        ConfigError: this machine has no such device.
        RenderError: the reference images or Blender are missing.
    """
    scenes = [reference_scenes(folder)[i] for i in chosen_scenes(n_images, folder)]
    height, width = read_png(reference_image(chosen_scenes(1, folder)[0], folder)).shape[:2]
    settings = BlenderSettings(width, height, device=device)
    runs: list[WorkersRun] = []
    name, compile_seconds = "", 0.0
    for workers in tried:
        advance(f"{device} with {workers} workers")
        with CyclesRenderer(settings=settings, workers=workers, folder=kernels) as renderer:
            n_first = 2 * renderer.workers
            title = f"Starting {workers} workers"
            with (progress or Silent()).stage(title, total=n_first, unit="images") as started:
                for _ in renderer.render((i, scenes[i % len(scenes)]) for i in range(n_first)):
                    started(1)
            n_timed = max(n_images, n_first)
            began = perf_counter()
            list(renderer.render((i, scenes[i % len(scenes)]) for i in range(n_timed)))
            seconds = perf_counter() - began
            mean_s = statistics.mean(seconds for is_first, seconds in renderer.pool.timings if not is_first)
            if not runs:
                name = ", ".join(sorted(renderer.pool.devices))
                compile_seconds = max(0.0, renderer.pool.timings[0][1] - mean_s)
            runs.append(
                WorkersRun(
                    workers,
                    images_per_second=n_timed / seconds,
                    seconds=mean_s,
                    worker_bytes=max(map(resident_bytes, renderer.pool.pids), default=0),
                )
            )
    return DeviceRun(name, compile_seconds, runs)


def text_lines(run: DeviceRun) -> list[str]:
    """The measurements as a table and two sentences."""
    lines = [
        f"{run.device}, Blender at standard quality",
        f"{'workers':>7} {'images a s':>10} {'s an image':>10} {'MiB':>7}",
    ]
    for each in run.runs:
        memory = f"{each.worker_bytes / (1 << 20):,.0f}" if each.worker_bytes else "-"
        lines.append(f"{each.workers:>7} {each.images_per_second:>10.3g} {each.seconds:>10.3g} {memory:>7}")
    return [
        *lines,
        f"kernels: the first image took {run.compile_seconds:.1f} s longer than later ones",
        f"best number of workers{'' if run.device == 'CPU' else ' for each GPU'}: {run.best.workers}",
    ]
