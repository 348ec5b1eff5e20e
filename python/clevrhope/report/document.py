"""The parts of a report: headings, paragraphs, tables and figures, which `html` and `markdown` write."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: Its content; "" for none.
        grey: Whether its model does not beat the question-only baseline.
    """

    text: str = ""
    grey: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is that of the document, 2 that of a section."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names the rows; each row has as many cells as `head`."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """An image.

    Attributes:
        name: Name of its file, without suffix.
        title: What it shows.
        png: The file's bytes.
        note: How to read it.
    """

    name: str
    title: str
    png: bytes
    note: str = ""


Block = Heading | Text | Table | Figure
Document = Sequence[Block]
