"""A report as one HTML file, which contains its images and needs neither server nor network."""

from base64 import b64encode
from collections.abc import Iterator
from html import escape
from importlib.resources import files

from clevrhope.report.document import Cell, Document, Figure, Heading, Table, Text


def html(page: Document) -> str:
    """The document as one HTML file."""
    title = next((each.text for each in page if isinstance(each, Heading)), "Report")
    style = (files(__package__) / "report.css").read_text("utf-8")
    body = "\n".join(_blocks(page))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{style}</style>\n'
        f"</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _blocks(page: Document) -> Iterator[str]:
    for block in page:
        match block:
            case Heading():
                yield f"<h{block.level}>{escape(block.text)}</h{block.level}>"
            case Text():
                yield f"<p>{escape(block.text)}</p>"
            case Table():
                yield from _table(block)
            case Figure():
                data = b64encode(block.png).decode()
                yield f'<figure>\n<img alt="{escape(block.title)}" src="data:image/png;base64,{data}">'
                note = f" {escape(block.note)}" if block.note else ""
                yield f"<figcaption><b>{escape(block.title)}.</b>{note}</figcaption>\n</figure>"


def _table(table: Table) -> Iterator[str]:
    yield '<div class="wide"><table>'
    yield f"<caption>{escape(table.title)}</caption>"
    heads = "".join(f"<th>{escape(each)}</th>" for each in table.head)
    yield f"<thead><tr>{heads}</tr></thead>\n<tbody>"
    for row in table.rows:
        first, *rest = row
        yield f"<tr><th>{escape(first.text)}</th>{''.join(map(_cell, rest))}</tr>"
    yield "</tbody></table></div>"
    if table.note:
        yield f'<p class="note">{escape(table.note)}</p>'


def _cell(cell: Cell) -> str:
    grey = ' class="grey"' if cell.grey else ""
    return f"<td{grey}>{escape(cell.text)}</td>"
