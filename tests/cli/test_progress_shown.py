"""What takes over a second says so on standard error, and a drawn seed is printed after what can fail."""

import re
from pathlib import Path

import pytest
from building import Cli

from clevrhope.__main__ import run_command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("progress") / "data"
    assert run_command(["build", "--hop", "rubber_cylinder", *TEXT, "--seed", "1", "--out", str(out)]) == 0
    return out


TEXT = ("--no-render", "--quiet")


@pytest.mark.parametrize(
    ("command", "stages"),
    [
        (
            ["plan", "--hop", "rubber_cylinder", "--no-render", "--out"],
            ["Looking at scenes: 6 splits", "Timing this machine: 1 measurement"],
        ),
        (
            ["build", "--hop", "rubber_cylinder", "--no-render", "--out"],
            [
                "Checking existing files: 6 splits",
                "Measuring splits: 1 sub-dataset",
                "Writing pages: 2 pages",
            ],
        ),
        (["baseline", "--kind", "majority", "--out", "FILE"], ["Answering: 4 test sets"]),
    ],
)
def test_the_stages_are_shown_unless_quiet(
    command: list[str], stages: list[str], folder: Path, tmp_path: Path, cli: Cli
) -> None:
    arguments = [str(tmp_path / "out.jsonl") if each == "FILE" else each for each in command] + [str(folder)]
    shown = cli(*arguments).err
    found = [shown.find(f"{stage}, ") for stage in stages]
    assert -1 not in found, shown
    assert found == sorted(found)
    assert cli(*arguments, "--quiet").err == ""


def test_a_drawn_seed_is_printed_once_a_build_is_done(tmp_path: Path, cli: Cli) -> None:
    command = ["build", "--hop", "rubber_cylinder", "--no-render", "--out", str(tmp_path / "data")]
    command += ["--train-questions", "20", "--test-questions", "4"]
    for wrong, n in ((["--templates", "nowhere"], 0), (["--splits", "trian"], 0), ([], 1)):
        seen = cli(*command, *wrong, code=0 if n else 2)
        assert "seed" not in seen.err.lower()
        assert len(re.findall(r"--seed \d+$", seen.out, re.M)) == n
