"""Accuracies, a row each, in; systematicity gaps by diversity and train size, and their spread, out.

Rows have the columns of `paper_results.csv` (see `paper`), of any mapping; rows of gaps are passed over, so
all of a file can be given. Where there are several runs, a column `run` tells them apart.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clevrhope.errors import MismatchedRunsError, PredictionsError
from clevrhope.splits.kinds import SYSTEMATICITY_GAPS, GapKind

GapKey = tuple[Any, str, Any, Any]
"""Model, "complex" or "minimal", diversity and train size; but for the second as the rows have them."""

_NEEDED = ("model", "split", "hop", "diversity", "train_size", "mean_percent")
_OF_RUN = ("model", "hop", "diversity", "train_size", "run")
"""What the two accuracies of a gap have in common."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Differences over HOPs and runs.

    Attributes:
        mean: their mean, in percentage points.
        deviation: their standard deviation with ddof 0, as the paper's tables have it.
        n: how many.
    """

    mean: float
    deviation: float
    n: int


def systematicity_gap(ood: Mapping[str, Any], iid: Mapping[str, Any]) -> float:
    """OOD minus IID accuracy of two rows, in percentage points (negative: a drop).

    Source: CLEVR-HOPE, section 4.2.

    Raises:
        MismatchedRunsError: the two are of different models, HOPs, train sizes or runs, or not the two halves
            of a gap.
    """
    for name in _OF_RUN:
        if ood.get(name) != iid.get(name):
            raise MismatchedRunsError(
                f"a gap needs two accuracies of one model: {name} is {ood.get(name)!r} and {iid.get(name)!r}"
            )
    gap = GapKind(str(ood["split"]), str(iid["split"]))
    if gap not in SYSTEMATICITY_GAPS.values():
        known = " or ".join(f"{each.split} minus {each.baseline}" for each in SYSTEMATICITY_GAPS.values())
        raise MismatchedRunsError(f"a gap is {known}, not {gap.split} minus {gap.baseline}")
    return float(ood["mean_percent"]) - float(iid["mean_percent"])


def gap_by_diversity(rows: Iterable[Mapping[str, Any]]) -> dict[GapKey, float]:
    """Mean gaps, (model, "complex" or "minimal", diversity, train size) -> percentage points.

    A mean is over all HOPs of the diversity (and all runs, where rows have some); accuracies of one of a
    gap's two splits alone are left out.

    Raises:
        PredictionsError: a row without one of the columns, or the same accuracy twice.
    """
    return {key: spread.mean for key, spread in gaps_by_run(rows).items()}


def gaps_by_run(rows: Iterable[Mapping[str, Any]]) -> dict[GapKey, Spread]:
    """Mean, deviation and number of the gaps of all HOPs and runs; keys and errors as `gap_by_diversity`."""
    found: dict[GapKey, list[float]] = {}
    for key, points in gap_of_each(rows):
        found.setdefault(key, []).append(points)
    return {
        key: Spread(float(np.mean(points)), float(np.std(points)), len(points))
        for key, points in found.items()
    }


def gap_of_each(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[GapKey, float]]:
    """The gap of each HOP and run, in the order in which the rows are; errors as `gap_by_diversity`."""
    name_of = {split: name for name, gap in SYSTEMATICITY_GAPS.items() for split in (gap.split, gap.baseline)}
    pairs: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("metric", "accuracy") != "accuracy":
            continue
        _check(row)
        split = str(row["split"])
        if split not in name_of:
            continue
        halves = pairs.setdefault((name_of[split], *(row.get(name) for name in _OF_RUN)), {})
        if split in halves:
            raise PredictionsError(
                f"{row['model']} on {row['split']} of {row['hop']} after {row['train_size']} is there twice; "
                'give several runs apart, in a column "run"'
            )
        halves[split] = row
    for (name, model, _, diversity, size, _), halves in pairs.items():
        if len(halves) == 2:
            gap = SYSTEMATICITY_GAPS[name]
            points = systematicity_gap(halves[gap.split], halves[gap.baseline])
            yield (model, str(name), diversity, size), points


def _check(row: Mapping[str, Any]) -> None:
    for name in _NEEDED:
        if name not in row:
            raise PredictionsError(
                f'a row of results has no "{name}"; it needs the columns {", ".join(_NEEDED)}'
            )
