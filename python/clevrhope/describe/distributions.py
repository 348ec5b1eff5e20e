"""What was measured of several splits in, tables of how things are distributed in them, in Markdown, out.

The same numbers as `clevrhope stats` shows, of one folder: those that a datasheet should hold.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
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

_SPATIAL = ("left", "right", "front", "behind")
"""Relations in the order in which they are shown; those of equal values follow by name."""


def images_and_lengths(
    columns: Sequence[SplitStats], attributes: Mapping[str, Sequence[str]], together: Sequence[Value]
) -> Iterator[str]:
    """Tables of objects, lengths and values; and of the combinations of the types of `together`, if given."""
    yield "Objects an image (share of the images):"
    span = _span(columns, lambda each: each.objects)
    yield _shares(columns, lambda each: each.objects, [(str(n), n) for n in span])
    yield "Words a question and functions a program:"
    yield _lengths(columns)
    yield "Values (share of the objects in the split's images; within each type they add up to 100%):"
    values = [(kind, value) for kind, of_kind in attributes.items() for value in of_kind]
    yield _of_objects(columns, lambda each: each.values, [(" ".join(value), value[1]) for value in values])
    for first, second in combinations(together, 2):
        yield from _together(columns, attributes, *sorted((first, second), key=values.index))


def _together(
    columns: Sequence[SplitStats], attributes: Mapping[str, Sequence[str]], first: Value, second: Value
) -> Iterator[str]:
    """A table of how often each two values of two types are in one object; both come in the types' order."""
    (a, x), (b, y) = first, second
    yield f"Combinations of {escape(a)} and {escape(b)} (share of the objects):"
    yield _of_objects(
        columns,
        lambda each: each.pairs,
        [
            (f"{v} {w}{', held out' if (v, w) == (x, y) else ''}", sorted_pair((a, v), (b, w)))
            for v, w in product(attributes[a], attributes[b])
        ],
    )


def sorted_pair(first: Value, second: Value) -> Pair:
    """Two values of an object as `SplitStats.pairs` has them."""
    return min(first, second), max(first, second)


def asked_for(columns: Sequence[SplitStats]) -> str:
    """A table of answer types."""
    kinds = {kind for each in columns for kind in each.answer_types}
    order = ("yes/no", "count")
    shown = sorted(
        kinds, key=lambda kind: (kind not in order, order.index(kind) if kind in order else 0, kind)
    )
    return _shares(columns, lambda each: each.answer_types, [(kind, kind) for kind in shown])


def relations_named(columns: Sequence[SplitStats]) -> str:
    """A table of the relations that questions name, then of how many spatial ones one question names."""
    named = {name for each in columns for name in each.relations}
    most = max((n for each in columns for n in each.relations_a_question), default=0)
    shown = [*(name for name in _SPATIAL if name in named), *sorted(named.difference(_SPATIAL))]
    rows = [
        (escape(name), *(percent(each.relations.get(name, 0) / max(each.n_questions, 1)) for each in columns))
        for name in shown
    ]
    rows += [
        (
            f"{n} spatial",
            *(percent(each.relations_a_question.get(n, 0) / max(each.n_questions, 1)) for each in columns),
        )
        for n in range(most + 1)
    ]
    return table(_head(columns), rows)


def distances(a: SplitStats, b: SplitStats) -> str:
    """A sentence on how far two splits are apart, in what matters most."""
    return (
        f"Total variation distance between {code(a.split)} and {code(b.split)} (0: alike, 1: nothing in "
        "common; in brackets about what chance gives at these sizes): "
        f"objects an image {_distance(a.objects, b.objects)}, "
        f"values {_distance(a.values, b.values)}, "
        f"families {_distance(a.families, b.families)}, "
        f"answers {_distance(a.answers, b.answers)}, "
        f"words a question {_distance(a.words, b.words)}."
    )


def _lengths(columns: Sequence[SplitStats]) -> str:
    return table(
        _head(columns),
        [
            ("words, mean", *(decimal(mean(each.words)) for each in columns)),
            ("words, 5th percentile", *(percentile(each.words, 0.05) for each in columns)),
            ("words, 95th percentile", *(percentile(each.words, 0.95) for each in columns)),
            ("words, most", *(max(each.words, default=0) for each in columns)),
            ("functions, mean", *(decimal(mean(each.functions)) for each in columns)),
            ("functions, most", *(max(each.functions, default=0) for each in columns)),
            ("objects an image, mean", *(decimal(mean(each.objects)) for each in columns)),
            ("families that occur", *(len(each.families) for each in columns)),
        ],
    )


def _of_objects(
    columns: Sequence[SplitStats],
    histogram: Callable[[SplitStats], Mapping[_Key, int]],
    rows: Sequence[tuple[str, _Key]],
) -> str:
    return table(
        ["value", *(code(each.split) for each in columns)],
        [
            (
                escape(name),
                *(percent(histogram(each).get(key, 0) / max(each.n_objects, 1)) for each in columns),
            )
            for name, key in rows
        ],
    )


def _shares(
    columns: Sequence[SplitStats],
    histogram: Callable[[SplitStats], Mapping[_Key, int]],
    rows: Sequence[tuple[str, _Key]],
) -> str:
    return table(
        _head(columns),
        [
            (
                escape(name),
                *(
                    percent(histogram(each).get(key, 0) / max(sum(histogram(each).values()), 1))
                    for each in columns
                ),
            )
            for name, key in rows
        ],
    )


def _head(columns: Sequence[SplitStats]) -> list[str]:
    return ["", *(code(each.split) for each in columns)]


def _span(columns: Sequence[SplitStats], histogram: Callable[[SplitStats], Mapping[int, int]]) -> range:
    values = [value for each in columns for value in histogram(each)]
    return range(min(values, default=0), max(values, default=-1) + 1)


def _distance(a: Mapping[_Key, int], b: Mapping[_Key, int]) -> str:
    return f"{decimal(total_variation(a, b))} ({decimal(total_variation_by_chance(a, b))})"
