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
    (block,) = (block for block in BLOCKS if words in block)
    return str(block)


@pytest.mark.parametrize(
    ("words", "line", "n_lines"),
    [
        ("limit=25_000", r"\(64, 96, 3\) \w+", 1),
        ("load_state_dict", "", 0),
        ("images a second two", r"\(\d+, \d+\), \w+: \d+ images a second", 4),
    ],
    ids=["the first question", "resuming", "the rate"],
)
@pytest.mark.slow
def test_a_block_runs(words: str, line: str, n_lines: int, tmp_path: Path) -> None:
    shown = "print(item['image'].shape, train.vocab.answers()[item['answer']])\n" if n_lines == 1 else ""
    block = block_with(words).replace("limit=4_500", "limit=630")  # 70 images are enough for a rate
    lines = printed(block + shown, tmp_path)
    assert len(lines) == n_lines
    assert all(re.fullmatch(line, each) for each in lines)


@pytest.mark.slow
def test_the_network_learns(tmp_path: Path) -> None:
    lines = printed(block_with("class Network"), tmp_path)
    assert len(BLOCKS) == 4, "and each is run here"
    first, second = (float(line.partition("loss ")[2]) for line in lines)
    assert second < first - 0.2
    assert second < 2.5  # a uniform guess has 3.3
