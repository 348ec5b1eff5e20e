"""Help in groups, which changes no option; and names that the shell completes."""

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
    assert headings(text) == ["Options", *GROUPS]
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


def completed(shell: str, line: str) -> list[str]:
    """What the shell's script gets for a line, of which the last word is being typed."""
    words = line.split(" ")
    program = "import sys; sys.argv = ['clevrhope']; import clevrhope.start as s; s.main()"
    environment = {
        "_CLEVRHOPE_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words) - 1),
        "PYTHONPATH": ":".join(sys.path),
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    if shell == "zsh":  # kind, value and description, a line each
        return lines[1::3]
    return [each.partition(",")[2].partition("\t")[0] for each in lines]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_are_completed(shell: str, limited: Path) -> None:
    assert completed(shell, "clevrhope build --hop rubber_cy") == ["rubber_cylinder", "rubber_cyan"]
    cyan = ["cyan_cylinder-d4", "cyan_cylinder-d8-grid"]
    assert completed(shell, f"clevrhope stats {limited} --hop c") == cyan
    assert completed(shell, f"clevrhope show {limited} --hop red_cube --split ") == ["train", "complex_ood"]


@pytest.mark.slow
def test_names_are_completed_where_there_is_no_dataset() -> None:
    assert completed("bash", "clevrhope train film nowhere --hop no") == ["none"]
    assert completed("bash", "clevrhope build --edition hope-1") == ["hope-1", "hope-1-small"]
    splits = completed("bash", "clevrhope show nowhere --hop none --split complex")
    assert splits == ["complex_iid", "complex_ood"]


def test_bash_takes_its_script_and_completes(limited: Path, tmp_path: Path) -> None:
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
        f"{line}\nCOMP_WORDS=(clevrhope stats {limited} --hop r)\nCOMP_CWORD=4\n"
        "_clevrhope_completion clevrhope\necho ${COMPREPLY[@]}\n"
    )
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], env=path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("red_cube\n", "")
