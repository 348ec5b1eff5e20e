"""Tables of results: their cells as text, and the paper's tables, with its numbers and the differences.

Accuracies are in per cent, gaps in percentage points. A cell has mean and deviation; beside the paper's
numbers the deviation has ddof 0, as theirs.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from clevrhope.metrics.estimates import mean_of
from clevrhope.metrics.published import ResultRow, paper_results, size_name, size_number
from clevrhope.report.page import Table
from clevrhope.report.results import KINDS, Result, grouped
from clevrhope.splits.hops import name_order
from clevrhope.splits.kinds import PAIR_TEST_SPLITS, SYSTEMATICITY_GAPS

MINUS = "\N{MINUS SIGN}"
NO_BREAK = "\N{NO-BREAK SPACE}"

Item = TypeVar("Item")
Columns = Sequence[tuple[str, Callable[[Item], str]]]
"""The columns of a table: the heading of each, and what makes its cell from what a row is about."""


def table_of(items: Iterable[Item], columns: Columns[Item]) -> Table:
    """A table with a row for each item."""
    rows = [[cell(item) for _, cell in columns] for item in items]
    return Table([heading for heading, _ in columns], rows)


def models_of(results: Iterable[Result]) -> list[str]:
    """Names of the models: the paper's in its order, then others in the order in which they come."""
    order = list(dict.fromkeys(row.model for row in paper_results()))
    names: dict[str, int] = {}
    for result in results:
        paper = result.source.paper_model
        names.setdefault(result.model, order.index(paper) if paper in order else len(order))
    return sorted(names, key=lambda name: names[name])


# Tables like the paper's


class PaperValue(NamedTuple):
    """A mean of the paper: an accuracy on a pair, or a gap over some pairs of a diversity."""

    value: float
    beside: str
    """The printed deviation; of a gap over only some of the paper's pairs, their number."""


class PaperTable(NamedTuple):
    """A table like one of the paper's, and what its title and note say."""

    of: str
    """The test set, or the kind of gap."""
    number: int
    """That of the paper's table."""
    differences: str
    """How the training of the runs differs from the paper's; "" if it does not."""
    table: Table


def paper_tables(results: Sequence[Result], model: str, metric: str) -> Iterator[PaperTable]:
    """The accuracy on each test set, like the paper's tables 4 to 15, or each gap, like 16 to 21.

    Accuracies have a row for each pair, gaps one for each diversity. The columns are the train sizes, the
    paper's numbers and the differences to them. There are none of a model that the paper does not have.

    Args:
        results: last weights on plain pairs.
        model: the model's name.
        metric: "accuracy" or "gap".
    """
    own = [result for result in results if result.model == model]
    paper_models = {result.source.paper_model for result in own}
    differences = dict.fromkeys(result.source.paper_differences for result in own)
    sizes = sorted({result.train_size for result in own}, key=lambda size: -1 if size is None else size)
    for of in PAIR_TEST_SPLITS if metric == "accuracy" else KINDS:
        printed = [
            row
            for row in paper_results()
            if row.model in paper_models and (row.metric, row.split) == (metric, of)
        ]
        values = [(result, figure.value) for result in own if (figure := result.figure(metric, of))]
        if metric == "gap":
            values = [(result, value) for result, value in values if result.diversity]
        heads = [
            name for size in sizes for name in (size_name(size) or "unknown size", "paper", "difference")
        ]
        if printed and values:
            rows = [
                [name, *_cells(of_row, sizes, of, printed)]
                for name, of_row in _rows(values, by_pair=metric == "accuracy")
            ]
            number = min(row.table for row in printed)
            head = "diversity" if metric == "gap" else "held-out pair (diversity)"
            yield PaperTable(of, number, "; or ".join(filter(None, differences)), Table([head, *heads], rows))


def pairs_table(own: Iterable[Result]) -> Table:
    """The accuracies and gaps of a model that the paper does not have: a row for each pair and train size.

    Args:
        own: the model's last weights on plain pairs.
    """

    def cell(metric: str, of: str, runs: Sequence[Result]) -> str:
        found = [(figure.value, run.collapsed) for run in runs if (figure := run.figure(metric, of))]
        values, collapsed = [value for value, _ in found], [each for _, each in found]
        return with_uncollapsed(values, collapsed, partial(spread, signed=metric == "gap")) if found else ""

    cells = grouped(own, lambda run: (-run.diversity, name_order(run.hop), run.train_size or 0))
    columns: Columns[Sequence[Result]] = (
        ("held-out pair", lambda runs: runs[0].hop),
        ("diversity", lambda runs: str(runs[0].diversity or "")),
        ("train size", lambda runs: runs[0].size),
        *((split, partial(cell, "accuracy", split)) for split in PAIR_TEST_SPLITS),
        *((f"{kind} gap", partial(cell, "gap", kind)) for kind in KINDS),
    )
    return table_of([cells[key] for key in sorted(cells)], columns)


_Values = Sequence[tuple[Result, float]]
_Printed = Sequence[ResultRow]


def _rows(values: _Values, *, by_pair: bool) -> Iterator[tuple[str, _Values]]:
    """Name and values of each row, by decreasing diversity, and of pairs in the paper's order."""
    order = {hop: k for k, hop in enumerate(dict.fromkeys(row.hop for row in paper_results()))}
    rows = grouped(values, lambda value: (value[0].diversity, value[0].hop if by_pair else ""))
    for diversity, hop in sorted(
        rows, key=lambda row: (-row[0], order.get(row[1], len(order)), name_order(row[1]))
    ):
        yield f"{hop} ({diversity})" if by_pair else str(diversity), rows[diversity, hop]


def _cells(values: _Values, sizes: Sequence[int | None], of: str, printed: _Printed) -> Iterator[str]:
    """For each size our value, the paper's and the difference."""
    signed = of in KINDS
    text_of = partial(spread, signed=signed, ddof=0)
    for size in sizes:
        runs = [result for result, _ in values if result.train_size == size]
        ours = [value for result, value in values if result.train_size == size]
        yield with_uncollapsed(ours, [run.collapsed for run in runs], text_of) if runs else ""
        paper = _paper_value(printed, values[0][0], size, {run.hop for run in runs})
        yield _point(paper.value, signed=signed) + paper.beside if paper else ""
        yield with_sign(mean_of(ours).value - paper.value) if paper and ours else ""


def _paper_value(
    printed: _Printed, row: Result, size: int | None, hops: Collection[str]
) -> PaperValue | None:
    """The paper's value beside ours: the accuracy on a row's pair, or the gap over the same pairs."""
    first = printed[0]
    if first.metric == "gap":
        return paper_gap(row.source.paper_model, first.split, row.diversity, size or 0, hops)
    for each in printed:
        if (each.hop, each.train_size) == (row.hop, size_name(size)):
            return PaperValue(each.mean_percent, _plus_minus(each.std_percent))
    return None


# Texts of cells


def unmatched_cells(results: Iterable[Result]) -> list[str]:
    """The number of cells of these pairs without a match, and the share of OOD questions in them.

    Runs of a pair have the same cells, except for questions without a prediction, so each pair counts once,
    by the run with the most predictions.
    """
    there = [(each, each.matched) for each in results if each.matched is not None]
    pairs = grouped(there, lambda each: (each[0].source.dataset, each[0].hop)).values()
    matched = [max((gap for _, gap in own), key=lambda gap: gap.n_ood + gap.n_iid) for own in pairs]
    if not matched:
        return ["", ""]
    cells = f"{sum(gap.n_cells_unmatched for gap in matched)} of {sum(gap.n_cells for gap in matched)}"
    n_ood, n_unmatched = sum(gap.n_ood for gap in matched), sum(gap.n_ood_unmatched for gap in matched)
    return [cells, f"{100 * n_unmatched / max(n_ood, 1):.1f}%"]


def with_uncollapsed(
    values: Sequence[float], collapsed: Sequence[bool], text_of: Callable[[Sequence[float]], str]
) -> str:
    """The text of all values; if some runs collapsed, that of the others follows after a slash."""
    if not any(collapsed):
        return text_of(values)
    others = [value for value, has_collapsed in zip(values, collapsed, strict=True) if not has_collapsed]
    without = text_of(others) if others else "none left"
    return f"{text_of(values)} / {without} without {sum(collapsed)} collapsed"


def spread(values: Sequence[float], *, signed: bool = False, ddof: Literal[0, 1] = 1) -> str:
    """Mean, deviation and number of values as text."""
    mean = mean_of(values, ddof=ddof)
    text = _point(mean.value, signed=signed) + (_plus_minus(mean.deviation) if mean.n > 1 else "")
    return f"{text} ({mean.n})"


def _plus_minus(deviation: float) -> str:
    return f" \N{PLUS-MINUS SIGN} {deviation:.1f}"


def _point(value: float, *, signed: bool) -> str:
    return with_sign(value) if signed else f"{value:.1f}"


def with_sign(value: float, digits: int = 1) -> str:
    """A number with its sign."""
    return f"{value:+.{digits}f}".replace("-", MINUS)


# The paper's values, to compare a model with


def paper_gaps(model: str, kind: str, size: int) -> Mapping[str, float]:
    """Pair -> the paper's gap at a train size in points; empty for models and sizes that it does not have."""
    gap = SYSTEMATICITY_GAPS[kind]
    accuracies = {
        (each.split, each.hop): each.mean_percent
        for each in paper_results()
        if (each.model, each.metric, size_number(each.train_size)) == (model, "accuracy", size)
    }
    return {
        hop: ood - accuracies[gap.baseline, hop]
        for (split, hop), ood in accuracies.items()
        if split == gap.name and (gap.baseline, hop) in accuracies
    }


def paper_sizes(model: str) -> tuple[int, ...]:
    """The train sizes at which the paper has gaps of the model."""
    sizes = {each.train_size for each in paper_results() if (each.model, each.metric) == (model, "gap")}
    return tuple(sorted(map(size_number, sizes)))


def paper_gap(model: str, kind: str, diversity: int, size: int, hops: Collection[str]) -> PaperValue | None:
    """The mean gap over some pairs; None if the paper does not have all of them."""
    rows = [row for row in paper_results() if row.diversity == diversity]
    hops_here = {row.hop for row in rows}
    of_level = {hop: gap for hop, gap in paper_gaps(model, kind, size).items() if hop in hops_here}
    shared = [gap for hop, gap in of_level.items() if hop in hops]
    if not shared or len(shared) < len(set(hops)):
        return None
    if len(shared) < len(of_level):
        return PaperValue(float(np.mean(shared)), f" ({len(shared)} of {len(of_level)} pairs)")
    (row,) = (
        row
        for row in rows
        if (row.model, row.metric, row.split) == (model, "gap", kind) and size_number(row.train_size) == size
    )
    return PaperValue(row.mean_percent, _plus_minus(row.std_percent))
