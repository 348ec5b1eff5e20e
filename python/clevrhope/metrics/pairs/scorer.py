"""Scores the answers of several runs to pairs of questions: in all, and by part of each breakdown."""

from collections.abc import Mapping, Sequence

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import PredictionsError
from clevrhope.metrics.bootstrap import Floats, ratio
from clevrhope.metrics.pairs.measures import Images, Share, cell_counts
from clevrhope.metrics.pairs.outcomes import Outcomes, Pairs, check_pairs, pair_outcomes
from clevrhope.metrics.pairs.relations import Answers, AnswerSet, Flags
from clevrhope.metrics.pairs.results import PairGroup, PairScores, ScoredPairs


def score_pairs(
    pairs: Pairs, originals: Answers, partners: Answers, answers: AnswerSet, *, seed: int, bootstrap: int = 0
) -> ScoredPairs:
    """The scores of R runs on K pairs, for each run and in the mean.

    Intervals are percentiles over images that are drawn with replacement, each with all of its pairs.

    Args:
        pairs: the pairs with their right answers.
        originals: (R, K) given answers to the originals, NOT_GIVEN where there is none.
        partners: (R, K) the same for the partners.
        answers: the vocabulary.
        seed: of the draws, 0 or more; the same seed gives the same intervals.
        bootstrap: draws of all images; 0 for no intervals.

    Raises:
        PredictionsError: arrays do not fit together, or a pair's right answers not its relation.
    """
    check_pairs(pairs, answers)
    check_given(originals, len(pairs), "originals")
    check_given(partners, len(pairs), "partners")
    if originals.shape != partners.shape:
        raise PredictionsError(
            f"{len(originals)} runs answer the originals, and {len(partners)} the partners"
        )
    runs = [pair_outcomes(pairs, *given, answers) for given in zip(originals, partners, strict=True)]
    complete = np.any([run.complete for run in runs], axis=0)
    images = Images.among(pairs.images, complete, n_samples=bootstrap, seed=seed)
    whole = np.zeros(len(pairs), dtype=np.int32)
    (overall,) = _groups(runs, whole, images, numbers=[None])
    parts = {}
    for name, part in pairs.parts.items():
        numbers, places = np.unique(part, return_inverse=True)
        parts[name] = tuple(_groups(runs, places.astype(np.int32), images, numbers=numbers.tolist()))
    return ScoredPairs(overall, parts, bootstrap=bootstrap, seed=seed)


def check_given(given: Answers, n: int, name: str) -> None:
    """Checks that answers are those of one run or more to n questions.

    Raises:
        PredictionsError: they are not.
    """
    if given.ndim != 2 or given.shape[1] != n or not len(given):
        raise PredictionsError(f"the {name}' answers have shape {given.shape}; expected (runs, {n})")


def _groups(
    runs: Sequence[Outcomes], part: Ints, images: Images, numbers: Sequence[int | None]
) -> list[PairGroup]:
    """The groups of a breakdown.

    `part` is (K,) the place of each pair's part in `numbers`, those of parts with a pair; None for all pairs.
    """
    n_parts = len(numbers)
    columns = [_columns(run) for run in runs]
    found = np.stack([cell_counts(each, part, n_parts) for each in columns])  # (R, n_parts, 6)
    left_out = np.stack([cell_counts((~run.complete, run.unread), part, n_parts) for run in runs])
    drawn = images.drawn_counts(columns, part, n_parts)  # (n_samples, R, n_parts, 6)
    return [
        _group(number, found[:, place], left_out[:, place], drawn[:, :, place])
        for place, number in enumerate(numbers)
    ]


def _group(number: int | None, found: Floats, left_out: Floats, drawn: Floats) -> PairGroup:
    """The scores of R runs and their mean; arguments as `_scores`."""
    by_run = tuple(_scores(found[[k]], left_out[[k]], drawn[:, [k]]) for k in range(len(found)))
    return PairGroup(number, by_run, _scores(found, left_out, drawn))


def _scores(found: Floats, left_out: Floats, drawn: Floats) -> PairScores:
    """The scores from (R, 6) counts, (R, 2) pairs missing and answers unread, and (n_samples, R, 6) drawn."""
    shares, drawn_shares = _shares(found), _shares(drawn)
    return PairScores(
        **{name: share.measure(drawn_shares[name]) for name, share in shares.items()},
        n_pairs=int(found[:, 0].sum()),
        n_missing=int(left_out[:, 0].sum()),
        n_unread=int(left_out[:, 1].sum()),
    )


def _columns(outcomes: Outcomes) -> tuple[Flags, ...]:
    """The flags whose counts give all shares."""
    return (
        outcomes.complete,
        outcomes.original_right,
        outcomes.partner_right,
        outcomes.both_right,
        outcomes.consistent,
        outcomes.strict,
    )


def _shares(counts: Floats) -> Mapping[str, Share]:
    """The measures of `PairScores` by name, (...) each, from (..., 6) counts of `_columns`."""
    pairs, original, partner, both, consistent, strict = np.moveaxis(counts, -1, 0)
    rad = ratio(both, original)
    partner_accuracy = ratio(partner, pairs)
    return {
        "accuracy": Share(ratio(original + partner, 2 * pairs), 2 * pairs),
        "original_accuracy": Share(ratio(original, pairs), pairs),
        "partner_accuracy": Share(partner_accuracy, pairs),
        "consistency": Share(ratio(consistent, pairs), pairs),
        "strict_consistency": Share(ratio(strict, pairs), pairs),
        "both_right": Share(ratio(both, pairs), pairs),
        "rad": Share(rad, original),
        "rad_backward": Share(ratio(both, partner), partner),
        "rad_minus_accuracy": Share(rad - partner_accuracy, original),
    }
