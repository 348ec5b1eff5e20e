"""The split for tuning: folders from before there was one, palettes, plans and what datasheets say of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli, request

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import read_table
from clevrhope.pipeline import Limits, build

KEPT = Path(__file__).parents[1] / "data" / "kept_folder"
HOP = "rubber_cylinder"
BUILD = ("build", "--hop", HOP, "--no-render", "--quiet", "--out")


def test_a_palettes_split_has_the_combinations_of_its_train_set(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sizes = {"train": 400, "val_iid": 400}
    build(
        request(
            out,
            hops=("cyan_cylinder",),
            limits=Limits(diversities=(4,), mode="nested"),
            splits=("train", "val_iid"),
            sizes=sizes,
            render=False,
        )
    )
    layout, hop = Layout(out), "cyan_cylinder-d4"
    seen: dict[str, set[tuple[str, str]]] = {}
    for split in ("train", "val_iid"):
        file = json.loads(layout.questions_json(hop, split).read_text())
        used = {row["image_index"] for row in file["questions"]}
        (folder,) = {row["image_filename"].split("_", 1)[1].rpartition("_")[0] for row in file["questions"]}
        scenes = [
            scene
            for shard in sorted((out / "scenes" / folder).glob("*.json"))
            for scene in json.loads(shard.read_text())["scenes"]
            if scene["image_index"] in used
        ]
        assert len(scenes) == len(used)
        seen[split] = {(each["color"], each["shape"]) for scene in scenes for each in scene["objects"]}
    assert seen["train"] == seen["val_iid"]
    assert len(seen["train"]) == 3, "all of the four but the held-out pair"
    numbers = [read_table(layout.questions_h5(hop, split)).image_idxs for split in seen]
    assert all(len(np.unique(each)) > 1 for each in numbers)


@pytest.mark.slow
def test_plans_and_datasheets_have_the_split(tmp_path: Path, cli: Cli) -> None:
    plan = ["plan", "--hop", HOP, "--preset", "demo", "--no-render", "--out", str(tmp_path / "out")]
    (line,) = [each for each in cli(*plan).out.splitlines() if " val_iid " in each]
    assert line.split() == [HOP, "val_iid", "36", "4"]
    planned: dict[str, Any] = json.loads(cli(*plan, "--json").out)
    (split,) = [each for each in planned["splits"] if each["split"] == "val_iid"]
    assert split["questions"] == 36
    cli(*BUILD, tmp_path / "out", "--preset", "demo", "--seed", "1")
    sheet = (tmp_path / f"out/hops/{HOP}/DATASHEET.md").read_text().replace("\\", "")
    assert "Choose settings and checkpoints on `val_iid`, never on the test sets." in sheet
    assert "the paper had no validation split" in sheet
    assert "val_iid: 36 questions on 4 images; there is no rubber cylinder in any image" in sheet


def test_without_the_split_the_datasheet_recommends_none(tmp_path: Path) -> None:
    build(request(tmp_path / "out", splits=("train", "complex_ood"), render=False))
    sheet = (tmp_path / f"out/hops/{HOP}/DATASHEET.md").read_text()
    assert "Never choose settings or checkpoints on the test sets." in sheet
    assert "val_iid" not in sheet.replace("\\", "")
