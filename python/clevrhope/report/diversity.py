"""Results of controlled diversity in, of late checkpoints too; what section 4.4 of the paper asks out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clevrhope.metrics.collapsed import mean_of
from clevrhope.report.page import Cell, Table
from clevrhope.report.results import Result
from clevrhope.report.tables import spread, with_sign


@dataclass(frozen=True, slots=True)
class LateRun:
    """One run's late checkpoints on one sub-dataset: means over them, and the range of its gap.

    Attributes:
        result: that of the last checkpoint.
        n_checkpoints: how many there are, the last included.
        iid: mean complex_iid accuracy, per cent.
        ood: mean complex_ood accuracy.
        gap: mean complex gap, points.
        lowest: the least of them.
        highest: the largest.
        matched: mean matched gap; None where it cannot be told.
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
    """The runs of some results, each with all of its checkpoints."""
    runs: dict[tuple[object, ...], list[Result]] = {}
    for each in results:
        if each.gap("complex") is not None:
            runs.setdefault((each.model, each.hop, each.train_size, each.run), []).append(each)
    found = []
    for of_run in runs.values():
        gaps = [each.gap("complex") or 0.0 for each in of_run]
        matched = [e.matched.points for e in of_run if e.matched is not None and e.matched.points is not None]
        found.append(
            LateRun(
                result=of_run[-1],
                n_checkpoints=len(of_run),
                iid=mean_of([each.accuracies["complex_iid"] for each in of_run]).value,
                ood=mean_of([each.accuracies["complex_ood"] for each in of_run]).value,
                gap=mean_of(gaps).value,
                lowest=min(gaps),
                highest=max(gaps),
                matched=mean_of(matched).value if matched else None,
            )
        )
    return found


def diversity_tables(runs: Sequence[LateRun], *, least_iid: float) -> Iterator[Table]:
    """Controlled diversity: a table of means over runs, and one of the runs themselves."""
    groups: dict[tuple[str, str, str, int, str], list[LateRun]] = {}
    for run in runs:
        e = run.result
        groups.setdefault((e.model, e.pair, e.mode, e.diversity, e.size), []).append(run)
    rows = []
    for (model, pair, mode, diversity, size), cell in sorted(groups.items()):
        kept = [run for run in cell if run.iid >= least_iid]
        matched = [run.matched for run in kept if run.matched is not None]
        rows.append([
            Cell(f"{pair}, {mode}, {diversity}"), Cell(model), Cell(size),
            Cell(f"{len(kept)} of {len(cell)}", not kept),
            Cell(spread(mean_of([run.iid for run in kept or cell])), not kept),
            Cell(_range([run.gap for run in kept or cell]), not kept),
            Cell(_range(matched) if matched else "", not kept),
        ])  # fmt: skip
    if not rows:
        return
    counted = f"Runs count from {least_iid:g}% on complex_iid. " if least_iid else ""
    yield Table(
        title="Controlled diversity (section 4.4): complex gap, points",
        head=["pair, combinations, diversity", "model", "train size", "runs that count", "complex_iid, %",
              "plain gap: mean, range over runs", "matched gap: mean, range over runs"],
        rows=rows,
        note=f"{counted}A run's values are means over its late checkpoints. Rows in grey have "
        "no run that counts. The plain gaps also hold that OOD questions are of other kinds.",
    )  # fmt: skip
    yield Table(
        title="Each run, with the range over its late checkpoints",
        head=["pair, combinations, diversity", "model", "train size", "run", "checkpoints", "complex_iid, %",
              "complex_ood, %", "plain gap, points (range)", "matched gap"],
        rows=[
            [
                Cell(f"{run.result.pair}, {run.result.mode}, {run.result.diversity}"), Cell(run.result.model),
                Cell(run.result.size), Cell(run.result.run), Cell(str(run.n_checkpoints)),
                Cell(f"{run.iid:.1f}", run.iid < least_iid), Cell(f"{run.ood:.1f}", run.iid < least_iid),
                Cell(f"{with_sign(run.gap)} ({with_sign(run.lowest)} to {with_sign(run.highest)})",
                     run.iid < least_iid),
                Cell("" if run.matched is None else with_sign(run.matched), run.iid < least_iid),
            ]
            for run in sorted(runs, key=lambda run: (run.result.pair, run.result.mode, run.result.diversity,
                                                     run.result.model, run.result.size, run.result.run))
        ],
    )  # fmt: skip


def _range(values: Sequence[float]) -> str:
    mean = mean_of(values).value
    return f"{with_sign(mean)} ({with_sign(min(values))} to {with_sign(max(values))})"
