"""Every block of docs/notebooks.md runs in order, and gives what stands behind it."""

import re
from pathlib import Path

import pytest
from building import Make

PAGE = Path(__file__).parents[2] / "docs" / "notebooks.md"

_SHOWN = re.compile(r"^(?P<expression>\S.*?)  # (?P<result>.+)$")


@pytest.mark.slow
def test_every_block_gives_what_stands_behind_it(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "out" / "demo")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    checked, last = 0, ""
    for language, block in blocks:
        if language != "python":  # what the block before it shows
            assert block.strip() == repr(eval(last, names))
            checked += 1
            continue
        exec(block, names)
        last = block.strip().splitlines()[-1]
        for line in block.splitlines():
            shown = _SHOWN.match(line)
            if shown is not None:
                assert repr(eval(shown["expression"], names)) == shown["result"]
                checked += 1
    assert checked == 14


def test_the_rows_of_the_table_are_programs() -> None:
    import numpy as np

    from clevrhope import Program

    text = PAGE.read_text("utf-8")
    (row,) = re.findall(r"`\[(1, [\d, ]+)\]`, a numpy array", text)
    assert str(Program(np.array([int(each) for each in row.split(",")]))) == "count(filter_color[red](scene))"
