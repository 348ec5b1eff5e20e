"""The tables of questions over several images in `clevrhope stats`, from measured.json."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from clevrhope.dataset.question_kinds import PAIR_PLACES, STRUCTURES
from clevrhope.describe.covr_paper import FILTERED, N_TRAIN
from clevrhope.describe.stats.table import Table
from clevrhope.pages.markdown import decimal, mean, number, percent

Split = Mapping[str, Any]
"""The measurements of a split."""

_Cell = Callable[[Split], str]


def covr_tables(splits: Mapping[str, Split]) -> Iterator[Table]:
    """The tables of these splits; none if there are no splits."""
    if not splits:
        return
    first = next(iter(splits.values()))
    yield _overview(splits)
    answers = dict.fromkeys(answer for each in splits.values() for answer in each["answers"])
    title = "Questions over several images: {}, share of the questions"
    yield Table(title.format("answers"), ["", *splits], _rows(splits, _of("answers", answers)))
    rows = _rows(splits, _of("properties", first["properties"]))
    rows = [[*row, percent(FILTERED[row[0]] / N_TRAIN) if row[0] in FILTERED else ""] for row in rows]
    yield Table(title.format("properties of COVR"), ["", *splits, "COVR"], rows)
    yield _cuts(splits)


def _overview(splits: Mapping[str, Split]) -> Table:
    cells: dict[str, _Cell] = {
        "questions": lambda each: number(each["questions"]),
        "images": lambda each: number(each["images"]),
        "images per question, mean": lambda each: decimal(mean(each["images_a_question"])),
        "tokens per question, mean": lambda each: decimal(mean(each["tokens"])),
        "functions per program, mean": lambda each: decimal(mean(each["functions"])),
        **_of("structures", STRUCTURES, "described: "),
        **_of("pair_places", PAIR_PLACES, "pair: "),
        "pairs that were not found": _n_not_found,
    }
    if any(each["baselines"]["maj"] is not None for each in splits.values()):
        cells["Maj of train: accuracy"] = lambda each: percent(each["baselines"]["maj"])
        cells["MajTempl of train: accuracy"] = lambda each: percent(each["baselines"]["maj_templ"])
    return Table("Questions over several images", ["", *splits], _rows(splits, cells))


def _cuts(splits: Mapping[str, Split]) -> Table:
    rows = []
    for template in dict.fromkeys(name for each in splits.values() for name in each["templates"]):
        found = [each["templates"].get(template) for each in splits.values()]
        rows.append([template, *(number(each["questions"] if each else 0) for each in found)])
        rows.append(["- last object needed", *(percent(_needed(each)) for each in found)])
    return Table(
        "Templates over several images: questions, and whether the last object is needed",
        ["", *splits],
        rows,
        "Needed: the answer, or a number that it follows from, is lost or changes without the object; the "
        "share is of the questions with such an object.",
    )


def _needed(template: Mapping[str, Any] | None) -> float | None:
    cut = template["cut"] if template else {"changed": 0, "stays": 0}
    n = cut["changed"] + cut["stays"]
    return cut["changed"] / n if n else None


def _of(histogram: str, keys: Iterable[str], prefix: str = "") -> dict[str, _Cell]:
    """Name of a row -> its cells: a key's share of the questions."""

    def share(key: str) -> _Cell:
        return lambda each: percent(
            each[histogram].get(key, 0) / each["questions"] if each["questions"] else None
        )

    return {f"{prefix}{key}": share(key) for key in keys}


def _rows(splits: Mapping[str, Split], cells: Mapping[str, _Cell]) -> list[list[str]]:
    return [[name, *map(cell, splits.values())] for name, cell in cells.items()]


def _n_not_found(split: Split) -> str:
    found = split["pairs_not_found"]
    return "-" if found is None else number(sum(found.values()))
