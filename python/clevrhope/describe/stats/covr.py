"""Questions over several images in `clevrhope stats`: their tables, and their part of the JSON object."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from clevrhope.dataset.covr_h5 import PAIR_PLACES, STRUCTURES
from clevrhope.describe.covr import CovrStats
from clevrhope.describe.covr_paper import FILTERED, N_TRAIN
from clevrhope.describe.markdown import decimal, number, percent
from clevrhope.describe.measure import mean
from clevrhope.describe.stats.table import Table
from clevrhope.splits.covr.kinds import COVR_TRAIN


def covr_tables(splits: Sequence[CovrStats]) -> Iterator[Table]:
    """The tables of these splits; none if there are no splits."""
    if not splits:
        return
    yield _overview(splits)
    answers = dict.fromkeys(answer for each in splits for answer in each.answers)
    yield _shares(splits, "answers", list(answers), lambda each: each.answers)
    yield _shares(
        splits, "properties of COVR", list(splits[0].properties), lambda each: each.properties, paper=FILTERED
    )
    yield _cuts(splits)


def _overview(splits: Sequence[CovrStats]) -> Table:
    train = _train(splits)
    rows = [
        _row(splits, "questions", lambda each: number(each.n_questions)),
        _row(splits, "images", lambda each: number(each.n_images)),
        _row(splits, "images per question, mean", lambda each: decimal(mean(each.images_a_question))),
        _row(splits, "tokens per question, mean", lambda each: decimal(mean(each.words))),
        _row(splits, "functions per program, mean", lambda each: decimal(mean(each.functions))),
        *_rows(splits, "described", STRUCTURES, lambda each: each.structures),
        *_rows(splits, "pair", PAIR_PLACES, lambda each: each.pair_places),
        _row(splits, "pairs that were not found", _n_skipped),
    ]
    if train is not None:
        rows += [
            _row(splits, "Maj of train: accuracy", lambda each: _guessed(each, train, by_template=False)),
            _row(splits, "MajTempl of train: accuracy", lambda each: _guessed(each, train, by_template=True)),
        ]
    return Table("Questions over several images", _head(splits), rows)


def _cuts(splits: Sequence[CovrStats]) -> Table:
    templates = dict.fromkeys(template for each in splits for template in each.cuts)
    rows = []
    for template in templates:
        n_questions = [number(sum(each.cuts.get(template, {}).values())) for each in splits]
        rows.append([template, *n_questions])
        rows.append(["- last object needed", *(percent(each.needed(template)) for each in splits)])
    return Table(
        "Templates over several images: questions, and whether the last object is needed",
        _head(splits),
        rows,
        "Needed: the answer, or a number that it follows from, is lost or changes without the object; the "
        "share is of the questions with such an object.",
    )


def _shares(
    splits: Sequence[CovrStats],
    what: str,
    keys: Sequence[str],
    counts: Callable[[CovrStats], Mapping[str, int]],
    *,
    paper: Mapping[str, int] | None = None,
) -> Table:
    """A table with one row for each key; with `paper`, a last column has the paper's shares."""
    rows = [_row(splits, key, _percent_of(counts, key)) for key in keys]
    head = _head(splits)
    if paper is not None:
        rows = [[*row, percent(paper[row[0]] / N_TRAIN) if row[0] in paper else ""] for row in rows]
        head = [*head, "COVR"]
    return Table(f"Questions over several images: {what}, share of the questions", head, rows)


def _rows(
    splits: Sequence[CovrStats],
    name: str,
    keys: Sequence[str],
    counts: Callable[[CovrStats], Mapping[str, int]],
) -> list[list[str]]:
    return [_row(splits, f"{name}: {key}", _percent_of(counts, key)) for key in keys]


def _percent_of(counts: Callable[[CovrStats], Mapping[str, int]], key: str) -> Callable[[CovrStats], str]:
    return lambda each: percent(each.share(counts(each).get(key, 0)))


def _head(splits: Sequence[CovrStats]) -> list[str]:
    return ["", *(each.split for each in splits)]


def _row(splits: Sequence[CovrStats], name: str, cell: Callable[[CovrStats], str]) -> list[str]:
    return [name, *map(cell, splits)]


def _n_skipped(stats: CovrStats) -> str:
    return "-" if stats.skipped is None else number(sum(stats.skipped.values()))


def _guessed(stats: CovrStats, train: CovrStats, *, by_template: bool) -> str:
    return percent(stats.guessed_from(train, by_template=by_template))


def _train(splits: Sequence[CovrStats]) -> CovrStats | None:
    return next((each for each in splits if each.split == COVR_TRAIN), None)


def covr_json(splits: Sequence[CovrStats]) -> dict[str, dict[str, Any]]:
    """Split -> every count."""
    train = _train(splits)
    return {each.split: _split(each, train) for each in splits}


def _split(stats: CovrStats, train: CovrStats | None) -> dict[str, Any]:
    return {
        "pool": stats.pool,
        "questions": stats.n_questions,
        "pictures": stats.n_images,
        "pictures_a_question": stats.images_a_question,
        "answers": stats.answers,
        "templates": {
            template: {
                "questions": sum(answers.values()),
                "answers": answers,
                "cut": {
                    "changed": stats.cuts[template].get(1, 0),
                    "stays": stats.cuts[template].get(0, 0),
                    "exempt": stats.cuts[template].get(-1, 0),
                },
            }
            for template, answers in stats.answers_of_templates.items()
        },
        "structures": stats.structures,
        "properties": stats.properties,
        "pair_places": stats.pair_places,
        "tokens": stats.words,
        "functions": stats.functions,
        "pairs_not_found": stats.skipped,
        "baselines": {
            "maj": _finite(stats, train, by_template=False),
            "maj_templ": _finite(stats, train, by_template=True),
        },
    }


def _finite(stats: CovrStats, train: CovrStats | None, *, by_template: bool) -> float | None:
    """A share, or None if it is unknown."""
    if train is None or not stats.n_questions:
        return None
    return round(stats.guessed_from(train, by_template=by_template), 6)
