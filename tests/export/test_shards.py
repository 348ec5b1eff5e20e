"""How a split is divided into files: whatever size is asked for, no file is empty and nothing is lost."""

import io
import json
import tarfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from truth import HOP, items_of_sets

from clevrhope.errors import ConfigError
from clevrhope.export import export
from wording import refused

SPLITS = ("train", "minimal_iid", "covr_dev")


def questions_of(path: Path) -> list[int]:
    """The numbers of the questions in a file, in the order of the file."""
    if path.suffix == ".parquet":
        return list(pq.read_table(path, columns=["question_index"]).column(0).to_pylist())
    found = []
    with tarfile.open(path) as tar:
        for entry in tar:
            if entry.name.endswith(".json"):
                sample = json.load(tar.extractfile(entry) or io.BytesIO())
                found += [each["question_index"] for each in sample.get("questions", [sample])]
    return found


@pytest.mark.parametrize("form", ["parquet", "webdataset"])
@pytest.mark.parametrize("size", [1, 2, 5, 33, 10**9])
def test_no_file_is_empty_and_no_question_is_lost(
    form: str, size: int, set_dataset: Path, tmp_path: Path
) -> None:
    """Also with files smaller than a row group, and sets that hold more images than a file is to have."""
    export(
        set_dataset, tmp_path / "out", format=form, splits=SPLITS, hops=[HOP], images=False, shard_size=size
    )
    for split in SPLITS:
        paths = sorted((tmp_path / "out").rglob(f"{split}-*"))
        files = [questions_of(path) for path in paths]
        assert all(files)
        numbers = sorted(number for file in files for number in file)
        assert numbers == list(range(len(numbers)))
        if form == "parquet":
            assert [number for file in files for number in file] == numbers
        assert len(paths) == 1 or size < 10**9


@pytest.mark.parametrize("form", ["parquet", "webdataset"])
def test_eight_loaders_have_a_file_each_unless_there_are_few_images(
    form: str, set_dataset: Path, tmp_path: Path
) -> None:
    """A file has 16 images or more."""
    n_files = {}
    for split in ("train", "covr_dev", "covr_train"):
        export(set_dataset, tmp_path / split, format=form, splits=[split], hops=[HOP], images=False)
        n_files[split] = len(list((tmp_path / split).rglob(f"{split}-*")))
    n_images = sum(len(item["image_indices"]) for item in items_of_sets(set_dataset, "covr_dev"))
    assert 16 < n_images < 8 * 16
    assert n_files == {"train": 1, "covr_dev": n_images // 16, "covr_train": 8}


@pytest.mark.parametrize("size", [0, -5])
def test_a_size_that_no_file_has(size: int, set_dataset: Path, tmp_path: Path) -> None:
    with refused(ConfigError):
        export(set_dataset, tmp_path / "out", format="parquet", splits=["train"], shard_size=size)
    assert not (tmp_path / "out").exists()
