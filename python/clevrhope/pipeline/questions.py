"""All questions of a split, in batches, as a folder's engine makes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from clevrhope._core import QuestionBatch, QuestionStream, covr_template_names
from clevrhope.config.presets import WINDOW
from clevrhope.dataset.question_kinds import SETS, SINGLE
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.pipeline.engine import Engine
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.minimal import first_groups, first_places
from clevrhope.splits.covr.kinds import CovrKind
from clevrhope.splits.kinds import SplitKind

WINDOWS_A_BATCH = 32
"""Windows per call, 72,000 train questions: enough for all cores, and about 100 MB of JSON rows."""

PLACES_A_BATCH = 500
SETS_A_BATCH = 500

WINDOWS_OF_SETS_A_BATCH = 16
"""Windows per call, 16,000 questions over several images: enough for all cores, and 30 MB of JSON rows."""

SETS_A_WINDOW = 1000


@dataclass(frozen=True)
class Batch:
    """A batch of questions."""

    table: QuestionTable
    rows: list[bytes]
    """The same questions as rows of CLEVR's JSON; empty if no JSON is wanted."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the split's HDF5 file, as far as this batch."""


def questions_of(job: Job, engine: Engine) -> Iterator[Batch]:
    """All questions of a split; the last image may not have all of its questions.

    Raises:
        SplitError: a bounded search found too little; names the predicate that excludes too much.
    """
    if isinstance(job.kind, CovrKind):
        return _of_sets(job, job.kind, engine)
    batches = {"stream": _of_stream, "places": _of_places, "groups": _of_places, "sets": _of_counting}
    return _encoded(batches[job.kind.drawn](job, job.kind, engine), job, engine)


def images_of(job: Job, engine: Engine) -> Ints:
    """The images of a split, sorted, each once; makes its questions to find them."""
    batches = questions_of(replace(job, question_json=False), engine)
    return distinct_images([batch.table.image_idxs for batch in batches])


def distinct_images(columns: list[Ints]) -> Ints:
    """The scenes in columns of their indices, sorted, each once; rows of sets end with -1."""
    indices: Ints = np.unique(np.concatenate([np.ravel(column) for column in columns]))
    return indices[indices >= 0]


def _encoded(batches: Iterator[QuestionBatch], job: Job, engine: Engine) -> Iterator[Batch]:
    """Batches in the form of the files."""
    widths = (engine.templates.question_width, engine.templates.program_width)
    done = 0
    for batch in batches:
        rows = batch.json_rows(split=job.split, start_index=done) if job.question_json else []
        yield Batch(QuestionTable(SINGLE, engine.encoder.columns(batch, widths)), rows)
        done += len(batch)


def _of_stream(job: Job, kind: SplitKind, engine: Engine) -> Iterator[QuestionBatch]:
    held_out = job.hop.held_out
    rule = kind.rule if held_out else "any"
    stream = QuestionStream.about_images(
        engine.pool_scenes(job.pool),
        engine.templates,
        split=job.split,
        held_out=list(held_out) if held_out else None,
        scenes=rule,
        questions="unimplied" if engine.config.strictness == "implied" and rule == "without" else rule,
        questions_per_scene=kind.questions_per_scene,
        in_chains=engine.config.strictness == "chain",
    )
    left = job.goal
    while left > 0:
        # The number of windows that suffices if each scene yields all of its questions.
        n_windows = -(-left // (WINDOW * kind.questions_per_scene))
        batch = stream.next(min(WINDOWS_A_BATCH, n_windows))
        yield batch.take(0, left) if len(batch) > left else batch
        left -= len(batch)


def _of_places(job: Job, kind: SplitKind, engine: Engine) -> Iterator[QuestionBatch]:
    """The questions of a minimal or existence split, in the order of its places."""
    pool = engine.minimal_pool(job.hop)
    first = first_groups if kind.drawn == "groups" else first_places
    places = np.asarray(first(pool, job.goal, seed=engine.seed), dtype=np.uint64)
    kind_of_set: Literal["iid", "ood"] = "iid" if kind.asked == "never" else "ood"
    for begin in range(0, len(places), PLACES_A_BATCH):
        some = places[begin : begin + PLACES_A_BATCH]
        yield pool.questions(engine.templates, seed=engine.seed, kind=kind_of_set, places=some)


def _of_counting(job: Job, kind: SplitKind, engine: Engine) -> Iterator[QuestionBatch]:
    """The questions of a value's first counting sets, in order."""
    pool = engine.counting_pool(job.hop)
    for first in range(0, job.goal, SETS_A_BATCH):
        n = min(SETS_A_BATCH, job.goal - first)
        yield pool.questions(engine.templates, seed=engine.seed, first=first, n=n)


def _of_sets(job: Job, kind: CovrKind, engine: Engine) -> Iterator[Batch]:
    """The questions of a split over several images."""
    held_out, config, sets = job.hop.held_out, engine.config, engine.sets
    stream = QuestionStream.about_sets(
        engine.pool_scenes(job.pool),
        sets.phrasings,
        split=kind.questions,
        held_out=list(held_out) if held_out else None,
        scenes=kind.scenes(config.covr_hold) if held_out else "any",
        places=kind.places(config.covr_hold),
        implied=config.strictness == "implied",
        distractors=config.distractors,
        half=kind.half,
        paraphrased=kind.paraphrased,
    )
    widths = (sets.phrasings.question_width, sets.phrasings.program_width)
    done = 0
    while done < job.goal:
        n_windows = -(-(job.goal - done) // SETS_A_WINDOW)
        made = stream.next(min(WINDOWS_OF_SETS_A_BATCH, n_windows))
        batch = made.take(0, min(len(made), job.goal - done))
        columns = {
            **sets.encoder.columns(batch, widths),
            "orig_idxs": np.arange(done, done + len(batch), dtype=np.int32),
        }
        rows = batch.json_rows(split=job.split, start_index=done) if job.question_json else []
        skipped = np.asarray([stream.skipped[name] for name in covr_template_names()], dtype=np.int64)
        yield Batch(QuestionTable(SETS, columns), rows, {**sets.attributes, "skipped": skipped})
        done += len(made)
