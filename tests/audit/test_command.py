"""`clevrhope audit`: what it prints and exits with, and how it tells of a folder that it cannot audit."""

import functools
import json
import operator
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from spoiling import Plant, Row, Spoilt, put

from clevrhope.__main__ import run_command
from clevrhope.audit import audit
from clevrhope.config.presets import PRESETS
from clevrhope.errors import DatasetError
from clevrhope.pipeline import Request, build
from clevrhope.runtime import assets
from wording import check_refused, check_words

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
    spoilt.arrays("train", put("questions", (row, place), spoilt.word("blue")))
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


def cut_off(keep: float) -> Plant:
    def plant(data: Spoilt) -> None:
        for name in (
            "hops/metal_cube/train.h5",
            "hops/rubber_cylinder/complex_iid.h5",
            "hops/rubber_cylinder/train_questions.json",
            "scenes/test_iid/0000.json",
        ):
            whole = data.path(name).read_bytes()
            data.path(name).write_bytes(whole[: int(keep * len(whole))])

    return plant


def damaged_block(data: Spoilt) -> None:
    path = data.h5("train")
    with h5py.File(path) as file:
        block = file["questions"].id.get_chunk_info(0)
    content = bytearray(path.read_bytes())
    content[block.byte_offset : block.byte_offset + block.size] = bytes(block.size)
    path.write_bytes(content)
    data.sign()


def fault_beside(data: Spoilt) -> None:
    data.h5("train", "metal_cube").write_bytes(b"")
    row, place = data.first_row_with("train", "red")
    data.arrays("train", put("questions", (row, place), data.word("blue")))


def no_split(data: Spoilt) -> None:
    for path in data.path("hops").glob("*/*.h5"):
        path.write_bytes(path.read_bytes()[:3000])


def broken_scene_file(data: Spoilt) -> None:
    path = data.path("scenes/train/0000.json")
    path.write_bytes(path.read_bytes().replace(b'"scenes"', b'"scenes', 1))
    data.sign()


def lost(name: str) -> Plant:
    return lambda data: data.path(name).unlink()


UNREADABLE: dict[str, Plant] = {
    **{f"cut off at {keep}": cut_off(keep) for keep in (0.9, 0.3, 0.0)},
    "damaged block": damaged_block,
    "fault beside": fault_beside,
    "no split": no_split,
    "broken scene file": broken_scene_file,
    "no HDF5": lost("hops/rubber_cylinder/train.h5"),
    "no JSON": lost("hops/rubber_cylinder/train_questions.json"),
    "no datasheet": lost("hops/rubber_cylinder/DATASHEET.md"),
    "no scenes": lost("scenes/train/0000.json"),
    "no page": lost("index.html"),
}


@pytest.mark.slow
@pytest.mark.parametrize("plant", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_named_and_all_else_is_checked(
    plant: Plant, spoilt: Spoilt, capsys: Capture
) -> None:
    plant(spoilt)
    assert run_command(["audit", str(spoilt.root), "--quiet"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert "readable failed. It checks that every file is there" in out
    assert run_command(["audit", str(spoilt.root), "--quiet", "--json"]) == 1
    checks = json.loads(capsys.readouterr().out)["checks"]
    (readable,) = (each for each in checks if each["name"] == "readable")
    went = {"not readable": [fault["file"] for fault in readable["first"]]}
    for each in checks:
        went.setdefault(each["result"], []).append(each["name"])
    check_words("\n".join(f"{result}: {', '.join(names)}" for result, names in went.items()))


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


@pytest.mark.parametrize("spoil", [lambda text: text[:1], lambda text: "", lambda text: "," + text])
def test_a_manifest_that_is_no_json_is_told_with_the_remedy(
    spoilt: Spoilt, spoil: Callable[[str], str]
) -> None:
    path = spoilt.path("manifest.json")
    path.write_text(spoil(path.read_text()))
    check_refused(DatasetError, audit, spoilt.root)


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
    check_refused(DatasetError, audit, spoilt.root)


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


def test_nothing_is_audited_without_a_vocabulary(spoilt: Spoilt) -> None:
    spoilt.path("vocab.json").unlink()
    check_refused(DatasetError, audit, spoilt.root)


def test_what_is_no_dataset_is_said_in_one_sentence(tmp_path: Path, capsys: Capture) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        check_refused(DatasetError, audit, folder)
        assert run_command(["audit", str(folder), "--quiet"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1


def test_other_templates_than_the_folders_are_refused(clean: Path, tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    shutil.copytree(assets.question_templates(), folder)
    assert audit(clean, templates=folder).ok
    path = folder / "zero_hop.json"
    path.write_text(path.read_text().replace("How many", "What number of", 1))
    check_refused(DatasetError, audit, clean, templates=folder)


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
    check_refused(DatasetError, audit, spoilt.root)


def test_a_value_asked_for_alone_says_in_how_many_sets(tmp_path: Path) -> None:
    data = Spoilt(tmp_path / "out")
    build(Request(out=data.root, hops=(), prelim=("cyan",), config=PRESETS["demo"], seed=3, render=False))
    data.manifest(without("splits", "prelim_cyan", "counting", "sets"))
    check_refused(DatasetError, audit, data.root)


def test_a_file_that_another_program_wrote_is_not_said_to_be_cut_off_for_sure(
    spoilt: Spoilt, capsys: Capture
) -> None:
    path = spoilt.path("hops/rubber_cylinder/train_questions.json")
    path.write_text(json.dumps(json.loads(path.read_text())))
    assert run_command(["audit", str(spoilt.root), "--quiet"]) == 1
    said = "/train_questions.json: cut off, or rewritten by another program: ends with "
    assert said in capsys.readouterr().out
