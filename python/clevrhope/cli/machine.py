"""The commands about this machine and this environment: doctor, blender, devices."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from clevrhope.cli.arguments import Command, blender_option, json_option, options, show_result
from clevrhope.runtime.terminal import say


@click.command(cls=Command, short_help="Checks this installation and tells you how to fix what is wrong.")
@blender_option
@json_option
def doctor(**choices: Any) -> int:
    """Lists versions, extras, Blender, cores and memory, and what to type if one is amiss.

    Exits with 1 if something that is installed does not work; what is optional and missing is no failure.
    """
    from clevrhope.doctor import examine

    findings = examine()
    is_broken = any(each.state == "broken" for each in findings)
    width = max(len(each.name) for each in findings)
    lines = []
    for each in findings:
        lines.append(f"{each.state:<8} {each.name:<{width}}  {each.value}")
        if each.remedy:
            lines.append(f"{'':<{width + 11}}-> {each.remedy}")
    lines.append("Something that is installed does not work." if is_broken else "Everything installed works.")
    show_result(choices, {"works": not is_broken, "findings": list(map(asdict, findings))}, lines)
    return int(is_broken)


@click.group(short_help="Installs Blender in an environment of its own.")
def blender() -> None:
    """Installs Blender in an environment of its own.

    Blender needs Python 3.11 and numpy 1. Its own environment can stand beside any other Python and numpy.
    """


@blender.command(cls=Command, short_help="Makes an environment with Python 3.11 and Blender.")
@options("""
    --into DIR: Folder of the environment. If it is not the default, set CLEVRHOPE_BLENDER_PYTHON to its
        Python afterwards.  [default: this user's data folder, where clevrhope finds it]
    --python PATH: A Python 3.11.  [default: the first found]
    --quiet: Print nothing but errors.
    --json -> as_json: Print one JSON object instead of text.
""")
def install(into: Path | None, python: Path | None, **choices: Any) -> None:
    """Makes an environment with Python 3.11 and Blender's module, about 1 GB, for rendering.

    An environment that is there already is kept.
    """
    from clevrhope.runtime.blender import (
        VARIABLE,
        install_blender,
        missing_libraries,
        missing_message,
        own_environment,
    )

    folder = (into or own_environment()).absolute()
    is_silent = choices["quiet"] or choices["as_json"]
    found = install_blender(folder, python=python, say=lambda line: None if is_silent else say(line))
    missing = missing_libraries(found.folder)
    lines = [f"Blender {found.version} is in {folder}."]
    if missing:
        lines.append(missing_message(missing))
    if into is not None:
        lines.append(f"To use it: export {VARIABLE}={shlex.quote(str(found.python))}")
    result = {"blender": found.version, "folder": str(folder), "python": str(found.python)}
    show_result(choices, {**result, "missing_libraries": [*missing]}, lines)


@click.command(cls=Command, short_help="Lists the devices that Blender can render on.")
@blender_option
@json_option
def devices(**choices: Any) -> None:
    """Lists the devices that Blender can render on here, as --device takes them, and the native renderer."""
    from clevrhope.images.machine import find_renderers, text_lines

    renderers = find_renderers()
    show_result(choices, renderers.as_json(), text_lines(renderers))
