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
from building import Cli

from clevrhope.runtime.assets import blender_assets, question_templates
from wording import refused

Fail = Callable[..., str]
Prepare = Callable[[Path], Any]


@pytest.fixture
def fail(tmp_path: Path, cli: Cli) -> Fail:
    """Runs a build that has to fail; gives its one sentence, after looking that nothing was written."""

    def run(*arguments: str | Path, code: int = 2, command: str = "build") -> str:
        out = tmp_path / "out"
        asked = [command, "--out", str(out), "--seed", "1", "--quiet", *map(str, arguments)]
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


NAMES = "names of pairs, such as red_cube, go with --hop"
NO_OBJECT = "so no object could ever have both; take values of two types"
PALETTE = "--palette {0}/mine.json"

PAIRS = [
    ("--hop rubber_cilinder", 'did you mean "rubber_cylinder"?'),
    ("--hop red_blue", "two values of one type, color"),
    ("--hold-out color=red,color=blue", NO_OBJECT),
    ("--hop red_blue_cube", NO_OBJECT),
    ("--hold-out color", NAMES),
    ("--hold-out rubber_cylinder", NAMES),
    ("--hold-out color=", '"" is not a color; known: gray, red'),
    ("--hold-out color=rde,shape=cube", '"rde" is not a color (did you mean "red"?)'),
    ("--hold-out colour=red,shape=cube", 'no attribute type "colour" (did you mean "color"?)'),
    ("--hold-out color=red", "one value; take values of two types or more"),
    ("--hop color=red,shape=cube", "types with values go with --hold-out"),
    ("--hop magenta_cube", '"magenta" is not an attribute value'),
    ("--hop RubberCylinder", '(did you mean "rubber_cylinder"?)'),
    ("--hop all", "not a pair, but a group of pairs (did you mean --hops all?)"),
    ("--splits train,complex_odd", 'did you mean "complex_ood"?'),
    ("--splits train,val", "val is not a split of rubber_cylinder; known: train, val_iid"),
    ("--splits val,train,test", "val and test are not splits of rubber_cylinder"),
    ("--hop none --prelim-sets 3", "--prelim-sets: this is the number of sets of each value of --prelim"),
    ("--hop prelim_cyan --test-questions 9", "--test-questions: no pair was given"),
    ("--hop cyan_cylinder --diversity 3", "diversity 3 is too low: it needs 4 at least"),
    ("--hop cyan_cylinder --diversity 25", "diversity 25 is too high: color and shape have 24 combinations"),
    (
        "--hop cyan_cylinder --diversity 7 --diversity-mode grid",
        "no grid of color by shape has 7 combinations; those there are have 4, 6, 8, 9, 10, 12, 14",
    ),
    ("--hop metal_red_cube --diversity 4", "3 values are held out together, but diversity counts pairs"),
    ("--hop none --diversity 4", "--diversity counts combinations with a held-out pair; name one"),
    ("--hop cyan_cylinder --diversity few", '--diversity: "few" is not a whole number'),
    ("--hop cyan_cylinder-d8 --diversity 4", "its name says what is seen"),
    ("--hop cyan_cylinder --diversity-mode grid", "--diversity-mode grid says which combinations"),
    ("--hop cyan_cylinder-mine", "the folder has no palette mine yet; name its file with --palette"),
    ("--hop none --palette nowhere.json", "nowhere.json: no such file"),
    ("--hop none --test-palette nowhere.json", "--test-palette is for tests beside those of a --palette"),
    ("--seed abc", '--seed: "abc" should be a whole number from 0 to 18446744073709551615'),
    ("--seed -1", '--seed: "-1" should be a whole number from 0 to 18446744073709551615'),
    ("--train-questions 0", '--train-questions: "0" should be a whole number from 1'),
    ("--workers 1.5", '--workers: "1.5" should be a whole number from 1'),
    ("--templates {0}/nowhere", "is not a folder"),
    ("--templates {0}", "mine: "),
    ("--properties {0}/nowhere.json", "nowhere.json"),
]
"""What a user types -> what the sentence has."""


@pytest.mark.parametrize(("words", "message"), PAIRS, ids=[words for words, _ in PAIRS])
def test_what_is_wrong_on_the_command_line_is_named(
    words: str, message: str, fail: Fail, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    assert message in fail(*words.format(tmp_path / "mine").split(), "--no-render")


FILES: dict[str, tuple[Prepare, str, tuple[str, ...]]] = {
    "a vocabulary without the pair's value": (
        lambda folder: properties(folder, lambda found: found["shapes"].pop("cylinder")),
        "--properties {0}/properties.json",
        ('"cylinder" is not an attribute value', "shape: cube, sphere)"),
    ),
    "properties without colors": (
        lambda folder: properties(folder, lambda found: found.pop("colors")),
        "--properties {0}/properties.json",
        ("properties.json", "colors: missing or empty"),
    ),
    "a function that there is not": (
        lambda folder: templates(folder, "one_hop.json", "query_color", "querry_color"),
        "--templates {0}/templates",
        ("one_hop.json[", "querry_color", "did you mean"),
    ),
    "broken JSON in a template": (
        lambda folder: templates(folder, "zero_hop.json", '"text"', 'text"'),
        "--templates {0}/templates",
        ("zero_hop.json:3:",),
    ),
    "forty objects": (
        written("mine.toml", "[world]\nmax_objects = 40"),
        "--config {0}/mine.toml",
        ("max_objects is 40",),
    ),
    "pixels that nothing has": (
        written("mine.toml", "[world]\nmin_pixels = 150000"),
        "--config {0}/mine.toml",
        ("min_pixels",),
    ),
    "broken JSON in a palette": (
        palette('{"cube":\n  ["red",}\n'),
        f"--hop none {PALETTE}",
        ("mine.json:2:", "broken JSON"),
    ),
    "an unknown value in a list": (
        palette({"cube": ["rde"]}),
        f"--hop none {PALETTE}",
        ('mine.json: "cube": unknown attribute value "rde" (did you mean "red"?)',),
    ),
    "no combination": (palette({}), f"--hop none {PALETTE}", ("mine.json: palette: allows no combination",)),
    "nothing with a value": (
        palette({"cube": []}),
        f"--hop none {PALETTE}",
        ('mine.json: "cube": nothing goes with it',),
    ),
    "a value only in the pair": (
        palette({"cube": ["red"], "cylinder": ["red"]}),
        f"--hop cyan_cylinder {PALETTE}",
        ("palette mine: forbids cyan but with what it is held out with",),
    ),
    "the pair alone": (
        palette({"cylinder": ["cyan"]}),
        f"--hop cyan_cylinder {PALETTE}",
        ("palette mine: allows cyan cylinder alone",),
    ),
    "a pair of other types": (
        palette({"cube": ["red"]}),
        PALETTE,
        ("is of color and shape, but the pair is of material and shape",),
    ),
    "types that are not the values'": (
        palette({"types": ["color", "shape"], "rows": [[["red", "rubber"], ["blue", "metal"]]]}),
        f"--hop none {PALETTE}",
        ('["color","shape"], but the combinations are of color and material',),
    ),
    "a name that means a diversity": (
        written("d8.json", {"cube": ["red"]}),
        "--hop none --palette {0}/d8.json",
        ("cannot be the name of a palette",),
    ),
    "the same palette twice": (
        lambda folder: [
            written(name, {"cube": ["red", "blue"], "sphere": ["red"]})(folder)
            for name in ("a.json", "b.json")
        ],
        "--hop none --palette {0}/a.json --test-palette {0}/b.json",
        ("the same combinations as --palette",),
    ),
}
"""Files of a user -> the options that name them, and what the sentence has."""


@pytest.mark.parametrize(("prepare", "words", "said"), FILES.values(), ids=FILES)
def test_what_is_wrong_in_a_file_is_named(
    prepare: Prepare, words: str, said: tuple[str, ...], fail: Fail, tmp_path: Path
) -> None:
    prepare(tmp_path)
    sentence = fail(*words.format(tmp_path).split(), "--no-render")
    assert all(part in sentence for part in said), sentence


def test_a_folder_made_otherwise_is_left_as_it_is(tmp_path: Path, cli: Cli) -> None:
    """What a refused build must not do: lose or change what is there."""
    out = tmp_path / "out"
    palette({"cube": ["red"]})(tmp_path)
    asked = ["build", "--hop", "rubber_cylinder", "--no-render", "--quiet", "--out", str(out)]
    cli(*asked, "--seed", "1")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    refused = {
        ("--minimal-pool", "shared"): 'other question settings (minimal_pool is "own" there, "shared" asked',
        ("--seed", "2"): "made with another seed (1 there, 2 asked for)",
        ("--hop", "red_blue"): "no object could ever have both",
        ("--diversity", "3"): "diversity 3 is too low",
        ("--palette", str(tmp_path / "mine.json")): "the pair is of material and shape",
    }
    for options, message in refused.items():
        (sentence,) = cli(*asked, *options, code=2).err.splitlines()
        assert message in sentence
        assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_part_is_read_as_no_dataset(tmp_path: Path, cli: Cli) -> None:
    import clevrhope

    part = tmp_path / "part"
    asked = ["--hop", "rubber_cylinder", "--no-render", "--quiet", "--seed", "1"]
    cli("build", *asked, "--out", part, "--shard", "1/2")
    message = f"{part}: part 1/2 of a dataset"
    with refused(clevrhope.ClevrhopeError) as raised:
        clevrhope.load(part, "rubber_cylinder", "train")
    assert message in str(raised.value)
    (tmp_path / "predictions.jsonl").write_text("")
    for arguments in (
        ["stats", str(part)],
        ["audit", str(part)],
        ["export", str(part), "--format", "clevr", "--out", str(tmp_path / "export")],
        ["score", str(part), str(tmp_path / "predictions.jsonl")],
    ):
        (sentence,) = cli(*arguments, code=1).err.splitlines()
        assert message in sentence
        assert "clevrhope merge" in sentence
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


def test_blender_missing(fail: Fail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.runtime.blender.blender_folder", lambda: None)
    sentence = fail(code=1)
    assert "bpy" in sentence
    assert "pip install" in sentence


def test_a_folder_that_is_a_file(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "out").write_text("mine")
    arguments = ["build", "--hop", "rubber_cylinder", "--seed", "1", "--no-render", "--quiet"]
    assert "a file" in cli(*arguments, "--out", tmp_path / "out", code=2).err
    assert (tmp_path / "out").read_text() == "mine"


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


def test_no_permission(cli: Cli) -> None:
    """Nobody makes folders in /sys, root included."""
    arguments = ["build", "--hop", "rubber_cylinder", "--seed", "1", "--no-render", "--quiet"]
    (sentence,) = cli(*arguments, "--out", "/sys/clevrhope", code=1).err.splitlines()
    assert "/sys/clevrhope: no permission to write there" in sentence
