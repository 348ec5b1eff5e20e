"""Samples of a request: the time and the bytes that its text and its images take on this machine."""

import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import cycle, islice
from time import perf_counter
from typing import Any, NamedTuple

from clevrhope.dataset.images_h5 import DEFLATE_LEVEL
from clevrhope.dataset.passes_h5 import pack
from clevrhope.images.passes import annotator_of
from clevrhope.images.png import encode_png
from clevrhope.images.renderers import row_of
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.questions import distinct_images, questions_of
from clevrhope.pipeline.resolution import Resolved
from clevrhope.pipeline.run import open_renderer

SAMPLE = 2_250
"""The most questions of a sample."""

BYTES_OF_ARRAYS = 35
"""Compressed bytes of a question in HDF5: 30 about one image, 44 about several, measured on train splits."""


class Rate(NamedTuple):
    """Seconds and bytes of one question, with its scene, or of one image, with its annotations."""

    seconds: float
    bytes: float


def text_rate(job: Job, resolved: Resolved) -> tuple[Rate, list[bytes]]:
    """The rate of a split's first questions, with their scenes; and these scenes as JSON."""
    began = perf_counter()
    batch = next(questions_of(replace(job, goal=min(job.goal, SAMPLE)), resolved.engine))
    n, images = len(batch.table), distinct_images([batch.table.image_idxs])
    scenes = [row for rows in resolved.engine.scene_rows(job.pool, images) for row in rows]
    seconds = (perf_counter() - began) / n
    return Rate(seconds, sum(map(len, [*batch.rows, *scenes])) / n + BYTES_OF_ARRAYS), scenes


def image_rate(scenes: Sequence[Any], resolved: Resolved) -> tuple[Rate, float]:
    """The rate of images, and seconds until all workers render.

    Raises:
        RenderError: no image could be rendered.
    """
    config = resolved.config
    with ExitStack() as stack:
        renderer = open_renderer(stack, resolved, keeps_kernels=False)
        n_first = renderer.workers  # whose images include the time for starting Blender
        n_timed = n_first * row_of(config.rendering).images_timed
        sample = list(enumerate(islice(cycle(scenes), n_first + n_timed)))
        began = perf_counter()
        images, ends = [], []
        for _, pixels in renderer.render(sample):
            images.append(pixels)
            ends.append(perf_counter())
        annotated = list(annotator_of(renderer).passes(sample[n_first:])) if config.passes else []
        ended = perf_counter()
    n_bytes = sum(sum(map(len, pack(each, config.passes).chunks.values())) for _, each in annotated)
    for pixels in images[n_first:]:
        n_bytes += len(encode_png(pixels)) if config.png else 0
        n_bytes += len(zlib.compress(pixels.tobytes(), DEFLATE_LEVEL)) if config.h5 else 0
    started = ends[n_first - 1]
    return Rate((ended - started) / n_timed, n_bytes / n_timed), started - began
