"""Draws of pairs of terms: which pairs, in what order, and when there are enough."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from covr_descriptions import TERMS, described

from clevrhope.errors import SplitError
from clevrhope.splits.covr.description import Description
from clevrhope.splits.covr.lexical import LEAST_ALONE, LEAST_TOGETHER, SHARE, LexicalDraw, draw_pairs
from wording import check_refused


def with_terms(n_questions: int, share: float, split: str) -> Description:
    """Questions that name each term, independently, with a probability."""
    named = np.random.default_rng(1).random((n_questions, len(TERMS))) < share
    return described(
        [[name for name, flag in zip(TERMS, row, strict=True) if flag] for row in named], split=split
    )


TRAIN, DEV = with_terms(4_000, 0.25, "covr_train"), with_terms(1_000, 0.25, "covr_dev")


def held_out(draw: LexicalDraw, questions: Description, n_pairs: int) -> float:
    """The share of questions that name one of the first pairs, question by question."""
    named = [{name for bit, name in enumerate(TERMS) if mask >> bit & 1} for mask in questions.terms.tolist()]
    return sum(any(terms >= set(pair) for pair in draw.pairs[:n_pairs]) for terms in named) / len(named)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_pairs_are_drawn_until_there_are_enough(number: int) -> None:
    draw = draw_pairs(number, train=TRAIN, dev=DEV)
    assert len(draw.pairs) == len(draw.shares) == len(set(draw.pairs)) > 1
    assert all(first < second for first, second in draw.pairs)
    assert draw.share == pytest.approx(held_out(draw, TRAIN, len(draw.pairs)))
    assert draw.share >= SHARE > held_out(draw, TRAIN, len(draw.pairs) - 1)
    alone = [TRAIN.names_pair(pair).mean() for pair in draw.pairs]
    assert draw.shares == pytest.approx(alone)


def test_draws_differ_and_are_made_again_the_same() -> None:
    draws = [draw_pairs(number, train=TRAIN, dev=DEV) for number in (1, 2, 3)]
    assert len({draw.pairs for draw in draws}) == 3
    assert [draw_pairs(number, train=TRAIN, dev=DEV) for number in (1, 2, 3)] == draws
    # A split that was made once must be made again by a later version.
    assert draws[0].pairs == (("same_color", "sphere"), ("blue", "sphere"), ("blue", "same_color"))


def test_the_order_of_terms_in_a_vocabulary_decides_nothing() -> None:
    n = len(TERMS)
    reversed_bits = sum(
        ((TRAIN.terms >> bit & 1) << (n - 1 - bit) for bit in range(n)), np.zeros_like(TRAIN.terms)
    )
    other = replace(TRAIN, terms=reversed_bits, words=replace(TRAIN.words, terms=TERMS[::-1]))
    assert draw_pairs(2, train=other, dev=DEV) == draw_pairs(2, train=TRAIN, dev=DEV)


def train_with_one_pair(n_alone: int) -> Description:
    together = [["red", "cube"]] * 200
    return described([*together, *([["red"]] * n_alone), *([["cube"]] * 300), *([["left"]] * 300)])


def test_terms_that_are_not_seen_alone_are_not_held_out() -> None:
    dev = described([["red", "cube"]] * LEAST_TOGETHER, split="covr_dev")
    assert draw_pairs(1, train=train_with_one_pair(LEAST_ALONE), dev=dev).pairs == (("cube", "red"),)
    check_refused(SplitError, draw_pairs, 1, train=train_with_one_pair(LEAST_ALONE - 1), dev=dev)


def test_pairs_that_could_not_be_scored_are_not_held_out() -> None:
    dev = described([["red", "cube"]] * (LEAST_TOGETHER - 1) + [["cube"]] * 100, split="covr_dev")
    check_refused(SplitError, draw_pairs, 1, train=train_with_one_pair(LEAST_ALONE), dev=dev)


def test_pairs_that_do_not_occur_in_train_are_not_drawn() -> None:
    train = described([*([["red"]] * 300), *([["cube"]] * 300), *([["blue", "left"]] * 200),
                       *([["blue"]] * 100), *([["left"]] * 100)])  # fmt: skip
    dev = described([["red", "cube", "blue", "left"]] * 100, split="covr_dev")
    for number in (1, 2, 3):
        assert draw_pairs(number, train=train, dev=dev).pairs == (("blue", "left"),)


def test_too_few_questions_in_all_are_an_error() -> None:
    train = described(
        [*(list(pair) for pair in combinations(TERMS, 2)), *([[term] for term in TERMS] * 60)] * 2
    )
    dev = described([list(TERMS)] * LEAST_TOGETHER, split="covr_dev")
    check_refused(SplitError, draw_pairs, 3, train=train, dev=dev)
