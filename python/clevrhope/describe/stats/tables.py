"""The tables of `clevrhope stats`, and the order in which tables and plots show names."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from clevrhope.describe.measure import Value
from clevrhope.describe.measured import (
    DISTRIBUTIONS,
    RELATION_ORDER,
    TYPE_ORDER,
    VALUE_ORDER,
    Measured,
    baselines,
    by_family,
    by_values,
    ordered,
)
from clevrhope.describe.stats.comparison import SplitColumn, StatsSheet
from clevrhope.pages.markdown import decimal, mean, number, percent, percentile

Cell = Callable[[Measured], str]
"""Makes a cell of a table from the measurements of a split."""


@dataclass(frozen=True)
class StatsTable:
    """A table whose first column names the rows, and whose other columns have numbers."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def tables(sheet: StatsSheet, *, full: bool) -> Iterator[StatsTable]:
    """The tables of questions about one image; `full` adds those of families and of pairs of values.

    Datasheets have those of paired tests and of questions over several images.
    """
    if not sheet.columns:
        return
    head = ["", *(column.label for column in sheet.columns)]
    splits = sheet.splits

    def table(title: str, cells: Mapping[str, Cell], note: str = "") -> StatsTable:
        return StatsTable(title, head, _rows(splits, cells), note)

    yield table(
        "What is in it",
        OVERVIEW,
        "Words do not include punctuation; a relation is left, right, front or behind.",
    )
    if sheet.comparisons:
        yield _distances(sheet)
    guesses: dict[str, Cell] = {"most frequent answer": lambda split: next(iter(split["answers"]), "")}
    for label, key in GUESSES.items():
        if sheet.train is not None or not key.endswith("_in_train"):
            guesses[label] = _guess(key, sheet.train)
    yield table("Accuracy of guessing", guesses, "The first two are chosen on the split itself.")
    types = names_of(splits, "answer_types", TYPE_ORDER)
    answers = names_of(splits, "answers", VALUE_ORDER)
    yield table(
        "Answer types and answers: share of the questions",
        _shares("answer_types", types) | _shares("answers", answers, "- "),
    )
    families = family_order(sheet.columns)
    yield table(
        "Template files: share of the questions",
        _shares("files", dict.fromkeys(file for file, _ in families)),
    )
    if full:
        yield table(
            "Families: share of the questions",
            {f"{file} {place}": _share_of_family(file, place) for file, place in families},
            "The number is the place in the file.",
        )
    most = max((int(n) for split in splits for n in split["relations_a_question"]), default=0)
    yield table(
        "Relations named: share of the questions",
        _shares("relations", names_of(splits, "relations", RELATION_ORDER))
        | {f"{n} spatial": _share("relations_a_question", str(n)) for n in range(most + 1)},
    )
    numbers = sorted({int(n) for split in splits for n in split["objects_an_image"]})
    yield table(
        "Objects per image: share of the images",
        _shares("objects_an_image", map(str, numbers), of="images"),
    )
    values = [(kind, value) for kind, of_kind in value_types(sheet.columns).items() for value in of_kind]
    yield table(
        "Values: share of the objects in the split's images",
        {f"{kind} {value}": _share("values", value, of="objects") for kind, value in values},
    )
    of_pairs = "share of the objects, and of the images with one"
    if sheet.held_out:
        several = len(sheet.held_out) > 2
        what = "Pairs among the values held out together" if several else "The held-out pair"
        yield table(f"{what}: {of_pairs}", _shares_of_pairs(combinations(sheet.held_out, 2)))
    if full:
        every = sorted({tuple(pair["values"].items()) for split in splits for pair in split["pairs"]})
        yield table(f"Pairs of values: {of_pairs}", _shares_of_pairs(every))


def names_of(splits: Iterable[Measured], histogram: str, order: Sequence[str]) -> list[str]:
    """The names in a histogram of any split, in a given order."""
    return ordered((name for split in splits for name in split[histogram]), order)


def value_types(columns: Sequence[SplitColumn]) -> dict[str, list[str]]:
    """Attribute -> its values in the images of the splits, in display order."""
    values: dict[str, set[str]] = {}
    for column in columns:
        for pair in column.measured["pairs"]:
            for kind, value in pair["values"].items():
                values.setdefault(kind, set()).add(value)
    return {kind: ordered(values[kind], VALUE_ORDER) for kind in ordered(values, TYPE_ORDER)}


def family_order(columns: Sequence[SplitColumn]) -> list[tuple[str, int]]:
    """The families that occur in some split, by `question_family_index`."""
    index = {
        (family["file"], family["place"]): family["question_family_index"]
        for column in columns
        for family in column.measured["families"]
    }
    return sorted(index, key=lambda name: (index[name], name))


def _rows(splits: Iterable[Measured], cells: Mapping[str, Cell]) -> list[list[str]]:
    """A row for each name of a row, with a cell for each split."""
    columns = list(splits)
    return [[name, *map(cell, columns)] for name, cell in cells.items()]


_NEEDED: Mapping[str, str] = {
    **dict.fromkeys(("answer_types", "relations", "relations_a_question"), "functions"),
    **dict.fromkeys(("objects_an_image", "values"), "objects"),
    "files": "families",
}
"""Histogram -> what is empty or 0 if published files do not say it."""


def _share(histogram: str, key: str, *, of: str = "questions") -> Cell:
    """The cell with a key's share of a total; "-" where published files do not say it."""
    needed = _NEEDED.get(histogram, "questions")
    return lambda split: percent(split[histogram].get(key, 0) / split[of] if split[needed] else None)


def _shares(
    histogram: str, keys: Iterable[str], prefix: str = "", *, of: str = "questions"
) -> dict[str, Cell]:
    """A row for each key of a histogram, with its share of a total."""
    return {f"{prefix}{key}": _share(histogram, key, of=of) for key in keys}


def _share_of_family(file: str, place: int) -> Cell:
    return lambda split: percent(
        by_family(split).get((file, place), 0) / split["questions"] if split["families"] else None, 2
    )


def _shares_of_pairs(pairs: Iterable[Iterable[Value]]) -> dict[str, Cell]:
    """A row for every two values, with the shares of the objects and of the images that show both."""

    def cell(pair: frozenset[Value]) -> Cell:
        def shares(split: Measured) -> str:
            found = by_values(split).get(pair, {"objects": 0, "images": 0})
            of_images = percent(found["images"] / max(split["images"], 1), 0)
            of_objects = percent(found["objects"] / max(split["objects"], 1))
            return f"{of_objects} {of_images:>4}" if split["objects"] else "-"

        return shares

    return {f"{a[1]} {b[1]}": cell(frozenset({a, b})) for a, b in pairs}


def _n_relational(split: Measured) -> int:
    """Number of questions with at least one spatial relation."""
    return sum(n for relations, n in split["relations_a_question"].items() if relations != "0")


def _all_needed(split: Measured) -> float | None:
    """Share of the questions with relations in which all of them are needed; None if unknown."""
    needed, n = split["questions_with_all_relations_needed"], _n_relational(split)
    return None if needed is None or not n else needed / n


def _largest(histogram: Mapping[str, int]) -> str:
    return str(max(map(int, histogram))) if histogram else "-"


OVERVIEW: Mapping[str, Cell] = {
    "questions": lambda split: number(split["questions"]),
    "images": lambda split: number(split["images"]),
    "questions per image": lambda split: decimal(split["questions"] / max(split["images"], 1)),
    "objects per image, mean": lambda split: decimal(mean(split["objects_an_image"])),
    "words per question, mean": lambda split: decimal(mean(split["words"])),
    "words, 5th percentile": lambda split: str(percentile(split["words"], 0.05)),
    "words, 95th percentile": lambda split: str(percentile(split["words"], 0.95)),
    "words, maximum": lambda split: _largest(split["words"]),
    "functions per program, mean": lambda split: decimal(mean(split["functions"])),
    "functions, maximum": lambda split: _largest(split["functions"]),
    "relations per question, mean": lambda split: decimal(mean(split["relations_a_question"])),
    "questions with a relation": lambda split: percent(
        _n_relational(split) / sum(split["functions"].values()) if split["functions"] else None
    ),
    "- all of them needed": lambda split: percent(_all_needed(split)),
    "families": lambda split: str(len(split["families"]) or "-"),
}

GUESSES: Mapping[str, str] = {
    "- its accuracy": "most_frequent",
    "that of each family: accuracy": "most_frequent_of_family",
    "that of train: accuracy": "most_frequent_in_train",
    "that of each family in train: accuracy": "most_frequent_of_family_in_train",
}
"""Name of a row -> its key in `baselines`."""


def _guess(key: str, train: Measured | None) -> Cell:
    return lambda split: percent(baselines(split, train)[key])


def _distances(sheet: StatsSheet) -> StatsTable:
    rows = []
    for each in sheet.comparisons:
        rows.append([f"{each['a']} / {each['b']}", *map(decimal, each["total_variation"].values())])
        rows.append(["- roughly, by chance", *map(decimal, each["by_chance"].values())])
    return StatsTable(
        "Distances: total variation (0: alike, 1: nothing in common)",
        ["", *DISTRIBUTIONS],
        rows,
        "By chance: what two samples of one distribution would have at these sizes.",
    )
