"""Pages of reports: their parts (headings, paragraphs, tables, figures), as one HTML file and as Markdown.

A template of words puts the parts together, and two others write them: the HTML file contains its images and
needs neither server nor network; the Markdown is GitHub's, with figures as files beside it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from clevrhope.pages import render_page

FIGURES = "figures"
"""Folder of the images, beside the Markdown file."""

_RESULT = re.compile(r"\d\.\d")


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph, or a heading: level 1 is that of the document, 2 that of a section."""

    kind: ClassVar = "text"
    text: str
    level: int = 0

    @property
    def anchor(self) -> str:
        """The name by which a heading is linked to."""
        return file_name(self.text).lower()


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names the rows; each row has as many cells as `head`."""

    kind: ClassVar = "table"
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    note: str = ""
    same: Sequence[tuple[str, str]] = ()
    """Heads and values of columns that were left out since they have one value in all rows."""

    def without_empty(self) -> "Table":
        """The table without columns that are empty in all rows."""
        columns = [k for k in range(len(self.head)) if any(row[k] for row in self.rows)]
        rows = [[row[k] for k in columns] for row in self.rows]
        return replace(self, head=[self.head[k] for k in columns], rows=rows)

    def without_same(self) -> "Table":
        """The table with columns in `same` that have one value in all of several rows.

        Results, which have a decimal point, stay in the table even if they are equal.
        """
        cells = enumerate(zip(*self.rows, strict=True))
        columns = [k for k, of in cells if len({*of}) > 1 or _RESULT.search(of[0])]
        if len(self.rows) == 1 or not columns:
            return self
        rows = [[row[k] for k in columns] for row in self.rows]
        same = [(head, self.rows[0][k]) for k, head in enumerate(self.head) if k not in columns]
        return replace(self, head=[self.head[k] for k in columns], rows=rows, same=same)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as SVG, with the name of its file (without suffix) and a note on how to read it."""

    kind: ClassVar = "figure"
    name: str
    title: str
    whole: str
    """The file."""
    parts: Sequence[str]
    """Its panels and legends for HTML, which sets them in rows."""
    note: str = ""


class Failure(NamedTuple):
    """A wrong answer."""

    model: str
    """With the diversity that it was trained on."""
    hop: str
    row: int
    """The question's number in the split."""
    question: str
    right: str
    given: str
    """"no answer" where its reply or program gave none."""
    image: str
    """The image, or a sketch where it was not rendered, as a data URL; "" if there is no scene."""
    boxes: Sequence[Mapping[str, float]]
    """The boxes of the objects with the held-out pair, as `contact_sheet.pair_boxes` gives them."""
    command: str
    """What shows the question, beside the dataset's folder."""


@dataclass(frozen=True, slots=True)
class Cards:
    """Wrong answers with their images; Markdown has the table alone."""

    kind: ClassVar = "cards"
    cards: Sequence[Failure]
    table: Table


def file_name(name: str) -> str:
    """The name as a part of a file's name, with underscores for all but letters and digits."""
    return "".join(letter if letter.isalnum() else "_" for letter in name)


Block = Text | Table | Figure | Cards


@dataclass
class Page:
    """The blocks of a page, which the template of its words adds in their order."""

    blocks: list[Block] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    """The beginning of a figure's name, up to "_" -> how to read it."""
    terms: dict[str, str] = field(default_factory=dict)
    """What headings of tables mean, by words in them."""

    def explain(self, notes: Mapping[str, str]) -> str:
        """Says how to read the figures that are added from now on."""
        self.notes |= {name: _joined(note) for name, note in notes.items()}
        return ""

    def heading(self, text: str, level: int = 2) -> str:
        """Adds a heading."""
        return self.add([Text(text, level)])

    def text(self, words: str = "", caller: Callable[[], str] | None = None) -> str:
        """Adds a paragraph, whose lines a template may break anywhere; nothing if it is empty."""
        words = _joined(caller()) if caller else words
        return self.add([Text(words)] if words else [])

    def table(self, table: Table, title: str, note: str = "") -> str:
        """Adds a table with its title, and a note whose lines may be broken; nothing if it has no rows.

        Columns that are empty in all rows are left out.
        """
        table = replace(table, title=title, note=_joined(note))
        return self.add([table.without_empty()] if table.rows else [])

    def legend(self, title: str, meanings: Mapping[str, str]) -> str:
        """Adds a table of the terms in the heads of other tables, where HTML has them as tooltips, too."""
        heads = {head for block in self.blocks if isinstance(block, Table) for head in block.head}
        for term, meaning in meanings.items():
            if any(term in head for head in heads):
                self.terms[term] = _joined(meaning)
        return self.table(Table(("term", "meaning"), [*self.terms.items()]), title)

    def add(self, blocks: Iterable[Block]) -> str:
        """Adds blocks, figures with their notes, and prints nothing into the template."""
        for block in blocks:
            if isinstance(block, Figure) and not block.note:
                block = replace(block, note=self.notes.get(block.name.partition("_")[0], ""))
            self.blocks.append(block)
        return ""


def _joined(text: str) -> str:
    """A text that a template broke into lines, in one line."""
    return re.sub(r"[ \n]+", " ", text).strip()


def html(page: Page) -> str:
    """The document as one HTML file, in which a table's columns with one value are above the table."""
    title = next(block.text for block in page.blocks if isinstance(block, Text))
    blocks = [block.without_same() if isinstance(block, Table) else block for block in page.blocks]
    return render_page("report/report.html", blocks=blocks, terms=page.terms, title=title)


def markdown(page: Page) -> str:
    """The document as Markdown."""
    return render_page("report/report.md", blocks=page.blocks)
