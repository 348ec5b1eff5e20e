"""The contact sheet: an HTML page with some images and questions of each split.

It needs neither a network nor a server: images are embedded in the page, which has no script. Every value is
escaped.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from markupsafe import Markup
from PIL import Image

from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.pages import render_page
from clevrhope.pages.markdown import listed
from clevrhope.scenes.sketch import SIZE_PX, box_px, scene_svg
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import OOD, SPLITS

C = TypeVar("C")


@dataclass(frozen=True)
class Box:
    """A rectangle in an image, in per cent of its width and height."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class SetImage:
    """An image of a set."""

    name: str
    image: str
    """The pixels as a data URL."""
    sketch: bool
    is_source: bool
    """Whether the question was made on it."""


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
class CardQuestion:
    """A question as shown on the page."""

    text: str
    answer: str
    family: str


@dataclass(frozen=True)
class Card:
    """An image with questions about it."""

    name: str
    image: str
    """The pixels as a data URL."""
    sketch: bool
    """Whether it was drawn from the scene's positions, because it was not rendered."""
    pair_boxes: Sequence[Box]
    """The boxes of the objects with the held-out pair."""
    questions: Sequence[CardQuestion]
    source: str = ""
    """The published name of an image of CLEVR; "" for other images."""
    group: int = -1
    """The number of its group of images, which has a row of its own; -1 for none."""


@dataclass(frozen=True)
class SplitCards(Generic[C]):
    """The part of the page on a split, about single images or sets of them."""

    split: str
    n_questions: int
    n_images: int
    cards: Sequence[C]


@dataclass(frozen=True)
class HopCards:
    """The part of the page on a sub-dataset."""

    hop: Hop
    pair_words: Sequence[frozenset[str]]
    """For each value of the pair, the words that questions use for it."""
    splits: Sequence[SplitCards[Card]]
    seen: str = ""
    """The combinations of values in train images; "" if these are all but the pair."""
    covr: Sequence[SplitCards[SetCard]] = ()
    """Its splits of questions over several images."""


@dataclass(frozen=True)
class ContactSheet:
    """Everything that the page shows."""

    seed: str
    n_questions: int
    n_images: int
    n_rendered: int
    hops: Sequence[HopCards]
    renderer: str = ""
    """The renderer of the images; "" if there are none."""
    n_published: int = 0
    """Number of images of CLEVR, or of its scenes if nothing is rendered."""


def contact_sheet(sheet: ContactSheet) -> str:
    """The page as HTML."""
    return render_page(
        "contact_sheet.html",
        sheet=sheet,
        title=_title(sheet),
        kinds=SPLITS,
        covr_kinds=COVR_KINDS,
        marked=_marked,
        in_order=_in_order,
    )


def _in_order(splits: Sequence[SplitCards[Card]]) -> list[SplitCards[Card]]:
    """The splits of a sub-dataset; first the one that a visitor has come for, which asks about the pair."""
    return sorted(splits, key=lambda each: each.split != OOD)


def _title(sheet: ContactSheet) -> str:
    if len(sheet.hops) == 1:
        return sheet.hops[0].hop.title
    n_pairs = sum(cards.hop.held_out is not None for cards in sheet.hops)
    n_values = sum(cards.hop.value is not None for cards in sheet.hops)
    if not n_pairs + n_values:
        return "Nothing held out"
    parts = [
        *["a held-out pair" if n_pairs == 1 else "held-out pairs"] * (n_pairs > 0),
        *["a single value" if n_values == 1 else "single values"] * (n_values > 0),
        *["a control with nothing held out"] * (n_pairs + n_values < len(sheet.hops)),
    ]
    return listed(parts).capitalize()


def _marked(text: str, hop: HopCards) -> Markup:
    """The question with the pair's words marked, if it has a word for each value of the pair."""
    words = text.split(" ")
    bare = [word.strip("?,;.").lower() for word in words]
    known: frozenset[str] = frozenset()
    if not any(of_value.isdisjoint(bare) for of_value in hop.pair_words):
        known = known.union(*hop.pair_words)
    return Markup(" ").join(
        Markup("<mark>{}</mark>").format(word) if plain in known else word
        for word, plain in zip(words, bare, strict=True)
    )


def thumbnail_url(pixels: ImageArray, *, width_px: int = SIZE_PX[0]) -> str:
    """A small JPEG of an image (height, width, 3), at most `width_px` wide, as a data URL."""
    memory = io.BytesIO()
    image = Image.fromarray(pixels)
    image.thumbnail((width_px, width_px))
    image.save(memory, "JPEG", quality=85, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(memory.getvalue()).decode()}"


def sketch_url(
    scene: Mapping[str, Any], colours: Mapping[str, Sequence[float]], size_px: tuple[int, int]
) -> str:
    """A drawing of a scene's objects as a data URL; `size_px` are width and height of its raster."""
    return f"data:image/svg+xml,{quote(scene_svg(scene, colors=colours, size_px=size_px))}"


def pair_boxes(
    scene: Mapping[str, Any], held_out: Sequence[tuple[str, str]], size_px: tuple[int, int]
) -> list[Box]:
    """The boxes of the objects that have all values of a pair; `size_px` is that of the scene's raster."""
    width, height = size_px
    boxes = []
    for item in scene["objects"]:
        if all(item[kind] == value for kind, value in held_out):
            left, top, right, bottom = box_px(item, size_px)
            size = (100 * (right - left) / width, 100 * (bottom - top) / height)
            boxes.append(Box(100 * left / width, 100 * top / height, *size))
    return boxes
