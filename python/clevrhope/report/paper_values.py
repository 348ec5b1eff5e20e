"""The paper's values to compare a model with, over the same pairs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from clevrhope.metrics.paper import paper_results, size_number
from clevrhope.splits.kinds import SYSTEMATICITY_GAPS


@dataclass(frozen=True, slots=True)
class PaperValue:
    """A mean of the paper: an accuracy on a pair, or a gap over some pairs of a diversity.

    Attributes:
        value: As printed; a gap that is not over all of the paper's pairs is worked out from tables 4 to 15.
        deviation: Deviation over seeds, of a gap over pairs and seeds, as printed; None if it is not printed.
        n_pairs: Number of these pairs.
        n_all: Number of pairs in the paper.
    """

    value: float
    deviation: float | None
    n_pairs: int = 1
    n_all: int = 1


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
        if (split, of_size) == (gap.name, size) and (gap.baseline, hop, size) in accuracies
    }


def paper_sizes(model: str) -> tuple[int, ...]:
    """The train sizes at which the paper has gaps of the model."""
    sizes = {each.train_size for each in paper_results() if (each.model, each.metric) == (model, "gap")}
    return tuple(sorted(map(size_number, sizes)))


def paper_gap(model: str, kind: str, diversity: int, size: int, hops: Collection[str]) -> PaperValue | None:
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
        return PaperValue(printed[0].mean_percent, printed[0].std_percent, len(shared), len(of_pairs))
    return PaperValue(float(np.mean(shared)), None, len(shared), len(of_pairs))
