"""The paper's tables of results, with the paper's numbers and the differences beside ours.

Accuracies are in per cent, gaps in percentage points. A cell has mean and deviation; beside the
paper's numbers the deviation has ddof 0, as theirs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Literal

from clevrhope.metrics.matched_gap import MatchedGap
from clevrhope.metrics.means import mean_of
from clevrhope.metrics.paper import ResultRow, paper_results, size_name
from clevrhope.report.page import Cell, Table
from clevrhope.report.paper_values import PaperValue, paper_gap
from clevrhope.report.results import KINDS, Result
from clevrhope.splits.hops import name_order
from clevrhope.splits.kinds import IID, PAIR_TEST_SPLITS

_NO_NUMBER = Cell()

MINUS = "\N{MINUS SIGN}"
NO_BREAK = "\N{NO-BREAK SPACE}"


def models_of(results: Iterable[Result]) -> list[str]:
    """Names of the models: those of the paper in its order, then others as they come."""
    order = {name: k for k, name in enumerate(dict.fromkeys(each.model for each in paper_results()))}
    names: dict[str, int] = {}
    for each in results:
        names.setdefault(each.model, order.get(each.source.paper_model, len(order)))
    return sorted(names, key=lambda name: names[name])


def accuracy_tables(results: Sequence[Result], model: str) -> Iterator[Table]:
    """A table for each test set, like the paper's tables 4 to 15, of last weights on plain pairs."""
    own = [each for each in results if each.model == model]
    sizes = _sizes(own)
    for split in PAIR_TEST_SPLITS:
        hops = _hops([each for each in own if split in each.accuracies])
        if not hops:
            continue
        printed = {(each.hop, each.train_size): each for each in _printed(own, "accuracy", split)}
        rows = [
            [Cell(f"{hop} ({diversity})"), *_accuracy_cells(own, hop, split, sizes, printed)]
            for diversity, hop in hops
        ]
        number = _number(printed.values())
        yield Table(
            title=f"{number}Accuracy of {model} on {split}, per cent",
            head=["held-out pair (diversity)", *_heads(sizes, with_paper=bool(printed))],
            rows=rows,
            note=f"Deviations have ddof 0, as in the paper. {difference_note(own)}".strip()
            if printed
            else "",
        )


def gap_tables(results: Sequence[Result], model: str) -> Iterator[Table]:
    """The complex and minimal gap by diversity, like the paper's tables 16 to 21."""
    own = [each for each in results if each.model == model]
    sizes = _sizes(own)
    for kind in KINDS:
        found = [each for each in own if each.gap(kind) is not None and each.diversity]
        if not found:
            continue
        printed = _printed(own, "gap", kind)
        name = own[0].source.paper_model
        rows = []
        for diversity in sorted({each.diversity for each in found}, reverse=True):
            row = [Cell(str(diversity))]
            for size in sizes:
                cell = [e for e in found if (e.diversity, e.train_size) == (diversity, size)]
                theirs = paper_gap(name, kind, diversity, size or 0, {e.hop for e in cell})
                row += _cells(
                    cell,
                    [gap.value for e in cell if (gap := e.gap(kind))],
                    theirs,
                    bool(printed),
                    signed=True,
                )
            rows.append(row)
        yield Table(
            title=f"{_number(printed)}{kind.capitalize()} gap of {model}, points",
            head=["diversity", *_heads(sizes, with_paper=bool(printed))],
            rows=rows,
            note=" ".join([
                "OOD minus IID accuracy; mean and deviation over all pairs of a diversity and all runs"
                + (" (ddof 0, as in the paper)." if printed else "."),
                *(["The paper's gaps are over the same pairs; if these are not all, from its tables 4 to 15."]
                  if printed else []),
                *([difference_note(own)] if printed and difference_note(own) else []),
            ]),
        )  # fmt: skip


def difference_note(own: Sequence[Result]) -> str:
    """A sentence on how the training of a model's runs differs from the paper's; "" if it does not."""
    found = dict.fromkeys(each.source.paper_differences for each in own if each.source.paper_differences)
    return f"Not trained as in the paper: {'; or '.join(found)}." if found else ""


# Cells


def unmatched_cells(results: Iterable[Result]) -> list[Cell]:
    """The number of cells of these pairs without a match, and the share of OOD questions in them.

    Runs of a pair have the same cells, except for questions without a prediction, so each pair counts once,
    by the run with the most predictions.
    """
    of_pair: dict[tuple[Path, str], MatchedGap] = {}
    for each in results:
        key, gap = (each.source.dataset, each.hop), each.matched
        if gap is not None and (key not in of_pair or _n_questions(gap) > _n_questions(of_pair[key])):
            of_pair[key] = gap
    if not of_pair:
        return [_NO_NUMBER, _NO_NUMBER]
    matched = of_pair.values()
    n_cells, without = sum(each.n_cells for each in matched), sum(each.n_cells_unmatched for each in matched)
    n_ood, alone = sum(each.n_ood for each in matched), sum(each.n_ood_unmatched for each in matched)
    return [Cell(f"{without} of {n_cells}"), Cell(f"{100 * alone / max(n_ood, 1):.1f}%")]


def _n_questions(gap: MatchedGap) -> int:
    return gap.n_ood + gap.n_iid


def with_uncollapsed(
    values: Sequence[float], collapsed: Sequence[bool], text_of: Callable[[Sequence[float]], str]
) -> str:
    """The text of all values; if some runs collapsed, after a slash that of the others."""
    if not any(collapsed):
        return text_of(values)
    others = [value for value, has_collapsed in zip(values, collapsed, strict=True) if not has_collapsed]
    without = text_of(others) if others else "none left"
    return f"{text_of(values)} / {without} without {sum(collapsed)} collapsed"


def _printed(own: Sequence[Result], metric: str, split: str) -> list[ResultRow]:
    """The paper's numbers to show beside a model's."""
    names = {each.source.paper_model for each in own}
    return [e for e in paper_results() if e.model in names and (e.metric, e.split) == (metric, split)]


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
        found = printed.get((hop, size_name(size)))
        theirs = PaperValue(found.mean_percent, found.std_percent) if found else None
        row += _cells(cell, [e.accuracies[split].value for e in cell], theirs, bool(printed))
    return row


def _cells(
    cell: Sequence[Result],
    values: Sequence[float],
    theirs: PaperValue | None,
    with_paper: bool,
    *,
    signed: bool = False,
) -> list[Cell]:
    """Our value and, if the paper has the table, the paper's value and the difference."""
    collapsed = [each.collapsed for each in cell]
    text_of = partial(spread, signed=signed, ddof=0 if with_paper else 1)
    text = with_uncollapsed(values, collapsed, text_of) if values else ""
    found = [Cell(text, is_grey(cell))]
    if with_paper:
        found.append(Cell(_paper_text(theirs, signed=signed) if theirs else ""))
        found.append(
            Cell(with_sign(mean_of(values).value - theirs.value)) if theirs and values else _NO_NUMBER
        )
    return found


def _paper_text(theirs: PaperValue, *, signed: bool) -> str:
    if theirs.deviation is None:
        beside = f" ({theirs.n_pairs} of {theirs.n_all} pairs)"
    else:
        beside = _plus_minus(theirs.deviation)
    return _point(theirs.value, signed=signed) + beside


def is_grey(cell: Sequence[Result]) -> bool:
    """Whether the mean IID accuracy of some runs is known not to beat the question-only baseline."""
    iid = [each.accuracies[IID].value for each in cell if IID in each.accuracies]
    floors = [each.floor for each in cell if each.floor is not None]
    return bool(iid and floors) and mean_of(iid).value <= mean_of(floors).value


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


def _heads(sizes: Sequence[int | None], *, with_paper: bool) -> list[str]:
    heads = []
    for size in sizes:
        name = size_name(size) or "unknown size"
        heads += [name, "paper", "difference"] if with_paper else [name]
    return heads


def _sizes(results: Iterable[Result]) -> list[int | None]:
    return sorted({each.train_size for each in results}, key=lambda size: -1 if size is None else size)


@cache
def _paper_order() -> Mapping[str, int]:
    return {hop: k for k, hop in enumerate(dict.fromkeys(each.hop for each in paper_results()))}


def _hops(results: Iterable[Result]) -> list[tuple[int, str]]:
    """Diversity and name of each HOP, by decreasing diversity, those of the paper in its order."""
    found = {(each.diversity, each.hop) for each in results}
    order = _paper_order()
    return sorted(found, key=lambda each: (-each[0], order.get(each[1], len(order)), name_order(each[1])))


def _number(printed: Iterable[ResultRow]) -> str:
    tables = {each.table for each in printed}
    return f"Table {min(tables)}. " if tables else ""
