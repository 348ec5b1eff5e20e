"""The index of a sub-dataset's questions: an SQLite file that finds them by their words and properties.

Each question is a document of a full-text index (FTS5) with two fields: its sentence, and a tag for each
property to filter by, such as `f12` for family 12. So every combination of words and filters is one query
over lists that are sorted by question. Sentences and columns are not stored again: pages read them from the
dataset.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from clevrhope.errors import DatasetError, first_sentence

FORMAT = 2
"""Version of the file's format; it is part of the name, so that no version reads another's file."""

MOST_COUNTED = 10_000
"""Maximum number of word matches that are counted; beyond it, a page says that there are more."""

Rows = npt.NDArray[np.int64]

Facet = Literal["split", "family", "answer", "mention", "objects"]
FACETS: Mapping[Facet, str] = {"split": "s", "family": "f", "answer": "a", "mention": "m", "objects": "o"}
"""The facets by which questions are filtered, with the first letter of their tags; values are from 0."""

SCHEMA = """
CREATE TABLE splits (number INTEGER PRIMARY KEY, name TEXT, first INTEGER, n INTEGER);
CREATE TABLE families (number INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE answers (number INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE notes (sentence TEXT);
CREATE TABLE cells (split INTEGER, family INTEGER, answer INTEGER, mention INTEGER, objects INTEGER,
                    n INTEGER);
CREATE VIRTUAL TABLE questions USING fts5 (words, tags, content = '', columnsize = 0);
"""
"""`cells` counts the questions of each combination; -1 means unknown or not applicable."""


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
    words: str = ""
    """Words that the question contains, in any order; words in double quotes have to be adjacent."""


@dataclass(frozen=True)
class IndexedSplit:
    """A split's place in the index."""

    number: int
    name: str
    first: int
    """Number of its first question in the whole index."""
    n: int


class Index:
    """An existing index; threads can share it."""

    def __init__(self, path: Path) -> None:
        """Reads its lists of names.

        Raises:
            DatasetError: the file is damaged.
        """
        self.path = path
        with self._connection() as connection:
            splits = connection.execute("SELECT number, name, first, n FROM splits ORDER BY first").fetchall()
            self.splits = {name: IndexedSplit(number, name, first, n) for number, name, first, n in splits}
            """By name, in the order of the index."""
            self.families: Mapping[int, str] = dict(connection.execute("SELECT number, name FROM families"))
            self.answers: Mapping[int, str] = dict(connection.execute("SELECT number, name FROM answers"))
            self.notes = [sentence for (sentence,) in connection.execute("SELECT sentence FROM notes")]
            """A sentence for each thing that could not be read when the index was made."""

    def __repr__(self) -> str:
        return f"<index of {sum(each.n for each in self.splits.values()):,} questions in {self.path}>"

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise DatasetError(
                f"{self.path}: the index cannot be read ({first_sentence(error)}); remove it, and the page "
                "makes it again"
            ) from error

    def count(self, wanted: Filter) -> tuple[int, bool]:
        """The number of matches, and whether it is exact: word matches are counted up to `MOST_COUNTED`."""
        with self._connection() as connection:
            if not _phrases(wanted.words):
                where, values = _where(self._numbers(wanted))
                (n,) = connection.execute(f"SELECT total(n) FROM cells {where}", values).fetchone()
                return int(n), True
            found = connection.execute(
                "SELECT count(*) FROM (SELECT 1 FROM questions WHERE questions MATCH ? LIMIT ?)",
                (self._match(wanted), MOST_COUNTED + 1),
            ).fetchone()[0]
            return min(found, MOST_COUNTED), found <= MOST_COUNTED

    def options(self, wanted: Filter, facet: Facet) -> list[tuple[int, int]]:
        """The values of a facet under the other filters, each with its number of questions.

        Words are not taken into account.
        """
        numbers = self._numbers(wanted)
        numbers.pop(facet, None)
        where, values = _where(numbers)
        with self._connection() as connection:
            found = connection.execute(
                f"SELECT {facet}, sum(n) FROM cells {where} GROUP BY {facet} ORDER BY {facet}", values
            )
            return [(value, n) for value, n in found if value >= 0]

    def page(self, wanted: Filter, *, skip: int, most: int) -> list[tuple[str, int]]:
        """Split and row of at most `most` matches after the first `skip`, in the index's order."""
        if not self._match(replace(wanted, split=None)):
            return self._stretch(wanted.split, skip, most)
        with self._connection() as connection:
            found = connection.execute(
                "SELECT rowid FROM questions WHERE questions MATCH ? ORDER BY rowid LIMIT ? OFFSET ?",
                (self._match(wanted), most, skip),
            ).fetchall()
        return [self._place(number) for (number,) in found]

    def rows(self, wanted: Filter) -> Rows:
        """The rows of all matches in one split, in order; the filter has to name the split."""
        split = self.splits.get(wanted.split or "")
        if split is None:
            return np.zeros(0, np.int64)
        if not self._match(replace(wanted, split=None)):
            return np.arange(split.n)
        with self._connection() as connection:
            found = connection.execute(
                "SELECT rowid FROM questions WHERE questions MATCH ? ORDER BY rowid", (self._match(wanted),)
            ).fetchall()
        return np.fromiter((number for (number,) in found), np.int64, len(found)) - split.first

    def mentions(self, split: str, row: int) -> bool | None:
        """Whether a question mentions the held-out pair; None if nothing is held out."""
        tagged = "SELECT 1 FROM questions WHERE questions MATCH ? AND rowid = ?"
        number = self.splits[split].first + row
        with self._connection() as connection:
            for value in (1, 0):
                if connection.execute(tagged, (f"tags : m{value}", number)).fetchone():
                    return value == 1
        return None

    def _stretch(self, split: str | None, skip: int, most: int) -> list[tuple[str, int]]:
        """A page of all questions, or of all of a split, computed without a search."""
        chosen = [each for each in self.splits.values() if split in (None, each.name)]
        found: list[tuple[str, int]] = []
        for each in chosen:
            last = min(each.n, skip + most - len(found))
            found += [(each.name, row) for row in range(skip, last)]
            skip = max(0, skip - each.n)
        return found

    def _place(self, number: int) -> tuple[str, int]:
        split = next(each for each in reversed(self.splits.values()) if each.first <= number)
        return split.name, number - split.first

    def _numbers(self, wanted: Filter) -> dict[Facet, int]:
        """The facets to filter by; -2, which no question has, stands for an unknown split."""
        split = self.splits.get(wanted.split) if wanted.split else None
        numbers: dict[Facet, int | None] = {
            "split": None if wanted.split is None else -2 if split is None else split.number,
            "family": wanted.family,
            "answer": wanted.answer,
            "mention": wanted.mention,
            "objects": wanted.objects,
        }
        return {facet: number for facet, number in numbers.items() if number is not None}

    def _match(self, wanted: Filter) -> str:
        """The full-text query, with only letters and digits of the words; "" if all questions match."""
        tags = [f"{FACETS[facet]}{max(number, 0)}" for facet, number in self._numbers(wanted).items()]
        if -2 in self._numbers(wanted).values():
            tags = ["none"]
        parts = [f"tags : ({' AND '.join(tags)})"] if tags else []
        phrases = [f'"{phrase}"' for phrase in _phrases(wanted.words)]
        parts += [f"words : ({' AND '.join(phrases)})"] if phrases else []
        return " AND ".join(parts)


def _where(numbers: Mapping[Facet, int]) -> tuple[str, Sequence[int]]:
    """The SQL condition on `cells`, with the facets as columns, and its parameters."""
    conditions = " AND ".join(f"{facet} = ?" for facet in numbers)
    return (f"WHERE {conditions}" if conditions else ""), tuple(numbers.values())


def _phrases(words: str) -> list[str]:
    """The words and double-quoted phrases that a question has to contain, without any other characters."""
    parts = (quoted or single for quoted, single in re.findall(r'"([^"]*)"?|([^"\s]+)', words))
    return [phrase for phrase in (" ".join(re.findall(r"[^\W_]+", part)) for part in parts) if phrase]
