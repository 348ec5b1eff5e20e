"""A finished folder and a held-out pair in, a report out: is the pair where it must be, and nowhere else?

Reads the files alone, with code that shares nothing with what made them (`finished`, `audit_reader`).
What it proves is listed at `check_leaks`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from clevrhope.dataset.audit_reader import CLEVR_WORDS, WHY, Findings, PoolGraphs, QuestionReader, Said
from clevrhope.dataset.finished import (
    FinishedScene,
    Question,
    SplitArrays,
    Value,
    parse_question,
    prefix,
    read_json,
    read_question_rows,
    read_scenes,
    read_vocab,
)
from clevrhope.dataset.layout import Layout
from clevrhope.errors import DatasetError
from clevrhope.hops import Hop

MAX_LISTED = 100
"""Violations that a report lists; it counts them all."""

WITHOUT_PAIR = ("train", "complex_iid", "minimal_iid")
"""Splits in which the pair is in no picture and no question."""

ASKS_FOR_PAIR = ("complex_ood", "minimal_ood")
"""Splits in which every question mentions the pair."""

MAY_SHARE = frozenset({"minimal_iid", "minimal_ood"})
"""The only splits that may have pictures in common: test sets of one object, on one pool."""

_ORDER = ("train", "val", "test", "complex_iid", "complex_ood", "minimal_iid", "minimal_ood")
_BATCH = 2_000  # questions compared with their arrays at a time

Pool = Mapping[int, FinishedScene]
"""The scenes in use of a pool, by index."""


@dataclass(frozen=True)
class Violation:
    """One thing that is not as it must be."""

    file: str
    """Path below the dataset's folder."""
    index: int | None
    """The question's place in its file, or the scene's index in its pool; None for a file as a whole."""
    problem: str
    value: str

    def __str__(self) -> str:
        place = self.file if self.index is None else f"{self.file}[{self.index}]"
        return f"{place}: {self.problem}: {self.value}"


@dataclass(frozen=True)
class SplitCounts:
    """What was looked at in a split, all of it."""

    split: str
    pool: str
    n_questions: int
    n_pictures: int
    n_pictures_with_pair: int
    n_mentioning: int
    """Questions that mention the pair, by their programs."""
    n_no: int
    """Questions answered no."""


@dataclass(frozen=True)
class LeakReport:
    """What was checked of a sub-dataset, and what was found."""

    hop: Hop
    splits: tuple[SplitCounts, ...]
    violations: tuple[Violation, ...]
    """The first `MAX_LISTED`."""
    n_violations: int

    @property
    def ok(self) -> bool:
        """Whether everything was in order."""
        return self.n_violations == 0

    def checked(self) -> tuple[str, ...]:
        """What was looked at and found in order, a sentence each, for the datasheet; none if not `ok`."""
        if not self.ok:
            return ()
        n_questions = sum(each.n_questions for each in self.splits)
        return (
            *(_sentence(each, self.hop) for each in self.splits),
            "No picture is in two of these splits"
            + (", the two minimal ones apart" if self.hop.pair else "")
            + ", and no scene of one pool is a copy of another pool's.",
            f"All {n_questions:,} programs, executed again, give the answers in the files; HDF5 and JSON "
            "agree on every question, program, answer and picture.",
        )


def check_leaks(
    folder: Path,
    hop: Hop,
    *,
    splits: Sequence[str] | None = None,
    pictures: bool = False,
    words: Mapping[str, Sequence[str]] = CLEVR_WORDS,
) -> LeakReport:
    """Checks the finished files of a sub-dataset.

    - No scene of train, complex_iid and minimal_iid holds the pair, and no question there mentions it:
      neither its program nor its words (`mention` says what that means).
    - Every scene of complex_ood holds it; every question of complex_ood and minimal_ood mentions it, in both.
    - Of the four pictures of minimal_ood that show an object in the same place (eight where three values are
      held out), exactly one holds it, and all are asked the same; all other answers are no.
    - No picture is in two splits, the minimal ones apart: not by name, not by its scene's objects and, for
      PNG files, not by its checksum in the manifest.
    - Every program, executed again, gives the question's answer.
    - HDF5 and JSON say the same: tokens, lengths, answers, pictures, families, order. Every question's scene
      is there and has the picture's name that the question has.

    Of `none`, the dataset that holds nothing out, it checks all that does not concern a pair.

    Args:
        folder: The dataset.
        hop: The pair.
        splits: Splits that must be there; those whose files are there when None.
        pictures: Whether the picture of every question must be there too, as PNG, in HDF5, or both.
        words: Words for values and for "thing", where they are not CLEVR's (`synonyms.json`).

    Raises:
        DatasetError: a file is missing or cannot be read at all. All else is a violation in the report.
    """
    return _Check(Layout(folder), hop, words).run(splits, pictures=pictures)


def _sentence(counts: SplitCounts, hop: Hop) -> str:
    about = f"{counts.split}: {counts.n_questions:,} questions on {counts.n_pictures:,} pictures"
    if hop.pair is None:
        return f"{about}."
    if counts.split in WITHOUT_PAIR:
        return (
            f"{about}; no {hop.words} in any picture, nor in any question, be it in its program or its words."
        )
    if counts.split == "minimal_ood":
        return (
            f"{about}; exactly one in {hop.corners} shows a {hop.words}, every question asks for one, in its "
            f"program and its words, and exactly {100 - 100 / hop.corners:g}% of the answers are no."
        )
    return f"{about}; a {hop.words} in every picture and in every question, in its program and its words."


@dataclass
class _Found:
    """Violations, as they are found."""

    listed: list[Violation] = field(default_factory=list)
    n: int = 0

    def add(self, file: str, index: int | None, problem: str, value: object) -> None:
        self.n += 1
        if len(self.listed) < MAX_LISTED:
            self.listed.append(Violation(file, index, problem, str(value)))


class _Check:
    """One run: what is read once, and what is found."""

    def __init__(self, layout: Layout, hop: Hop, words: Mapping[str, Sequence[str]]) -> None:
        self.layout = layout
        self.hop = hop
        self.pair: tuple[Value, ...] = hop.pair or ()
        self.found = _Found()
        self.vocab = read_vocab(layout.vocab)
        self.answers = {number: name for name, number in self.vocab.answers.items()}
        self.reader = QuestionReader(self.vocab, self.pair, words)

    def run(self, names: Sequence[str] | None, *, pictures: bool) -> LeakReport:
        names = self._splits_there() if names is None else names
        if not names:
            raise DatasetError(f"{self.layout.hop(self.hop.name)}: no split there to check")
        with ExitStack() as stack:
            splits = {
                name: stack.enter_context(closing(SplitArrays(self.layout.questions_h5(self.hop.name, name))))
                for name in names
            }
            pools = {
                pool: self._read_pool(
                    pool, {i for each in splits.values() if each.pool == pool for i in each.used}
                )
                for pool in dict.fromkeys(each.pool for each in splits.values())
            }
            graphs = {
                pool: PoolGraphs(sorted(self.layout.scenes(pool).glob("*.json")), self.reader.vocabulary)
                for pool in pools
            }
            counts = tuple(
                self._check_split(name, each, pools[each.pool], graphs[each.pool])
                for name, each in splits.items()
            )
            self._check_shared(splits, pools)
            if pictures:
                for pool, scenes in pools.items():
                    self._check_pictures(pool, scenes)
        return LeakReport(self.hop, counts, tuple(self.found.listed), self.found.n)

    def _splits_there(self) -> list[str]:
        """Splits with both files; one without the other is a violation."""
        folder = self.layout.hop(self.hop.name)
        arrays = {path.stem for path in folder.glob("*.h5")}
        questions = {path.name.removesuffix("_questions.json") for path in folder.glob("*_questions.json")}
        for name in sorted(arrays ^ questions):
            missing = self.layout.questions_h5 if name in questions else self.layout.questions_json
            path = self.layout.relative(missing(self.hop.name, name))
            self.found.add(path, None, "missing, but the split's other file is there", name)
        return [name for name in _ORDER if name in arrays & questions]

    def _read_pool(self, pool: str, used: Collection[int]) -> Pool:
        scenes: dict[int, FinishedScene] = {}
        for path in sorted(self.layout.scenes(pool).glob("*.json")):
            for index, scene in read_scenes(path, used):
                if index in scenes:
                    self.found.add(
                        self.layout.relative(path), index, "scene is there twice", scene.image_filename
                    )
                scenes[index] = scene
        for index in sorted(set(used) - scenes.keys()):
            self.found.add(f"scenes/{pool}", index, "a question's scene is missing", pool)
        return scenes

    # A split

    def _check_split(self, name: str, arrays: SplitArrays, scenes: Pool, graphs: PoolGraphs) -> SplitCounts:
        path = self.layout.questions_json(self.hop.name, name)
        file = self.layout.relative(path)
        n_questions = n_mentioning = n_no = 0
        texts: dict[int, str] = {}  # of minimal_ood only, which is small: a question a picture
        no = self.vocab.answers.get("no", -1)
        for rows in _batches(read_question_rows(path)):
            batch = _Batch(path, n_questions, rows)
            said = self._say(batch, arrays)
            found = self._read(arrays, n_questions, len(rows), graphs)
            n_mentioning += int(found.by_program.sum())
            self._check_mentions(name, file, batch, found)
            self._check_answers(file, batch, found, arrays, scenes)
            self._check_filenames(file, batch, said, scenes)
            n_no += int((said.columns["answers"] == no).sum())
            if name == "minimal_ood":
                questions = [batch.question(k) for k in range(len(rows))]
                texts |= {question.image_index: question.text for question in questions}
            self._compare(name, arrays, batch, said)
            n_questions += len(rows)
        if len(arrays) != n_questions:
            self.found.add(
                file, None, f"has {n_questions} questions, the HDF5 file another number", len(arrays)
            )
        n_with_pair = self._check_scenes(name, arrays, scenes)
        if name == "minimal_ood":
            self._check_groups(arrays, scenes, texts)
            corners = self.hop.corners
            if corners * n_no != (corners - 1) * n_questions:
                value = f"{n_no} of {n_questions}"
                problem = f"not exactly {corners - 1} answers in {corners} are no"
                self.found.add(file, None, problem, value)
        return SplitCounts(name, arrays.pool, n_questions, len(arrays.used), n_with_pair, n_mentioning, n_no)

    def _read(self, arrays: SplitArrays, first: int, n: int, graphs: PoolGraphs) -> Findings:
        """What the arrays' rows from `first` on say and answer, as many as are there of n."""
        questions, programs = arrays.tokens("questions", first, n), arrays.tokens("programs", first, n)
        return self.reader.read(questions, programs, arrays.columns["image_idxs"][first : first + n], graphs)

    def _say(self, batch: "_Batch", arrays: SplitArrays) -> Said:
        """What a batch of JSON's rows says, in the arrays' widths."""
        widths = [arrays.tokens(name, 0, 1).shape[1] for name in ("questions", "programs")]
        try:
            return self.reader.say([row for _, row in batch.rows], batch.first, *widths)
        except ValueError as error:
            for k in range(len(batch.rows)):
                batch.question(k)  # says which row it is, and why it is no question
            raise DatasetError(f"{batch.path}: {error}") from error

    def _check_mentions(self, split: str, file: str, batch: "_Batch", found: Findings) -> None:
        """Where the pair is mentioned and must not be, or is not and must be. JSON has the same rows."""
        if not self.pair:
            return
        for mentions, where in ((found.by_program, "program"), (found.by_words, "words")):
            wrong, what = mentions, "mentions"
            if split in ASKS_FOR_PAIR:
                wrong, what = ~mentions, "does not mention"
            for k in np.flatnonzero(wrong).tolist():
                problem = f"{what} {self.hop.words} in its {where}"
                self.found.add(file, batch.first + k, problem, batch.question(k).text)

    def _check_answers(
        self, file: str, batch: "_Batch", found: Findings, arrays: SplitArrays, scenes: Pool
    ) -> None:
        """Every program, executed again, gives the answer in the arrays; JSON has the same."""
        wanted = arrays.columns["answers"][batch.first : batch.first + len(batch.rows)]
        for k in np.flatnonzero(found.answers != wanted).tolist():
            question, answer = batch.question(k), int(found.answers[k])
            if question.image_index not in scenes:
                continue  # said once, of the scene
            if answer < 0:
                problem = f"its program has no answer ({WHY[answer]})"
                self.found.add(file, batch.first + k, problem, question.text)
            else:
                problem = f"its program gives {self.answers[answer]}, not the answer"
                self.found.add(file, batch.first + k, problem, question.answer)

    def _check_filenames(self, file: str, batch: "_Batch", said: Said, scenes: Pool) -> None:
        indices = said.columns["image_idxs"].tolist()
        for k, (index, filename) in enumerate(zip(indices, said.filenames, strict=True)):
            there = scenes.get(index)
            if there is not None and filename != there.image_filename:
                problem = f"names another picture than its scene, {there.image_filename}"
                self.found.add(file, batch.first + k, problem, filename)

    def _check_scenes(self, split: str, arrays: SplitArrays, scenes: Pool) -> int:
        """Looks at every picture of a split; returns how many show the pair."""
        if not self.pair:
            return 0
        n_with_pair = 0
        for index in arrays.used:
            if index not in scenes:
                continue
            holds = scenes[index].scene.holds(self.pair)
            n_with_pair += holds
            if holds and split in WITHOUT_PAIR:
                self.found.add(f"scenes/{arrays.pool}", index, f"a picture of {split} shows", self.hop.words)
            if not holds and split == "complex_ood":
                self.found.add(f"scenes/{arrays.pool}", index, f"a picture of {split} lacks", self.hop.words)
        return n_with_pair

    def _check_groups(self, arrays: SplitArrays, scenes: Pool, texts: Mapping[int, str]) -> None:
        """The pictures of minimal_ood at one place, four for a pair, are asked one question; one has it."""
        groups: dict[object, list[int]] = defaultdict(list)
        for index in arrays.used:
            if index in scenes:
                groups[scenes[index].places].append(index)
        for group in groups.values():
            shown = sum(scenes[index].scene.holds(self.pair) for index in group)
            if (len(group), shown) != (self.hop.corners, 1):
                problem = f"not one picture in {self.hop.corners} of this place shows a {self.hop.words}"
                self.found.add(f"scenes/{arrays.pool}", group[0], problem, f"{shown} of {len(group)}")
            sentences = sorted({texts[index] for index in group if index in texts})
            if len(sentences) > 1:
                problem = "the pictures of this place are asked different questions"
                self.found.add(f"scenes/{arrays.pool}", group[0], problem, " ".join(sentences))

    def _compare(self, split: str, arrays: SplitArrays, batch: "_Batch", said: Said) -> None:
        """Compares a batch of JSON's questions with the arrays' rows."""
        file = self.layout.relative(self.layout.questions_h5(self.hop.name, split))
        first, n = batch.first, len(batch.rows)
        for name, expected in said.columns.items():
            there = arrays.columns[name][first : first + n]
            for k in np.flatnonzero(there != expected[: len(there)]).tolist():
                self.found.add(file, first + k, f"{name} is not {expected[k]}, as JSON has it", there[k])
        for name, rows in said.wide.items():
            tokens = arrays.tokens(name, first, n)
            for k in np.flatnonzero((tokens != rows[: len(tokens)]).any(axis=1)).tolist():
                question = batch.question(k)
                words = question.text if name == "questions" else " ".join(prefix(question.steps))
                self.found.add(file, first + k, f"{name} does not decode to what JSON has", words)

    # Between splits

    def _check_shared(self, splits: Mapping[str, SplitArrays], pools: Mapping[str, Pool]) -> None:
        """No picture is in two splits, under whatever name."""
        sums = self._checksums()
        for a, b in combinations(splits, 2):
            if {a, b} <= MAY_SHARE:
                continue
            in_a, in_b = splits[a], splits[b]
            marks = {mark: index for index in in_a.used for mark in _marks(pools[in_a.pool].get(index), sums)}
            for index in in_b.used:
                scene = pools[in_b.pool].get(index)
                twins = {marks[mark] for mark in _marks(scene, sums) if mark in marks}
                for twin in sorted(twins):
                    value = f"{in_a.pool}[{twin}]"
                    self.found.add(f"scenes/{in_b.pool}", index, f"a picture of {b} is also in {a}", value)

    def _checksums(self) -> Mapping[str, str]:
        """The checksum of each PNG file in the manifest, by name; none before there is a manifest."""
        if not self.layout.manifest.is_file():
            return {}
        files: Mapping[str, Any] = read_json(self.layout.manifest).get("files", {})
        return {
            name.rpartition("/")[2]: each["sha256"]
            for name, each in files.items()
            if name.startswith("images/") and name.endswith(".png")
        }

    def _check_pictures(self, pool: str, scenes: Pool) -> None:
        """Every scene in use has its picture in each form that the pool has."""
        folder, packed = self.layout.pictures(pool), self.layout.pictures_h5(pool)
        if folder.is_dir():
            there = {path.name for path in folder.iterdir()}
            for index, scene in scenes.items():
                if scene.image_filename not in there:
                    self.found.add(f"images/{pool}", index, "no such picture", scene.image_filename)
        if packed.is_file():
            with h5py.File(packed, "r") as file:
                rows = set(file["indices"][:].tolist())
            for index in sorted(scenes.keys() - rows):
                self.found.add(self.layout.relative(packed), index, "no such picture", index)
        if not folder.is_dir() and not packed.is_file():
            self.found.add(f"images/{pool}", None, "no pictures of the pool", pool)


@dataclass(frozen=True)
class _Batch:
    """Some rows of a question file; one is parsed only where something is to be said of it."""

    path: Path
    first: int
    """The number of the first."""
    rows: Sequence[tuple[int, bytes]]

    def question(self, k: int) -> Question:
        """The k-th of them; a DatasetError says why it is none."""
        return parse_question(self.path, self.first + k, *self.rows[k])


def _batches(rows: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _marks(scene: FinishedScene | None, sums: Mapping[str, str]) -> list[str | bytes]:
    """What no two pictures may have in common: a name, the same objects in the same places, bytes."""
    if scene is None:
        return []
    marks: list[str | bytes] = [scene.image_filename, scene.look]
    if scene.image_filename in sums:
        marks.append(sums[scene.image_filename])
    return marks
