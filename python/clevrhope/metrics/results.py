"""The results of scoring, of whatever kind the questions are: measures by group, and rows of them.

Shares are in per cent, gaps, other differences and deviations in percentage points.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval, from the 2.5th to the 97.5th percentile of draws (`clevrhope.metrics.bootstrap`)."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Measure:
    """A share or a difference of two shares, for one run or as the mean over the runs that define it."""

    value: float | None
    """None, never 0, where the share's denominator is 0 in every run."""
    n: int
    """The denominator; in a mean over runs, the sum of the denominators."""
    interval: Interval | None = None
    """None without a bootstrap. It covers the sampling of images and, in a mean over runs, of these."""
    deviation: float | None = None
    """Standard deviation over two or more runs (ddof 1); else None."""


class Part(NamedTuple):
    """A group of the questions of a split: all of them, or one part of a breakdown."""

    by: str = ""
    """The breakdown, such as "family", "test" or "template"; "" for all questions."""
    name: str = ""
    """The part's name, such as "one_hop 3", "color", or a test of a suite."""
    cell: str = ""
    """One of the cells of a suite's test; "" for all of them."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The measures of one run on a group of questions, or their means over runs.

    Attributes:
        measures: name, as in the tables of `clevrhope.metrics.measures`, -> measure.
        counts: name -> number of questions, images or pairs; in a mean over runs, the sum over them, but for
            the numbers of questions and images of a test set, which count what any run answered.
    """

    measures: Mapping[str, Measure]
    counts: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Measure:
        """A measure by name."""
        return self.measures[name]

    @property
    def n(self) -> int:
        """The number of pairs, originals, groups or questions that they are of: the first of the counts."""
        return next(iter(self.counts.values()))


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a group of questions."""

    runs: tuple[Scores, ...]
    """In the order of the condition's runs; empty for scores that are pooled over all runs."""
    mean: Scores
    """The mean over the runs that define a measure."""


@dataclass(frozen=True, slots=True)
class Constant:
    """An answer that is given to all questions, "" if it depends on them, and its accuracy in per cent."""

    answer: str
    percent: float


@dataclass(frozen=True, slots=True)
class Unread:
    """The unread replies (`<UNK>`) of some runs to a split, and what they may hide.

    Shares are in per cent, the mean over runs.

    Attributes:
        n: number of unread replies, summed over runs.
        share: of all replies; None if there are none.
        share_yes: of the replies to questions whose right answer is yes; None if there are none.
        share_no: likewise no.
        if_wrong: the accuracy if all unread replies are wrong, which is how they are scored.
        if_right: the accuracy if all unread replies are right.
    """

    n: int
    share: float | None
    share_yes: float | None
    share_no: float | None
    if_wrong: float | None
    if_right: float | None


@dataclass(frozen=True, slots=True)
class SplitScores:
    """The scores on one split, by group of questions.

    Attributes:
        parts: group -> its scores; `Part()` are all questions.
        n: number of the questions, or of the suite's pairs, whether answered or not.
        n_missing: number left out because they lack an answer.
        constants: what is known without a model. Test of a suite, if its partners are yes/no questions, ->
            the constant answer that is right most often; or a baseline of COVR -> its accuracy.
        words: test of a suite, if its partners are yes/no questions -> the share of them, in per cent, that a
            bag of their words answers (`describe.bag_of_words`); None where there are too few pairs.
        traits: name -> tests of a suite whose scores have a meaning of their own (`suites.traits`).
        controls: test of a suite whose foils complete the held-out pair -> the test on the same originals
            whose foils do not.
        unread: the replies that were not read; None for pairs and gaps.
    """

    parts: Mapping[Part, Scored]
    n: int
    n_missing: int = 0
    constants: Mapping[str, Constant] = field(default_factory=dict)
    words: Mapping[str, float | None] = field(default_factory=dict)
    traits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    controls: Mapping[str, str] = field(default_factory=dict)
    unread: Unread | None = None

    @property
    def runs(self) -> tuple[Scores, ...]:
        """The scores of each run on all questions."""
        return self.parts[Part()].runs

    @property
    def mean(self) -> Scores:
        """The mean over runs on all questions."""
        return self.parts[Part()].mean

    def by(self, breakdown: str) -> dict[str, Scored]:
        """The parts of a breakdown by name, in order, without cells."""
        return {
            part.name: each for part, each in self.parts.items() if part.by == breakdown and not part.cell
        }

    def cells(self, test: str) -> dict[str, Scored]:
        """The cells of a suite's test by name, such as "10"; empty where no pair of values is held out.

        Cell "10" has the pairs whose original mentions the held-out pair and whose partner does not. Cells
        are never pooled over tests, because the same cell does not come from the same tests.
        """
        return {part.cell: each for part, each in self.parts.items() if part.name == test and part.cell}


@dataclass(frozen=True, slots=True)
class Training:
    """What a run on COVR's questions was trained on.

    Attributes:
        role: "all" questions, those without a property ("split"), or as many drawn with it ("iid_size").
        predicate: defines which questions have the property; "" for a run on all questions.
        shots: the number of questions with the property that were kept in the train set.
    """

    role: str = "all"
    predicate: str = ""
    shots: int = 0


@dataclass(frozen=True, slots=True)
class Model:
    """A model on a sub-dataset, whose runs are scored together.

    Attributes:
        hop: the sub-dataset.
        train_size: number of training questions according to the predictions; None if they do not give it.
        model: the model's name; "" if all predictions are of one.
        training: what its runs were trained on.
    """

    hop: str
    train_size: int | None
    model: str = ""
    training: Training = Training()


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition(Model):
    """The scores of all runs of a model with one held-out pair, train size and training.

    Attributes:
        runs: names of the runs; None for one without a name.
        splits: split -> its scores.
        gaps: "complex", "minimal", "val" or "test" -> the out-of-distribution accuracy minus the
            in-distribution one: negative for a drop (CLEVR-HOPE, section 4.2). The measure is "gap".
        missing: split -> questions without a prediction, summed over runs; only if `partial` is set.
        breakdowns: breakdown of test sets -> its parts, in order.
    """

    runs: tuple[str | None, ...]
    splits: Mapping[str, SplitScores]
    gaps: Mapping[str, SplitScores] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)
    breakdowns: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)

    @property
    def accuracies(self) -> dict[str, float | None]:
        """Split -> accuracy on all of its questions, or pairs, in per cent, as the mean over runs."""
        return {split: scores.mean["accuracy"].value for split, scores in self.splits.items()}

    def scores_of(self, measure: str, part: Part, run: int | None = None) -> dict[str, Scores]:
        """Split or gap -> the scores of a part, of one run (by its place) or as the mean.

        `measure` is "accuracy" for splits and "gap" for gaps; where it is undefined, there are no scores.
        """
        scored = {
            name: of_split.parts[part]
            for name, of_split in (self.gaps if measure == "gap" else self.splits).items()
            if part in of_split.parts
        }
        found = {name: each.mean if run is None else each.runs[run] for name, each in scored.items()}
        return {name: scores for name, scores in found.items() if scores[measure].value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateScores(Model):
    """A row as in COVR's tables 7 and 8: a split by a predicate, on the questions that have the property.

    The train size is the number of covr_train questions before any were held out.

    Attributes:
        split: the test set.
        filtered: number of covr_train questions that have the property.
        n_questions: number of questions of the test set that have the property.
        accuracies: of the model trained without the property ("held_out"), of a text-only model trained on
            all questions ("text") and on the same ones ("held_out_text"), of the model on as many questions
            drawn with the property ("iid_size"), and of the model on all questions ("iid"); only those with
            such runs.
        generalisation: name of `measures.GENERALISATION_SCORES` -> the measures of `GENERALISATION`, for each
            score whose three models have runs.
    """

    split: str
    filtered: int
    n_questions: int
    accuracies: Mapping[str, Scores]
    generalisation: Mapping[str, Scores]

    @property
    def part(self) -> Part:
        """The group of questions that have the property, for a model that saw some of them."""
        return Part("predicate", self.training.predicate, f"{self.training.shots} shots")


@dataclass(frozen=True, slots=True)
class Row:
    """One measure of one run, or of the mean over runs: what reports and tables are made of."""

    hop: str
    train_size: int | None
    model: str
    run: str | None
    """The run's name; None for the mean, or for the only run if it has no name."""
    is_mean: bool
    split: str
    """The split, or the name of a gap."""
    part: Part
    measure: str
    value: float | None
    interval: Interval | None
    n: int


@dataclass(frozen=True, slots=True)
class Results:
    """The results of scoring a folder, in the order of its HOPs, then by train size.

    Attributes:
        folder: the dataset.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        seed: seed of the bootstrap.
        conditions: the scores.
        n_predictions: number of predictions scored.
        n_left_aside: number of predictions ignored because their HOP was not to be scored.
        n_of_suites: number of predictions about suites, or about other suites than the one scored.
        hops_missing: HOPs that were to be scored without any prediction.
        missing: the first pairs of a suite that were left out, each with the question that lacks an answer.
        notes: notes from the files, such as "not trained on the splits". Print them beside every number made
            from these predictions.
        kind: the name of the kind of questions, as in `question_kinds.KINDS`.
        predicates: the table of splits by predicates, for questions about sets of images.
        suite: the suite that was scored; "" for the splits' own questions.
    """

    folder: Path
    bootstrap: int
    seed: int
    conditions: tuple[Condition, ...]
    n_predictions: int = 0
    n_left_aside: int = 0
    n_of_suites: int = 0
    hops_missing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kind: str = "single"
    predicates: tuple[PredicateScores, ...] = ()
    suite: str = ""

    @property
    def n_missing(self) -> int:
        """Number of questions or pairs left out for lack of an answer, summed over runs.

        It does not count HOPs without any prediction.
        """
        if self.suite:
            return sum(split.n_missing for each in self.conditions for split in each.splits.values())
        return sum(sum(each.missing.values()) for each in self.conditions)

    def condition(self, hop: str, train_size: int | None = None) -> Condition:
        """The condition of a HOP and train size.

        Raises:
            KeyError: there is no such condition.
        """
        for each in self.conditions:
            if (each.hop, each.train_size) == (hop, train_size):
                return each
        raise KeyError((hop, train_size))

    def rows(self) -> Iterator[Row]:
        """Every measure of every group, for each run and for the mean, as long rows."""
        for condition in self.conditions:
            for split, of_split in {**condition.splits, **condition.gaps}.items():
                for part, scored in of_split.parts.items():
                    for run, scores in zip(condition.runs, scored.runs, strict=False):
                        yield from _rows(condition, run, split, part, scores)
                    yield from _rows(condition, None, split, part, scored.mean, is_mean=True)
        for row in self.predicates:
            for name, scores in row.generalisation.items():
                named = replace(scores, measures={name: scores["score"]})
                yield from _rows(row, None, row.split, row.part, named, is_mean=True)


def _rows(
    model: Model, run: str | None, split: str, part: Part, scores: Scores, *, is_mean: bool = False
) -> Iterator[Row]:
    of_scores = (model.hop, model.train_size, model.model, run, is_mean, split, part)
    for name, measure in scores.measures.items():
        yield Row(*of_scores, name, measure.value, measure.interval, measure.n)
