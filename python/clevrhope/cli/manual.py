"""The man page, made of the help of all commands: `clevrhope --man`."""

import inspect
from collections.abc import Iterator

import click

from clevrhope.cli.arguments import read_examples


def manual(root: click.Group, version: str) -> str:
    """The page of all commands below a group, in the language of man(7)."""
    summary = inspect.cleandoc(root.help or "").rstrip(".")
    lines = [
        f'.TH CLEVRHOPE 1 "" "clevrhope {version}"',
        ".SH NAME",
        f"clevrhope \\- {_escaped(summary[0].lower() + summary[1:])}",
        ".SH SYNOPSIS",
        ".B clevrhope",
        "COMMAND [OPTIONS] [ARGUMENTS]",
        *_examples(""),
        ".SH COMMANDS",
    ]
    return "\n".join([*lines, *_commands(root)])


def _commands(group: click.Group) -> Iterator[str]:
    for name, command in group.commands.items():
        context = click.Context(command, info_name=name)
        yield f".SS {_escaped(name)} {_escaped(' '.join(command.collect_usage_pieces(context)))}"
        yield from (_escaped(line) for line in inspect.cleandoc(command.help or "").splitlines())
        for param in command.get_params(context):
            if record := param.get_help_record(context):
                yield from (".TP", f".B {_escaped(record[0])}", _escaped(record[1]))
        yield from _examples(name)


def _examples(command: str) -> Iterator[str]:
    examples = read_examples().get(command)
    if examples:
        yield from (".PP", "Examples:", ".PP", ".RS 4", ".nf")
        yield from (_escaped(line) for line in "\n".join(examples).splitlines())
        yield from (".fi", ".RE")


def _escaped(line: str) -> str:
    """A line of text of which no part is a command of roff; an empty line begins a paragraph."""
    escaped = line.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped or ".PP"
