"""The contact sheet: an HTML page with some images and questions of each split.

It needs neither a network nor a server: images are embedded in the page, which has no script. Every value is
escaped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib.resources import files

from clevrhope.describe.boxes import Box
from clevrhope.describe.markdown import listed, number
from clevrhope.describe.set_cards import SetSplitCards, set_split
from clevrhope.scenes.sketch import materials_html
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS


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


@dataclass(frozen=True)
class SplitCards:
    """The part of the page on a split."""

    split: str
    n_questions: int
    n_images: int
    cards: Sequence[Card]


@dataclass(frozen=True)
class HopCards:
    """The part of the page on a sub-dataset."""

    hop: Hop
    pair_words: Sequence[frozenset[str]]
    """For each value of the pair, the words that questions use for it."""
    value_words: frozenset[str]
    """The words for all values, which may stand between the pair's words in a description."""
    splits: Sequence[SplitCards]
    seen: str = ""
    """The combinations of values in train images; "" if these are all but the pair."""
    covr: Sequence[SetSplitCards] = ()
    """Its splits of questions over several images."""


@dataclass(frozen=True)
class Sheet:
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
    materials: Sequence[str] = ()
    """The world's materials, for the legend of sketches."""


def contact_sheet(sheet: Sheet) -> str:
    """The page as HTML."""
    names = [cards.hop.name for cards in sheet.hops]
    links = "".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in names)
    navigation = f"<nav>{links}</nav>" if len(names) > 1 else ""
    counts = [
        (number(sheet.n_questions), "questions"),
        (number(sheet.n_images), "images" if sheet.n_rendered else "scenes"),
        (number(len(sheet.hops)), "sub-dataset" if len(sheet.hops) == 1 else "sub-datasets"),
        (sheet.seed, "seed"),
    ]
    tiles = "".join(f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for value, name in counts)
    rendered = (
        f"<p>Images are rendered by {escape(sheet.renderer)}.</p>"
        if sheet.n_rendered
        else '<p class="note">Nothing has been rendered yet; the images below are sketches of the scenes.</p>'
    )
    style = files("clevrhope.describe").joinpath("contact_sheet.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(', '.join(names))} &middot; clevrhope</title>\n"
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(_title(sheet))}</h1>"
        "<p>A few images and questions of each split. "
        '<a href="DATASHEET.md">DATASHEET.md</a> has the numbers, and '
        '<a href="manifest.json">manifest.json</a> lists every file.</p>'
        f'<div class="tiles">{tiles}</div>{rendered}{_sketches(sheet)}{_published(sheet)}{navigation}'
        "</header>\n"
        "<main>\n" + "\n".join(_hop(hop) for hop in sheet.hops) + "\n</main>\n</body>\n</html>\n"
    )


def _title(sheet: Sheet) -> str:
    if len(sheet.hops) == 1:
        return sheet.hops[0].hop.title
    n_pairs = sum(cards.hop.pair is not None for cards in sheet.hops)
    n_values = sum(cards.hop.value is not None for cards in sheet.hops)
    if not n_pairs + n_values:
        return "Nothing held out"
    parts = [
        *["a held-out pair" if n_pairs == 1 else "held-out pairs"] * (n_pairs > 0),
        *["a single value" if n_values == 1 else "single values"] * (n_values > 0),
        *["a control with nothing held out"] * (n_pairs + n_values < len(sheet.hops)),
    ]
    return listed(parts).capitalize()


def _sketches(sheet: Sheet) -> str:
    """The legend of materials in sketches, if there is a sketch."""
    cards = (card for hop in sheet.hops for split in hop.splits for card in split.cards)
    if not (sheet.materials and any(card.sketch for card in cards)):
        return ""
    return f'<p class="legend">Materials in sketches: {materials_html(sheet.materials)}</p>'


def _published(sheet: Sheet) -> str:
    """A note on how many images are CLEVR's, with the credit that their licence requires."""
    if not sheet.n_published:
        return ""
    what = "images" if sheet.n_rendered else "scenes"
    return (
        f"<p>{number(sheet.n_published)} of the {what} are CLEVR&#x27;s own, by Johnson et al. (CC BY 4.0); "
        "they are labelled below.</p>"
    )


def _hop(cards: HopCards) -> str:
    hop = cards.hop
    marks = (
        f"Boxes like <i></i> mark objects with the pair, and <mark>{escape(hop.words)}</mark> its words in a "
        "question, or synonyms of them"
        if hop.pair
        else escape(hop.title)
    )
    datasheet = f'<a href="hops/{escape(hop.name)}/DATASHEET.md">datasheet</a>'
    seen = f" Train images show only {escape(cards.seen)}." if cards.seen else ""
    legend = f'<p class="legend">{marks} ({datasheet}).{seen}</p>'
    splits = "\n".join(_split(cards, split) for split in cards.splits)
    if cards.covr:
        splits += f"\n{_over_several_images(cards)}"
    return f'<section id="{escape(hop.name)}"><h2>{escape(hop.name)}</h2>{legend}\n{splits}\n</section>'


def _over_several_images(cards: HopCards) -> str:
    legend = (
        '<p class="legend sets">Over several images, each question with both of its answers: <i></i> objects '
        'that the question ends at; <i class="mentioned"></i> objects that it mentions these by</p>'
    )
    splits = (
        set_split(each, partial(_marked, hop=cards) if COVR_KINDS[each.split].mentions else escape)
        for each in cards.covr
    )
    return "\n".join([legend, *splits])


def _split(hop: HopCards, split: SplitCards) -> str:
    kind = SPLITS[split.split]
    words = kind.caption_of(len(hop.pair_words))
    layout = "minimal" if kind.drawn == "places" else "complex"
    # In other splits the pair's words may be next to each other by chance.
    has_pair = kind.asked == "always" and bool(hop.pair_words)
    cards = "\n".join(_card(card, hop if has_pair else None) for card in split.cards)
    return (
        f"<h3>{escape(split.split)} <span>{number(split.n_questions)} questions, {number(split.n_images)} "
        f"images</span></h3><p>{escape(words)}</p>"
        f'<div class="cards {layout}">\n{cards}\n</div>'
    )


def _card(card: Card, marking: HopCards | None) -> str:
    """A card as HTML; the words of the pair of `marking` are marked, unless it is None."""
    boxes = "".join(
        f'<i style="left:{box.left:.2f}%;top:{box.top:.2f}%;'
        f'width:{box.width:.2f}%;height:{box.height:.2f}%"></i>'
        for box in card.pair_boxes
    )
    rows = "".join(
        f'<li><span class="q">{_marked(each.text, marking) if marking else escape(each.text)}</span> '
        f'<b class="a" title="{escape(each.family)}">{escape(each.answer)}</b></li>'
        for each in card.questions
    )
    source = f' <b title="{escape(card.source)}">CLEVR&#x27;s own</b>' if card.source else ""
    alternative = f"{'Sketch' if card.sketch else 'Image'} {card.name}"
    return (
        f'<article><figure><img src="{escape(card.image)}" alt="{escape(alternative)}" loading="lazy">'
        f"{boxes}</figure><ul>{rows}</ul><footer>{escape(card.name)}{source}</footer></article>"
    )


def _marked(text: str, hop: HopCards) -> str:
    """The question with the pair's words marked in each description that has both ("rubber blue cylinder").

    If no description has both, as in "matte things that are either cylinders or cubes", all words for both
    values are marked.
    """
    words = text.split(" ")
    bare = [word.strip("?,;.").lower() for word in words]
    places = _described(bare, hop)
    if not places and all(any(word in known for word in bare) for known in hop.pair_words):
        places = {place for known in hop.pair_words for place, word in enumerate(bare) if word in known}
    return " ".join(
        f"<mark>{escape(word)}</mark>" if place in places else escape(word)
        for place, word in enumerate(words)
    )


def _described(bare: Sequence[str], hop: HopCards) -> set[int]:
    """Indices of the pair's words that have only words for values between them."""
    found: set[int] = set()
    stretch: list[int] = []
    for place, word in enumerate([*bare, ""]):
        if word in hop.value_words or any(word in known for known in hop.pair_words):
            stretch.append(place)
            continue
        if all(any(bare[at] in known for at in stretch) for known in hop.pair_words):
            found |= {at for at in stretch if any(bare[at] in known for known in hop.pair_words)}
        stretch = []
    return found
