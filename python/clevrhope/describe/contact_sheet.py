"""Some images and questions of each split in, one HTML page out that needs neither network nor server.

Every value is escaped, images are inside the page, and there is no script in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from clevrhope.describe.markdown import listed, number
from clevrhope.splits.kinds import SPLITS


@dataclass(frozen=True)
class Box:
    """A part of an image, in per cent of its width and height."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Asked:
    """A question as it is shown."""

    text: str
    answer: str
    family: str


@dataclass(frozen=True)
class Card:
    """An image with what is asked about it."""

    name: str
    image: str
    """An address that an `img` takes: the pixels themselves, as a data URL."""
    sketch: bool
    """Drawn from the scene's positions, because it was not rendered."""
    pair_boxes: Sequence[Box]
    """Where objects with the held-out pair are."""
    questions: Sequence[Asked]
    source: str = ""
    """The published name of an image of CLEVR's; "" of our own."""


@dataclass(frozen=True)
class SplitCards:
    """What is shown of a split."""

    split: str
    n_questions: int
    n_images: int
    cards: Sequence[Card]


@dataclass(frozen=True)
class HopCards:
    """What is shown of a sub-dataset."""

    name: str
    title: str
    """What it is: "rubber cylinder held out"."""
    words: str
    """The pair, or the value, as one reads it."""
    pair_words: Sequence[frozenset[str]]
    """For each of the two values, the words that questions have for it."""
    value_words: frozenset[str]
    """The words for any value: what may stand between the pair's words in one description."""
    splits: Sequence[SplitCards]
    alone: bool = False
    """Asks for one value, and holds nothing out."""


@dataclass(frozen=True)
class Sheet:
    """All that the page shows."""

    seed: int
    n_questions: int
    n_images: int
    n_rendered: int
    hops: Sequence[HopCards]
    made_by: str = ""
    """What rendered the images; nothing while there are none."""
    n_published: int = 0
    """Images that are CLEVR's own, or scenes where nothing is rendered."""


def contact_sheet(sheet: Sheet) -> str:
    """The page."""
    names = ", ".join(hop.name for hop in sheet.hops)
    navigation = "".join(
        f'<a href="#{escape(hop.name)}">{escape(hop.name)}</a>' for hop in sheet.hops if len(sheet.hops) > 1
    )
    counts = [
        (number(sheet.n_questions), "questions"),
        (number(sheet.n_images), "images" if sheet.n_rendered else "scenes"),
        (number(len(sheet.hops)), "sub-dataset" if len(sheet.hops) == 1 else "sub-datasets"),
        (str(sheet.seed), "seed"),
    ]
    tiles = "".join(f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for value, name in counts)
    rendered = (
        f"<p>Images are rendered by {escape(sheet.made_by)}.</p>"
        if sheet.n_rendered
        else '<p class="note">Nothing has been rendered yet: images below are sketches of the scenes.</p>'
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(names)} &middot; clevrhope</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(_title(sheet))}</h1>"
        "<p>A few images and questions of each split. "
        '<a href="DATASHEET.md">DATASHEET.md</a> has the numbers, '
        '<a href="manifest.json">manifest.json</a> every file.</p>'
        f'<div class="tiles">{tiles}</div>{rendered}{_published(sheet)}<nav>{navigation}</nav></header>\n'
        "<main>\n" + "\n".join(_hop(hop) for hop in sheet.hops) + "\n</main>\n</body>\n</html>\n"
    )


def _style() -> str:
    return files("clevrhope.describe").joinpath("contact_sheet.css").read_text("utf-8")


def _title(sheet: Sheet) -> str:
    if len(sheet.hops) == 1:
        return sheet.hops[0].title
    n_pairs = sum(bool(hop.pair_words) for hop in sheet.hops)
    n_alone = sum(hop.alone for hop in sheet.hops)
    parts = [
        *["a held-out pair" if n_pairs == 1 else "held-out pairs"] * (n_pairs > 0),
        *["a single value" if n_alone == 1 else "single values"] * (n_alone > 0),
        *["nothing held out"] * (n_pairs + n_alone < len(sheet.hops)),
    ]
    return listed(parts).capitalize()


def _published(sheet: Sheet) -> str:
    """How many images are not our own, and whose they are."""
    if not sheet.n_published:
        return ""
    what = "images" if sheet.n_rendered else "scenes"
    return (
        f"<p>{number(sheet.n_published)} of the {what} are CLEVR&#x27;s own, by Johnson et al. (CC BY 4.0); "
        "those below say so.</p>"
    )


def _hop(hop: HopCards) -> str:
    marks = (
        f"<i></i> an object with the pair, <mark>{escape(hop.words)}</mark> in other words too"
        if hop.pair_words
        else escape(hop.title)
    )
    datasheet = f'<a href="hops/{escape(hop.name)}/DATASHEET.md">datasheet</a>'
    legend = f'<p class="legend">{marks}; {datasheet}</p>'
    splits = "\n".join(_split(hop, split) for split in hop.splits)
    return f'<section id="{escape(hop.name)}"><h2>{escape(hop.name)}</h2>{legend}\n{splits}\n</section>'


def _split(hop: HopCards, split: SplitCards) -> str:
    kind = SPLITS[split.split]
    words = kind.caption_of(len(hop.pair_words))
    layout = "minimal" if kind.drawn == "places" else "complex"
    # Elsewhere the pair's words may be near each other by chance.
    asks = kind.asked == "always" and bool(hop.pair_words)
    cards = "\n".join(_card(card, hop if asks else None) for card in split.cards)
    return (
        f"<h3>{escape(split.split)} <span>{number(split.n_questions)} questions, {number(split.n_images)} "
        f"images</span></h3><p>{escape(words)}</p>"
        f'<div class="cards {layout}">\n{cards}\n</div>'
    )


def _card(card: Card, marking: HopCards | None) -> str:
    """A card; the words of `marking`'s pair are marked, if there is one."""
    boxes = "".join(
        f'<i style="left:{box.left:.2f}%;top:{box.top:.2f}%;'
        f'width:{box.width:.2f}%;height:{box.height:.2f}%"></i>'
        for box in card.pair_boxes
    )
    rows = "".join(
        f'<li><span class="q">{_marked(asked.text, marking) if marking else escape(asked.text)}</span> '
        f'<b class="a" title="{escape(asked.family)}">{escape(asked.answer)}</b></li>'
        for asked in card.questions
    )
    source = f' <b title="{escape(card.source)}">CLEVR&#x27;s own</b>' if card.source else ""
    alternative = f"{'Sketch' if card.sketch else 'Picture'} {card.name}"
    return (
        f'<article><figure><img src="{escape(card.image)}" alt="{escape(alternative)}" loading="lazy">'
        f"{boxes}</figure><ul>{rows}</ul><footer>{escape(card.name)}{source}</footer></article>"
    )


def _marked(text: str, hop: HopCards) -> str:
    """The question with the words marked that name the pair in one description ("rubber blue cylinder").

    Where none does, as in "matte things that are either cylinders or cubes", all words of both values are.
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
    """Places of the pair's words that have nothing but words for values between them."""
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
