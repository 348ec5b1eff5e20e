"""All questions of a split, in batches, as a folder's engine makes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

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
    attributes: Mapping[str, Any]
    """Attributes of the split's HDF5 file, as far as this batch."""


_Made: TypeAlias = tuple[QuestionBatch, Mapping[str, Any]]
"""Questions of the native module, and attributes as in `Batch`."""


def questions_of(job: Job, engine: Engine) -> Iterator[Batch]:
    """All questions of a split; the last image may not have all of its questions.

    Raises:
        SplitError: a bounded search found too little; names the predicate that excludes too much.
    """
    kind = SETS if job.of_sets else SINGLE
    encoder = engine.sets.encoder if job.of_sets else engine.encoder
    texts = engine.sets.phrasings if job.of_sets else engine.templates
    widths = (texts.question_width, texts.program_width)
    done = 0
    for batch, attributes in _made(job, engine):
        columns = encoder.columns(batch, widths)
        if job.of_sets:
            columns["orig_idxs"] = np.arange(done, done + len(batch), dtype=np.int32)
        rows = batch.json_rows(split=job.split, start_index=done) if job.question_json else []
        yield Batch(QuestionTable(kind, columns), rows, attributes)
        done += len(batch)


def images_of(job: Job, engine: Engine) -> tuple[int, Ints]:
    """How many questions a split has, and its images, sorted, each once; makes the questions to find out."""
    columns = [batch.column("image_idxs") for batch, _ in _made(job, engine)]
    return sum(map(len, columns)), distinct_images(columns)


def distinct_images(columns: list[Ints]) -> Ints:
    """The scenes in columns of their indices, sorted, each once; rows of sets end with -1."""
    indices: Ints = np.unique(np.concatenate([np.ravel(column) for column in columns]))
    return indices[indices >= 0]


def _made(job: Job, engine: Engine) -> Iterator[_Made]:
    if isinstance(job.kind, CovrKind):
        return _of_sets(job, job.kind, engine)
    makers = {"stream": _of_stream, "places": _of_places, "groups": _of_places, "sets": _of_counting}
    return makers[job.kind.drawn](job, job.kind, engine)


def _of_stream(job: Job, kind: SplitKind, engine: Engine) -> Iterator[_Made]:
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
    for batch in _first(stream, job.goal, WINDOW * kind.questions_per_scene, WINDOWS_A_BATCH):
        yield batch, {}


def _of_sets(job: Job, kind: CovrKind, engine: Engine) -> Iterator[_Made]:
    """The questions of a split over several images."""
    held_out, config = job.hop.held_out, engine.config
    stream = QuestionStream.about_sets(
        engine.pool_scenes(job.pool),
        engine.sets.phrasings,
        split=kind.questions,
        held_out=list(held_out) if held_out else None,
        scenes=kind.scenes(config.covr_hold) if held_out else "any",
        places=kind.places(config.covr_hold),
        implied=config.strictness == "implied",
        distractors=config.distractors,
        half=kind.half,
        paraphrased=bool(kind.paraphrases),
    )
    for batch in _first(stream, job.goal, SETS_A_WINDOW, WINDOWS_OF_SETS_A_BATCH):
        skipped = [stream.skipped[name] for name in covr_template_names()]
        yield batch, {**engine.sets.attributes, "skipped": np.asarray(skipped, dtype=np.int64)}


def _first(stream: QuestionStream, n: int, a_window: int, windows_a_batch: int) -> Iterator[QuestionBatch]:
    """The first n questions of a stream, of whose windows each has at most so many questions."""
    while n > 0:
        batch = stream.next(min(windows_a_batch, -(-n // a_window)))
        yield batch.take(0, n) if len(batch) > n else batch
        n -= len(batch)


def _of_places(job: Job, kind: SplitKind, engine: Engine) -> Iterator[_Made]:
    """The questions of a minimal or existence split, in the order of its places."""
    pool = engine.minimal_pool(job.hop)
    first = first_groups if kind.drawn == "groups" else first_places
    places = np.asarray(first(pool, job.goal, seed=engine.seed), dtype=np.uint64)
    kind_of_set: Literal["iid", "ood"] = "iid" if kind.asked == "never" else "ood"
    for begin in range(0, len(places), PLACES_A_BATCH):
        chosen = places[begin : begin + PLACES_A_BATCH]
        yield pool.questions(engine.templates, seed=engine.seed, kind=kind_of_set, places=chosen), {}


def _of_counting(job: Job, kind: SplitKind, engine: Engine) -> Iterator[_Made]:
    """The questions of a value's first counting sets, in order."""
    pool = engine.counting_pool(job.hop)
    for first in range(0, job.goal, SETS_A_BATCH):
        n = min(SETS_A_BATCH, job.goal - first)
        yield pool.questions(engine.templates, seed=engine.seed, first=first, n=n), {}
