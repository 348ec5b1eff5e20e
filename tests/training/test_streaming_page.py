"""The code of docs/streaming.md runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

PAGE = Path(__file__).parents[2] / "docs/streaming.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def printed(block: str, folder: Path) -> list[str]:
    """What a block prints as a file, which spawned workers can import."""
    file = folder / "block.py"
    file.write_text(block)
    done = subprocess.run(
        [sys.executable, "-W", "error", file], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def block_with(words: str) -> str:
    (found,) = (each for each in BLOCKS if words in each)
    return str(found)


def test_the_page_has_the_blocks_that_are_run_here() -> None:
    assert len(BLOCKS) == 4


@pytest.mark.slow
def test_the_first_question(tmp_path: Path) -> None:
    block = block_with("limit=25_000") + "print(item['image'].shape, train.vocab.answers()[item['answer']])\n"
    (line,) = printed(block, tmp_path)
    assert re.fullmatch(r"\(64, 96, 3\) \w+", line)


@pytest.mark.slow
def test_the_network_learns(tmp_path: Path) -> None:
    lines = printed(block_with("class Network"), tmp_path)
    assert len(lines) == 2
    first, second = (float(line.partition("loss ")[2]) for line in lines)
    assert second < first - 0.2
    assert second < 2.5  # a uniform guess has 3.3


@pytest.mark.slow
def test_resuming(tmp_path: Path) -> None:
    assert printed(block_with("load_state_dict"), tmp_path) == []


@pytest.mark.slow
def test_the_rate(tmp_path: Path) -> None:
    lines = printed(block_with("images a second two"), tmp_path)
    assert len(lines) == 4
    assert all(re.fullmatch(r"\(\d+, \d+\), \w+: \d+ images a second", line) for line in lines)
