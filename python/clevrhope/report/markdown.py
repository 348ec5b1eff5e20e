"""A report in GitHub's Markdown, with images as files beside it."""

from collections.abc import Iterator

from clevrhope.report.document import Cell, Document, Figure, Heading, Table, Text

FIGURES = "figures"
"""Folder of the images, beside the file."""


def markdown(page: Document) -> str:
    """The document as Markdown; grey cells are in brackets and italics."""
    return "\n".join(_lines(page)).rstrip() + "\n"


def _lines(page: Document) -> Iterator[str]:
    for block in page:
        match block:
            case Heading():
                yield f"{'#' * block.level} {block.text}"
            case Text():
                yield block.text
            case Table():
                yield from _table(block)
            case Figure():
                yield f"**{block.title}**"
                yield ""
                yield f"![{block.title}]({FIGURES}/{block.name}.png)"
                if block.note:
                    yield ""
                    yield block.note
        yield ""


def _table(table: Table) -> Iterator[str]:
    yield f"**{table.title}**"
    yield ""
    yield f"| {' | '.join(map(_escaped, table.head))} |"
    yield f"|---|{'---:|' * (len(table.head) - 1)}"
    for row in table.rows:
        yield f"| {' | '.join(map(_cell, row))} |"
    if table.note:
        yield ""
        yield table.note


def _cell(cell: Cell) -> str:
    text = _escaped(cell.text)
    return f"*({text})*" if cell.grey and text else text


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_").replace("*", "\\*")
