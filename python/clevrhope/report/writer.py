"""Writing a report: HTML, Markdown with figures, and all results as CSV."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clevrhope.dataset.folder_check import is_dataset
from clevrhope.errors import ConfigError, DatasetError, PredictionsError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.paper import paper_results
from clevrhope.metrics.predictions import is_about_sets
from clevrhope.metrics.results import Results
from clevrhope.metrics.suites.tables import ALL_PAIRS
from clevrhope.report.covr import covr_blocks, covr_rows, measure_covr
from clevrhope.report.failures import failure_blocks
from clevrhope.report.instances import measure_instances, regression_blocks
from clevrhope.report.page import FIGURES, Block, Figure, Heading, Text, html, markdown
from clevrhope.report.remarks import (
    collapsed_table,
    notes_of,
    provenance_blocks,
    remarks,
    setup_tables,
    unanswered_table,
)
from clevrhope.report.results import KINDS, Result, measure
from clevrhope.report.runs import LAST, find_sources
from clevrhope.report.setups import dropped
from clevrhope.report.slopes import Section, sections_of, slope_blocks, slope_sentences
from clevrhope.report.suite_tables import suite_blocks
from clevrhope.report.suites import SuiteResult, count, measure_suites
from clevrhope.report.summary import (
    Group,
    groups_of,
    headline,
    matched_gap,
    minimal_table,
    runs_table,
    summary_tables,
)
from clevrhope.report.tables import accuracy_tables, counted, gap_tables, models_of
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.own_files import check_own, write_own
from clevrhope.runtime.progress import Progress, Silent

_OPTIONAL = ("dataset", "trained_on", "unanswered", "note", "suite", "by", "part", "cell", "n")
"""Columns of results.csv that are left out if they are empty in all rows."""

PAGES = ("results.csv", "report.md", "report.html")
"""Files of a report, without figures."""

_COLUMNS = ("model", "metric", "split", "hop", "diversity", "train_size", "run", "checkpoint", "mean_percent")


@dataclass(frozen=True)
class Report:
    """A written report.

    Attributes:
        html: The HTML file, which contains its figures.
        markdown: The same in Markdown, with figures beside it.
        figures: The figures' files; empty without matplotlib.
        csv: All results, one number per row (docs/report.md describes its columns).
        n_results: Number of runs on a held-out pair that are in it.
        skipped: A sentence for each run or file that could not be used.
        without: A sentence on what is left out for lack of a package, and how to install it; "" for nothing.
    """

    html: Path
    markdown: Path
    figures: tuple[Path, ...]
    csv: Path
    n_results: int
    skipped: tuple[str, ...]
    without: str = ""


def report(
    runs: Sequence[str | Path],
    out: Path,
    *,
    model: str | None = None,
    dataset: Path | None = None,
    title: str | None = None,
    question: str | None = None,
    ways: Sequence[str] = (),
    failures: Sequence[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Writes a report of runs and files of predictions into a folder.

    Args:
        runs: Paths, as `find_sources` takes them.
        out: The folder; an earlier report in it is replaced.
        model: Name of the model, for files that do not say it.
        dataset: The dataset of files, and of runs whose dataset was moved.
        title: None for one that fits the results.
        question: What was asked; None for the paper's question.
        ways: Ways of answering to report, for models that have several; empty for all.
        failures: Sentences on runs that failed, which the report lists.
        progress: Shows the stages; None shows nothing.

    Raises:
        PredictionsError: there is nothing to report; names the first reason.
        DatasetError: there is no space or no permission, a user's own file is in the way, or the folder is in
            a dataset.
    """
    progress = progress or Silent()
    within = next((each for each in (out.resolve(), *out.resolve().parents) if is_dataset(each)), None)
    if within is not None:
        raise DatasetError(
            f"{out}: within the dataset {within}, whose manifest lists all of its files; choose another --out"
        )
    check_own(out, PAGES)
    sources, skipped = find_sources(runs, model=model, dataset=dataset)
    if ways:
        sources = [each for each in sources if not each.way or each.way in ways]
    of_sets = [each for each in sources if is_about_sets(each.path)]
    keys = cache(AnswerKey)
    results, unread = measure([e for e in sources if e not in of_sets], progress=progress, keys=keys)
    covr, uncounted = measure_covr(of_sets, progress=progress, keys=keys)
    paired, unscored = measure_suites(results, progress=progress, keys=keys)
    skipped = [*skipped, *unread, *uncounted, *unscored]
    if not (results or covr):
        raise PredictionsError([*skipped, "no predictions were found; there is nothing to report"][0])
    instances = measure_instances(results, keys=keys)
    # Runs that dropped train questions are many instances of one model, for a regression. They have no
    # tables of their own unless there are no other runs.
    shown = [each for each in results if not dropped(each.source.setup)] or results
    last = [each for each in shown if each.checkpoint == LAST and not each.is_elsewhere]
    groups = groups_of(last)
    no_figures = _why_missing("matplotlib", "plots need")
    no_slopes = _why_missing("scipy", "tests of slopes need")
    sections = [] if no_slopes else sections_of(shown)
    draws = not no_figures
    with progress.stage("Writing", total=1, unit="pages") as advance:
        page = [
            # COVR's questions have no gaps: its splits are about composition.
            Heading(title or ("Systematicity gaps" if results else "Compositional generalisation"), 1),
            *_results_blocks(results, last, groups, sections, question, draws=draws),
            *covr_blocks(covr),
            *suite_blocks([each for each in paired if each.result in shown], instances),
            *regression_blocks(instances, draws=draws),
            *failure_blocks(last, draws=draws),
            *_runs_blocks(results, last, groups, draws=draws),
            *_left_out(
                len(results) - len(shown),
                failures,
                skipped,
                no_figures,
                no_slopes if any(each.mode for each in shown) else "",
            ),
            *provenance_blocks(sources),
        ]
        advance(1)
    figures = {f"{FIGURES}/{each.name}.png": each.png for each in page if isinstance(each, Figure)}
    pages = (_csv(results, paired, covr), markdown(page).encode(), html(page).encode())
    write_own(out, {**figures, **dict(zip(PAGES, pages, strict=True))})
    return Report(
        html=out / "report.html",
        markdown=out / "report.md",
        figures=tuple(out / name for name in figures),
        csv=out / "results.csv",
        n_results=len(results) + sum(len(each.conditions) for each in covr),
        skipped=tuple(skipped),
        without=no_figures and f"Without figures: {no_figures}.",
    )


def _results_blocks(
    results: Sequence[Result],
    last: Sequence[Result],
    groups: Sequence[Group],
    sections: Sequence[Section],
    question: str | None,
    *,
    draws: bool,
) -> Iterator[Block]:
    """The answer, then what it rests on: means, slopes on diversity, and the paper's tables."""
    if not results:
        return
    if draws:
        from clevrhope.report.figures import diversity_plots, figures_of
    yield from headline(groups, question, slope_sentences(sections), draws=draws)
    yield Text(_summary(results))
    yield from remarks(results)
    yield from summary_tables(groups)
    yield from minimal_table([each for each in groups if each.first.combinations])
    if draws:
        yield from diversity_plots(groups)
    yield from slope_blocks(sections, draws=draws)
    plain = [each for each in last if not each.mode]
    for name in models_of(plain):
        yield Heading(name)
        if all(each.collapsed for each in plain if each.model == name):
            yield Text(
                "All runs collapsed: they do not beat the question-only baseline in distribution, so there "
                "is nothing to compare with the paper. Their accuracies are in the table of every run."
            )
            continue
        yield from notes_of(plain, name)
        if draws:
            yield from figures_of(plain, name)
        yield from gap_tables(plain, name)
        yield from accuracy_tables(plain, name)


def _runs_blocks(
    results: Sequence[Result], last: Sequence[Result], groups: Sequence[Group], *, draws: bool
) -> Iterator[Block]:
    """What is known of single runs."""
    yield Heading("Runs")
    if draws:
        from clevrhope.report.learning_curves import learning_curves

        drawn = learning_curves(last)
        if drawn is not None:
            yield drawn
    if groups:
        yield runs_table(groups)
    yield from setup_tables(results)
    yield from collapsed_table([each for each in results if each.checkpoint == LAST])
    yield from unanswered_table(results)


def _left_out(
    n_dropped: int, failures: Sequence[str], skipped: Sequence[str], figures: str, slopes: str
) -> Iterator[Block]:
    """What is not in the report, and why."""
    if n_dropped:
        yield Text(
            f"{counted(n_dropped, 'run')} that left out train questions of some types have no tables of "
            "their own: they are instances for the question whether RAD predicts accuracy, and rows of "
            "results.csv."
        )
    for begin, reasons in (
        ("Runs that failed", "; ".join(failures)),
        ("Left out", "; ".join(skipped)),
        ("Without figures", figures),
        ("Without tests of slopes", slopes),
    ):
        if reasons:
            yield Text(f"{begin}: {reasons}.")


def _summary(results: Sequence[Result]) -> str:
    n_models, n_pairs = len({e.model for e in results}), len({e.held_out for e in results})
    text = (
        f"{counted(len(results), 'set')} of predictions of {counted(n_models, 'model')} on "
        f"{counted(n_pairs, 'held-out pair')}. Accuracies are in per cent, gaps (OOD minus IID accuracy) in "
        "percentage points. Square brackets hold 95% intervals."
    )
    if {each.source.paper_model for each in results} & {each.model for each in paper_results()}:
        text += " The paper's numbers are from tables 4 to 21 of Berlot-Attwell et al., as submitted to ACL."
    return text


def _why_missing(module: str, need: str) -> str:
    """Why a module of the extra "plots" cannot be imported; "" where it can."""
    try:
        check_extra(need, module, "plots")
    except ConfigError as error:
        return str(error)
    return ""


def _csv(results: Sequence[Result], paired: Sequence[SuiteResult], covr: Sequence[Results]) -> bytes:
    text = io.StringIO()
    rows = [row for each in results for row in _rows(each)] + [row for each in paired for row in _pairs(each)]
    rows += covr_rows(covr)
    if len({row.get("dataset") for row in rows}) == 1:  # then it says nothing
        rows = [{**row, "dataset": ""} for row in rows]
    more = [name for name in _OPTIONAL if any(row.get(name) for row in rows)]
    writer = csv.DictWriter(text, [*_COLUMNS, *more], lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _rows(result: Result) -> list[dict[str, Any]]:
    """A row for each accuracy, then for each gap, with the columns of the paper's results."""
    gaps = [("gap", kind, result.gap(kind)) for kind in KINDS]
    return [
        {**_row(result, "accuracy", split, each.value), "unanswered": result.n_unanswered.get(split, 0)}
        for split, each in result.accuracies.items()
    ] + [
        _row(result, metric, kind, gap.value)
        for metric, kind, gap in (*gaps, ("matched_gap", "complex", matched_gap(result)))
        if gap is not None
    ]


def _pairs(paired: SuiteResult) -> list[dict[str, Any]]:
    """A row for each part and measure that is defined, by the names of `score --suite --json`.

    Accuracy is `pair_accuracy`, since `accuracy` is that of a split.
    """
    rows = []
    for part, scores in paired.scores.items():
        numbers = {name: measure.value for name, measure in scores.measures.items()}
        if part.by == "test" and not part.cell and part.name in paired.scored.constants:
            numbers["constant"] = paired.scored.constants[part.name].percent
        for name, value in numbers.items():
            if value is not None:
                row = _row(paired.result, name, paired.split, value)
                if name == "accuracy":
                    row |= {"metric": "pair_accuracy", "unanswered": scores.counts["n_unread"]}
                row |= {
                    "suite": paired.suite,
                    "by": part.by,
                    "part": part.name or ALL_PAIRS,
                    "cell": part.cell,
                }
                rows.append(row | {"n": count(scores)})
    return rows


def _row(result: Result, metric: str, split: str, number: float) -> dict[str, Any]:
    return {
        "model": result.model,
        "metric": metric,
        "split": split,
        "hop": result.hop,
        "diversity": result.diversity,
        "train_size": result.size,
        "run": result.run,
        "checkpoint": result.checkpoint,
        "dataset": result.source.dataset.resolve().name,
        "trained_on": result.source.hop if result.is_elsewhere else "",
        "mean_percent": f"{number:.4f}",
        "note": result.note,
    }
