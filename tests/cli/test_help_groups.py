"""Help in groups, which changes no option; and commands that the shell completes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from building import Cli

from clevrhope.__main__ import GROUPS, commands
from clevrhope.cli.arguments import Command


def every_command() -> Iterator[tuple[str, click.Command]]:
    for name, command in sorted(commands.commands.items()):
        yield name, command
        for below, inner in sorted(getattr(command, "commands", {}).items()):
            yield f"{name} {below}", inner


def help_of(cli: Cli, *words: str) -> str:
    return cli(*words, "--help").out


def headings(text: str) -> list[str]:
    return [line[:-1] for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]


def test_each_command_is_under_one_heading(cli: Cli) -> None:
    listed = [command.name for group in GROUPS.values() for command in group]
    assert sorted(map(str, listed)) == sorted(commands.commands)
    text = help_of(cli)
    assert headings(text) == ["Options", *GROUPS, "Examples"]
    for name in listed:
        assert text.count(f"\n  {name} ") == 1


@pytest.mark.parametrize(("name", "command"), [*every_command()])
def test_each_option_is_listed_once(name: str, command: click.Command, cli: Cli) -> None:
    """Under some heading; and what other programs read of a command is what click would give them."""
    assert isinstance(command, Command | click.Group)
    text = help_of(cli, *name.split())
    context = command.make_context(name, [], resilient_parsing=True)
    plain = click.Command.get_params(command, context)
    assert command.get_params(context) == plain
    listed = text[text.index(f"\n{headings(text)[0]}:") :]
    lines = [line.strip() for line in listed.splitlines() if line.startswith("  -")]
    for option in (param for param in plain if isinstance(param, click.Option)):
        starts = (f"{option.opts[0]} ", f"{option.opts[0]}, ")
        assert sum(f"{line} ".startswith(starts) for line in lines) == 1, option.opts
    described = command.to_info_dict(context)["params"]
    assert [each["name"] for each in described] == [param.name for param in plain]


def test_long_help_has_headings(cli: Cli) -> None:
    for name, command in every_command():
        if len(command.params) > 11:
            assert len(headings(help_of(cli, *name.split()))) > 2, name


def test_bash_takes_its_script_and_completes(tmp_path: Path) -> None:
    """The documented line in a real bash, with the command as a script on its path."""
    program = tmp_path / "clevrhope"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:0] = {sys.path!r}\n"
        "from clevrhope.start import main\nmain()\n"
    )
    program.chmod(0o755)
    line = 'eval "$(_CLEVRHOPE_COMPLETE=bash_source clevrhope)"'
    assert line in (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    script = (
        f"{line}\nCOMP_WORDS=(clevrhope sta)\nCOMP_CWORD=1\n"
        "_clevrhope_completion clevrhope\necho ${COMPREPLY[@]}\n"
    )
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], env=path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("stats\n", "")
