"""The form of commands: their help with options under headings, and options that several of them share."""

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clevrhope.errors import command_line
from clevrhope.runtime.terminal import say, say_json

if TYPE_CHECKING:
    from clevrhope.runtime.progress import Progress

_Command = TypeVar("_Command", bound=Callable[..., Any])


_HEADING = "heading"
"""The attribute of an option that holds its heading."""


def with_heading(heading: str | None, option: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """A decorator that gives a function an option, which its help lists under a heading, or last if None.

    Write it below `click.command(cls=Command)`.
    """

    def add(function: _Command) -> _Command:
        function = option(function)
        setattr(vars(function)["__click_params__"][-1], _HEADING, heading)
        return function

    return add


_GIVEN = "clevrhope.given"
"""The key of a context under which a command keeps its arguments."""


def repeated(more: Mapping[str, object], command: str | None = None) -> str:
    """The command line that is running, as one would type it again, with these options if it lacks them.

    `command` names another command with the same options.
    """
    context = click.get_current_context()
    given = context.meta[_GIVEN]
    names = {word.partition("=")[0] for word in given}
    words = [word for option in more.items() if option[0] not in names for word in option]
    return command_line(command or context.info_name, *given, *words)


def read_examples() -> dict[str, list[str]]:
    """Commands, such as "build" ("" for `clevrhope` itself), and the examples in their help."""
    found: dict[str, list[str]] = tomllib.loads((files(__package__) / "examples.toml").read_text("utf-8"))
    return found


def _write_examples(context: click.Context, formatter: click.HelpFormatter) -> None:
    examples = read_examples().get(context.command_path.partition(" ")[2], ())
    if examples:
        with formatter.section("Examples"):
            for line in "\n".join(examples).splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Command(click.Command):
    """A command with headings and examples in its help; see `with_heading`."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples."""
        _write_examples(ctx, formatter)

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
            UsageError: there is one argument too many; the message says what the command takes.
        """
        ctx.meta[_GIVEN] = tuple(args)  # click takes words from the list
        ctx.allow_extra_args = True  # so that we report the error
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            usage = f"{ctx.command_path} {' '.join(self.collect_usage_pieces(ctx))}"
            raise click.UsageError(f'unexpected argument "{rest[0]}"; usage: {usage}')
        return rest


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

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command; an interrupt becomes click's Abort, before which click prints no empty line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise click.Abort from error

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples."""
        _write_examples(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands under their headings."""
        width = max(map(len, self.commands))
        for heading, commands in self.groups.items():
            with formatter.section(heading):
                limit = formatter.width - width - 6
                rows = [(f"{each.name:<{width}}", each.get_short_help_str(limit)) for each in commands]
                formatter.write_dl(rows)


class _AnyPath(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("expected a file or folder, not an empty name", param, ctx)
        return super().convert(value, param, ctx)


PATH = _AnyPath(path_type=Path)
"""A file or folder; the code that opens it reports what is wrong with it."""


def dataset_at(path: Path, *, templates: Path | None = None) -> Path:
    """The dataset, or the captions, in a folder; published files are imported into the user's cache first.

    Args:
        path: a dataset, captions, or published files.
        templates: question templates by which programs are read from published texts.

    Raises:
        ClevrhopeError: published files, or the templates, cannot be read.
    """
    if not path.exists() or any((path / name).exists() for name in ("manifest.json", "captions.json")):
        return path
    from clevrhope.pipeline.importing import dataset_of

    return dataset_of(path, lambda sentence: say(sentence, err=True), templates=templates)


class _Dataset(_AnyPath):
    """A dataset's folder; published files in its place are imported into the user's cache first."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return dataset_at(super().convert(value, param, ctx))


DATASET = _Dataset(path_type=Path)
"""A dataset, or published files of one."""


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


class PropertiesFile(_AnyPath):
    """A properties file, or the name of one of the package's worlds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path of the file."""
        from clevrhope.runtime.assets import properties_file

        return properties_file(super().convert(value, param, ctx))


_TYPES: Mapping[str, Any] = {
    "N": Whole(1),
    "N0": Whole(0),
    "SEED": Whole(0, 2**64 - 1),
    "PIXELS": Whole(1, 8192),
    "PORT": Whole(0, 65_535),
    "QUALITY": Whole(1, 95),
    "LEVEL": Whole(1, 5),
    **dict.fromkeys(("X", "PERCENT", "POINTS"), float),
    "25k|N": str,
    **dict.fromkeys(("DIR", "CLEVR_DIR", "FOLDER", "RUN", "OUT", "PATH"), PATH),
    **dict.fromkeys(("FILE", "FILE.toml", "FILE.png"), PATH),
    "DATASET": DATASET,
    "WORLD": PropertiesFile(path_type=Path),
}
"""The types that words in the usage of an option stand for; other words stand for any text."""

_SHOWN: Mapping[str, str] = {
    **dict.fromkeys(("N0", "SEED", "PIXELS", "PORT", "LEVEL"), "N"),
    "DATASET": "DIR",
    "WORLD": "FILE",
    **dict.fromkeys(("HOP", "SPLIT", "EDITION"), "NAME"),
    "SPLITS": "NAMES",
}
"""Such words that the help shows as others."""

_USAGE = re.compile(r"(--[\w-]+)(?: (\S+?)(\.\.\.)?)?(?: = (\S+))?(?: -> (\w+))?(!?): (.+)")


def options(text: str) -> Callable[[_Command], _Command]:
    """A decorator that gives a command options, declared by a text in the form of its help.

    A line that is not indented is a heading, below which the help lists the options that follow; those before
    the first heading come last. The lines of an option are its usage, a colon, and what the help says:
    `--quiet` is a switch, `--seed N` takes a value, `--images png|h5` one of several words, and `--hop
    HOP...` can be repeated. `= value` gives a default, `-> name` the parameter if that has another name than
    the option, and `!` marks an option that has to be given.
    """
    declared: list[tuple[str | None, str]] = []
    heading = None
    for line in filter(None, text.splitlines()):
        if not line.startswith(" "):
            heading = line
        elif line.strip().startswith("--"):
            declared.append((heading, line.strip()))
        else:
            declared[-1] = (heading, f"{declared[-1][1]} {line.strip()}")

    def add(command: _Command) -> _Command:
        for heading, declaration in reversed(declared):
            command = with_heading(heading, _declared(declaration))(command)
        return command

    return add


def _declared(declaration: str) -> Callable[[_Command], _Command]:
    match = _USAGE.fullmatch(declaration)
    if match is None:
        raise ValueError(f"not the usage of an option and its help: {declaration}")
    name, word, several, default, to, needed, help = match.groups()
    help = help.replace(" [default:", "  [default:").replace("   [", "  [")
    names = (name,) if to is None else (name, to)
    if word is None:
        return click.option(*names, is_flag=True, help=help)
    more: dict[str, Any] = {} if default is None else {"default": default}
    if "|" in word and word not in _TYPES:
        more["type"] = click.Choice(word.split("|"))
    else:
        more |= {"type": _TYPES.get(word), "metavar": _SHOWN.get(word, word)}
    return click.option(*names, multiple=bool(several), required=bool(needed), help=help, **more)


quiet_option = options("    --quiet: Print nothing but errors.")
QUIET = "--quiet: Show no progress."
JSON = "--json -> as_json: Print one JSON object instead of text."
HOPS = "--hop HOP... -> hops: Only this HOP; repeatable."
SUITE = "--suite NAME: The questions of this suite of paired tests, in place of the test sets."
"""Options of several commands, as lines of `options`."""

no_progress_option = options(f"    {QUIET}")
json_option = options(f"    {JSON}")


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


blender_option = click.option(
    "--blender-python",
    metavar="PATH",
    type=PATH,
    help="The Python that has Blender.  [default: CLEVRHOPE_BLENDER_PYTHON, or else this one]",
    callback=_use_blender_python,
    expose_value=False,
)


def with_options(*added: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """A decorator that gives a command several options, listed in this order in its help."""

    def add(command: _Command) -> _Command:
        for decorator in reversed(added):
            command = decorator(command)
        return command

    return add


rendering_options = with_options(
    options("""
Images
    --renderer NAME: blender or native, which makes nearly the same images without Blender, much faster.
        [default: blender]
    --quality NAME: Rendering effort. blender: draft, standard, original; native: draft, standard, high.
        [default: standard]
    --samples N: Blender's samples per pixel, in place of --quality; with 512 or more without denoising, as in
        the original.  [default: 16]
Machine
    --device NAME: Where Blender renders: auto (GPUs if there are any), cpu, cuda, optix:0,1 and so on;
        clevrhope devices lists them.  [default: auto]
"""),
    with_heading("Machine", blender_option),
    options("""
Machine
    --workers N: With blender, the number of processes, by default one per two cores or two per GPU; with
        native, the number of images rendered at once.
    --engine local|ray = local: Where the renderers run: on this machine, or as actors of a Ray cluster.
        [default: local]
    --address HOST:PORT: The head of the Ray cluster, or auto.  [default: RAY_ADDRESS, or else Ray on this
        machine]
"""),
)
"""The renderer of the images, its device and its effort; `resolve_config` checks the combinations."""

PASSES = """--passes KINDS...: Annotate each image, in HDF5, with mask (the object at each pixel), depth or
        normal; separated by commas."""
PROPERTIES = """--properties WORLD: Sizes, colors, materials and shapes, in the format of CLEVR's
        properties.json; or unnamed, for colors and shapes without English names."""


def read_names(options: Sequence[str]) -> list[str]:
    """The names given to a repeatable option, whose values can each hold several names between commas."""
    return [name.strip() for names in options for name in names.split(",")]


def show_result(choices: Mapping[str, Any], value: Any, lines: Iterable[str]) -> None:
    """Prints a result: as JSON with --json, else as text, or not at all with --quiet."""
    if choices["as_json"]:
        say_json(value)
    elif not choices.get("quiet"):
        say("\n".join(lines))


def shown_progress(choices: Mapping[str, Any]) -> "Progress":
    """Progress on standard error, or none with --quiet."""
    from clevrhope.runtime.progress import Silent

    if choices["quiet"]:
        return Silent()
    from clevrhope.runtime.display import Terminal, TerminalProgress

    return TerminalProgress(Terminal(stderr=True))
