"""Free words to answers: cases decided one by one, and the kind of every question of a dataset."""

from pathlib import Path

import pytest
from building import request

import clevrhope
from clevrhope.pipeline import build
from clevrhope.replies import ReplyReader
from clevrhope.replies.statements import plain
from clevrhope.replies.words import Words, read_question

VALUES = {
    "size": ["large", "small"],
    "color": ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"],
    "material": ["rubber", "metal"],
    "shape": ["cube", "sphere", "cylinder"],
}
ANSWERS = ["yes", "no", *map(str, range(11)), *(value for values in VALUES.values() for value in values)]

IS_THERE = "Is there a red cube?"
HOW_MANY = "There is a large cube; how many other things are as big?"
COLOR = "What color is the thing left of the red cube?"
SIZE = "How big is the metal thing that is right of the 3 cubes?"
MADE_OF = "The small sphere is made of what?"


@pytest.fixture
def reader() -> ReplyReader:
    return ReplyReader(ANSWERS, VALUES)


def test_every_answer_is_read_as_itself(reader: ReplyReader) -> None:
    """But for a number of things where it is asked whether there is one: that says yes, or no.

    That there are none says nothing about a color.
    """
    assert len(ANSWERS) == 28
    for question, unread in ((HOW_MANY, ""), (COLOR, "0")):
        read = [reader.read(question, f" {answer.upper()}.\n") for answer in ANSWERS]
        assert read == [None if answer == unread else answer for answer in ANSWERS]
    said = {number: "yes" if int(number) else "no" for number in ANSWERS if number.isdigit()}
    read = [reader.read(IS_THERE, f" {answer.upper()}.\n") for answer in ANSWERS]
    assert read == [said.get(answer, answer) for answer in ANSWERS]


@pytest.mark.parametrize(
    ("question", "reply", "answer"),
    [
        (IS_THERE, "Yes, there are 3 red cubes.", "yes"),
        (IS_THERE, "No red cubes are there.", "no"),
        (IS_THERE, "I count 3 cubes and none is red", "no"),
        (IS_THERE, "**Answer:** yes", "yes"),
        (IS_THERE, '{"answer": "No"}', "no"),
        (IS_THERE, "Yes and no: the answer is no", "no"),
        (IS_THERE, "That's true.", "yes"),
        (IS_THERE, "it is there", None),
        (IS_THERE, "maybe yes, maybe no", None),
        (HOW_MANY, "There are 3 large things.", "3"),
        (HOW_MANY, "THREE", "3"),
        (HOW_MANY, "three (3)", "3"),
        (HOW_MANY, "3.0", "3"),
        (HOW_MANY, "\uff13", "3"),
        (HOW_MANY, "There are no others", "0"),
        (HOW_MANY, "None.", "0"),
        (HOW_MANY, "First I see 2 cubes, then 3 more. Final answer: 5", "5"),
        (HOW_MANY, "2 cubes and 3 spheres", None),
        (HOW_MANY, "3.5", None),
        (HOW_MANY, "eleven", None),
        (HOW_MANY, "1,000", None),
        (COLOR, "It is grey", "gray"),
        (COLOR, "The thing left of the red cube is blue.", "blue"),
        (COLOR, "The thing left of the red cube is red.", "red"),
        (COLOR, "It's not blue but green", "green"),
        (COLOR, "It isn't blue; it's green.", "green"),
        (COLOR, "It isn't blue and it is green", "green"),
        (COLOR, "not blue or a green one, but red", "red"),
        (COLOR, "not a small blue cube but a red sphere", "red"),
        (COLOR, "It's neither blue nor pink - green", "green"),
        (COLOR, "It does not look blue", None),
        (COLOR, "blue or green", None),
        (COLOR, "a large metal cube", None),
        (COLOR, "", None),
        (COLOR, "\N{THINKING FACE}", None),
        (SIZE, "the shiny thing is tiny", "small"),
        (SIZE, "Big", "large"),
        (SIZE, "Not small but large", "large"),
        (SIZE, "Not pink but large", "large"),
        (SIZE, "It's not pink. It is large", "large"),
        (SIZE, "I am not sure, large", "large"),
        (MADE_OF, "The small sphere is made of shiny metal", "metal"),
        (MADE_OF, "It's matte", "rubber"),
        ("What shape is it?", "It is one of two blue blocks", "cube"),
        ("Whose is it?", "a red thing", "red"),
        ("Whose is it?", "a red cube", None),
    ],
)
def test_replies(reader: ReplyReader, question: str, reply: str, answer: str | None) -> None:
    assert reader.read(question, reply) == answer


@pytest.mark.slow
def test_the_kind_of_every_question_of_a_dataset_is_told_from_its_words(tmp_path: Path) -> None:
    words = Words(ANSWERS, VALUES, {})
    sizes = {"train": 1_500, "complex_iid": 500}
    build(request(tmp_path / "data", sizes=sizes, render=False, question_json=False))
    kind_of = {value: kind for kind, values in VALUES.items() for value in values}
    kinds = set()
    for split in ("train", "complex_iid", "complex_ood", "minimal_ood"):
        for row in clevrhope.load(tmp_path / "data", "rubber_cylinder", split, images=False, text=True):
            answer = row["answer_text"]
            wanted = kind_of.get(answer) or ("yes/no" if answer in ("yes", "no") else "count")
            question = read_question(plain(row["question_text"]), words)
            assert question.kind == wanted, row["question_text"]
            kinds.add(wanted)
    assert len(kinds) == 6
