"""Over all held-out pairs: mean gaps, runs above a constant answer, the chosen six and the others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from clevrhope.metrics.estimates import Mean, mean_of
from clevrhope.report.page import Table
from clevrhope.report.results import KINDS, Result, grouped, means_by
from clevrhope.report.tables import models_of, paper_gaps, spread, table_of, with_sign
from clevrhope.splits.hops import HOP_GROUPS
from clevrhope.splits.kinds import MINIMAL_OOD

ALL_HOPS = "all pairs"
"""In the column of held-out pairs of results.csv, for means over all of them."""

_SEED = 0
_N_RESAMPLES = 9_999


class AllPairs(NamedTuple):
    """The runs of a model at a train size, on two plain pairs or more."""

    model: str
    size: int
    results: Sequence[Result]

    @property
    def of_pair(self) -> Mapping[str, Sequence[Result]]:
        """Held-out pair -> its runs."""
        return grouped(self.results, lambda each: each.hop)

    def gaps(self, kind: str) -> list[float]:
        """The gaps of all pairs and runs in points, over which the paper's mean and deviation are taken."""
        return [gap.value for each in self.results if (gap := each.gap(kind)) is not None]

    @property
    def paper_name(self) -> str:
        """The model's name in the paper's results."""
        return self.results[0].source.paper_model

    def above_constant(self) -> tuple[int, int]:
        """How many runs are better on minimal_ood than its most frequent answer, and of how many."""
        known = [
            each for each in self.results if MINIMAL_OOD in each.accuracies and MINIMAL_OOD in each.constants
        ]
        above = [each.accuracies[MINIMAL_OOD].value > each.constants[MINIMAL_OOD] for each in known]
        return sum(above), len(above)

    def chosen_and_others(self, kind: str) -> tuple[list[float], list[float]]:
        """The mean gaps of the pairs that the paper chose for all of its models, and of its other pairs."""
        means = means_by(lambda each: each.hop, self.results, "gap", kind)
        chosen, known = HOP_GROUPS["first6"], HOP_GROUPS["all"]
        return [means[hop] for hop in chosen if hop in means], [
            mean for hop, mean in means.items() if hop in known and hop not in chosen
        ]


def all_pairs(results: Sequence[Result]) -> Iterator[AllPairs]:
    """Each model at each train size with plain pairs, two or more, in the order of the models."""
    plain = [each for each in results if each.diversity and not each.mode and any(map(each.gap, KINDS))]
    for model in models_of(plain):
        of_size = grouped([each for each in plain if each.model == model], lambda each: each.train_size or 0)
        for size, runs in sorted(of_size.items()):
            if len({each.hop for each in runs}) > 1:
                yield AllPairs(model, size, runs)


def mean_gap(of: AllPairs, kind: str) -> Mean | None:
    """The mean over all pairs and runs with its population deviation, as in the paper's figures 15 to 18."""
    gaps = of.gaps(kind)
    return mean_of(gaps, ddof=0) if gaps else None


def all_pairs_table(results: Sequence[Result], *, tests: bool) -> Table:
    """A row for each model and train size; `tests` is whether scipy is there to compare groups of pairs."""
    columns: list[tuple[str, Callable[[AllPairs], str]]] = [
        ("model", lambda of: of.model),
        ("train size", lambda of: f"{of.size:,}" if of.size else ""),
        ("pairs", lambda of: f"{len(of.of_pair)}"),
        *((f"{kind} gap", partial(_gap_text, kind)) for kind in KINDS),
        *((f"{kind} gap, the paper's", partial(_paper_text, kind)) for kind in KINDS),
        (f"runs above the constant answer on {MINIMAL_OOD}", _above_text),
    ]
    if tests:
        columns += [(f"{kind} gap, chosen six minus others", partial(_compared_text, kind)) for kind in KINDS]
    return table_of(all_pairs(results), columns)


def _gap_text(kind: str, of: AllPairs) -> str:
    gaps = of.gaps(kind)
    return spread(gaps, signed=True, ddof=0) if gaps else ""


def _paper_text(kind: str, of: AllPairs) -> str:
    gaps = paper_gaps(of.paper_name, kind, of.size)
    return f"{with_sign(float(np.mean(list(gaps.values()))))} ({len(gaps)} pairs)" if gaps else ""


def _above_text(of: AllPairs) -> str:
    above, n = of.above_constant()
    return f"{above} of {n}, {100 * above / n:.0f}%" if n else ""


def _compared_text(kind: str, of: AllPairs) -> str:
    chosen, others = of.chosen_and_others(kind)
    if min(len(chosen), len(others)) < 2:  # nothing can be permuted
        return ""
    difference, p = compared(chosen, others)
    return f"{with_sign(difference)} (p = {p:.2f}; {len(chosen)} and {len(others)} pairs)"


def compared(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """The difference of two groups' means, and the two-sided p of a permutation test over pairs."""
    from scipy.stats import permutation_test

    def difference(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:  # type: ignore[type-arg]
        return np.asarray(np.mean(a, axis=axis) - np.mean(b, axis=axis))

    found = permutation_test(
        (first, second),
        difference,
        n_resamples=_N_RESAMPLES,
        vectorized=True,
        rng=np.random.default_rng(_SEED),
    )
    return float(found.statistic), float(found.pvalue)
