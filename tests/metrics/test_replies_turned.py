"""Replies whose meaning a few words turn around: what is not read right must not be read at all."""

import pytest

from clevrhope.programs import default_vocabulary
from clevrhope.replies import ReplyReader

CUBE, MORE = "Is there a red cube?", "Are there more cubes than spheres?"
COLOR, COUNT = "What color is the big cube?", "How many cubes are there?"
SIDE = "What number of metal things are left of the green cube?"
MATERIAL = "Does the red cube have the same material as the small sphere?"
LIKE = "What material does the brown thing of the same size as the cyan ball have?"
EITHER = "How many red cubes or blue spheres are there?"
YELLOW = "How many yellow objects or large blue balls are visible?"
OTHERS = "What is the number of other things of the same material as the small cylinder?"
FEWER = "Are there fewer red cubes than large spheres?"
LEFT_MORE = "Is the number of cubes left of the ball greater than that of small green cylinders?"
SIZE_OF = "There is a red thing; does anything else have its size?"
RED, SMALL, SAME = "How many red things are there?", "How many small things?", "Are the two the same size?"

REPLIES: dict[str, list[tuple[str, str, str | None]]] = {
    "plain statements": [
        (CUBE, "There is indeed a red cube, near the back of the scene.", "yes"),
        (CUBE, "I can clearly see a red cube on the left side.", "yes"),
        (CUBE, "A red cube is located between the two cylinders.", "yes"),
        (CUBE, "The object on the far right is a red cube.", "yes"),
        (CUBE, "One of the cubes is red.", "yes"),
        (CUBE, "No worries, there is a red cube.", "yes"),
        (CUBE, "There is not only a red cube but also a blue one.", "yes"),
    ],
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
    "a denial of something else": [
        (CUBE, "Yes, there is a red cube. It lacks the shine of the metal ball.", "yes"),
        (CUBE, "Yes, there is a red cube. There are no further cubes.", "yes"),
        ("Is there a shiny cube?", "There is a cube but it lacks the metallic sheen.", "no"),
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
        (COUNT, "Each of the 3 objects is a cube.", "3"),
        (RED, "Two cubes and one ball are red.", "3"),
        (RED, "All 4 things save one are red.", "3"),
        (EITHER, "I count 3 objects:\n- Red cubes (2): at the back\n- Blue spheres (1): in front", "3"),
        (EITHER, "There are 7 objects. 3 of these objects match that description.", "3"),
    ],
    "a number with an exception or with the object itself": [
        (COUNT, "All three of them except the red one.", None),
        (COUNT, "All four but the blue one.", None),
        (OTHERS, "5 things are rubber, including the cylinder itself.", None),
        (OTHERS, "With the small cylinder there are 5.", None),
        (OTHERS, "5 things, not including the cylinder.", "5"),
        (OTHERS, "There are 2 other rubber things, including a red cube.", "2"),
    ],
    "parts of two kinds": [
        (EITHER, "two red cubes, one blue sphere", "3"),
        (YELLOW, "two yellow, one large blue ball", "3"),
        (YELLOW, "two yellow and one blue", None),
        (YELLOW, "Yellow: 2. Blue balls: 1.", None),
        (YELLOW, "Yellow: 2. Blue balls: 1. So 3 in total.", "3"),
    ],
    "one of two kinds that is denied": [
        (EITHER, "no red cubes, but one blue sphere", "1"),
        (EITHER, "There are no red cubes and two blue spheres.", "2"),
        (EITHER, "There aren't any red cubes, but I see one blue sphere.", "1"),
        (EITHER, "No red cubes. One blue sphere.", "1"),
        (EITHER, "There are no red cubes. There are no blue spheres.", "0"),
        (EITHER, "There are no red cubes.", None),
        (EITHER, "No cubes, but one blue sphere.", None),
    ],
    "a number that is restricted": [
        (COUNT, "There are 5 objects, 3 of which are not cubes.", "2"),
        (RED, "4, half of which are red", "2"),
        (RED, "There are 4 objects; half are red.", "2"),
        (RED, "4, half of which are blue", None),
        (RED, "4, nearly half of which are red", None),
        (RED, "There are 5 objects, half of which are red.", None),
        (RED, "There are 4 objects, but only some are red.", None),
        (RED, "4, the majority of which are red", None),
        (RED, "4, two of which are red", "2"),
        (RED, "4, of which one is red", "1"),
        (RED, "There are 4 objects. All but one are red.", "3"),
        (RED, "There are 4 objects. Only the first is red.", "1"),
        (RED, "There are 4 things. Not all are red.", None),
        ("How many red cubes are there?", "There are 3 cubes, none red.", "0"),
        (
            "How many red cubes are there?",
            "There are 3 cubes, none red, but 2 red spheres.",
            "0",
        ),
        ("How many small red things are there?", "There are 4 small things, none red.", "0"),
        ("How many cubes are left of the ball?", "3 cubes, none left of the ball", "0"),
        ("How many cubes are not red?", "There are 3 cubes, none red.", "3"),
        ("How many red cubes are there?", "There are 3 red cubes, none small.", "3"),
        ("How many red cubes are there?", "There are 3 cubes. Only the first has a red surface.", "1"),
        ("How many objects are not metal?", "There are 6 objects, half of which are metal.", "3"),
        (SIDE, "There are 4 metal things. Only the first is left of the green cube.", "1"),
        (SIDE, "4, half of which are left of the green cube", "2"),
        (SIDE, "There are 3 metal things; only the ball is left of the green cube.", "1"),
        (RED, "There are 8 things. All are red but 2.", "6"),
        (SMALL, "There are 7 things, four of which are large.", None),
        (RED, "There are 4 things, three quarters of which are red.", None),
        ("How many red cubes are there?", "There are 3 cubes. The left one is red.", None),
        (COUNT, "4, half of which are red", "4"),
        (COUNT, "There are 4 cubes. Only the first is red.", "4"),
        (RED, "4 red ones, some of which are cubes", "4"),
    ],
    "what the object compared with is said to have": [
        (MORE, "The spheres are more.", "no"),
        (MORE, "The latter number is greater.", "no"),
        (MORE, "The former outnumber the latter.", "yes"),
        (FEWER, "The spheres are fewer.", "no"),
        (FEWER, "The latter are fewer than the former.", "no"),
        (FEWER, "The cubes are fewer.", "yes"),
        (LEFT_MORE, "Green cylinders are more common.", "no"),
        (SAME, "One is twice as big as the other.", "no"),
        (SAME, "They are the same in every way except size.", None),
        (SIZE_OF, "Everything else is small; the red thing is large.", None),
    ],
    "a yes or no that is taken back": [
        (CUBE, "Yes. There is no red cube.", None),
        (CUBE, "Yes, there isn't one.", None),
        (CUBE, "No, there is a red cube.", None),
        (CUBE, "No. There is a blue cube.", "no"),
        (CUBE, "Yes. There is no other cube.", "yes"),
        (CUBE, "No. 1 in the back, no. 2 in front: two red cubes.", "yes"),
        (CUBE, "There is one, no?", "yes"),
    ],
    "a yes or no that is not the reply's own": [
        (CUBE, "I would say yes, if it weren't for the material.", None),
        (CUBE, "I would say yes, if I had to guess.", "yes"),
        (CUBE, "Were it red, yes.", None),
        (CUBE, "Almost yes, but the cube is blue.", None),
        (CUBE, "Some might say yes, but there isn't one.", "no"),
    ],
    "what is said of another object": [
        (COLOR, "It's blue: the red one is small.", "blue"),
        (COLOR, "Red is the color of the big cube, blue that of the sphere.", "red"),
        (COLOR, "The answer is (A) because\n(A) red\n(B) blue", "red"),
        (COLOR, "The big cube is cyan, a blue-green shade.", "cyan"),
        (LIKE, "The brown thing which shares its size with the cyan rubber ball is metal.", "metal"),
        (LIKE, "The brown thing that matches the cyan rubber ball's size is metal.", "metal"),
        (LIKE, "The brown thing whose size equals that of the cyan rubber ball is metal.", "metal"),
    ],
    "a last sentence after a list": [
        (CUBE, "There are:\n- a large blue cube\n- a red sphere\n\nThere is no red cube.", "no"),
        (CUBE, "I can see:\n- a large blue cube\n- a red cube\n\nThere is a red cube.", "yes"),
        (COLOR, "1. Small red cube\n2. Big cube, blue\n3. Red one\nThe big cube is blue.", "blue"),
    ],
    "what is unsure or would be so": [
        (CUBE, "I am not sure whether there is a red cube.", None),
        (CUBE, "There may or may not be a red cube.", None),
        (CUBE, "We cannot rule out a red cube.", None),
        (CUBE, "It would be yes if the sphere were a cube.", None),
        (CUBE, "It would be wrong to say yes.", None),
        (MORE, "There are at least as many cubes as spheres.", None),
        (CUBE, "It isn't possible to say for sure whether there is a red cube.", None),
        (CUBE, "I'm unable to confirm if there is a red cube.", None),
        (CUBE, "The picture doesn't show whether the cube is red.", None),
        (CUBE, "There's no cube in front.\nAnswer: Not sure", None),
    ],
    "words that no rule knows": [
        (CUBE, "The object that looks like a red cube is a red cylinder.", None),
        (CUBE, "One looks in vain for a red cube.", None),
        (CUBE, "A fake red cube is here.", None),
        (CUBE, "My search for a red cube came up empty.", None),
        (CUBE, "There isn't a second red cube.", None),
        (CUBE, "The picture isn't without a red cube.", None),
        (CUBE, "The red cube is a sphere.", None),
        (CUBE, "There is no cube but the blue one.", None),
    ],
    "what is not counted": [
        (COUNT, "There are 5 objects, some of which are not cubes.", None),
        (COUNT, "No cubes other than the red one.", None),
        (COUNT, "Two pairs of cubes.", None),
        (COUNT, "Two, and then a third one.", None),
        (COUNT, "I doubt there are 3 cubes.", None),
        (COUNT, "2? 3?", None),
        (COUNT, "There are 2 red cubes. And 2 blue cubes.", None),
        (COUNT, "I count 3 objects in total:\n- a cube\n- a sphere\n- a cube", None),
        (EITHER, "I count 3 objects in total:\n- a red cube\n- a blue cube\n- a blue sphere", None),
        ("How many things are cubes or red spheres?", "There are 2 cubes.", None),
        (SMALL, "There are 3 things, two of which are large.", None),
        (SIDE, "There are 5 metal things, but 3 are not left of the green cube.", None),
    ],
    "other values that are denied": [
        (COLOR, "The cube isn't red or blue.", None),
        (COLOR, "I doubt it's red.", None),
        (COLOR, "It's far from red.", None),
    ],
    "many answers in a row": [
        (CUBE, "yes no 0 1 2 small large red blue cube sphere", None),
        (COUNT, "0 1 2 3", None),
        (COLOR, "sphere cube red blue 3 4 yes", None),
        (CUBE, "2 red cubes", "yes"),
        (MORE, "2 cubes 3 spheres so no", "no"),
    ],
    "the question as a statement": [
        (CUBE, "Is there a red cube.", None),
        (CUBE, "Is there a red cube? Yes.", "yes"),
        (CUBE, "Nowhere is there a red cube.", "no"),
        (COLOR, "What color is the big cube: red.", "red"),
    ],
    "comparisons that are not made": [
        (MORE, "Spheres don't outnumber cubes; it is the other way round.", None),
        (MORE, "There are cubes but no spheres.", None),
        (SAME, "Different objects are shown.", None),
        (MATERIAL, "Unlike the cube, the sphere isn't metal.", None),
    ],
}
"""What turns the meaning -> questions with replies and what they say; None if they must not be read."""


@pytest.mark.parametrize("turn", REPLIES)
def test_a_reply_is_read_as_it_is_meant_or_not_at_all(turn: str) -> None:
    vocabulary = default_vocabulary()
    reader = ReplyReader(vocabulary.set_answers, dict(vocabulary.attribute_types))
    wanted = {reply: truth for _, reply, truth in REPLIES[turn]}
    assert {reply: reader.read(question, reply) for question, reply, _ in REPLIES[turn]} == wanted
