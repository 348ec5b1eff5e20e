"""Pages of reports: their parts (headings, paragraphs, tables, figures), as one HTML file and as Markdown.

The HTML file contains its images and needs neither server nor network. The Markdown is GitHub's, with images
as files beside it.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

FIGURES = "figures"
"""Folder of the images, beside the Markdown file."""


class Grey(str):
    """The text of a cell whose model does not beat the question-only baseline."""

    __slots__ = ()


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
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """An image, with the name of its file (without suffix) and a note on how to read it."""

    name: str
    title: str
    """What it shows, for those who do not see it; the image says it, too."""
    png: bytes
    note: str = ""


def file_name(name: str) -> str:
    """The name as a part of a file's name, with underscores for all but letters and digits."""
    return "".join(letter if letter.isalnum() else "_" for letter in name)


Block = Heading | Text | Table | Figure
Page = Sequence[Block]


def html(page: Page) -> str:
    """The document as one HTML file."""
    title = next((each.text for each in page if isinstance(each, Heading)), "Report")
    style = (files(__package__) / "report.css").read_text("utf-8")
    body = "\n".join(_html_blocks(page))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{style}</style>\n'
        f"</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _html_blocks(page: Page) -> Iterator[str]:
    for block in page:
        match block:
            case Heading():
                yield f"<h{block.level}>{escape(block.text)}</h{block.level}>"
            case Text():
                yield f"<p>{escape(block.text)}</p>"
            case Table():
                yield from _html_table(block)
            case Figure():
                data = b64encode(block.png).decode()
                yield f'<figure>\n<img alt="{escape(block.title)}" src="data:image/png;base64,{data}">'
                if block.note:
                    yield f"<figcaption>{escape(block.note)}</figcaption>"
                yield "</figure>"


def _html_table(table: Table) -> Iterator[str]:
    yield '<div class="wide"><table>'
    yield f"<caption>{escape(table.title)}</caption>"
    heads = "".join(f"<th>{_breakable(each)}</th>" for each in table.head)
    yield f"<thead><tr>{heads}</tr></thead>\n<tbody>"
    for first, *rest in table.rows:
        classes = [' class="grey"' if isinstance(each, Grey) else "" for each in rest]
        cells = (f"<td{name}>{_breakable(each)}</td>" for name, each in zip(classes, rest, strict=True))
        yield f"<tr><th>{_breakable(first)}</th>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
    if table.note:
        yield f'<p class="note">{escape(table.note)}</p>'


def _breakable(text: str) -> str:
    """A cell's text, in which long names may be broken after underscores."""
    return escape(text).replace("_", "_<wbr>")


def markdown(page: Page) -> str:
    """The document as Markdown; grey cells are in brackets and italics."""
    return "\n".join(_lines(page)).rstrip() + "\n"


def _lines(page: Page) -> Iterator[str]:
    for block in page:
        match block:
            case Heading():
                yield f"{'#' * block.level} {block.text}"
            case Text():
                yield block.text
            case Table():
                yield from _markdown_table(block)
            case Figure():
                yield f"![{block.title}]({FIGURES}/{block.name}.png)"
                if block.note:
                    yield f"\n{block.note}"
        yield ""


def _markdown_table(table: Table) -> Iterator[str]:
    yield f"**{table.title}**\n"
    yield f"| {' | '.join(map(_markdown_cell, table.head))} |"
    yield f"|---|{'---:|' * (len(table.head) - 1)}"
    for row in table.rows:
        yield f"| {' | '.join(map(_markdown_cell, row))} |"
    if table.note:
        yield f"\n{table.note}"


def _markdown_cell(text: str) -> str:
    escaped = text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")
    return f"*({escaped})*" if isinstance(text, Grey) and text else escaped
