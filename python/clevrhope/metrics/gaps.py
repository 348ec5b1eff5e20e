"""Systematicity gaps by diversity and train size, from rows with one accuracy each.

Rows are mappings with the columns of `paper_results.csv` (see `paper`). Rows of gaps are ignored, so a whole
file can be passed. A column `run` distinguishes several runs.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from clevrhope.errors import MismatchedRunsError, PredictionsError
from clevrhope.metrics.estimates import Mean, mean_of
from clevrhope.splits.kinds import SYSTEMATICITY_GAPS

GapKey = tuple[Any, str, Any, Any]
"""Model, "complex" or "minimal", diversity and train size; all but the second are as in the rows."""

_NEEDED = ("model", "split", "hop", "diversity", "train_size", "mean_percent")
_OF_RUN = ("model", "hop", "diversity", "train_size", "run")
"""Columns in which the two accuracies of a gap must agree."""


def systematicity_gap(ood: Mapping[str, Any], iid: Mapping[str, Any]) -> float:
    """OOD minus IID accuracy of two rows, in percentage points (negative: a drop).

    Source: CLEVR-HOPE, section 4.2.

    Raises:
        MismatchedRunsError: the two are from different models, HOPs, train sizes or runs, or are not from the
            OOD and IID splits of a gap.
    """
    for name in _OF_RUN:
        if ood.get(name) != iid.get(name):
            raise MismatchedRunsError(
                f"a gap needs two accuracies of one model: {name} is {ood.get(name)!r} and {iid.get(name)!r}"
            )
    known = [f"{each.name} minus {each.baseline}" for each in SYSTEMATICITY_GAPS.values()]
    if f"{ood['split']} minus {iid['split']}" not in known:
        raise MismatchedRunsError(f"a gap is {' or '.join(known)}, not {ood['split']} minus {iid['split']}")
    return float(ood["mean_percent"]) - float(iid["mean_percent"])


def gap_by_diversity(rows: Iterable[Mapping[str, Any]]) -> dict[GapKey, float]:
    """Mean gaps, (model, "complex" or "minimal", diversity, train size) -> percentage points.

    A mean is over all HOPs of the diversity (and over all runs, if rows name them). An accuracy without its
    counterpart is left out.

    Raises:
        PredictionsError: a row lacks a column, or an accuracy occurs twice.
    """
    return {key: mean.value for key, mean in gaps_by_run(rows).items()}


def gaps_by_run(rows: Iterable[Mapping[str, Any]]) -> dict[GapKey, Mean]:
    """Mean, standard deviation and number of the gaps of all HOPs and runs.

    Keys and errors are those of `gap_by_diversity`. The deviation is that of a population (ddof 0), as in the
    paper's tables.
    """
    name_of = {split: name for name, gap in SYSTEMATICITY_GAPS.items() for split in (gap.name, gap.baseline)}
    pairs: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("metric", "accuracy") != "accuracy":
            continue
        for name in _NEEDED:
            if name not in row:
                raise PredictionsError(
                    f'a row of results has no "{name}"; it needs the columns {", ".join(_NEEDED)}'
                )
        split = str(row["split"])
        if split not in name_of:
            continue
        halves = pairs.setdefault((name_of[split], *(row.get(name) for name in _OF_RUN)), {})
        if split in halves:
            raise PredictionsError(
                f"{row['model']} on {row['split']} of {row['hop']} after {row['train_size']} is there twice; "
                'tell several runs apart by a column "run"'
            )
        halves[split] = row
    found: dict[GapKey, list[float]] = {}
    for (name, model, _, diversity, size, _), halves in pairs.items():
        if len(halves) == 2:
            gap = SYSTEMATICITY_GAPS[name]
            points = systematicity_gap(halves[gap.name], halves[gap.baseline])
            found.setdefault((model, str(name), diversity, size), []).append(points)
    return {key: mean_of(points, ddof=0) for key, points in found.items()}
