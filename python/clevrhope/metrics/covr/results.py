"""The results of `score_covr`; accuracies are in per cent."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clevrhope.metrics.covr.rates import Generalisation
from clevrhope.metrics.covr.runs import Training
from clevrhope.metrics.results import Accuracy


@dataclass(frozen=True, slots=True)
class SplitScores:
    """What a model reaches on a split, in the mean over its runs.

    Attributes:
        all: on all questions.
        having: by predicate, on the questions that have the property; those without any are left out.
        lacking: the same on the other questions.
        by: "template", "structure" or "place" (of a held-out pair) -> accuracy by the name of the part.
        maj: of the most frequent answer of covr_train.
        maj_templ: of the most frequent answer of each template.
        n_missing: questions without an answer in some run, which are left out.
    """

    all: Accuracy
    having: Mapping[str, Accuracy]
    lacking: Mapping[str, Accuracy]
    by: Mapping[str, Mapping[str, Accuracy]]
    maj: float
    maj_templ: float
    n_missing: int


@dataclass(frozen=True, slots=True)
class CovrCondition:
    """A model that was trained in one way.

    Attributes:
        hop: the sub-dataset.
        model: its name.
        train_size: questions of covr_train before any were held out; None if unknown.
        training: what was held out.
        runs: their names.
        splits: by name.
    """

    hop: str
    model: str
    train_size: int | None
    training: Training
    runs: tuple[str | None, ...]
    splits: Mapping[str, SplitScores]


@dataclass(frozen=True, slots=True)
class SplitRow:
    """A row of COVR's tables 7 and 8: a split by a predicate, on the questions that have the property.

    Attributes:
        hop: the sub-dataset.
        split: the test set.
        predicate: which questions have the property.
        model: the model's name.
        train_size: questions of covr_train before any were held out.
        shots: the number of these that train kept.
        filtered: questions of covr_train that have the property; None without covr_train.
        n_questions: those of the test set that have it.
        text: accuracy of the text alone, trained in the same way; None without such runs, as are the others.
        held_out: of the model.
        iid_size: of the model trained on as many questions, drawn with the property.
        iid: of the model trained on all questions.
        generalisation: the score with its interval; None unless the first three are there.
    """

    hop: str
    split: str
    predicate: str
    model: str
    train_size: int | None
    shots: int
    filtered: int | None
    n_questions: int
    text: Accuracy | None
    held_out: Accuracy | None
    iid_size: Accuracy | None
    iid: Accuracy | None
    generalisation: Generalisation | None


@dataclass(frozen=True, slots=True)
class CovrScores:
    """Everything that was scored.

    Attributes:
        folder: the dataset.
        bootstrap: samples behind each interval; 0 for none.
        seed: of the samples.
        conditions: models, in the order of the folder's HOPs.
        rows: of the table of splits by predicates.
        notes: of the files, which belong beside every number made from them.
    """

    folder: Path
    bootstrap: int
    seed: int
    conditions: tuple[CovrCondition, ...]
    rows: tuple[SplitRow, ...]
    notes: tuple[str, ...]
