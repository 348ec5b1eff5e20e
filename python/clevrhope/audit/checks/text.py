"""Splits' rows of tokens in, what their words mean, how often they come and how they are balanced out.

One pass over all questions: the words are read backwards through the templates by the native parser, which
shares no code with what worded them, and held against program, family and answer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clevrhope._core import TextReader, find_windows
from clevrhope.audit.checks.columns import ColumnCheck
from clevrhope.audit.folder import AuditFolder, SplitPlace
from clevrhope.audit.report import Tally
from clevrhope.dataset.native_reader import Ints, vocabulary_of
from clevrhope.dataset.scene_files import Pools, PoolScenes
from clevrhope.dataset.split_files import SplitArrays
from clevrhope.errors import TemplateError
from clevrhope.runtime.progress import Advance

ROWS_A_BATCH = 50_000

_PROBLEMS: Mapping[int, str] = {
    TextReader.UNREAD: "no template says this",
    TextReader.OTHER_PROGRAM: "its words do not mean its program",
    TextReader.OTHER_FAMILY: "its words are those of another family",
    TextReader.OTHER_ANSWER: "what its words mean has another answer",
}

UNSEEN = 50
"""Scenes of a window that may have given no question, and so are in no file."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
Digests = npt.NDArray[np.uint64]


@dataclass
class TextChecks:
    """The lines that one pass over the questions fills."""

    agreement: Tally = field(
        default_factory=lambda: Tally(
            "text",
            "each text, read backwards through the templates, means its program, family and answer",
            "questions",
        )
    )
    duplicates: Tally = field(
        default_factory=lambda: Tally(
            "duplicates",
            "no text or family twice on an image of a split; an image's questions next to each other",
            "questions",
        )
    )
    balance: Tally = field(
        default_factory=lambda: Tally(
            "balance",
            "each answer came when CLEVR's rule allowed it: not over 1.1 times as often as its family's "
            "second most frequent one in the window, nor 5 times the median",
            "questions",
        )
    )
    n_several: int = 0
    n_ambiguous: int = 0

    def tallies(self) -> list[Tally]:
        """The lines."""
        if self.n_several:
            self.agreement.notes.append(
                f"{self.n_several:,} texts have several readings; on the images of {self.n_ambiguous:,} of "
                "them the readings' answers differ"
            )
        else:
            self.agreement.notes.append("no text has more than one reading")
        if not self.balance.n_checked:
            self.balance.skip("no split is balanced over windows")
        return [self.agreement, self.duplicates, self.balance]


def check_text(folder: AuditFolder, pools: Pools, advance: Advance) -> list[Tally]:
    """Reads every question of every split; `pools` are the folder's scenes.

    Raises:
        DatasetError: a file that is missing or cannot be read, or templates that are not the folder's.
    """
    return _Pass(folder, pools).run(advance)


class _Pass:
    """One pass over all questions."""

    def __init__(self, folder: AuditFolder, pools: Pools) -> None:
        self._folder, self._pools = folder, pools
        vocab, templates = folder.vocab, folder.templates
        self._reader = TextReader(
            vocabulary_of(vocab),
            question_tokens=_by_number(vocab.words),
            program_tokens=_by_number(vocab.functions),
            answers=_by_number(vocab.answers),
            templates=templates.files(),
            synonyms=templates.synonyms,
        )
        self._answers_by_family = self._reader.answers_by_family
        self._checks = TextChecks()
        self._columns = ColumnCheck(folder)

    def run(self, advance: Advance) -> list[Tally]:
        for split in self._folder.splits:
            with self._folder.open(split) as arrays:
                self._split(split, arrays, self._pools[arrays.pool], advance)
        return [*self._checks.tallies(), self._columns.tally]

    def _split(self, split: SplitPlace, arrays: SplitArrays, pool: PoolScenes, advance: Advance) -> None:
        self._columns.look_at_file(split, arrays)
        digests = np.zeros(len(arrays), np.uint64)
        for first in range(0, len(arrays), ROWS_A_BATCH):
            rows = _Rows.read(arrays, first)
            scenes = pool.rows(rows.image_idxs)
            flags, digests[first : first + len(rows)] = self._reader.read(
                rows.questions,
                rows.programs,
                rows.families,
                rows.answers,
                pool.native,
                # A row without a scene is read without answers; that its scene is missing is said elsewhere.
                scenes,
            )
            self._agree(split, rows, flags)
            wide = {"questions": rows.questions, "programs": rows.programs}
            self._columns.look_at_rows(split, arrays, first, wide, pool, scenes)
            advance(len(rows))
        self._duplicates(split, arrays, digests)
        if not split.is_grouped:
            self._balance(split, arrays)

    def _agree(self, split: SplitPlace, rows: "_Rows", flags: npt.NDArray[np.uint8]) -> None:
        tally = self._checks.agreement
        tally.n_checked += len(rows)
        self._checks.n_several += int(np.count_nonzero(flags & TextReader.SEVERAL))
        self._checks.n_ambiguous += int(np.count_nonzero(flags & TextReader.AMBIGUOUS))
        for flag, problem in _PROBLEMS.items():
            for k in np.flatnonzero(flags & flag).tolist():
                tally.fault(
                    split.file, rows.first + k, problem, self._folder.decode(rows.questions[k].tolist())
                )

    def _duplicates(self, split: SplitPlace, arrays: SplitArrays, digests: Digests) -> None:
        tally = self._checks.duplicates
        tally.n_checked += len(arrays)
        images = arrays.columns["image_idxs"].astype(np.uint64)
        for k in _seen_before(digests ^ (images * _MIX)):
            text = self._folder.decode(arrays.tokens("questions", k, 1)[0].tolist())
            tally.fault(split.file, k, f"the same text again on image {images[k]}", text)
        if split.is_grouped:
            return
        families = arrays.columns["question_families"].astype(np.uint64)
        for k in _seen_before((families << np.uint64(40)) ^ images):
            tally.fault(split.file, k, f"a second question of its family on image {images[k]}", families[k])
        begins = np.flatnonzero(np.diff(images, prepend=~images[:1]) != 0)
        for place in _seen_before(images[begins]):
            k = int(begins[place])
            tally.fault(split.file, k, "an image comes again after others", images[k])

    def _balance(self, split: SplitPlace, arrays: SplitArrays) -> None:
        tally = self._checks.balance
        tally.n_checked += len(arrays)
        columns = {
            name: np.ascontiguousarray(arrays.columns[name], dtype=np.int32)
            for name in ("question_families", "answers", "image_idxs")
        }
        _, broken = find_windows(
            columns["question_families"],
            columns["answers"],
            columns["image_idxs"],
            self._answers_by_family,
            window=int(self._folder.manifest.questions["window"]),
            unseen=UNSEEN,
        )
        if broken is not None:
            family, answer = (int(columns[name][broken]) for name in ("question_families", "answers"))
            named = next((name for name, n in self._folder.vocab.answers.items() if n == answer), str(answer))
            problem = f"family {family} gives this answer too often for any windows of its split"
            tally.fault(split.file, broken, problem, named)


@dataclass(frozen=True)
class _Rows:
    """Some rows of a split, from number `first` on."""

    first: int
    questions: Ints
    programs: Ints
    families: Ints
    answers: Ints
    image_idxs: Ints

    @classmethod
    def read(cls, arrays: SplitArrays, first: int) -> "_Rows":
        """At most `ROWS_A_BATCH` rows."""
        some = slice(first, first + ROWS_A_BATCH)
        columns = (
            np.ascontiguousarray(arrays.columns[name][some], dtype=np.int32)
            for name in ("question_families", "answers", "image_idxs")
        )
        wide = (
            np.ascontiguousarray(arrays.tokens(name, first, ROWS_A_BATCH))
            for name in ("questions", "programs")
        )
        return cls(first, *wide, *columns)

    def __len__(self) -> int:
        return len(self.answers)


def _seen_before(keys: Digests) -> Iterator[int]:
    """Places of the keys that an earlier place has too, ascending."""
    order = np.argsort(keys, kind="stable")
    again = [int(b) for a, b in pairwise(order) if keys[a] == keys[b]] if _has_twins(keys[order]) else []
    yield from sorted(again)


def _has_twins(ordered: Digests) -> bool:
    return bool((ordered[1:] == ordered[:-1]).any())


def _by_number(numbers: Mapping[str, int]) -> list[str]:
    names = [""] * (1 + max(numbers.values(), default=-1))
    for name, number in numbers.items():
        names[number] = name
    return names


def check_templates(folder: AuditFolder) -> None:
    """Raises what is wrong with the templates at hand before anything long begins."""
    try:
        folder.templates.files()
    except OSError as error:
        raise TemplateError(f"{folder.templates.folder}: cannot be read ({error})") from error
