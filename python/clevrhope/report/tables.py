"""Results in; the paper's tables of them, with the paper's own numbers and the difference beside ours, out.

Accuracies are in per cent, gaps in percentage points. A cell is mean and deviation (ddof 0, as the paper's).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from clevrhope.config import PAIR_SPLITS
from clevrhope.metrics.collapsed import Mean, beats_question_only, mean_of, with_and_without
from clevrhope.metrics.paper import ResultRow, paper_results, size_name
from clevrhope.report.page import Cell, Table
from clevrhope.report.results import KINDS, Result

SPLITS = tuple(split for split in PAIR_SPLITS if split != "train")
"""Test sets of a held-out pair."""

_NO_NUMBER = Cell()

MINUS = "\N{MINUS SIGN}"


def models_of(results: Iterable[Result]) -> list[str]:
    """Names of the models: the paper's first, in its order, then others as they come."""
    names = list(dict.fromkeys(each.model for each in results))
    paper = list(dict.fromkeys(each.model for each in paper_results()))
    return [*(name for name in paper if name in names), *(name for name in names if name not in paper)]


def accuracy_tables(results: Sequence[Result], model: str) -> Iterator[Table]:
    """A table a test set, as the paper's tables 4 to 15; `results` are of plain pairs, of last weights."""
    own = [each for each in results if each.model == model]
    sizes = _sizes(own)
    for split in SPLITS:
        hops = _hops([each for each in own if split in each.accuracies])
        if not hops:
            continue
        printed = {
            (each.hop, each.train_size): each
            for each in paper_results()
            if each.model == model and each.split == split and each.metric == "accuracy"
        }
        rows = [
            [Cell(f"{hop} ({diversity})"), *_accuracy_cells(own, hop, split, sizes, printed)]
            for diversity, hop in hops
        ]
        number = _number(printed.values())
        yield Table(
            title=f"{number}Accuracy of {model} on {split}, per cent",
            head=["held-out pair (diversity)", *_heads(sizes, with_paper=bool(printed))],
            rows=rows,
        )


def gap_tables(results: Sequence[Result], model: str) -> Iterator[Table]:
    """The complex and minimal gap by diversity, as the paper's tables 16 to 21."""
    own = [each for each in results if each.model == model]
    sizes = _sizes(own)
    for kind in KINDS:
        found = [each for each in own if each.gap(kind) is not None and each.diversity]
        if not found:
            continue
        printed = {
            (each.diversity, each.train_size): each
            for each in paper_results()
            if each.model == model and each.split == kind and each.metric == "gap"
        }
        rows = []
        for diversity in sorted({each.diversity for each in found}, reverse=True):
            row = [Cell(str(diversity))]
            for size in sizes:
                cell = [e for e in found if (e.diversity, e.train_size) == (diversity, size)]
                theirs = printed.get((diversity, size_name(size)))
                row += _cells(cell, [e.gap(kind) or 0.0 for e in cell], theirs, bool(printed), signed=True)
            rows.append(row)
        yield Table(
            title=f"{_number(printed.values())}{kind.capitalize()} gap of {model}, points",
            head=["diversity", *_heads(sizes, with_paper=bool(printed))],
            rows=rows,
            note="OOD minus IID accuracy; mean and deviation over all pairs of a diversity and all runs.",
        )


def matched_table(results: Sequence[Result], model: str) -> Table | None:
    """The plain complex gap beside the matched one, by diversity and train size; None without any."""
    own = [each for each in results if each.model == model and each.diversity]
    own = [each for each in own if each.matched is not None and each.matched.points is not None]
    rows = []
    for size in _sizes(own):
        for diversity in sorted({e.diversity for e in own if e.train_size == size}, reverse=True):
            cell = [e for e in own if (e.diversity, e.train_size) == (diversity, size)]
            matched = [e.matched for e in cell if e.matched is not None]
            n_ood = sum(e.n_ood for e in matched)
            without = sum(e.n_ood_unmatched for e in matched)
            grey = _grey(cell)
            rows.append([
                Cell(f"{diversity}, {size_name(size) or 'size not known'}"),
                Cell(spread(mean_of([e.gap("complex") or 0.0 for e in cell]), signed=True), grey),
                Cell(spread(mean_of([e.points or 0.0 for e in matched]), signed=True), grey),
                Cell(f"{sum(e.n_cells_unmatched for e in matched)} of {sum(e.n_cells for e in matched)}"),
                Cell(f"{100 * without / max(n_ood, 1):.1f}%"),
            ])  # fmt: skip
    if not rows:
        return None
    return Table(
        title=f"Plain and matched complex gap of {model}, points",
        head=["diversity, train size", "plain gap", "matched gap", "cells without a match",
              "OOD questions in them"],
        rows=rows,
        note="Matched: IID questions that mention a seen pair of the same two types, weighed to OOD's "
        "families and numbers of objects (docs/report.md).",
    )  # fmt: skip


def collapsed_table(results: Sequence[Result]) -> Table | None:
    """The runs that collapsed; None where none did."""
    fallen = [each for each in results if each.collapsed]
    if not fallen:
        return None
    return Table(
        title="Runs that collapsed: complex_iid below who reads the question alone",
        head=["model", "held-out pair", "train size", "run", "complex_iid", "question alone", "from"],
        rows=[
            [Cell(e.model), Cell(e.hop), Cell(e.size), Cell(e.run),
             Cell(f"{e.accuracies['complex_iid']:.1f}"), Cell(f"{e.floor:.1f}"), Cell(e.floor_from)]
            for e in fallen
        ],
        note="Never judged on an OOD set. Cells with such runs give the mean without them behind a slash.",
    )  # fmt: skip


# Cells


def _accuracy_cells(
    own: Sequence[Result],
    hop: str,
    split: str,
    sizes: Sequence[int | None],
    printed: Mapping[tuple[str, str], ResultRow],
) -> list[Cell]:
    row: list[Cell] = []
    for size in sizes:
        cell = [e for e in own if (e.hop, e.train_size) == (hop, size) and split in e.accuracies]
        theirs = printed.get((hop, size_name(size)))
        row += _cells(cell, [e.accuracies[split] for e in cell], theirs, bool(printed))
    return row


def _cells(
    cell: Sequence[Result],
    values: Sequence[float],
    theirs: ResultRow | None,
    with_paper: bool,
    *,
    signed: bool = False,
) -> list[Cell]:
    """Ours; and where the paper has the table, the paper's and the difference."""
    if not cell:
        ours, text = None, ""
    else:
        both = with_and_without(values, [each.collapsed for each in cell])
        ours, text = both.all, spread(both.all, signed=signed)
        if both.n_collapsed:
            rest = spread(both.sound, signed=signed) if both.sound else "none left"
            text += f" / {rest} without {both.n_collapsed} collapsed"
    found = [Cell(text, _grey(cell))]
    if with_paper:
        paper = Mean(theirs.mean_percent, theirs.std_percent, 3) if theirs else None
        found.append(Cell(_plain_spread(paper, signed=signed)) if paper else _NO_NUMBER)
        found.append(Cell(with_sign(ours.value - paper.value)) if paper and ours else _NO_NUMBER)
    return found


def _grey(cell: Sequence[Result]) -> bool:
    """Whether the mean IID accuracy of a cell's runs does not beat who reads the question alone."""
    iid = [e.accuracies["complex_iid"] for e in cell if "complex_iid" in e.accuracies]
    floors = [e.floor for e in cell if e.floor is not None]
    return bool(iid and floors) and not beats_question_only(mean_of(iid).value, mean_of(floors).value)


def spread(mean: Mean, *, signed: bool = False) -> str:
    """Mean and deviation, and of how many."""
    text = _plain_spread(mean, signed=signed) if mean.n > 1 else _point(mean.value, signed=signed)
    return f"{text} ({mean.n})"


def _plain_spread(mean: Mean, *, signed: bool = False) -> str:
    return f"{_point(mean.value, signed=signed)} \N{PLUS-MINUS SIGN} {mean.deviation:.1f}"


def _point(value: float, *, signed: bool) -> str:
    return with_sign(value) if signed else f"{value:.1f}"


def with_sign(value: float) -> str:
    """A number of points with its sign."""
    return f"{value:+.1f}".replace("-", MINUS)


def _heads(sizes: Sequence[int | None], *, with_paper: bool) -> list[str]:
    heads = []
    for size in sizes:
        name = size_name(size) or "size not known"
        heads += [name, "paper", "difference"] if with_paper else [name]
    return heads


def _sizes(results: Iterable[Result]) -> list[int | None]:
    return sorted({each.train_size for each in results}, key=lambda size: -1 if size is None else size)


@cache
def _paper_order() -> Mapping[str, int]:
    return {hop: k for k, hop in enumerate(dict.fromkeys(each.hop for each in paper_results()))}


def _hops(results: Iterable[Result]) -> list[tuple[int, str]]:
    """Diversity and name of each, the paper's in its order, by falling diversity."""
    found = {(each.diversity, each.hop) for each in results}
    order = _paper_order()
    return sorted(found, key=lambda each: (-each[0], order.get(each[1], len(order)), each[1]))


def _number(printed: Iterable[ResultRow]) -> str:
    tables = {each.table for each in printed}
    return f"Table {min(tables)}. " if tables else ""
