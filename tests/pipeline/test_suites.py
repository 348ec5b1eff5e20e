"""`clevrhope suite`: the same bytes however it runs, files that belong to the folder, and searches."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from building import Cli, request, tree
from suite_folders import ASKED, ENTRY, HOP, SIZES, own_suite

from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.errors import DatasetError, TemplateError
from clevrhope.pipeline import build, build_part, merge, parse_shard, suites
from clevrhope.pipeline.suite_maker import SuiteMaker
from clevrhope.pipeline.suites import make_suite
from clevrhope.runtime import assets
from clevrhope.splits.hops import Hop
from wording import check_refused, check_words

LARGER = {**SIZES, "complex_iid": 270}


def make(out: Path, **changes: Any) -> Path:
    """A folder with a pair and `none`, without images."""
    build(request(out, **{**ASKED, **changes}))
    return out


@pytest.mark.slow
def test_files_are_listed_and_everything_else_stays(plain_suites: Path, paired_suites: Path) -> None:
    layout, before, after = Layout(paired_suites), tree(plain_suites), tree(paired_suites)
    new = after.keys() - before.keys()
    places = [(HOP, "complex_iid"), (HOP, "complex_ood"), ("none", "test")]
    wanted = {
        layout.relative(path)
        for hop, split in places
        for suite in ("carets", "rad")
        for path in (
            layout.suite_h5(hop, suite, split),
            layout.suite_json(hop, suite, split),
            layout.suite_vocab(hop, suite),
        )
    }
    assert new == wanted
    of_hops = [each(hop) for hop in (HOP, "none") for each in (layout.hop_datasheet, layout.hop_measured)]
    sheets = {layout.relative(path) for path in of_hops}
    assert {name for name in before if after[name] != before[name]} == {"manifest.json", *sheets}
    manifest = existing_manifest(layout.manifest)
    assert {name: manifest.files[name].sha256 for name in new | sheets} == {
        name: after[name] for name in new | sheets
    }
    assert audit(paired_suites).ok
    for hop, split in places:
        rows = read_table(layout.questions_h5(hop, split))
        for suite in ("carets", "rad"):
            pairs = read_table(layout.suite_h5(hop, suite, split), PAIRS)
            entry = manifest.suites[hop][suite][split]
            assert entry == {"pairs": len(pairs) // 2, "originals": len(rows)}
            assert (pairs.suite, pairs.hop, pairs.split) == (suite, hop, split)
            with layout.suite_json(hop, suite, split).open() as file:
                asked = json.load(file)["questions"]
            assert [row["pair_index"] for row in asked] == pairs.pair_idxs.tolist()
            assert len(pairs) // 2 > (20 if suite == "carets" else 5)


@pytest.mark.slow
def test_one_thread_and_one_pair_at_a_time_give_the_same_bytes(plain_copy: Path, paired_suites: Path) -> None:
    for arguments in (("carets",), ("rad", "--hop", "none"), ("rad", "--hop", HOP)):
        subprocess.run(
            [sys.executable, "-m", "clevrhope", "suite", arguments[0], plain_copy, *arguments[1:], "--quiet"],
            env={**os.environ, "RAYON_NUM_THREADS": "1"},
            check=True,
        )
    assert tree(plain_copy) == tree(paired_suites)


@pytest.mark.slow
def test_a_run_that_was_killed_leaves_nothing_in_the_way(
    plain_copy: Path, paired_suites: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends after the first split, and once more while a file of the second is being written."""
    written = suites.write_manifest
    with monkeypatch.context() as patch:

        def write(path: Path, manifest: Any) -> None:
            written(path, manifest)
            raise KeyboardInterrupt

        patch.setattr(suites, "write_manifest", write)
        with pytest.raises(KeyboardInterrupt):
            make_suite(plain_copy, "carets")
    partial = Layout(plain_copy).suite(HOP, "carets") / ".clevrhope-complex_ood.h5.partial"
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.write_bytes(b"half")
    make_suite(plain_copy, "carets")
    assert not partial.exists()
    make_suite(plain_copy, "rad")
    assert tree(plain_copy) == tree(paired_suites)


@pytest.mark.slow
def test_a_larger_split_loses_its_suites(paired_copy: Path) -> None:
    layout = Layout(paired_copy)
    summary = build(request(paired_copy, **{**ASKED, "sizes": LARGER}))
    assert summary.suites == {"carets": [HOP], "rad": [HOP]}
    there = {name for name in tree(paired_copy) if "/suites/" in name}
    assert not {name for name in there if "complex_iid" in name}
    assert {f"hops/{HOP}/suites/rad/vocab.json", f"hops/{HOP}/suites/rad/complex_ood.h5"} < there
    manifest = existing_manifest(layout.manifest)
    assert {name for name in manifest.files if "/suites/" in name} == there
    assert manifest.suites[HOP]["rad"].keys() == {"complex_ood"}
    assert audit(paired_copy).ok
    for suite in ("carets", "rad"):
        make_suite(paired_copy, suite)
    at_once = make(paired_copy.with_name("at_once"), sizes=LARGER)
    for suite in ("carets", "rad"):
        make_suite(at_once, suite)
    assert tree(paired_copy) == tree(at_once)


@pytest.mark.slow
def test_the_command_says_which_suites_to_make_again(paired_copy: Path, cli: Cli) -> None:
    again = ["build", "--hop", HOP, "--splits", "complex_iid", "--no-render", "--out", str(paired_copy)]
    cli(*again, "--quiet")
    out = cli(*again, "--test-questions", "300").out
    said = "Pairs of fewer questions or in damaged files were removed; clevrhope suite makes them again: "
    assert f"{said}carets of {HOP}, rad of {HOP}\n" in out
    assert json.loads(cli(*again, "--test-questions", "310", "--json", "--quiet").out)["suites_removed"] == {}


@pytest.mark.slow
def test_question_files_that_come_later_leave_pairs_as_they_are(tmp_path: Path) -> None:
    out = make(tmp_path / "out", question_json=False)
    make_suite(out, "rad")
    before = {name: content for name, content in tree(out).items() if "/suites/" in name}
    make(out)
    assert {name: content for name, content in tree(out).items() if "/suites/" in name} == before
    assert audit(out).ok


@pytest.mark.slow
def test_suites_are_of_whole_datasets(tmp_path: Path, cli: Cli) -> None:
    asked = request(tmp_path / "part", **ASKED)
    build_part(asked, parse_shard("1/1"))
    check_words(cli("suite", "rad", asked.out, code=1).err)
    assert not list(asked.out.glob("hops/*/suites"))
    whole = make(tmp_path / "whole")
    make_suite(whole, "rad")
    larger = request(tmp_path / "larger", **{**ASKED, "sizes": LARGER})
    build_part(larger, parse_shard("1/1"))
    into = request(whole, **{**ASKED, "sizes": LARGER})
    assert merge([larger.out], into).suites == {"rad": [HOP]}
    assert audit(whole).ok


def test_a_search_fills_cells_and_leaves_pairs_of_questions_as_they_are(
    plain_copy: Path, paired_suites: Path, cli: Cli
) -> None:
    arguments = ["suite", "carets", str(plain_copy), "--from", "search", "--per-cell", "6"]
    made = {
        split["split"]: split
        for split in json.loads(cli(*arguments, "--hop", HOP, "--json", "--quiet").out)["splits"]
    }
    for split, said in made.items():
        assert said["per_cell"] == 6
        pairs = read_table(Layout(plain_copy).suite_h5(HOP, "carets", split), PAIRS)
        before = read_table(Layout(paired_suites).suite_h5(HOP, "carets", split), PAIRS)
        of_questions, of_old = ((each.orig_idxs >= 0).reshape(-1, 2).any(axis=1) for each in (pairs, before))
        assert of_questions.sum() == of_old.sum() > 100
        for name in ("questions", "orig_idxs", "relation", "cell", "answers"):
            mine, old = getattr(pairs, name), getattr(before, name)
            assert (mine[of_questions.repeat(2)] == old[of_old.repeat(2)]).all()
        for test in said["tests"]:
            full = {cell for cell, n in test["cells"].items() if n >= 6}
            assert full | test["short"].keys() | set(test["impossible"]) == {"00", "01", "10", "11"}
            assert not full & test["short"].keys()
            for cell, lacks in test["short"].items():
                assert lacks == 6 - test["cells"].get(cell, 0)
    ood = {test["test"]: test for test in made["complex_ood"]["tests"]}
    assert ood["rephrase"]["impossible"] == ["01", "10"]
    assert ood["ontology"]["impossible"] == []
    assert ood["ontology"]["short"] == {}
    assert audit(plain_copy).ok
    before_again = tree(plain_copy)
    out = cli(*arguments, "--hop", HOP).out
    assert tree(plain_copy) == before_again
    check_words(out)


def test_without_pairs_wanted_none_is_searched_for(plain_copy: Path) -> None:
    made = make_suite(plain_copy, "carets", hops=[HOP], per_cell=0)
    counts = {test.test: test.n_pairs for test in made[0].tests}
    assert counts["rephrase"] > 0
    assert counts["rephrase_and"] == 0


def test_an_error_on_a_later_split_leaves_the_suite_as_it_was(
    plain_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_suite(plain_copy, "rad", hops=[HOP])
    before = tree(plain_copy)
    make = SuiteMaker.make

    def fail_at_last(self: SuiteMaker, hop: Hop, split: str) -> Any:
        if split == "complex_ood":
            raise TemplateError("mine.json[0]: the relation does not hold")
        return make(self, hop, split)

    monkeypatch.setattr(SuiteMaker, "make", fail_at_last)
    check_refused(TemplateError, make_suite, plain_copy, "rad", hops=[HOP], origin="search", per_cell=3)
    assert tree(plain_copy) == before


@pytest.mark.slow
def test_pairs_that_are_replaced_are_counted(plain_copy: Path, cli: Cli) -> None:
    search = ["suite", "rad", str(plain_copy), "--hop", HOP, "--from", "search"]
    assert "they replace" not in cli(*search, "--quiet").out
    assert "they replace" not in cli(*search).out
    said = cli(*search[:-2]).out
    assert re.search(r"on the images of 40 questions; they replace the \d+ that were", said)


def test_questions_of_another_dataset_are_refused(plain_copy: Path, tmp_path: Path) -> None:
    path = plain_copy / "hops" / HOP / "complex_iid.h5"
    path.write_bytes((plain_copy / "hops" / HOP / "complex_ood.h5").read_bytes())
    check_refused(DatasetError, make_suite, plain_copy, "rad", hops=[HOP])


@pytest.mark.slow
def test_suites_are_made_in_a_world_of_three_sizes_and_materials(tmp_path: Path) -> None:
    """Where a thing that is not small need not be large."""
    properties = json.loads((assets.blender_assets() / "properties.json").read_bytes())
    properties["sizes"]["middle"] = 0.5
    properties["materials"]["wood"] = "rubber"
    path = tmp_path / "properties.json"
    path.write_text(json.dumps(properties))
    splits = ("complex_iid", "complex_ood")
    hops = ("large_cylinder",)
    make(tmp_path / "out", hops=hops, splits=splits, properties=path)
    for suite in ("carets", "holdout"):
        make_suite(tmp_path / "out", suite, origin="search")
    assert audit(tmp_path / "out", properties=path).ok


def test_a_suite_may_have_no_pairs_on_a_split(plain_copy: Path, tmp_path: Path) -> None:
    never = {**ENTRY, "when": {"answer": ["yes"], "set": ["<C>", "<C2>", "<M>", "<M2>", "<Z>", "<Z2>"]}}
    made = make_suite(plain_copy, "mine", suite_files=own_suite(tmp_path, never))
    assert [each.n_pairs for each in made] == [0, 0, 0]
    pairs = read_table(Layout(plain_copy).suite_h5(HOP, "mine", "complex_iid"), PAIRS)
    assert (len(pairs), pairs.questions.shape[0]) == (0, 0)
    report = audit(plain_copy)
    assert report.ok
    lines = {each.name: each for each in report.checks}
    assert lines["pairs"].note == "this folder has nothing to check here"


def test_cells_that_are_short_are_named(plain_copy: Path, tmp_path: Path, cli: Cli) -> None:
    # The attribute that is compared is never named.
    own = own_suite(tmp_path, {**ENTRY, "when": {"set": ["<C>", "<M>", "<S>", "<Z>"]}})
    arguments = ["suite", "mine", str(plain_copy), "--templates", str(own), "--hop", HOP]
    cli(*arguments, "--quiet")
    check_words(cli(*arguments, "--from", "search", "--per-cell", "7").out)
    # Without a search they are short as well, and more can be searched for.
    check_words(cli(*arguments).out)


@pytest.mark.slow
def test_crossings_are_searched_for_with_their_controls(plain_copy: Path, cli: Cli) -> None:
    arguments = ["suite", "holdout", str(plain_copy), "--from", "search", "--per-cell", "6", "--hop", HOP]
    ood = {split["split"]: split for split in json.loads(cli(*arguments, "--json", "--quiet").out)["splits"]}[
        "complex_ood"
    ]
    tests = {test["test"]: test for test in ood["tests"]}
    assert not any(test["short"] for test in tests.values())
    assert tests["crossing_shape"]["cells"] == {"01": 6, "11": 6}
    assert tests["control_shape"]["cells"] == {"00": 6, "11": 6}
    assert tests["crossing_material"]["cells"] == {"01": 6, "11": 6}
    # Materials have no third value, and colors and sizes are not held out.
    for name in ("control_material", "crossing_color", "control_color", "border_size", "entailment_color"):
        assert tests[name]["impossible"] == ["00", "01", "10", "11"]
    assert audit(plain_copy).ok
