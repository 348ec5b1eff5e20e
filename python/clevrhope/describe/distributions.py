"""The Markdown tables of distributions in splits for a datasheet.

They have the numbers that `clevrhope stats` shows for one folder.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import TypeVar

from clevrhope.describe.markdown import code, decimal, escape, percent, table
from clevrhope.describe.measure import (
    Pair,
    SplitStats,
    Value,
    mean,
    percentile,
    total_variation,
    total_variation_by_chance,
)

_Key = TypeVar("_Key", bound=Hashable)

RELATION_ORDER = ("left", "right", "front", "behind")
"""Order of spatial relations; relations of equal values follow by name."""


def ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Names in a given order, followed by any others; after yes and no, numbers are in ascending order."""

    def rank(name: str) -> tuple[int, int, str]:
        if name.isdecimal():
            return (1, int(name), "")
        if name in order:
            return (0 if name in ("yes", "no") else 2, order.index(name), "")
        return (3, 0, name)

    return sorted(set(names), key=rank)


def share_table(
    columns: Sequence[SplitStats],
    rows: Sequence[tuple[str, _Key]],
    histogram: Callable[[SplitStats], Mapping[_Key, int]],
    total: Callable[[SplitStats], int],
    head: str = "",
) -> str:
    """A table of shares of a split's total, with one row for each name and key and one column per split."""
    return table(
        [head, *(code(each.split) for each in columns)],
        [
            (escape(name), *(percent(histogram(each).get(key, 0) / max(total(each), 1)) for each in columns))
            for name, key in rows
        ],
    )


def images_and_lengths(
    columns: Sequence[SplitStats], attributes: Mapping[str, Sequence[str]], pair: Sequence[Value]
) -> Iterator[str]:
    """Tables of objects, lengths and values, and of the combinations of the pair's attributes."""
    numbers = [n for each in columns for n in each.objects]
    span = range(min(numbers, default=0), max(numbers, default=-1) + 1)
    yield "Objects per image (share of the images):"
    yield share_table(columns, [(str(n), n) for n in span], lambda s: s.objects, lambda s: s.n_images)
    yield "Words per question and functions per program:"
    yield _lengths(columns)
    yield "Values (share of the objects in the split's images; the values of each type add up to 100%):"
    yield value_table(columns, attributes)
    values = [(kind, value) for kind, of_kind in attributes.items() for value in of_kind]
    for two in combinations(pair, 2):
        (a, x), (b, y) = sorted(two, key=values.index)
        yield f"Combinations of {escape(a)} and {escape(b)} (share of the objects):"
        rows = [
            (f"{v} {w}{', held out' if (v, w) == (x, y) else ''}", sorted_pair((a, v), (b, w)))
            for v, w in product(attributes[a], attributes[b])
        ]
        yield share_table(columns, rows, lambda s: s.pairs, lambda s: s.n_objects, "value")


def value_table(columns: Sequence[SplitStats], attributes: Mapping[str, Sequence[str]]) -> str:
    """A table of how many objects have each value."""
    rows = [(f"{kind} {value}", value) for kind, values in attributes.items() for value in values]
    return share_table(columns, rows, lambda s: s.values, lambda s: s.n_objects, "value")


def sorted_pair(first: Value, second: Value) -> Pair:
    """Two values in the order of `SplitStats.pairs`."""
    return min(first, second), max(first, second)


def answer_type_table(columns: Sequence[SplitStats]) -> str:
    """A table of answer types."""
    kinds = ordered((kind for each in columns for kind in each.answer_types), ("yes/no", "count"))
    return share_table(
        columns, [(kind, kind) for kind in kinds], lambda s: s.answer_types, lambda s: s.n_questions
    )


def relation_table(columns: Sequence[SplitStats]) -> str:
    """A table of the relations that questions name, followed by the number of spatial ones per question."""
    most = max((n for each in columns for n in each.relations_a_question), default=0)
    shown = ordered((name for each in columns for name in each.relations), RELATION_ORDER)
    shown += [_spatial(n) for n in range(most + 1)]
    return share_table(
        columns,
        [(name, name) for name in shown],
        lambda s: {**s.relations, **{_spatial(n): k for n, k in s.relations_a_question.items()}},
        lambda s: s.n_questions,
    )


def _spatial(n: int) -> str:
    return f"{n} spatial"


def distances(a: SplitStats, b: SplitStats) -> str:
    """A sentence on how far apart two splits are in the most important distributions."""
    return (
        f"Total variation distance between {code(a.split)} and {code(b.split)} (0: alike, 1: nothing in "
        "common; in brackets roughly what chance gives at these sizes): "
        f"objects per image {_distance(a.objects, b.objects)}, "
        f"values {_distance(a.values, b.values)}, "
        f"families {_distance(a.families, b.families)}, "
        f"answers {_distance(a.answers, b.answers)}, "
        f"words per question {_distance(a.words, b.words)}."
    )


def _lengths(columns: Sequence[SplitStats]) -> str:
    return table(
        ["", *(code(each.split) for each in columns)],
        [
            ("words, mean", *(decimal(mean(each.words)) for each in columns)),
            ("words, 5th percentile", *(percentile(each.words, 0.05) for each in columns)),
            ("words, 95th percentile", *(percentile(each.words, 0.95) for each in columns)),
            ("words, maximum", *(max(each.words, default=0) for each in columns)),
            ("functions, mean", *(decimal(mean(each.functions)) for each in columns)),
            ("functions, maximum", *(max(each.functions, default=0) for each in columns)),
            ("objects per image, mean", *(decimal(mean(each.objects)) for each in columns)),
            ("families that occur", *(len(each.families) for each in columns)),
        ],
    )


def _distance(a: Mapping[_Key, int], b: Mapping[_Key, int]) -> str:
    return f"{decimal(total_variation(a, b))} ({decimal(total_variation_by_chance(a, b))})"
