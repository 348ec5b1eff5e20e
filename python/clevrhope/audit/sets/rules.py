"""Rows of a file of questions over several images, and the rules for them.

Each line of the report has a rule, which is a function.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader
from clevrhope.audit.checks.questions import of_tokens, wrong_answers
from clevrhope.audit.folder import SetFile
from clevrhope.audit.report import Found, where
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.question_kinds import MAX_IMAGES, PAIR_PLACES
from clevrhope.dataset.scene_files import MISSING, PoolScenes, Rows
from clevrhope.dataset.split_files import SetArrays, Vocab
from clevrhope.splits.covr.kinds import COVR_KINDS

Flags: TypeAlias = npt.NDArray[np.bool_]

ROWS_AT_ONCE = 65_536
"""Number of rows in a batch; it is even, so that no pair of questions is split between batches."""

NOWHERE, QUESTION, DISTRACTORS = range(len(PAIR_PLACES))
"""Places of the held-out pair by their number in files."""

_TEMPLATES = np.asarray([*AuditReader.TEMPLATES, ""])


@dataclass(frozen=True)
class SetBatches:
    """An open file, and what its rows are compared with."""

    split: SetFile
    arrays: SetArrays
    vocab: Vocab
    settings: QuestionSettings
    pool: PoolScenes
    reader: AuditReader

    def batches(self) -> "Iterator[Batch]":
        """All rows in order; raises a DatasetError if a block is damaged."""
        for first in range(0, len(self.arrays), ROWS_AT_ONCE):
            yield Batch(self, first)


class Batch:
    """N rows, from row `first` of the file on.

    Attributes:
        columns: Name -> (N,), (N, 5) for `image_idxs`, and (N, W) for tokens.
        has_image: (N, 5) whether there is an image.
        is_set: (N,) whether the images are different scenes, followed only by -1.
        is_missing: (N, 5) whether the pool lacks the scene.
        rows: (N, 5) the scenes' rows in the pool; -1 for no image, and throughout a row that misses a scene.
        findings: The native reader's findings.
        asked: Those of them that questions about single images have too.
        numbers: (N,) the rows' own numbers.
        n_images: (N,) the number of images.
        n_objects: (N, 5) the number of objects in each image; 0 if the image or its scene is missing.
        source: (N, 1) the index of each source image; 0 for one that is out of range.
        sizes: (N, 3) images, objects in them, and objects in the source.
        is_executed: (N,) whether all scenes are there.
        matches: (N, 2, 5) how many objects of each image the first and second described set has; -1 for none.
        describes: (N, 5) whether an image shows what the question describes.
        by_program: (N,) the template of each program; "" for none.
        template: (N,) the template that each row names; "" for none.
    """

    def __init__(self, file: SetBatches, first: int) -> None:
        self.file = file
        arrays = file.arrays
        self.columns: dict[str, npt.NDArray[Any]] = {
            name: arrays.tokens(name, first, ROWS_AT_ONCE) for name in ("questions", "programs")
        }
        questions, programs = self.columns.values()
        self.numbers: Rows = np.arange(first, first + len(questions))
        for name, column in arrays.columns.items():
            self.columns[name] = column[first : first + len(questions)]
        images = self.columns["image_idxs"]
        self.has_image: Flags = images >= 0
        self.is_set, self.is_missing, self.rows = scene_rows(images, file.pool)
        self.findings = file.reader.read_sets(questions, programs, file.pool.native, self.rows)
        self.asked = self.findings.asked
        self.n_images: Rows = self.has_image.sum(axis=1)
        of_scenes = np.append(file.pool.native.n_objects, 0)  # the last entry is for MISSING
        self.n_objects = of_scenes[self.rows].astype(np.int64)
        sources = self.columns["sources"].astype(np.int64)
        self.source: Rows = np.where((sources >= 0) & (sources < MAX_IMAGES), sources, 0)[:, None]
        of_source = np.take_along_axis(self.n_objects, self.source, axis=1)[:, 0]
        self.sizes: Rows = np.stack([self.n_images, self.n_objects.sum(axis=1), of_source], axis=1)
        self.is_executed: Flags = self.rows[:, 0] != MISSING
        self.matches: Rows = self.findings.matches.reshape(-1, 2, MAX_IMAGES).astype(np.int64)
        self.describes: Flags = (self.matches > 0).any(axis=1)
        self.by_program: npt.NDArray[np.str_] = _TEMPLATES[self.findings.templates]
        names = np.asarray([*arrays.templates, ""])
        families = self.columns["question_families"]
        known = (families >= 0) & (families < len(names) - 1)
        self.template: npt.NDArray[np.str_] = names[np.where(known, families, -1)]

    def __len__(self) -> int:
        return len(self.columns["answers"])

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """A column of the file."""
        return self.columns[name]

    @cached_property
    def shows_pair(self) -> Flags:
        """(N, 5) whether each image shows the held-out pair."""
        holding = np.append(self.file.pool.holding(self.file.split.hop.target), False)  # last for MISSING
        return np.asarray(holding[self.rows])


def scene_rows(images: npt.NDArray[Any], pool: PoolScenes) -> tuple[Flags, Flags, Rows]:
    """`is_set` (N,), `is_missing` (N, 5) and `rows` (N, 5) of a batch with these images (N, 5)."""
    has_image = images >= 0
    in_order = np.sort(images, axis=1)
    has_twin = ((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)).any(axis=1)
    has_gap = (has_image[:, 1:] & ~has_image[:, :-1]).any(axis=1)
    is_set: Flags = has_image[:, 0] & ~has_gap & ~has_twin & (images >= -1).all(axis=1)
    rows = pool.rows(images.reshape(-1)).reshape(images.shape)
    is_missing: Flags = has_image & (rows == MISSING)
    return is_set, is_missing, np.where((is_set & ~is_missing.any(axis=1))[:, None], rows, MISSING)


MOST_OBJECTS = 64
"""Maximum number of objects in a set."""

_SPECIAL = 4
"""How many numbers of a vocabulary are special tokens, and not words, functions or answers."""

UNIQUE = (
    "verify_attr",
    "choose_attr",
    "query_attr",
    "verify_same_attr",
    "query_object",
    "choose_object",
    "choose_relation",
)
"""Templates about the unique object that fits a description."""

DECIDED = ("verify_logic", "verify_quantifier", "verify_quantifier_attr")
"""Templates whose answer one image can decide, so that it need not change without the last leaf."""


def files(batch: Batch) -> Iterator[Found]:
    """Numbers are in their range; images are different scenes of the pool; two questions each are a pair."""
    vocab = batch.file.vocab
    images, sources, answers = (batch[name] for name in ("image_idxs", "sources", "answers"))
    for name in ("questions", "programs"):
        yield from of_tokens(name, batch[name], batch[f"{name[:-1]}_lengths"])
    no_place = (sources < 0) | (sources >= batch.n_images)
    yield from where(no_place, "sources is not the place of an image", sources)
    known = [number for number in vocab.answers.values() if number >= _SPECIAL]
    yield from where(~np.isin(answers, known), "answers: not in covr/vocab.json", answers)
    for name, numbers in (("questions", vocab.words), ("programs", vocab.functions)):
        tokens = batch[name]
        unknown = ((tokens < 0) | (tokens > max(numbers.values(), default=0))).any(axis=1)
        yield from where(unknown, f"{name}: tokens that are not in covr/vocab.json", tokens)
    yield from where(~batch.is_set, "image_idxs: not different scenes, then -1", images)
    missing = batch.is_set & batch.is_missing.any(axis=1)
    yield from where(missing, f"image_idxs: scenes that the files of {batch.file.pool.name} lack", images)
    too_many = batch.n_objects.sum(axis=1) > MOST_OBJECTS
    yield from where(too_many, f"more than {MOST_OBJECTS} objects in its images", batch.n_objects)
    end = len(batch) // 2 * 2
    seconds = range(1, end, 2)
    for name, what in (("questions", "text"), ("programs", "program")):
        differs = (batch[name][0:end:2] != batch[name][1:end:2]).any(axis=1)
        problem = f"not the {what} of the question before it, its pair"
        yield from where(differs, problem, batch.numbers[1:end:2], seconds)
    same = answers[0:end:2] == answers[1:end:2]
    yield from where(same, "the answer of the question before it, its pair", answers[1:end:2], seconds)


def programs(batch: Batch) -> Iterator[Found]:
    """Programs give the answer and are of their template; the source shows what is described, if any does."""
    structures, sources = batch["structures"], batch["sources"]
    yield from wrong_answers(batch.asked.answers, batch["answers"], batch.file.vocab.answer_names)
    other = batch.template != batch.by_program
    yield from where(other, "its program is of another template than", batch.template)
    other = batch.findings.structures != structures
    yield from where(other, "its program is of another structure than", structures)
    at_source = np.take_along_axis(batch.describes, batch.source, axis=1)[:, 0]
    elsewhere = batch.describes.any(axis=1) & ~at_source
    yield from where(elsewhere, "another image than the source shows what it describes", sources)


def distractors(batch: Batch) -> Iterator[Found]:
    """A unique object is in the source alone, and the last leaf of a program matters."""
    members = np.maximum(batch.matches, 0)  # (N, 2, 5)
    n = members.sum(axis=2)
    at_source = np.take_along_axis(members, batch.source[:, None], axis=2)[:, :, 0]  # (N, 2)
    is_right = (n[:, 0] == 1) & (at_source[:, 0] == 1)
    is_right &= (batch.by_program != "verify_same_attr") | ((n[:, 1] == 1) & (at_source[:, 1] == 0))
    wrong = np.isin(batch.by_program, UNIQUE) & batch.is_executed & ~is_right
    yield from where(wrong, "not once in its source and nowhere else; by image it is there", batch.matches)
    other = batch.is_executed & (batch.findings.cut != batch["cut"])
    yield from where(other, "cut is not what the program without its last leaf gives, but", batch["cut"])
    if batch.file.settings.distractors == "edited":
        idle = batch.is_executed & (batch.findings.cut == 0) & ~np.isin(batch.by_program, DECIDED)
        yield from where(idle, "its last leaf is of no consequence", batch.by_program)


def pair(batch: Batch) -> Iterator[Found]:
    """The held-out pair is where the split and `pair_places` say, and nowhere else."""
    hop, settings, places = batch.file.split.hop, batch.file.settings, batch["pair_places"]
    mentions = COVR_KINDS[batch.file.split.name].mentions
    is_nowhere = places == NOWHERE
    if mentions:
        yield from where(is_nowhere, "pair_places is 0, where each question is about the pair", places)
        alone = batch.shows_pair.any(axis=1) & ~(batch.shows_pair & batch.describes).any(axis=1)
        wrong = (places == DISTRACTORS) & batch.is_executed & ~alone
        yield from where(wrong, f"not distractors alone show {hop.an_object}; by image", batch.shows_pair)
    else:
        yield from where(~is_nowhere, "pair_places is not 0, where the pair is held out", places)
        if settings.covr_hold == "both":
            shows: Flags = batch.shows_pair.any(axis=1)
            yield from where(shows, f"an image shows {hop.an_object}; images", batch["image_idxs"])
    implied = batch.asked.implied & (settings.strictness == "implied")
    spoken = batch.asked.by_program | batch.asked.by_words | implied
    must = (places == QUESTION) & mentions
    yield from where(spoken & ~must, f"mentions {hop.words}: template", batch.template)
    yield from where(
        must & ~batch.asked.by_program, f"does not mention {hop.words}: template", batch.template
    )


RULES: Mapping[str, Callable[[Batch], Iterator[Found]]] = {
    "several images: files": files,
    "several images: programs": programs,
    "several images: distractors": distractors,
    "several images: pair": pair,
}
"""By line of the report."""
