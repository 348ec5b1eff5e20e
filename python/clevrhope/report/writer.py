"""Writing a report: HTML, Markdown with figures, and all results as CSV."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from clevrhope.dataset.folder_check import check_outside
from clevrhope.dataset.question_kinds import SETS
from clevrhope.dataset.vocab import NOT_TRAINED
from clevrhope.errors import ConfigError, PredictionsError, counted
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.estimates import LEAST_DENOMINATOR
from clevrhope.metrics.predictions import is_about_sets
from clevrhope.metrics.published import paper_results
from clevrhope.metrics.results import Results
from clevrhope.pages import render_page
from clevrhope.report.all_pairs import all_pairs_table
from clevrhope.report.covr import covr_tables, measure_covr
from clevrhope.report.failures import failure_cards
from clevrhope.report.instances import Instance, measure_instances, regressions
from clevrhope.report.page import FIGURES, Figure, Page, html, markdown
from clevrhope.report.provenance import provenance
from clevrhope.report.remarks import (
    DIGEST_LETTERS,
    datasets_table,
    files_table,
    remarks,
    setup_tables,
)
from clevrhope.report.results import Result, measure, runs_about_sets
from clevrhope.report.rows import results_csv
from clevrhope.report.runs import LAST, Source, find_sources
from clevrhope.report.setups import dropped
from clevrhope.report.slopes import sections_of, slope_answers, slopes
from clevrhope.report.suites import SuiteResult, measure_suites, suite_tables
from clevrhope.report.summary import Group, at_largest, groups_of, headlines, summary_tables
from clevrhope.report.tables import models_of, pairs_table, paper_tables
from clevrhope.report.tuning import TunedSetting, tuned_settings, tuning_table
from clevrhope.runtime.atomic import check_own, write_own
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.version import software_version

PAGES = ("results.csv", "provenance.json", "report.md", "report.html")
"""Files of a report, without figures."""


@dataclass(frozen=True)
class Report:
    """A written report.

    Attributes:
        html: The HTML file, which contains its figures.
        markdown: The same in Markdown, with figures beside it.
        figures: The figures' files; empty without matplotlib.
        csv: All results, one number per row (docs/report.md describes its columns).
        provenance: The datasets, versions and machines that they come from.
        n_results: Number of runs on a held-out pair that are in it.
        skipped: A sentence for each run or file that could not be used.
        without: A sentence on what is left out for lack of a package, and how to install it; "" for nothing.
    """

    html: Path
    markdown: Path
    figures: tuple[Path, ...]
    csv: Path
    provenance: Path
    n_results: int
    skipped: tuple[str, ...]
    without: str = ""


def report(
    runs: Sequence[str | Path],
    out: Path | str,
    *,
    model: str | None = None,
    dataset: Path | None = None,
    title: str | None = None,
    question: str | None = None,
    ways: Sequence[str] = (),
    hops: Sequence[str] = (),
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
        hops: Sub-datasets to report, such as those that several models share; empty for all.
        failures: Sentences on runs that failed, which the report lists.
        progress: Shows the stages; None shows nothing.

    Raises:
        PredictionsError: there is nothing to report; names the first reason.
        ConfigError: the folder is in a dataset.
        DatasetError: there is no space or no permission, or a user's own file is in the way.
    """
    progress = progress or Silent()
    out = Path(out)
    check_outside(out)
    check_own(out, PAGES)
    sources, skipped = find_sources(runs, model=model, dataset=dataset)
    if ways:
        sources = [each for each in sources if not each.way or each.way in ways]
    of_sets = [each for each in sources if is_about_sets(each.path)]
    keys = cache(AnswerKey)
    results, unread = measure([e for e in sources if e not in of_sets], progress=progress, keys=keys)
    results = [each for each in results if not hops or each.hop in hops]
    covr, uncounted = measure_covr(of_sets, hops=hops or None, progress=progress, keys=keys)
    paired, unscored = measure_suites(results, progress=progress, keys=keys)
    keys_of_sets = cache(partial(AnswerKey, kind=SETS))
    runs_of_sets = [
        each for each in runs_about_sets(of_sets, keys=keys_of_sets) if not hops or each.hop in hops
    ]
    paired_sets, unpaired = measure_suites(runs_of_sets, progress=progress, keys=keys_of_sets)
    paired += paired_sets
    skipped = [*skipped, *unread, *uncounted, *unscored, *unpaired]
    if not (results or covr):
        of = f" of {', '.join(hops)}" if hops else ""
        raise PredictionsError([*skipped, f"no predictions{of} were found; there is nothing to report"][0])
    tuned = tuned_settings(_last_of(_shown(results)))
    with progress.stage("Writing", total=1, unit="pages") as advance:
        page = _page(
            results,
            covr,
            paired,
            sources,
            tuned,
            instances=measure_instances(results, keys=keys),
            title=title,
            question=question,
            failures=failures,
            skipped=skipped,
        )
        advance(1)
    missing = _why_missing()
    drawn = [each for each in page.blocks if isinstance(each, Figure)]
    figures = {f"{FIGURES}/{each.name}.svg": each.whole.encode() for each in drawn}
    table = results_csv(results, paired, covr, tuned)
    pages = (table, provenance(sources, table), markdown(page).encode(), html(page).encode())
    write_own(out, {**figures, **dict(zip(PAGES, pages, strict=True))})
    return Report(
        html=out / "report.html",
        markdown=out / "report.md",
        figures=tuple(out / name for name in figures),
        csv=out / "results.csv",
        provenance=out / "provenance.json",
        n_results=len(results) + sum(len(each.conditions) for each in covr),
        skipped=tuple(skipped),
        without=missing and f"Without figures and tests of slopes: {missing}.",
    )


def _page(
    results: Sequence[Result],
    covr: Sequence[Results],
    paired: Sequence[SuiteResult],
    sources: Sequence[Source],
    tuned: Sequence[TunedSetting],
    *,
    instances: Sequence[Instance],
    title: str | None,
    question: str | None,
    failures: Sequence[str],
    skipped: Sequence[str],
) -> Page:
    """The page, in the order and with the words of the template report/page.txt."""
    shown = _shown(results)
    last = _last_of(shown)
    groups = groups_of(last)
    missing = _why_missing()
    draws = not missing
    sections = sections_of(shown) if draws else []
    models = {result.source.paper_model for result in results} & {row.model for row in paper_results()}
    page, of_groups = Page(), summary_tables(groups)
    render_page(
        "report/page.txt",
        page=page,
        # COVR's questions have no gaps: its splits are about composition.
        title=title or ("Systematicity gaps" if results else "Compositional generalisation"),
        question=question,
        results=results,
        groups=groups,
        headlines=headlines(groups),
        slope_answers=slope_answers(sections),
        has_papers_models=bool(models),
        remarks=remarks(results),
        not_trained=NOT_TRAINED,
        least_denominator=f"{LEAST_DENOMINATOR:g}",
        slopes=slopes(sections),
        models=[*_models([result for result in last if not result.mode], draws=draws)],
        covr=[covr_tables(scores, k + 1, draws=draws) for k, scores in enumerate(covr)],
        suites=suite_tables([each for each in paired if each.result in shown or not each.result.accuracies]),
        regressions=regressions(instances, draws=draws),
        wrong_answers=failure_cards(last),
        n_dropped=len(results) - len(shown),
        left_out={
            "Runs that failed": "; ".join(failures),
            "Left out": "; ".join(skipped),
            "Without figures and tests of slopes": missing,
        },
        tables={
            **of_groups,
            "all_pairs": all_pairs_table(last, tests=draws),
            "setups": setup_tables(results),
            "tuning": tuning_table(tuned),
            "datasets": datasets_table(sources),
            "files": files_table(sources),
        },
        version=software_version(),
        digest_letters=DIGEST_LETTERS,
        counted=counted,
        **_figures(groups, last, draws=draws),
    )
    return page


def _shown(results: Sequence[Result]) -> Sequence[Result]:
    """The results that have tables of their own.

    Runs that dropped train questions are many instances of one model, for a regression. They have none unless
    there are no other runs.
    """
    return [result for result in results if not dropped(result.source.setup)] or results


def _last_of(results: Sequence[Result]) -> list[Result]:
    """Those of weights at the end of a run or stage, about the sub-dataset that was trained on."""
    return [result for result in results if result.source.checkpoint == LAST and not result.is_elsewhere]


def _figures(groups: Sequence[Group], last: Sequence[Result], *, draws: bool) -> dict[str, Sequence[Figure]]:
    """The figures that are not of one model; none without matplotlib."""
    if not draws:
        return dict.fromkeys(("overview", "diversity_figures", "learning_curves"), ())
    from clevrhope.report.figures import diversity_plots, overview
    from clevrhope.report.learning_curves import learning_curves

    curves = learning_curves(last)
    return {
        "overview": [overview(at_largest(groups))] if groups else [],
        "diversity_figures": [*diversity_plots(groups)],
        "learning_curves": [curves] if curves else [],
    }


def _models(plain: Sequence[Result], *, draws: bool) -> Iterator[dict[str, Any]]:
    """The paper's tables and figures of each model on plain pairs, with the notes of its predictions."""
    for name in models_of(plain):
        own = [result for result in plain if result.model == name]
        if all(result.collapsed for result in own):
            yield {"name": name, "collapsed": True}
            continue
        gaps, accuracies = ([*paper_tables(plain, name, metric)] for metric in ("gap", "accuracy"))
        figures: list[Figure] = []
        if draws:
            from clevrhope.report.figures import figures_of

            figures += figures_of(plain, name)
        yield {
            "name": name,
            "collapsed": False,
            "notes": sorted({result.source.note for result in own if result.source.note}),
            "figures": figures,
            "gaps": gaps,
            "accuracies": accuracies,
            "pairs": None if accuracies else pairs_table(own),
        }


def _why_missing() -> str:
    """Why a module of the extra "plots" cannot be imported; "" where all can."""
    try:
        check_extra("plots need", "matplotlib", "plots")
        check_extra("tests of slopes need", "scipy", "plots")
    except ConfigError as error:
        return str(error)
    return ""
