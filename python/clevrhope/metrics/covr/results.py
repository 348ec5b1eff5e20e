"""The results of `score_covr`; accuracies are in per cent."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clevrhope.metrics.covr.rates import Generalisation
from clevrhope.metrics.covr.runs import Training
from clevrhope.metrics.results import Accuracy


@dataclass(frozen=True, slots=True)
class SplitScores:
    """A model's accuracies on a split, as means over its runs.

    Attributes:
        all: accuracy on all questions.
        having: predicate -> accuracy on the questions that have the property, for predicates with any.
        lacking: the same for the other questions.
        by: "template", "structure" or "place" (of a held-out pair) -> accuracy by the name of the part.
        maj: accuracy of the most frequent answer of covr_train.
        maj_templ: accuracy of the most frequent answer of each template.
        n_missing: number of questions left out because some run did not answer them.
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
    """The scores of one model with one kind of training.

    Attributes:
        hop: the sub-dataset.
        model: its name.
        train_size: number of covr_train questions before any were held out; None if unknown.
        training: what was held out.
        runs: the names of its runs.
        splits: the scores by split.
    """

    hop: str
    model: str
    train_size: int | None
    training: Training
    runs: tuple[str | None, ...]
    splits: Mapping[str, SplitScores]


@dataclass(frozen=True, slots=True)
class SplitRow:
    """A row as in COVR's tables 7 and 8: a split by a predicate, on the questions that have the property.

    Attributes:
        hop: the sub-dataset.
        split: the test set.
        predicate: defines which questions have the property.
        model: the model's name.
        train_size: number of covr_train questions before any were held out.
        shots: the number of questions with the property that were kept in the train set.
        filtered: number of covr_train questions that have the property; None without covr_train.
        n_questions: number of questions of the test set that have the property.
        text: accuracy of the text-only model, trained on the same questions. This and the next three are None
            without such runs.
        held_out: accuracy of the model trained without the property.
        iid_size: accuracy of the model trained on as many questions, drawn with the property.
        iid: accuracy of the model trained on all questions.
        generalisation: the score with its interval; None unless the first three accuracies are known.
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
    """The results of scoring.

    Attributes:
        folder: the dataset.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        seed: seed of the bootstrap.
        conditions: the models, in the order of the folder's HOPs.
        rows: the rows of the table of splits by predicates.
        notes: notes from the files, to print beside every number made from these predictions.
    """

    folder: Path
    bootstrap: int
    seed: int
    conditions: tuple[CovrCondition, ...]
    rows: tuple[SplitRow, ...]
    notes: tuple[str, ...]
