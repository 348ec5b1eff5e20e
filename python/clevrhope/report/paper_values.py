"""The paper's values to compare a model with, over the same pairs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from clevrhope.metrics.paper import paper_results, size_number
from clevrhope.splits.kinds import SYSTEMATICITY_GAPS


@dataclass(frozen=True, slots=True)
class PaperGap:
    """The paper's mean gap over some pairs of a diversity.

    Attributes: points: The mean, as printed in tables 16 to 21 if it is over all of the paper's pairs,
    else worked out from tables 4 to 15. deviation: Deviation over pairs and seeds, as printed; None if it
    is not over all pairs. n_pairs: Number of these pairs. n_all: Number of pairs in the paper.
    """

    points: float
    deviation: float | None
    n_pairs: int
    n_all: int


def paper_accuracies(model: str) -> Mapping[tuple[str, str, int], float]:
    """(test set, pair, train size) -> mean over the paper's seeds, in per cent; empty for other models."""
    return {
        (each.split, each.hop, size_number(each.train_size)): each.mean_percent
        for each in paper_results()
        if each.model == model and each.metric == "accuracy"
    }


def paper_gaps(model: str, kind: str, size: int) -> Mapping[str, float]:
    """Pair -> the paper's gap at a train size in points; empty for sizes that are not in the paper."""
    accuracies, gap = paper_accuracies(model), SYSTEMATICITY_GAPS[kind]
    return {
        hop: ood - accuracies[gap.baseline, hop, size]
        for (split, hop, of_size), ood in accuracies.items()
        if (split, of_size) == (gap.split, size) and (gap.baseline, hop, size) in accuracies
    }


def paper_sizes(model: str) -> tuple[int, ...]:
    """The train sizes at which the paper has gaps of the model."""
    sizes = {each.train_size for each in paper_results() if (each.model, each.metric) == (model, "gap")}
    return tuple(sorted(map(size_number, sizes)))


def paper_gap(model: str, kind: str, diversity: int, size: int, hops: Collection[str]) -> PaperGap | None:
    """The mean gap over some pairs; None if the paper does not have all of them."""
    printed = [
        each
        for each in paper_results()
        if (each.model, each.metric, each.split) == (model, "gap", kind)
        and (each.diversity, size_number(each.train_size)) == (diversity, size)
    ]
    of_level = {each.hop for each in paper_results() if each.diversity == diversity}
    of_pairs = {hop: gap for hop, gap in paper_gaps(model, kind, size).items() if hop in of_level}
    shared = [gap for hop, gap in of_pairs.items() if hop in hops]
    if not printed or not shared or len(shared) < len(set(hops)):
        return None
    if len(shared) == len(of_pairs):
        return PaperGap(printed[0].mean_percent, printed[0].std_percent, len(shared), len(of_pairs))
    return PaperGap(float(np.mean(shared)), None, len(shared), len(of_pairs))
