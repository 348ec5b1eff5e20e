"""Suites in datasheets and `clevrhope stats`, and their removal."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import Cli, request, tree
from suite_folders import ASKED, HOP, own_suite

from clevrhope.__main__ import run_command
from clevrhope.audit import audit
from clevrhope.dataset import suite_files
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.pipeline import build, suites
from clevrhope.pipeline.suites import make_suite, remove_suite
from wording import check_words


def sheet_of(folder: Path, hop: str = HOP) -> str:
    return Layout(folder).hop_datasheet(hop).read_text()


@pytest.mark.slow
def test_a_datasheet_says_what_was_measured_of_suites(paired_suites: Path) -> None:
    layout = Layout(paired_suites)
    with h5py.File(layout.suite_h5(HOP, "rad", "complex_ood")) as file:
        tests = list(file.attrs["tests"])
        test, cell, answers = file["test"][::2], file["cell"][::2], file["answers"][1::2]
    vocab = json.loads(layout.suite_vocab(HOP, "rad").read_text())["answer_token_to_idx"]
    _, found = sheet_of(paired_suites).split("### rad on `complex_ood`\n")
    table = found.partition("\n## ")[0]
    for number in np.unique(test).tolist():
        mine = test == number
        cells = [int((cell[mine] == each).sum()) for each in range(4)]
        share = (answers[mine] == vocab["yes"]).mean()
        row = f"{int(mine.sum())} | {' | '.join(map(str, cells))} | {100 * share:.1f}% |"
        assert f"| `{tests[number]}` | " in table
        assert row in next(line for line in table.splitlines() if line.startswith(f"| `{tests[number]}` |"))
    assert "| test | tier | answers | pairs | yes |" in sheet_of(paired_suites, "none")


@pytest.mark.parametrize("damage", ["h5", "json", "vocab"])
@pytest.mark.slow
def test_a_build_removes_damaged_suites(paired_copy: Path, damage: str) -> None:
    before = tree(paired_copy)
    layout = Layout(paired_copy)
    if damage == "h5":
        layout.suite_h5(HOP, "rad", "complex_iid").unlink()
    elif damage == "json":
        layout.suite_json(HOP, "rad", "complex_iid").write_text("{}")
    else:
        layout.suite_vocab(HOP, "rad").unlink()
    assert build(request(paired_copy, **ASKED)).suites == {"rad": [HOP]}
    left = {name for name in tree(paired_copy) if name.startswith(f"hops/{HOP}/suites/rad/")}
    assert bool(left) == (damage != "vocab")
    assert not {name for name in left if "complex_iid" in name}
    assert audit(paired_copy).ok
    make_suite(paired_copy, "rad")
    assert tree(paired_copy) == before


def test_a_removed_suite_leaves_nothing(paired_copy: Path, plain_suites: Path, cli: Cli) -> None:
    check_words(cli("suite", "carets", paired_copy, "--remove", "--hop", "cylinder_rubber").out)
    assert not Layout(paired_copy).suite(HOP, "carets").exists()
    assert "### carets" not in sheet_of(paired_copy)
    assert "### rad" in sheet_of(paired_copy)
    assert "### carets" in sheet_of(paired_copy, "none")
    assert audit(paired_copy).ok
    removed = {"folder": str(paired_copy), "suite": "carets", "removed": ["none"]}
    assert json.loads(cli("suite", "carets", paired_copy, "--remove", "--json").out) == removed
    assert remove_suite(paired_copy, "rad") == ("none", HOP)
    assert tree(paired_copy) == tree(plain_suites)
    check_words(cli("suite", "rad", paired_copy, "--remove", code=2).err)


@pytest.mark.slow
def test_a_damaged_suite_does_not_block_another(paired_copy: Path, paired_suites: Path) -> None:
    path = Layout(paired_copy).suite_h5(HOP, "rad", "complex_iid")
    path.write_bytes(path.read_bytes()[:500])
    make_suite(paired_copy, "carets")
    assert "### carets" in sheet_of(paired_copy)
    assert "### rad" not in sheet_of(paired_copy)
    make_suite(paired_copy, "rad")
    assert tree(paired_copy) == tree(paired_suites)


@pytest.mark.parametrize(
    "words", ["rat", "rad --hop rubber_sphere", "rad --templates x", "rad --train", "visual --visual 3"]
)
def test_what_cannot_be_removed(words: str, paired_copy: Path, cli: Cli) -> None:
    name, *options = words.split()
    check_words(cli("suite", name, paired_copy, "--remove", *options, code=2).err)


@pytest.mark.parametrize("step", [0, 2, 3, 7])
def test_a_removal_that_is_killed_can_be_repeated(
    paired_copy: Path, plain_suites: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some of the files are gone, or just before the manifest is written."""
    remove_suite(paired_copy, "carets")
    whole = Path.unlink
    left = step

    def unlink(path: Path, **options: Any) -> None:
        nonlocal left
        if left == 0:
            raise KeyboardInterrupt
        left -= 1
        whole(path, **options)

    def stop(path: Path, manifest: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if step < 7:
            patch.setattr(Path, "unlink", unlink)
        else:
            patch.setattr(suites, "write_manifest", stop)
        with pytest.raises(KeyboardInterrupt):
            remove_suite(paired_copy, "rad", hops=[HOP])
    # What is left is not taken for a suite: a file that the manifest lists is missing.
    manifest = existing_manifest(Layout(paired_copy).manifest)
    assert "rad" in manifest.suites[HOP]
    guesses = str(paired_copy.with_name("guesses.jsonl"))
    guess = ["baseline", str(paired_copy), "--kind", "always_no", "--suite", "rad", "--out", guesses]
    assert (run_command(guess) == 0) == (step < 3)  # without its first HDF5 file
    remove_suite(paired_copy, "rad")
    assert tree(paired_copy) == tree(plain_suites)


def test_pairs_that_were_not_listed_yet_can_be_removed(
    plain_suites: Path, plain_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(suites, "write_manifest", lambda path, manifest: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make_suite(plain_copy, "rad")
    assert Layout(plain_copy).suite_h5("none", "rad", "test").exists()
    remove_suite(plain_copy, "rad")
    assert tree(plain_copy) == tree(plain_suites)


def test_files_of_a_user_stay(paired_copy: Path) -> None:
    note = Layout(paired_copy).suite(HOP, "rad") / "note.txt"
    note.write_text("mine")
    remove_suite(paired_copy, "rad")
    assert note.read_text() == "mine"
    assert [path.name for path in note.parent.iterdir()] == ["note.txt"]
    assert suite_files.suites_in(Layout(paired_copy), HOP) == ("carets",)


def test_stats_show_suites(paired_suites: Path, cli: Cli) -> None:
    check_words(cli("stats", paired_suites, "--hop", HOP).out)
    found = json.loads(cli("stats", paired_suites, "--hop", HOP, "--splits", "complex_ood", "--json").out)[
        "hops"
    ][HOP]["suites"]
    assert {suite: list(splits) for suite, splits in found.items()} == {
        "carets": ["complex_ood"],
        "rad": ["complex_ood"],
    }
    of_rad = found["rad"]["complex_ood"]
    manifest = existing_manifest(Layout(paired_suites).manifest)
    assert of_rad["pairs"] == manifest.suites[HOP]["rad"]["complex_ood"]["pairs"]
    assert sum(test["pairs"] for test in of_rad["tests"].values()) == of_rad["pairs"]
    for test in of_rad["tests"].values():
        assert sum(test["cells"].values()) == test["pairs"]
        assert test["partners_yes_or_no"] == test["pairs"]
    assert of_rad["tests"]["any"]["relations"] == ["positive"]


def test_the_command_says_why_a_test_has_no_pairs(paired_copy: Path, tmp_path: Path, cli: Cli) -> None:
    never = {"answer": ["purple"], "set": ["<C>"], "unset": ["<C>"]}
    entry = {"tier": "in", "relation": "same", "wording": "phrasing"}
    rows = [
        {**entry, "test": "yes", "source": ["all"], "when": {"answer": ["yes"]}},
        {**entry, "test": "nothing", "source": ["one_hop 3", "zero_hop 4"], "when": never},
    ]
    own = own_suite(tmp_path, *rows)
    command = ["suite", "own", str(paired_copy), "--templates", str(own), "--hop", HOP]
    check_words(cli(*command).out)
