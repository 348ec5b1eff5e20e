"""Commands whose help has options under headings, and whose errors say where a stray argument could go."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])

_HEADING = "heading"
"""The attribute of an option that holds its heading."""


def with_heading(heading: str | None, option: Callable[[Any], Any]) -> Callable[[_Function], _Function]:
    """A decorator that gives a function an option, which its help lists under a heading, or last if None.

    Write it below `click.command(cls=Command)`.
    """

    def add(function: _Function) -> _Function:
        function = option(function)
        setattr(vars(function)["__click_params__"][-1], _HEADING, heading)
        return function

    return add


class Command(click.Command):
    """A command with headings in its help; see `with_heading`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options under their headings."""
        sections: dict[str, list[tuple[str, str]]] = {}
        rest: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                heading = getattr(param, _HEADING, None)
                (rest if heading is None else sections.setdefault(heading, [])).append(record)
        sections["Other options" if sections else "Options"] = rest
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments as click does.

        Raises:
            UsageError: there is one argument too many; the message says where its value could go.
        """
        ctx.allow_extra_args = True  # so that we report the error
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            raise click.UsageError(f'unexpected argument "{rest[0]}"{self._remedy(rest[0], ctx)}')
        return rest

    def _remedy(self, argument: str, ctx: click.Context) -> str:
        from clevrhope.splits.hops import HOP_GROUPS, NONE

        options = {name for param in self.params for name in param.opts}
        if argument in HOP_GROUPS and "--hops" in options:
            return f" (did you mean --hops {argument}?)"
        if "--hop" in options and (argument == NONE or ("_" in argument and "/" not in argument)):
            return f" (did you mean --hop {argument}?)"
        return f"; usage: {ctx.command_path} {' '.join(self.collect_usage_pieces(ctx))}"


class CommandGroup(click.Group):
    """The commands, in groups for which the help has headings."""

    def __init__(
        self, *args: Any, groups: Mapping[str, Sequence[click.Command]] | None = None, **kwargs: Any
    ):
        super().__init__(*args, **kwargs)
        self.groups = groups or {}
        for commands in self.groups.values():
            for command in commands:
                self.add_command(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands under their headings."""
        width = max(map(len, self.commands))
        for heading, commands in self.groups.items():
            with formatter.section(heading):
                limit = formatter.width - width - 6
                rows = [(f"{each.name:<{width}}", each.get_short_help_str(limit)) for each in commands]
                formatter.write_dl(rows)
