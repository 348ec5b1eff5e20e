"""What several commands make of their options: names, numbers, how progress is shown."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from clevrhope.runtime.progress import Progress

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _AnyPath(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("expected a file or folder, not an empty name", param, ctx)
        return super().convert(value, param, ctx)


PATH = _AnyPath(path_type=Path)
"""A file or folder; whoever opens it says what is wrong with it."""


class Whole(click.IntRange):
    """A whole number from the least on, up to the most if there is one; what is none is told in our words."""

    def __init__(self, least: int, most: int | None = None) -> None:
        super().__init__(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number.

        Raises:
            UsageError: it is none; names the option.
        """
        try:
            number: int = super().convert(value, param, ctx)
        except click.BadParameter:
            option = param.opts[0] if param else "option"
            reach = f"from {self.min}" + ("" if self.max is None else f" to {self.max}")
            text = f'{option}: "{str(value)[:40]}" should be a whole number {reach}'
            raise click.UsageError(text) from None
        return number


only_hops = click.option(
    "--hop", "hops", multiple=True, metavar="NAME", help="Only this HOP; can be repeated."
)
only_splits = click.option(
    "--splits", multiple=True, metavar="NAMES", help="Only these splits, commas between them."
)

passes_option = click.option(
    "--passes",
    multiple=True,
    metavar="KINDS",
    help="Of each image, in HDF5: mask (object of each pixel), depth, normal; commas between them.",
)

rendering_options = (
    click.option(
        "--renderer",
        type=click.Choice(["blender", "native"]),
        help="native: nearly the same images without Blender, much sooner.  [default: blender]",
    ),
    click.option(
        "--quality",
        metavar="NAME",
        help="How much effort; blender: draft, standard, original; native: draft, standard, high.  "
        "[default: standard]",
    ),
    click.option(
        "--samples",
        type=Whole(1),
        help="Of Blender, samples a pixel in place of --quality; from 512 on without denoiser, as the "
        "original.  [default: 16]",
    ),
    click.option(
        "--device",
        metavar="NAME",
        help="Where Blender renders: auto (GPUs if there are some), cpu, cuda, optix:0,1 or the like; "
        "clevrhope devices lists them.  [default: auto]",
    ),
    click.option(
        "--workers",
        type=Whole(1),
        help="Blender's processes: one for two cores by default, on GPUs two for each; or images that "
        "native has under way.",
    ),
    click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        help="Where renderers work: on this machine, or in the actors of a Ray cluster.  [default: local]",
    ),
    click.option(
        "--address",
        metavar="HOST:PORT",
        help="Of the Ray cluster's head, or auto.  [default: RAY_ADDRESS; else Ray on this machine]",
    ),
)
"""What makes images, where, and with how much effort; what goes together is looked at elsewhere."""


def with_options(options: Sequence[Callable[[Any], Any]]) -> Callable[[_Command], _Command]:
    """A decorator that gives a command several options, shown in their order."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def read_names(options: Sequence[str]) -> list[str]:
    """The names in options that can be repeated and can hold several, with commas between them."""
    return [name.strip() for names in options for name in names.split(",")]


def read_whole(option: str, text: str) -> int:
    """The number that an option was given, which can hold several."""
    if not text.isdecimal():
        raise click.UsageError(f'{option}: "{text}" is no whole number')
    return int(text)


def shown_progress(choices: dict[str, Any]) -> "Progress":
    """Progress on standard error, or none with --quiet."""
    from clevrhope.runtime.progress import Silent

    if choices["quiet"]:
        return Silent()
    from rich.console import Console

    from clevrhope.runtime.display import TerminalProgress

    return TerminalProgress(Console(stderr=True))
