"""Pools with a palette: what is seen and named at a lower diversity, and CoGenT's conditions."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import Make, tree

from clevrhope.__main__ import run_command
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.report import Fault
from clevrhope.config.presets import PRESETS
from clevrhope.dataset.contents import hops_in
from clevrhope.dataset.layout import Layout
from clevrhope.describe.stats.comparison import measure_folder
from clevrhope.errors import DatasetError
from clevrhope.pipeline import Limits, Request
from clevrhope.pipeline.forecast import make_plan, plan_json, plan_lines
from clevrhope.scenes import read_world
from clevrhope.splits.hops import name_order, parse_hop
from wording import check_refused

COGENT_A = {
    "cube": ["gray", "blue", "brown", "yellow"],
    "cylinder": ["red", "green", "purple", "cyan"],
    "sphere": ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"],
}
COGENT_B = {**COGENT_A, "cube": COGENT_A["cylinder"], "cylinder": COGENT_A["cube"]}
PAIR_SPLITS = ("train", "val_iid", "complex_iid", "complex_ood", "minimal_iid", "minimal_ood")
Combination = tuple[str, ...]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of two sorts of types at several diversities, and one plain, text only."""
    out = tmp_path_factory.mktemp("palettes") / "out"
    build_text(out, "--hop cyan_cylinder --diversity 4,24")
    build_text(out, "--hop cyan_cylinder --diversity 8 --diversity-mode grid")
    build_text(out, "--hop large_cyan --diversity 8")
    build_text(out, "--hop cyan_cylinder")
    return out


def build_text(out: Path, options: str) -> None:
    """Builds a folder without images from the command line."""
    words = ["build", *options.split(), "--out", str(out), "--seed", "5", "--no-render", "--quiet"]
    assert run_command(words) == 0


HOPS = ("cyan_cylinder-d4", "cyan_cylinder-d24", "cyan_cylinder-d8-grid", "large_cyan-d8")


def manifest(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return content


def test_sub_datasets_are_listed_by_name_with_their_numbers_by_size(folder: Path) -> None:
    wanted = [
        "cyan_cylinder",
        "cyan_cylinder-d4",
        "cyan_cylinder-d8-grid",
        "cyan_cylinder-d24",
        "large_cyan-d8",
    ]
    content = manifest(folder)
    assert list(content["splits"]) == list(content["checked"]) == wanted
    assert list(content["palettes"]) == wanted[1:]
    assert list(hops_in(Layout(folder))) == wanted
    assert re.findall(r'<section id="([^"]+)"', (folder / "index.html").read_text()) == wanted
    in_datasheet = re.findall(r"hops/([^/)]+)/DATASHEET", (folder / "DATASHEET.md").read_text())
    assert list(dict.fromkeys(in_datasheet)) == wanted
    assert [each.group for each in measure_folder(folder)] == wanted


def test_the_order_of_names() -> None:
    names = ["none", "a_b-d16", "a_c", "a_b-d4-grid", "a_b", "a_b-d8", "a_b-d04", "a_b-d4"]
    in_order = ["a_b", "a_b-d04", "a_b-d4", "a_b-d4-grid", "a_b-d8", "a_b-d16", "a_c", "none"]
    assert sorted(names, key=name_order) == in_order


def questions(folder: Path, hop: str, split: str) -> list[dict[str, Any]]:
    path = folder / "hops" / hop / f"{split}_questions.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text())["questions"]
    return rows


def shown(folder: Path, hop: str, split: str, types: Sequence[str]) -> set[Combination]:
    """The combinations of the types in the images that a split asks about."""
    used = {row["image_index"] for row in questions(folder, hop, split)}
    pool = manifest(folder)["splits"][hop][split]["pool"]
    scenes = [
        scene
        for path in sorted((folder / "scenes" / pool).glob("*.json"))
        for scene in json.loads(path.read_text())["scenes"]
    ]
    return {
        tuple(each[kind] for kind in types)
        for scene in scenes
        if scene["image_index"] in used
        for each in scene["objects"]
    }


@pytest.mark.parametrize("hop", HOPS)
def test_images_keep_to_what_is_seen(folder: Path, hop: str) -> None:
    """`LeakCheck`, which follows below, knows what questions ask for."""
    palette = manifest(folder)["palettes"][hop]
    held_out = tuple(palette["held_out"])
    (row,) = palette["rows"]
    seen = {tuple(each) for each in row}
    assert len(seen) + 1 == int(hop.split("-d")[1].split("-")[0])
    assert held_out not in seen
    for k, value in enumerate(held_out):
        assert any(each[k] == value for each in seen), "seen with another partner"
    for split in PAIR_SPLITS:
        there = shown(folder, hop, split, palette["types"])
        is_ood = split.endswith("ood")
        assert there <= seen | ({held_out} if is_ood else set()), split
        assert (held_out in there) == is_ood
    if len(seen) < 8:  # of more, a demo shows most
        assert shown(folder, hop, "train", palette["types"]) == seen


def test_lower_diversities_lie_within_higher_ones(folder: Path) -> None:
    palettes = manifest(folder)["palettes"]
    low, high = (
        {tuple(each) for row in palettes[f"cyan_cylinder-{d}"]["rows"] for each in row} for d in ("d4", "d24")
    )
    assert low < high
    assert len(high) == 23


def test_everything_is_in_order_and_told(folder: Path) -> None:
    for hop in (*HOPS, "cyan_cylinder"):
        assert check(folder, hop) == ()
        has_palette = hop in manifest(folder)["palettes"]
        sheet = (folder / "hops" / hop / "DATASHEET.md").read_text()
        assert ("## What was seen?" in sheet) == has_palette
        told = "No object has a combination of values that is not in the palette"
        assert (told in sheet) == has_palette
    sheet = (folder / "hops" / "cyan_cylinder-d4" / "DATASHEET.md").read_text()
    assert "Of the types' combinations 4 are used" in sheet
    assert "held out |" in sheet


def test_the_plain_pair_is_as_it_is_alone(folder: Path, tmp_path: Path) -> None:
    build_text(tmp_path / "alone", "--hop cyan_cylinder")
    assert "palettes" not in manifest(tmp_path / "alone")
    alone, there = tree(tmp_path / "alone"), tree(folder)
    data = [name for name in alone if name.startswith(("scenes/", "hops/")) and not name.endswith(".md")]
    assert len(data) > 10
    assert all(there[name] == alone[name] for name in data)


def spoil(folder: Path, hop: str, split: str, change: dict[str, str], table: str, name: str) -> int:
    """Changes tokens in a split's first row that has them; gives the row."""
    numbers = json.loads((folder / "vocab.json").read_text())[table]
    (old, new) = next(iter(change.items()))
    with h5py.File(folder / "hops" / hop / f"{split}.h5", "r+") as file:
        rows = file[name][:]
        k = int(np.flatnonzero((rows == numbers[old]).any(axis=1))[0])
        rows[k][rows[k] == numbers[old]] = numbers[new]
        file[name][k] = rows[k]
    return k


def check(folder: Path, hop: str) -> tuple[Fault, ...]:
    return LeakCheck(folder).check(parse_hop(hop, read_world().attribute_types)).violations


@pytest.mark.parametrize("split", ["train", "complex_ood"])
@pytest.mark.parametrize(("table", "name"), [("program", "programs"), ("question", "questions")])
def test_planted_absent_combinations_are_caught(
    folder: Path, tmp_path: Path, split: str, table: str, name: str
) -> None:
    hop = "cyan_cylinder-d4"
    palette = manifest(folder)["palettes"][hop]
    (row,) = palette["rows"]
    old = palette["held_out"][0] if split == "complex_ood" else row[0][0]
    new = next(color for color in ("red", "blue") if all(each[0] != color for each in row))
    if name == "programs":
        old, new = f"filter_color[{old}]", f"filter_color[{new}]"
    copied = shutil.copytree(folder, tmp_path / "out")
    k = spoil(copied, hop, split, {old: new}, f"{table}_token_to_idx", name)
    where = {"programs": "program", "questions": "words"}[name]
    problems = {each.problem for each in check(copied, hop) if each.index == k}
    assert f"asks for an unseen combination in its {where}" in problems, problems


@pytest.mark.parametrize("split", ["train", "minimal_ood"])
def test_a_planted_object_is_caught(folder: Path, tmp_path: Path, split: str) -> None:
    hop = "cyan_cylinder-d4"
    copied = shutil.copytree(folder, tmp_path / "out")
    used = {row["image_index"] for row in questions(folder, hop, split)}
    path = copied / "scenes" / manifest(folder)["splits"][hop][split]["pool"] / "0000.json"
    index = plant(path, used, {"color": "red", "shape": "cube"})
    shown = [each for each in check(copied, hop) if "shows an unseen combination" in each.problem]
    assert {(each.index, each.value) for each in shown} >= {(index, "red cube")}


def plant(path: Path, used: set[int], values: dict[str, str]) -> int:
    """Gives the first object of the first of some scenes other values; returns the scene's index."""
    content = json.loads(path.read_text())
    scene = next(scene for scene in content["scenes"] if scene["image_index"] in used)
    scene["objects"][0] |= values
    path.write_text(json.dumps(content))
    return int(scene["image_index"])


def test_a_palette_that_is_not_the_pairs_is_caught(folder: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(folder, tmp_path / "out")
    content = manifest(folder)
    content["palettes"]["cyan_cylinder-d4"]["rows"][0].append(["cyan", "cylinder"])
    del content["palettes"]["large_cyan-d8"]
    (copied / "manifest.json").write_text(json.dumps(content))
    for hop in ("cyan_cylinder-d4", "large_cyan-d8"):
        check_refused(DatasetError, check, copied, hop)


def write_cogent(folder: Path) -> None:
    """Writes the palettes of both conditions."""
    for name, content in (("CoGenT_A", COGENT_A), ("CoGenT_B", COGENT_B)):
        (folder / f"{name}.json").write_text(json.dumps(content))


def test_cogents_conditions_are_a_build_of_their_own(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_cogent(tmp_path)
    palettes = f"--palette {tmp_path}/CoGenT_A.json --test-palette {tmp_path}/CoGenT_B.json"
    build_text(out, f"--hop none {palettes} --train-questions 900")
    splits = manifest(out)["splits"]["none-CoGenT_A"]
    assert {name: each["pool"] for name, each in splits.items()} == {
        "train": "train-CoGenT_A",
        "val": "val-CoGenT_A",
        "test": "test_iid-CoGenT_A",
        "val_b": "val-CoGenT_B",
        "test_b": "test_iid-CoGenT_B",
    }
    allowed = [
        {(color, shape) for shape, colors in each.items() for color in colors}
        for each in (COGENT_A, COGENT_B)
    ]
    for split in splits:
        there = shown(out, "none-CoGenT_A", split, ("color", "shape"))
        assert there <= allowed[split.endswith("_b")], split
    assert shown(out, "none-CoGenT_A", "train", ("color", "shape")) == allowed[0], "all combinations occur"
    sheet = (out / "hops" / "none-CoGenT_A" / "DATASHEET.md").read_text()
    assert "`val_b` and `test_b` show those of `CoGenT_B`" in sheet
    for a, b in (("train", "val"), ("train", "test"), ("val", "val_b"), ("test", "test_b")):
        assert f"Total variation distance between `{a}` and `{b}`" in sheet
    assert not re.search("minimal|complex|the pair|same pair|systematicity gap", sheet), "there is no pair"
    (beside,) = measure_folder(out)
    compared = [(each["a"], each["b"]) for each in beside.comparisons]
    assert compared == [("val", "train"), ("test", "train"), ("val_b", "val"), ("test_b", "test")]
    both = (out / "DATASHEET.md").read_text()
    assert "A dataset with nothing held out; 28 possible answers" in both
    # An object of the other condition is a fault.
    used = {row["image_index"] for row in questions(out, "none-CoGenT_A", "test_b")}
    plant(out / "scenes/test_iid-CoGenT_B/0000.json", used, {"color": "gray", "shape": "cube"})
    problems = {(each.problem, each.value) for each in check(out, "none-CoGenT_A")}
    assert ("an image of test_b shows an unseen combination", "gray cube") in problems


def test_a_pair_can_be_held_out_of_a_palette_file(tmp_path: Path, make: Make) -> None:
    write_cogent(tmp_path)
    limits = Limits(palette=tmp_path / "CoGenT_A.json")
    make(tmp_path / "out", hops=("cyan_cylinder",), limits=limits, render=False)
    palette = manifest(tmp_path / "out")["palettes"]["cyan_cylinder-CoGenT_A"]
    assert len(palette["rows"][0]) == 15
    assert ["cyan", "cylinder"] not in palette["rows"][0]
    there = shown(tmp_path / "out", "cyan_cylinder-CoGenT_A", "complex_ood", ("color", "shape"))
    assert ("cyan", "cylinder") in there
    assert ("cyan", "cube") not in there
    assert (
        "(the diversity), the pair among them"
        in (tmp_path / "out" / "hops" / "cyan_cylinder-CoGenT_A" / "DATASHEET.md").read_text()
    )


def test_the_plan_says_what_is_seen(tmp_path: Path) -> None:
    request = Request(
        tmp_path / "out", ("cyan_cylinder",), PRESETS["small"], 5, render=False, limits=Limits((8,), "grid")
    )
    plan = make_plan(request)
    (line,) = [line for line in plan_lines(plan) if " sees " in line]
    assert line.startswith("cyan_cylinder-d8-grid sees ")
    assert line.endswith("; not cyan cylinder")
    (palette,) = plan_json(plan)["palettes"].values()
    assert len(palette["rows"][0]) == 7
    assert not (tmp_path / "out").exists()
