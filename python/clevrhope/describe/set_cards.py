"""Questions over several images on the contact sheet: a row of images for each answer."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from clevrhope.describe.boxes import Box
from clevrhope.describe.markdown import number
from clevrhope.programs import TracedStep
from clevrhope.splits.covr.kinds import COVR_KINDS

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


def set_split(split: SetSplitCards, mark: Callable[[str], str]) -> str:
    """A split as HTML; `mark` returns a question's text as HTML, with the pair's words marked."""
    caption = COVR_KINDS[split.split].caption
    cards = "\n".join(_card(card, mark) for card in split.cards)
    return (
        f"<h3>{escape(split.split)} <span>{number(split.n_questions)} questions, {number(split.n_images)} "
        f"images</span></h3><p>{escape(caption)}</p>"
        f'<div class="sets">\n{cards}\n</div>'
    )


def _card(card: SetCard, mark: Callable[[str], str]) -> str:
    place = "" if card.pair_place == "nowhere" else f"; pair: {card.pair_place}"
    rows = "".join(
        f'<div class="row">{"".join(map(_figure, each.images))}<b class="a">{escape(each.answer)}</b></div>'
        for each in card.sets
    )
    return (
        f'<article><p class="q">{mark(card.text)}</p>{rows}'
        f"<footer>{escape(card.template)}; {escape(card.structure)}{escape(place)}</footer></article>"
    )


def _figure(image: SetImage) -> str:
    boxes = "".join(
        f'<i{kind} style="left:{box.left:.2f}%;top:{box.top:.2f}%;'
        f'width:{box.width:.2f}%;height:{box.height:.2f}%"></i>'
        for kind, found in (("", image.asked), (' class="mentioned"', image.mentioned))
        for box in found
    )
    alternative = f"{'Sketch' if image.sketch else 'Image'} {image.name}"
    source = "<figcaption>source</figcaption>" if image.is_source else ""
    return (
        f'<figure title="{escape(image.name)}"><img src="{escape(image.image)}" alt="{escape(alternative)}" '
        f'loading="lazy">{boxes}{source}</figure>'
    )
