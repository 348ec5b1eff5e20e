"""The language of `--covr-split`: what expressions mean, and what is said of wrong ones."""

from itertools import product

import numpy as np
import pytest
from covr_descriptions import PROPERTIES, WORDS, described, of_programs
from hypothesis import given
from hypothesis import strategies as st

from clevrhope.errors import ConfigError
from clevrhope.splits.covr.expression import (
    MOST_NESTED,
    Both,
    Condition,
    Draw,
    Either,
    Expression,
    NamedPair,
    Not,
    holds,
    leaves,
    parse_expression,
)
from clevrhope.splits.covr.selection import Predicate
from wording import check_refused

A, B, C = (Condition(name, np.copy) for name in PROPERTIES[:3])
EVERY_ROW = [
    [name for name, holds in zip(PROPERTIES, flags, strict=True) if holds]
    for flags in product((False, True), repeat=len(PROPERTIES))
]


def parsed(text: str) -> Expression:
    return parse_expression(text, WORDS)


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
        ("uses:some(filter_*,_)", Condition("uses:some(filter_*,_)", np.copy)),
        ("(uses:some(filter_*(find)))&compscope", Both((Condition("uses:some(filter_*(find))", np.copy), A))),
        (
            "answer:{yes,no}|template:*count",
            Either((Condition("answer:{yes,no}", np.copy), Condition("template:*count", np.copy))),
        ),
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
        "compscop & !(lexical:red+cubes | lexical-4 has-cout) & answer:yess",
        "uses:",
        "uses:filter_colr",
        "uses:filter_color[redd]",
        "uses:relate_*",
        "uses:{some,sommme}",
        "uses:*[{red,cuube}]",
        "uses:*a*b*c*d*e*f*g*",
        f"uses:{60 * '*'}x",
        "answer:{left,rigth}",
        "uses:some(find,_,_)",
        "uses:some(find",
        "uses:{count,some",
        "uses:some(filter_*(finds))",
        "answer:yess",
        "answer:",
        "answer:nouns",
        "template:verify_cuont",
        "program-4",
    ],
)
def test_an_error_says_where_and_what(text: str) -> None:
    check_refused(ConfigError, parsed, text)


@pytest.mark.parametrize("opening", ["(", "!"])
def test_nesting_has_an_end(opening: str) -> None:
    closing = ")" if opening == "(" else ""
    inside = opening * MOST_NESTED + "compscope" + closing * MOST_NESTED
    assert list(leaves(parsed(inside))) == [A]
    check_refused(ConfigError, parsed, opening * 10_000 + "compscope")
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


# The programs in the order in which COVR's papers and files would write them: prefix, first inputs first.
PROGRAMS = (
    "count filter_color[red] filter_shape[cube] scene",
    "some filter_shape[cube] scene filter_color[red] scene",
    "some filter_color[blue] filter_shape[cube] scene filter_color[red] scene",
    "count with_relation[left] filter_shape[cube] scene with_same_color filter_shape[sphere] scene scene",
    "count with_relation[left] with_same_color filter_shape[cube] scene scene filter_shape[sphere] scene",
    "count_is[3] count filter_shape[sphere] filter_color[red] scene",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("uses:count", {0, 3, 4, 5}),
        ("uses:count*", {0, 3, 4, 5}),
        ("uses:*[3]", {5}),
        ("uses:filter_color", {0, 1, 2, 5}),
        ("uses:filter_color[red]", {0, 1, 2, 5}),
        ("uses:filter_color[blue]", {2}),
        ("uses:*[{blue,sphere}]", {2, 3, 4, 5}),
        ("uses:find", {0, 1, 2, 3, 4}),
        ("uses:find[sphere]", {3, 4}),
        ("uses:filter_shape", {5}),
        ("uses:some(find)", {1}),
        ("uses:some(filter_*)", {2}),
        ("uses:some(filter_*(find[cube]), filter_color[red](scene))", {2}),
        ("uses:some(_,filter_*)", {1, 2}),
        ("uses:with_*(with_*)", {4}),
        ("uses:with_*(_,with_*)", {3}),
        ("uses:with_*(find,find)", set()),
        ("uses:scene(scene)", set()),
    ],
)
def test_a_fragment_is_found_where_its_inputs_match(text: str, expected: set[int]) -> None:
    found = holds(parsed(text), of_programs(PROGRAMS), {})
    assert set(np.flatnonzero(found).tolist()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("answer:yes", {0}),
        ("answer:{yes,3}", {0, 1}),
        ("answer:number", {1}),
        ("ans-num", {1}),
        ("answer:attribute", {2}),
        ("ans-attr", {2}),
        ("ans-noun", {3}),
        ("answer:relation", {4}),
        ("answer:yes-no", {0}),
        ("template:verify_count", {1, 3}),
        ("tpl-verify-count", {1, 3}),
        ("template:*count", {0, 1, 3, 4}),
        ("tpl-count | tpl-query-attr", {0, 2, 4}),
    ],
)
def test_answers_and_templates_are_conditions(text: str, expected: set[int]) -> None:
    answers = ["yes", "3", "red", "cube", "left"]
    templates = ["count", "verify_count", "query_attr", "verify_count", "count"]
    questions = of_programs(["count scene"] * 5, answers, templates)
    assert set(np.flatnonzero(holds(parsed(text), questions, {})).tolist()) == expected
