"""A model's name in, the paper's values to set beside its own out; those of the same pairs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from clevrhope.metrics.paper import paper_results, size_number
from clevrhope.splits.kinds import SYSTEMATICITY_GAPS


@dataclass(frozen=True, slots=True)
class PaperGap:
    """The paper's mean gap over some pairs of a diversity.

    Attributes:
        points: the mean, as printed in tables 16 to 21 where all of the paper's pairs are among them, else
            from tables 4 to 15.
        deviation: over pairs and seeds, as printed; None where not all pairs are among them.
        n_pairs: how many are.
        n_all: how many the paper has.
    """

    points: float
    deviation: float | None
    n_pairs: int
    n_all: int


def paper_accuracies(model: str) -> Mapping[tuple[str, str, int], float]:
    """(test set, pair, train size) -> per cent, the mean over the paper's seeds; none of other models."""
    return {
        (each.split, each.hop, size_number(each.train_size)): each.mean_percent
        for each in paper_results()
        if each.model == model and each.metric == "accuracy"
    }


def paper_gaps(model: str, kind: str, size: int) -> Mapping[str, float]:
    """Pair -> the paper's gap at a train size, in points; nothing at sizes that it has not."""
    accuracies, gap = paper_accuracies(model), SYSTEMATICITY_GAPS[kind]
    return {
        hop: ood - accuracies[gap.baseline, hop, size]
        for (split, hop, of_size), ood in accuracies.items()
        if (split, of_size) == (gap.split, size) and (gap.baseline, hop, size) in accuracies
    }


def paper_sizes(model: str) -> tuple[int, ...]:
    """The train sizes that the paper has gaps of the model at."""
    sizes = {each.train_size for each in paper_results() if (each.model, each.metric) == (model, "gap")}
    return tuple(sorted(map(size_number, sizes)))


def paper_gap(model: str, kind: str, diversity: int, size: int, hops: Collection[str]) -> PaperGap | None:
    """The mean gap over some pairs; None where the paper has not all of them, so that none compares."""
    printed = [
        each
        for each in paper_results()
        if (each.model, each.metric, each.split) == (model, "gap", kind)
        and (each.diversity, size_number(each.train_size)) == (diversity, size)
    ]
    gaps = paper_gaps(model, kind, size)
    of_pairs = {hop: gap for hop, gap in gaps.items() if _diversities()[hop] == diversity}
    shared = [gap for hop, gap in of_pairs.items() if hop in hops]
    if not printed or not shared or len(shared) < len(set(hops)):
        return None
    if len(shared) == len(of_pairs):
        return PaperGap(printed[0].mean_percent, printed[0].std_percent, len(shared), len(of_pairs))
    return PaperGap(float(np.mean(shared)), None, len(shared), len(of_pairs))


@cache
def _diversities() -> Mapping[str, int]:
    return {each.hop: each.diversity for each in paper_results() if each.hop}
