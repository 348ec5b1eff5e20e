"""The summary of a report: the question and its answer, a row for each group of runs, and one for each run.

The runs of a group share a row: one model, one way of choosing combinations, one diversity and one train
size. A figure of a group is the mean over sub-datasets (pairs, palettes, datasets) of the mean over runs on
each. Its 95% interval is over the sub-datasets, or over the images and runs of a single one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrhope.errors import counted
from clevrhope.metrics.estimates import Estimate, mean_of, mean_of_datasets, mean_of_runs, transfer
from clevrhope.report.page import Table
from clevrhope.report.results import BY_FAMILY, FLOORS, Result, grouped
from clevrhope.report.tables import (
    MINUS,
    NO_BREAK,
    Columns,
    table_of,
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
            if self.has_stand_in or any(run.blind is None for run in self.results) or None in of_all:
                return None
            return transfer(*(figure for figure in of_all if figure is not None))
        figures = [
            [figure for run in runs if (figure := run.figure(measure, split)) is not None]
            for runs in self.sub_datasets.values()
        ]
        stream = 1 if measure == "blind" else 0
        means = [mean_of_runs(of_runs, stream=stream) for of_runs in figures if of_runs]
        return mean_of_datasets(means) if means else None

    @property
    def has_stand_in(self) -> bool:
        """Whether the question alone is answered by a baseline, for want of runs of question_only."""
        return any(run.blind and run.blind.name == BY_FAMILY for run in self.results)

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the complex gap over runs of one sub-dataset; None of a single run."""
        gaps = [gap.value for run in self.results if (gap := run.gap("complex")) is not None]
        return mean_of(gaps).deviation if len(gaps) > 1 and len(self.sub_datasets) == 1 else None

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
            "runs": counted(len(shown.results), "run"),
            "n_runs": len(shown.results),
            "deviation": None if shown.deviation is None else f"{shown.deviation:.1f}",
            "with_collapsed": counted(collapsed, "collapsed run") if collapsed else "",
            "without_collapsed": counted(shown.n_collapsed, "collapsed run") if shown.n_collapsed else "",
        })  # fmt: skip
    runs = [run for group in silent for run in group.results]
    return {
        "name": ", ".join(filter(None, (first.model, first.combinations, first.size))),
        "gaps": gaps,
        "silent": [group.first.diversity for group in silent],
        "has_answers": any(
            run.n_asked.get(split) != run.n_unanswered.get(split) for run in runs for split in (IID, OOD)
        ),
    }


def beat_baseline(runs: Sequence[Result]) -> bool:
    """Whether runs beat the question-only baseline in mean IID accuracy; true where that is unknown."""
    iid = [each.accuracies[IID].value for each in runs if IID in each.accuracies]
    floors = [each.floor for each in runs if each.floor is not None]
    return not (iid and floors) or mean_of(iid).value > mean_of(floors).value


# Tables with a row for each group


def _figure(measure: str, split: str = "", unit: str = "percent") -> Callable[[Group], str]:
    """The cells of a figure of groups, in "percent", in "points" (with a sign) or as a "ratio"."""

    def cell(group: Group) -> str:
        estimate = group.estimate(measure, split)
        if estimate is None:
            return ""
        digits = 2 if unit == "ratio" else 1
        stands_in = " by family" if measure == "blind" and group.has_stand_in else ""
        return estimate_text(estimate, points=unit == "points", digits=digits) + stands_in

    return cell


def _constant(split: str) -> Callable[[Group], str]:
    """The cells with the mean accuracy of a constant answer on a split."""

    def cell(group: Group) -> str:
        constants = [run.constants[split] for run in group.results if split in run.constants]
        return f"{sum(constants) / len(constants):.1f}" if constants else ""

    return cell


def _place(group: Group) -> str:
    hops = {run.hop for run in group.results}
    return min(hops) if len(hops) == 1 else f"{len(hops)} pairs"


def _counts(group: Group) -> str:
    text = f"{len(group.sub_datasets)}, {len(group.results)}"
    if all(run.collapsed for run in group.results):
        return f"{text}, all collapsed"
    return f"{text} without {group.n_collapsed} collapsed" if group.n_collapsed else text


def _questions(*splits: str) -> Callable[[Group], str]:
    """The cells with the numbers of questions that runs answered, of one run of each sub-dataset."""

    def cell(group: Group) -> str:
        firsts = [runs[0] for runs in group.sub_datasets.values()]
        counts = [sum(run.n_asked.get(split, 0) for run in firsts) for split in splits]
        return ", ".join(f"{n:,}" for n in counts) if any(counts) else ""

    return cell


def _perfect_transfer(group: Group) -> str:
    perfect = group.perfect_transfer
    return "" if perfect is None else f"{perfect:.2f}"


_MINIMAL_GAP = SYSTEMATICITY_GAPS["minimal"]
_OF_GROUPS: Columns[Group] = (
    ("model", lambda group: group.first.model),
    ("held-out pair", _place),
    ("diversity", lambda group: str(group.first.diversity)),
    ("train size", lambda group: group.first.size),
)
_ACCURACIES: Columns[Group] = (
    (f"{IID}, %", _figure("accuracy", IID)),
    (f"{OOD}, %", _figure("accuracy", OOD)),
)
_GAP: Columns[Group] = (("complex gap, points", _figure("gap", "complex", "points")),)
_TRANSFER: Columns[Group] = (("normalised transfer", _figure("transfer", "", "ratio")),)

_SUMMARY: Columns[Group] = (
    *_OF_GROUPS,
    ("pairs or palettes, runs", _counts),
    ("n: questions IID, OOD", _questions(IID, OOD)),
    *_ACCURACIES,
    (f"question alone: {IID}, %", _figure("blind", IID)),
    (f"question alone: {OOD}, %", _figure("blind", OOD)),
    *_GAP,
    *_TRANSFER,
    ("transfer if always right", _perfect_transfer),
)
_MATCHED: Columns[Group] = (
    *_OF_GROUPS,
    ("plain gap", _figure("plain_gap", "complex", "points")),
    ("matched gap", _figure("matched_gap", "complex", "points")),
    ("cells without a match", lambda group: unmatched_cells(group.results)[0]),
    ("OOD questions in them", lambda group: unmatched_cells(group.results)[1]),
)
_MINIMAL: Columns[Group] = (
    *_OF_GROUPS,
    ("n: questions IID, OOD", _questions(_MINIMAL_GAP.baseline, _MINIMAL_GAP.name)),
    (_MINIMAL_GAP.baseline, _figure("accuracy", _MINIMAL_GAP.baseline)),
    ("a constant answer", _constant(_MINIMAL_GAP.baseline)),
    ("whole groups right", _figure("group_accuracy", _MINIMAL_GAP.baseline)),
    ("smaller groups right", _figure("smaller_group_accuracy", _MINIMAL_GAP.baseline)),
    (_MINIMAL_GAP.name, _figure("accuracy", _MINIMAL_GAP.name)),
    ("a constant answer", _constant(_MINIMAL_GAP.name)),
    ("whole groups right", _figure("group_accuracy", _MINIMAL_GAP.name)),
    ("minimal gap, points", _figure("gap", "minimal", "points")),
)
_RUNS: Columns[Group] = (
    *_OF_GROUPS,
    ("run", lambda group: f"{group.first.run}{', collapsed' if group.first.collapsed else ''}"),
    ("n: questions IID, OOD", _questions(IID, OOD)),
    *_ACCURACIES,
    *_GAP,
    ("matched gap, points", _figure("matched_gap", "complex", "points")),
    *_TRANSFER,
)
_RUNS_OF_DATASETS: Columns[Group] = (
    _RUNS[0],
    ("dataset, held-out pair", lambda run: f"{run.first.source.dataset.resolve().name}, {_place(run)}"),
    *_RUNS[2:],
)


def summary_tables(groups: Sequence[Group]) -> dict[str, Table]:
    """The tables of groups of runs, each followed by itself without its collapsed runs, and of every run.

    "summary" has accuracies, gaps and transfer; "matched" the plain beside the matched gap, on the same OOD
    questions; "minimal" the minimal sets of controlled diversity beside a constant answer.
    """
    rows = [row for group in groups for row in (group, group.without_collapsed()) if row is not None]
    runs = [Group((run,)) for group in groups for run in group.results]
    n_datasets = len({run.first.source.dataset.resolve() for run in runs})
    return {
        "summary": table_of(rows, _SUMMARY),
        "matched": table_of([row for row in rows if row.estimate("matched_gap") is not None], _MATCHED),
        "minimal": table_of([each for each in groups if each.estimate("gap", "minimal")], _MINIMAL),
        "runs": table_of(runs, _RUNS if n_datasets == 1 else _RUNS_OF_DATASETS),
    }


def estimate_text(estimate: "Estimate | MeanSlope", *, points: bool = False, digits: int = 1) -> str:
    """A figure with its interval, as "-24.3 [-30.1, -18.2]"; with its sign if it is in points."""

    def text(value: float) -> str:
        return with_sign(value, digits) if points else f"{value:.{digits}f}".replace("-", MINUS)

    interval = estimate.interval
    beside = "" if interval is None else f" [{text(interval.low)},{NO_BREAK}{text(interval.high)}]"
    return text(estimate.value) + beside
