"""A finished folder and a held-out pair in, a report out: is the pair where it must be, and nowhere else?

Reads the files alone, with code that shares nothing with what made them (`finished`, `audit_reader`).
What it proves is listed at `check_leaks`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import combinations, islice
from pathlib import Path
from typing import TypeVar

import h5py
import numpy as np

from clevrhope.dataset.absent import AbsentCheck
from clevrhope.dataset.audit_reader import (
    CLEVR_WORDS,
    WHY,
    Findings,
    Ints,
    QuestionReader,
    Said,
    vocabulary_of,
)
from clevrhope.dataset.audit_scenes import MISSING, Pools, PoolScenes, Rows
from clevrhope.dataset.finished import (
    Question,
    SplitArrays,
    Value,
    Vocab,
    parse_question,
    prefix,
    read_json,
    read_question_rows,
    read_vocab,
)
from clevrhope.dataset.layout import Layout
from clevrhope.errors import DatasetError, VocabularyError
from clevrhope.hops import Hop

T = TypeVar("T")

MAX_LISTED = 100
"""Violations that a report lists; it counts them all."""

WITHOUT_PAIR = ("train", "complex_iid", "minimal_iid")
"""Splits in which the pair is in no picture and no question."""

ASKS_FOR_PAIR = ("complex_ood", "minimal_ood", "existence", "counting")
"""Splits in which every question mentions the pair, or the value that is asked for alone."""

ONE_SHOWS_IT = ("minimal_ood", "existence")
"""Splits in which one picture of each place shows what is asked for."""

MAY_SHARE = frozenset({"minimal_iid", "minimal_ood"})
"""The only splits that may have pictures in common: test sets of one object, on one pool."""

OF_A_SET = 6
"""Pictures of a counting set."""

_ORDER = (
    "train",
    "val",
    "test",
    "val_b",
    "test_b",
    "complex_iid",
    "complex_ood",
    "minimal_iid",
    "minimal_ood",
    "existence",
    "counting",
)
_ROWS_AT_ONCE = 65_536
"""Rows of arrays looked at in one go."""
_JSON_ROWS_AT_ONCE = 8_192
"""Rows of a question file compared with their arrays in one go."""


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
    n_implying: int
    """Questions that ask for the pair by way of a relation alone."""
    n_no: int
    """Questions answered no."""
    has_json: bool = True
    """The split has a question file, which says what its arrays say."""
    may_imply: bool = True
    """The folder is not held to `--strictness implied`, so `n_implying` is a count and no violation."""


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
            *_implied(self.splits, self.hop),
            *_palette_sentences(self.hop),
            "No picture is in two of these splits"
            + (", the two minimal ones apart" if self.hop.pair else "")
            + ", and no scene of one pool is a copy of another pool's.",
            f"All {n_questions:,} programs, executed again, give the answers in the files"
            + (
                "; HDF5 and JSON agree on every question, program, answer and picture."
                if all(each.has_json for each in self.splits)
                else "."
            ),
        )


def check_leaks(
    folder: Path,
    hop: Hop,
    *,
    splits: Sequence[str] | None = None,
    pictures: bool = False,
    words: Mapping[str, Sequence[str]] = CLEVR_WORDS,
) -> LeakReport:
    """Checks the finished files of one sub-dataset: see `LeakCheck`."""
    return LeakCheck(folder, words=words).check(hop, splits=splits, pictures=pictures)


class LeakCheck:
    """Checks the finished files of a folder's sub-datasets; scenes are read once for all of them.

    - No scene of train, complex_iid and minimal_iid holds the pair, and no question there mentions it:
      neither its program nor its words (`mention` says what that means).
    - Where the manifest says `--strictness implied`, no question of train, complex_iid and minimal_iid asks
      for the pair by way of likenesses either (docs/configuration.md); else those that do are counted.
    - Every scene of complex_ood holds it; every question of complex_ood and minimal_ood mentions it, in both.
    - Of the four pictures of minimal_ood that show an object in the same place (eight where three values are
      held out), exactly one holds it, and all are asked the same; all other answers are no.
    - Of a value that is asked for alone: every question mentions it; of the two pictures of a place of
      existence exactly one shows it; the pictures of a counting set are asked the same, and the answers are
      0, 1, ... 5.
    - Where the manifest has a palette: no object has a combination of values that is not in it, the pair
      apart where it belongs, and no question of a pair's splits asks for one (`absent`).
    - No picture is in two splits, the minimal ones apart: not by name, not by its scene's objects and, for
      PNG files, not by its checksum in the manifest.
    - Every program, executed again, gives the question's answer.
    - HDF5 and JSON say the same: tokens, lengths, answers, pictures, families, order. Every question's scene
      is there and has the picture's name that the question has.

    Of `none`, the dataset that holds nothing out, it checks all that does not concern a pair. Where question
    files were left out (the manifest lists none), there is nothing for HDF5 to agree with.
    """

    def __init__(self, folder: Path, *, words: Mapping[str, Sequence[str]] = CLEVR_WORDS) -> None:
        """`words` are those for values and for "thing", where they are not CLEVR's (`synonyms.json`).

        Raises:
            DatasetError: no vocabulary that can be read.
        """
        self._layout = Layout(folder)
        self._words = words
        self._vocab = read_vocab(self._layout.vocab)
        self._vocabulary = vocabulary_of(self._vocab)
        there = read_json(self._layout.manifest) if self._layout.manifest.is_file() else {}
        self.may_imply = there.get("questions", {}).get("strictness", "description") != "implied"
        """Whether questions may ask for a pair by way of likenesses."""
        self.pools = Pools(self._layout, self._vocabulary)
        """The folder's scenes, read when they are asked for."""

    def check(self, hop: Hop, *, splits: Sequence[str] | None = None, pictures: bool = False) -> LeakReport:
        """Checks one sub-dataset.

        Args:
            hop: The pair.
            splits: Splits that must be there; those whose files are there when None.
            pictures: Whether the picture of every question must be there too, as PNG, in HDF5, or both.

        Raises:
            DatasetError: a file is missing or cannot be read at all. All else is a violation in the report.
        """
        try:
            reader = QuestionReader(self._vocab, hop.asked, self._words, self._vocabulary)
        except VocabularyError as error:
            raise DatasetError(f"{self._layout.vocab}: {error}") from error
        absent = AbsentCheck(self._layout, hop, self._vocab, self._words, self._vocabulary)
        check = _Check(self._layout, hop, self._vocab, reader, absent, self.pools, may_imply=self.may_imply)
        return check.run(splits, pictures=pictures)


def _palette_sentences(hop: Hop) -> list[str]:
    if not hop.palette:
        return []
    asked = ", and no question asks for one, in its program or its words" if hop.pair else ""
    return [f"No object has a combination of values that the palette has not{asked}."]


def _sentence(counts: SplitCounts, hop: Hop) -> str:
    about = f"{counts.split}: {counts.n_questions:,} questions on {counts.n_pictures:,} pictures"
    if not hop.asked:
        return f"{about}."
    if counts.split == "counting":
        return (
            f"{about}, in sets of {OF_A_SET}, whose pictures are asked the same and have from 0 to "
            f'{OF_A_SET - 1} objects with the value "{hop.words}", each once; every question asks for it, in '
            "its program and its words."
        )
    if counts.split in WITHOUT_PAIR:
        return (
            f"{about}; no {hop.words} in any picture, nor in any question, be it in its program or its words."
        )
    if counts.split in ONE_SHOWS_IT:
        what = f"a {hop.words}" if hop.pair else f'the value "{hop.words}"'
        return (
            f"{about}; exactly one in {hop.corners} shows {what}, every question asks for it, in its "
            f"program and its words, and exactly {100 - 100 / hop.corners:g}% of the answers are no."
        )
    return f"{about}; a {hop.words} in every picture and in every question, in its program and its words."


def _implied(splits: Sequence[SplitCounts], hop: Hop) -> Iterator[str]:
    """How many questions ask for the pair without saying so; none may where likenesses count."""
    counted = [
        f"{each.n_implying:,} of {each.split}" for each in splits if each.split in ("train", "complex_iid")
    ]
    if hop.pair and counted and not splits[0].may_imply:
        yield (
            "Held out by --strictness implied: by way of likenesses alone (something of one value that is "
            f"or may be like something of the other), {' and '.join(counted)} ask for a {hop.words}."
        )
    elif hop.pair and counted:
        yield (
            "By way of a relation alone (something of one value that is to be like something of the other), "
            f"{' and '.join(counted)} ask for a {hop.words}."
        )


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

    def __init__(
        self,
        layout: Layout,
        hop: Hop,
        vocab: Vocab,
        reader: QuestionReader,
        absent: AbsentCheck,
        pools: Pools,
        *,
        may_imply: bool,
    ) -> None:
        self.may_imply = may_imply
        self.layout = layout
        self.absent = absent
        self.hop = hop
        self.pair: tuple[Value, ...] = hop.asked
        self.found = _Found()
        self.vocab = vocab
        self.answers = {number: name for name, number in vocab.answers.items()}
        self.tokens = {number: name for name, number in vocab.words.items()}
        self.reader = reader
        self.pools = pools

    def run(self, names: Sequence[str] | None, *, pictures: bool) -> LeakReport:
        names = self._splits_there() if names is None else names
        if not names:
            raise DatasetError(f"{self.layout.hop(self.hop.name)}: no split there to check")
        with ExitStack() as stack:
            splits = {
                name: stack.enter_context(closing(SplitArrays(self.layout.questions_h5(self.hop.name, name))))
                for name in names
            }
            used = {name: self._scenes_in_use(each) for name, each in splits.items()}
            counts = tuple(self._check_split(name, each, used[name]) for name, each in splits.items())
            self._check_shared(splits, used)
            if pictures:
                by_pool: dict[str, list[Rows]] = {}
                for name, each in splits.items():
                    by_pool.setdefault(each.pool, []).append(used[name])
                for pool, rows in by_pool.items():
                    self._check_pictures(self.pools[pool], np.unique(np.concatenate(rows)))
        return LeakReport(self.hop, counts, tuple(self.found.listed), self.found.n)

    def _splits_there(self) -> list[str]:
        """Splits that are whole: one file without the other is a violation, unless it was left out."""
        folder = self.layout.hop(self.hop.name)
        arrays = {path.stem for path in folder.glob("[!.]*.h5")}
        questions = {
            path.name.removesuffix("_questions.json") for path in folder.glob("[!.]*_questions.json")
        }
        for name in sorted(arrays - questions):
            if self._is_listed(self.layout.questions_json(self.hop.name, name)):
                self._missing(self.layout.questions_json(self.hop.name, name), name)
                arrays.discard(name)
        for name in sorted(questions - arrays):
            self._missing(self.layout.questions_h5(self.hop.name, name), name)
        return [name for name in _ORDER if name in arrays]

    def _is_listed(self, path: Path) -> bool:
        """Whether the manifest lists a file; without a manifest all are."""
        if not self.layout.manifest.is_file():
            return True
        return self.layout.relative(path) in read_json(self.layout.manifest).get("files", {})

    def _missing(self, path: Path, split: str) -> None:
        file = self.layout.relative(path)
        self.found.add(file, None, "missing, but the split's other file is there", split)

    def _scenes_in_use(self, arrays: SplitArrays) -> Rows:
        """Places of the scenes that a split uses; says which of them are missing, or there twice."""
        pool = self.pools[arrays.pool]
        rows = pool.rows(arrays.used)
        for index in arrays.used[rows == MISSING].tolist():
            self.found.add(f"scenes/{pool.name}", index, "a question's scene is missing", pool.name)
        for index in np.intersect1d(pool.twice(), arrays.used).tolist():
            self.found.add(f"scenes/{pool.name}", index, "scene is there twice", pool.name)
        there: Rows = rows[rows != MISSING]
        return there

    # A split

    def _check_split(self, name: str, arrays: SplitArrays, used: Rows) -> SplitCounts:
        path = self.layout.questions_json(self.hop.name, name)
        has_json = path.exists()
        file = self.layout.relative(path if has_json else self.layout.questions_h5(self.hop.name, name))
        pool = self.pools[arrays.pool]
        n_mentioning = n_implying = 0
        for first in range(0, len(arrays), _ROWS_AT_ONCE):
            questions = arrays.tokens("questions", first, _ROWS_AT_ONCE)
            programs = arrays.tokens("programs", first, _ROWS_AT_ONCE)
            rows = pool.rows(arrays.columns["image_idxs"][first : first + _ROWS_AT_ONCE])
            found = self.reader.read(questions, programs, pool.native, rows)
            n_mentioning += int(found.by_program.sum())
            n_implying += int((found.implied & ~found.by_program).sum())
            self._check_mentions(name, file, first, found, questions)
            for k, problem in self.absent.named(name, questions, programs):
                self.found.add(file, first + k, problem, self._text(questions[k]))
            self._check_answers(file, first, found, arrays, rows, questions)
        if has_json:
            self._compare_json(name, path, arrays, pool)
        n_with_pair = self._check_scenes(name, pool, used)
        for index, problem, value in self.absent.shown(name, pool, used):
            self.found.add(f"scenes/{pool.name}", index, problem, value)
        n_no = int((arrays.columns["answers"] == self.vocab.answers.get("no", -1)).sum())
        if name == "counting":
            self._check_sets(arrays, pool, used)
        if name in ONE_SHOWS_IT:
            self._check_groups(arrays, pool, used)
            corners = self.hop.corners
            if corners * n_no != (corners - 1) * len(arrays):
                value = f"{n_no} of {len(arrays)}"
                problem = f"not exactly {corners - 1} answers in {corners} are no"
                self.found.add(file, None, problem, value)
        return SplitCounts(
            split=name,
            pool=arrays.pool,
            n_questions=len(arrays),
            n_pictures=len(arrays.used),
            n_pictures_with_pair=n_with_pair,
            n_mentioning=n_mentioning,
            n_implying=n_implying,
            n_no=n_no,
            has_json=has_json,
            may_imply=self.may_imply,
        )

    def _check_mentions(self, split: str, file: str, first: int, found: Findings, questions: Ints) -> None:
        """Where the pair is mentioned and must not be, or is not and must be."""
        if not self.pair:
            return
        for mentions, where in ((found.by_program, "program"), (found.by_words, "words")):
            wrong, what = mentions, "mentions"
            if split in ASKS_FOR_PAIR:
                wrong, what = ~mentions, "does not mention"
            for k in np.flatnonzero(wrong).tolist():
                problem = f"{what} {self.hop.words} in its {where}"
                self.found.add(file, first + k, problem, self._text(questions[k]))
        if split in WITHOUT_PAIR and not self.may_imply:
            for k in np.flatnonzero(found.implied & ~found.by_program).tolist():
                problem = f"asks for a {self.hop.words} by way of likenesses"
                self.found.add(file, first + k, problem, self._text(questions[k]))

    def _check_answers(
        self, file: str, first: int, found: Findings, arrays: SplitArrays, rows: Rows, questions: Ints
    ) -> None:
        """Every program, executed again, gives the answer in the arrays."""
        wanted = arrays.columns["answers"][first : first + len(rows)]
        # Of a scene that is missing it was said once that it is.
        for k in np.flatnonzero((found.answers != wanted) & (rows != MISSING)).tolist():
            answer = int(found.answers[k])
            if answer < 0:
                problem = f"its program has no answer ({WHY[answer]})"
                self.found.add(file, first + k, problem, self._text(questions[k]))
            else:
                problem = f"its program gives {self.answers[answer]}, not the answer"
                self.found.add(file, first + k, problem, self.answers.get(int(wanted[k]), wanted[k]))

    def _text(self, row: Ints) -> str:
        """The words of a question's row."""
        words = (self.tokens.get(token, f"[{token}]") for token in row.tolist() if token)
        return " ".join(word for word in words if word not in ("<START>", "<END>"))

    def _check_scenes(self, split: str, pool: PoolScenes, used: Rows) -> int:
        """Looks at every picture of a split; returns how many show the pair."""
        if not self.pair:
            return 0
        holds = pool.holding(self.pair)[used]
        wrong, what = np.zeros(0, np.int64), ""
        if split in WITHOUT_PAIR:
            wrong, what = used[holds], "shows"
        elif split == "complex_ood":
            wrong, what = used[~holds], "lacks"
        for index in pool.indices[wrong].tolist():
            self.found.add(f"scenes/{pool.name}", index, f"a picture of {split} {what}", self.hop.words)
        return int(holds.sum())

    def _check_groups(self, arrays: SplitArrays, pool: PoolScenes, used: Rows) -> None:
        """The pictures of minimal_ood at one place, four for a pair, are asked one question; one has it."""
        holds = pool.holding(self.pair)
        sentences = _by_row(arrays, pool, arrays.tokens("questions", 0, len(arrays)))
        for group in _by_place(pool, used):
            shown = int(holds[group].sum())
            first = int(pool.indices[group[0]])
            if (len(group), shown) != (self.hop.corners, 1):
                what = f"a {self.hop.words}" if self.hop.pair else self.hop.words
                problem = f"not one picture in {self.hop.corners} of this place shows {what}"
                self.found.add(f"scenes/{pool.name}", first, problem, f"{shown} of {len(group)}")
            self._check_asked_the_same("place", [sentences[row] for row in group], pool, first)

    def _check_sets(self, arrays: SplitArrays, pool: PoolScenes, used: Rows) -> None:
        """The pictures of a counting set are asked one question, whose answers are 0, 1, ... 5."""
        sentences = _by_row(arrays, pool, arrays.tokens("questions", 0, len(arrays)))
        answers = _by_row(arrays, pool, arrays.columns["answers"])
        wanted = [str(n) for n in range(OF_A_SET)]
        for group in _by_place(pool, used):
            first = int(pool.indices[group[0]])
            numbers = [int(np.frombuffer(answers[row], dtype=np.int32)[0]) for row in group]
            counted = sorted(self.answers.get(number, "?") for number in numbers)
            if counted != wanted:
                problem = f"the pictures of this set have not each of the answers 0 to {OF_A_SET - 1} once"
                self.found.add(f"scenes/{pool.name}", first, problem, ", ".join(counted))
            self._check_asked_the_same("set", [sentences[row] for row in group], pool, first)

    def _check_asked_the_same(self, what: str, asked: Sequence[bytes], pool: PoolScenes, first: int) -> None:
        if len(set(asked)) > 1:
            problem = f"the pictures of this {what} are asked different questions"
            texts = [self._text(np.frombuffer(each, dtype=np.int32)) for each in sorted(set(asked))]
            self.found.add(f"scenes/{pool.name}", first, problem, "; ".join(texts))

    # JSON beside HDF5

    def _compare_json(self, split: str, path: Path, arrays: SplitArrays, pool: PoolScenes) -> None:
        """Compares each row of the question file with its arrays, and its picture's name with its scene's."""
        n_questions = 0
        for rows in _batches(read_question_rows(path), _JSON_ROWS_AT_ONCE):
            batch = _Batch(path, n_questions, rows)
            said = self._say(batch, arrays)
            self._check_filenames(batch, said, pool)
            self._compare(split, arrays, batch, said)
            n_questions += len(rows)
        if len(arrays) != n_questions:
            problem = f"has {n_questions} questions, the HDF5 file another number"
            self.found.add(self.layout.relative(path), None, problem, len(arrays))

    def _say(self, batch: "_Batch", arrays: SplitArrays) -> Said:
        """What a batch of JSON's rows says, in the arrays' widths."""
        widths = [arrays.tokens(name, 0, 1).shape[1] for name in ("questions", "programs")]
        try:
            return self.reader.say([row for _, row in batch.rows], batch.first, *widths)
        except ValueError as error:
            for k in range(len(batch.rows)):
                batch.question(k)  # says which row it is, and why it is no question
            raise DatasetError(f"{batch.path}: {error}") from error

    def _check_filenames(self, batch: "_Batch", said: Said, pool: PoolScenes) -> None:
        rows = pool.rows(said.columns["image_idxs"]).tolist()
        for k, (row, filename) in enumerate(zip(rows, said.filenames, strict=True)):
            if row != MISSING and filename != pool.filenames[row]:
                problem = f"names another picture than its scene, {pool.filenames[row]}"
                self.found.add(self.layout.relative(batch.path), batch.first + k, problem, filename)

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

    def _check_shared(self, splits: Mapping[str, SplitArrays], used: Mapping[str, Rows]) -> None:
        """No picture is in two splits, under whatever name."""
        for a, b in combinations(splits, 2):
            if {a, b} <= MAY_SHARE:
                continue
            in_a, in_b = self.pools[splits[a].pool], self.pools[splits[b].pool]
            twins = np.asarray(self.pools.twins(in_a.name, in_b.name), dtype=np.int64).reshape(-1, 2)
            both = np.isin(twins[:, 0], used[a]) & np.isin(twins[:, 1], used[b])
            for mine, theirs in twins[both].tolist():
                problem, value = f"a picture of {b} is also in {a}", f"{in_a.name}[{in_a.indices[mine]}]"
                self.found.add(f"scenes/{in_b.name}", int(in_b.indices[theirs]), problem, value)

    def _check_pictures(self, pool: PoolScenes, rows: Rows) -> None:
        """Every scene in use has its picture in each form that the pool has."""
        folder, packed = self.layout.pictures(pool.name), self.layout.pictures_h5(pool.name)
        if folder.is_dir():
            there = {path.name for path in folder.iterdir()}
            for row in rows.tolist():
                if pool.filenames[row] not in there:
                    place, name = f"images/{pool.name}", pool.filenames[row]
                    self.found.add(place, int(pool.indices[row]), "no such picture", name)
        if packed.is_file():
            with h5py.File(packed, "r") as file:
                stored = file["indices"][:]
            for index in np.setdiff1d(pool.indices[rows], stored).tolist():
                self.found.add(self.layout.relative(packed), index, "no such picture", index)
        if not folder.is_dir() and not packed.is_file():
            self.found.add(f"images/{pool.name}", None, "no pictures of the pool", pool.name)


def _by_row(arrays: SplitArrays, pool: PoolScenes, column: Ints) -> dict[int, bytes]:
    """Place of a scene in its pool -> what a column has of the last question about it."""
    rows = pool.rows(arrays.columns["image_idxs"])
    return {row: each.tobytes() for row, each in zip(rows.tolist(), column, strict=True)}


def _by_place(pool: PoolScenes, used: Rows) -> Iterable[list[int]]:
    """The scenes in use, those with objects at the same places and turned the same way together."""
    groups: dict[int, list[int]] = {}
    for row, place in zip(used.tolist(), pool.places[used].tolist(), strict=True):
        groups.setdefault(place, []).append(row)
    return groups.values()


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


def _batches(rows: Iterator[T], n: int) -> Iterator[list[T]]:
    while batch := list(islice(rows, n)):
        yield batch
