"""The tar shards, read back by the webdataset library."""

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webdataset as wds
from building import Cli
from truth import HOP, SPLITS, Truth, check_row_of_set, items_of_sets, prefix

from clevrhope.export import export, webdataset
from clevrhope.splits.covr.kinds import COVR_SPLITS

# The library leaves it to the garbage collector to close the shards that it has read.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]


def samples(folder: Path, split: str) -> list[dict[str, Any]]:
    shards = json.loads((folder / "shards.json").read_text())[HOP][split]["shards"]
    return list(wds.WebDataset(str(folder / shards), shardshuffle=False).decode("rgb8"))


def test_each_image_comes_once_with_all_of_its_questions(dataset: Path, truth: Truth, tmp_path: Path) -> None:
    export(dataset, tmp_path / "out", format="webdataset")
    listed = json.loads((tmp_path / "out" / "shards.json").read_text())[HOP]
    for split in SPLITS:
        wanted = truth.questions(split)
        by_image: dict[str, list[dict[str, Any]]] = {}
        for question in wanted:
            by_image.setdefault(question["image_filename"], []).append(question)
        read = samples(tmp_path / "out", split)
        assert [f"{sample['__key__']}.png" for sample in read] == list(by_image)
        assert (listed[split]["samples"], listed[split]["questions"]) == (len(read), len(wanted))
        for sample, (name, questions) in zip(read, by_image.items(), strict=True):
            np.testing.assert_array_equal(sample["png"], truth.pixels(name))
            assert sample["json"]["image_index"] == questions[0]["image_index"]
            for written, question in zip(sample["json"]["questions"], questions, strict=True):
                assert written["program"] == prefix(question["program"])
                for key in ("question", "answer", "question_index", "question_family_index"):
                    assert written[key] == question[key]


@pytest.mark.slow
def test_a_question_over_several_images_is_a_sample_with_them(set_dataset: Path, tmp_path: Path) -> None:
    export(set_dataset, tmp_path / "out", format="webdataset", splits=COVR_SPLITS)
    listed = json.loads((tmp_path / "out" / "shards.json").read_text())[HOP]
    for split in COVR_SPLITS:
        wanted, read = items_of_sets(set_dataset, split), samples(tmp_path / "out", split)
        assert (listed[split]["samples"], listed[split]["questions"]) == (len(wanted), len(wanted))
        for k, (sample, item) in enumerate(zip(read, wanted, strict=True)):
            assert sample["__key__"] == f"HOPE_{split}_{k:06d}"
            check_row_of_set(sample["json"], item)
            images = [name for name in sample if name.endswith("png")]
            assert images == [f"{place}.png" for place in range(len(item["images"]))]
            for name, pixels in zip(images, item["images"], strict=True):
                np.testing.assert_array_equal(sample[name], pixels)


@pytest.mark.parametrize(("split", "n_shards", "n_questions"), [("train", 3, 162), ("covr_dev", 18, 30)])
def test_many_shards_are_one_split_in_order(
    set_dataset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    split: str,
    n_shards: int,
    n_questions: int,
) -> None:
    monkeypatch.setattr(webdataset, "IMAGES_A_SHARD", 7)
    export(set_dataset, tmp_path / "out", format="webdataset", splits=[split], hops=[HOP])
    assert len(list((tmp_path / "out" / HOP).glob(f"{split}-*.tar"))) == n_shards
    contents = [sample["json"] for sample in samples(tmp_path / "out", split)]
    questions = [question for content in contents for question in content.get("questions", [content])]
    assert [question["question_index"] for question in questions] == list(range(n_questions))


def test_a_shard_has_as_many_images_as_wanted(set_dataset: Path, tmp_path: Path, cli: Cli) -> None:
    command = ("export", set_dataset, "--splits", "train", "--shard-size", 5, "--format")
    for form in ("webdataset", "parquet"):
        cli(*command, form, "--out", tmp_path / form)
        files = [*(tmp_path / form).rglob("*.tar"), *(tmp_path / form).rglob("*.parquet")]
        assert len(files) == 4  # of 18 images
    told = cli(*command, "coco", "--out", tmp_path / "x", code=2).err
    assert "--shard-size goes with --format parquet and webdataset, not coco" in told


def test_vocabularies_are_those_of_the_splits(set_dataset: Path, tmp_path: Path) -> None:
    wanted = {"covr_test": {"covr_vocab.json"}, "train": {"vocab.json"}}
    both = wanted["covr_test"] | wanted["train"]
    for number, (splits, names) in enumerate([*wanted.items(), ("train,covr_test", both)]):
        out = tmp_path / str(number)
        export(set_dataset, out, format="webdataset", splits=splits.split(","), images=False)
        assert {path.name for path in out.glob("*vocab.json")} == names
    assert (out / "vocab.json").read_bytes() == (set_dataset / "vocab.json").read_bytes()
    assert (out / "covr_vocab.json").read_bytes() == (set_dataset / "covr" / "vocab.json").read_bytes()


def test_copies_are_counted(set_dataset: Path, tmp_path: Path, cli: Cli) -> None:
    options = ("--format", "webdataset", "--splits", "train,covr_test", "--out", tmp_path / "out")
    said = cli("export", set_dataset, *options).out
    pattern = r"out: 192 questions, (\d+) images \((\d+) copies, one for each split or set that uses it\)"
    ((n_images, n_copies),) = re.findall(pattern, said)
    n_files = 0
    for path in (tmp_path / "out").rglob("*.tar"):
        with tarfile.open(path) as tar:
            n_files += sum(name.endswith("png") for name in tar.getnames())
    assert int(n_images) < int(n_copies) == n_files
