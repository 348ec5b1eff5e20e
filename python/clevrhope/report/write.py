"""Runs in; a report's page as HTML and Markdown, its figures, and all results as CSV, out: `report`."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.describe.stats.plots import check_plots
from clevrhope.errors import ConfigError, PredictionsError
from clevrhope.report.diversity import diversity_tables, late_runs
from clevrhope.report.html import html
from clevrhope.report.markdown import FIGURES, markdown
from clevrhope.report.page import Block, Figure, Heading, Text
from clevrhope.report.remarks import apart_tables, collapsed_table, notes_of, remarks, unanswered_table
from clevrhope.report.results import KINDS, Result, measure
from clevrhope.report.runs import LAST, find_sources
from clevrhope.report.tables import accuracy_tables, gap_tables, matched_table, models_of
from clevrhope.runtime.own_files import check_own, write_own
from clevrhope.runtime.progress import Progress, Silent

_WHERE_THERE_ARE_ANY = ("unanswered", "note")
"""Columns of results.csv that are left out where no row has something in them."""

PAGES = ("results.csv", "report.md", "report.html")
"""Files of a report, figures apart."""

_COLUMNS = ("model", "metric", "split", "hop", "diversity", "train_size", "run", "checkpoint", "mean_percent")


@dataclass(frozen=True)
class Report:
    """What was written.

    Attributes:
        html: the page, standing alone.
        markdown: the same with its figures beside it.
        figures: the figures' files; none without matplotlib.
        csv: accuracies, gaps and matched gaps, a row each, in the columns of the paper's results; and where
            there are some, each accuracy's questions without an answer, and what has to be said with it.
        n_results: runs on a held-out pair that are in it.
        skipped: for each run or file that could not be used a sentence why.
    """

    html: Path
    markdown: Path
    figures: tuple[Path, ...]
    csv: Path
    n_results: int
    skipped: tuple[str, ...]


def report(
    runs: Sequence[str | Path],
    out: Path,
    *,
    model: str | None = None,
    dataset: Path | None = None,
    title: str = "Systematicity gaps",
    least_iid: float = 0.0,
    ways: Sequence[str] = (),
    failures: Sequence[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Writes a report of runs and files of predictions into a folder.

    Args:
        runs: as `find_sources` takes them.
        out: the folder; an earlier report in it is replaced.
        model: name of files' models that do not say it.
        dataset: the dataset of files, and of runs whose own is elsewhere now.
        title: of the page.
        least_iid: complex_iid accuracy, per cent, from which runs count in controlled diversity.
        ways: of models that answer in several ways, those to report; all where none is named.
        failures: sentences on runs that failed, to be told in it.
        progress: shows how far it is.

    Raises:
        PredictionsError: nothing to report on; names the first reason.
        DatasetError: no place or no permission, or a user's own file is in the way.
    """
    progress = progress or Silent()
    check_own(out, PAGES)
    sources, skipped = find_sources(runs, model=model, dataset=dataset)
    if ways:
        sources = [each for each in sources if not each.way or each.way in ways]
    results, unread = measure(sources, progress=progress)
    told = (*skipped, *unread.sentences)
    if not results:
        raise PredictionsError(told[0] if told else "no predictions in what was given; nothing to report on")
    page = [*_page(results, title, told, failures, least_iid, progress)]
    figures = [each for each in page if isinstance(each, Figure)]
    paths = [out / FIGURES / f"{each.name}.png" for each in figures]
    files = {path.relative_to(out).as_posix(): drawn.png for path, drawn in zip(paths, figures, strict=True)}
    pages = (_csv(results), markdown(page).encode(), html(page).encode())
    write_own(out, {**files, **dict(zip(PAGES, pages, strict=True))})
    return Report(
        html=out / "report.html",
        markdown=out / "report.md",
        figures=tuple(paths),
        csv=out / "results.csv",
        n_results=len(results),
        skipped=told,
    )


def _page(
    results: Sequence[Result],
    title: str,
    skipped: Sequence[str],
    failures: Sequence[str],
    least_iid: float,
    progress: Progress,
) -> Iterator[Block]:
    final = [each for each in results if each.checkpoint == LAST]
    plain = [each for each in final if not each.mode]
    controlled = [each for each in results if each.mode]
    yield Heading(title, 1)
    yield Text(_told(results))
    yield from remarks(results)
    if failures:
        yield Text(f"Runs that failed: {'; '.join(failures)}.")
    if skipped:
        yield Text(f"Left out: {'; '.join(skipped)}.")
    draws = _can_draw()
    if draws is not None:
        yield Text(f"Without figures: {draws}.")
    yield from apart_tables(results)
    for heading, table in (
        ("Collapsed runs", collapsed_table(final)),
        ("No answer", unanswered_table(results)),
    ):
        if table:
            yield Heading(heading)
            yield table
    models = models_of(plain)
    runs = late_runs(controlled)
    with progress.stage("Writing", total=len(models) + bool(runs), unit="sections") as advance:
        if runs:
            yield Heading("Controlled diversity")
            for name in models_of(controlled):
                yield from notes_of(controlled, name)
            if draws is None:
                from clevrhope.report.figures import diversity_plot

                for name in models_of(controlled):
                    drawn = diversity_plot(runs, name, least_iid=least_iid)
                    if drawn:
                        yield drawn
            yield from diversity_tables(runs, least_iid=least_iid)
            advance(1)
        for name in models:
            yield Heading(name)
            yield from notes_of(plain, name)
            if draws is None:
                from clevrhope.report.figures import figures_of

                yield from figures_of(plain, name)
            yield from gap_tables(plain, name)
            matched = matched_table(plain, name)
            if matched:
                yield matched
            yield from accuracy_tables(plain, name)
            advance(1)


def _told(results: Sequence[Result]) -> str:
    n_models, n_hops = len({e.model for e in results}), len({e.hop for e in results})
    return (
        f"{counted(len(results), 'set')} of predictions of {counted(n_models, 'model')} on "
        f"{counted(n_hops, 'held-out pair')}. Accuracies are in per cent, gaps (OOD minus IID accuracy) in "
        "percentage points; cells are mean \N{PLUS-MINUS SIGN} deviation (ddof 0) and, in brackets, the "
        "number of runs, of gaps that of pairs and runs. The paper's numbers are those of Berlot-Attwell et "
        "al., tables 4 to 21."
    )


def counted(n: int, what: str) -> str:
    """How many there are of something, such as "1 set"."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def _can_draw() -> str | None:
    try:
        check_plots()
    except ConfigError as error:
        return str(error)
    return None


def _csv(results: Sequence[Result]) -> bytes:
    text = io.StringIO()
    rows = [row for each in results for row in _rows(each)]
    more = [name for name in _WHERE_THERE_ARE_ANY if any(row[name] for row in rows)]
    writer = csv.DictWriter(text, [*_COLUMNS, *more], lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "mean_percent": f"{row['mean_percent']:.4f}"})
    return text.getvalue().encode()


def _rows(result: Result) -> list[dict[str, Any]]:
    """A row an accuracy, then one a gap."""
    rows = result.rows()
    plain = {**(rows[0] if rows else {}), "metric": "gap", "unanswered": ""}
    for kind in KINDS:
        gap = result.gap(kind)
        if gap is not None:
            rows.append({**plain, "split": kind, "mean_percent": gap})
    if result.matched is not None and result.matched.points is not None:
        rows.append({**plain, "metric": "matched_gap", "split": "complex",
                     "mean_percent": result.matched.points})  # fmt: skip
    return rows
