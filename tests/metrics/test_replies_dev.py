"""Replies as vision-language models write them, read as a careful reader reads them, or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clevrhope.programs import default_vocabulary
from clevrhope.replies import ReplyReader
from growth import MOST_GROWTH, growth

ROWS = [
    json.loads(line) for line in Path(__file__).with_name("replies_dev.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def answers() -> list[tuple[dict[str, Any], str | None]]:
    vocabulary = default_vocabulary()
    reader = ReplyReader(vocabulary.set_answers, dict(vocabulary.attribute_types))
    return [(row, reader.read(row["question"], row["reply"], asked=row.get("asked", ()))) for row in ROWS]


def test_the_replies_are_many_and_ask_for_every_kind_of_answer() -> None:
    assert len({(row["question"], row["reply"]) for row in ROWS}) > 8000
    truths = {row["truth"] for row in ROWS}
    assert {"yes", "no", "0", "4", "red", "metal", "sphere", "large", "left", "behind", None} <= truths


def test_no_reply_is_read_as_an_answer_that_it_does_not_give(
    answers: list[tuple[dict[str, Any], str | None]],
) -> None:
    assert [(row, answer) for row, answer in answers if answer not in (None, row["truth"])] == []


def test_nearly_all_replies_that_give_an_answer_are_read(
    answers: list[tuple[dict[str, Any], str | None]],
) -> None:
    readable = [(row, answer) for row, answer in answers if row["truth"] is not None]
    unread = [row for row, answer in readable if answer is None]
    assert len(unread) <= 0.02 * len(readable), unread


@pytest.mark.parametrize(
    "piece",
    [
        "<think>",
        "</think>",
        "user:\n",
        "red cube ",
        "not any ",
        "1, 2 ",
        "\\text{",
        "one of them is ",
        "neither ",
        "another red ",
        "a. yes ",
        "which gives ",
        "no cubes ",
        "if the answer is ",
        "looking ",
        ", in the ",
    ],
)
@pytest.mark.slow
def test_a_piece_that_is_repeated_often_takes_no_quadratic_time(piece: str) -> None:
    vocabulary = default_vocabulary()
    reader = ReplyReader(vocabulary.set_answers, dict(vocabulary.attribute_types))
    assert growth(lambda n: reader.read("How many red cubes are there?", n * piece)) < MOST_GROWTH


def test_names_of_colors_mean_the_nearest_color_of_the_world_or_none() -> None:
    question = "What color is the cube?"
    answers = ("wine", "sea", "mint")
    colors = {"wine": (125, 5, 10), "sea": (60, 222, 205), "mint": (30, 190, 90)}
    reader = ReplyReader(answers, {"color": answers}, colors=colors)
    replies = ("Maroon.", "It is turquoise.", "emerald", "silver", "red", "blue")
    assert [reader.read(question, each) for each in replies] == ["wine", "sea", "mint", None, "wine", None]
    unknown = ReplyReader(("gold", "zaffre"), {"color": ("gold", "zaffre")})
    replies = ("It's zaffre.", "gold", "golden", "navy")
    assert [unknown.read(question, each) for each in replies] == ["zaffre", "gold", "gold", None]


PIECES = sorted({piece for row in ROWS for piece in row["reply"].split(" ")})


@given(reply=st.text() | st.lists(st.sampled_from(PIECES)).map(" ".join))
def test_any_text_is_read_as_an_answer_or_not_at_all(reply: str) -> None:
    vocabulary = default_vocabulary()
    reader = ReplyReader(vocabulary.set_answers, dict(vocabulary.attribute_types))
    for question in (
        "Is there a red cube?",
        "How many things are there?",
        "What size is it?",
        "Whose is it?",
    ):
        assert reader.read(question, reply) in (None, *vocabulary.set_answers)
