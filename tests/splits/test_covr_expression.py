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
    ("text", "character", "problem"),
    [
        ("", 1, "expected a property, got the end"),
        ("   ", 4, "expected a property, got the end"),
        ("compscope &", 12, "expected a property, got the end"),
        ("& compscope", 1, 'expected a property, got "&"'),
        ("compscope ^ has-count", 11, 'expected "&" or "|" before "^"'),
        ("compscope and has-count", 11, 'expected "&" or "|" before "and"'),
        ("compscope && has-count", 12, 'expected a property, got "&"'),
        ("(compscope", 11, 'a "(" has no ")"'),
        ("(compscope has-count)", 12, 'expected "&", "|" or ")"'),
        ("compscope)", 10, 'there is no "(" for this ")"'),
        ("()", 2, 'expected a property, got ")"'),
        ("compscope & has-quant-al", 13, 'unknown property "has-quant-al" (did you mean "has-quant-all"?)'),
        ("tpl", 1, 'unknown property "tpl"; there are: compscope, has-quant-all,'),
        ("lexical", 1, 'unknown property "lexical" (did you mean "lexical-'),
        ("lexical-4", 1, 'no draw "lexical-4"; there are lexical-1, lexical-2 or lexical-3'),
        ("lexical-01", 1, 'no draw "lexical-01"'),
        ("lexical:red", 1, 'expected two terms, as in lexical:red+cube, got "red"'),
        ("lexical:red+cube+left", 1, "expected two terms, as in lexical:red+cube"),
        ("has-count & lexical:red+cubes", 13, 'unknown term "cubes" (did you mean "cube"?)'),
        ("lexical:red+x", 1, 'unknown term "x"; there are: red, blue, cube,'),
        ("lexical:red+red", 1, 'a pair of "red" and itself; expected two terms'),
    ],
)
def test_an_error_says_where_and_what(text: str, character: int, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        parsed(text)
    place = f'--covr-split "{text}", character {character}: {problem}'
    assert str(error.value).startswith(place)


@pytest.mark.parametrize("opening", ["(", "!"])
def test_nesting_has_an_end(opening: str) -> None:
    closing = ")" if opening == "(" else ""
    inside = opening * MOST_NESTED + "compscope" + closing * MOST_NESTED
    assert list(leaves(parsed(inside))) == [A]
    with refused(ConfigError):
        parsed(opening * 10_000 + "compscope")
    assert len(list(leaves(parsed(" & ".join(["compscope"] * 10_000))))) == 10_000


def test_leaves_come_from_left_to_right() -> None:
    assert list(leaves(parsed("!(compscope | lexical-3) & lexical:red+cube"))) == [
        A,
        Draw(3),
        NamedPair(("cube", "red")),
    ]


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
