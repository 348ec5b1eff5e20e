"""What a report is made of: headings, sentences, tables, figures; plain data for `html` and `markdown`."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: what it says; "" for nothing.
        grey: whether it says little, as its model does not beat who reads the question alone.
    """

    text: str = ""
    grey: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the page's, 2 a section's."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its first column names the rows, which have as many cells as the head has columns."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """An image.

    Attributes:
        name: of its file, without suffix.
        title: what it shows.
        png: the file's bytes.
        note: how to read it.
    """

    name: str
    title: str
    png: bytes
    note: str = ""


Block = Heading | Text | Table | Figure
Page = Sequence[Block]
