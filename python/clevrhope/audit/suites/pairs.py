"""The pairs of a suite's file as checks see them, beside the questions from which they were made."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.audit.checks.questions import int32
from clevrhope.audit.folder import AuditFolder, PairFile
from clevrhope.audit.leaks.palette import PaletteCheck
from clevrhope.audit.report import Found, where
from clevrhope.audit.suites.source import SuiteSource, TestRules
from clevrhope.dataset.native_reader import Ints, question_reader, vocabulary_of
from clevrhope.dataset.scene_files import PoolScenes, Rows
from clevrhope.dataset.split_files import PairArrays, SplitArrays, Vocab

Flags = npt.NDArray[np.bool_]


class SuitePairs:
    """The K pairs of a file; rows behind them belong to no pair.

    Attributes:
        given: (K,) rows of the split's own questions, or of the original if the suite searched for it.
        made: (K,) rows of the other questions.
        originals: (K,) rows of the split's questions in its own file; -1 unless a pair has exactly one.
        swapped: (K,) whether the split's question is the pair's partner.
        sound: (K,) whether a pair has an original that the split has too.
        searched: (K,) whether the suite made both questions.
        own: (M,) rows of all questions that the suite made, in order.
        scenes: (N,) rows of the scenes in the pool.
        findings: Mentions and answers of all rows, executed again.
        palette: The combinations of values that questions may ask for.
        kinds: Attribute type of each answer that is a value.
        counted: How much has been looked at, by line of the report.
        notes: Line of the report and note.
    """

    def __init__(
        self,
        folder: AuditFolder,
        place: PairFile,
        arrays: PairArrays,
        split: SplitArrays,
        vocab: Vocab,
        source: SuiteSource | None,
    ) -> None:
        """Finds the sides by `orig_idxs`, which is -1 for a question that the suite made."""
        self.folder, self.place, self.arrays, self.split = folder, place, arrays, split
        self.vocab, self.source = vocab, source
        self.pool: PoolScenes = folder.scenes[place.own_pool or place.pool]
        # Of a set, the first image; programs about sets are not executed here.
        self.scenes: Rows = self.pool.rows(np.atleast_2d(arrays.columns["image_idxs"].T)[0])
        words = folder.templates.words
        self.reader = question_reader(vocab, place.hop.target, words, vocabulary_of(vocab))
        questions, programs = self.tokens("questions"), self.tokens("programs")
        self.findings = self.reader.read(questions, programs, self.pool.native, self.scenes)
        manifest, palettes = folder.layout.manifest, folder.manifest.palettes
        self.palette = PaletteCheck(manifest, palettes, place.hop, vocab, words)
        self.kinds = {self.answer(value): kind for kind, value in vocab.values()}
        self.counted: Counter[str] = Counter()
        self.notes: dict[tuple[str, str], None] = {}
        self.n = n = arrays.n_pairs
        numbers = self.both("orig_idxs").astype(np.int64)
        is_given = numbers >= 0
        self.swapped: Flags = is_given[:, 1] & ~is_given[:, 0]
        self.originals: Rows = np.where(is_given.sum(axis=1) == 1, numbers.max(axis=1, initial=-1), -1)
        self.sound: Flags = (self.originals >= 0) & (self.originals < len(split))
        self.searched: Flags = ~is_given.any(axis=1)
        first = 2 * np.arange(n)
        self.given: Rows = first + self.swapped
        self.made: Rows = first + 1 - self.swapped
        self.own: Rows = np.sort(np.concatenate([self.made, self.given[self.searched], arrays.lone]))

    def of_pair(self, name: str) -> npt.NDArray[Any]:
        """(K,) a column of the file, as the first question of each pair has it."""
        return self.arrays.columns[name][: 2 * self.n : 2]

    def both(self, name: str) -> npt.NDArray[Any]:
        """(K, 2) a column of the file, the two questions of a pair side by side."""
        return self.arrays.columns[name][: 2 * self.n].reshape(self.n, 2)

    def tokens(self, name: str) -> Ints:
        """(N, W) all rows of an array of tokens."""
        return int32(self.arrays.tokens(name, 0, len(self.arrays)))

    def at_pairs(self, flags: Flags, problem: str, values: Any) -> Iterator[Found]:
        """A fault for each flagged pair (K,), at its first row."""
        return where(flags, problem, values, range(0, 2 * self.n, 2))

    @cached_property
    def numbers(self) -> Rows:
        """(K,) a number for each original: its row, or one below -1 if searched for; -1 for none."""
        numbers = self.originals.copy()
        searched = np.flatnonzero(self.searched)
        if len(searched):
            questions = self.tokens("questions")
            programs = self.tokens("programs")
            images = self.arrays.columns["image_idxs"]
            known: dict[tuple[int, bytes, bytes], int] = {}
            for k, row in zip(searched.tolist(), self.given[searched].tolist(), strict=True):
                asked = (int(images[row]), questions[row].tobytes(), programs[row].tobytes())
                numbers[k] = known.setdefault(asked, -2 - len(known))
        return numbers

    @cached_property
    def tests(self) -> Sequence[tuple[str, TestRules, Rows]]:
        """The tests of the suite's files, if these are known, with the pairs of each."""
        numbers = {name: number for number, name in enumerate(self.arrays.tests)}
        of_pair, tests = self.of_pair("test"), self.source.tests if self.source else {}
        return [
            (name, rules, np.flatnonzero(of_pair == numbers.get(name, -1))) for name, rules in tests.items()
        ]

    def answer(self, name: str) -> int:
        """The number of an answer; -1 if the vocabulary lacks it."""
        return self.vocab.answers.get(name, -1)

    def test(self, number: int) -> str:
        """The name of a test."""
        return named(self.arrays.tests, number, f"test {number}")

    def text(self, row: int) -> str:
        """The text of a question."""
        return self.arrays.text(self.vocab, row)


def named(names: tuple[str, ...], number: int, other: str | None = None) -> str:
    """The name with a number; if there is none, `other` or the number."""
    return names[number] if 0 <= number < len(names) else other or str(number)
