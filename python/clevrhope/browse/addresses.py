"""The addresses of pages and images, as links from one page to another, and the query of an address.

All links are relative, so the token that the server puts before every address stays in front.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import quote, urlencode

from clevrhope.browse.folder import SplitKey
from clevrhope.browse.index import Filter
from clevrhope.browse.models import OUTCOMES
from clevrhope.scenes.descriptions import parse_description

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
    shows: str = ""
    """A description of objects in the image."""
    words: str = ""
    a: int | None = None
    """The first model's number, from 1; None for the default."""
    b: int | None = None
    """The second model's number; 0 for none."""
    outcome: str = ""
    view: str = ""
    """With "grid", a list is a grid of images."""
    order: str = ""
    """With "file", questions are in the order of the file, even where errors would come first."""
    test: str = ""
    page: int = 1
    at: int | None = None
    """A question's index in the list that the other fields describe, from 0."""
    step: int | None = None
    """The number, from 0, of the program's step whose objects are marked."""
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

    def filter(self, attributes: Mapping[str, Sequence[str]]) -> Filter:
        """The filter for the questions to search for.

        Raises:
            ConfigError: the description of objects has words that a world of these attributes does not know.
        """
        shown = parse_description(self.shows, attributes)
        place = (self.split or None, self.family, self.answer, self.mention, self.objects)
        return Filter(*place, shown, self.words)

    def fields(self) -> dict[str, str | int]:
        """The fields of the query string, without those at their defaults."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {each.name: given[each.name] for each in fields(self) if given[each.name] != each.default}

    def text(self) -> str:
        """The query string of an address; "" if all fields are at their defaults."""
        given = self.fields()
        return f"?{urlencode(given)}" if given else ""


class Links:
    """The links of one page, in whose own address there are `depth` folders."""

    def __init__(self, depth: int) -> None:
        self._root = "../" * depth

    def home(self) -> str:
        """The overview."""
        return self._root or "./"

    def asset(self, name: str) -> str:
        """The style or the script."""
        return f"{self._root}{name}"

    def questions(self, hop: str, query: Query | None = None, **changes: Any) -> str:
        """The list of a HOP's questions."""
        asked = replace(query or Query(), **{"hop": hop, "at": None, **changes})
        return f"{self._root}questions{asked.text()}"

    def question(self, place: SplitKey, row: int, query: Query | None = None, **changes: Any) -> str:
        """A question's page."""
        asked = replace(query or Query(), **{"hop": "", "step": None, "step2": None, "page": 1, **changes})
        if asked.at is None:
            asked = Query(boxes=asked.boxes, ids=asked.ids, masks=asked.masks, step=asked.step)
        return self._link(f"question/{place.hop}/{place.split}/{row}", asked)

    def pairs(self, place: SplitKey, **changes: Any) -> str:
        """The list of a suite's pairs on a split."""
        return self._link(f"pairs/{place.hop}/{place.suite}/{place.split}", Query(**changes))

    def pair(self, place: SplitKey, number: int, query: Query | None = None, **changes: Any) -> str:
        """A pair's page."""
        asked = query or Query()
        shown = Query(boxes=asked.boxes, ids=asked.ids, masks=asked.masks, test=asked.test)
        path = f"pair/{place.hop}/{place.suite}/{place.split}/{number}"
        return self._link(path, replace(shown, **changes))

    def image(self, kind: str, pool: str, index: int) -> str:
        """An image, its mask, or a sketch of its scene; `kind` is one of `IMAGE_KINDS`."""
        return f"{self._root}{quote(f'{kind}/{pool}/{index}.{IMAGE_KINDS[kind]}')}"

    def _link(self, path: str, query: Query) -> str:
        return f"{self._root}{quote(path)}{query.text()}"
