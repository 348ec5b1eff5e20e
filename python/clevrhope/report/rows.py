"""All results as long rows, one number each: results.csv, whose columns docs/report.md describes."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from clevrhope.errors import printable
from clevrhope.metrics.estimates import Estimate
from clevrhope.metrics.published import size_name
from clevrhope.metrics.results import Interval, Measure, Model, Part, Results
from clevrhope.metrics.suite_groups import COVERAGE
from clevrhope.metrics.suite_tables import ALL_PAIRS
from clevrhope.metrics.text_tables import WHY_NO_SCORE, described
from clevrhope.report.all_pairs import ALL_HOPS, all_pairs, mean_gap
from clevrhope.report.results import KINDS, Result
from clevrhope.report.runs import LAST
from clevrhope.report.suites import SuiteResult
from clevrhope.report.tuning import TunedSetting

Row = dict[str, Any]
"""Column -> value of a row of results.csv."""

_COLUMNS = ("model", "metric", "split", "hop", "diversity", "train_size", "run", "checkpoint", "mean_percent")
_OPTIONAL = (
    *("dataset", "trained_on", "unanswered", "note", "suite", "by", "part", "cell", "of_model", "chosen"),
    *("n", "low", "high"),
)
"""Columns that are left out if they are empty in all rows."""


def results_csv(
    results: Sequence[Result],
    paired: Sequence[SuiteResult],
    covr: Sequence[Results],
    tuned: Sequence[TunedSetting] = (),
) -> bytes:
    """The rows of all results, paired tests, sets of images and settings that were compared, as a file."""
    rows = [row for result in results for row in _of_result(result)]
    rows += _of_all_pairs(results)
    rows += [row for result in paired for row in _of_pairs(result)]
    rows += [row for scores in covr for row in _of_sets(scores)]
    for setting in tuned:
        chosen = {"note": "", "chosen": "yes" if setting.chosen else ""}
        rows += [_row(run.result, "tuning_accuracy", run.tuned_on, run.last) | chosen for run in setting.runs]
    if len({row.get("dataset") for row in rows}) == 1:  # then it says nothing
        rows = [{**row, "dataset": ""} for row in rows]
    more = [name for name in _OPTIONAL if any(row.get(name) for row in rows)]
    text = io.StringIO()
    writer = csv.DictWriter(text, [*_COLUMNS, *more], lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows({name: _safe(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode()


def _safe(value: Any) -> Any:
    """A cell that no spreadsheet runs: text that begins like a formula gets an apostrophe before it.

    Characters that control a terminal are escaped.
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    try:
        float(text)
    except ValueError:
        return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text
    return text


def _interval(interval: Interval | None) -> Row:
    return {} if interval is None else {"low": f"{interval.low:.4f}", "high": f"{interval.high:.4f}"}


def _row(result: Result, metric: str, split: str, number: float) -> Row:
    return {
        "model": result.model,
        "metric": metric,
        "split": split,
        "hop": result.hop,
        "diversity": result.diversity,
        "train_size": result.size,
        "run": result.run,
        "checkpoint": result.source.checkpoint,
        "dataset": result.source.dataset.resolve().name,
        "trained_on": result.source.hop if result.is_elsewhere else "",
        "mean_percent": f"{number:.4f}",
        "note": result.source.note,
    }


def _of_result(result: Result) -> Iterator[Row]:
    """A row for each accuracy, then for each gap, with the columns of the paper's results."""
    for split, accuracy in result.accuracies.items():
        unanswered = {"unanswered": result.n_unanswered.get(split, 0)}
        yield _of_estimate(result, "accuracy", split, accuracy) | unanswered
    for measure, of_splits in result.groups.items():
        for split, share in of_splits.items():
            yield _of_estimate(result, measure, split, share)
    for measure, kind in (*(("gap", kind) for kind in KINDS), ("matched_gap", "complex")):
        gap = result.figure(measure, kind)
        if gap is not None:
            row = _of_estimate(result, measure, kind, gap)
            if measure == "matched_gap" and result.matched:
                row["n"] = result.matched.n_ood - result.matched.n_ood_unmatched
            yield row


def _of_estimate(result: Result, metric: str, split: str, figure: Estimate) -> Row:
    return {**_row(result, metric, split, figure.value), "n": figure.n, **_interval(figure.interval)}


def _of_all_pairs(results: Sequence[Result]) -> Iterator[Row]:
    """A row for each mean gap over all pairs."""
    last = [each for each in results if each.source.checkpoint == LAST and not each.is_elsewhere]
    for of in all_pairs(last):
        for kind in KINDS:
            if (mean := mean_gap(of, kind)) is not None:
                yield {
                    **{"model": of.model, "metric": "gap", "split": kind, "hop": ALL_HOPS},
                    **{"train_size": size_name(of.size or None), "checkpoint": LAST},
                    **{"mean_percent": f"{mean.value:.4f}", "n": mean.n},
                }


def _of_pairs(paired: SuiteResult) -> Iterator[Row]:
    """A row for each part and measure that is defined, by the names of `score --suite --json`.

    Accuracy is `pair_accuracy`, since `accuracy` is that of a split.
    """
    for part, scores in paired.scores.items():
        numbers = {name: measure.value for name, measure in scores.measures.items()}
        if part.by == "test" and not part.cell and part.name in paired.scored.constants:
            numbers["constant"] = paired.scored.constants[part.name].percent
        of_part = {"suite": paired.suite, "by": part.by, "part": part.name or ALL_PAIRS, "cell": part.cell}
        if part.by == "test" and not part.cell:
            numbers["words"] = paired.scored.words.get(part.name)
        for name, value in numbers.items():
            if value is not None:
                row = _row(paired.result, name, paired.split, value)
                if name == "accuracy":
                    row |= {"metric": "pair_accuracy", "unanswered": scores.counts.get("n_unread")}
                if part.by == COVERAGE:
                    row |= {"metric": COVERAGE, "of_model": name}
                yield {**row, **of_part, "n": scores.n}


def _of_sets(scores: Results) -> Iterator[Row]:
    """Accuracies of test sets and of their parts, and generalisation scores."""
    for condition in scores.conditions:
        runs = {"checkpoint": LAST, "run": "+".join(filter(None, condition.runs))}
        note = f"trained {described(condition.training)}"
        for split, of_split in condition.splits.items():
            for part, scored in of_split.parts.items():
                accuracy, n = scored.mean["accuracy"], scored.mean.counts["n_questions"]
                of_part = _of_model(condition, "accuracy", split, part, accuracy, n)
                yield {**of_part, **runs, "note": note}
    for row in scores.predicates:
        for name, of_score in row.generalisation.items():
            score = of_score["score"]
            of_row = _of_model(row, name, row.split, row.part, score, row.n_questions)
            yield {**of_row, "note": WHY_NO_SCORE if score.value is None else ""}


def _of_model(model: Model, metric: str, split: str, part: Part, measure: Measure, n: int) -> Row:
    return {
        "model": model.model,
        "metric": metric,
        "split": split,
        "hop": model.hop,
        "train_size": model.train_size,
        "by": part.by,
        "part": part.name,
        "cell": part.cell,
        "n": n,
        "mean_percent": "" if measure.value is None else f"{measure.value:.4f}",
        **_interval(measure.interval),
    }
