"""The commands about Blender's own environment: blender install."""

import shlex
from pathlib import Path

import click

from clevrhope.cli.arguments import options
from clevrhope.cli.command import Command


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
""")
def install(into: Path | None, python: Path | None, quiet: bool) -> None:
    """Makes an environment with Python 3.11 and Blender's module, about 1 GB, for rendering.

    An environment that is there already is kept.
    """
    from clevrhope.runtime.blender import VARIABLE, missing_libraries, missing_message, own_environment
    from clevrhope.runtime.blender_environment import install_blender

    folder = (into or own_environment()).absolute()
    found = install_blender(folder, python=python, say=lambda line: None if quiet else click.echo(line))
    if not quiet:
        click.echo(f"Blender {found.version} is in {folder}.")
        if missing := missing_libraries(found.folder):
            click.echo(missing_message(missing))
        if into is not None:
            click.echo(f"To use it: export {VARIABLE}={shlex.quote(str(found.python))}")
