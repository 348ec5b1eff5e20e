"""The official CLEVR-HOPE in its forms, of our own content: imported, it says what the dataset says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from official_files import HOPS, NAMES, PARQUET, write_hdf5, write_json, write_parquet

import clevrhope
from clevrhope.pipeline.importing import import_source
from clevrhope.runtime.assets import question_templates

WRITERS = {"hdf5": write_hdf5, "json": write_json}


def same(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Asserts that two items of `load` say the same."""
    for key in ("question_text", "program_text", "answer_text"):
        assert theirs[key] == ours[key], key
    np.testing.assert_array_equal(theirs["image"], ours["image"])


@pytest.mark.parametrize("form", WRITERS)
def test_files_with_programs_say_what_the_dataset_says(form: str, dataset: Path, tmp_path: Path) -> None:
    source = WRITERS[form](dataset, tmp_path / "official")
    import_source(source, tmp_path / "out")
    for hop in HOPS:
        for split in NAMES:
            ours = clevrhope.load(dataset, hop, split, text=True)
            theirs = clevrhope.load(tmp_path / "out", hop, split, text=True)
            assert len(theirs) == len(ours) > 10
            for k in range(0, len(ours), 7):
                same(theirs[k], ours[k])
                assert theirs[k]["image_index"] == ours[k]["image_index"]
                assert theirs[k]["family"] == (ours[k]["family"] if form == "json" else -1)


@pytest.mark.parametrize("named", [False, True])
def test_programs_are_read_from_the_texts_of_parquet(named: bool, dataset: Path, tmp_path: Path) -> None:
    source = write_parquet(dataset, tmp_path / "official", named=named, shards=2)
    import_source(source, tmp_path / "out", templates=question_templates())
    for hop in HOPS:
        for split in PARQUET:
            ours = clevrhope.load(dataset, hop, split, text=True)
            theirs = clevrhope.load(tmp_path / "out", hop, split, text=True)
            n_images = len({ours[k]["image_index"] for k in range(len(ours))})
            assert len(np.unique(theirs.table.image_idxs)) == (n_images if named else len(ours))
            for k in range(0, len(ours), 3):
                same(theirs[k], ours[k])


def test_without_templates_there_are_texts_and_answers_alone(dataset: Path, tmp_path: Path) -> None:
    source = write_parquet(dataset, tmp_path / "official")
    made = import_source(source, tmp_path / "out", hops=["cylinder_rubber"], splits=["complex_ood"])
    assert made.manifest.source
    assert made.manifest.source["programs"] == "not published"
    item = clevrhope.load(tmp_path / "out", "rubber_cylinder", "complex_ood", text=True)[0]
    assert item["program_text"] == ""
    assert item["family"] == -1
    ours = clevrhope.load(dataset, "rubber_cylinder", "complex_ood", text=True)[0]
    assert (item["question_text"], item["answer_text"]) == (ours["question_text"], ours["answer_text"])
