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
