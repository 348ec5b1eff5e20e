"""The paper's tables of results, with the paper's numbers and the differences beside ours.

Accuracies are in per cent, gaps in percentage points. A cell has mean and deviation; beside the
paper's numbers the deviation has ddof 0, as theirs.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from clevrhope.metrics.means import mean_of
from clevrhope.metrics.published import ResultRow, paper_results, size_name, size_number
from clevrhope.report.page import Grey, Table
from clevrhope.report.results import KINDS, Result, grouped
from clevrhope.splits.hops import name_order
from clevrhope.splits.kinds import IID, PAIR_TEST_SPLITS, SYSTEMATICITY_GAPS

MINUS = "\N{MINUS SIGN}"
NO_BREAK = "\N{NO-BREAK SPACE}"


class PaperValue(NamedTuple):
    """A mean of the paper: an accuracy on a pair, or a gap over some pairs of a diversity."""

    value: float
    beside: str
    """The printed deviation; of a gap over only some of the paper's pairs, their number."""


def models_of(results: Iterable[Result]) -> list[str]:
    """Names of the models: the paper's in its order, then others in the order in which they come."""
    order = list(dict.fromkeys(each.model for each in paper_results()))
    names: dict[str, int] = {}
    for each in results:
        paper = each.source.paper_model
        names.setdefault(each.model, order.index(paper) if paper in order else len(order))
    return sorted(names, key=lambda name: names[name])


def accuracy_tables(results: Sequence[Result], model: str) -> Iterator[Table]:
    """A table for each test set, like the paper's tables 4 to 15, of last weights on plain pairs."""
    own = [each for each in results if each.model == model]
    for split in PAIR_TEST_SPLITS:
        printed = _printed(own, "accuracy", split)
        means = {
            (row.hop, row.train_size): PaperValue(row.mean_percent, _plus_minus(row.std_percent))
            for row in printed
        }
        found = [(each, each.accuracies[split].value) for each in own if split in each.accuracies]
        rows = []
        for diversity, hop in _hops(each for each, _ in found):
            of_hop = [(each, value) for each, value in found if each.hop == hop]
            theirs = {size: means.get((hop, size_name(size))) for size in _sizes(own)}
            rows.append((f"{hop} ({diversity})", of_hop, theirs))
        title, head = f"Accuracy of {model} on {split}, per cent", "held-out pair (diversity)"
        note = f"Deviations have ddof 0, as in the paper. {difference_note(own)}" if printed else ""
        yield from _table(title, head, rows, printed, note=note)


def gap_tables(results: Sequence[Result], model: str) -> Iterator[Table]:
    """The complex and minimal gap by diversity, like the paper's tables 16 to 21."""
    own = [each for each in results if each.model == model]
    for kind in KINDS:
        printed = _printed(own, "gap", kind)
        found = [(each, gap.value) for each in own if each.diversity and (gap := each.gap(kind))]
        rows = []
        for diversity in sorted({each.diversity for each, _ in found}, reverse=True):
            of_level = [(each, value) for each, value in found if each.diversity == diversity]
            theirs = {}
            for size in _sizes(own):
                hops = {each.hop for each, _ in of_level if each.train_size == size}
                theirs[size] = paper_gap(own[0].source.paper_model, kind, diversity, size or 0, hops)
            rows.append((str(diversity), of_level, theirs))
        note = "OOD minus IID accuracy; mean and deviation over all pairs of a diversity and all runs"
        note += (
            " (ddof 0, as in the paper). The paper's gaps are over the same pairs; if these are not all, "
            f"from its tables 4 to 15. {difference_note(own)}"
            if printed
            else "."
        )
        title = f"{kind.capitalize()} gap of {model}, points"
        yield from _table(title, "diversity", rows, printed, note=note, signed=True)


def _table(
    title: str,
    head: str,
    rows: Sequence[tuple[str, Sequence[tuple[Result, float]], Mapping[int | None, PaperValue | None]]],
    printed: Sequence[ResultRow],
    *,
    note: str,
    signed: bool = False,
) -> Iterator[Table]:
    """A table of rows with a name, our runs with their values, and the paper's value for each train size.

    Nothing where there are no rows. Without `printed`, there are no columns for the paper.
    """
    if not rows:
        return
    number = f"Table {min(each.table for each in printed)}. " if printed else ""
    beside = ["paper", "difference"] if printed else []
    heads = [name for size in rows[0][2] for name in (size_name(size) or "unknown size", *beside)]
    yield Table(
        title=number + title,
        head=[head, *heads],
        rows=[
            [name, *_cells(found, theirs, with_paper=bool(printed), signed=signed)]
            for name, found, theirs in rows
        ],
        note=note.strip(),
    )


def difference_note(own: Sequence[Result]) -> str:
    """A sentence on how the training of a model's runs differs from the paper's; "" if it does not."""
    found = dict.fromkeys(each.source.paper_differences for each in own if each.source.paper_differences)
    return f"Not trained as in the paper: {'; or '.join(found)}." if found else ""


# Cells


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


def _printed(own: Sequence[Result], metric: str, split: str) -> list[ResultRow]:
    """The paper's numbers to show beside a model's."""
    names = {each.source.paper_model for each in own}
    return [e for e in paper_results() if e.model in names and (e.metric, e.split) == (metric, split)]


def _cells(
    found: Sequence[tuple[Result, float]],
    theirs: Mapping[int | None, PaperValue | None],
    *,
    with_paper: bool,
    signed: bool = False,
) -> Iterator[str]:
    """For each size our value and, if the paper has the table, the paper's value and the difference."""
    text_of = partial(spread, signed=signed, ddof=0 if with_paper else 1)
    for size, paper in theirs.items():
        runs = [each for each, _ in found if each.train_size == size]
        values = [value for each, value in found if each.train_size == size]
        text = with_uncollapsed(values, [each.collapsed for each in runs], text_of) if runs else ""
        yield greyed(text, runs)
        if with_paper:
            yield _point(paper.value, signed=signed) + paper.beside if paper else ""
            yield with_sign(mean_of(values).value - paper.value) if paper and values else ""


def greyed(text: str, runs: Sequence[Result]) -> str:
    """A cell's text, grey where its runs do not beat the question-only baseline."""
    return text if beat_baseline(runs) else Grey(text)


def beat_baseline(runs: Sequence[Result]) -> bool:
    """Whether runs beat the question-only baseline in mean IID accuracy; true where that is unknown."""
    iid = [each.accuracies[IID].value for each in runs if IID in each.accuracies]
    floors = [each.floor for each in runs if each.floor is not None]
    return not (iid and floors) or mean_of(iid).value > mean_of(floors).value


def spread(values: Sequence[float], *, signed: bool = False, ddof: Literal[0, 1] = 1) -> str:
    """Mean, deviation and number of values as text."""
    mean = mean_of(values, ddof=ddof)
    text = _point(mean.value, signed=signed) + (_plus_minus(mean.deviation) if mean.n > 1 else "")
    return f"{text} ({mean.n})"


def _plus_minus(deviation: float) -> str:
    return f" \N{PLUS-MINUS SIGN} {deviation:.1f}"


def _point(value: float, *, signed: bool) -> str:
    return with_sign(value) if signed else f"{value:.1f}"


def counted(n: int, what: str) -> str:
    """A number with its noun, such as "1 set" or "2 sets"."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def with_sign(value: float, digits: int = 1) -> str:
    """A number with its sign."""
    return f"{value:+.{digits}f}".replace("-", MINUS)


def _sizes(results: Iterable[Result]) -> list[int | None]:
    return sorted({each.train_size for each in results}, key=lambda size: -1 if size is None else size)


def _hops(results: Iterable[Result]) -> list[tuple[int, str]]:
    """Diversity and name of each HOP, by decreasing diversity, then in the paper's order."""
    found = {(each.diversity, each.hop) for each in results}
    order = {hop: k for k, hop in enumerate(dict.fromkeys(each.hop for each in paper_results()))}
    return sorted(found, key=lambda each: (-each[0], order.get(each[1], len(order)), name_order(each[1])))


# The paper's values, to compare a model with


def paper_accuracies(model: str) -> Mapping[tuple[str, str, int], float]:
    """(test set, pair, train size) -> mean over the paper's seeds, in per cent; empty for other models."""
    return {
        (each.split, each.hop, size_number(each.train_size)): each.mean_percent
        for each in paper_results()
        if each.model == model and each.metric == "accuracy"
    }


def paper_gaps(model: str, kind: str, size: int) -> Mapping[str, float]:
    """Pair -> the paper's gap at a train size in points; empty for sizes that are not in the paper."""
    accuracies, gap = paper_accuracies(model), SYSTEMATICITY_GAPS[kind]
    return {
        hop: ood - accuracies[gap.baseline, hop, size]
        for (split, hop, of_size), ood in accuracies.items()
        if (split, of_size) == (gap.name, size) and (gap.baseline, hop, size) in accuracies
    }


def paper_sizes(model: str) -> tuple[int, ...]:
    """The train sizes at which the paper has gaps of the model."""
    sizes = {each.train_size for each in paper_results() if (each.model, each.metric) == (model, "gap")}
    return tuple(sorted(map(size_number, sizes)))


def paper_gap(model: str, kind: str, diversity: int, size: int, hops: Collection[str]) -> PaperValue | None:
    """The mean gap over some pairs; None if the paper does not have all of them."""
    printed = [
        each
        for each in paper_results()
        if (each.model, each.metric, each.split) == (model, "gap", kind)
        and (each.diversity, size_number(each.train_size)) == (diversity, size)
    ]
    of_level = {each.hop for each in paper_results() if each.diversity == diversity}
    of_pairs = {hop: gap for hop, gap in paper_gaps(model, kind, size).items() if hop in of_level}
    shared = [gap for hop, gap in of_pairs.items() if hop in hops]
    if not printed or not shared or len(shared) < len(set(hops)):
        return None
    if len(shared) == len(of_pairs):
        return PaperValue(printed[0].mean_percent, _plus_minus(printed[0].std_percent))
    return PaperValue(float(np.mean(shared)), f" ({len(shared)} of {len(of_pairs)} pairs)")
