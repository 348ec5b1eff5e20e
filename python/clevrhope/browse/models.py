"""Predictions of models about a dataset's questions, read once and compared with the right answers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clevrhope.browse.folder import SiteFolder, SplitKey
from clevrhope.errors import PredictionsError
from clevrhope.metrics.predictions import read_predictions
from clevrhope.metrics.rows import Block, Target
from clevrhope.report.runs import LAST, Source, find_sources
from clevrhope.runtime.atomic import record

Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]

NOT_GIVEN = -1
"""Stands for the number of an answer that the model did not give."""


@dataclass
class Answers:
    """A model's answers to the questions of one place."""

    texts: list[str]
    """The answers by number, for all models: those of the vocabulary, then others, which may be any text."""
    numbers: npt.NDArray[np.int32]
    """(N,) indices into `texts`, or `NOT_GIVEN`."""

    def text(self, row: int) -> str | None:
        """The answer to a question; None if there is none."""
        number = int(self.numbers[row])
        return None if number == NOT_GIVEN else self.texts[number]


class Judged(NamedTuple):
    """A model's answer to one question."""

    model: str
    answer: str
    right: bool


@dataclass
class Model:
    """A model, or one run of it, with its answers by place."""

    name: str
    answers: dict[SplitKey, Answers] = field(default_factory=dict)


@dataclass
class Models:
    """All models whose predictions were given, in that order."""

    models: list[Model] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences about the predictions that a user should know."""

    def __len__(self) -> int:
        return len(self.models)

    def about(self, place: SplitKey) -> list[Model]:
        """The models that answer questions of a place."""
        return [each for each in self.models if place in each.answers]

    def judged(self, place: SplitKey, row: int, answer: str) -> list[Judged]:
        """The models' answers to a question."""
        found = ((each.name, each.answers[place].text(row)) for each in self.about(place))
        return [Judged(name, text, text == answer) for name, text in found if text is not None]


def read_models(paths: Sequence[str], folder: SiteFolder) -> Models:
    """The predictions of runs and files; `NAME=FILE` names the model of a file.

    Raises:
        PredictionsError: a file cannot be read, or has no predictions about the dataset.
    """
    if not paths:
        return Models()
    sources, skipped = find_sources(paths, dataset=folder.layout.root)
    if not sources:
        raise PredictionsError("; ".join(skipped))
    made = Models(notes=skipped)
    by_name: dict[str, Model] = {}
    texts: dict[SplitKey, list[str]] = {}
    for source in sources:
        collector = _Collector(folder, source, texts)
        for block in read_predictions(source.path):
            collector.add(block)
        if not collector.found:
            raise PredictionsError(f"{source.path}: {collector.left_out() or 'no predictions'}")
        if collector.n_left_out:
            made.notes.append(f"{source.path}: {collector.left_out()}")
        for name, answers in collector.found.items():
            model = _model_without(answers, [name, f"{name} ({source.path.name})"], by_name)
            model.answers |= answers
    made.models = [*by_name.values()]
    return made


def _model_without(places: Collection[SplitKey], names: Sequence[str], by_name: dict[str, Model]) -> Model:
    """The first model of these names, then of numbered ones, that has no answers about the places yet."""
    numbered = (f"{names[0]} ({number})" for number in count(2))
    for name in chain(names, numbered):
        model = by_name.setdefault(name, Model(name))
        if model.answers.keys().isdisjoint(places):
            break
    return model


class _Collector:
    """The predictions of one file, by model and place."""

    def __init__(self, folder: SiteFolder, source: Source, texts: dict[SplitKey, list[str]]) -> None:
        """`texts` are the `Answers.texts` of each place."""
        self._folder, self._source, self._texts = folder, source, texts
        self.found: dict[str, dict[SplitKey, Answers]] = {}
        self.n_left_out = 0
        self._first_left_out = ""
        self._suites: dict[SplitKey, str] = {}

    def add(self, block: Block) -> None:
        """Adds the predictions of a block."""
        for number, (target, digest) in enumerate(zip(block.targets, block.suite_files, strict=True)):
            rows = np.flatnonzero(block.target == number)
            place = SplitKey(target.hop, target.split, target.suite)
            if not self._folder.has(place):
                self._leave_out(len(rows), f"{target} is not in {self._folder.layout.root}")
                continue
            if digest is not None and not self._sha256(place).startswith(digest):
                self._leave_out(len(rows), f"{target}: the suite was made anew since")
                continue
            reader, vocab = self._folder.reader(place)
            n, index = len(reader), block.question_index[rows]
            inside = (index >= 0) & (index < n)
            if not inside.all():
                first = int(index[~inside][0])
                self._leave_out(int((~inside).sum()), f"{target} has {n:,} questions, and none is {first}")
            if not inside.any():
                continue
            texts = self._texts.setdefault(place, [*vocab.answers()])
            nothing = Answers(texts, np.full(n, NOT_GIVEN, np.int32))
            answers = self.found.setdefault(self._name(target), {}).setdefault(place, nothing)
            known = {text: k for k, text in enumerate(texts)}
            numbers = np.asarray([known.setdefault(text, len(known)) for text in block.answers], np.int32)
            texts[:] = known
            answers.numbers[index[inside]] = numbers[block.answer[rows[inside]]]

    def left_out(self) -> str:
        """A sentence on the predictions that no page shows; "" if there are none."""
        if not self.n_left_out:
            return ""
        were = "prediction is" if self.n_left_out == 1 else "predictions are"
        return f"{self.n_left_out:,} {were} left out ({self._first_left_out})"

    def _leave_out(self, n: int, why: str) -> None:
        self.n_left_out += n
        self._first_left_out = self._first_left_out or why

    def _sha256(self, place: SplitKey) -> str:
        if place not in self._suites:
            self._suites[place] = record(self._folder.questions_path(place)).sha256
        return self._suites[place]

    def _name(self, target: Target) -> str:
        """The model's name, with the fields that distinguish its runs."""
        source = self._source
        size = source.train_size if target.train_size is None else target.train_size
        run = source.run if target.run is None else target.run
        checkpoint = "" if source.checkpoint == LAST else source.checkpoint
        parts = [source.model, source.group, source.way, checkpoint, source.after]
        parts += ["" if size is None else f"on {size:,}", "" if run is None else f"run {run}"]
        return ", ".join(part for part in parts if part)


def accuracy(
    answers: Answers, folder: SiteFolder, place: SplitKey, rows: Rows | None = None
) -> tuple[float | None, int]:
    """Accuracy in per cent and number of answers on some rows of a place, or on all; None without answers.

    Raises:
        DatasetError: the questions cannot be read.
    """
    reader, _ = folder.reader(place)
    chosen = slice(None) if rows is None else rows
    given, right = answers.numbers[chosen], reader.answers[chosen]
    n = int((given != NOT_GIVEN).sum())
    return (100 * int((given == right).sum()) / n if n else None), n


OUTCOMES = {
    "a-wrong": "A is wrong",
    "a-right": "A is right",
    "a-only": "A is right, B is wrong",
    "b-only": "B is right, A is wrong",
    "both-wrong": "both are wrong",
    "both-right": "both are right",
    "differ": "their answers differ",
}
"""The results of two models by which questions can be filtered; the first two need only one model."""


def chosen_rows(
    rows: npt.NDArray[np.int64],
    models: Sequence[Answers],
    answers: npt.NDArray[np.int32],
    *,
    outcome: str,
    errors_first: bool,
) -> npt.NDArray[np.int64]:
    """The given rows that have an outcome for one or two models; `errors_first` puts A's errors first.

    Questions that a model did not answer have no outcome; those that A did not answer come last.
    """
    first, second = models[0].numbers, models[-1].numbers
    (a, a_given), (b, b_given) = ((of == answers, of != NOT_GIVEN) for of in (first, second))
    rows_of_outcome: dict[str, Flags] = {
        "a-wrong": a_given & ~a,
        "a-right": a_given & a,
        "a-only": a & ~b & b_given,
        "b-only": b & ~a & a_given,
        "both-wrong": a_given & b_given & ~a & ~b,
        "both-right": a & b,
        "differ": a_given & b_given & (first != second),
    }
    if outcome in rows_of_outcome:
        rows = rows[rows_of_outcome[outcome][rows]]
    if not errors_first:
        return rows
    rank = np.where(a_given, a.astype(int), 2)[rows]
    return rows[np.argsort(rank, kind="stable")]
