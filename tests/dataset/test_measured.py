"""measured.json is read whole, and what is wrong with one is a sentence with file, place and remedy."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.measured import read_fitting, read_measured, read_measured_folder
from clevrhope.errors import DatasetError
from wording import check_refused

KEPT = Path(__file__).parents[1] / "data" / "kept_folder"
HOP = "rubber_cylinder"
REMEDY = "run the dataset's build again to measure its files"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    shutil.copytree(KEPT, tmp_path / "kept")
    return Layout(tmp_path / "kept")


def test_the_numbers_are_those_of_the_files(layout: Layout) -> None:
    measured = read_fitting(layout, existing_manifest(layout.manifest), HOP)
    train = measured["splits"]["train"]
    rows = json.loads(layout.questions_json(HOP, "train").read_text())["questions"]
    assert (train["questions"], train["images"]) == (len(rows), len({row["image_index"] for row in rows}))
    for answer, n in train["answers"].items():
        assert n == sum(row["answer"] == answer for row in rows)
    whole = read_measured_folder(layout.measured)
    assert whole["splits"][HOP] == {name: each["questions"] for name, each in measured["splits"].items()}


def without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda measured: measured.pop(key)


@pytest.mark.parametrize(
    "change",
    [
        without("splits"),
        without("format"),
        lambda m: m.update(format=9),
        lambda m: m.update(hop="red_cube"),
        lambda m: m["splits"]["train"].update(images=-1),
        lambda m: m["splits"]["train"]["answers"].update(no="x"),
        lambda m: m["splits"]["train"].update(questions=19),
        lambda m: m["splits"].pop("train"),
        lambda m: m["covr"].update(covr_train=[]),
    ],
)
def test_foreign_measurements_are_a_sentence(
    layout: Layout, change: Callable[[dict[str, Any]], object]
) -> None:
    path = layout.hop_measured(HOP)
    measured = json.loads(path.read_text())
    change(measured)
    path.write_text(json.dumps(measured))
    check_refused(DatasetError, read_fitting, layout, existing_manifest(layout.manifest), HOP)


@pytest.mark.parametrize("content", [None, b"", b"[]", b"\xff"])
def test_broken_measurements_are_a_sentence(layout: Layout, content: bytes | None) -> None:
    for path, read in ((layout.hop_measured(HOP), read_measured), (layout.measured, read_measured_folder)):
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        check_refused(DatasetError, read, path)
