"""Questions over sets of images: what a request should have of them, and their files.

They ask about scenes of the folder's pools. A sub-dataset without such questions has no folder in `covr/`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import (
    Phrasings,
    ProgramTokens,
    SetQuestions,
    SetStream,
    Vocabulary,
    covr_property_names,
    covr_template_names,
    covr_term_names,
)
from clevrhope.config.presets import Config
from clevrhope.dataset.clevr_json import question_info, rows_file
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import MAX_IMAGES, SETS
from clevrhope.dataset.question_table import QuestionTable, read_scenes_in_use
from clevrhope.dataset.questions_h5 import Ints, QuestionWriter
from clevrhope.dataset.vocab import Vocab, extended_vocab, write_vocab
from clevrhope.errors import ConfigError
from clevrhope.pipeline.engine import Engine, Questions
from clevrhope.pipeline.jobs import QuestionFiles
from clevrhope.questions import read_phrasings
from clevrhope.runtime.atomic import FileRecord, record
from clevrhope.runtime.progress import Advance
from clevrhope.splits.covr.kinds import COVR_KINDS, CovrKind, covr_splits
from clevrhope.splits.hops import Hop, name_order, parse_hop
from clevrhope.splits.palettes import pool_name

WINDOWS_A_BATCH = 16
"""Windows per call, 16,000 questions: enough for all cores, and about 30 MB of JSON rows."""

QUESTIONS_A_WINDOW = 1000


@dataclass(frozen=True)
class CovrJob:
    """One split of questions over several images, as the folder will hold it after the run."""

    hop: Hop
    split: str
    pool: str
    goal: int
    """Number of questions: as requested, or the existing number if that is larger."""
    finished: bool
    """Whether the files exist, with exactly this goal."""
    question_json: bool
    requested: int

    @property
    def kind(self) -> CovrKind:
        """The split's row in `clevrhope.splits.covr.kinds`."""
        return COVR_KINDS[self.split]


def expand_covr_jobs(
    hops: Sequence[Hop], config: Config, files: QuestionFiles, types: Any, *, wanted: bool
) -> tuple[CovrJob, ...]:
    """The splits of a request, and those of earlier runs whose files are missing or damaged.

    Raises:
        ConfigError: only single values were named, as preliminary sub-datasets, which have no such questions.
    """
    there = files.manifest.covr
    asked = [hop for hop in hops if hop.value is None] if wanted else []
    if wanted and not asked:
        raise ConfigError("--covr: questions over several images need a pair or none; add --hop none")
    names = {
        (hop.name, split): hop for hop in asked for split in covr_splits(held_out=hop.held_out is not None)
    }
    for name, splits in there.items():
        for split in splits:
            names.setdefault((name, split), parse_hop(name, types))
    jobs = []
    for (name, split), hop in names.items():
        kind = COVR_KINDS[split]
        entry = there.get(name, {}).get(split, {})
        requested = getattr(config.sizes, kind.size) if hop in asked else 0
        goal = max(requested, int(entry.get("questions", 0)))
        question_json = files.has_json(name, split) or (config.question_json and hop in asked)
        whole = goal == entry.get("questions") and files.are_whole(name, split, question_json=question_json)
        pool = pool_name(kind.pool if hop.held_out else kind.plain_pool, hop.pools)
        if hop in asked or not whole:
            jobs.append(CovrJob(hop, split, pool, goal, whole, question_json, requested))
    return tuple(jobs)


@dataclass(frozen=True)
class SetBatch(Questions):
    """A batch of questions over several images."""

    skipped: tuple[int, ...]
    """For each template, the pairs of questions so far that no attempt could find."""


class CovrMaker:
    """Makes questions over several images from a folder's world, templates and seed.

    Raises:
        TemplateError: a file of phrasings is invalid; names the file and the place in it.
        VocabularyError: the world has too many values.
    """

    def __init__(self, engine: Engine, config: Config, vocab: Vocab) -> None:
        self._engine, self._config = engine, config
        vocabulary: Vocabulary = engine.world.vocabulary
        self.phrasings: Phrasings = read_phrasings(vocabulary, config.templates)
        tokens = ProgramTokens(vocabulary, vocab.programs())
        self._tokens = tokens.extended(self.phrasings.functions)
        self.vocab = extended_vocab(
            vocab,
            words=self.phrasings.words,
            program_tokens=self._tokens.names,
            answers=vocabulary.set_answers,
        )
        self._words = self.vocab.questions()
        numbers = self.vocab.answer_token_to_idx
        self._answers = np.asarray([numbers[text] for text in vocabulary.set_answers], dtype=np.int32)
        self.attributes: Mapping[str, Sequence[str]] = {
            "templates": covr_template_names(),
            "property_names": covr_property_names(),
            "term_names": covr_term_names(vocabulary),
        }

    def stream(self, job: CovrJob) -> SetStream:
        """The stream of a split's questions.

        Raises:
            SplitError: the world is too poor for a template.
        """
        kind, held_out, config = job.kind, job.hop.held_out, self._config
        return SetStream(
            self._engine.pool_scenes(job.pool),
            self.phrasings,
            split=kind.questions,
            held_out=None if held_out is None else list(held_out),
            scenes="any" if held_out is None else kind.scenes(config.covr_hold),
            places=kind.places(config.covr_hold),
            implied=config.strictness == "implied",
            distractors=config.distractors,
            half=kind.half,
            paraphrased=kind.paraphrased,
        )

    def questions(self, job: CovrJob) -> Iterator[SetQuestions]:
        """The first questions of a split, in batches.

        Raises:
            SplitError: a bounded search found too little.
        """
        return self._batches(job, self.stream(job))

    def _batches(self, job: CovrJob, stream: SetStream) -> Iterator[SetQuestions]:
        done = 0
        while done < job.goal:
            n_windows = -(-(job.goal - done) // QUESTIONS_A_WINDOW)
            batch = stream.next(min(WINDOWS_A_BATCH, n_windows))
            yield batch.take(0, min(len(batch), job.goal - done))
            done += len(batch)

    def encoded(self, job: CovrJob) -> Iterator[SetBatch]:
        """The questions of `questions`, encoded as in the files."""
        done = 0
        stream = self.stream(job)
        for batch in self._batches(job, stream):
            rows = batch.json_rows(split=job.split, start_index=done) if job.question_json else []
            skipped = stream.skipped
            yield SetBatch(
                self._arrays(batch, done), rows, tuple(skipped[name] for name in covr_template_names())
            )
            done += len(batch)

    def _arrays(self, batch: SetQuestions, first: int) -> QuestionTable:
        questions, question_lengths = batch.question_tokens(self._words, self.phrasings.question_width)
        programs, program_lengths = batch.program_tokens(self._tokens, self.phrasings.program_width)
        columns: dict[str, npt.NDArray[Any]] = {
            "questions": questions,
            "question_lengths": question_lengths,
            "programs": programs,
            "program_lengths": program_lengths,
            "answers": self._answers[batch.answers],
            "image_idxs": batch.image_idxs,
            "question_families": batch.templates,
            "orig_idxs": np.arange(first, first + len(batch), dtype=np.int32),
            "structures": batch.structures,
            "sources": batch.sources,
            "cut": batch.cut,
            "pair_places": batch.pair_places,
            "properties": batch.properties,
            "terms": batch.terms,
        }
        return QuestionTable(SETS, columns)

    def images_of(self, job: CovrJob) -> Ints:
        """The images of a split, sorted, each once; makes its questions to find them."""
        return images_in([batch.image_idxs for batch in self.questions(job)])


def images_in(rows: Sequence[Ints]) -> Ints:
    """The scenes in rows (N, 5) that are padded with -1, sorted, each once."""
    indices: Ints = np.unique(np.concatenate([np.empty((0, MAX_IMAGES), dtype=np.int32), *rows]))
    return indices[indices >= 0]


def write_covr_vocabulary(maker: CovrMaker, layout: Layout) -> dict[str, FileRecord]:
    """Writes covr/vocab.json."""
    layout.covr_vocab.parent.mkdir(exist_ok=True)
    write_vocab(layout.covr_vocab, maker.vocab)
    return {layout.relative(layout.covr_vocab): record(layout.covr_vocab)}


def write_covr_split(
    job: CovrJob,
    questions: Iterator[SetBatch],
    maker: CovrMaker,
    layout: Layout,
    manifest: Manifest,
    advance: Advance,
) -> Manifest:
    """Writes a split's questions as HDF5, and as JSON if wanted; returns the manifest listing the files."""
    h5, rows = layout.questions_h5(job.hop.name, job.split), layout.questions_json(job.hop.name, job.split)
    h5.parent.mkdir(parents=True, exist_ok=True)
    images = []
    n_questions = 0
    with ExitStack() as stack:
        add_rows = None
        if job.question_json:
            add_rows = stack.enter_context(rows_file(rows, key="questions", info=question_info(job.split)))
        writer = stack.enter_context(
            QuestionWriter(h5, hop=job.hop.name, split=job.split, pool=job.pool, attributes=maker.attributes)
        )
        for batch in questions:
            writer.append(batch.arrays)
            writer.set_attribute("skipped", np.asarray(batch.skipped, dtype=np.int64))
            if add_rows is not None:
                add_rows(batch.rows)
            n_questions += len(batch.arrays)
            images.append(batch.arrays.image_idxs)
            advance(len(batch.arrays))
    entry = {"pool": job.pool, "questions": n_questions, "images": len(images_in(images))}
    splits = {name: dict(entries) for name, entries in manifest.covr.items()}
    splits.setdefault(job.hop.name, {})[job.split] = entry
    files = {layout.relative(path): record(path) for path in ((h5, rows) if job.question_json else (h5,))}
    return replace(manifest.with_files(files), covr=in_covr_order(splits))


def in_covr_order(splits: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Sorts sub-datasets by name and splits as in their table, so that the order of runs leaves no trace."""
    return {
        name: {split: splits[name][split] for split in COVR_KINDS if split in splits[name]}
        for name in sorted(splits, key=name_order)
    }


def covr_scenes_in_use(manifest: Manifest, layout: Layout) -> Iterator[tuple[str, Ints]]:
    """For each split, yields its pool and the scenes of its sets, sorted, each once."""
    for hop, splits in manifest.covr.items():
        for split in splits:
            yield read_scenes_in_use(layout.questions_h5(hop, split), SETS)
