"""The index of a sub-dataset's questions, in memory: finds them by their words and properties.

It holds the tokens of all questions and a row of numbers for each, so a search is a few comparisons of
arrays.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clevrhope.browse.folder import SiteFolder, SplitKey, Stamps
from clevrhope.dataset.mentions import mentions
from clevrhope.dataset.question_kinds import NONCE
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import CHUNK_ROWS
from clevrhope.dataset.vocab import Vocab
from clevrhope.describe.measure import SceneCounts, read_scene_counts
from clevrhope.errors import ClevrhopeError, DatasetError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.runtime.reading import is_passing
from clevrhope.scenes.descriptions import ObjectPart

FIRST_NAMED: Mapping[str, int] = {"templates": 1 << 16, "forms": 1 << 17}
"""The attribute with names of templates, or of forms of episodes -> the number of the first; families have
lower numbers."""

UNKNOWN = -1
"""Stands for a missing scene and its number of objects, and for the mention if nothing is held out."""

Rows = npt.NDArray[np.int64]

Facet = Literal["split", "family", "answer", "mention", "objects"]
FACETS: Sequence[Facet] = ("split", "family", "answer", "mention", "objects")
"""The facets by which questions are filtered, in the order of an index's columns."""


@dataclass(frozen=True)
class Filter:
    """The questions to search for; None and "" stand for any."""

    split: str | None = None
    family: int | None = None
    answer: int | None = None
    mention: int | None = None
    """1 for questions that mention the held-out pair, 0 for others."""
    objects: int | None = None
    """Number of objects in the image, or in all images of a set."""
    shown: Sequence[ObjectPart] = ()
    """The description of objects that the image shows, or an image of a set."""
    words: str = ""
    """Words that the question contains, in any order; words in double quotes have to be adjacent."""


@dataclass(frozen=True)
class IndexedSplit:
    """A split's place in the index."""

    number: int
    name: str
    columns: npt.NDArray[np.int32]
    """(N, 5) the facets of each question."""
    tokens: npt.NDArray[Any]
    """(longest, N) the tokens of each question, a column each; 0 for those that cannot be read."""
    words: Mapping[str, Sequence[int]]
    """Word -> the tokens that contain it; words are runs of letters and digits in lower case."""
    counts: SceneCounts | None
    """The content of the scenes of its pool; None if it is not known."""
    scenes: npt.NDArray[np.int32]
    """(N, k) the rows in `counts` of each question's images; `UNKNOWN` where there is none."""

    @property
    def n(self) -> int:
        """Number of questions."""
        return len(self.columns)

    def showing(self, description: Sequence[ObjectPart]) -> npt.NDArray[np.bool_]:
        """(N,) whether an image of each question shows what is described."""
        if self.counts is None:
            return np.zeros(self.n, bool)
        shown = self.counts.shows(description)[self.scenes] & (self.scenes >= 0)
        found: npt.NDArray[np.bool_] = shown.any(axis=1)
        return found

    def with_phrase(self, phrase: Sequence[str]) -> npt.NDArray[np.bool_]:
        """(N,) whether each question has these words one after the other."""
        has_phrase = np.zeros(self.n, bool)
        if not self.words.keys() >= {*phrase}:
            return has_phrase
        for start in range(len(self.tokens) - len(phrase) + 1):
            begins_here = np.ones(self.n, bool)
            for column, word in zip(self.tokens[start:], phrase, strict=False):
                tokens = self.words[word]
                # With a single token, a comparison is faster.
                begins_here &= column == tokens[0] if len(tokens) == 1 else np.isin(column, tokens)
            has_phrase |= begins_here
        return has_phrase


@dataclass
class Index:
    """The questions of a sub-dataset; threads can share it."""

    splits: dict[str, IndexedSplit] = field(default_factory=dict)
    """By name, in the order of the index."""
    families: dict[int, str] = field(default_factory=dict)
    sentences: dict[int, str] = field(default_factory=dict)
    """Family -> its first question."""
    answers: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """A sentence for each thing that could not be read."""
    stamps: Stamps = field(default_factory=dict)
    """The files as they were when it was made."""

    def options(self, wanted: Filter, facet: Facet) -> list[tuple[int, int]]:
        """The values of a facet under the other filters, each with its number of questions.

        Words are not taken into account.
        """
        column = FACETS.index(facet)
        matched = self._matches(replace(wanted, words=""), but=facet)
        numbers = [split.columns[matches, column] for split, matches in matched]
        values, counts = np.unique(np.concatenate([*numbers, np.zeros(0, np.int32)]), return_counts=True)
        return [(v, n) for v, n in zip(values.tolist(), counts.tolist(), strict=True) if v != UNKNOWN]

    def page(self, wanted: Filter, *, skip: int, most: int) -> tuple[int, list[tuple[str, int]]]:
        """The number of matches; split and row of at most `most` after the first `skip`, in order."""
        n_matches = 0
        listed: list[tuple[str, int]] = []
        for split, matches in self._matches(wanted):
            rows = np.flatnonzero(matches)
            begin = max(0, skip - n_matches)
            listed += [(split.name, row) for row in rows[begin : begin + most - len(listed)].tolist()]
            n_matches += len(rows)
        return n_matches, listed

    def rows(self, wanted: Filter) -> Rows:
        """The rows of all matches in one split, in order; the filter has to name the split."""
        rows = (np.flatnonzero(matches) for _, matches in self._matches(wanted))
        return next(rows, np.zeros(0, np.int64))

    def mentions(self, split: str, row: int) -> bool | None:
        """Whether a question mentions the held-out pair; None if nothing is held out."""
        value = int(self.splits[split].columns[row, FACETS.index("mention")])
        return None if value == UNKNOWN else value == 1

    def _matches(
        self, wanted: Filter, *, but: Facet | None = None
    ) -> Iterator[tuple[IndexedSplit, npt.NDArray[np.bool_]]]:
        """The splits that the filter allows, each with (N,) whether its questions match.

        The facet `but` is left out of the filter.
        """
        for split in self.splits.values():
            if but != "split" and wanted.split not in (None, split.name):
                continue
            matches = np.ones(split.n, bool)
            for column, facet in enumerate(FACETS):
                value = getattr(wanted, facet)
                if facet not in ("split", but) and value is not None:
                    matches &= split.columns[:, column] == value
            if wanted.shown:
                matches &= split.showing(wanted.shown)
            for phrase in _phrases(wanted.words):
                matches &= split.with_phrase(phrase)
            yield split, matches


def _phrases(words: str) -> list[list[str]]:
    """The words and double-quoted phrases that a question has to contain, without any other characters."""
    parts = (quoted or single for quoted, single in re.findall(r'"([^"]*)"?|([^"\s]+)', words))
    return [phrase for phrase in map(_words, parts) if phrase]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


class _Reader:
    """Reads the index of one sub-dataset; what cannot be read is left out, with a note."""

    def __init__(self, folder: SiteFolder, hop: str, progress: Progress) -> None:
        self._folder = folder
        self._hop = hop
        self._progress = progress
        self._counts: dict[str, SceneCounts | None] = {}
        self.index = Index(stamps=folder.stamps(hop))

    def read(self) -> Index:
        readers = []
        for split in self._folder.splits(self._hop):
            try:
                readers.append((split, *self._folder.reader(SplitKey(self._hop, split))))
            except DatasetError as error:
                self._note(error, "its questions are left out")
        total = sum(len(reader) for _, reader, _ in readers)
        with self._progress.stage(f"Indexing {self._hop}", total=total, unit="questions") as advance:
            for number, (name, reader, vocab) in enumerate(readers):
                self.index.answers |= enumerate(vocab.answers())
                self.index.splits[name] = self._split(number, name, reader, vocab, advance)
        self._name_families()
        return self.index

    def _split(
        self, number: int, name: str, reader: QuestionTable, vocab: Vocab, advance: Advance
    ) -> IndexedSplit:
        families = reader.question_families.astype(np.int32)
        if names := reader.kind.columns["question_families"].names:
            families += FIRST_NAMED[names]
            self.index.families |= enumerate(reader.attributes[names], FIRST_NAMED[names])
        tokens, mentioned = self._tokens(reader, vocab, advance)
        for family, row in zip(*np.unique(families, return_index=True), strict=True):
            if int(family) not in self.index.sentences:
                self.index.sentences[int(family)] = reader.sentence(int(row), tokens[:, row])
        counts, scenes, objects = self._scenes(reader)
        columns = (np.full_like(families, number), families, reader.answers, mentioned, objects)
        words: dict[str, list[int]] = {}
        for token, text in enumerate(vocab.questions()):
            for word in _words(text) if not text.startswith("<") else ():
                words.setdefault(word, []).append(token)
        stacked = np.stack([column.astype(np.int32) for column in columns], axis=1)
        return IndexedSplit(number, name, stacked, tokens, words, counts, scenes)

    def _tokens(
        self, reader: QuestionTable, vocab: Vocab, advance: Advance
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
        """(longest, N) the tokens, and (N,) 1 for questions that mention the pair, 0 for others."""
        hop = self._folder.known_hop(self._hop)
        longest = int(reader.question_lengths.max(initial=1))
        kind = np.min_scalar_type(len(vocab.questions()))
        tokens = np.zeros((longest, len(reader)), kind)
        mentioned = np.full(len(reader), UNKNOWN, np.int32)
        for begin in range(0, len(reader), CHUNK_ROWS):
            part = slice(begin, min(begin + CHUNK_ROWS, len(reader)))
            try:
                questions, programs = reader.tokens(begin, CHUNK_ROWS)
                if reader.kind is NONCE:
                    rows = (reader.in_nonce_words(k, each) for k, each in enumerate(questions, begin))
                    questions = np.stack([*rows])
                tokens[:, part] = questions[:, :longest].T
                if hop is not None and hop.target:
                    mentioned[part] = mentions(
                        programs, vocab, self._folder.vocabulary, hop.target, of_sets=reader.kind.of_sets
                    )
            except ClevrhopeError as error:
                named = f"{begin:,} to {part.stop - 1:,}"
                self._note(error, f"questions {named} are not found by their words or what they mention")
            advance(part.stop - begin)
        return tokens, mentioned

    def _scenes(
        self, reader: QuestionTable
    ) -> tuple[SceneCounts | None, npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The content of a split's scenes, (N, k) their rows, and (N,) the objects in all images of each."""
        counts, images = self._scene_counts(reader.pool), reader.image_idxs.reshape(len(reader), -1)
        if counts is None or not len(counts.indices):
            return None, np.full_like(images, UNKNOWN, np.int32), np.full(len(images), UNKNOWN, np.int64)
        rows = np.minimum(counts.rows(images), len(counts.indices) - 1)
        known = counts.indices[rows] == images
        n = np.where(known, counts.n_objects[rows], 0).sum(axis=1)
        objects = np.where((known | (images < 0)).all(axis=1), n, UNKNOWN)
        return counts, np.where(known, rows, UNKNOWN).astype(np.int32), objects.astype(np.int64)

    def _scene_counts(self, pool: str) -> SceneCounts | None:
        if pool not in self._counts:
            self._counts[pool] = None
            if not self._folder.has_scenes(pool):
                return None
            try:
                with self._progress.stage(f"Counting objects of {pool}", total=0, unit="scenes") as advance:
                    shards = [*map(self._folder.checked, self._folder.layout.scene_files(pool))]
                    counts = self._counts[pool] = read_scene_counts(shards, self._folder.attributes)
                    advance(len(counts.indices))
            except DatasetError as error:
                self._note(error, f"so it is not known how many objects the images of {pool} have")
        return self._counts[pool]

    def _name_families(self) -> None:
        """Keeps the names of the families that occur, as far as they are known."""
        columns = [split.columns[:, FACETS.index("family")] for split in self.index.splits.values()]
        used = np.unique(np.concatenate([*columns, np.zeros(0, np.int32)])).tolist()
        numbers = [number for number in used if number < min(FIRST_NAMED.values())]
        layout = self._folder.layout
        try:
            self._folder.checked(layout.vocab)
            self._folder.checked(layout.hop_measured(self._hop))
            names = AnswerKey(layout.root).family_names(self._hop)
        except DatasetError as error:
            self._note(error, "so families have numbers in place of names")
            names = {}
        self.index.families |= {number: names.get(number, f"family {number}") for number in numbers}
        self.index.families = {number: self.index.families[number] for number in used}

    def _note(self, error: ClevrhopeError, consequence: str) -> None:
        """Notes what a bad file leads to; where the file is not to blame, the error is raised again."""
        if is_passing(error):
            raise error
        self.index.notes.append(f"{error}; {consequence}")


def read_index(folder: SiteFolder, hop: str, progress: Progress) -> Index:
    """Reads the index of a sub-dataset's questions.

    A split or question that cannot be read is left out, with a note in the index; questions without a scene
    have no number of objects.
    """
    return _Reader(folder, hop, progress).read()
