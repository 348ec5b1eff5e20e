"""Systematicity gaps by diversity and train size, from rows with one accuracy each.

Rows are mappings with the columns of `paper_results.csv` (see `published`). Rows of gaps are ignored, so a
whole file can be passed. A column `run` distinguishes several runs.
"""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from clevrhope.errors import PredictionsError
from clevrhope.splits.kinds import SYSTEMATICITY_GAPS

GapKey = tuple[Any, str, Any, Any]
"""Model, "complex" or "minimal", diversity and train size; all but the second are as in the rows."""

_NEEDED = ("model", "split", "hop", "diversity", "train_size", "mean_percent")


def gap_by_diversity(rows: Iterable[Mapping[str, Any]]) -> dict[GapKey, float]:
    """Mean gaps, (model, "complex" or "minimal", diversity, train size) -> percentage points.

    A gap is OOD minus IID accuracy (negative: a drop). A mean is over all HOPs of the diversity (and over all
    runs, if rows name them). An accuracy without its counterpart is left out.

    Source: CLEVR-HOPE, section 4.2.

    Raises:
        PredictionsError: a row lacks a column, or an accuracy occurs twice.
    """
    accuracies: dict[tuple[Any, ...], float] = {}
    for row in rows:
        if row.get("metric", "accuracy") != "accuracy":
            continue
        for name in _NEEDED:
            if name not in row:
                raise PredictionsError(
                    f'a row of results has no "{name}"; it needs the columns {", ".join(_NEEDED)}'
                )
        of_run = tuple(row.get(name) for name in ("hop", "run", "model", "diversity", "train_size"))
        if (row["split"], *of_run) in accuracies:
            raise PredictionsError(
                f"{row['model']} on {row['split']} of {row['hop']} after {row['train_size']} is there twice; "
                'tell several runs apart by a column "run"'
            )
        accuracies[row["split"], *of_run] = float(row["mean_percent"])
    gaps: dict[GapKey, list[float]] = {}
    for kind, gap in SYSTEMATICITY_GAPS.items():
        for place, percent in accuracies.items():
            split, _, _, model, diversity, size = place
            iid = accuracies.get((gap.baseline, *place[1:]))
            if split == gap.name and iid is not None:
                gaps.setdefault((model, str(kind), diversity, size), []).append(percent - iid)
    return {key: fmean(points) for key, points in gaps.items()}
