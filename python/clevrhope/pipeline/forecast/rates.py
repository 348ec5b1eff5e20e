"""The speed of this machine, measured on a request's own questions, scenes and images."""

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from time import perf_counter, process_time
from typing import Any

import numpy as np

from clevrhope.dataset.images_h5 import DEFLATE_LEVEL
from clevrhope.dataset.passes_h5 import pack
from clevrhope.errors import RenderError
from clevrhope.images.passes import annotator_of
from clevrhope.images.png import encode_png
from clevrhope.images.renderer import Renderer
from clevrhope.images.renderers import row_of
from clevrhope.images.rendering_record import rendering_as_json, rendering_in_words
from clevrhope.pipeline.forecast.result import Rates
from clevrhope.pipeline.resolution import Resolved
from clevrhope.pipeline.run import open_renderer
from clevrhope.pipeline.text import questions_of
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.resources import available_cores, processor_seconds

BUSY_LOAD, BUSY_SHARE = 0.5, 0.6
"""The machine looks busy if, in the minute before, at least so many programs per core wanted to run, and
rendering then got less than this share of the cores."""

QUESTIONS_LOOKED_AT = 2_250
BYTES_OF_ARRAYS = 30
"""Compressed bytes of a question in HDF5, measured on a train split of 5,600."""

BYTES_OF_SET_ARRAYS = 44
"""Compressed bytes of a question over several images in HDF5, measured on a train split of 3,000."""


def measure_rates(resolved: Resolved, *, images: bool, advance: Advance) -> tuple[Rates, str]:
    """Rates of this machine, and why the time per image is unknown ("" if it is known).

    `advance` is called after each measurement.
    """
    load = os.getloadavg()[0]
    job = max(resolved.jobs, key=lambda job: job.goal if job.kind.unit == "questions" else 0)
    began = perf_counter()
    first = replace(job, goal=min(job.goal, QUESTIONS_LOOKED_AT))
    batch = next(iter(questions_of(first, resolved.engine)))
    questions_per_second = len(batch.arrays) / (perf_counter() - began)
    began = perf_counter()
    indices = np.unique(batch.arrays.image_idxs)
    rows = [row for rows in resolved.engine.scene_rows(job.pool, indices) for row in rows]
    scenes_per_second = len(rows) / (perf_counter() - began)
    advance(2)
    seconds: float | None = None
    least: float | None = None
    seconds_of_passes: float | None = None
    start = 0.0
    image_bytes: dict[str, float] = {}
    problem = ""
    if images:
        try:
            scenes = [json.loads(row) for row in rows]
            # CLEVR's images are copied, not rendered; its scenes stand in only if there are no others.
            own = [scene for scene in scenes if "source" not in scene]
            seconds, seconds_of_passes, start, image_bytes, share = _timed_images(own or scenes, resolved)
            cores = available_cores()
            if load >= BUSY_LOAD * cores and share < BUSY_SHARE:
                with_what = rendering_in_words(rendering_as_json(resolved.config.rendering))
                least = share * seconds
                problem = (
                    f"the machine looks busy (a load of {load:.1f} on {cores} cores, of whose time rendering "
                    f"got {share:.0%}); now an image with {with_what} takes {seconds:.2g} s; plan again when "
                    "the machine is idle"
                )
        except RenderError as error:
            problem = str(error)
        advance(1)
    sets_per_second, bytes_a_set = _timed_sets(resolved)
    rates = Rates(
        questions_per_second=questions_per_second,
        sets_per_second=sets_per_second,
        bytes_a_set_question=bytes_a_set,
        scenes_per_second=scenes_per_second,
        seconds_per_picture=seconds,
        least_seconds_per_picture=least,
        seconds_per_passes=seconds_of_passes,
        seconds_to_renderer=start,
        bytes_a_question=sum(map(len, batch.rows)) / len(batch.arrays) + BYTES_OF_ARRAYS,
        bytes_a_scene=sum(map(len, rows)) / len(rows),
        bytes_an_image=image_bytes,
    )
    return rates, problem


def _timed_sets(resolved: Resolved) -> tuple[float, float]:
    """Questions over several images per second, and bytes of one; 1 and 0 if none are to be made."""
    if resolved.covr is None:
        return 1.0, 0.0
    largest = max(resolved.covr_jobs, key=lambda job: job.goal)
    began = perf_counter()
    batch = next(resolved.covr.encoded(replace(largest, goal=min(largest.goal, QUESTIONS_LOOKED_AT))))
    n = len(batch.arrays)
    return n / (perf_counter() - began), sum(map(len, batch.rows)) / n + BYTES_OF_SET_ARRAYS


def _timed_images(
    scenes: Sequence[Mapping[str, Any]], resolved: Resolved
) -> tuple[float, float | None, float, dict[str, float], float]:
    """The time and size of an image, with all workers busy.

    Returns:
        Seconds per image; seconds for its annotations, None if none are wanted; seconds until all workers are
        busy; bytes per image by kind of file; the share of this machine's cores that rendering got, 1 if GPUs
        or other machines do it.
    """
    with ExitStack() as stack:
        renderer = open_renderer(stack, resolved, keeps_kernels=False)
        n_workers = renderer.workers
        n_timed = n_workers * row_of(resolved.config.rendering).images_timed
        repeated = [scenes[k % len(scenes)] for k in range(n_workers + n_timed)]
        images = []
        ends, worked = [], []
        began = perf_counter()
        for _, pixels in renderer.render(enumerate(repeated)):
            ends.append(perf_counter())
            worked.append(_worked_seconds(renderer))
            images.append(pixels)
        is_elsewhere = resolved.request.engine == "ray" or getattr(renderer, "devices", {"CPU"}) != {"CPU"}
        passes = _timed_passes(repeated[:n_timed], resolved, renderer) if resolved.config.passes else None
    # The first image of each worker includes the time for starting Blender.
    seconds = (ends[-1] - ends[n_workers - 1]) / n_timed
    worked_s = worked[-1] - worked[n_workers - 1]
    share = 1.0 if is_elsewhere else worked_s / (seconds * n_timed * available_cores())
    start = max(0.0, ends[n_workers - 1] - began - n_workers * seconds)
    encoders = {
        "png": (resolved.config.png, encode_png),
        "h5": (resolved.config.h5, lambda pixels: zlib.compress(pixels.tobytes(), DEFLATE_LEVEL)),
    }
    sizes = {}
    for kind, (wanted, encode) in encoders.items():
        if wanted:
            began = perf_counter()
            sizes[kind] = sum(len(encode(pixels)) for pixels in images) / len(images)
            # Encoding threads run beside the rendering, on cores that rendering could have used.
            seconds += (perf_counter() - began) / len(images) / available_cores()
    if passes is not None:
        sizes["passes"] = passes[1]
    return seconds, passes and passes[0], start, sizes, share


def _worked_seconds(renderer: Renderer) -> float:
    """Processor time used so far by this process and the renderer's workers."""
    return process_time() + sum(processor_seconds(pid) or 0.0 for pid in getattr(renderer, "worker_pids", ()))


def _timed_passes(
    scenes: Sequence[Mapping[str, Any]], resolved: Resolved, renderer: Renderer
) -> tuple[float, float]:
    """Seconds and bytes of an image's annotations, with all workers busy."""
    began = perf_counter()
    n_bytes = 0
    for _, passes in annotator_of(renderer).passes(enumerate(scenes)):
        n_bytes += sum(map(len, pack(passes, resolved.config.passes).chunks.values()))
    return (perf_counter() - began) / len(scenes), n_bytes / len(scenes)
