"""The checks of the questions of pairs: programs, mentions, and the texts of generated questions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope._core import TextReader
from clevrhope.audit.checks.columns import ColumnCheck
from clevrhope.audit.checks.text import PROBLEMS as TEXT_PROBLEMS
from clevrhope.audit.checks.text import ROWS_A_BATCH
from clevrhope.audit.folder import SuitePlace
from clevrhope.audit.leaks.palette import PaletteCheck
from clevrhope.audit.leaks.report import MAX_LISTED, VIOLATIONS
from clevrhope.audit.suites.lines import PairLines
from clevrhope.audit.suites.sides import Flags, Sides
from clevrhope.dataset.native_reader import NO_SCENE, WHY, Ints, QuestionReader
from clevrhope.dataset.scene_files import MISSING, PoolScenes, Rows
from clevrhope.dataset.split_files import PairArrays, Vocab
from clevrhope.splits.kinds import SPLITS

Numbers = npt.NDArray[np.int64]
START, END = 1, 2

BEYOND = ("and", "or", "not", "verify_", "offer_", "count_is")
"""Prefixes of the names of functions that CLEVR does not have."""

WITHOUT_EQUIVALENT = ("and", "not", "count_is")
"""The ones among these that have no equivalent in CLEVR's functions."""


@dataclass(frozen=True)
class Mentions:
    """Which of the N rows of a file mention the held-out pair, by program or by words, or imply it."""

    by_program: Flags
    by_words: Flags
    implied: Flags


@dataclass(frozen=True)
class TextCounts:
    """How many texts were not read, have several readings, or have readings with different answers."""

    unread: int
    several: int
    ambiguous: int


class QuestionCheck:
    """The questions of one suite's file."""

    def __init__(
        self,
        place: SuitePlace,
        arrays: PairArrays,
        pool: PoolScenes,
        vocab: Vocab,
        reader: QuestionReader,
        lines: PairLines,
    ) -> None:
        self._place, self._arrays, self._pool, self._vocab = place, arrays, pool, vocab
        self._reader, self._lines = reader, lines
        self._words = {number: word for word, number in vocab.words.items()}
        self._answers = {number: name for name, number in vocab.answers.items()}
        functions = [(number, token.partition("[")[0]) for token, number in vocab.functions.items()]
        self._beyond = [number for number, name in functions if name.startswith(BEYOND)]
        self._without_equivalent = [number for number, name in functions if name in WITHOUT_EQUIVALENT]
        self._rows: Rows = pool.rows(arrays.columns["image_idxs"])

    def check_programs(self, columns: ColumnCheck) -> Mentions:
        """Executes every program again, and checks lengths, padding and needed relations."""
        arrays, check = self._arrays, self._lines.programs
        for k in np.flatnonzero(self._rows == MISSING).tolist():
            problem = f"its scene is not among those of {self._pool.name}"
            check.fault(self._place.file, k, problem, arrays.columns["image_idxs"][k])
        found: list[tuple[Flags, Flags, Flags]] = [(np.zeros(0, bool),) * 3]
        for first in range(0, len(arrays), ROWS_A_BATCH):
            wide = self._wide(first)
            scenes = self._rows[first : first + ROWS_A_BATCH]
            read = self._reader.read(wide["questions"], wide["programs"], self._pool.native, scenes)
            stored = arrays.columns["answers"][first : first + len(scenes)]
            given = read.answers
            for k in np.flatnonzero((given != stored) & (given != NO_SCENE)).tolist():
                answer = int(given[k])
                problem = (
                    f"its program has no answer ({WHY[answer]})"
                    if answer in WHY
                    else f"its program gives {self._answers[answer]}, not the answer"
                )
                value = self._answers.get(int(stored[k]), stored[k])
                check.fault(self._place.file, first + k, problem, value)
            columns.look_at_rows(self._place, arrays, first, wide, self._pool, scenes)
            self._check_clevr(first, wide["programs"], scenes, stored)
            found.append((read.by_program, read.by_words, read.implied))
        return Mentions(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def _check_clevr(self, first: int, programs: Ints, scenes: Rows, stored: Ints) -> None:
        """Executes the equivalents in CLEVR's functions of programs (N, P) that use other functions.

        `scenes` (N,) are rows of the pool and `stored` (N,) the answers. A program has an equivalent unless
        it combines truth values by `and` or `not`, or compares with a number.
        """
        check, place = self._lines.programs, self._place
        equivalents = np.ascontiguousarray(
            self._arrays.tokens("clevr_programs", first, len(programs)), dtype=np.int32
        )
        there = (equivalents != 0).any(axis=1)
        beyond = np.isin(programs, self._beyond).any(axis=1)
        has_none = np.isin(programs, self._without_equivalent).any(axis=1)
        for k in np.flatnonzero(there != beyond & ~has_none).tolist():
            problem = "clevr_programs is not there exactly where a program has an equivalent"
            check.fault(place.file, first + k, problem, self.text(first + k))
        for k in np.flatnonzero(np.isin(equivalents, self._beyond).any(axis=1)).tolist():
            check.fault(
                place.file, first + k, "clevr_programs has a function that CLEVR lacks", self.text(first + k)
            )
        rows = np.flatnonzero(there & (scenes != MISSING))
        no_words = np.tile(np.asarray([START, END], dtype=np.int32), (len(rows), 1))
        read = self._reader.read(no_words, equivalents[rows], self._pool.native, scenes[rows])
        for at in np.flatnonzero(read.answers != stored[rows]).tolist():
            k, given = first + int(rows[at]), int(read.answers[at])
            said = self._answers.get(given) or f"no answer ({WHY.get(given, given)})"
            check.fault(place.file, k, f"clevr_programs gives {said}, not the answer", self.text(k))

    def check_mentions(
        self, sides: Sides, mentions: Mentions, *, may_imply: bool, palette: PaletteCheck
    ) -> None:
        """Compares `cell` and `touches` with what the programs mention, and applies the split's rule."""
        check, place, pair = self._lines.mentions, self._place, self._place.hop.pair
        n = len(sides.given)
        check.n_checked += n
        by_program = mentions.by_program[: 2 * n].reshape(n, 2)
        completes = self.completed(sides, self._arrays.columns["answers"][sides.given])
        shown = np.zeros(n, bool)
        there = self._rows[: 2 * n : 2] != MISSING
        if pair:
            shown[there] = self._pool.holding(pair)[self._rows[: 2 * n : 2][there]]
        expected = {"cell": by_program @ np.asarray([2, 1]), "touches": shown + 2 * completes}
        for name, column in expected.items():
            stored = sides.column(self._arrays, name)[:, 0]
            for k in np.flatnonzero((stored != column) & there).tolist():
                check.fault(
                    place.file, 2 * k, f"{name} is not {column[k]}, by its programs and image", stored[k]
                )
        words = pair and place.hop.words
        if pair and SPLITS[place.split.name].asked == "never":
            broken = [
                (mentions.by_program, f"mentions {words} in its program"),
                (mentions.by_words, f"mentions {words} in its words"),
            ]
            if not may_imply:
                implied = mentions.implied & ~mentions.by_program
                broken.append((implied, f"asks for a {words} through likenesses"))
        else:
            # In texts beyond CLEVR's, a value may follow its object: "is the matte thing a cylinder".
            may_be_apart = (self._arrays.columns["tier"] != 0) & mentions.by_program
            differs = (mentions.by_words != mentions.by_program) & ~may_be_apart
            broken = [(differs, f"mentions {words} in its words or in its program, but not in both")]
        for flags, problem in broken:
            for row in sides.own[flags[sides.own]].tolist():
                check.fault(place.file, row, problem, self.text(row))
        self._check_palette(sides, palette)

    def completed(self, sides: Sides, values: Ints) -> Flags:
        """(K,) whether values complete the held-out pair, given how the split's question describes it.

        For a program `query_color unique ...`, a value does so if `filter_color[value] ...` mentions the pair
        and `...` does not, both without their parts about other objects. `values` (K,) are answer numbers.
        """
        n = len(sides.given)
        if not n:
            return np.zeros(0, bool)
        programs = self._arrays.tokens("programs", 0, len(self._arrays))[sides.given]
        functions, answers = self._vocab.functions, self._vocab.answers
        unique = functions.get("unique", -1)
        filters: dict[tuple[int, int], int] = {
            (functions.get(f"query_{kind}", -1), answers.get(value, -1)): functions[f"filter_{kind}[{value}]"]
            for kind, value in self._vocab.values()
        }
        alone, together = np.zeros((2, n, programs.shape[1] + 2), dtype=np.int32)
        asks = np.zeros(n, bool)
        said: dict[bytes, list[int]] = {}
        for k in np.flatnonzero(programs[:, 2] == unique).tolist():
            adds = filters.get((int(programs[k, 1]), int(values[k])))
            if adds is None:
                continue
            row = programs[k]
            tokens = said.setdefault(row.tobytes(), [])
            if not tokens:
                tokens += self._of_object(row.tolist()[3:])
            alone[k, : len(tokens) + 2] = [START, *tokens, END]
            together[k, : len(tokens) + 3] = [START, adds, *tokens, END]
            asks[k] = True
        completed: Flags = asks & self._mentions(together) & ~self._mentions(alone)
        return completed

    def _of_object(self, tokens: Sequence[int]) -> list[int]:
        """The program of a set, without its parts about other objects.

        A part that begins with a relation or a likeness to other objects is replaced by the whole scene.
        """
        functions = self._vocab.functions
        n_inputs = {functions["scene"]: 0, functions["union"]: 2, functions["intersect"]: 2}
        others = {number for name, number in functions.items() if name.startswith(("relate", "same_"))}
        kept: list[int] = []
        left, hidden = 1, 0  # numbers of inputs still to come: in total, and of the omitted part
        for token in tokens:
            if not left:
                break
            n = n_inputs.get(token, 1)
            left += n - 1
            if hidden:
                hidden += n - 1
            elif token in others:
                kept.append(functions["scene"])
                hidden = n
            else:
                kept.append(token)
        return kept

    def _mentions(self, programs: Ints) -> Flags:
        """(K,) whether programs mention the held-out pair; False for rows without a program."""
        n = len(programs)
        no_words = np.full((n, 2), [START, END], dtype=np.int32)
        no_scenes = np.full(n, MISSING, dtype=np.int64)
        found: Flags = self._reader.read(no_words, programs, self._pool.native, no_scenes).by_program
        return found

    def _check_palette(self, sides: Sides, palette: PaletteCheck) -> None:
        reader = palette.reader(self._place.split.name)
        if reader is None or not len(sides.own):
            return
        wide = {
            name: np.ascontiguousarray(self._arrays.tokens(name, 0, len(self._arrays))[sides.own])
            for name in ("questions", "programs")
        }
        listed, counts = reader.violations(wide["questions"], wide["programs"], MAX_LISTED)
        for k, violation in listed:
            row = int(sides.own[k])
            self._lines.mentions.fault(self._place.file, row, VIOLATIONS[violation][1], self.text(row))
        self._lines.mentions.n_faults += sum(counts.values()) - len(listed)

    def check_texts(self, sides: Sides, reader: TextReader, *, n_families: int) -> TextCounts:
        """Parses the generated texts back, except those of families beyond `n_families`.

        Those families come from a suite whose files are unknown.
        """
        check, arrays = self._lines.texts, self._arrays
        questions, programs = (arrays.tokens(name, 0, len(arrays)) for name in ("questions", "programs"))
        same = (questions[sides.given] == questions[sides.made]).all(axis=1)
        for row in sides.made[same].tolist():
            check.fault(self._place.file, row, "it is worded exactly like its original", self.text(row))
        families = np.ascontiguousarray(arrays.columns["question_families"], dtype=np.int32)
        answers = np.ascontiguousarray(arrays.columns["answers"], dtype=np.int32)
        readable = sides.own[families[sides.own] < n_families]
        check.n_checked += len(readable)
        n_several = n_ambiguous = 0
        for first in range(0, len(readable), ROWS_A_BATCH):
            rows = readable[first : first + ROWS_A_BATCH]
            flags, _ = reader.read(
                np.ascontiguousarray(questions[rows]),
                np.ascontiguousarray(programs[rows]),
                families[rows],
                answers[rows],
                self._pool.native,
                self._rows[rows],
            )
            n_several += int(np.count_nonzero(flags & TextReader.SEVERAL))
            n_ambiguous += int(np.count_nonzero(flags & TextReader.AMBIGUOUS))
            for flag, problem in TEXT_PROBLEMS.items():
                for row in rows[(flags & flag) != 0].tolist():
                    check.fault(self._place.file, row, problem, self.text(row))
        return TextCounts(len(sides.own) - len(readable), n_several, n_ambiguous)

    def text(self, row: int) -> str:
        """The text of a question."""
        tokens = self._arrays.tokens("questions", row, 1)[0].tolist()
        return " ".join(self._words.get(token, "?") for token in tokens if token > END)

    def _wide(self, first: int) -> dict[str, Ints]:
        return {
            name: np.ascontiguousarray(self._arrays.tokens(name, first, ROWS_A_BATCH))
            for name in ("questions", "programs")
        }
