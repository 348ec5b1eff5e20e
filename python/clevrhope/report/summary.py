"""The summary of a report: the question and its answer, a row for each group of runs, and one for each run.

The runs of a group share a row: one model, one way of choosing combinations, one diversity and one train
size. A figure of a group is the mean over sub-datasets (pairs, palettes, datasets) of the mean over runs on
each. Its 95% interval is a bootstrap over the sub-datasets, or over the images of a single one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from clevrhope.metrics.estimates import Estimate, mean_of_datasets, mean_of_runs, transfer
from clevrhope.report.page import Table
from clevrhope.report.results import FLOORS, Result, grouped
from clevrhope.report.tables import (
    MINUS,
    NO_BREAK,
    beat_baseline,
    counted,
    greyed,
    unmatched_cells,
    with_sign,
)
from clevrhope.splits.kinds import IID, OOD, SYSTEMATICITY_GAPS

if TYPE_CHECKING:
    from clevrhope.metrics.slopes import MeanSlope


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that share a row.

    Attributes:
        results: of the runs.
        n_collapsed: number of runs that were left out since they collapsed.
    """

    results: tuple[Result, ...]
    n_collapsed: int = 0

    @property
    def first(self) -> Result:
        """Any of them, to ask for what they have in common: model, combinations, diversity and train size."""
        return self.results[0]

    @property
    def sub_datasets(self) -> dict[tuple[Path, str], list[Result]]:
        """The runs on each sub-dataset."""
        return grouped(self.results, lambda each: each.sub_dataset)

    def estimate(self, measure: str, split: str = "") -> Estimate | None:
        """The group's figure, as `Result.figure` names it, or its "transfer"; None where no run has it.

        Normalised transfer is that of means over the sub-datasets, and there is none where one of them has no
        question-only runs.
        """
        if measure == "transfer":
            of_all = [self.estimate(name, of) for name in ("accuracy", "blind") for of in (OOD, IID)]
            if any(run.blind is None for run in self.results) or None in of_all:
                return None
            return transfer(*(figure for figure in of_all if figure is not None))
        figures = [
            [figure for run in runs if (figure := run.figure(measure, split)) is not None]
            for runs in self.sub_datasets.values()
        ]
        means = [mean_of_runs(of_runs) for of_runs in figures if of_runs]
        return mean_of_datasets(means) if means else None

    @property
    def perfect_transfer(self) -> float | None:
        """The normalised transfer of a model that is always right; None as for the transfer."""
        ood, iid = self.estimate("blind", OOD), self.estimate("blind", IID)
        if self.estimate("transfer") is None or ood is None or iid is None:
            return None
        return (100 - ood.value) / (100 - iid.value)

    def without_collapsed(self) -> "Group | None":
        """The group without its collapsed runs; None where there are none, or nothing is left."""
        left = tuple(each for each in self.results if not each.collapsed)
        n = len(self.results) - len(left)
        return replace(self, results=left, n_collapsed=n) if n and left else None


def groups_of(results: Iterable[Result]) -> list[Group]:
    """The groups of results with a complex gap, in order: plain pairs first, by size and diversity."""
    whole = [each for each in results if each.gap("complex") is not None and each.diversity]
    found = grouped(whole, lambda each: (each.combinations, each.train_size, each.diversity, each.model))
    in_order = sorted(found, key=lambda key: (key[0], key[1] or 0, key[2]))
    return [Group(tuple(found[key])) for key in in_order]


def headlines(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """What the page begins with: each model's gaps at its largest train size, and where nothing can be said.

    Gaps at several diversities are not averaged, since nested palettes are not independent.
    """
    own = [group for group in at_largest(groups) if group.first.source.model not in FLOORS]
    lines = grouped(own, lambda group: (group.first.model, group.first.combinations))
    return [_headline(of_line) for of_line in lines.values()]


def at_largest(groups: Sequence[Group]) -> list[Group]:
    """The groups with the largest train size of each model, model by model."""
    models = grouped(groups, lambda each: each.first.model).values()
    of_sizes = [grouped(own, lambda each: each.first.train_size or 0) for own in models]
    return [each for of_size in of_sizes for each in of_size[max(of_size)]]


def _headline(groups: Sequence[Group]) -> dict[str, Any]:
    first = groups[0].first
    gaps, silent = [], []
    for group in groups:
        shown = group if beat_baseline(group.results) else group.without_collapsed()
        gap = None if shown is None else shown.estimate("gap", "complex")
        if shown is None or gap is None:
            silent.append(group)
            continue
        collapsed = sum(run.collapsed for run in shown.results)
        gaps.append({
            "text": estimate_text(gap, points=True),
            "diversity": group.first.diversity,
            "of": counted(len(shown.sub_datasets), "palette" if first.combinations else "held-out pair"),
            "with_collapsed": counted(collapsed, "collapsed run") if collapsed else "",
            "without_collapsed": counted(shown.n_collapsed, "collapsed run") if shown.n_collapsed else "",
        })  # fmt: skip
    runs = [run for group in silent for run in group.results]
    return {
        "name": ", ".join(filter(None, (first.model, first.combinations, first.size))),
        "gaps": gaps,
        "silent": [group.first.diversity for group in silent],
        "has_answers": any(run.n_answered.get(split) for run in runs for split in (IID, OOD)),
    }


# Tables with a row for each group


class Column(NamedTuple):
    """A column of a table of groups: a figure of the group, or what `_text` says of it."""

    heading: str
    measure: str
    split: str = ""
    unit: str = "percent"
    """"percent", "points" (with a sign) or "ratio" (with two digits)."""


_GAP = Column("complex gap, points", "gap", "complex", "points")
_TRANSFER = Column("normalised transfer", "transfer", "", "ratio")
_ACCURACIES = (Column(f"{IID}, %", "accuracy", IID), Column(f"{OOD}, %", "accuracy", OOD))
_OF_GROUPS = tuple(Column(name, name) for name in ("model", "held-out pair", "diversity", "train size"))
_MINIMAL = SYSTEMATICITY_GAPS["minimal"]

SUMMARY = (
    *_OF_GROUPS,
    Column("pairs or palettes, runs", "counts"),
    *_ACCURACIES,
    Column(f"question alone: {IID}, %", "blind", IID),
    Column(f"question alone: {OOD}, %", "blind", OOD),
    _GAP,
    _TRANSFER,
    Column("transfer if always right", "perfect transfer"),
)
MATCHED = (
    *_OF_GROUPS,
    Column("plain gap", "plain_gap", "complex", "points"),
    Column("matched gap", "matched_gap", "complex", "points"),
    Column("cells without a match", "unmatched cells"),
    Column("OOD questions in them", "unmatched questions"),
)
MINIMAL = (
    *_OF_GROUPS,
    Column(_MINIMAL.baseline, "accuracy", _MINIMAL.baseline),
    Column("a constant answer", "constant", _MINIMAL.baseline),
    Column(_MINIMAL.name, "accuracy", _MINIMAL.name),
    Column("a constant answer", "constant", _MINIMAL.name),
    Column("minimal gap, points", "gap", "minimal", "points"),
)
RUNS = (
    *_OF_GROUPS,
    Column("run", "run"),
    *_ACCURACIES,
    _GAP,
    Column("matched gap, points", "matched_gap", "complex", "points"),
    _TRANSFER,
)


def summary_table(groups: Sequence[Group]) -> Table:
    """Accuracies, gaps and transfer by group, and again without collapsed runs."""
    return _table(SUMMARY, with_uncollapsed_groups(groups))


def matched_table(groups: Sequence[Group]) -> Table:
    """The plain beside the matched gap, on the same OOD questions."""
    rows = with_uncollapsed_groups(groups)
    return _table(MATCHED, [group for group in rows if group.estimate("matched_gap") is not None])


def minimal_table(groups: Sequence[Group]) -> Table:
    """The minimal sets with what a constant answer has there, of the groups that answered them."""
    return _table(MINIMAL, [group for group in groups if group.estimate("gap", "minimal") is not None])


def runs_table(groups: Sequence[Group]) -> Table:
    """A row for each run."""
    rows = [Group((run,)) for group in groups for run in group.results]
    if len({group.first.source.dataset.resolve() for group in rows}) == 1:
        return _table(RUNS, rows)
    columns = [column._replace(heading=f"dataset, {column.heading}", measure="dataset")
               if column.measure == "held-out pair" else column for column in RUNS]  # fmt: skip
    return _table(columns, rows)


def with_uncollapsed_groups(groups: Sequence[Group]) -> list[Group]:
    """The groups, each followed by itself without its collapsed runs, if it has some."""
    return [row for group in groups for row in (group, group.without_collapsed()) if row is not None]


def _table(columns: Sequence[Column], groups: Sequence[Group]) -> Table:
    heads = [column.heading for column in columns]
    return Table(heads, [[_cell(group, column) for column in columns] for group in groups])


def _cell(group: Group, column: Column) -> str:
    if column.measure not in ("accuracy", "blind", "gap", "matched_gap", "plain_gap", "transfer"):
        return _text(group, column)
    estimate = group.estimate(column.measure, column.split)
    if estimate is None:
        return ""
    digits = 2 if column.unit == "ratio" else 1
    return greyed(estimate_text(estimate, points=column.unit == "points", digits=digits), group.results)


def _text(group: Group, column: Column) -> str:
    """What a column says of a group that is no figure of it."""
    first, hops = group.first, {run.hop for run in group.results}
    place = min(hops) if len(hops) == 1 else f"{len(hops)} pairs"
    constants = [run.constants[column.split] for run in group.results if column.split in run.constants]
    perfect = group.perfect_transfer if column.measure == "perfect transfer" else None
    unmatched = unmatched_cells(group.results)
    return {
        "model": first.model,
        "held-out pair": place,
        "dataset": f"{first.source.dataset.resolve().name}, {place}",
        "diversity": str(first.diversity),
        "train size": first.size,
        "run": f"{first.run}, collapsed" if first.collapsed else first.run,
        "counts": _counts(group),
        "constant": f"{sum(constants) / len(constants):.1f}" if constants else "",
        "perfect transfer": "" if perfect is None else f"{perfect:.2f}",
        "unmatched cells": unmatched[0],
        "unmatched questions": unmatched[1],
    }[column.measure]


def _counts(group: Group) -> str:
    text = f"{len(group.sub_datasets)}, {len(group.results)}"
    return f"{text} without {group.n_collapsed} collapsed" if group.n_collapsed else text


def estimate_text(estimate: "Estimate | MeanSlope", *, points: bool = False, digits: int = 1) -> str:
    """A figure with its interval, as "-24.3 [-30.1, -18.2]"; with its sign if it is in points."""

    def text(value: float) -> str:
        return with_sign(value, digits) if points else f"{value:.{digits}f}".replace("-", MINUS)

    interval = estimate.interval
    beside = "" if interval is None else f" [{text(interval.low)},{NO_BREAK}{text(interval.high)}]"
    return text(estimate.value) + beside
