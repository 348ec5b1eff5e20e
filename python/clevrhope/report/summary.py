"""The tables that sum a report up: a row for each group of runs, and one for each run."""

from collections.abc import Iterator, Sequence

from clevrhope.metrics.estimates import LEAST_DENOMINATOR, Estimate
from clevrhope.report.groups import (
    Group,
    accuracy,
    blind,
    complex_gap,
    matched_gap,
    plain_beside_matched,
)
from clevrhope.report.page import Cell, Table
from clevrhope.report.tables import MINUS, NO_BREAK, is_grey, unmatched_cells, with_sign
from clevrhope.splits.kinds import IID, OOD


def summary_tables(groups: Sequence[Group]) -> Iterator[Table]:
    """Accuracies, gaps and transfer by group, and the plain beside the matched gap."""
    rows = [row for each in groups for row in _with_uncollapsed(each)]
    if not rows:
        return
    yield Table(
        title="Accuracy, gap and transfer",
        head=["model", *_PLACE, "pairs or palettes, runs", f"{IID}, %", f"{OOD}, %", "question alone: IID, %",
              "OOD, %", "complex gap, points", "normalised transfer", "if always right"],
        rows=[
            [Cell(each.model), *_place(each), Cell(_counts(each)),
             *(_cell(each, estimate) for estimate in (
                 each.estimate(accuracy(IID)), each.estimate(accuracy(OOD)),
                 each.estimate(blind(IID)), each.estimate(blind(OOD)))),
             _cell(each, each.estimate(complex_gap), points=True), _transfer(each, each.transfer),
             Cell("" if each.perfect_transfer is None else f"{each.perfect_transfer:.2f}")]
            for each in rows
        ],
        note="Means over pairs or palettes of the means over runs on each. Intervals are bootstraps over "
        "pairs or palettes; those of a single one are over its images alone. The "
        "transfer is (OOD minus question alone) / (IID minus question alone): 1 where the image adds as many "
        "points OOD as IID, 0 where it adds none OOD. The last column is of a model that is always right. "
        f"There is none where the denominator is below {LEAST_DENOMINATOR:g} points.",
    )  # fmt: skip
    matched = [each for each in rows if each.estimate(matched_gap) is not None]
    if matched:
        yield Table(
            title="Plain and matched complex gap, on the same OOD questions, points",
            head=["model", *_PLACE, "plain gap", "matched gap", "cells without a match",
                  "OOD questions in them"],
            rows=[
                [Cell(each.model), *_place(each),
                 _cell(each, each.estimate(plain_beside_matched), points=True),
                 _cell(each, each.estimate(matched_gap), points=True), *unmatched_cells(each.results)]
                for each in matched
            ],
            note="Matched: IID questions that mention a seen pair of the same two attributes, weighted by "
            "OOD's families and numbers of objects (docs/report.md). OOD questions without a match are in "
            "neither gap. A pair's cells count once, not once for each run.",
        )  # fmt: skip


def runs_table(groups: Sequence[Group]) -> Table:
    """A row for each run."""
    rows = [each for group in groups for each in group.results]
    is_one = len({each.source.dataset.resolve() for each in rows}) == 1
    return Table(
        title="Every run",
        head=["model", "held-out pair" if is_one else "dataset, held-out pair", "diversity", "train size",
              "run", f"{IID}, %", f"{OOD}, %",
              "complex gap, points", "matched gap, points", "normalised transfer"],
        rows=[
            [Cell(each.model),
             Cell(each.hop if is_one else f"{each.source.dataset.resolve().name}, {each.hop}"),
             Cell(str(each.diversity)), Cell(each.size),
             Cell(f"{each.run}, collapsed" if each.collapsed else each.run),
             *(_cell(of_run, estimate) for estimate in (each.accuracies.get(IID), each.accuracies.get(OOD))),
             *(_cell(of_run, estimate, points=True) for estimate in (complex_gap(each), matched_gap(each))),
             _transfer(of_run, of_run.transfer)]
            for each in rows
            for of_run in [Group((each,))]
        ],
        note="Intervals are bootstraps over images.",
    )  # fmt: skip


_PLACE = ("combinations", "diversity", "train size")


def _place(group: Group) -> list[Cell]:
    return [Cell(group.combinations or "all"), Cell(str(group.diversity)), Cell(group.size)]


def _with_uncollapsed(group: Group) -> list[Group]:
    without = group.without_collapsed()
    return [group] if without is None else [group, without]


def _counts(group: Group) -> str:
    text = f"{len(group.sub_datasets)}, {len(group.results)}"
    return f"{text} without {group.n_collapsed} collapsed" if group.n_collapsed else text


def _cell(group: Group, estimate: Estimate | None, *, points: bool = False) -> Cell:
    if estimate is None:
        return Cell()
    return Cell(estimate_text(estimate, points=points), is_grey(group.results))


def _transfer(group: Group, estimate: Estimate | None) -> Cell:
    return Cell() if estimate is None else Cell(estimate_text(estimate, digits=2), is_grey(group.results))


def estimate_text(estimate: Estimate, *, points: bool = False, digits: int = 1) -> str:
    """A figure with its interval, as "-24.3 [-30.1, -18.2]"."""

    def text(value: float) -> str:
        return with_sign(value) if points else f"{value:.{digits}f}".replace("-", MINUS)

    interval = estimate.interval
    beside = "" if interval is None else f" [{text(interval.low)},{NO_BREAK}{text(interval.high)}]"
    return text(estimate.value) + beside
