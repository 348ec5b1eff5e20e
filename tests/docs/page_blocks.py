"""Reads the blocks of code on a page, with the remarks to tests that stand before them.

A remark is a comment that readers of the site do not see. It stands before the block that it is about:

    <!-- test: first clevrhope baseline out/small --kind majority --out predictions.jsonl -->
    <!-- test: only read, it needs a GPU -->
    <!-- test: in tests/training/test_own_classes.py -->

`first` runs a command that the page's reader is supposed to have run; the other two say why a block does not
run here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?P<remarks>(?:^<!-- test: [^\n]* -->\n)*)^```(?P<language>\w*)(?P<options>[^\n]*)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_REMARK = re.compile(r"^<!-- test: (.*) -->$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and what the page says about testing it."""

    language: str
    code: str
    line: int
    title: str = ""
    """The name of the file that the block is, if it is one."""
    first: tuple[str, ...] = ()
    """Commands to run before it."""
    only_read: str = ""
    """Why it is checked but not run; empty if it is run."""
    elsewhere: str = ""
    """The test that runs it, if another one does."""


def read_blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page in their order.

    Raises:
        ValueError: a block without a language, or a remark that says none of the three things.
    """
    text = page.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        line = text[: match.start("language")].count("\n") + 1
        if not match["language"]:
            raise ValueError(f"{page.name}:{line}: a block needs a language: sh, python, toml, json or text")
        first, only_read, elsewhere = [], "", ""
        for remark in _REMARK.findall(match["remarks"]):
            if remark.startswith("first "):
                first.append(remark.removeprefix("first "))
            elif remark.startswith("only read, "):
                only_read = remark.removeprefix("only read, ")
            elif remark.startswith("in tests/"):
                elsewhere = remark.removeprefix("in ")
            else:
                raise ValueError(f'{page.name}:{line}: a remark to tests that none understands: "{remark}"')
        title = re.search(r'title="([^"]+)"', match["options"])
        yield Block(
            match["language"],
            match["code"],
            line,
            title[1] if title else "",
            tuple(first),
            only_read,
            elsewhere,
        )
