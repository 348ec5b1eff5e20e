"""The named properties of questions, among them those of COVR's table 5: expressions and their meaning."""

from collections.abc import Mapping
from typing import NamedTuple

_QUANTIFIER = "{all,some,none,all_same_*}"
_WITH_NUMBER = "{count_*,keep_if_*}"
_TYPES = ("size", "color", "material")
"""The types of which questions ask whether objects have the same value."""

_NUMBERS = range(1, 5)
"""The numbers that questions name."""


class Alias(NamedTuple):
    """What a name stands for, and which questions have the property."""

    expression: str
    words: str


def _same(kind: str) -> str:
    of_quantifier = f"template:verify_quantifier_attr & uses:all_same_{kind}"
    return f"template:verify_same_attr & uses:equal_{kind} | {of_quantifier}"


ALIASES: Mapping[str, Alias] = {
    "has-count": Alias(
        "uses:{count,count_images,count_groups}", "that count objects, images or groups of objects"
    ),
    "has-attr": Alias("uses:filter_*", "with a filter besides the one that finds all objects of a shape"),
    "has-groupby": Alias("uses:group_by_images", "that group objects by image"),
    "has-logic": Alias("uses:{and,or}", "with and or or"),
    "has-logic-and": Alias("uses:and", "with and"),
    "has-logic-or": Alias("uses:or", "with or"),
    "has-quant": Alias(f"uses:{_QUANTIFIER}", "with all, some or none, or all of the same value"),
    "has-quant-all": Alias("uses:{all,all_same_*}", "with all, or all of the same value"),
    "has-quant-some": Alias("uses:some", "with some"),
    "has-quant-none": Alias("uses:none", "with none"),
    "compscope": Alias(
        f"uses:{_QUANTIFIER}({{filter_*,with_*,assert_unique}})",
        'with a quantifier over more than the objects of a shape: "all red cubes", not "all cubes"',
    ),
    "has-compar": Alias("template:compare_count", "that compare two counts"),
    "has-compar-more": Alias(
        "template:compare_count & uses:greater_than", "that ask whether a count is larger"
    ),
    "has-compar-less": Alias(
        "template:compare_count & uses:less_than", "that ask whether a count is smaller"
    ),
    "v-c": Alias(
        "uses:with_*(with_*) | uses:with_*(_,with_*)",
        "whose objects have a relation to an object that has a relation itself, or have two relations",
    ),
    "has-num": Alias(f"uses:{_WITH_NUMBER}[*]", "that name a number"),
    **{f"num-{n}": Alias(f"uses:{_WITH_NUMBER}[{n}]", f"that name the number {n}") for n in _NUMBERS},
    **{
        f"num-{n}-ans-{n}": Alias(
            f"uses:{_WITH_NUMBER}[{n}] | answer:{n}", f"that name the number {n} or have it as their answer"
        )
        for n in _NUMBERS
    },
    **{
        f"sameattr-{kind}": Alias(_same(kind), f"that ask whether objects have the same {kind}")
        for kind in _TYPES
    },
    "ans-num": Alias("answer:number", "whose answer is a number"),
    "ans-attr": Alias("answer:attribute", "whose answer is a size, color or material"),
    "ans-noun": Alias("answer:noun", "whose answer is a shape"),
}
"""The properties by name. `tpl-verify-count` is `template:verify_count`, and so for the other templates."""
