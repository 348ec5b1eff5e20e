"""What commands print. Text of others, such as answers, notes and file names, cannot control the terminal."""

import json
from typing import Any

import click

from clevrhope.errors import printable


def say(text: str, *, err: bool = False) -> None:
    """Prints a text and ends the line, with characters that would control the terminal escaped.

    Args:
        text: one or more lines.
        err: whether it goes to standard error instead of standard output.
    """
    click.echo(printable(text), err=err)  # noqa: TID251


def one_line(text: str) -> str:
    """The text with its ends of lines escaped."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


def say_json(value: Any) -> None:
    """Prints a value as JSON, in printable ASCII."""
    click.echo(json.dumps(value).replace("\x7f", "\\u007f"))  # noqa: TID251
