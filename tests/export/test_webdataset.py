"""The tar shards, read back by the webdataset library."""

import json
from pathlib import Path

import numpy as np
import pytest
import webdataset as wds
from truth import HOP, SPLITS, Truth, prefix

from clevrhope.export import export, webdataset

# The library leaves it to the garbage collector to close the shards that it has read.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]


def samples(folder: Path, split: str) -> list[dict[str, object]]:
    shards = json.loads((folder / "shards.json").read_text())[HOP][split]["shards"]
    return list(wds.WebDataset(str(folder / shards), shardshuffle=False).decode("rgb8"))


def test_each_image_comes_once_with_all_of_its_questions(dataset: Path, truth: Truth, tmp_path: Path) -> None:
    export(dataset, tmp_path / "out", format="webdataset")
    listed = json.loads((tmp_path / "out" / "shards.json").read_text())[HOP]
    for split in SPLITS:
        wanted = truth.questions(split)
        by_image: dict[str, list[dict[str, object]]] = {}
        for question in wanted:
            by_image.setdefault(question["image_filename"], []).append(question)
        read = samples(tmp_path / "out", split)
        assert [f"{sample['__key__']}.png" for sample in read] == list(by_image)
        assert (listed[split]["samples"], listed[split]["questions"]) == (len(read), len(wanted))
        for sample, (name, questions) in zip(read, by_image.items(), strict=True):
            np.testing.assert_array_equal(sample["png"], truth.pixels(name))
            said = sample["json"]["questions"]  # type: ignore[index]
            assert sample["json"]["image_index"] == questions[0]["image_index"]  # type: ignore[index]
            for one, other in zip(said, questions, strict=True):
                assert one["program"] == prefix(other["program"])  # type: ignore[arg-type]
                for key in ("question", "answer", "question_index", "question_family_index"):
                    assert one[key] == other[key]


def test_questions_one_by_one_as_the_docs_say(png_dataset: Path, truth: Truth, tmp_path: Path) -> None:
    export(png_dataset, tmp_path / "out", format="webdataset", splits=["train"], hops=[HOP])
    shards = str(tmp_path / "out" / HOP / "train-000000.tar")

    def one_by_one(source):  # type: ignore[no-untyped-def]
        for image, about in source:
            for each in about["questions"]:
                yield image, each["question"], each["answer"]

    rows = list(
        wds.WebDataset(shards, shardshuffle=False).decode("pil").to_tuple("png", "json").compose(one_by_one)
    )
    wanted = truth.questions("train")
    assert [row[1:] for row in rows] == [(each["question"], each["answer"]) for each in wanted]
    assert rows[0][0].size == (48, 32)


def test_many_shards_are_one_split_in_order(
    png_dataset: Path, truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webdataset, "IMAGES_A_SHARD", 7)
    export(png_dataset, tmp_path / "out", format="webdataset", hops=[HOP])
    assert len(list((tmp_path / "out" / HOP).glob("train-*.tar"))) == 3
    read = samples(tmp_path / "out", "train")
    numbers = [each["question_index"] for sample in read for each in sample["json"]["questions"]]  # type: ignore[index]
    assert numbers == list(range(len(truth.questions("train"))))


def test_without_images_a_sample_is_its_questions(bare_dataset: Path, tmp_path: Path) -> None:
    export(bare_dataset, tmp_path / "out", format="webdataset", hops=[HOP])
    read = samples(tmp_path / "out", "complex_ood")
    assert len(read) == 12
    assert all("png" not in sample and "json" in sample for sample in read)
