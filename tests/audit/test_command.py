"""`clevrhope audit`: what it prints and exits with, and how it tells of a folder that it cannot audit."""

import functools
import json
import operator
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from spoiling import Row, Spoilt

from clevrhope.__main__ import run_command
from clevrhope.audit import audit
from clevrhope.config.presets import PRESETS
from clevrhope.errors import DatasetError
from clevrhope.pipeline import Request, build
from clevrhope.runtime import assets
from wording import refused

Capture = pytest.CaptureFixture[str]


def test_a_table_says_what_was_looked_at(clean: Path, capsys: Capture) -> None:
    """What was not done is one line for each reason."""
    assert run_command(["audit", str(clean)]) == 0
    out, err = capsys.readouterr()
    assert "no faults were found" in out
    for check in ("files", "counts", "text", "balance", "duplicates", "groups", "held-out pair"):
        assert check in out
    assert "Parsing texts into programs" in err
    lines = out.splitlines()
    assert not any("not done" in line for line in lines)
    (line,) = (line for line in lines if line.startswith("Not done (this folder has no suites"))
    assert "pair programs, pair answers, pair mentions" in line


def test_json_is_one_object_on_standard_output(clean: Path, capsys: Capture) -> None:
    assert run_command(["audit", str(clean), "--json", "--quiet"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert err == ""
    assert report["ok"]
    assert report["hops"] == ["metal_cube", "rubber_cylinder"]
    assert {each["result"] for each in report["checks"]} <= {"passed", "not done"}
    assert all(each["checked"] > 0 for each in report["checks"] if each["result"] == "passed")


def test_a_fault_is_named_and_the_command_fails(spoilt: Spoilt, capsys: Capture) -> None:
    row, place = spoilt.first_row_with("train", "red")
    spoilt.arrays("train", lambda each: each["questions"].__setitem__((row, place), spoilt.word("blue")))
    assert run_command(["audit", str(spoilt.root), "--quiet"]) == 1
    out = capsys.readouterr().out
    text = spoilt.text("train", row)
    assert f"hops/rubber_cylinder/train.h5[{row}]: its words do not mean its program: {text}" in out
    assert "failed" in out

    assert run_command(["audit", str(spoilt.root), "--quiet", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (check,) = (each for each in report["checks"] if each["name"] == "text")
    assert check["result"] == "failed"
    assert check["first"][0] == {
        "file": "hops/rubber_cylinder/train.h5",
        "index": row,
        "problem": "its words do not mean its program",
        "value": text,
    }


def unreadable(folder: Path, capsys: Capture) -> tuple[list[str], dict[str, str]]:
    """The files that cannot be read, and by check how it went."""
    assert run_command(["audit", str(folder), "--quiet"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert "readable failed. It checks that every file is there" in out
    assert run_command(["audit", str(folder), "--quiet", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (check,) = (each for each in report["checks"] if each["name"] == "readable")
    return [fault["file"] for fault in check["first"]], {
        each["name"]: each["result"] for each in report["checks"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("keep", [0.9, 0.3, 0.0])
def test_truncated_files_are_all_named(spoilt: Spoilt, keep: float, capsys: Capture) -> None:
    names = [
        "hops/metal_cube/train.h5",
        "hops/rubber_cylinder/complex_iid.h5",
        "hops/rubber_cylinder/train_questions.json",
        "scenes/test_iid/0000.json",
    ]
    for name in names:
        whole = spoilt.path(name).read_bytes()
        spoilt.path(name).write_bytes(whole[: int(keep * len(whole))])
    files, results = unreadable(spoilt.root, capsys)
    assert files == names
    assert results["files"] == "failed"
    for needs_them in ("counts", "twin scenes", "text", "programs"):
        assert results[needs_them] == "in part"


@pytest.mark.slow
def test_a_file_with_a_damaged_block_is_named(spoilt: Spoilt, capsys: Capture) -> None:
    import h5py

    path = spoilt.h5("train")
    with h5py.File(path) as file:
        block = file["questions"].id.get_chunk_info(0)
    content = bytearray(path.read_bytes())
    content[block.byte_offset : block.byte_offset + block.size] = bytes(block.size)
    path.write_bytes(content)
    spoilt.sign()
    files, results = unreadable(spoilt.root, capsys)
    assert files == ["hops/rubber_cylinder/train.h5"]
    assert (results["files"], results["text"]) == ("passed", "in part")


def test_a_file_that_was_cut_off_is_told_in_plain_words(spoilt: Spoilt, capsys: Capture) -> None:
    path = spoilt.h5("train")
    whole = path.read_bytes()
    path.write_bytes(whole[:20_000])
    assert run_command(["audit", str(spoilt.root), "--quiet"]) == 1
    out = capsys.readouterr().out
    said = (
        f"hops/rubber_cylinder/train.h5: cannot be read: cut off: 20,000 bytes are there, of {len(whole):,}"
    )
    assert said in out
    for jargon in ("eof", "synchronously", "sblock", "signature"):
        assert jargon not in out
    assert "in part" in out


@pytest.mark.slow
def test_faults_beside_a_file_that_cannot_be_read_are_found(spoilt: Spoilt, capsys: Capture) -> None:
    spoilt.h5("train", "metal_cube").write_bytes(b"")
    row, place = spoilt.first_row_with("train", "red")
    spoilt.arrays("train", lambda each: each["questions"].__setitem__((row, place), spoilt.word("blue")))
    files, results = unreadable(spoilt.root, capsys)
    assert files == ["hops/metal_cube/train.h5"]
    assert (results["text"], results["programs"]) == ("failed", "in part")


def test_nothing_is_done_where_no_split_can_be_read(spoilt: Spoilt, capsys: Capture) -> None:
    for path in spoilt.path("hops").glob("*/*.h5"):
        path.write_bytes(path.read_bytes()[:3000])
    _, results = unreadable(spoilt.root, capsys)
    assert {results.pop(name) for name in ("readable", "files")} == {"failed"}
    assert set(results.values()) == {"not done"}


@pytest.mark.parametrize("spoil", [lambda text: text[:1], lambda text: "", lambda text: "," + text])
def test_a_manifest_that_is_no_json_is_told_with_the_remedy(
    spoilt: Spoilt, spoil: Callable[[str], str]
) -> None:
    path = spoilt.path("manifest.json")
    path.write_text(spoil(path.read_text()))
    with refused(DatasetError):
        audit(spoilt.root)


@pytest.mark.parametrize(
    "shard",
    [
        {"number": 1, "of": 2, "asked": {}},
        {},
        7,
        {"number": 3, "of": 2, "asked": {}},
        {"number": "1", "of": 2, "asked": {}},
    ],
)
def test_an_edited_part_is_refused(spoilt: Spoilt, shard: object) -> None:
    spoilt.manifest(lambda raw: raw.update(shard=shard))
    with refused(DatasetError):
        audit(spoilt.root)


def test_a_part_that_passes_itself_off_as_whole_does_not_pass(tmp_path: Path, capsys: Capture) -> None:
    options = ["--hop", "rubber_cylinder", "--preset", "demo", "--no-render", "--quiet", "--seed", "3"]
    assert run_command(["build", *options, "--shard", "1/2", "--out", str(tmp_path / "part")]) == 0
    Spoilt(tmp_path / "part").manifest(lambda raw: raw.pop("shard"))
    assert run_command(["audit", str(tmp_path / "part"), "--quiet"]) != 0
    out, err = capsys.readouterr()
    assert "not finished yet" in err or "failed" in out


def test_a_palette_alone_is_looked_at_and_nothing_is_passed_on_nothing(
    tmp_path: Path, capsys: Capture
) -> None:
    colours = {"cube": ["gray", "blue"], "cylinder": ["red", "green"], "sphere": ["cyan", "red"]}
    (tmp_path / "few.json").write_text(json.dumps(colours))
    out = str(tmp_path / "out")
    options = ["--hop", "none", "--palette", str(tmp_path / "few.json"), "--preset", "demo", "--no-render"]
    assert run_command(["build", *options, "--quiet", "--seed", "3", "--out", out]) == 0
    capsys.readouterr()
    assert run_command(["audit", out, "--quiet", "--json"]) == 0
    checks = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    assert all(each["checked"] for each in checks.values() if each["result"] == "passed")
    assert checks["palette"]["result"] == "passed"
    for name in ("held-out pair", "groups"):
        assert checks[name]["result"] == "not done"
        assert checks[name]["note"]

    def other_combination(raw: Row) -> None:
        raw["palettes"]["few"]["rows"] = raw["palettes"]["few"]["rows"][:2]

    Spoilt(Path(out)).manifest(other_combination)
    assert run_command(["audit", out, "--quiet", "--json"]) == 1
    checks = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    assert {name for name, each in checks.items() if each["result"] == "failed"} == {"palette"}


@pytest.mark.parametrize(
    "name",
    [
        "hops/rubber_cylinder/train.h5",
        "hops/rubber_cylinder/train_questions.json",
        "hops/rubber_cylinder/DATASHEET.md",
        "scenes/train/0000.json",
        "index.html",
    ],
)
@pytest.mark.slow
def test_a_missing_file_is_named(spoilt: Spoilt, name: str, capsys: Capture) -> None:
    spoilt.path(name).unlink()
    files, _ = unreadable(spoilt.root, capsys)
    assert name in files


def test_nothing_is_audited_without_a_vocabulary(spoilt: Spoilt) -> None:
    spoilt.path("vocab.json").unlink()
    with refused(DatasetError):
        audit(spoilt.root)


def test_what_is_no_dataset_is_said_in_one_sentence(tmp_path: Path, capsys: Capture) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with refused(DatasetError):
            audit(folder)
        assert run_command(["audit", str(folder), "--quiet"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1


@pytest.mark.slow
def test_a_broken_scene_file_is_named(spoilt: Spoilt, capsys: Capture) -> None:
    path = spoilt.path("scenes/train/0000.json")
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"scenes"', b'"scenes', 1))
    spoilt.sign()
    files, results = unreadable(spoilt.root, capsys)
    assert files == ["scenes/train/0000.json"]
    assert (results["relationships"], results["counts"]) == ("in part", "passed")


def test_other_templates_than_the_folders_are_refused(clean: Path, tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    shutil.copytree(assets.question_templates(), folder)
    assert audit(clean, templates=folder).ok
    path = folder / "zero_hop.json"
    path.write_text(path.read_text().replace("How many", "What number of", 1))
    with refused(DatasetError):
        audit(clean, templates=folder)


@pytest.mark.slow
def test_pairs_of_different_sizes_in_one_folder(tmp_path: Path, capsys: Capture) -> None:
    options = ["--no-render", "--quiet", "--seed", "3", "--out", str(tmp_path / "out")]
    for hop, preset in (("rubber_cylinder", "demo"), ("cyan_cylinder", "small")):
        assert run_command(["build", "--hop", hop, "--preset", preset, *options]) == 0
    assert run_command(["audit", str(tmp_path / "out"), "--quiet"]) == 0
    assert "failed" not in capsys.readouterr().out


def without(*keys: str) -> Callable[[Row], object]:
    """Takes a key out of a manifest, by its path."""
    return lambda raw: functools.reduce(operator.getitem, keys[:-1], raw).pop(keys[-1])


def instead(value: object, *keys: str) -> Callable[[Row], object]:
    """Puts another value under a key of a manifest, by its path."""
    return lambda raw: functools.reduce(operator.getitem, keys[:-1], raw).update({keys[-1]: value})


SPLITS = ("splits", "rubber_cylinder")


@pytest.mark.parametrize(
    "change",
    [
        without(*SPLITS, "train", "pool"),
        without(*SPLITS, "minimal_iid", "places"),
        without(*SPLITS, "train", "questions"),
        without(*SPLITS, "minimal_ood", "images"),
        instead("9", *SPLITS, "train", "images"),
        instead(-1, *SPLITS, "train", "questions"),
        instead(True, *SPLITS, "train", "questions"),
        instead(7, *SPLITS, "train", "pool"),
        instead(["train"], *SPLITS),
        instead(["none"], "splits"),
        without("world", "constraints", "min_objects"),
        without("world", "constraints", "max_objects"),
        without("world", "constraints"),
        lambda raw: raw["splits"].update(cylinder_rubber=raw["splits"].pop("rubber_cylinder")),
        without("questions", "window"),
        instead("all", "templates", "files"),
        instead({"train": {}}, "pools"),
        instead(None, "world"),
    ],
)
def test_a_manifest_of_another_form_is_named_with_its_key(
    spoilt: Spoilt, change: Callable[[Row], object]
) -> None:
    spoilt.manifest(change)
    with refused(DatasetError):
        audit(spoilt.root)


def test_a_value_asked_for_alone_says_in_how_many_sets(tmp_path: Path) -> None:
    data = Spoilt(tmp_path / "out")
    build(Request(out=data.root, hops=(), prelim=("cyan",), config=PRESETS["demo"], seed=3, render=False))
    data.manifest(without("splits", "prelim_cyan", "counting", "sets"))
    with refused(DatasetError):
        audit(data.root)


def test_a_file_that_another_program_wrote_is_not_said_to_be_cut_off_for_sure(
    spoilt: Spoilt, capsys: Capture
) -> None:
    path = spoilt.path("hops/rubber_cylinder/train_questions.json")
    path.write_text(json.dumps(json.loads(path.read_text())))
    assert run_command(["audit", str(spoilt.root), "--quiet"]) == 1
    said = "/train_questions.json: cut off, or rewritten by another program: ends with "
    assert said in capsys.readouterr().out
