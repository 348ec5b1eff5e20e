"""README and docs name flags that their commands have, and the checks that the audit makes."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from benchmarks.__main__ import benchmarks
from clevrhope.__main__ import commands
from clevrhope.audit import audit

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

ALL = click.Group("all", {**commands.commands, "benchmarks": benchmarks})

ELSEWHERE = {"--index-url", "--array", "--head", "--gpus", "--wrap"}
"""Flags of other programs in the same lines, such as pip and sbatch."""


def uses(page: str) -> Iterator[tuple[str, str]]:
    """Each command line of ours in a page, up to the end of its line or inline code, with its flags."""
    for line in page.replace("\\\n", " ").splitlines():
        for found in re.finditer(r"(?:clevrhope|-m (benchmarks)) ((?:[a-z]+ ?)*)([^`|;#]*)", line):
            for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", found[3]):
                yield f"{found[1] or ''} {found[2]}".strip(), flag


def flags_of(words: str) -> set[str] | None:
    """The flags of a command, given by the first words of its line; None where they are no command."""
    command: click.Command = ALL
    flags: set[str] = set()
    for word in words.split():
        if not isinstance(command, click.Group) or word not in command.commands:
            break
        command = command.commands[word]
        flags |= {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    return None if command is ALL else flags | {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documented_flags_exist(page: Path) -> None:
    found = [(words, flag) for words, flag in uses(page.read_text()) if flag not in ELSEWHERE]
    unknown = [
        f"clevrhope {words} {flag}"
        for words, flag in found
        if (flags := flags_of(words)) is not None and flag not in flags
    ]
    assert unknown == []


def test_the_scan_finds_flags() -> None:
    text = "`clevrhope build --hop x --out y`; python -m benchmarks render --images 3 # --quiet"
    assert list(uses(text)) == [("build", "--hop"), ("build", "--out"), ("benchmarks render", "--images")]
    flags = flags_of("benchmarks render")
    assert flags is not None
    assert "--images" in flags
    assert "--hop" not in flags
    assert flags_of("makes datasets") is None


def test_the_page_on_files_lists_the_checks_of_the_audit() -> None:
    table = (ROOT / "docs/files.md").read_text().partition("\n| `readable` |")[1:]
    rows = "".join(table).partition("\n\n")[0].strip().splitlines()
    listed = {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
    made = {check.name for check in audit(ROOT / "tests/data/kept_folder").checks}
    only_beside_clevr = {"scenes of CLEVR"}
    assert listed - only_beside_clevr - {"scenes from CLEVR"} <= made <= listed
