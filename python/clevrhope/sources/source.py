"""What a published form of files gives: splits, each a stream of columns of questions, images and scenes."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import TextReader, number_texts
from clevrhope.dataset.native_reader import text_reader
from clevrhope.dataset.question_kinds import ABSENT, SINGLE, QuestionKind
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.split_files import Vocab as Names
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import DatasetError, listed, shown
from clevrhope.runtime.forms import ANY, INDEX, Fields, ListOf

Columns = dict[str, npt.NDArray[Any]]
"""Columns of consecutive questions by name, as in `question_kinds`; rows of tokens may be narrower there.

`image_places` and, of episodes, `support_places` say where the images are: for each index of `image_idxs` or
`support_idxs` three numbers, as in `ImageRecord`.
"""

Templates = tuple[Sequence[tuple[str, bytes]], bytes]
"""Name and content of each file of question templates, in the order of families, and the synonyms."""

_NULL, START, END, _UNKNOWN = range(len(SPECIAL_TOKENS))

NO_FAMILY = -1
"""The family of a question that does not say it."""

MOST_PROGRAM_TOKENS = 64
"""Tokens of a program that is read from a text: twice as many as CLEVR's longest have."""

SCENE = Fields({"image_index": INDEX, "objects": ListOf(ANY)})
"""What a published scene has at least."""

IN_RADIANS = "rotations in published scenes are radians; they are imported as degrees"
"""A note about published scenes."""

MOST_CHARACTERS = 2_000
"""Characters of a question: several times as many as CLEVR's longest have."""

MAX_IMAGES = 10_000_000
"""More than the indices of a pool's images: the official names have six digits."""


def check_filled(cells: Mapping[str, list[Any]], where: Callable[[int], str]) -> None:
    """Checks that no cell of these columns is empty.

    Raises:
        DatasetError: one is; `where` names the place of a row.
    """
    for name, values in cells.items():
        if None in values:
            raise DatasetError(f"{where(values.index(None))}: {name} is empty")


class Numbering:
    """Numbers the words, functions and answers of published files.

    Words without a number get the next one. Functions and answers are those of the dataset's world.
    """

    def __init__(self, vocab: Vocab, templates: Templates | None = None) -> None:
        """Takes the numbers so far; without templates, no programs are read from texts."""
        self.words = vocab.questions()
        self._programs, self._answers = vocab.program_token_to_idx, vocab.answer_token_to_idx
        self._templates = templates
        self._reader: tuple[int, TextReader] | None = None
        """The number of words for which a reader was made, and the reader."""
        self.n_unread = 0
        """Number of texts so far that no template gives."""

    def has_numbers_of(self, vocab: Vocab) -> bool:
        """Whether all tokens of a vocabulary have the same numbers here."""
        mine, others = asdict(self.vocab()), asdict(vocab)
        return all(mine[name].items() >= numbers.items() for name, numbers in others.items())

    def vocab(self) -> Vocab:
        """The vocabulary with all words so far."""
        words = {word: number for number, word in enumerate(self.words)}
        return Vocab(words, self._programs, self._answers)

    def rows(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """(n, Q) tokens of texts, where words without a number get the next one, and (n,) their lengths."""
        (rows, lengths), new = number_texts(texts, self.words)
        self.words += new
        return rows, lengths

    def texts(self, texts: Sequence[str], where: Callable[[int], str] | None = None) -> Columns:
        """The columns of questions and, by the templates if there are any, of programs and families.

        Raises:
            DatasetError: a text is too long to be a question; `where` names the place of a row.
        """
        for k, text in enumerate(texts):
            if len(text) > MOST_CHARACTERS:
                raise DatasetError(
                    f"{where(k) if where else k}: a text of {len(text):,} characters; a question has at most "
                    f"{MOST_CHARACTERS:,}"
                )
        rows, lengths = self.rows(texts)
        families = np.full(len(rows), NO_FAMILY, dtype=np.int32)
        programs = np.tile(np.asarray([START, END], dtype=np.int32), (len(rows), 1))
        n_tokens = np.full(len(rows), 2, dtype=np.int32)
        if self._templates is not None:
            if self._reader is None or self._reader[0] != len(self.words):
                names = Names(*vars(self.vocab()).values())
                self._reader = len(self.words), text_reader(names, *self._templates)
            families, (programs, n_tokens), _ = self._reader[1].meanings(rows, MOST_PROGRAM_TOKENS)
            self.n_unread += int((families < 0).sum())
        columns = {"questions": rows, "question_lengths": lengths, "question_families": families}
        return columns | {"programs": programs, "program_lengths": n_tokens}

    def programs(self, programs: Sequence[Sequence[str]], where: Callable[[int], str]) -> Columns:
        """The columns of programs, given as functions in prefix order.

        Raises:
            DatasetError: a function is unknown; `where` names the place of a row.
        """
        lengths = np.asarray([len(each) + 2 for each in programs], dtype=np.int32)
        rows = np.zeros((len(programs), lengths.max(initial=2)), dtype=np.int32)
        for k, program in enumerate(programs):
            if unknown := [name for name in program if name not in self._programs]:
                raise DatasetError(
                    f"{where(k)}: its program has {shown(unknown[0])}, which is not a function of CLEVR's "
                    "questions with a value of this dataset"
                )
            rows[k, : lengths[k]] = [START, *(self._programs[name] for name in program), END]
        return {"programs": rows, "program_lengths": lengths}

    def answers(self, answers: Sequence[Any], where: Callable[[int], str]) -> Ints:
        """(n,) the numbers of answers.

        Raises:
            DatasetError: an answer is unknown; `where` names the place of a row.
        """
        numbers = {text: n for text, n in self._answers.items() if text not in SPECIAL_TOKENS}
        found = np.asarray([numbers.get(str(answer), _NULL) for answer in answers], dtype=np.int32)
        if not found.all():
            k = int(np.argmin(found))
            raise DatasetError(
                f"{where(k)}: the answer {shown(answers[k])} is none of a question of CLEVR's functions: "
                f"{listed(sorted(numbers), most=40)}"
            )
        return found


def image_numbers(lists: Sequence[Sequence[int]], where: Callable[[int], str], most: int = 1) -> Ints:
    """(n, most) int32 indices of the images of each question, then `ABSENT`.

    Raises:
        DatasetError: there are too many, or an index is negative or too large; `where` names the place of a
            row.
    """
    found = np.full((len(lists), most), ABSENT, dtype=np.int64)
    for row, indices in enumerate(lists):
        if len(indices) > most:
            raise DatasetError(f"{where(row)}: it has {len(indices)} images; expected {most} at most")
        found[row, : len(indices)] = indices
    is_there = np.arange(most) < np.asarray([*map(len, lists)], dtype=np.int64)[:, np.newaxis]
    for row, k in np.argwhere(is_there & ((found < 0) | (found >= MAX_IMAGES))).tolist():
        raise DatasetError(
            f"{where(row)}: the index of its image is {found[row, k]:,}; expected 0 to {MAX_IMAGES - 1:,}"
        )
    return found.astype(np.int32)


def files_below(root: Path) -> list[Path]:
    """A file, or all in a folder and those below it, also where links lead to folders; sorted."""
    if not root.is_dir():
        return [root]
    found: list[Path] = []
    seen: set[str] = set()
    for folder, names, files in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:  # a link leads back to a folder above it, or another one to the same
            names.clear()
            continue
        seen.add(real)
        names.sort()
        found += [Path(folder, name) for name in files]
    return sorted(found)


@dataclass(frozen=True)
class SourceSplit:
    """The questions of a split in published files.

    Attributes:
        hop: the sub-dataset.
        split: its name here.
        pool: the name of the pool of its images.
        n_questions: number of its questions.
        file: the file, or the first of several.
        blocks: yields columns of consecutive questions; raises DatasetError for a file that cannot be read.
        image_form: the form of the files of its images, as in `ImageRecord`.
        image_files: these files; none if the images are not there.
        image_names: index of an image -> its name, if they have names, once `blocks` was read.
        scenes: yields scenes, each with the `image_index` of its questions; None if they are not there.
        notes: what a reader should know, such as another name or a part that is left out, once `blocks` was
            read.
        features: the file of detector features of its images, by index; None if it is not there.
        unit: how many images with consecutive indices show the same place; 0 if that is not known.
        kind: the kind of its questions.
        attributes: those of its question file, for kinds with more than hop, split and pool.
        vocab: the numbers of its words, functions and answers; None if the files hold text alone.
        widths: the least number of tokens in rows of questions and of programs.
        sha256: SHA-256 of the question file that it was exported from, by which predictions name suites.
    """

    hop: str
    split: str
    pool: str
    n_questions: int
    file: Path
    blocks: Callable[[Numbering], Iterator[Columns]] = field(repr=False)
    image_form: str = ""
    image_files: Sequence[Path] = ()
    image_names: Mapping[int, str] = field(default_factory=dict, repr=False)
    scenes: Callable[[], Iterator[dict[str, Any]]] | None = field(default=None, repr=False)
    notes: list[str] = field(default_factory=list)
    unit: int = 0
    features: Path | None = None
    kind: QuestionKind = SINGLE
    attributes: Mapping[str, Any] = field(default_factory=dict)
    vocab: Vocab | None = None
    widths: tuple[int, int] = (2, 2)
    sha256: str = ""

    @property
    def suite(self) -> str:
        """The suite whose pairs these are; "" for questions of a split."""
        return str(self.attributes["suite"]) if "suite" in self.kind.names else ""

    @property
    def table(self) -> str:
        """The HOP's name, followed by that of the suite, or ".covr", if these are its questions."""
        return self.kind.table.format(**{"hop": self.hop, **self.attributes})

    @property
    def key(self) -> str:
        """What names it in a manifest's source."""
        return f"{self.table}/{self.split}"


@dataclass(frozen=True)
class Source:
    """Published files that one form reads.

    Attributes:
        form: the form's key in `FORMS`.
        root: the folder, or the file.
        splits: its splits, in order.
        notes: what a reader should know about all of it.
        has_programs: whether the files have programs.
        about: what the files say of their dataset, as an export's metadata: values, constraints, settings;
            and its digest, if questions have the numbers that they have there.
        files: the files that it reads, or knows; the others of a folder are said to be left out.
    """

    form: str
    root: Path
    splits: tuple[SourceSplit, ...]
    notes: tuple[str, ...] = ()
    has_programs: bool = True
    about: Mapping[str, Any] = field(default_factory=dict)
    files: Collection[Path] = field(default=(), repr=False)
