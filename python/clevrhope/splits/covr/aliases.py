"""The named properties of questions, among them those of COVR's table 5: expressions and their meaning."""

from collections.abc import Mapping
from dataclasses import dataclass

_QUANTIFIER = "{all,some,none,all_same_*}"
_WITH_NUMBER = "{count_*,keep_if_*}"
_TYPES = ("size", "color", "material")
"""The types of which questions ask whether objects have the same value."""

_NUMBERS = range(1, 5)
"""The numbers that questions name."""


@dataclass(frozen=True)
class Alias:
    """A named property.

    Attributes:
        name: as expressions have it.
        expression: what it stands for.
        words: which questions have it.
        covr: its name in COVR's tables 4, 5, 7 and 8; "" if it has none there.
    """

    name: str
    expression: str
    words: str
    covr: str = ""


def _of_type(kind: str) -> str:
    same = f"template:verify_same_attr & uses:equal_{kind}"
    return f"{same} | template:verify_quantifier_attr & uses:all_same_{kind}"


_ROWS = (
    Alias(
        "has-count",
        "uses:{count,count_images,count_groups}",
        "that count objects, images or groups",
        "HAS-COUNT",
    ),
    Alias(
        "has-attr",
        "uses:filter_*",
        "with a filter besides the one that finds all objects of a shape",
        "HAS-ATTR",
    ),
    Alias("has-groupby", "uses:group_by_images", "that group objects by image", "HAS-GROUPBY"),
    Alias("has-logic", "uses:{and,or}", "with and or or", "HAS-LOGIC"),
    Alias("has-logic-and", "uses:and", "with and", "HAS-LOGIC-AND"),
    Alias("has-logic-or", "uses:or", "with or", "HAS-LOGIC-OR"),
    Alias(
        "has-quant", f"uses:{_QUANTIFIER}", "with all, some or none, or all of the same value", "HAS-QUANT"
    ),
    Alias("has-quant-all", "uses:{all,all_same_*}", "with all, or all of the same value", "HAS-QUANT-ALL"),
    Alias("has-quant-some", "uses:some", "with some", "HAS-QUANT-SOME"),
    Alias("has-quant-none", "uses:none", "with none", "HAS-QUANT-NONE"),
    Alias(
        "compscope",
        f"uses:{_QUANTIFIER}({{filter_*,with_*,assert_unique}})",
        'with a quantifier over more than the objects of a shape: "all red cubes", not "all cubes"',
        "HAS-QUANT-COMPSCOPE",
    ),
    Alias("has-compar", "template:compare_count", "that compare two counts", "HAS-COMPAR"),
    Alias(
        "has-compar-more",
        "template:compare_count & uses:greater_than",
        "that ask whether a count is larger",
        "HAS-COMPAR-MORE",
    ),
    Alias(
        "has-compar-less",
        "template:compare_count & uses:less_than",
        "that ask whether a count is smaller",
        "HAS-COMPAR-LESS",
    ),
    Alias(
        "v-c",
        "uses:with_*(with_*) | uses:with_*(_,with_*)",
        "whose objects have a relation to an object that has a relation itself, or have two relations",
        "RM/V/C",
    ),
    Alias("has-num", f"uses:{_WITH_NUMBER}[*]", "that name a number", "HAS-NUM"),
    *(
        Alias(f"num-{n}", f"uses:{_WITH_NUMBER}[{n}]", f"that name the number {n}", f"HAS-NUM-{n}")
        for n in _NUMBERS
    ),
    *(
        Alias(
            f"num-{n}-ans-{n}",
            f"uses:{_WITH_NUMBER}[{n}] | answer:{n}",
            f"that name the number {n} or have it as their answer",
            f"HAS-NUM-{n}-ANS-{n}",
        )
        for n in _NUMBERS
    ),
    *(
        Alias(
            f"sameattr-{kind}",
            _of_type(kind),
            f"that ask whether objects have the same {kind}",
            f"HAS-SAMEATTR-{kind.upper()}",
        )
        for kind in _TYPES
    ),
    Alias("ans-num", "answer:number", "whose answer is a number", "ANS-NUM"),
    Alias("ans-attr", "answer:attribute", "whose answer is a size, color or material", "ANS-ATTR"),
    Alias("ans-noun", "answer:noun", "whose answer is a shape", "ANS-NOUN"),
)

ALIASES: Mapping[str, Alias] = {row.name: row for row in _ROWS}
"""The rows by name. `tpl-verify-count` is `template:verify_count`, and so on for the other templates."""
