"""The rows of the kinds of split fit each other and what the rest of the package knows."""

from dataclasses import fields

import pytest

from clevrhope.config.presets import Sizes
from clevrhope.splits.kinds import PAIR_SPLITS, PLAIN_SPLITS, SECOND_SPLITS, SPLITS, VALUE_SPLITS, SplitKind


def test_every_split_belongs_to_a_dataset() -> None:
    assert set(SPLITS) == {*PAIR_SPLITS, *PLAIN_SPLITS, *SECOND_SPLITS, *VALUE_SPLITS}
    assert PAIR_SPLITS == ("train", "complex_iid", "complex_ood", "minimal_iid", "minimal_ood")
    assert PLAIN_SPLITS == ("train", "val", "test")


@pytest.mark.parametrize("kind", SPLITS.values(), ids=lambda kind: kind.name)
def test_a_row_fits(kind: SplitKind) -> None:
    assert kind.size in {each.name for each in fields(Sizes)}
    assert (kind.drawn == "stream") == bool(kind.pool) == bool(kind.questions_per_scene)
    assert bool(kind.gap) == bool(kind.baseline)
    assert not kind.baseline or SPLITS[kind.baseline].drawn == kind.drawn
    assert (kind.group == 0) == (kind.drawn == "places")


def test_groups_grow_with_the_values_held_out() -> None:
    kind = SPLITS["minimal_ood"]
    assert [kind.group_of(n) for n in (2, 3, 4)] == [4, 8, 16]
    assert kind.caption_of(3).endswith("It is in one of 8.")
    assert SPLITS["train"].caption_of(0) == "Nothing held out."
    assert SPLITS["counting"].group_of(1) == 6


def test_nothing_is_held_out_of_a_stream_of_none() -> None:
    assert SPLITS["train"].stream("train-x", held_out=False).rule == "any"
    assert SPLITS["train"].stream("train", held_out=True).rule == "without"
    assert SPLITS["complex_ood"].stream("test_ood", held_out=True).questions_per_scene == 1
