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

from clevrhope.__main__ import run_command
from clevrhope.runtime.assets import blender_assets, question_templates

Fail = Callable[..., str]


@pytest.fixture
def fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Fail:
    """Runs a build that has to fail; gives its one sentence, after looking that nothing was written."""

    def run(*arguments: str | Path, code: int = 2, command: str = "build") -> str:
        out = tmp_path / "out"
        asked = [command, "--out", str(out), "--seed", "1", "--quiet", *map(str, arguments)]
        if "--hop" not in asked:
            asked += ["--hop", "rubber_cylinder"]
        assert run_command(asked) == code
        seen = capsys.readouterr()
        assert seen.out == ""
        (sentence,) = seen.err.splitlines()
        assert sentence.startswith("clevrhope: ")
        assert not out.exists(), "something was written"
        return sentence.removeprefix("clevrhope: ")

    return run


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """A copy of the question templates, to be spoilt."""
    return Path(shutil.copytree(question_templates(), tmp_path / "templates"))


def toml(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def spoilt(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content, indent=1))


@pytest.mark.parametrize("command", ["build", "plan"])
def test_an_unknown_pair(fail: Fail, command: str) -> None:
    assert 'did you mean "rubber_cylinder"?' in fail(
        "--hop", "rubber_cilinder", "--no-render", command=command
    )


def test_a_pair_of_one_type(fail: Fail) -> None:
    assert "two values of one type, color" in fail("--hop", "red_blue", "--no-render")


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--hold-out", "color=red,color=blue"),
        ("--hold-out", "color=red,shape=cube,color=blue"),
        ("--hop", "red_blue_cube"),
        ("--hop", "metal_red_metal"),
    ],
)
def test_values_that_no_object_can_both_have(fail: Fail, option: str, name: str) -> None:
    sentence = fail("--hop", "cyan_cube", option, name, "--no-render")
    assert f'HOP "{name}": ' in sentence
    assert "so no object could ever have both; take values of two types" in sentence


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--hold-out", "color", "names of pairs, such as red_cube, go with --hop"),
        ("--hold-out", "rubber_cylinder", "names of pairs, such as red_cube, go with --hop"),
        ("--hold-out", "color=", '"" is not a color; known: gray, red'),
        ("--hold-out", "color=rde,shape=cube", '"rde" is not a color (did you mean "red"?)'),
        ("--hold-out", "colour=red,shape=cube", 'no attribute type "colour" (did you mean "color"?)'),
        ("--hold-out", "color=red", "one value; take values of two types or more"),
        ("--hop", "color=red,shape=cube", "types with values go with --hold-out"),
        ("--hop", "magenta_cube", '"magenta" is not an attribute value'),
        ("--hop", "rubber-cylinder", '(did you mean "rubber_cylinder"?)'),
        ("--hop", "cylinder rubber", '(did you mean "rubber_cylinder"?)'),
        ("--hop", "RubberCylinder", '(did you mean "rubber_cylinder"?)'),
        ("--hop", "Rubber_Cylinder", '(did you mean "rubber_cylinder"?)'),
        ("--hop", "all", "not a pair, but a group of pairs (did you mean --hops all?)"),
    ],
)
def test_a_pair_said_in_another_form(fail: Fail, option: str, name: str, message: str) -> None:
    assert message in fail("--hop", "cyan_cube", option, name, "--no-render")


def test_a_vocabulary_without_the_pairs_values(fail: Fail, tmp_path: Path) -> None:
    path = tmp_path / "properties.json"
    shutil.copy(blender_assets() / "properties.json", path)
    spoilt(path, lambda properties: properties["shapes"].pop("cylinder"))
    sentence = fail("--properties", path, "--no-render")
    assert '"cylinder" is not an attribute value' in sentence
    assert "shape: cube, sphere)" in sentence
    held_out = ("--hold-out", "material=rubber,shape=cylinder")
    sentence = fail("--hop", "metal_cube", *held_out, "--properties", path, "--no-render")
    assert '"cylinder" is not a shape; known: cube, sphere' in sentence


def test_broken_json_in_a_palette(fail: Fail, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"cube":\n  ["red",}\n')
    sentence = fail("--hop", "none", "--palette", path, "--no-render")
    assert f"{path}:2:" in sentence
    assert "broken JSON" in sentence


def test_a_folder_made_otherwise_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a refused build must not do: lose or change what is there."""
    out = tmp_path / "out"
    asked = ["build", "--hop", "rubber_cylinder", "--no-render", "--quiet", "--out", str(out)]
    assert run_command([*asked, "--seed", "1"]) == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    refused = {
        ("--minimal-pool", "shared"): 'other question settings (minimal_pool is "own" there, "shared" asked',
        ("--seed", "2"): "made with another seed (1 there, 2 asked for)",
        ("--hop", "red_blue"): "no object could ever have both",
        ("--diversity", "3"): "diversity 3 is too low",
        ("--palette", str(palette(tmp_path, {"cube": ["red"]}))): "the pair is of material and shape",
    }
    for options, message in refused.items():
        assert run_command([*asked, *options]) == 2
        (sentence,) = capsys.readouterr().err.splitlines()
        assert message in sentence
        assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_part_is_read_as_no_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import clevrhope

    part = tmp_path / "part"
    asked = ["--hop", "rubber_cylinder", "--no-render", "--quiet", "--seed", "1"]
    assert run_command(["build", *asked, "--out", str(part), "--shard", "1/2"]) == 0
    capsys.readouterr()
    message = f"{part}: part 1/2 of a dataset"
    with pytest.raises(clevrhope.ClevrhopeError, match="join the parts first: clevrhope merge") as raised:
        clevrhope.load(part, "rubber_cylinder", "train")
    assert message in str(raised.value)
    (tmp_path / "predictions.jsonl").write_text("")
    for arguments in (
        ["stats", str(part)],
        ["audit", str(part)],
        ["export", str(part), "--format", "clevr", "--out", str(tmp_path / "export")],
        ["score", str(part), str(tmp_path / "predictions.jsonl")],
    ):
        assert run_command(arguments) == 1
        (sentence,) = capsys.readouterr().err.splitlines()
        assert message in sentence
        assert "clevrhope merge" in sentence
    assert not (tmp_path / "export").exists()


def test_no_pair(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["build"]) == 2
    assert "no HOP given" in capsys.readouterr().err


def test_an_unknown_split_and_one_of_another_kind(fail: Fail) -> None:
    assert 'did you mean "complex_ood"?' in fail("--splits", "train,complex_odd")
    assert "val is not a split of rubber_cylinder" in fail("--splits", "val")
    # Nor is one passed over because others are there.
    assert "val is not a split of rubber_cylinder; known: train, val_iid" in fail("--splits", "train,val")
    assert "val and test are not splits of rubber_cylinder" in fail("--splits", "val,train,test")


def test_an_unknown_option_and_command(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["build", "--hopp", "x"], ["biuld"]):
        assert run_command(arguments) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_unknown_function_in_a_template(fail: Fail, templates: Path) -> None:
    def misspell(families: Any) -> None:
        families[3]["nodes"][2]["type"] = "querry_color"

    spoilt(templates / "one_hop.json", misspell)
    sentence = fail("--templates", templates, "--no-render")
    assert "one_hop.json[3]" in sentence
    assert "querry_color" in sentence
    assert "did you mean" in sentence


def test_broken_json_in_a_template(fail: Fail, templates: Path) -> None:
    path = templates / "zero_hop.json"
    lines = path.read_text().splitlines()
    lines[4] = lines[4].replace('"', "", 1)
    path.write_text("\n".join(lines))
    assert "zero_hop.json:5:" in fail("--templates", templates, "--no-render")


def test_a_folder_without_templates(fail: Fail, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "empty" in fail("--templates", tmp_path / "empty", "--no-render")
    assert "is not a folder" in fail("--templates", tmp_path / "nowhere", "--no-render")


def test_a_properties_file_without_colours(fail: Fail, tmp_path: Path) -> None:
    path = tmp_path / "properties.json"
    shutil.copy(blender_assets() / "properties.json", path)
    spoilt(path, lambda properties: properties.pop("colors"))
    sentence = fail("--properties", path, "--no-render")
    assert "properties.json" in sentence
    assert "colors: missing or empty" in sentence
    assert "nowhere.json" in fail("--properties", tmp_path / "nowhere.json", "--no-render")


def test_forty_objects(fail: Fail, tmp_path: Path) -> None:
    sentence = fail("--config", toml(tmp_path, "[world]\nmax_objects = 40"), "--no-render")
    assert "max_objects is 40" in sentence


def test_pixels_that_nothing_has(fail: Fail, tmp_path: Path) -> None:
    sentence = fail("--config", toml(tmp_path, "[world]\nmin_pixels = 150000"), "--no-render", code=2)
    assert "min_pixels" in sentence


def test_an_unknown_setting(fail: Fail, tmp_path: Path) -> None:
    sentence = fail("--config", toml(tmp_path, "[world]\nminimum_pixels = 3"), "--no-render")
    assert 'unknown setting "world.minimum_pixels" (did you mean "min_pixels"?)' in sentence


def test_constraints_of_the_wrong_kind_are_told_in_the_files_words(fail: Fail, tmp_path: Path) -> None:
    for line, message in (
        ('margin = "wide"', ': world.margin is "wide"; expected a number'),
        ("min_pixels = 1.5", ": world.min_pixels is 1.5; expected a whole number"),
        ("min_objects = true", ": world.min_objects is true; expected a whole number"),
        ("max_objects = -3", ": world.max_objects is -3; expected a number that is not negative"),
        (
            'directions = "clever"',
            ': world.directions is "clever" (did you mean "clevr"?); expected "camera" or "clevr"',
        ),
    ):
        path = toml(tmp_path, f"[world]\n{line}")
        assert f"{path}{message}" in fail("--config", path, "--no-render")


@pytest.mark.slow
def test_a_split_that_nothing_can_fill(fail: Fail, tmp_path: Path) -> None:
    """Where every object is a rubber cylinder, no scene is without one."""
    path = tmp_path / "properties.json"
    shutil.copy(blender_assets() / "properties.json", path)

    def only_one(properties: Any) -> None:
        for kind, value in (("materials", "rubber"), ("shapes", "cylinder")):
            properties[kind] = {value: properties[kind][value]}

    spoilt(path, only_one)
    sentence = fail("--properties", path, "--no-render", "--splits", "train", code=2)
    assert "train" in sentence
    assert "rubber" in sentence


def test_blender_missing(fail: Fail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.runtime.blender.blender_folder", lambda: None)
    sentence = fail(code=1)
    assert "bpy" in sentence
    assert "pip install" in sentence


def test_a_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("mine")
    arguments = ["build", "--hop", "rubber_cylinder", "--seed", "1", "--no-render", "--quiet"]
    assert run_command([*arguments, "--out", str(tmp_path / "out")]) == 2
    assert "a file" in capsys.readouterr().err
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


def test_no_permission(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody makes folders in /sys, root included."""
    arguments = ["build", "--hop", "rubber_cylinder", "--seed", "1", "--no-render", "--quiet"]
    assert run_command([*arguments, "--out", "/sys/clevrhope"]) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "/sys/clevrhope: no permission to write there" in sentence


def palette(folder: Path, content: object, name: str = "mine.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cyan_cylinder", "--diversity", "3"], "diversity 3 is too low: it needs 4 at least"),
        (
            ["cyan_cylinder", "--diversity", "25"],
            "diversity 25 is too high: color and shape have 24 combinations",
        ),
        (
            ["cyan_cylinder", "--diversity", "7", "--diversity-mode", "grid"],
            "no grid of color by shape has 7 combinations; those there are have 4, 6, 8, 9, 10, 12, 14",
        ),
        (
            ["metal_red_cube", "--diversity", "4"],
            "3 values are held out together, but diversity counts pairs",
        ),
        (["none", "--diversity", "4"], "--diversity counts combinations with a held-out pair; name one"),
        (["cyan_cylinder", "--diversity", "few"], '--diversity: "few" is not a whole number'),
        (["cyan_cylinder-d8", "--diversity", "4"], "its name says what is seen"),
        (["cyan_cylinder", "--diversity-mode", "grid"], "--diversity-mode grid says which combinations"),
        (["cyan_cylinder-mine"], "the folder has no palette mine yet; name its file with --palette"),
        (["none", "--palette", "nowhere.json"], "nowhere.json: no such file"),
        (
            ["none", "--test-palette", "nowhere.json"],
            "--test-palette is for tests beside those of a --palette",
        ),
    ],
)
def test_diversities_that_cannot_be(fail: Fail, arguments: list[str], message: str) -> None:
    assert message in fail("--hop", *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--hop", "none", "--prelim-sets", "3"],
            "--prelim-sets: this is the number of sets of each value of --prelim",
        ),
        (["--prelim", "cyan", "--train-questions", "10"], "--train-questions: no pair was given"),
        (["--hop", "prelim_cyan", "--test-questions", "9"], "--test-questions: no pair was given"),
    ],
)
def test_sizes_of_what_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    for command in ("build", "plan"):
        assert run_command([command, *arguments, "--no-render", "--out", str(tmp_path / "out")]) == 2
        (sentence,) = capsys.readouterr().err.splitlines()
        assert message in sentence
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("hop", "content", "message"),
    [
        (
            "none",
            {"cubes": ["red"]},
            'mine.json: "cubes": unknown attribute value "cubes" (did you mean "cube"?)',
        ),
        ("none", {"cube": ["rde"]}, 'mine.json: "cube": unknown attribute value "rde" (did you mean "red"?)'),
        ("none", {}, "mine.json: palette: allows no combination of values"),
        ("none", {"cube": []}, 'mine.json: "cube": nothing goes with it'),
        (
            "cyan_cylinder",
            {"cube": ["red"], "cylinder": ["red"]},
            "palette mine: forbids cyan but with what it is held out with",
        ),
        ("cyan_cylinder", {"cylinder": ["cyan"]}, "palette mine: allows cyan cylinder alone"),
        (
            "rubber_cylinder",
            {"cube": ["red"]},
            "is of color and shape, but the pair is of material and shape",
        ),
    ],
)
def test_palettes_that_are_none(fail: Fail, tmp_path: Path, hop: str, content: object, message: str) -> None:
    assert message in fail("--hop", hop, "--palette", palette(tmp_path, content))


def test_a_palettes_name_is_part_of_folders_names(fail: Fail, tmp_path: Path) -> None:
    for name in ("d8.json", "my-own.json"):
        path = palette(tmp_path, {"cube": ["red"]}, name)
        assert "cannot be the name of a palette" in fail("--hop", "none", "--palette", path)


def test_a_palette_whose_types_are_not_those_of_its_values(fail: Fail, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('{"types": ["color", "shape"], "rows": [[["red", "rubber"], ["blue", "metal"]]]}')
    sentence = fail("--hop", "none", "--palette", path, "--no-render")
    assert '["color","shape"], but the combinations are of color and material' in sentence


def test_a_second_palette_that_is_the_first(fail: Fail, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text('{"cube": ["red", "blue"], "sphere": ["red"]}')
    options = ("--palette", tmp_path / "a.json", "--test-palette", tmp_path / "b.json", "--no-render")
    assert "the same combinations as --palette" in fail("--hop", "none", *options)
