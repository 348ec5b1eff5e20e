"""Questions over several images as Parquet and as tar shards, against what `clevrhope.load` gives."""

import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import webdataset as wds
from building import tree
from truth import HOP

import clevrhope
from clevrhope.__main__ import run_command
from clevrhope.errors import ConfigError
from clevrhope.export import Exported, export, parquet, webdataset
from clevrhope.splits.covr.kinds import COVR_SPLITS
from wording import refused

# The library leaves it to the garbage collector to close the shards that it has read.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]

CONFIG = f"{HOP}.covr"
SHARED = ("template", "structure", "source", "question_index", "image_indices")
"""Columns that are in items of `load` under the same name."""

forms = pytest.mark.parametrize("name", ["parquet", "webdataset"])


def exported(folder: Path, out: Path, name: str, *splits: str, **choices: Any) -> Exported:
    return export(folder, out, format=name, splits=splits or COVR_SPLITS, **choices)


def items(folder: Path, split: str) -> list[dict[str, Any]]:
    found = list(clevrhope.load(folder, HOP, split, text=True))
    content = (folder / "covr" / HOP / f"{split.removeprefix('covr_')}_questions.json").read_text()
    for item, row in zip(found, json.loads(content)["questions"], strict=True):
        assert item["question_text"] == row["question"]
        assert item["image_indices"] == row["image_indices"]
    return found


def read(out: Path, cache: Path, **keywords: Any) -> Any:
    import datasets

    return datasets.load_dataset(str(out), CONFIG, cache_dir=str(cache), **keywords)


def samples(out: Path, split: str) -> list[dict[str, Any]]:
    shards = json.loads((out / "shards.json").read_text())[HOP][split]["shards"]
    return list(wds.WebDataset(str(out / shards), shardshuffle=False).decode("rgb8"))


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def check(row: dict[str, Any], item: dict[str, Any]) -> None:
    assert row["question"] == item["question_text"]
    assert row["answer"] == item["answer_text"]
    assert row["program"] == item["program_text"].split()
    for name in SHARED:
        assert row[name] == item[name], name


# Parquet


@pytest.mark.slow
@pytest.mark.usefixtures("offline")
def test_load_dataset_gives_every_question_with_its_images_in_order(
    set_dataset: Path, tmp_path: Path
) -> None:
    import datasets

    assert exported(set_dataset, tmp_path / "out", "parquet").images
    assert datasets.get_dataset_config_names(str(tmp_path / "out")) == [CONFIG]
    tables = read(tmp_path / "out", tmp_path / "cache")
    assert tuple(tables) == COVR_SPLITS
    assert tables[COVR_SPLITS[0]].features["images"] == datasets.Sequence(datasets.Image())
    for split in COVR_SPLITS:
        wanted, sizes = items(set_dataset, split), set()
        named = tables[split].features["answer"].int2str
        for row, item in zip(tables[split], wanted, strict=True):
            assert row["answer"] == item["answer"]
            check({**row, "answer": named(row["answer"])}, item)
            sizes.add(len(row["images"]))
            for image, pixels in zip(row["images"], item["images"], strict=True):
                np.testing.assert_array_equal(np.asarray(image), pixels)
        assert max(sizes) == 5
        assert len(sizes) > 1
        for first, second in zip(wanted[::2], wanted[1::2], strict=False):
            assert first["question_text"] == second["question_text"]


@pytest.mark.usefixtures("offline")
def test_several_files_are_one_split_in_order(
    set_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "IMAGES_A_FILE", 20)
    monkeypatch.setattr(parquet, "SETS_A_GROUP", 3)
    exported(set_dataset, tmp_path / "out", "parquet", "covr_dev")
    n_images = sum(len(item["image_indices"]) for item in items(set_dataset, "covr_dev"))
    files = list((tmp_path / "out" / CONFIG).iterdir())
    assert len(files) == -(-n_images // 20) > 1
    assert all(pq.ParquetFile(path).metadata.num_rows for path in files)
    rows = read(tmp_path / "out", tmp_path / "cache", split="covr_dev", streaming=True)
    assert [row["question_index"] for row in rows] == list(range(30))


def test_an_image_of_several_sets_is_in_a_group_once(set_dataset: Path, tmp_path: Path) -> None:
    exported(set_dataset, tmp_path / "out", "parquet", "covr_test_ood")
    (path,) = (tmp_path / "out" / CONFIG).iterdir()
    group = pq.ParquetFile(path).metadata.row_group(0)
    name = "images.list.element.bytes"
    (column,) = (group.column(k) for k in range(group.num_columns) if group.column(k).path_in_schema == name)
    copies = [image for row in pq.read_table(path).to_pylist() for image in row["images"]]
    once = sum(len(content) for content in {image["path"]: image["bytes"] for image in copies}.values())
    assert once < column.total_uncompressed_size < sum(len(image["bytes"]) for image in copies)


@pytest.mark.usefixtures("offline")
def test_splits_about_one_image_are_another_config(set_dataset: Path, tmp_path: Path) -> None:
    import datasets

    out = tmp_path / "out"
    made = exported(set_dataset, out, "parquet", "covr_train", "train", "covr_test")
    assert made.splits == ((HOP, "train"), (HOP, "covr_train"), (HOP, "covr_test"))
    assert datasets.get_dataset_config_names(str(out)) == [HOP, CONFIG]
    assert tuple(read(out, tmp_path / "cache")) == ("covr_train", "covr_test")
    alone = export(set_dataset, tmp_path / "train", format="parquet", splits=["train"])
    assert made.n_questions == alone.n_questions + 150 + 30
    name = f"{HOP}/train-00000-of-00001.parquet"
    assert (out / name).read_bytes() == (tmp_path / "train" / name).read_bytes()
    card = (out / "README.md").read_text()
    assert "| `image` |" in card
    assert "| `images` |" in card
    listed = json.loads((out / "source.json").read_text())["splits"][HOP]
    assert list(listed) == ["train", "covr_train", "covr_test"]


def test_the_card_of_sets_alone_has_their_columns(set_dataset: Path, tmp_path: Path) -> None:
    exported(set_dataset, tmp_path / "out", "parquet", "covr_test")
    card = (tmp_path / "out" / "README.md").read_text()
    (path,) = (tmp_path / "out" / CONFIG).iterdir()
    assert re.findall(r"^\| `(\w+)` \|", card, re.MULTILINE) == pq.read_schema(path).names
    assert f'load_dataset("THIS_FOLDER", "{CONFIG}", split="covr_test"' in card


# webdataset


@pytest.mark.slow
def test_a_sample_is_a_question_with_its_images(set_dataset: Path, tmp_path: Path) -> None:
    exported(set_dataset, tmp_path / "out", "webdataset")
    listed = json.loads((tmp_path / "out" / "shards.json").read_text())[HOP]
    for split in COVR_SPLITS:
        wanted, found = items(set_dataset, split), samples(tmp_path / "out", split)
        assert (listed[split]["samples"], listed[split]["questions"]) == (len(wanted), len(wanted))
        for k, (sample, item) in enumerate(zip(found, wanted, strict=True)):
            assert sample["__key__"] == f"HOPE_{split}_{k:06d}"
            check(sample["json"], item)
            images = [name for name in sample if name.endswith("png")]
            assert images == [f"{place}.png" for place in range(len(item["images"]))]
            for name, pixels in zip(images, item["images"], strict=True):
                np.testing.assert_array_equal(sample[name], pixels)


def test_many_shards_are_one_split_in_order(
    set_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webdataset, "SETS_A_SHARD", 7)
    exported(set_dataset, tmp_path / "out", "webdataset", "covr_dev")
    assert len(list((tmp_path / "out" / HOP).iterdir())) == 5
    found = samples(tmp_path / "out", "covr_dev")
    assert [sample["json"]["question_index"] for sample in found] == list(range(30))


def test_vocabularies_are_those_of_the_splits(set_dataset: Path, tmp_path: Path) -> None:
    wanted = {"covr_test": {"covr_vocab.json"}, "train": {"vocab.json"}}
    both = wanted["covr_test"] | wanted["train"]
    for number, (splits, names) in enumerate([*wanted.items(), ("train,covr_test", both)]):
        out = tmp_path / str(number)
        exported(set_dataset, out, "webdataset", *splits.split(","), images=False)
        assert {path.name for path in out.glob("*vocab.json")} == names
    assert (out / "vocab.json").read_bytes() == (set_dataset / "vocab.json").read_bytes()
    assert (out / "covr_vocab.json").read_bytes() == (set_dataset / "covr" / "vocab.json").read_bytes()


# Both


@forms
def test_sets_are_left_out_unless_they_are_named(set_dataset: Path, tmp_path: Path, name: str) -> None:
    made = export(set_dataset, tmp_path / "out", format=name, images=False)
    assert not {split for _, split in made.splits} & set(COVR_SPLITS)
    assert made.n_questions > 0
    assert not list((tmp_path / "out").rglob("*covr*"))


@forms
def test_png_and_hdf5_images_give_the_same_bytes(set_dataset: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(set_dataset, tmp_path / "h5", ignore=shutil.ignore_patterns("*.png"))
    for folder in (set_dataset, tmp_path / "h5"):
        exported(folder, tmp_path / f"out-{folder.name}", name, "covr_train", "covr_test_ood")
    assert tree(tmp_path / "out-data") == tree(tmp_path / "out-h5")


@forms
def test_a_prefix_of_the_train_set(set_dataset: Path, tmp_path: Path, name: str) -> None:
    made = exported(set_dataset, tmp_path / "out", name, "covr_train", train_questions=31)
    sets = [item["image_indices"] for item in items(set_dataset, "covr_train")[:31]]
    n_images = len({index for indices in sets for index in indices})
    assert (made.n_questions, made.n_images, made.n_copies) == (31, n_images, sum(map(len, sets)))


def test_copies_are_counted(set_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--format", "webdataset", "--splits", "train,covr_test", "--out", str(tmp_path / "out")]
    assert run_command(["export", str(set_dataset), *asked]) == 0
    pattern = r"out: 192 questions, (\d+) images \((\d+) copies, one for each split or set that uses it\)"
    (counts,) = re.findall(pattern, capsys.readouterr().out)
    n_files = 0
    for path in (tmp_path / "out").rglob("*.tar"):
        with tarfile.open(path) as tar:
            n_files += sum(name.endswith("png") for name in tar.getnames())
    assert int(counts[0]) < int(counts[1]) == n_files


def test_a_folder_without_such_questions(png_dataset: Path, tmp_path: Path) -> None:
    with refused(ConfigError):
        export(png_dataset, tmp_path / "out", format="parquet", splits=["train", "covr_test"])
    assert leftovers(tmp_path) == []
