"""The Parquet folder, read back by Hugging Face's datasets without a network."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from truth import HOP, SPLITS, Truth, prefix

from clevrhope.export import export, parquet


def load(folder: Path, *arguments: Any, cache: Path, **keywords: Any) -> Any:
    import datasets

    return datasets.load_dataset(str(folder), *arguments, cache_dir=str(cache), **keywords)


@pytest.mark.usefixtures("offline")
def test_load_dataset_gives_every_question_in_order_with_its_image(
    dataset: Path, truth: Truth, tmp_path: Path
) -> None:
    made = export(dataset, tmp_path / "out", format="parquet")
    assert made.images
    read = load(tmp_path / "out", HOP, cache=tmp_path / "cache")
    assert tuple(read) == SPLITS
    for split in SPLITS:
        wanted = truth.questions(split)
        assert len(read[split]) == len(wanted)
        for row, question in zip(read[split], wanted, strict=True):
            assert row["question"] == question["question"]
            assert row["answer"] == question["answer"]
            assert row["program"] == prefix(question["program"])
            assert row["question_family_index"] == question["question_family_index"]
            assert row["question_index"] == question["question_index"]
            assert row["image_index"] == question["image_index"]
            np.testing.assert_array_equal(np.asarray(row["image"]), truth.pixels(question["image_filename"]))


@pytest.mark.usefixtures("offline")
def test_each_hop_is_a_config_with_splits_of_its_own(png_dataset: Path, truth: Truth, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="parquet")
    import datasets

    assert datasets.get_dataset_config_names(str(tmp_path / "out")) == ["none", HOP]
    rows = load(tmp_path / "out", "none", cache=tmp_path / "cache", split="val", streaming=True)
    assert [row["question"] for row in rows] == [row["question"] for row in truth.questions("val", "none")]


@pytest.mark.usefixtures("offline")
def test_several_files_a_split_are_one_split_in_order(
    png_dataset: Path, truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "IMAGES_A_FILE", 5)
    monkeypatch.setattr(parquet, "IMAGES_A_GROUP", 2)
    export(png_dataset, tmp_path / "out", format="parquet", hops=[HOP])
    names = sorted(path.name for path in (tmp_path / "out" / HOP).glob("train-*"))
    assert names == [f"train-{k:05d}-of-00004.parquet" for k in range(4)]
    for split in ("train", "minimal_iid"):
        rows = load(tmp_path / "out", HOP, cache=tmp_path / "cache", split=split)
        assert list(rows["question_index"]) == list(range(len(truth.questions(split))))


def test_an_image_of_nine_questions_is_in_the_file_once(png_dataset: Path, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="parquet", hops=[HOP], splits=["train"])
    (path,) = (tmp_path / "out" / HOP).iterdir()
    group = pq.ParquetFile(path).metadata.row_group(0)
    (column,) = (
        group.column(k) for k in range(group.num_columns) if group.column(k).path_in_schema == "image.bytes"
    )
    images = {row["image"]["path"]: row["image"]["bytes"] for row in pq.read_table(path).to_pylist()}
    once = sum(map(len, images.values()))
    assert len(images) == 18
    assert group.num_rows == 9 * len(images)
    assert once < column.total_uncompressed_size < 2 * once


@pytest.mark.usefixtures("offline")
def test_without_images_there_is_no_column_of_them_and_the_card_says_so(
    bare_dataset: Path, truth: Truth, tmp_path: Path
) -> None:
    assert not export(bare_dataset, tmp_path / "out", format="parquet").images
    rows = load(tmp_path / "out", HOP, cache=tmp_path / "cache", split="train")
    assert "image" not in rows.features
    assert list(rows["answer"]) == [row["answer"] for row in truth.questions("train")]
    assert "Text only" in (tmp_path / "out" / "README.md").read_text()
