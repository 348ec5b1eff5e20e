"""The export for reinforcement learning: its rows in `datasets`, their rewards, and the hold-out."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli
from truth import HOP, Truth

import clevrhope
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.levels import floors, read_levels
from clevrhope.errors import ConfigError
from clevrhope.export import export
from clevrhope.rewards import answer_reward, compute_score, compute_score_easyr1
from wording import refused

pytestmark = [
    pytest.mark.usefixtures("offline"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]

PAGE = Path(__file__).parents[2] / "docs/training_vlms.md"


@pytest.fixture(scope="module")
def exported(png_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rl") / "out"
    export(png_dataset, out, format="rl", hops=[HOP], splits=["train", "complex_iid", "complex_ood"])
    return out


@pytest.fixture(scope="module")
def exported_sets(set_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rl_sets") / "out"
    export(set_dataset, out, format="rl", splits=["covr_test"])
    return out


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def rows_of(path: Path) -> Any:
    from datasets import load_dataset

    return load_dataset("parquet", data_files=str(path), split="train")


def rewards(row: dict[str, Any], reply: str) -> set[float]:
    """What a reply earns, by all rewards."""
    truth, about = row["reward_model"]["ground_truth"], row["extra_info"]
    easyr1 = compute_score_easyr1({"response": reply, "ground_truth": row["answer"]})
    assert isinstance(easyr1, dict)
    return {
        *answer_reward([reply], [row["question"]], [truth], [about["asked"]]),
        compute_score(row["data_source"], reply, truth, about)["score"],
        easyr1["overall"],
    }


@pytest.mark.parametrize("split", ["complex_ood", "covr_test"])
def test_the_right_answer_of_a_row_alone_is_rewarded(exported: Path, exported_sets: Path, split: str) -> None:
    of_sets = split.startswith("covr")
    rows = rows_of((exported_sets if of_sets else exported) / HOP / f"{split}.parquet")
    answers = {row["reward_model"]["ground_truth"] for row in rows}
    assert len(answers) > 4
    for row in rows:
        right = row["reward_model"]["ground_truth"]
        assert json.loads(row["answer"])["answer"] == right
        assert rewards(row, f"I look. <answer>{right}</answer>") == {1}
        for wrong in answers - {right}:
            assert rewards(row, f"I look. <answer>{wrong}</answer>") == {0}
        assert rewards(row, right) == {0}, "it is not marked"


def test_rows_are_the_questions_with_their_images(exported: Path, png_dataset: Path) -> None:
    rows, truth = rows_of(exported / HOP / "train.parquet"), Truth(png_dataset)
    for k, (row, wanted) in enumerate(zip(rows, truth.questions("train"), strict=True)):
        (message,) = row["prompt"]
        assert message["role"] == "user"
        assert message["content"] == row["problem"]
        assert row["problem"].startswith(f"<image>{wanted['question']} Think")
        assert row["problem"].endswith("between <answer> and </answer>.")
        about = {"index": k, "split": "train", "instruction": "think-1", "question": wanted["question"]}
        assert row["extra_info"] == {**about, "asked": []}
        assert (row["reward_model"]["style"], row["data_source"]) == ("rule", f"clevrhope/{HOP}/train")
        (image,) = row["images"]
        np.testing.assert_array_equal(np.asarray(image), truth.pixels(wanted["image_filename"]))


def test_rows_of_sets_have_all_images(exported_sets: Path, set_dataset: Path) -> None:
    rows = rows_of(exported_sets / HOP / "covr_test.parquet")
    items = clevrhope.load(set_dataset, HOP, "covr_test", text=True)
    assert {len(row["images"]) for row in rows} > {3, 4}
    for row, item in zip(rows, items, strict=True):
        assert row["problem"].startswith("<image>" * len(row["images"]) + item["question_text"])
        assert item["answer_text"] in row["extra_info"]["asked"]
        for image, pixels in zip(row["images"], item["images"], strict=True):
            np.testing.assert_array_equal(np.asarray(image), pixels)


def test_an_image_is_stored_once_a_row_group(exported: Path) -> None:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(exported / HOP / "train.parquet")
    sizes = {}
    for row in file.read(["images"])["images"].to_pylist():
        sizes |= {image["path"]: len(image["bytes"]) for image in row}
    group = file.metadata.row_group(0)
    columns = {group.column(k).path_in_schema: group.column(k) for k in range(group.num_columns)}
    stored = columns["images.list.element.bytes"].total_uncompressed_size
    assert file.metadata.num_row_groups == 1
    assert file.metadata.num_rows == 9 * len(sizes)
    assert stored < 2 * sum(sizes.values())


def test_levels_and_floors(png_dataset: Path, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="rl", hops=[HOP], splits=["train"], levels=[2, 4])
    rows = rows_of(tmp_path / "out" / HOP / "train.parquet")
    table = clevrhope.load(png_dataset, HOP, "train").table
    levels = read_levels(Layout(png_dataset), table)
    of_levels = floors(table, levels)
    chosen = np.flatnonzero(np.isin(levels, [2, 4])).tolist()
    assert [row["extra_info"]["index"] for row in rows] == chosen
    for row in rows:
        assert row["level"] == levels[row["extra_info"]["index"]]
        assert row["floor"] == pytest.approx(max(of_levels[row["level"]]))
    text = (tmp_path / "out" / "README.md").read_text("utf-8")
    for level in (2, 4):
        numbers = " | ".join(f"{number:.3f}" for number in of_levels[level])
        n = np.sum(levels == level)
        assert f"| {HOP} train | {level} | {n} | {numbers} |" in text


def test_train_never_shows_or_names_the_pair_and_ood_asks_for_it(exported: Path, png_dataset: Path) -> None:
    pair = {"material": "rubber", "shape": "cylinder"}
    words = re.compile(r"\b(rubber|matte) cylinders?\b")

    def scenes(split: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
        items = clevrhope.load(png_dataset, HOP, split, images=False, scenes=True)
        for row in rows_of(exported / HOP / f"{split}.parquet"):
            yield row["problem"], items[row["extra_info"]["index"]]["scene"]["objects"]

    for split, is_there in (("train", False), ("complex_iid", False), ("complex_ood", True)):
        for problem, objects in scenes(split):
            assert any(pair.items() <= each.items() for each in objects) is is_there
            assert bool(words.search(problem)) is is_there


def test_an_instruction_of_ones_own_and_no_images(bare_dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("Reply with \\boxed{}.")
    export(bare_dataset, tmp_path / "out", format="rl", hops=[HOP], instruction=tmp_path / "mine.txt")
    row = rows_of(tmp_path / "out" / HOP / "train.parquet")[0]
    assert "images" not in row
    assert row["problem"] == f"{row['question']} Reply with \\boxed{{}}."
    assert row["extra_info"]["instruction"].startswith("file-")
    source = json.loads((tmp_path / "out" / "source.json").read_text())
    assert source["instruction"] == row["extra_info"]["instruction"]


def test_what_it_refuses(png_dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for wrong in (
        {"format": "parquet", "levels": [1]},
        {"format": "coco", "instruction": "short"},
        {"format": "rl", "levels": [7], "splits": ["train"]},
        {"format": "rl", "instruction": "thnik"},
    ):
        with refused(ConfigError):
            export(png_dataset, out, hops=[HOP], **wrong)
    assert not out.exists()


def test_the_commands_of_the_page(png_dataset: Path, tmp_path: Path, cli: Cli) -> None:
    """verl and EasyR1 have environments of their own; the files and rewards that they are given are here."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (command,) = re.findall(r"^clevrhope (export .*)$", "".join(blocks), re.MULTILINE)
    words = [
        {"out/small": png_dataset, "small-rl": tmp_path / "small-rl"}.get(each, each)
        for each in command.split()
    ]
    cli(*words)
    named = {name for block in blocks for name in re.findall(r"small-rl/\w+/\w+\.parquet", block)}
    assert len(named) == 3
    assert all((tmp_path / name).is_file() for name in named)
    keys = {name for block in blocks for name in re.findall(r"_key=(\w+)", block)}
    assert keys == {"images", "problem", "answer"}
    assert keys <= set(rows_of(tmp_path / "small-rl" / HOP / "train.parquet").column_names)
    functions = {name for block in blocks for name in re.findall(r"compute_score\w*", block)}
    assert functions == {compute_score.__name__, compute_score_easyr1.__name__}
