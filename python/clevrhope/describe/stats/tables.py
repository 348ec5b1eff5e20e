"""The tables of `clevrhope stats`, and the order in which tables and plots show names."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from clevrhope.dataset.question_kinds import PAIR_PLACES, STRUCTURES
from clevrhope.describe.covr import FILTERED, N_TRAIN
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
from clevrhope.describe.suites import CELLS
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
    """The tables of all measurements; `full` adds those of families and of pairs of values."""
    if sheet.columns:
        yield from _of_splits(sheet, full=full)
        suites = [
            (f"{suite} on {split}", pairs)
            for suite, splits in sheet.suites.items()
            for split, pairs in splits.items()
        ]
        for k, (name, pairs) in enumerate(suites, 1):
            yield _suite(name, pairs, has_pair=bool(sheet.held_out), legend=k == len(suites))
    if sheet.covr:
        yield from _of_sets(sheet.covr)


def _of_splits(sheet: StatsSheet, *, full: bool) -> Iterator[StatsTable]:
    """The tables of questions about one image."""
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


def _share(histogram: str, key: str, *, of: str = "questions") -> Cell:
    """The cell with a key's share of a total."""
    return lambda split: percent(split[histogram].get(key, 0) / split[of] if split[of] else 0.0)


def _shares(
    histogram: str, keys: Iterable[str], prefix: str = "", *, of: str = "questions"
) -> dict[str, Cell]:
    """A row for each key of a histogram, with its share of a total."""
    return {f"{prefix}{key}": _share(histogram, key, of=of) for key in keys}


def _share_of_family(file: str, place: int) -> Cell:
    return lambda split: percent(by_family(split).get((file, place), 0) / max(split["questions"], 1), 2)


def _shares_of_pairs(pairs: Iterable[Iterable[Value]]) -> dict[str, Cell]:
    """A row for every two values, with the shares of the objects and of the images that show both."""

    def cell(pair: frozenset[Value]) -> Cell:
        def shares(split: Measured) -> str:
            found = by_values(split).get(pair, {"objects": 0, "images": 0})
            of_images = percent(found["images"] / max(split["images"], 1), 0)
            return f"{percent(found['objects'] / max(split['objects'], 1))} {of_images:>4}"

        return shares

    return {f"{a[1]} {b[1]}": cell(frozenset({a, b})) for a, b in pairs}


def _n_relational(split: Measured) -> int:
    """Number of questions with at least one spatial relation."""
    return int(split["questions"] - split["relations_a_question"].get("0", 0))


def _all_needed(split: Measured) -> float | None:
    """Share of the questions with relations in which all of them are needed; None if unknown."""
    needed, n = split["questions_with_all_relations_needed"], _n_relational(split)
    return None if needed is None or not n else needed / n


def _largest(histogram: Mapping[str, int]) -> str:
    return str(max(map(int, histogram), default=0))


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
    "questions with a relation": lambda split: percent(_n_relational(split) / max(split["questions"], 1)),
    "- all of them needed": lambda split: percent(_all_needed(split)),
    "families": lambda split: str(len(split["families"])),
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


def _suite(name: str, suite: Mapping[str, Any], *, has_pair: bool, legend: bool) -> StatsTable:
    """The table of a suite's tests; cells without pairs are left out."""
    tests = suite["tests"]
    cells = [cell for cell in CELLS if has_pair and any(test["cells"].get(cell) for test in tests.values())]
    rows = [
        [
            *(name_of_test, test["tier"], ", ".join(test["relations"]), number(test["pairs"])),
            *(number(test["cells"].get(cell, 0)) for cell in cells),
            percent(test["yes_share"]),
        ]
        for name_of_test, test in tests.items()
    ]
    notes = [f"No pair: {', '.join(suite['empty_tests'])}."] if suite["empty_tests"] else []
    if legend:
        notes.append("Yes: its share among the partners that are answered yes or no.")
        if has_pair:
            notes.append(
                "Columns 00 to 11: pairs by who mentions the held-out pair, first the original, then the "
                "partner."
            )
    return StatsTable(
        f"Paired tests: {name}, {number(suite['pairs'])} pairs of {number(suite['originals'])} questions",
        ["", "tier", "answers", "pairs", *cells, "yes"],
        rows,
        " ".join(notes),
    )


def _of_sets(splits: Mapping[str, Measured]) -> Iterator[StatsTable]:
    """The tables of questions over several images."""
    title = "Questions over several images"
    head = ["", *splits]
    measured = list(splits.values())
    cells: dict[str, Cell] = {
        "questions": lambda split: number(split["questions"]),
        "images": lambda split: number(split["images"]),
        "images per question, mean": lambda split: decimal(mean(split["images_a_question"])),
        "tokens per question, mean": lambda split: decimal(mean(split["tokens"])),
        "functions per program, mean": lambda split: decimal(mean(split["functions"])),
        **_shares("structures", STRUCTURES, "described: "),
        **_shares("pair_places", PAIR_PLACES, "pair: "),
        "pairs that were not found": _n_not_found,
    }
    if any(split["baselines"]["maj"] is not None for split in measured):
        cells["Maj of train: accuracy"] = lambda split: percent(split["baselines"]["maj"])
        cells["MajTempl of train: accuracy"] = lambda split: percent(split["baselines"]["maj_templ"])
    yield StatsTable(title, head, _rows(measured, cells))
    answers = dict.fromkeys(answer for split in measured for answer in split["answers"])
    rows = _rows(measured, _shares("answers", answers))
    yield StatsTable(f"{title}: answers, share of the questions", head, rows)
    rows = _rows(measured, _shares("properties", measured[0]["properties"]))
    rows = [[*row, percent(FILTERED[row[0]] / N_TRAIN) if row[0] in FILTERED else ""] for row in rows]
    yield StatsTable(f"{title}: properties of COVR, share of the questions", [*head, "COVR"], rows)
    yield _cuts(splits)


def _cuts(splits: Mapping[str, Measured]) -> StatsTable:
    rows = []
    for name in dict.fromkeys(name for split in splits.values() for name in split["templates"]):
        templates = [split["templates"].get(name) for split in splits.values()]
        rows.append([name, *(number(template["questions"] if template else 0) for template in templates)])
        for label, kind in (("answer needs the last object", "changed"), ("only numbers need it", "numbers")):
            shares = (percent(_share_with_object(template, kind)) for template in templates)
            rows.append([f"- {label}", *shares])
    return StatsTable(
        "Templates over several images: questions, and whether the last object is needed",
        ["", *splits],
        rows,
        "Needed: the answer is lost or changes without the object, or the answer stays, but each number that "
        "it follows from changes; the shares are of the questions with such an object.",
    )


def _share_with_object(template: Mapping[str, Any] | None, kind: str) -> float | None:
    """The share of a kind among a template's questions that describe an object which can be left out."""
    cut = template["cut"] if template else {"changed": 0, "numbers": 0, "stays": 0}
    n = cut["changed"] + cut["numbers"] + cut["stays"]
    return cut[kind] / n if n else None


def _n_not_found(split: Measured) -> str:
    return number(sum(split["pairs_not_found"].values()))
