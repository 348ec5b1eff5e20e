"""What a dataset says, read from its JSON files and from the scenes that its images were made of."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from fake_renderer import pixels_of

import clevrhope

HOP = "rubber_cylinder"
SPLITS = ("train", "val_iid", "complex_iid", "complex_ood", "minimal_iid", "minimal_ood")


class Truth:
    """What a dataset says, read from its JSON files and from the scenes that its images were made of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def questions(self, split: str, hop: str = HOP) -> list[dict[str, Any]]:
        content = json.loads((self.folder / "hops" / hop / f"{split}_questions.json").read_text())
        return list(content["questions"])

    def scenes(self, pool: str) -> dict[int, dict[str, Any]]:
        shards = sorted((self.folder / "scenes" / pool).glob("*.json"))
        rows = [row for shard in shards for row in json.loads(shard.read_text())["scenes"]]
        return {row["image_index"]: row for row in rows}

    def pixels(self, image_filename: str) -> np.ndarray:
        """What the renderer gave for an image, by its name, such as HOPE_train_000007.png."""
        pool, _, index = Path(image_filename).stem.removeprefix("HOPE_").rpartition("_")
        return pixels_of(self.scenes(pool)[int(index)])


def items_of_sets(folder: Path, split: str) -> list[dict[str, Any]]:
    """What `clevrhope.load` gives of questions over several images, which is what their JSON file says."""
    items = list(clevrhope.load(folder, HOP, split, text=True))
    content = (folder / "covr" / HOP / f"{split.removeprefix('covr_')}_questions.json").read_text()
    for item, row in zip(items, json.loads(content)["questions"], strict=True):
        assert item["question_text"] == row["question"]
        assert item["image_indices"] == row["image_indices"]
    return items


def check_row_of_set(row: dict[str, Any], item: dict[str, Any]) -> None:
    """An exported row says what `clevrhope.load` gives."""
    assert row["question"] == item["question_text"]
    assert row["answer"] == item["answer_text"]
    assert row["program"] == item["program_text"].split()
    for name in ("template", "structure", "source", "question_index", "image_indices"):
        assert row[name] == item[name], name


def prefix(program: list[dict[str, Any]]) -> list[str]:
    """A program's functions in prefix order, by recursion over its nodes."""

    def below(k: int) -> list[str]:
        node = program[k]
        value = f"[{node['value_inputs'][0]}]" if node["value_inputs"] else ""
        return [node["function"] + value, *(name for each in node["inputs"] for name in below(each))]

    return below(len(program) - 1)
