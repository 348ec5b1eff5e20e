"""The addresses of pages and images, as links from one page to another, and the query of an address.

All links are relative. So the token that the server puts before every address stays in front, and the pages
of a static export work in any folder of any web server.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import quote, urlencode

from clevrhope.browse.folder import SplitKey
from clevrhope.browse.index import Filter
from clevrhope.browse.models import OUTCOMES

MOST_WORDS = 200
"""Maximum number of characters of a search."""

_LARGEST = 1 << 31

IMAGE_KINDS: Mapping[str, str] = {"image": "png", "mask": "png", "sketch": "svg"}
"""What pages show of a scene -> the suffix of its file."""


@dataclass(frozen=True)
class Query:
    """The part of an address after the question mark; invalid fields count as absent."""

    hop: str = ""
    split: str = ""
    family: int | None = None
    answer: int | None = None
    mention: int | None = None
    objects: int | None = None
    words: str = ""
    a: int | None = None
    """The first model's number, from 1; None for the default."""
    b: int | None = None
    """The second model's number; 0 for none."""
    outcome: str = ""
    order: str = ""
    """With "file", questions are in the order of the file, even where errors would come first."""
    test: str = ""
    page: int = 1
    at: int | None = None
    """A question's index in the list that the other fields describe, from 0."""
    step: int | None = None
    """The number, from 1, of the program's step whose objects are marked."""
    step2: int | None = None
    """The same for the partner of a pair."""
    boxes: int = 1
    ids: int = 1
    masks: int = 0
    """Whether boxes, numbers of objects, and masks are shown: 0 or 1."""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "Query":
        """The query of an address."""
        values: dict[str, Any] = {}
        for each in fields(cls):
            text = given.get(each.name, "")
            if each.type is str:
                values[each.name] = text[:MOST_WORDS].strip()
            elif text.isascii() and text.isdecimal() and len(text) < 11 and int(text) < _LARGEST:
                values[each.name] = int(text)
        made = cls(**values)
        return replace(
            made,
            page=max(made.page, 1),
            outcome=made.outcome if made.outcome in OUTCOMES else "",
            **{name: min(getattr(made, name), 1) for name in ("boxes", "ids", "masks")},
        )

    def filter(self) -> Filter:
        """The filter for the questions to search for."""
        return Filter(self.split or None, self.family, self.answer, self.mention, self.objects, self.words)

    def fields(self) -> dict[str, str | int]:
        """The fields of the query string, without those at their defaults."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {each.name: given[each.name] for each in fields(self) if given[each.name] != each.default}

    def text(self) -> str:
        """The query string of an address; "" if all fields are at their defaults."""
        given = self.fields()
        return f"?{urlencode(given)}" if given else ""


class Links:
    """The links of one page."""

    def __init__(self, depth: int) -> None:
        """`depth` is the number of folders in the page's own address."""
        self._root = "../" * depth

    static = False
    """Whether there is no server that could search."""

    def home(self) -> str:
        """The overview."""
        return self._root or "./"

    def asset(self, name: str) -> str:
        """The style or the script."""
        return f"{self._root}{name}"

    def questions(self, hop: str, query: Query | None = None, **changes: Any) -> str | None:
        """The list of a HOP's questions."""
        asked = replace(query or Query(), **{"hop": hop, "at": None, **changes})
        return f"{self._root}questions{asked.text()}"

    def question(self, place: SplitKey, row: int, query: Query | None = None, **changes: Any) -> str | None:
        """A question's page."""
        asked = replace(query or Query(), **{"hop": "", "step": None, "step2": None, "page": 1, **changes})
        if asked.at is None:
            asked = Query(boxes=asked.boxes, ids=asked.ids, masks=asked.masks, step=asked.step)
        return f"{self._root}question/{quote(place.hop)}/{quote(place.split)}/{row}{asked.text()}"

    def pairs(self, place: SplitKey, **changes: Any) -> str | None:
        """The list of a suite's pairs on a split."""
        return f"{self._root}pairs/{self._suite(place)}{Query(**changes).text()}"

    def pair(self, place: SplitKey, number: int, query: Query | None = None, **changes: Any) -> str | None:
        """A pair's page."""
        asked = query or Query()
        shown = Query(boxes=asked.boxes, ids=asked.ids, masks=asked.masks, test=asked.test)
        return f"{self._root}pair/{self._suite(place)}/{number}{replace(shown, **changes).text()}"

    def image(self, kind: str, pool: str, index: int) -> str:
        """An image, its mask, or a sketch of its scene; `kind` is one of `IMAGE_KINDS`."""
        return f"{self._root}{image_file(kind, quote(pool), index)}"

    def _suite(self, place: SplitKey) -> str:
        return "/".join(map(quote, (place.hop, place.suite or "", place.split)))


class StaticLinks(Links):
    """Links between files, and a record of the images that pages show."""

    static = True

    def __init__(self, depth: int, *, pages: Container[str], images: set[tuple[str, str, int]]) -> None:
        """Takes the paths of all pages to be exported, and adds (kind, pool, index) to `images`."""
        super().__init__(depth)
        self._pages, self._images = pages, images

    def home(self) -> str:
        """The overview."""
        return f"{self._root}index.html"

    def questions(self, hop: str, query: Query | None = None, **changes: Any) -> str | None:
        """The list of a HOP's questions; None if it is not exported."""
        asked = replace(query or Query(), **changes)
        return self._page(questions_file(hop, asked.split, asked.page))

    def question(self, place: SplitKey, row: int, query: Query | None = None, **changes: Any) -> str | None:
        """A question's page; None if it is not exported."""
        return self._page(question_file(place, row), query, **changes)

    def pairs(self, place: SplitKey, **changes: Any) -> str | None:
        """The list of a suite's pairs on a split; None if it is not exported."""
        return self._page(pairs_file(place, Query(**changes).page))

    def pair(self, place: SplitKey, number: int, query: Query | None = None, **changes: Any) -> str | None:
        """A pair's page; None if it is not exported."""
        return self._page(pair_file(place, number), query, **changes)

    def image(self, kind: str, pool: str, index: int) -> str:
        """An image, mask or sketch, which is exported."""
        self._images.add((kind, pool, index))
        return super().image(kind, pool, index)

    def _page(self, path: str, query: Query | None = None, **changes: Any) -> str | None:
        if path not in self._pages:
            return None
        steps = {name: value for name, value in changes.items() if name in ("step", "step2")}
        return f"{self._root}{quote(path)}{Query(**steps).text()}"


def questions_file(hop: str, split: str, page: int) -> str:
    """The path of a list of questions in a static export."""
    return f"questions/{hop}/{split}/{page}.html"


def question_file(place: SplitKey, row: int) -> str:
    """The path of a question's page in a static export."""
    return f"question/{place.hop}/{place.split}/{row}.html"


def pairs_file(place: SplitKey, page: int) -> str:
    """The path of a list of pairs in a static export."""
    return f"pairs/{place.hop}/{place.suite}/{place.split}/page-{page}.html"


def pair_file(place: SplitKey, number: int) -> str:
    """The path of a pair's page in a static export."""
    return f"pair/{place.hop}/{place.suite}/{place.split}/{number}.html"


def image_file(kind: str, pool: str, index: int) -> str:
    """The path of an image, mask or sketch, below the first page."""
    return f"{kind}/{pool}/{index}.{IMAGE_KINDS[kind]}"
