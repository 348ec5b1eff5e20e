"""Makes the index of a sub-dataset's questions."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope.browse.folder import Folder, Place
from clevrhope.browse.index import FACETS, SCHEMA
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.mentions import mentions
from clevrhope.dataset.questions_h5 import CHUNK_ROWS, Ints
from clevrhope.dataset.split_reader import SetReader, SplitReader
from clevrhope.describe.measure import SceneCounts, read_scene_counts
from clevrhope.errors import ClevrhopeError, DatasetError, first_sentence
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.splits.covr.kinds import is_covr

FIRST_TEMPLATE = 1 << 16
"""Number of the first template of questions about sets of images; families have lower numbers."""

ROWS_AT_ONCE = 16 * CHUNK_ROWS

UNKNOWN = -1
"""Stands for the number of objects if the scene is missing, and for the mention if nothing is held out."""

Columns = npt.NDArray[np.int64]
"""(N, 4) family, answer, mention and objects of each question."""


def write_index(folder: Folder, hop: str, path: Path, progress: Progress) -> None:
    """Writes the index of a HOP's questions to a new file.

    A split or question that cannot be read is left out, with a note in the index; questions without a scene
    have no number of objects.

    Raises:
        DatasetError: the file cannot be written, or this Python's SQLite has no FTS5.
    """
    try:
        with closing(sqlite3.connect(path)) as connection:
            # A truncated file is never used: the file gets its name only when it is complete.
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            connection.executescript(SCHEMA)
            _Writer(folder, hop, connection, progress).write()
            connection.execute("INSERT INTO questions (questions) VALUES ('optimize')")
            connection.commit()
    except sqlite3.Error as error:
        raise DatasetError(f"{path}: the index cannot be written ({first_sentence(error)})") from error


class _Writer:
    def __init__(self, folder: Folder, hop: str, connection: sqlite3.Connection, progress: Progress) -> None:
        self._folder, self._hop, self._progress = folder, hop, progress
        self._connection = connection
        self._counts: dict[str, SceneCounts | None] = {}
        self._families: dict[int, str] = {}
        self._used: set[int] = set()

    def write(self) -> None:
        readers = [*self._readers()]
        total = sum(len(reader) for _, reader, _ in readers)
        first = 0
        with self._progress.stage(f"Indexing {self._hop}", total=total, unit="questions") as advance:
            for number, (name, reader, spoken) in enumerate(readers):
                columns = self._columns(name, reader)
                self._insert("splits", [(number, name, first, len(reader))])
                self._write_split(number, first, reader, spoken, columns, advance)
                cells = Counter(map(tuple, columns.tolist()))
                self._insert("cells", [(number, *cell, n) for cell, n in sorted(cells.items())])
                first += len(reader)
        self._insert("families", sorted(self._named_families().items()))

    def _readers(self) -> Iterator[tuple[str, SplitReader, Detokenizer]]:
        answers: dict[int, str] = {}
        for split in self._folder.splits(self._hop):
            try:
                reader, vocab = self._folder.reader(Place(self._hop, split))
            except DatasetError as error:
                self._note(f"{error}; its questions are left out")
                continue
            answers |= enumerate(vocab.answers())
            yield split, reader, Detokenizer(vocab)
        self._insert("answers", sorted(answers.items()))

    def _columns(self, split: str, reader: SplitReader) -> Columns:
        families = reader.question_families.astype(np.int64)
        if isinstance(reader, SetReader):
            families += FIRST_TEMPLATE
            self._families |= {FIRST_TEMPLATE + k: name for k, name in enumerate(reader.templates)}
        self._used |= set(np.unique(families).tolist())
        columns = (families, reader.answers, self._mentions(split, reader), self._objects(reader))
        return np.stack([column.astype(np.int64) for column in columns], axis=1)

    def _mentions(self, split: str, reader: SplitReader) -> npt.NDArray[np.int64]:
        """(N,) 1 for questions that mention the pair, 0 for others, `UNKNOWN` if it cannot be determined."""
        hop = self._folder.hop(self._hop)
        found = np.full(len(reader), UNKNOWN, np.int64)
        if hop is None or not hop.target:
            return found
        _, vocab = self._folder.reader(Place(self._hop, split))
        vocabulary, of_sets = self._folder.vocabulary, is_covr(split)
        for begin in range(0, len(reader), ROWS_AT_ONCE):
            try:
                _, programs = reader.tokens(begin, ROWS_AT_ONCE)
                found[begin : begin + len(programs)] = mentions(
                    programs, vocab, vocabulary, hop.target, of_sets=of_sets
                )
            except ClevrhopeError as error:
                last = min(begin + ROWS_AT_ONCE, len(reader)) - 1
                self._note(f"{error}; whether questions {begin:,} to {last:,} mention the pair is not known")
        return found

    def _objects(self, reader: SplitReader) -> npt.NDArray[np.int64]:
        """(N,) the number of objects in the image, or in all images of a set."""
        counts = self._scene_counts(reader.pool)
        if counts is None or not len(counts.indices):
            return np.full(len(reader), UNKNOWN, np.int64)
        images = reader.image_idxs.reshape(len(reader), -1)
        rows = np.minimum(counts.rows(images), len(counts.indices) - 1)
        known = counts.indices[rows] == images
        n = np.where(known, counts.n_objects[rows], 0).sum(axis=1)
        return np.where((known | (images < 0)).all(axis=1), n, UNKNOWN).astype(np.int64)

    def _scene_counts(self, pool: str) -> SceneCounts | None:
        if pool not in self._counts:
            self._counts[pool] = None
            files = self._folder.layout.scene_files(pool)
            try:
                with self._progress.stage(f"Counting objects of {pool}", total=0, unit="scenes") as advance:
                    shards = [self._folder.checked(path) for path in files]
                    counts = read_scene_counts(shards, self._folder.attributes)
                    self._counts[pool] = counts
                    advance(len(counts.indices))
            except DatasetError as error:
                self._note(f"{error}; so it is not known how many objects the images of {pool} have")
        return self._counts[pool]

    def _write_split(
        self,
        number: int,
        first: int,
        reader: SplitReader,
        spoken: Detokenizer,
        columns: Columns,
        advance: Advance,
    ) -> None:
        for begin in range(0, len(reader), ROWS_AT_ONCE):
            end = min(begin + ROWS_AT_ONCE, len(reader))
            rows = [
                (first + row, sentence, " ".join(tags))
                for row, sentence, tags in zip(
                    range(begin, end),
                    self._sentences(reader, spoken, begin, end),
                    (_tags((number, *each)) for each in columns[begin:end].tolist()),
                    strict=True,
                )
            ]
            self._connection.executemany("INSERT INTO questions (rowid, words, tags) VALUES (?, ?, ?)", rows)
            advance(len(rows))

    def _sentences(self, reader: SplitReader, spoken: Detokenizer, begin: int, end: int) -> Sequence[str]:
        """The sentences of some rows; "" for those that cannot be read."""
        try:
            questions: Ints = reader.tokens(begin, end - begin)[0]
        except DatasetError as error:
            if end - begin <= CHUNK_ROWS:
                self._note(f"{error}; no words of its questions {begin:,} to {end - 1:,} are found")
                return [""] * (end - begin)
            halves = (begin + CHUNK_ROWS, end)
            return [
                sentence
                for start, stop in ((begin, halves[0]), halves)
                for sentence in self._sentences(reader, spoken, start, stop)
            ]
        lengths = reader.question_lengths[begin:end].tolist()
        return [spoken.question(row, length) for row, length in zip(questions, lengths, strict=True)]

    def _named_families(self) -> dict[int, str]:
        """The names of the families that occur, as far as they are known."""
        named = {number: name for number, name in self._families.items() if number in self._used}
        numbers = sorted(number for number in self._used if number < FIRST_TEMPLATE)
        layout = self._folder.layout
        try:
            self._folder.checked(layout.vocab)
            for split in self._folder.splits(self._hop):
                self._folder.checked(layout.questions_json(self._hop, split))
            key = AnswerKey(layout.root)
            named |= zip(numbers, key.part_names("family", numbers, self._hop), strict=True)
        except DatasetError as error:
            self._note(f"{error}; so families have numbers in place of names")
            named |= {number: f"family {number}" for number in numbers}
        return named

    def _note(self, sentence: str) -> None:
        self._insert("notes", [(sentence,)])

    def _insert(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


def _tags(facets: Sequence[int]) -> list[str]:
    """The tags of a question, from its facets in the order of `FACETS`."""
    return [f"{letter}{value}" for letter, value in zip(FACETS.values(), facets, strict=True) if value >= 0]
