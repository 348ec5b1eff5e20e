"""An image that cannot be read is named, with its file and row, wherever images are read."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from building import Cli
from official_files import TUPLES, write_json, write_parquet

import clevrhope
from clevrhope.audit import audit
from clevrhope.browse.folder import SiteFolder
from clevrhope.dataset import source_images
from clevrhope.dataset.source_images import ImageRecord
from clevrhope.errors import DatasetError
from clevrhope.pipeline.importing import import_source
from wording import check_words, refused

HOP, SPLIT, ROW = "rubber_cylinder", "complex_ood", 5


def truncated(dataset: Path, folder: Path) -> Path:
    """Published Parquet, in which the bytes of an image end early."""
    source = write_parquet(dataset, folder / "official")
    path = source / "HOP00" / f"test_{SPLIT}-00000-of-00001.parquet"
    table = pq.read_table(path)
    images = table["image"].to_pylist()
    images[ROW]["bytes"] = images[ROW]["bytes"][:-200]
    pq.write_table(table.set_column(3, "image", pa.array(images, table.schema.field("image").type)), path)
    return source


def missing(dataset: Path, folder: Path) -> Path:
    """Published question JSON and PNG files, of which the image of a question is missing."""
    source = write_json(dataset, folder / "official")
    index = clevrhope.load(dataset, HOP, SPLIT, images=False)[ROW]["image_index"]
    (source / "held_out_CLEVR" / "images" / "test" / f"CLEVR_held_out_test_{index:06}.png").unlink()
    return source


@pytest.mark.parametrize("fault", [truncated, missing])
def test_it_is_named(fault: object, dataset: Path, tmp_path: Path, cli: Cli) -> None:
    assert callable(fault)
    out = tmp_path / "out"
    import_source(fault(dataset, tmp_path), out, hops=[HOP], splits=["train", SPLIT])
    split = clevrhope.load(out, HOP, SPLIT)
    assert split[ROW - 1]["image"].ndim == 3
    with refused(DatasetError):
        split[ROW]
    check = next(check for check in audit(out, pixels=True).checks if check.name == "images of one kind")
    check_words(str([(each.problem, each.value) for each in check.faults]))
    assert check.n_checked > 0
    for words in (
        ("features", out, "--kind", "pixels", "--size", "48x32", "--quiet"),
        ("ask", out, "--out", tmp_path / "requests.jsonl", "--hop", HOP, "--split", SPLIT, "--quiet"),
    ):
        check_words(cli(*words, code=1).err)
    index = split.table.image_idxs[ROW]
    with refused(DatasetError):  # whose sentence browse shows in the image's place
        SiteFolder(out).image(split.pool, int(index))


@pytest.mark.parametrize(
    "change",
    [
        {"places": np.zeros((4, 2), np.int64)},
        {"places": np.zeros((4, 3))},
        {"places": np.full((4, 3), 1)},
        {"places": np.zeros((50_000, 3), np.int64)},
        {"form": "gif"},
        {"files": [3]},
        {"names": 3},
        {"names": ["a.png"]},
    ],
    ids=["columns", "floats", "unknown file", "large", "form", "files", "names", "too few names"],
)
def test_a_record_that_was_changed_is_refused(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_images, "MAX_RECORD_BYTES", 1 << 20)
    record: dict[str, Any] = {"form": "png", "files": ["a"], "names": ["a.png"] * 4}
    record["places"] = np.zeros((4, 3), np.int64)
    np.savez_compressed(tmp_path / "r.npz", **{**record, **change})
    with refused(DatasetError):
        ImageRecord.read(tmp_path / "r.npz")


def test_a_question_file_alone_has_the_images_beside_it(dataset: Path, tmp_path: Path) -> None:
    source = write_json(dataset, tmp_path / "official")
    (file,) = source.glob(f"held_out_CLEVR/CLEVR_held_out_questions_test_{TUPLES[HOP]}.json")
    import_source(file, tmp_path / "out")
    assert clevrhope.load(tmp_path / "out", HOP, SPLIT)[0]["image"].ndim == 3
