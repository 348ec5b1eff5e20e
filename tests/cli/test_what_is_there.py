"""What is taken from the folder or the parts without --preset; what plan counts; what is no whole number."""

import json
from pathlib import Path

import pytest
from building import Cli, Said, tree
from clevr_making import make_clevr

from clevrhope.pipeline.forecast import SECONDS_A_SPLIT, SECONDS_TO_START
from wording import check_words


@pytest.fixture
def build(cli: Cli) -> Cli:
    """Builds without images; the folder comes first."""

    def run(out: Path, *words: object, command: str = "build", code: int = 0) -> Said:
        return cli(command, *words, "--no-render", "--out", out, code=code)

    return run


def sizes(out: Path) -> dict[str, dict[str, int]]:
    splits = json.loads((out / "manifest.json").read_text())["splits"]
    return {hop: {name: each["questions"] for name, each in found.items()} for hop, found in splits.items()}


@pytest.mark.slow
def test_a_pair_that_is_added_gets_the_sizes_of_the_folder(tmp_path: Path, build: Cli) -> None:
    out = tmp_path / "out"
    first = ["--preset", "small", "--train-questions", "900", "--test-questions", "90", "--images", "png"]
    build(out, "--hop", "rubber_cylinder", "--seed", "3", *first)
    assert "preset small with the sizes of the existing" in build(out, "--hop", "cyan_cylinder").err
    made = sizes(out)
    assert made["cyan_cylinder"]["train"] == made["rubber_cylinder"]["train"] == 900
    assert made["cyan_cylinder"]["complex_ood"] == 90
    assert made["cyan_cylinder"]["minimal_ood"] == 224, "a copy of each grid, as preset small has"
    config = json.loads((out / "manifest.json").read_text())["config"]
    assert (config["preset"], config["images"]) == ("small", "png")
    build(out, "--hop", "none", "--preset", "demo", "--quiet")
    assert sizes(out)["none"]["train"] == 162, "a preset that is named counts"
    config = json.loads((out / "manifest.json").read_text())["config"]
    assert (config["preset"], config["sizes"]["train"]) == ("small", 900), "and takes nothing away"


def test_a_default_folder_that_is_there_is_named(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, build: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["plan", "--hop", "none", "--preset", "demo", "--no-render", "--seed", "4"]
    assert "Without --out" not in cli(*words).err
    build(Path("out/demo"), "--hop", "none", "--preset", "demo", "--seed", "3", "--splits", "val")
    said = cli(*words, code=2).err
    assert "Without --out, this is about out/demo, which is there already." in said
    assert "out/demo: made with another seed (3 there, 4 asked for)" in said


@pytest.mark.slow
def test_what_binds_a_folder_need_not_be_said_again(tmp_path: Path, build: Cli) -> None:
    """Pairs one after the other, or both at once: the same bytes."""
    chosen = ["--minimal-pool", "shared", "--strictness", "implied", "--train-questions", "90", "--seed", "5"]
    chosen += ["--test-questions", "9"]
    build(tmp_path / "twice", "--hop", "rubber_cylinder", *chosen)
    build(tmp_path / "twice", "--hop", "red_cube")
    build(tmp_path / "once", "--hop", "rubber_cylinder,red_cube", *chosen)
    assert tree(tmp_path / "twice") == tree(tmp_path / "once")
    error = build(tmp_path / "twice", "--hop", "red_cube", "--minimal-pool", "own", code=2).err
    assert 'minimal_pool is "shared" there, "own" asked for' in error


def test_a_folder_keeps_its_renderer(tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "out"
    few = ["--train-questions", "9", "--test-questions", "1", "--splits", "train,complex_ood", "--seed", "1"]
    cli("build", "--hop", "rubber_cylinder", *few, "--renderer", "native", "--quality", "draft", "--out", out)
    before = json.loads((out / "manifest.json").read_text())["rendering"]
    again = ["build", "--hop", "red_cube", "--splits", "train", "--out", out]
    cli(*again)
    assert json.loads((out / "manifest.json").read_text())["rendering"] == before
    check_words(cli(*again, "--samples", "4", code=2).err)


def test_an_edited_manifest_is_told_in_a_sentence(tmp_path: Path, build: Cli) -> None:
    out = tmp_path / "out"
    build(out, "--hop", "none", "--seed", "1", "--train-questions", "9", "--test-questions", "9")
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["config"]["sizes"]["train"] = "9"
    (out / "manifest.json").write_text(json.dumps(manifest))
    check_words(build(out, "--hop", "none", code=1).err)


def test_a_file_lies_over_the_sizes_of_the_folder(tmp_path: Path, build: Cli) -> None:
    out, file = tmp_path / "out", tmp_path / "file.toml"
    build(out, "--hop", "none", "--seed", "3", "--train-questions", "300", "--test-questions", "30")
    file.write_text("[sizes]\nval = 40\n")
    build(out, "--hop", "none", "--config", file)
    assert sizes(out)["none"] == {"train": 300, "val": 40, "test": 30}


@pytest.mark.slow
def test_merge_takes_from_the_parts_what_binds_them(tmp_path: Path, build: Cli) -> None:
    clevr = make_clevr(tmp_path / "CLEVR_v1.0", 200).root
    which = ["--hop", "rubber_cylinder", "--clevr", clevr]
    asked = [*which, "--seed", "4", "--clevr-share", "0.4", "--minimal-pool", "shared"]
    asked += ["--strictness", "implied", "--train-questions", "400", "--test-questions", "40"]
    asked += ["--no-json", "--images", "png"]
    parts = [tmp_path / "1", tmp_path / "2"]
    for number, part in enumerate(parts, 1):
        build(part, *asked, "--shard", f"{number}/2")
    build(tmp_path / "whole", *asked)
    build(tmp_path / "joined", *parts, *which, command="merge")
    assert tree(tmp_path / "joined") == tree(tmp_path / "whole")
    (tmp_path / "joined/hops/rubber_cylinder/train.h5").unlink()  # as if it had been stopped before the end
    build(tmp_path / "joined", *parts, *which, command="merge")
    assert tree(tmp_path / "joined") == tree(tmp_path / "whole"), "the parts' choices hold there too"
    other = [*parts, *which, "--minimal-pool", "own"]
    assert "minimal_pool" in build(tmp_path / "other", *other, command="merge", code=2).err
    assert not (tmp_path / "other").exists()


def test_a_plan_counts_what_each_split_costs_whatever_its_size(tmp_path: Path, cli: Cli) -> None:
    """The text of 30 splits of nine questions or so is made in no time; a build of them takes seconds."""
    arguments = ["plan", "--prelim", "all", "--no-render", "--json", "--out", str(tmp_path / "out")]
    planned = json.loads(cli(*arguments).out)
    assert len(planned["splits"]) == 30
    assert planned["seconds"] >= SECONDS_TO_START + 30 * SECONDS_A_SPLIT > 3
