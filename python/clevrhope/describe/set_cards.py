"""Questions over several images on the contact sheet: a row of images for each answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clevrhope.describe.boxes import Box
from clevrhope.programs import TracedStep

Objects = frozenset[tuple[int, int]]
"""Objects of a set, each as the index of its image and its own index there."""


@dataclass(frozen=True)
class SetImage:
    """An image of a set."""

    name: str
    image: str
    """The pixels as a data URL."""
    sketch: bool
    is_source: bool
    """Whether the question was made on it."""
    asked: Sequence[Box]
    """The boxes of the objects at which the program ends."""
    mentioned: Sequence[Box]
    """The boxes of the objects to which these are related."""


@dataclass(frozen=True)
class AnsweredSet:
    """A set of images, and the question's answer on it."""

    images: Sequence[SetImage]
    answer: str


@dataclass(frozen=True)
class SetCard:
    """A question and the sets about which it is asked."""

    text: str
    template: str
    structure: str
    pair_place: str
    sets: Sequence[AnsweredSet]


@dataclass(frozen=True)
class SetSplitCards:
    """The part of the page on a split."""

    split: str
    n_questions: int
    n_images: int
    cards: Sequence[SetCard]


_WITH_CONDITION = ("all", "some", "none", "choose_relation")
"""Functions whose last input says what is asked about the objects of the first input."""


def shown_objects(steps: Sequence[TracedStep]) -> tuple[Objects, Objects]:
    """The objects at which a program ends, and others that it mentions because these are related to them."""
    asked: set[tuple[int, int]] = set()
    for step in _ends(steps, len(steps) - 1):
        asked.update([step.output] if step.type == "Object" else step.output)  # type: ignore[list-item,arg-type]
    mentioned: set[tuple[int, int]] = set()
    for step in steps:
        if step.function.startswith("with_") or step.function == "choose_relation":
            described = [steps[number] for number in step.inputs if steps[number].function != "scene"]
            if described[-1].type == "ObjectSet":
                mentioned.update(described[-1].output)  # type: ignore[arg-type]
    return frozenset(asked), frozenset(mentioned - asked)


def _ends(steps: Sequence[TracedStep], number: int) -> Iterator[TracedStep]:
    """The last steps whose output is objects, from step `number` backwards."""
    step = steps[number]
    if step.type in ("ObjectSet", "Object", "Groups"):
        yield step
        return
    for each in step.inputs[:1] if step.function in _WITH_CONDITION else step.inputs:
        yield from _ends(steps, each)
