"""The examples in the help of commands, and the man page, which is made of the same help."""

import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from building import Cli
from test_help_groups import every_command

from clevrhope.__main__ import commands
from clevrhope.cli.arguments import read_examples
from clevrhope.experiments.reading import shipped_experiments

COMMANDS = {name: command for name, command in every_command() if not isinstance(command, click.Group)}


def words_of(example: str) -> list[str]:
    return shlex.split(example.replace("\\\n", ""), comments=True)


def test_each_command_has_examples_and_there_are_no_others() -> None:
    assert read_examples().keys() == {"", *COMMANDS}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_examples_are_in_the_help_and_can_be_parsed(name: str, cli: Cli) -> None:
    told = cli(*name.split(), "--help").out
    for example in read_examples()[name]:
        shown = "".join(f"  {line}\n" for line in example.splitlines())
        assert told.index("\nExamples:\n") < told.index(shown)
        assert max(map(len, shown.splitlines())) <= 110
        program, *words = words_of(example)
        own = name.split()
        assert program == "clevrhope"
        if words[: len(own)] != own:  # a step before it
            own = words[:1]
        command = COMMANDS[" ".join(own)]
        command.make_context(own[-1], words[len(own) :])
    assert any(
        words_of(example)[1 : 1 + len(name.split())] == name.split() for example in read_examples()[name]
    )


def test_the_first_help_begins_with_the_first_experiment(cli: Cli) -> None:
    told = cli("--help").out
    assert told.rstrip().splitlines()[-3].startswith("  clevrhope experiment first ")


def test_the_help_of_experiment_names_all_that_are_shipped() -> None:
    text = commands.commands["experiment"].help or ""
    listed = " ".join(text.partition("of the package: ")[2].partition(".")[0].split()).split(", ")
    assert sorted(listed) == sorted(shipped_experiments())


def test_the_man_page_has_every_command_and_option(cli: Cli, tmp_path: Path) -> None:
    page = cli("--man").out
    plain = page.replace("\\-", "-").replace("\\(aq", "'")
    for name, command in COMMANDS.items():
        section = plain.partition(f"\n.SS {name} ")[2].partition("\n.SS ")[0]
        for option in (param for param in command.params if isinstance(param, click.Option)):
            assert f".B {option.opts[0]}" in section, (name, option.opts)
        assert read_examples()[name][0].replace("\\", "\\e").splitlines()[0] in section
    file = tmp_path / "clevrhope.1"
    file.write_text(page)
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-ww", "-Tascii", file], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        assert "makes datasets that test systematic generalisation" in " ".join(done.stdout.split())
