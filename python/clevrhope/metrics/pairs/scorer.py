"""Scores the answers of several runs to pairs of questions: over all pairs, and by part of each breakdown."""

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
    """The scores of R runs on K pairs: for each run, and their mean.

    Intervals are percentiles of a bootstrap that draws images with replacement, each with all of its pairs.

    Args:
        pairs: the pairs with their right answers.
        originals: (R, K) the runs' answers to the originals, NOT_GIVEN where one is missing.
        partners: (R, K) the runs' answers to the partners, likewise.
        answers: the vocabulary.
        seed: seed of the bootstrap, 0 or more; the same seed gives the same intervals.
        bootstrap: number of bootstrap samples; 0 for no intervals.

    Raises:
        PredictionsError: arrays do not fit together, or a pair's right answers do not satisfy its relation.
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
    """Checks that the array has answers of at least one run to n questions.

    Raises:
        PredictionsError: it has another shape.
    """
    if given.ndim != 2 or given.shape[1] != n or not len(given):
        raise PredictionsError(f"the {name}' answers have shape {given.shape}; expected (runs, {n})")


def _groups(
    runs: Sequence[Outcomes], part: Ints, images: Images, numbers: Sequence[int | None]
) -> list[PairGroup]:
    """The groups of a breakdown.

    `numbers` are those of the parts that have a pair, or None for all pairs; `part` (K,) indexes it.
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
    """The scores of R runs and their mean; takes the arguments of `_scores`."""
    by_run = tuple(_scores(found[[k]], left_out[[k]], drawn[:, [k]]) for k in range(len(found)))
    return PairGroup(number, by_run, _scores(found, left_out, drawn))


def _scores(found: Floats, left_out: Floats, drawn: Floats) -> PairScores:
    """The scores from (R, 6) counts, (R, 2) missing pairs and unread answers, and (n_samples, R, 6) draws."""
    shares, drawn_shares = _shares(found), _shares(drawn)
    return PairScores(
        **{name: share.measure(drawn_shares[name]) for name, share in shares.items()},
        n_pairs=int(found[:, 0].sum()),
        n_missing=int(left_out[:, 0].sum()),
        n_unread=int(left_out[:, 1].sum()),
    )


def _columns(outcomes: Outcomes) -> tuple[Flags, ...]:
    """The flags from whose counts all shares follow."""
    return (
        outcomes.complete,
        outcomes.original_right,
        outcomes.partner_right,
        outcomes.both_right,
        outcomes.consistent,
        outcomes.strict,
    )


def _shares(counts: Floats) -> Mapping[str, Share]:
    """The measures of `PairScores` by name, each of shape (...), from (..., 6) counts of `_columns`."""
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
