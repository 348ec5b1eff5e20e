"""A report's page in, GitHub's Markdown out; images are files beside it."""

from collections.abc import Iterator

from clevrhope.report.page import Cell, Figure, Heading, Page, Table, Text

FIGURES = "figures"
"""The folder of the images, beside the page."""


def markdown(page: Page) -> str:
    """The page as Markdown; grey cells are in brackets and italics."""
    return "\n".join(_lines(page)).rstrip() + "\n"


def _lines(page: Page) -> Iterator[str]:
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
