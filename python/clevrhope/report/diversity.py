"""Tables of controlled diversity (section 4.4 of the paper), over runs and their late checkpoints."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clevrhope.metrics.means import mean_of
from clevrhope.report.document import Cell, Table
from clevrhope.report.results import Result
from clevrhope.report.runs import LAST
from clevrhope.report.tables import (
    UNMATCHED,
    below_question_only,
    spread,
    unmatched_cells,
    with_sign,
    with_uncollapsed,
)
from clevrhope.splits.kinds import IID, OOD


@dataclass(frozen=True, slots=True)
class LateRun:
    """Means over a run's late checkpoints on one sub-dataset, and the range of its gap.

    Attributes:
        result: Result of the run's last weights, or of its latest checkpoint if these are not there.
        n_checkpoints: Number of checkpoints, including the last weights.
        iid: Mean complex_iid accuracy in per cent.
        ood: Mean complex_ood accuracy in per cent.
        gap: Mean complex gap in points.
        lowest: Smallest complex gap.
        highest: Largest complex gap.
        matched: Mean matched gap; None if it is unknown.
    """

    result: Result
    n_checkpoints: int
    iid: float
    ood: float
    gap: float
    lowest: float
    highest: float
    matched: float | None


def late_runs(results: Iterable[Result]) -> list[LateRun]:
    """The runs of some results, each over all of its checkpoints."""
    runs: dict[tuple[object, ...], list[Result]] = {}
    for each in results:
        if each.gap("complex") is not None:
            key = (each.model, each.source.origin, each.hop, each.train_size, each.run)
            runs.setdefault(key, []).append(each)
    found = []
    for of_run in runs.values():
        gaps = [each.gap("complex") or 0.0 for each in of_run]
        matched = [e.matched.points for e in of_run if e.matched is not None and e.matched.points is not None]
        found.append(
            LateRun(
                result=max(of_run, key=lambda each: (each.checkpoint == LAST, each.checkpoint)),
                n_checkpoints=len(of_run),
                iid=mean_of([each.accuracies[IID] for each in of_run]).value,
                ood=mean_of([each.accuracies[OOD] for each in of_run]).value,
                gap=mean_of(gaps).value,
                lowest=min(gaps),
                highest=max(gaps),
                matched=mean_of(matched).value if matched else None,
            )
        )
    return found


def diversity_tables(runs: Sequence[LateRun], *, least_iid: float) -> Iterator[Table]:
    """A table of means over runs, and one of the runs; those below `least_iid` per cent do not count."""
    groups: dict[tuple[str, str, str, int, str], list[LateRun]] = {}
    for run in runs:
        e = run.result
        groups.setdefault((e.model, e.pair, e.mode, e.diversity, e.size), []).append(run)
    rows = []
    for (model, pair, mode, diversity, size), cell in sorted(groups.items()):
        kept = [run for run in cell if run.iid >= least_iid]
        shown = kept or cell
        matched = [run for run in kept if run.matched is not None]
        collapsed = [run.result.collapsed for run in shown]
        points = [run.matched or 0.0 for run in matched]
        of_matched = [run.result.collapsed for run in matched]
        grey = not kept or _below_question_only(shown)
        rows.append([
            Cell(f"{pair}, {mode}, {diversity}"), Cell(model), Cell(size),
            Cell(f"{len(kept)} of {len(cell)}", not kept),
            Cell(with_uncollapsed([run.iid for run in shown], collapsed, spread), grey),
            Cell(with_uncollapsed([run.gap for run in shown], collapsed, _range), grey),
            Cell(with_uncollapsed(points, of_matched, _range) if matched else "", grey),
            *unmatched_cells(run.result for run in shown),
        ])  # fmt: skip
    if not rows:
        return
    counted = f"Runs count from {least_iid:g}% on {IID}. " if least_iid else ""
    yield Table(
        title="Controlled diversity (section 4.4): complex gap, points",
        head=["pair, combinations, diversity", "model", "train size", "runs that count", f"{IID}, %",
              "plain gap: mean, range over runs", "matched gap: mean, range over runs", *UNMATCHED],
        rows=rows,
        note=f"{counted}A run's values are means over its late checkpoints. Rows in italics have no run that "
        "counts, or do not beat the question-only baseline. After a slash: without collapsed runs. Plain "
        "gaps also contain the effect that OOD questions are of other kinds.",
    )  # fmt: skip
    yield Table(
        title="Each run, with the range over its late checkpoints",
        head=["pair, combinations, diversity", "model", "train size", "run", "checkpoints", f"{IID}, %",
              f"{OOD}, %", "plain gap, points (range)", "matched gap"],
        rows=[
            _row_of(run, grey=run.iid < least_iid or _below_question_only([run]))
            for run in sorted(runs, key=_place)
        ],
    )  # fmt: skip


def _below_question_only(runs: Sequence[LateRun]) -> bool:
    return below_question_only([run.iid for run in runs], [run.result.floor for run in runs])


def _row_of(run: LateRun, *, grey: bool) -> list[Cell]:
    e = run.result
    name = f"{e.run}, collapsed" if e.collapsed else e.run
    return [
        Cell(f"{e.pair}, {e.mode}, {e.diversity}"), Cell(e.model), Cell(e.size), Cell(name),
        Cell(str(run.n_checkpoints)), Cell(f"{run.iid:.1f}", grey), Cell(f"{run.ood:.1f}", grey),
        Cell(f"{with_sign(run.gap)} ({with_sign(run.lowest)} to {with_sign(run.highest)})", grey),
        Cell("" if run.matched is None else with_sign(run.matched), grey),
    ]  # fmt: skip


def _place(run: LateRun) -> tuple[str, str, int, str, str, str]:
    e = run.result
    return e.pair, e.mode, e.diversity, e.model, e.size, e.run


def _range(values: Sequence[float]) -> str:
    mean = mean_of(values).value
    return f"{with_sign(mean)} ({with_sign(min(values))} to {with_sign(max(values))})"
