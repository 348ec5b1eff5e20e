"""Groups of questions about every value of an attribute, of which a model should affirm exactly one.

The original asks for the value, as in "What color is the cube?". It has one partner for each value V, as in
"Is the cube red?", to which yes is right exactly if V is the answer. So exactly one partner should get yes,
and its value can be compared with the model's own answer to the original: no right answers are needed. RAD,
by contrast, has one partner for each original.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import PredictionsError
from clevrhope.metrics.bootstrap import Floats, ratio
from clevrhope.metrics.collector import NOT_GIVEN
from clevrhope.metrics.pairs.measures import RunCounts, Share
from clevrhope.metrics.pairs.relations import AnswerKind, Answers, AnswerSet, Flags
from clevrhope.metrics.pairs.results import ScoredValues, ValueScores
from clevrhope.metrics.pairs.scorer import check_given


@dataclass(frozen=True)
class ValueGroups:
    """G originals with P partners in total."""

    images: Ints
    """(G,) the number of each original's image."""
    groups: Ints
    """(P,) the index of each partner's original, 0 to G - 1; every original has a partner."""
    values: Ints
    """(P,) the answer that names the partner's value V."""


def score_values(
    questions: ValueGroups,
    originals: Answers,
    partners: Answers,
    answers: AnswerSet,
    *,
    seed: int,
    bootstrap: int = 0,
) -> ScoredValues:
    """How often R runs say yes to exactly one value, and to the value that they name themselves.

    Args:
        questions: the groups.
        originals: (R, G) the runs' answers to the originals, NOT_GIVEN where one is missing.
        partners: (R, P) the runs' answers to the partners, likewise.
        answers: the vocabulary.
        seed: seed of the bootstrap, as for `score_pairs`.
        bootstrap: number of bootstrap samples; 0 for no intervals.

    Raises:
        PredictionsError: arrays do not fit together, or a group has no partner.
    """
    n = len(questions.images)
    check_given(originals, n, "originals")
    check_given(partners, len(questions.groups), "partners")
    if len(originals) != len(partners):
        raise PredictionsError(
            f"{len(originals)} runs answer the originals, and {len(partners)} the partners"
        )
    if not np.array_equal(np.unique(questions.groups), np.arange(n)):
        raise PredictionsError(f"the partners' groups are not all of 0 to {n - 1}")
    runs = [
        _outcomes(questions, original, partner, answers)
        for original, partner in zip(originals, partners, strict=True)
    ]
    complete = np.stack([run.flags[0] for run in runs])  # (R, G)
    counts = RunCounts.of(questions.images, [run.flags for run in runs], n_samples=bootstrap, seed=seed)

    def scores(of_runs: slice) -> ValueScores:
        n_complete = int(complete[of_runs].sum())
        return ValueScores(
            **counts.measures(of_runs, _shares),
            n_groups=n_complete,
            n_missing=complete[of_runs].size - n_complete,
            n_unread=sum(run.n_unread for run in runs[of_runs]),
        )

    by_run = tuple(scores(slice(k, k + 1)) for k in range(len(runs)))
    return ScoredValues(by_run, scores(slice(None)), bootstrap=bootstrap, seed=seed)


@dataclass(frozen=True)
class _Outcomes:
    """The outcomes of one run's answers."""

    flags: tuple[Flags, Flags, Flags]
    """(G,) each: the group is complete, has exactly one yes, and has it at the value that the model named."""
    n_unread: int


def _outcomes(questions: ValueGroups, original: Answers, partner: Answers, answers: AnswerSet) -> _Outcomes:
    n = len(questions.images)
    says_yes = partner == answers.yes
    names = says_yes & (questions.values == original[questions.groups])
    without_answer = np.bincount(questions.groups, partner == NOT_GIVEN, minlength=n) > 0
    complete = (original != NOT_GIVEN) & ~without_answer
    one_yes = complete & (np.bincount(questions.groups, says_yes, minlength=n) == 1)
    named_yes = one_yes & (np.bincount(questions.groups, names, minlength=n) == 1)
    given = np.concatenate([original, partner])
    unknown = answers.kinds[answers.places(given)] == AnswerKind.UNKNOWN
    return _Outcomes((complete, one_yes, named_yes), int((unknown & (given != NOT_GIVEN)).sum()))


def _shares(counts: Floats) -> Mapping[str, Share]:
    """The measures of `ValueScores` by name, from (..., 3) counts."""
    groups, one_yes, named_yes = np.moveaxis(counts, -1, 0)
    return {
        "one_yes": Share(ratio(one_yes, groups), groups),
        "named_yes": Share(ratio(named_yes, groups), groups),
    }
