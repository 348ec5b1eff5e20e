"""Options and values that several commands share."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clevrhope.cli.command import option_group
from clevrhope.cli.names import HOP, SPLIT

if TYPE_CHECKING:
    from clevrhope.runtime.progress import Progress

_Command = TypeVar("_Command", bound=Callable[..., Any])


class _AnyPath(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("expected a file or folder, not an empty name", param, ctx)
        return super().convert(value, param, ctx)


PATH = _AnyPath(path_type=Path)
"""A file or folder; the code that opens it reports what is wrong with it."""


class Whole(click.IntRange):
    """A whole number from `min` to `max` (None: no upper limit), with our own error message."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number.

        Raises:
            UsageError: it is not a whole number, or is out of range; the message names the option.
        """
        try:
            number: int = super().convert(value, param, ctx)
        except click.BadParameter:
            option = param.opts[0] if param else "option"
            upper = "" if self.max is None else f" to {self.max}"
            text = f'{option}: "{str(value)[:40]}" should be a whole number from {self.min}{upper}'
            raise click.UsageError(text) from None
        return number


_TYPES: Mapping[str, Any] = {
    "N": Whole(1),
    **dict.fromkeys(("DIR", "CLEVR_DIR", "FOLDER", "RUN", "OUT", "PATH"), PATH),
    **dict.fromkeys(("FILE", "FILE.toml", "FILE.png"), PATH),
}
"""The types that words in the usage of an option stand for; other words stand for any text."""


def option(
    usage: str, help: str, *, to: str | None = None, type: Any = None, **more: Any
) -> Callable[[_Command], _Command]:
    """A decorator that gives a command an option, declared by its usage.

    Args:
        usage: "--quiet" is a switch, "--seed N" takes a value, "--images png|h5" one of several words, and
            "--hop NAME..." can be repeated.
        help: what the help says about it.
        to: the parameter that gets the value; by default the option's own name.
        type: the type of the value, if its word does not say it.
        more: other arguments of `click.option`.
    """
    name, _, value = usage.partition(" ")
    names = (name,) if to is None else (name, to)
    if not value:
        return click.option(*names, is_flag=True, help=help, **more)
    word = value.removesuffix("...")
    if type is None and "|" in word:
        more["type"] = click.Choice(word.split("|"))
    else:
        more |= {"type": type or _TYPES.get(word), "metavar": word}
    return click.option(*names, multiple=word != value, help=help, **more)


only_hops = option("--hop NAME...", "Only this HOP; repeatable.", to="hops", type=HOP)
only_splits = option("--splits NAMES...", "Only these splits, separated by commas.", type=SPLIT)
quiet_option = option("--quiet", "Print nothing but errors.")
no_progress_option = option("--quiet", "Show no progress.")
json_option = option("--json", "Print one JSON object instead of text.", to="as_json")
properties_option = option(
    "--properties FILE", "Sizes, colors, materials and shapes, in the format of CLEVR's properties.json."
)
passes_option = option(
    "--passes KINDS...",
    "Annotate each image, in HDF5, with mask (the object at each pixel), depth or normal; separated by "
    "commas.",
)


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """Sets an environment variable of this process and its children within the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _use_blender_python(context: click.Context, _: click.Parameter, value: Path | None) -> None:
    from clevrhope.runtime.blender import VARIABLE

    if value is not None:
        context.with_resource(_variable(VARIABLE, str(value)))


blender_option = option(
    "--blender-python PATH",
    "The Python that has Blender.  [default: CLEVRHOPE_BLENDER_PYTHON, or else this one, or else what "
    "clevrhope blender install made]",
    callback=_use_blender_python,
    expose_value=False,
)

rendering_options = (
    option_group(
        "Images",
        option(
            "--renderer NAME",
            "blender or native, which makes nearly the same images without Blender, much faster.  "
            "[default: blender]",
        ),
        option(
            "--quality NAME",
            "Rendering effort. blender: draft, standard, original; native: draft, standard, high.  "
            "[default: standard]",
        ),
        option(
            "--samples N",
            "Blender's samples per pixel, in place of --quality; with 512 or more without denoising, as "
            "in the original.  [default: 16]",
        ),
    ),
    option_group(
        "Machine",
        option(
            "--device NAME",
            "Where Blender renders: auto (GPUs if there are any), cpu, cuda, optix:0,1 and so on; "
            "clevrhope devices lists them.  [default: auto]",
        ),
        blender_option,
        option(
            "--workers N",
            "With blender, the number of processes, by default one per two cores or two per GPU; with "
            "native, the number of images rendered at once.",
        ),
        option(
            "--engine local|ray",
            "Where the renderers run: on this machine, or as actors of a Ray cluster.  [default: local]",
            default="local",
        ),
        option(
            "--address HOST:PORT",
            "The head of the Ray cluster, or auto.  [default: RAY_ADDRESS, or else Ray on this machine]",
        ),
    ),
)
"""The renderer of the images, its device and its effort; `resolve_config` checks the combinations."""


def with_options(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """A decorator that gives a command several options, listed in this order in its help."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def read_names(options: Sequence[str]) -> list[str]:
    """The names given to a repeatable option, whose values can each hold several names between commas."""
    return [name.strip() for names in options for name in names.split(",")]


def shown_progress(choices: Mapping[str, Any]) -> "Progress":
    """Progress on standard error, or none with --quiet."""
    from clevrhope.runtime.progress import Silent

    if choices["quiet"]:
        return Silent()
    from rich.console import Console

    from clevrhope.runtime.display import TerminalProgress

    return TerminalProgress(Console(stderr=True))
