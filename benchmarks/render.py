"""Measures speed and quality of Cycles and the native renderer on the reference scenes, in one run.

At standard quality they take turns, with a few scenes each, so that a temporarily slower machine slows down
both. Images are compared with the images of 512 samples without denoiser in a checkout. The first image of
each renderer is not counted, because it includes loading the look and Cycles' kernels.
"""

import math
import platform
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any, get_args

from benchmarks.reference_images import chosen_scenes, psnr, reference_image, reference_scenes
from benchmarks.render_measures import Feature, by_material, excess_light, features, grain, ssim
from clevrhope.errors import RenderError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.native import NativeRenderer
from clevrhope.images.png import encode_png, read_png
from clevrhope.images.renderer import Pixels, Renderer, Scene
from clevrhope.images.settings import BLENDER_QUALITIES, BlenderSettings, NativeQuality, NativeSettings
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.resources import available_cores, resident_bytes

QUICK_IMAGES = 4

ENCODINGS = 32
"""At least this many PNG files are timed: the first ones of a process take up to twice as long."""

NATIVE = get_args(NativeQuality)
CYCLES = tuple(name for name in BLENDER_QUALITIES if name != "original")
"""The qualities of Blender to measure, all against the original's settings."""

SAMPLES_OF_THE_CURVE = (1, 2, 8, 32)
"""Samples per pixel for more points of Cycles' curve, besides those of `CYCLES`."""

MAIN = "standard"
"""The quality that represents a renderer."""


@dataclass
class Effort:
    """One renderer at one effort.

    Attributes:
        renderer: cycles or native.
        name: the quality, or a number of samples.
        seconds: wall-clock time of each image, as the mean of its turn.
        processor_seconds: the corresponding processor time of this process; Blender works in other processes.
        psnr_db: number of the reference scene -> PSNR.
        ssim: number of the reference scene -> SSIM; empty without scikit-image.
        grain: (material, grain) for each object.
        foot_light: for each object (material, how much more light than in the reference the ground at its
            foot shows).
        images: number of the scene -> (height, width, 3) uint8.
    """

    renderer: str
    name: str
    seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    psnr_db: dict[int, float] = field(default_factory=dict)
    ssim: dict[int, float] = field(default_factory=dict)
    grain: list[tuple[str, float]] = field(default_factory=list)
    foot_light: list[tuple[str, float]] = field(default_factory=list)
    images: dict[int, Pixels] = field(default_factory=dict)

    @property
    def seconds_per_image(self) -> float:
        """Mean over the images, with all cores in use."""
        return statistics.mean(self.seconds)

    @property
    def psnr_db_mean(self) -> float:
        """Mean over the images."""
        return statistics.mean(self.psnr_db.values())

    def as_json(self) -> dict[str, Any]:
        """Name -> value, for `--json`."""
        return {
            "psnr_db_mean": self.psnr_db_mean,
            "psnr_db_min": min(self.psnr_db.values()),
            "ssim_mean": statistics.mean(self.ssim.values()) if self.ssim else None,
            "ssim_min": min(self.ssim.values(), default=None),
            "grain": {name: statistics.mean(values) for name, values in by_material(self.grain).items()},
            "foot_light": {
                name: {"mean": statistics.mean(values), "min": min(values), "max": max(values)}
                for name, values in by_material(self.foot_light).items()
            },
            "seconds_per_image": self.seconds_per_image,
            "seconds_per_image_median": statistics.median(self.seconds),
            "images": len(self.psnr_db),
            "psnr_db_of": {str(number): value for number, value in sorted(self.psnr_db.items())},
        }


@dataclass(frozen=True)
class Compared:
    """The measurements.

    Attributes:
        cycles: efforts by quality, and by number of samples for the curve; empty without Blender.
        native: efforts by quality.
        png_seconds: time for one core to encode an image.
        native_start_seconds: time until a native renderer accepts scenes.
        references: number of the scene -> Cycles' image at 512 samples.
        device: the device on which Cycles rendered.
        workers: number of Cycles' processes.
        worker_bytes: memory of the largest of them after the last image at `MAIN` quality; 0 if unknown.
        machine: operating system and processor.
        cores: number of CPU cores available to this process.
        notes: what could not be measured, and why.
    """

    cycles: Mapping[str, Effort]
    native: Mapping[str, Effort]
    png_seconds: float
    native_start_seconds: float
    references: Mapping[int, Pixels]
    device: str | None
    workers: int | None
    worker_bytes: int | None
    machine: str
    cores: int
    notes: Sequence[str]

    @property
    def ratio(self) -> float | None:
        """Number of native images in the time of one Cycles image, both at `MAIN` quality."""
        if not self.cycles:
            return None
        return self.cycles[MAIN].seconds_per_image / self.native[MAIN].seconds_per_image

    def png_share(self, quality: str) -> float:
        """Time to encode a native image, as a share of the processor time to render it."""
        return self.png_seconds / statistics.median(self.native[quality].processor_seconds)

    def as_json(self) -> dict[str, Any]:
        """The numbers of each renderer at standard quality, followed by those of all its qualities."""
        cycles = None
        if self.cycles:
            about = {"device": self.device, "workers": self.workers, "worker_bytes": self.worker_bytes}
            cycles = {**_as_json(self.cycles), **about}
        return {
            "cycles": cycles,
            "native": {
                **_as_json(self.native),
                "seconds_to_start": self.native_start_seconds,
                "png_share": self.png_share(MAIN),
                "png_shares": {name: self.png_share(name) for name in self.native},
            },
            "ratio": self.ratio,
            "png_seconds": self.png_seconds,
            "cores": self.cores,
            "machine": self.machine,
            "notes": list(self.notes),
        }


def compare(
    n_images: int = QUICK_IMAGES,
    *,
    folder: Path | None = None,
    cycles: bool = True,
    device: str = "auto",
    workers: int | None = None,
    kernels: Path | None = None,
    curve: bool = False,
    advance: Callable[[str], None] = lambda _: None,
    progress: Progress | None = None,
) -> Compared:
    """Renders the same scenes with both renderers, at each of their qualities.

    Args:
        n_images: number of reference scenes, spread over all of them.
        folder: the folder of the scenes and their 512-sample images; by default the checkout's.
        cycles: whether Blender also renders; if it cannot, `notes` says why.
        device: where Blender renders, see `parse_device`.
        workers: Blender's processes, or processes for each GPU; see `CyclesRenderer`.
        kernels: folder for the kernels that a GPU's driver compiles; None for the driver's own.
        curve: measure Cycles at more numbers of samples.
        advance: called with the name of the next measurement, which a display would disturb.
        progress: shows how renderers start; None shows nothing.

    Raises:
        ConfigError: this machine has no such device.
        RenderError: there are no reference images.
    """
    scenes, chosen = reference_scenes(folder), chosen_scenes(n_images, folder)
    references = {i: read_png(reference_image(i, folder)) for i in chosen}
    notes: list[str] = []
    if find_spec("skimage") is None:
        notes.append("no SSIM: scikit-image is not installed, pip install scikit-image")
    studio = _Studio(
        scenes,
        references,
        device=device,
        workers=workers,
        kernels=kernels,
        measures_ssim=not notes,
        advance=advance,
        progress=progress or Silent(),
    )
    began = perf_counter()
    studio.native(MAIN).close()
    native_start_seconds = perf_counter() - began
    native = {name: Effort("native", name) for name in NATIVE}
    made_of_cycles: dict[str, Effort] = {}
    rendered_on = n_workers = worker_bytes = None
    with ExitStack() as stack:
        taking_turns = [(each, stack.enter_context(studio.native(name))) for name, each in native.items()]
        try:
            if cycles:
                effort, renderer = Effort("cycles", MAIN), stack.enter_context(studio.cycles(MAIN))
                studio.measure([(effort, renderer), *taking_turns])
                rendered_on = ", ".join(sorted(renderer.pool.devices))
                n_workers = renderer.workers
                worker_bytes = max(map(resident_bytes, renderer.pool.pids), default=0)
                made_of_cycles[MAIN] = effort
        except RenderError as error:
            notes.append(f"no Cycles: {error}")
        if not made_of_cycles:
            studio.measure(taking_turns)
    if made_of_cycles:
        others = [name for name in CYCLES if name != MAIN]
        for name in [*others, *(map(str, SAMPLES_OF_THE_CURVE) if curve else ())]:
            made_of_cycles[name] = Effort("cycles", name)
            with studio.cycles(name) as renderer:
                studio.measure([(made_of_cycles[name], renderer)])
    return Compared(
        cycles={name: made_of_cycles[name] for name in sorted(made_of_cycles, key=samples_of)},
        native=native,
        png_seconds=_png_seconds(native[MAIN].images.values()),
        native_start_seconds=native_start_seconds,
        references=references,
        device=rendered_on,
        workers=n_workers,
        worker_bytes=worker_bytes,
        machine=f"{platform.system()} {platform.machine()}",
        cores=available_cores(),
        notes=notes,
    )


def measure_cycles(n_images: int, names: Sequence[str], *, device: str = "auto") -> tuple[list[Effort], str]:
    """Cycles' efforts with these names, each a quality or number of samples, and the device that rendered.

    Raises:
        RenderError: the reference images or Blender are missing.
    """
    references = {i: read_png(reference_image(i)) for i in chosen_scenes(n_images)}
    studio = _Studio(
        reference_scenes(),
        references,
        device,
        workers=None,
        kernels=None,
        measures_ssim=False,
        advance=lambda _: None,
        progress=Silent(),
    )
    efforts, rendered_on = [Effort("cycles", name) for name in names], ""
    for effort in efforts:
        with studio.cycles(effort.name) as renderer:
            studio.measure([(effort, renderer)])
            rendered_on = ", ".join(sorted(renderer.pool.devices))
    return efforts, rendered_on


def samples_of(name: str) -> int:
    """Samples per pixel of one of Cycles' efforts: a quality, or the number itself."""
    return BLENDER_QUALITIES[name] if name in BLENDER_QUALITIES else int(name)


def text_lines(compared: Compared) -> list[str]:
    """The measurements as a table and a few sentences."""
    lines = [
        f"{compared.machine}, {compared.cores} cores; against 512 samples without denoiser, "
        f"{len(compared.references)} scenes",
        f"{'renderer':<8} {'quality':<9} {'s an image':>11} {'PSNR dB':>8} {'worst':>6} {'SSIM':>7}",
    ]
    for effort in (*compared.cycles.values(), *compared.native.values()):
        found = effort.as_json()
        similarity = "-" if found["ssim_mean"] is None else f"{found['ssim_mean']:.4f}"
        lines.append(
            f"{effort.renderer:<8} {effort.name:<9} {effort.seconds_per_image:>11.3f} "
            f"{effort.psnr_db_mean:>8.2f} {found['psnr_db_min']:>6.2f} {similarity:>7}"
        )
    lines.append("grain of materials (Laplacian of luminance), and light on the ground at their feet:")
    for effort in (*compared.cycles.values(), *compared.native.values()):
        found = effort.as_json()
        grains = ", ".join(f"{name} {value:.2f}" for name, value in found["grain"].items())
        feet = ", ".join(
            f"{name} {light['mean']:+.1%} ({light['min']:+.1%} to {light['max']:+.1%})"
            for name, light in found["foot_light"].items()
        )
        lines.append(f"{effort.renderer:<8} {effort.name:<9} {grains}; {feet}")
    if compared.ratio is not None:
        lines.append(
            f"{compared.ratio:.1f} native images in the time of one of Cycles ({compared.device}), "
            f"both at quality {MAIN}"
        )
    if compared.workers is not None and compared.worker_bytes is not None:
        lines.append(
            f"{compared.workers} of Blender's processes; the largest held "
            f"{compared.worker_bytes / (1 << 20):,.0f} MiB of memory"
        )
    shares = ", ".join(f"{name} {100 * compared.png_share(name):.1f}%" for name in compared.native)
    lines += [
        f"the native renderer is ready after {1000 * compared.native_start_seconds:.0f} ms",
        f"a PNG file takes {1000 * compared.png_seconds:.1f} ms of one core; of a native image's: {shares}",
    ]
    return [*lines, *compared.notes]


@dataclass(frozen=True)
class _Studio:
    """The reference scenes and images, and the renderers that are compared with them."""

    scenes: Sequence[Scene]
    references: Mapping[int, Pixels]
    device: str
    workers: int | None
    kernels: Path | None
    measures_ssim: bool
    advance: Callable[[str], None]
    progress: Progress

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the images."""
        height, width = next(iter(self.references.values())).shape[:2]
        return width, height

    def cycles(self, name: str) -> CyclesRenderer:
        """Cycles at a quality or number of samples."""
        settings = BlenderSettings(*self.size, device=self.device).with_samples(samples_of(name))
        return CyclesRenderer(settings=settings, workers=self.workers, folder=self.kernels)

    def native(self, quality: str) -> NativeRenderer:
        """The native renderer at a quality."""
        settings = NativeSettings(*self.size).with_quality(quality)
        return NativeRenderer(**asdict(settings))

    @cached_property
    def features(self) -> Mapping[int, list[Feature]]:
        """Number of the scene -> the pixels where its objects are measured."""
        with self.native(MAIN) as renderer:
            passes = renderer.passes((i, self.scenes[i]) for i in self.references)
            return {i: features(self.scenes[i], each) for i, each in passes}

    def measure(self, renderers: Sequence[tuple[Effort, Renderer]]) -> None:
        """Lets renderers take turns at all scenes, each with as many in a row as the most workers."""
        chosen = list(self.references)
        turn = max(renderer.workers for _, renderer in renderers)
        for effort, renderer in renderers:
            title = f"Starting {effort.renderer} {effort.name}"
            with self.progress.stage(title, total=turn, unit="images") as advance:
                for _ in renderer.render((i, self.scenes[chosen[0]]) for i in range(turn)):
                    advance(1)
        for begin in range(0, len(chosen), turn):
            numbers = chosen[begin : begin + turn]
            for effort, renderer in renderers:
                self.advance(f"{effort.renderer} {effort.name}, {begin + len(numbers)} of {len(chosen)}")
                began, worked = perf_counter(), process_time()
                made = dict(renderer.render((i, self.scenes[i]) for i in numbers))
                n = len(numbers)
                effort.seconds += [(perf_counter() - began) / n] * n
                effort.processor_seconds += [(process_time() - worked) / n] * n
                for i, pixels in made.items():
                    effort.images[i] = pixels
                    for each in self.features[i]:
                        if each.inside is not None:
                            effort.grain.append((each.material, grain(pixels, each.inside)))
                        if each.ring is not None:
                            excess = excess_light(pixels, self.references[i], each.ring)
                            effort.foot_light.append((each.material, excess))
                    effort.psnr_db[i] = psnr(pixels, self.references[i])
                    if self.measures_ssim:
                        effort.ssim[i] = ssim(pixels, self.references[i])


def _png_seconds(images: Collection[Pixels]) -> float:
    """The median over at least `ENCODINGS` encodings of the images."""
    seconds = []
    for _ in range(math.ceil(ENCODINGS / len(images))):
        for pixels in images:
            began = thread_time()
            encode_png(pixels)
            seconds.append(thread_time() - began)
    return statistics.median(seconds)


def _as_json(efforts: Mapping[str, Effort]) -> dict[str, Any]:
    return {**efforts[MAIN].as_json(), "qualities": {name: each.as_json() for name, each in efforts.items()}}
