"""Crossings: whether a model answers differently when a foil completes the held-out pair.

An original such as "What shape is the rubber thing?" (cube) has two partners to which no is the right answer:
"Is there a rubber cylinder?", which completes the held-out pair rubber cylinder, and its control "Is there a
rubber sphere?". A model that says yes more often to the first mistakes other objects for the held-out pair;
one that says yes less often avoids the pair.
"""

from collections.abc import Mapping

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import PredictionsError
from clevrhope.metrics.bootstrap import Floats, ratio
from clevrhope.metrics.collector import NOT_GIVEN
from clevrhope.metrics.pairs.measures import RunCounts, Share
from clevrhope.metrics.pairs.relations import AnswerKind, Answers, AnswerSet, Flags
from clevrhope.metrics.pairs.results import CrossingScores, ScoredCrossings
from clevrhope.metrics.pairs.scorer import check_given


def score_crossings(
    images: Ints,
    right: tuple[Ints, Ints],
    crossings: Answers,
    controls: Answers,
    answers: AnswerSet,
    *,
    seed: int,
    bootstrap: int = 0,
) -> ScoredCrossings:
    """The accuracy of R runs on K crossings and on their controls, and the difference.

    Args:
        images: (K,) the number of each original's image.
        right: (K,) right answers to the crossings, and to the controls.
        crossings: (R, K) the runs' answers to the crossings, NOT_GIVEN where one is missing.
        controls: (R, K) the runs' answers to the controls, likewise.
        answers: the vocabulary.
        seed: seed of the bootstrap, as for `score_pairs`.
        bootstrap: number of bootstrap samples; 0 for no intervals.

    Raises:
        PredictionsError: arrays do not fit together.
    """
    n = len(images)
    check_given(crossings, n, "crossings")
    check_given(controls, n, "controls")
    if len(crossings) != len(controls) or any(each.shape != (n,) for each in right):
        raise PredictionsError(
            f"crossings of {len(crossings)} runs with controls of {len(controls)}; expected as many, and a "
            f"right answer to each of {n}"
        )
    given = np.stack([crossings, controls])  # (2, R, K)
    complete = (given != NOT_GIVEN).all(axis=0)  # (R, K)
    is_right = (given == np.stack(right)[:, np.newaxis]) & complete
    unknown = answers.kinds[answers.places(given)] == AnswerKind.UNKNOWN
    n_unread = (unknown & (given != NOT_GIVEN)).sum(axis=(0, 2))  # (R,)
    flags: list[tuple[Flags, ...]] = [
        (complete[run], is_right[0, run], is_right[1, run]) for run in range(len(complete))
    ]
    counts = RunCounts.of(images, flags, n_samples=bootstrap, seed=seed)

    def scores(of_runs: slice) -> CrossingScores:
        n_complete = int(complete[of_runs].sum())
        return CrossingScores(
            **counts.measures(of_runs, _shares),
            n_originals=n_complete,
            n_missing=complete[of_runs].size - n_complete,
            n_unread=int(n_unread[of_runs].sum()),
        )

    by_run = tuple(scores(slice(k, k + 1)) for k in range(len(flags)))
    return ScoredCrossings(by_run, scores(slice(None)), bootstrap=bootstrap, seed=seed)


def _shares(counts: Floats) -> Mapping[str, Share]:
    """The measures of `CrossingScores` by name, from (..., 3) counts."""
    originals, crossing, control = np.moveaxis(counts, -1, 0)
    by_crossing, by_control = ratio(crossing, originals), ratio(control, originals)
    return {
        "crossing": Share(by_crossing, originals),
        "control": Share(by_control, originals),
        "difference": Share(by_crossing - by_control, originals),
    }
