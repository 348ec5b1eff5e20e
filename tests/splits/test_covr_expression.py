"""The language of `--covr-split`: what expressions mean, and what is said of wrong ones."""

from itertools import product

import pytest
from covr_descriptions import PROPERTIES, TERMS, described
from hypothesis import given
from hypothesis import strategies as st

from clevrhope.errors import ConfigError
from clevrhope.splits.covr.expression import (
    MOST_NESTED,
    Both,
    Draw,
    Either,
    Expression,
    NamedPair,
    Not,
    Property,
    leaves,
    parse_expression,
)
from clevrhope.splits.covr.selection import Predicate
from wording import refused

A, B, C = (Property(name) for name in PROPERTIES[:3])
EVERY_ROW = [
    [name for name, holds in zip(PROPERTIES, flags, strict=True) if holds]
    for flags in product((False, True), repeat=len(PROPERTIES))
]


def parsed(text: str) -> Expression:
    return parse_expression(text, property_names=PROPERTIES, term_names=TERMS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("compscope", A),
        (" compscope\t", A),
        ("((compscope))", A),
        ("!compscope", Not(A)),
        ("! !compscope", Not(Not(A))),
        ("compscope&has-quant-all", Both((A, B))),
        ("compscope & has-quant-all & has-count", Both((A, B, C))),
        ("compscope | has-quant-all & has-count", Either((A, Both((B, C))))),
        ("(compscope | has-quant-all) & has-count", Both((Either((A, B)), C))),
        ("!compscope & has-quant-all", Both((Not(A), B))),
        ("!(compscope & has-quant-all)", Not(Both((A, B)))),
        ("lexical-2 | compscope", Either((Draw(2), A))),
        ("lexical:red+cube", NamedPair(("cube", "red"))),
        ("lexical:cube+red", NamedPair(("cube", "red"))),
        ("!lexical:same_color+red", Not(NamedPair(("red", "same_color")))),
    ],
)
def test_an_expression_is_read(text: str, expected: Expression) -> None:
    assert parsed(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "compscope &",
        "& compscope",
        "compscope ^ has-count",
        "compscope and has-count",
        "compscope && has-count",
        "(compscope",
        "(compscope has-count)",
        "compscope)",
        "()",
        "compscope & has-quant-al",
        "tpl",
        "lexical",
        "lexical-4",
        "lexical-01",
        "lexical:red",
        "lexical:red+cube+left",
        "has-count & lexical:red+cubes",
        "lexical:red+x",
        "lexical:red+red",
    ],
)
def test_an_error_says_where_and_what(text: str) -> None:
    with refused(ConfigError):
        parsed(text)


@pytest.mark.parametrize("opening", ["(", "!"])
def test_nesting_has_an_end(opening: str) -> None:
    closing = ")" if opening == "(" else ""
    inside = opening * MOST_NESTED + "compscope" + closing * MOST_NESTED
    assert list(leaves(parsed(inside))) == [A]
    with refused(ConfigError):
        parsed(opening * 10_000 + "compscope")
    assert len(list(leaves(parsed(" & ".join(["compscope"] * 10_000))))) == 10_000


def expressions() -> st.SearchStrategy[str]:
    """Expressions that Python reads too, with its own words in place of the signs."""
    return st.recursive(
        st.sampled_from(PROPERTIES),
        lambda inner: st.one_of(
            inner.map("!{}".format),
            inner.map("({})".format),
            st.tuples(inner, st.sampled_from("&|"), inner).map(" ".join),
        ),
        max_leaves=12,
    )


@given(expressions())
def test_an_expression_holds_where_python_says_so(text: str) -> None:
    predicate = Predicate(text, parsed(text), {})
    words = text.replace("!", " not ").replace("&", " and ").replace("|", " or ").replace("-", "_")
    expected = [
        bool(eval(words, {}, {name.replace("-", "_"): name in row for name in PROPERTIES}))
        for row in EVERY_ROW
    ]
    assert predicate.holds(described(EVERY_ROW)).tolist() == expected


def test_a_named_pair_holds_where_both_terms_are() -> None:
    predicate = Predicate("", parsed("lexical:red+cube"), {})
    questions = described([["red"], ["cube", "left", "red"], ["cube", "blue"], []])
    assert predicate.holds(questions).tolist() == [False, True, False, False]
