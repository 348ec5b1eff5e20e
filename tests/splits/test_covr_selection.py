"""The rows of compositional splits: with and without the property, whole pairs, shots."""

from collections.abc import Sequence

import numpy as np
import pytest
from covr_descriptions import described
from hypothesis import given
from hypothesis import strategies as st

from clevrhope.errors import ConfigError, SplitError
from clevrhope.splits.covr.description import Description
from clevrhope.splits.covr.lexical import draw_pairs
from clevrhope.splits.covr.selection import SelectedRows, bind_predicate, resolved_predicate, select_rows
from wording import check_refused

HAS, LACKS = ["num-3"], ["has-count"]
PLAIN_DEV = described([LACKS, HAS, LACKS, LACKS], split="covr_dev")
PLAIN_TEST = described([LACKS, HAS, HAS], split="covr_test")


def selected(rows: Sequence[Sequence[str]], shots: int = 0) -> SelectedRows:
    train = described(rows)
    predicate = bind_predicate("num-3", train=train, dev=PLAIN_DEV)
    return select_rows(predicate, train=train, dev=PLAIN_DEV, test=PLAIN_TEST, shots=shots)


def test_train_and_dev_lack_the_property_and_test_has_it() -> None:
    rows = selected([LACKS, LACKS, HAS, HAS, LACKS, LACKS])
    assert rows.train.tolist() == [0, 1, 4, 5]
    assert rows.iid_size.tolist() == [0, 1, 2, 3]
    assert rows.dev.tolist() == [2, 3]
    assert rows.test.tolist() == [1, 2]


def test_the_partner_of_a_question_with_the_property_goes_too() -> None:
    rows = selected([LACKS, HAS, LACKS, LACKS, HAS, LACKS])
    assert rows.train.tolist() == [2, 3]


def test_the_first_questions_with_the_property_are_the_shots() -> None:
    questions = [LACKS, LACKS, HAS, HAS, LACKS, HAS, HAS, HAS]
    assert selected(questions, shots=2).train.tolist() == [0, 1, 2, 3]
    assert selected(questions, shots=3).train.tolist() == [0, 1, 2, 3, 4, 5]  # the third with its partner
    rows = selected(questions, shots=4)
    assert rows.train.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert rows.iid_size.tolist() == [0, 1, 2, 3, 4, 5, 6]


def test_a_last_question_without_a_partner_stands_alone() -> None:
    assert selected([HAS, HAS, LACKS]).train.tolist() == [2]
    assert selected([LACKS, LACKS, HAS]).train.tolist() == [0, 1]
    assert selected([LACKS, LACKS, HAS], shots=1).train.tolist() == [0, 1, 2]


@given(st.lists(st.booleans(), min_size=2, max_size=40), st.integers(0, 10))
def test_train_has_so_many_shots_and_no_half_pair_that_tells_its_answer(
    flags: list[bool], shots: int
) -> None:
    holds = np.asarray([True, True, False, False, *flags])
    if holds.sum() < shots:
        with pytest.raises(SplitError, match=f"{shots} shots of {holds.sum()} questions"):
            selected([HAS if each else LACKS for each in holds], shots=shots)
        return
    train = set(selected([HAS if each else LACKS for each in holds], shots=shots).train.tolist())
    assert sum(holds[row] for row in train) == shots
    halves = [row for row in train if (row ^ 1) not in train and row ^ 1 < len(holds)]
    assert len(halves) <= 1
    assert all(holds[row] and holds[row ^ 1] for row in halves)
    without = {row for row in range(len(holds)) if not holds[row | 1 if row | 1 < len(holds) else row]}
    assert {row for row in without if not holds[row & ~1]} <= train


@pytest.mark.parametrize(
    ("train", "dev", "test"),
    [
        ([HAS, LACKS], [LACKS], [HAS]),
        ([LACKS, LACKS], [LACKS], [HAS]),
        ([LACKS, LACKS, HAS], [HAS], [HAS]),
        ([LACKS, LACKS, HAS], [LACKS], [LACKS]),
    ],
)
def test_an_empty_set_is_an_error(
    train: list[list[str]], dev: list[list[str]], test: list[list[str]]
) -> None:
    sets = {"train": described(train), "dev": described(dev, split="covr_dev")}
    predicate = bind_predicate("num-3", **sets)
    check_refused(SplitError, select_rows, predicate, **sets, test=described(test, split="covr_test"))


def test_a_pair_that_does_not_occur_is_an_error() -> None:
    train = described([["red", "cube"], ["blue"]])
    assert bind_predicate("lexical:red+cube", train=train, dev=PLAIN_DEV).draws == {}
    check_refused(SplitError, bind_predicate, "num-3 | lexical:red+blue", train=train, dev=PLAIN_DEV)
    check_refused(ConfigError, bind_predicate, "num-3 | num-9", train=train, dev=PLAIN_DEV)
    check_refused(SplitError, bind_predicate, "num-3 & !lexical-2", train=train, dev=train)


def with_pairs(split: str) -> Description:
    together = [["red", "cube"], ["red", "cube"], ["blue", "sphere"], ["blue", "sphere"]]
    return described([*together, ["red"], ["cube"], ["blue"], ["sphere"]] * 100, split=split)


def test_a_draw_holds_out_the_questions_that_name_its_pairs() -> None:
    train, dev = with_pairs("covr_train"), with_pairs("covr_dev")
    predicate = bind_predicate("lexical-1", train=train, dev=dev)
    assert predicate.draws == {1: draw_pairs(1, train=train, dev=dev)}
    (pair,) = predicate.draws[1].pairs
    holds = predicate.holds(train)
    assert holds.tolist() == train.names_pair(pair).tolist()
    assert holds.mean() == predicate.draws[1].share == 0.25
    rows = select_rows(predicate, train=train, dev=dev, test=train)
    assert (len(rows.train), len(rows.test)) == (600, 200)


def test_the_resolved_text_names_the_pairs_and_means_the_same() -> None:
    train, dev = with_pairs("covr_train"), with_pairs("covr_dev")
    predicate = bind_predicate("!(num-3 | lexical-1) & (has-count | compscope)", train=train, dev=dev)
    (pair,) = predicate.draws[1].pairs
    assert predicate.resolved == f"(!(num-3 | (lexical:{pair[0]}+{pair[1]})) & (has-count | compscope))"
    again = resolved_predicate(predicate.resolved, train.words)
    assert again.resolved == predicate.resolved.replace(
        f"(lexical:{pair[0]}+{pair[1]})", f"lexical:{pair[0]}+{pair[1]}"
    )
    questions = described(
        [HAS, LACKS, ["num-3", "compscope"], list(pair), ["has-count", *pair], ["compscope"]]
    )
    assert again.holds(questions).tolist() == predicate.holds(questions).tolist()
    check_refused(ConfigError, resolved_predicate, "num-3 & lexical-2", train.words)
