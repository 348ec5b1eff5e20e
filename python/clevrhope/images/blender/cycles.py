"""The renderer that runs Blender's Cycles in a pool of worker processes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from clevrhope.errors import ConfigError, RenderError
from clevrhope.images.blender.devices import WORKER, Device, choose_gpus
from clevrhope.images.blender.pool import WorkerPool
from clevrhope.images.blender.process import Patience, StartError
from clevrhope.images.passes import Passes, from_bytes
from clevrhope.images.renderer import Pixels, Renderer, RendererRow, Scene
from clevrhope.images.settings import BLENDER_QUALITIES, CPU, BlenderSettings, parse_device
from clevrhope.look.definition import Look, read_look
from clevrhope.runtime.blender import check_blender, explain_start
from clevrhope.runtime.paths import check_links
from clevrhope.runtime.resources import available_bytes, available_cores

K = TypeVar("K", bound=Hashable)

#: Core seconds per sample of a pixel on a slow core, and per thread for the rest of an image.
SECONDS_PER_SAMPLE, SECONDS_PER_THREAD = 5e-6, 1.0
#: A worker that takes this many times as long counts as hung.
PATIENCE = 10.0
LEAST_PATIENCE_S = 120.0
#: Extra time for a GPU's first image, which may compile kernels: minutes with some makers' drivers.
KERNELS_S = 1800.0
#: The default. With one thread, another thread of its worker spins beside it and takes up to half a core.
THREADS_OF_A_WORKER = 2
#: Processes that share a GPU by default: while one computes on it, the other prepares and reads back.
WORKERS_OF_A_GPU = 2
#: The share of the memory that all workers together may use; a worker that exceeds its part is killed.
SHARE_OF_WORKERS = 0.8
#: Where an NVIDIA driver keeps the kernels that it compiles: its variables, and a folder beside the images.
KERNEL_VARIABLES = ("CUDA_CACHE_PATH", "OPTIX_CACHE_PATH")
KERNEL_FOLDER = ".clevrhope.kernels"
#: A worker uses 385 MiB at 120 x 80 pixels; this leaves room for larger images.
BYTES_OF_A_WORKER = 512 << 20


class CyclesRenderer(Renderer):
    """Renders with Blender in worker processes, which start with the first image and end with `close`.

    Args:
        look: shapes, materials, lights, camera and properties; by default the package's.
        settings: size, samples, denoiser, device.
        workers: number of processes; by default one for every two cores. They share the cores, so fewer
            workers have more threads each. On GPUs, number of processes per GPU, by default two; each uses
            only that GPU.
        cores: number of cores that the workers share; by default all that this process may use.
        patience: how long an image may take; by default ten times the time that slow cores would need.
        allowance_s: how much longer a worker's first image may take; by default half an hour on a GPU, for
            which kernels may have to be compiled.
        folder: the folder of the images, in which an NVIDIA driver keeps the kernels that it compiles, unless
            variables of this process say where. By default, they are where drivers keep them.
        memory_limit_bytes: a worker that uses more is killed, and its image is started again; by default its
            part of four fifths of the memory that this process may use, in proportion to `cores`.
        command: the command line of a worker, for tests.

    Attributes:
        pool: the workers.
        where: the devices that it renders on, and why it does not use GPUs if listing them failed.

    Raises:
        ConfigError: there are no workers, this machine does not have the device, or the look is invalid.
        RenderError: Blender is missing, has another version, or lacks libraries.
    """

    def __init__(
        self,
        *,
        look: Look | None = None,
        settings: BlenderSettings | None = None,
        workers: int | None = None,
        cores: int | None = None,
        patience: Patience | None = None,
        allowance_s: float | None = None,
        folder: Path | None = None,
        memory_limit_bytes: int | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        self._settings = settings or BlenderSettings()
        if workers is not None and workers < 1:
            raise ConfigError(f"workers: {workers} should be 1 or more")
        command = command or check_blender().command(WORKER)
        look = look or read_look()
        gpus, problem = choose_gpus(parse_device(self._settings.device))
        titles = ", ".join(dict.fromkeys(gpu.title for gpu in gpus))
        self.where = titles or ("the CPU" + (f", as {problem}" if problem else ""))
        of_each = workers or WORKERS_OF_A_GPU
        bound: list[Device | None] = [gpu for gpu in gpus for _ in range(of_each)]
        threads = threads_of_workers(len(bound) or workers, cores=cores)
        bound = bound or [None] * len(threads)
        patience = patience or patience_for(self._settings, threads=min(threads))
        if allowance_s is None:
            allowance_s = KERNELS_S if gpus else 0.0
        start = {
            "look": look.look,
            "properties": look.properties,
            "settings": asdict(self._settings),
            "work_s": patience.work_s,
            "allowance_s": allowance_s,
        }
        is_nvidia = any(gpu.kind in ("cuda", "optix") for gpu in gpus)
        self._kernels = folder.absolute() / KERNEL_FOLDER if folder is not None and is_nvidia else None
        self.pool = WorkerPool(
            [{**start, "threads": n, "gpu": _as_json(gpu)} for n, gpu in zip(threads, bound, strict=True)],
            patience=patience,
            allowance_s=allowance_s,
            command=command,
            memory_limit_bytes=memory_limit_bytes or memory_share(cores) // len(threads),
            environment=dict.fromkeys(KERNEL_VARIABLES, str(self._kernels)) if self._kernels else {},
        )

    @property
    def workers(self) -> int:
        """Number of processes when all are running."""
        return len(self.pool)

    def render(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Pixels]]:
        """Yields images, (height, width, 3) uint8 sRGB; see `Renderer`."""
        return self._run("image", scenes)

    def passes(self, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Passes]]:
        """Yields annotations, from Cycles' passes for rays through the pixels' centres; see `Annotator`."""
        for key, content in self._run("passes", scenes):
            yield key, from_bytes(content)

    def close(self) -> None:
        """Ends the workers at once."""
        self.pool.close()

    def _run(self, task: str, scenes: Iterable[tuple[K, Scene]]) -> Iterator[tuple[K, Pixels]]:
        if self._kernels is not None:
            check_links(self._kernels.parent, (KERNEL_FOLDER,))
            with suppress(OSError):  # the driver will then compile them for each worker
                self._kernels.mkdir(parents=True, exist_ok=True)
        tasks = ((key, {"task": task, "scene": scene}) for key, scene in scenes)
        try:
            yield from self.pool.run(tasks)
        except StartError as error:
            raise RenderError(explain_start(str(error))) from error


def _as_json(gpu: Device | None) -> dict[str, Any] | None:
    """The message to a worker about its GPU."""
    if gpu is None:
        return None
    return {
        "interface": gpu.kind.upper(),
        "identity": gpu.identity,
        "name": f"{gpu.name} ({gpu.title})",
        "title": gpu.title,
    }


def threads_of_workers(workers: int | None = None, *, cores: int | None = None) -> list[int]:
    """The number of threads of each worker; together they use each core once.

    Args:
        workers: number of processes; by default one for every two cores, or as many as fit into half of the
            memory.
        cores: by default those that this process may use.
    """
    cores = cores or available_cores()
    workers = workers or max(
        1, min(cores // THREADS_OF_A_WORKER, available_bytes() // 2 // BYTES_OF_A_WORKER)
    )
    return [max(1, cores // workers + (i < cores % workers)) for i in range(workers)]


def memory_share(cores: int | None = None) -> int:
    """Bytes that all workers on `cores` cores may use together; by default on all cores of this process."""
    part = min(1.0, cores / available_cores()) if cores else 1.0
    return max(int(SHARE_OF_WORKERS * available_bytes() * part), BYTES_OF_A_WORKER)


def patience_for(settings: BlenderSettings, *, threads: int) -> Patience:
    """How long an image may take before its worker counts as hung."""
    samples_s = settings.width * settings.height * settings.samples * SECONDS_PER_SAMPLE
    return Patience(
        work_s=LEAST_PATIENCE_S + PATIENCE * (samples_s + SECONDS_PER_THREAD * threads),
        clock_s=LEAST_PATIENCE_S + PATIENCE * samples_s / threads,
    )


def _open_in_actor(settings: BlenderSettings, look: Look, cores: int, gpus: float) -> Renderer:
    """One worker, on the GPU that Ray reserved; if it reserved none, on the CPU."""
    device = CPU
    if gpus:
        found, _ = choose_gpus(parse_device(settings.device))
        if not found:
            raise RenderError(
                "Ray has a GPU here, but Blender finds none; see clevrhope devices there, or take "
                "--device cpu"
            )
        device = found[0].name
    settings = replace(settings, device=device)
    return CyclesRenderer(look=look, settings=settings, workers=1, cores=cores)


BLENDER = RendererRow(
    title="Blender",
    made_by="Blender's Cycles ({samples} samples per pixel)",
    settings=BlenderSettings,
    qualities=tuple(BLENDER_QUALITIES),
    effort="samples",
    open=lambda settings, **given: CyclesRenderer(settings=settings, **given),
    open_in_actor=_open_in_actor,
    licence="The licence of Blender, which renders images, puts no conditions on them. ",
)
