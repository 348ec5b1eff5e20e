"""Results in; the paper's tables of them, with the paper's own numbers and the difference beside ours, out.

Accuracies are in per cent, gaps in percentage points. A cell is mean and deviation (ddof 0, as the paper's).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from clevrhope.metrics.collapse import Mean, beats_question_only, mean_of, without_collapsed
from clevrhope.metrics.matched_gap import MatchedGap
from clevrhope.metrics.paper import ResultRow, paper_results, size_name
from clevrhope.report.page import Cell, Table
from clevrhope.report.paper_values import paper_gap
from clevrhope.report.results import KINDS, Result
from clevrhope.splits.kinds import IID, PAIR_TEST_SPLITS

_NO_NUMBER = Cell()

MINUS = "\N{MINUS SIGN}"


def models_of(results: Iterable[Result]) -> list[str]:
    """Names of the models: the paper's first, in its order, then others as they come."""
    order = {name: k for k, name in enumerate(dict.fromkeys(each.model for each in paper_results()))}
    names: dict[str, int] = {}
    for each in results:
        names.setdefault(each.model, order.get(each.source.paper_model, len(order)))
    return sorted(names, key=lambda name: names[name])


def accuracy_tables(results: Sequence[Result], model: str) -> Iterator[Table]:
    """A table a test set, as the paper's tables 4 to 15; `results` are of plain pairs, of last weights."""
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
            note=unlike_paper(own) if printed else "",
        )


def gap_tables(results: Sequence[Result], model: str) -> Iterator[Table]:
    """The complex and minimal gap by diversity, as the paper's tables 16 to 21."""
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
                theirs = _paper_gap_cell(name, kind, diversity, size, cell)
                row += _cells(cell, [e.gap(kind) or 0.0 for e in cell], theirs, bool(printed), signed=True)
            rows.append(row)
        yield Table(
            title=f"{_number(printed)}{kind.capitalize()} gap of {model}, points",
            head=["diversity", *_heads(sizes, with_paper=bool(printed))],
            rows=rows,
            note=" ".join([
                "OOD minus IID accuracy; mean and deviation over all pairs of a diversity and all runs.",
                *(["The paper's over the same pairs, from its tables 4 to 15 where they are not all."]
                  if printed else []),
                *([unlike_paper(own)] if printed and unlike_paper(own) else []),
            ]),
        )  # fmt: skip


def matched_table(results: Sequence[Result], model: str) -> Table | None:
    """The plain complex gap beside the matched one, by diversity and train size; None without any."""
    own = [each for each in results if each.model == model and each.diversity]
    own = [each for each in own if each.matched is not None]
    rows = []
    for size in _sizes(own):
        for diversity in sorted({e.diversity for e in own if e.train_size == size}, reverse=True):
            cell = [e for e in own if (e.diversity, e.train_size) == (diversity, size)]
            told = [e for e in cell if e.matched is not None and e.matched.points is not None]
            plain = [e.gap("complex") or 0.0 for e in told]
            points = [e.matched.points or 0.0 for e in told if e.matched is not None]
            fell = [e.collapsed for e in told]
            grey = says_little(cell)
            rows.append([
                Cell(f"{diversity}, {size_name(size) or 'size not known'}"),
                Cell(with_sound(plain, fell, _signed_spread) if told else "", grey),
                Cell(with_sound(points, fell, _signed_spread) if told else "", grey),
                *unmatched_cells(cell),
            ])  # fmt: skip
    if not rows:
        return None
    return Table(
        title=f"Plain and matched complex gap of {model}, points",
        head=["diversity, train size", "plain gap", "matched gap", *UNMATCHED],
        rows=rows,
        note="Matched: IID questions that mention a seen pair of the same two types, weighed to OOD's "
        "families and numbers of objects (docs/report.md). A pair's cells count once, not once a run.",
    )


def unlike_paper(own: Sequence[Result]) -> str:
    """A sentence on how a model's runs were trained in another way than the paper's; "" where in none."""
    found = dict.fromkeys(each.source.unlike_paper for each in own if each.source.unlike_paper)
    return f"Not trained as the paper's: {'; or '.join(found)}." if found else ""


# Cells

UNMATCHED = ("cells without a match", "OOD questions in them")
"""Heads of the columns on what a matched gap leaves out."""


def unmatched_cells(results: Iterable[Result]) -> list[Cell]:
    """How many cells of these pairs have no match, and the share of OOD questions that are in them.

    Runs of one pair have the same cells, but for questions without a prediction, so each pair counts once: by
    the run that has the most.
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


def with_sound(
    values: Sequence[float], collapsed: Sequence[bool], told: Callable[[Sequence[float]], str]
) -> str:
    """All values as `told` tells them; where some runs collapsed, behind a slash those of the others."""
    if not any(collapsed):
        return told(values)
    sound = without_collapsed(values, collapsed)
    return f"{told(values)} / {told(sound) if sound else 'none left'} without {sum(collapsed)} collapsed"


def _printed(own: Sequence[Result], metric: str, split: str) -> list[ResultRow]:
    """The paper's figures to set beside a model's."""
    names = {each.source.paper_model for each in own}
    return [e for e in paper_results() if e.model in names and (e.metric, e.split) == (metric, split)]


@dataclass(frozen=True, slots=True)
class _Theirs:
    """The paper's value, and what is said beside it."""

    value: float
    beside: str


def _beside(deviation: float) -> str:
    return f" \N{PLUS-MINUS SIGN} {deviation:.1f}"


def _paper_gap_cell(
    model: str, kind: str, diversity: int, size: int | None, cell: Sequence[Result]
) -> _Theirs | None:
    """The paper's mean gap over a cell's pairs, where it has them all."""
    found = paper_gap(model, kind, diversity, size or 0, {each.hop for each in cell})
    if found is None:
        return None
    if found.deviation is not None:
        return _Theirs(found.points, _beside(found.deviation))
    return _Theirs(found.points, f" ({found.n_pairs} of {found.n_all} pairs)")


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
        theirs = _Theirs(found.mean_percent, _beside(found.std_percent)) if found else None
        row += _cells(cell, [e.accuracies[split] for e in cell], theirs, bool(printed))
    return row


def _cells(
    cell: Sequence[Result],
    values: Sequence[float],
    theirs: _Theirs | None,
    with_paper: bool,
    *,
    signed: bool = False,
) -> list[Cell]:
    """Ours; and where the paper has the table, the paper's and the difference."""
    ours = mean_of(values) if values else None
    text = ""
    if ours:
        text = with_sound(
            values,
            [each.collapsed for each in cell],
            lambda some: spread(mean_of(some), signed=signed),
        )
    found = [Cell(text, says_little(cell))]
    if with_paper:
        told = f"{_point(theirs.value, signed=signed)}{theirs.beside}" if theirs else ""
        found.append(Cell(told))
        found.append(Cell(with_sign(ours.value - theirs.value)) if theirs and ours else _NO_NUMBER)
    return found


def says_little(cell: Sequence[Result]) -> bool:
    """Whether the mean IID accuracy of a cell's runs does not beat who reads the question alone."""
    iid = [e.accuracies[IID] for e in cell if IID in e.accuracies]
    floors = [e.floor for e in cell if e.floor is not None]
    return bool(iid and floors) and not beats_question_only(mean_of(iid).value, mean_of(floors).value)


def spread(mean: Mean, *, signed: bool = False) -> str:
    """Mean and deviation, and of how many."""
    text = _point(mean.value, signed=signed) + (_beside(mean.deviation) if mean.n > 1 else "")
    return f"{text} ({mean.n})"


def _signed_spread(values: Sequence[float]) -> str:
    return spread(mean_of(values), signed=True)


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
