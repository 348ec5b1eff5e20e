"""The commands and the code of docs/covr.md run as they stand."""

import re
import shlex
from pathlib import Path

import pytest

from clevrhope.__main__ import run_command

PAGE = Path(__file__).parents[2] / "docs/covr.md"

pytestmark = pytest.mark.slow


def test_what_the_page_says_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"^```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    commands = [shlex.split(line)[1:] for line in "".join(blocks).splitlines()]
    assert [command[0] for command in commands] == ["build", "stats", "export", "ask"]
    for command in commands:
        assert run_command(command) == 0, command
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    exec(code, names)
    assert names["item"]["question_text"].endswith("?")  # type: ignore[index]
