"""The report's section on questions about sets of images: splits by predicates, test sets, templates."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.covr.scorer import score_covr
from clevrhope.metrics.covr.tables import (
    NO_SCORE,
    ROW_HEADS,
    WHY_NO_SCORE,
    described,
    is_undefined,
    row_cells,
)
from clevrhope.metrics.results import Condition, Results
from clevrhope.metrics.text_tables import text_with_interval, value_text
from clevrhope.report.page import Block, Heading, Table, Text
from clevrhope.report.results import Keys, check_dataset
from clevrhope.report.runs import LAST, Source
from clevrhope.runtime.progress import Progress

SEED = 0
"""Of the bootstrap behind the intervals, so that reports of the same runs are the same."""


def measure_covr(
    sources: Sequence[Source], *, progress: Progress, keys: Keys
) -> tuple[tuple[Results, ...], tuple[str, ...]]:
    """The scores of runs by dataset, and a sentence for each file or dataset that cannot be scored."""
    skipped: list[str] = []
    usable: dict[Path, list[Source]] = {}
    for source in sources:
        if source.is_last:
            try:
                check_dataset(source, keys(source.dataset))
                usable.setdefault(source.dataset.resolve(), []).append(source)
            except ClevrhopeError as error:
                skipped.append(str(error))
    found = []
    for own in usable.values():
        paths, names = [each.path for each in own], [each.name for each in own]
        try:
            scores = score_covr(
                own[0].dataset, paths, names=names, seed=SEED, partial=True, progress=progress
            )
            found.append(scores)
        except ClevrhopeError as error:
            skipped.append(str(error))
    return tuple(found), tuple(skipped)


def covr_blocks(scores: Sequence[Results]) -> Iterator[Block]:
    """The section; nothing without runs on such questions."""
    if not scores:
        return
    yield Heading("Questions about sets of images (COVR)")
    yield Text(
        "Accuracies are in per cent, with 95% intervals over source images. Maj is the most frequent answer "
        "of covr_train, MajTempl that of each template (COVR, table 6)."
    )
    for each in scores:
        if each.predicates:
            yield _splits_table(each)
        yield _sets_table(each.conditions)
        yield _parts_table(each.conditions, "template", "covr_test")
        yield _parts_table(each.conditions, "structure", "covr_test")
        if any("covr_test_ood" in condition.splits for condition in each.conditions):
            yield _parts_table(each.conditions, "place", "covr_test_ood")


def _splits_table(scores: Results) -> Table:
    """In the form of COVR's tables 7 and 8."""
    rows = []
    for each in scores.predicates:
        cells = row_cells(each)
        if each.generalisation and (interval := each.generalisation["generalisation_score"].interval):
            cells[-1] += f" ({interval.low:.0f} to {interval.high:.0f})"
        rows.append([each.predicate, each.hop, each.split, each.model, f"{each.shots:,}", *cells])
    return Table(
        "Splits by predicates, on the questions that have the property",
        ["split", "HOP", "test set", "model", "shots", *ROW_HEADS],
        rows,
        note="text: question_only, trained in the same way; iid-size: the model on as many questions, drawn "
        "with the property; iid: on all; generalisation score: (model - text) / (iid-size - text), which "
        "COVR draws within 0 to 100, with its interval."
        + (f" {NO_SCORE}: {WHY_NO_SCORE}" if any(map(is_undefined, scores.predicates)) else ""),
    )


def _sets_table(conditions: Sequence[Condition]) -> Table:
    splits = list(dict.fromkeys(split for each in conditions for split in each.splits))
    rows = []
    for each in conditions:
        cells = [
            text_with_interval(each.splits[split].mean["accuracy"]) if split in each.splits else ""
            for split in splits
        ]
        rows.append([*_name(each), *cells])
    first = {each.hop: each.splits for each in reversed(conditions)}
    for name, field in (("Maj", "maj"), ("MajTempl", "maj_templ")):
        for hop in dict.fromkeys(each.hop for each in conditions):
            of = first[hop]
            found = [f"{of[split].constants[field].percent:.1f}" if split in of else "" for split in splits]
            rows.append([name, hop, "", *found])
    return Table("Test sets", ["model", "HOP", "trained", *splits], rows)


def _parts_table(conditions: Sequence[Condition], by: str, split: str) -> Table:
    found = [(each, each.splits[split].by(by)) for each in conditions if split in each.splits]
    parts = list(dict.fromkeys(part for _, of in found for part in of))
    rows = [
        [*_name(each), *(value_text(of[part].mean["accuracy"]) if part in of else "" for part in parts)]
        for each, of in found
    ]
    return Table(f"{split} by {by}", ["model", "HOP", "trained", *parts], rows)


def _name(condition: Condition) -> list[str]:
    return [condition.model, condition.hop, described(condition.training)]


def covr_rows(scores: Sequence[Results]) -> Iterator[dict[str, str | int | None]]:
    """Rows of results.csv: accuracies of test sets and of their parts, and generalisation scores."""
    for each in scores:
        for condition in each.conditions:
            yield from _condition_rows(condition)
        for row in each.predicates:
            if row.generalisation is not None:
                score = row.generalisation["generalisation_score"].value
                yield {
                    **{"model": row.model, "metric": "generalisation_score", "split": row.split},
                    **{"hop": row.hop, "train_size": row.train_size, "n": row.n_questions},
                    **{"by": "predicate", "part": row.predicate, "cell": f"{row.shots} shots"},
                    "mean_percent": "" if score is None else f"{score:.4f}",
                    "note": "" if score is not None else WHY_NO_SCORE,
                }


def _condition_rows(condition: Condition) -> Iterator[dict[str, str | int | None]]:
    first = {
        "model": condition.model,
        "metric": "accuracy",
        "hop": condition.hop,
        "train_size": condition.train_size,
        "checkpoint": LAST,
        "run": "+".join(filter(None, condition.runs)),
        "note": f"trained {described(condition.training)}",
    }
    for split, found in condition.splits.items():
        for part, scored in found.parts.items():
            accuracy, n = scored.mean["accuracy"], scored.mean.counts["n_questions"]
            of_part = {"split": split, "by": part.by, "part": part.name}
            yield {**first, **of_part, "mean_percent": f"{accuracy.value:.4f}", "n": n}
