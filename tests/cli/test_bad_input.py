"""Whatever a user gets wrong: one sentence on standard error, an exit code, nothing half-written."""

import json
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from building import Cli, tree

from clevrhope import ClevrhopeError, load
from clevrhope.runtime.assets import blender_assets, question_templates
from wording import check_refused, check_words

Fail = Callable[..., str]
Prepare = Callable[[Path], Any]

TEXT = ("--no-render", "--quiet", "--seed", "1")


@pytest.fixture
def fail(tmp_path: Path, cli: Cli) -> Fail:
    """Runs a build that has to fail; gives its one sentence, after looking that nothing was written."""

    def run(*arguments: str | Path, code: int = 2) -> str:
        out = tmp_path / "out"
        asked = ["build", "--out", str(out), "--seed", "1", "--quiet", *map(str, arguments)]
        if "--hop" not in asked:
            asked += ["--hop", "rubber_cylinder"]
        seen = cli(*asked, code=code)
        assert seen.out == ""
        (sentence,) = seen.err.splitlines()
        assert sentence.startswith("clevrhope: ")
        assert not out.exists(), "something was written"
        return sentence.removeprefix("clevrhope: ")

    return run


def properties(folder: Path, change: Callable[[Any], None]) -> None:
    """The package's properties.json, changed."""
    content = json.loads((blender_assets() / "properties.json").read_text())
    change(content)
    (folder / "properties.json").write_text(json.dumps(content))


def templates(folder: Path, name: str, old: str, new: str) -> None:
    """A copy of the question templates with a change in one file."""
    shutil.copytree(question_templates(), folder / "templates")
    path = folder / "templates" / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))


def written(name: str, content: object) -> Prepare:
    """Writes a text, or a value as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return lambda folder: (folder / name).write_text(text)


def palette(content: object) -> Prepare:
    return written("mine.json", content)


WORDS = [
    "--hop rubber_cilinder",
    "--hop red_blue",
    "--hold-out color=red,color=blue",
    "--hop red_blue_cube",
    "--hold-out color",
    "--hold-out color=",
    "--hold-out color=rde,shape=cube",
    "--hold-out colour=red,shape=cube",
    "--hold-out color=red",
    "--hop color=red,shape=cube",
    "--hop magenta_cube",
    "--hop RubberCylinder",
    "--hop all",
    "--splits train,complex_odd",
    "--splits train,val",
    "--splits val,train,test",
    "--hop none --prelim cian",
    "--hop none --prelim-sets 3",
    "--hop prelim_cyan --test-questions 9",
    "--hop cyan_cylinder --diversity 3",
    "--hop cyan_cylinder --diversity 25",
    "--hop cyan_cylinder --diversity 7 --diversity-mode grid",
    "--hop metal_red_cube --diversity 4",
    "--hop none --diversity 4",
    "--hop cyan_cylinder --diversity few",
    "--hop cyan_cylinder-d8 --diversity 4",
    "--hop cyan_cylinder --diversity-mode grid",
    "--hop cyan_cylinder --diversity 4 --design official",
    "--hop cyan_cylinder-mine",
    "--hop none --palette nowhere.json",
    "--hop none --test-palette nowhere.json",
    "--covr-hold words",
    "--clevr-order first",
    "--design offical",
    "--passes masks",
    "--passes mask",
    "--seed abc",
    "--seed -1",
    "--train-questions 0",
    "--workers 1.5",
    "--templates {0}/nowhere",
    "--templates {0}",
    "--properties {0}/nowhere.json",
]
"""What a user types."""


@pytest.mark.parametrize("words", WORDS)
def test_what_is_wrong_on_the_command_line_is_named(words: str, fail: Fail, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    check_words(fail(*words.format(tmp_path / "mine").split(), "--no-render"))


PALETTE = "--palette {0}/mine.json"

FILES: dict[str, tuple[Prepare, str]] = {
    "a vocabulary without the pair's value": (
        lambda folder: properties(folder, lambda found: found["shapes"].pop("cylinder")),
        "--properties {0}/properties.json",
    ),
    "properties without colors": (
        lambda folder: properties(folder, lambda found: found.pop("colors")),
        "--properties {0}/properties.json",
    ),
    "a function that there is not": (
        lambda folder: templates(folder, "one_hop.json", "query_color", "querry_color"),
        "--templates {0}/templates",
    ),
    "broken JSON in a template": (
        lambda folder: templates(folder, "zero_hop.json", '"text"', 'text"'),
        "--templates {0}/templates",
    ),
    "forty objects": (written("mine.toml", "[world]\nmax_objects = 40"), "--config {0}/mine.toml"),
    "broken JSON in a palette": (palette('{"cube":\n  ["red",}\n'), f"--hop none {PALETTE}"),
    "an unknown value in a list": (palette({"cube": ["rde"]}), f"--hop none {PALETTE}"),
    "no combination": (palette({}), f"--hop none {PALETTE}"),
    "nothing with a value": (palette({"cube": []}), f"--hop none {PALETTE}"),
    "a value only in the pair": (
        palette({"cube": ["red"], "cylinder": ["red"]}),
        f"--hop cyan_cylinder {PALETTE}",
    ),
    "the pair alone": (palette({"cylinder": ["cyan"]}), f"--hop cyan_cylinder {PALETTE}"),
    "a pair of other types": (palette({"cube": ["red"]}), PALETTE),
    "types that are not the values'": (
        palette({"types": ["color", "shape"], "rows": [[["red", "rubber"], ["blue", "metal"]]]}),
        f"--hop none {PALETTE}",
    ),
    "a name that means a diversity": (
        written("d8.json", {"cube": ["red"]}),
        "--hop none --palette {0}/d8.json",
    ),
    "the same palette twice": (
        lambda folder: [
            written(name, {"cube": ["red", "blue"], "sphere": ["red"]})(folder)
            for name in ("a.json", "b.json")
        ],
        "--hop none --palette {0}/a.json --test-palette {0}/b.json",
    ),
}
"""Files of a user, and the options that name them."""


@pytest.mark.parametrize(("prepare", "words"), FILES.values(), ids=FILES)
def test_what_is_wrong_in_a_file_is_named(prepare: Prepare, words: str, fail: Fail, tmp_path: Path) -> None:
    prepare(tmp_path)
    check_words(fail(*words.format(tmp_path).split(), "--no-render"))


def test_a_folder_made_otherwise_is_left_as_it_is(tmp_path: Path, cli: Cli) -> None:
    """What a refused build must not do: lose or change what is there."""
    out = tmp_path / "out"
    asked = ["build", "--hop", "rubber_cylinder", "--no-render", "--quiet", "--out", str(out)]
    cli(*asked, "--seed", "1")
    before = tree(out)
    for options in (["--minimal-pool", "shared"], ["--seed", "2"], ["--diversity", "3"]):
        check_words(cli(*asked, *options, code=2).err)
        assert tree(out) == before


def test_a_part_is_read_as_no_dataset(tmp_path: Path, cli: Cli) -> None:
    part = tmp_path / "part"
    cli("build", "--hop", "rubber_cylinder", *TEXT, "--out", part, "--shard", "1/2")
    check_refused(ClevrhopeError, load, part, "rubber_cylinder", "train")
    (tmp_path / "predictions.jsonl").write_text("")
    for arguments in (
        ["stats", part],
        ["audit", part],
        ["export", part, "--format", "clevr", "--out", tmp_path / "export"],
        ["score", part, tmp_path / "predictions.jsonl"],
    ):
        check_words(cli(*arguments, code=1).err)
    assert not (tmp_path / "export").exists()


def test_no_pair_an_unknown_option_and_command(cli: Cli) -> None:
    for arguments in (["build"], ["build", "--hopp", "x"], ["biuld"]):
        assert len(cli(*arguments, code=2).err.splitlines()) == 1


@pytest.mark.slow
def test_a_split_that_nothing_can_fill(fail: Fail, tmp_path: Path) -> None:
    """Where every object is a rubber cylinder, no scene is without one."""

    def only_one(found: Any) -> None:
        for kind, value in (("materials", "rubber"), ("shapes", "cylinder")):
            found[kind] = {value: found[kind][value]}

    properties(tmp_path, only_one)
    sentence = fail("--properties", tmp_path / "properties.json", "--no-render", "--splits", "train")
    assert "train" in sentence
    assert "rubber" in sentence


def test_pixels_that_nothing_has(fail: Fail, tmp_path: Path) -> None:
    """Which scene is named may differ from machine to machine."""
    (tmp_path / "mine.toml").write_text("[world]\nmin_pixels = 150000")
    assert "min_pixels" in fail("--config", tmp_path / "mine.toml", "--no-render")


def test_blender_missing(fail: Fail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.runtime.blender.blender_folder", lambda: None)
    check_words(fail(code=1))


def limited(set_limit: str, out: Path) -> subprocess.CompletedProcess[str]:
    """A build in a process whose surroundings are set by a line of Python."""
    script = f"""
        import os, resource, signal, sys
        from clevrhope.__main__ import run_command
        {set_limit}
        sys.exit(run_command(["build", "--hop", "rubber_cylinder", "--seed", "1", "--no-render", "--quiet",
                              "--out", sys.argv[1]]))
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(out)], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_no_space_left_and_then_some(tmp_path: Path) -> None:
    """A file that may not grow meets the same code as a disk that is full."""
    out = tmp_path / "out"
    full = "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))"
    done = limited(full, out)
    assert done.returncode == 1, done.stderr
    assert "no space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(out.rglob("*.partial"))
    assert limited("pass", out).returncode == 0


@pytest.mark.parametrize("place", ["a file", "no permission"])
def test_a_folder_that_cannot_be_written(place: str, tmp_path: Path, cli: Cli) -> None:
    """Nobody makes folders in /sys, root included."""
    (tmp_path / "file").write_text("mine")
    out, code = {"a file": (tmp_path / "file", 2), "no permission": ("/sys/clevrhope", 1)}[place]
    check_words(cli("build", "--hop", "rubber_cylinder", *TEXT, "--out", out, code=code).err)
    assert (tmp_path / "file").read_text() == "mine"
