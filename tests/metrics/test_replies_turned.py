"""Replies whose meaning a few words turn around: what is not read right must not be read at all."""

import pytest

from clevrhope.metrics.replies import ReplyReader
from clevrhope.programs import default_vocabulary

CUBE, MORE = "Is there a red cube?", "Are there more cubes than spheres?"
COLOR, COUNT = "What color is the big cube?", "How many cubes are there?"
SIDE = "What number of metal things are left of the green cube?"
MATERIAL = "Does the red cube have the same material as the small sphere?"

READ = {
    "a word that is repeated": [
        (CUBE, "no no", "no"),
        (CUBE, "No. No, no!", "no"),
        (CUBE, "no no no no no", "no"),
        (COLOR, "no no, red", "red"),
    ],
    "a denial by a verb or a noun": [
        (CUBE, "I doubt there is a red cube.", "no"),
        (CUBE, "It is untrue that there is a red cube.", "no"),
        (CUBE, "It's a lie that there is a red cube.", "no"),
        (CUBE, "The image fails to show a red cube.", "no"),
        (CUBE, "We can rule out a red cube.", "no"),
        (CUBE, "The set of red cubes is empty.", "no"),
        (CUBE, "A red cube has been left out.", "no"),
        (CUBE, "Yes is wrong; no is right.", "no"),
    ],
    "a denial of a denial": [
        (CUBE, "It isn't true that there is no red cube.", "yes"),
        (CUBE, "There is no lack of red cubes.", "yes"),
        (CUBE, "I can't deny that there is a red cube.", "yes"),
        (MATERIAL, "It's untrue that they have different materials.", "yes"),
    ],
    "a contrast or an exception": [
        (CUBE, "The red one is a cylinder rather than a cube.", "no"),
        (CUBE, "Anything but a red cube.", "no"),
        (CUBE, "There's everything but a red cube.", "no"),
        (MATERIAL, "Their materials are anything but identical.", "no"),
        (COLOR, "All are red but the big cube is blue.", "blue"),
    ],
    "parts that are added": [
        (COUNT, "There are 2 big cubes and 2 small cubes.", "4"),
        (COUNT, "Two red cubes plus a blue one.", "3"),
        (SIDE, "There are two metal spheres and one metal cylinder left of the green cube.", "3"),
        (SIDE, "3 are to the right of the green cube and 1 is to the left.", "1"),
        (COUNT, "Every object but one of the five is a cube.", "4"),
    ],
    "what is said of another object": [
        (COLOR, "It's blue: the red one is small.", "blue"),
        (COLOR, "Red is the color of the big cube, blue that of the sphere.", "red"),
        (COLOR, "The answer is (A) because\n(A) red\n(B) blue", "red"),
    ],
}
UNREAD = {
    "what is unsure or would be so": [
        (CUBE, "I am not sure whether there is a red cube."),
        (CUBE, "There may or may not be a red cube."),
        (CUBE, "We cannot rule out a red cube."),
        (CUBE, "It would be yes if the sphere were a cube."),
        (MORE, "There are at least as many cubes as spheres."),
    ],
    "words that no rule knows": [
        (CUBE, "The object that looks like a red cube is a red cylinder."),
        (CUBE, "One looks in vain for a red cube."),
        (CUBE, "A fake red cube is here."),
        (CUBE, "My search for a red cube came up empty."),
        (CUBE, "There isn't a second red cube."),
        (CUBE, "The picture isn't without a red cube."),
    ],
    "what is not counted": [
        (COUNT, "There are 5 objects, 3 of which are not cubes."),
        (COUNT, "No cubes other than the red one."),
        (COUNT, "Two pairs of cubes."),
        (COUNT, "Two, and then a third one."),
        (COUNT, "I doubt there are 3 cubes."),
        (COUNT, "2? 3?"),
        (COUNT, "There are 2 red cubes. And 2 blue cubes."),
        (SIDE, "There are 5 metal things, but 3 are not left of the green cube."),
    ],
    "other values that are denied": [
        (COLOR, "The cube isn't red or blue."),
        (COLOR, "I doubt it's red."),
        (COLOR, "It's far from red."),
    ],
    "comparisons that are not made": [
        (MORE, "Spheres don't outnumber cubes; it is the other way round."),
        (MORE, "There are cubes but no spheres."),
        (MATERIAL, "Unlike the cube, the sphere isn't metal."),
    ],
}


@pytest.fixture(scope="module")
def reader() -> ReplyReader:
    vocabulary = default_vocabulary()
    return ReplyReader(vocabulary.set_answers, dict(vocabulary.attribute_types))


@pytest.mark.parametrize("kind", READ)
def test_a_reply_is_read_as_it_is_meant(reader: ReplyReader, kind: str) -> None:
    wanted = {reply: truth for _, reply, truth in READ[kind]}
    assert {reply: reader.read(question, reply) for question, reply, _ in READ[kind]} == wanted


@pytest.mark.parametrize("kind", UNREAD)
def test_a_reply_that_is_not_understood_is_not_read(reader: ReplyReader, kind: str) -> None:
    assert [reply for question, reply in UNREAD[kind] if reader.read(question, reply) is not None] == []


def test_plain_statements_are_still_read(reader: ReplyReader) -> None:
    for reply in (
        "There is indeed a red cube, near the back of the scene.",
        "I can clearly see a red cube on the left side.",
        "A red cube is located between the two cylinders.",
        "The object on the far right is a red cube.",
        "One of the cubes is red.",
    ):
        assert reader.read(CUBE, reply) == "yes", reply
