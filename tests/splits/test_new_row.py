"""A new kind of stream split takes one row: the package follows it, and older folders can be extended."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clevrhope

KEPT = Path(__file__).parents[1] / "data" / "kept_folder"

PROGRAM = """
import sys
import tomllib

from clevrhope.runtime import toml

row, *arguments = sys.argv[1:]
read_toml = toml.read_toml

def with_row(path, what):
    rows = read_toml(path, what)
    return rows | tomllib.loads(row) if (path.parent.name, path.name) == ("splits", "kinds.toml") else rows

toml.read_toml = with_row

from clevrhope.__main__ import run_command
import clevrhope.training.request
sys.exit(run_command(arguments))
"""
"""The command line with one more row: added to the file's, before anything else imports them."""

CLOSED = """[new_split]
of = ["pair"]
drawn = "stream"
size = "complex_iid"
caption = "Closed."
color = "#333333"
marker = "v"
pool = "val"
questions_per_scene = 3
rule = "without"
shown = "never"
asked = "never"
"""
OPEN = CLOSED.partition("rule")[0]


def run(row: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, row, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(clevrhope.__file__).parents[1])},
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (CLOSED, r"new_split: 9 questions on 3 images; there is no rubber cylinder in any image, nor in"),
        (OPEN, r"new_split: 9 questions on 3 images, of which \d ask for a rubber cylinder\."),
    ],
    ids=["without the pair", "any scenes and questions"],
)
def test_a_folder_is_extended_by_a_new_row(row: str, sentence: str, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    shutil.copytree(KEPT, folder)
    before = {path: path.read_bytes() for path in folder.rglob("*.h5")}
    built = run(row, "build", "--hop", "rubber_cylinder", "--no-render", "--quiet", "--out", str(folder))
    assert built.returncode == 0, built.stderr
    assert {path: path.read_bytes() for path in before} == before
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert manifest["questions"]["an_image"]["new_split"] == 3
    assert manifest["splits"]["rubber_cylinder"]["new_split"]["questions"] == 9
    sheet = (folder / "hops/rubber_cylinder/DATASHEET.md").read_text().replace("\\_", "_")
    assert re.search(sentence, sheet)
    # The folder is older than val_iid, too.
    assert manifest["splits"]["rubber_cylinder"]["val_iid"]["questions"] == 36
    assert "Choose settings and checkpoints on `val_iid`, never on the test sets." in sheet
    assert "new_split" in (folder / "index.html").read_text()
    for command in ("audit", "stats"):
        done = run(row, command, str(folder))
        assert done.returncode == 0, done.stdout + done.stderr
