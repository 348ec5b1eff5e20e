"""Exports of ours, downloaded: scored, audited and loaded like the dataset that they were made of."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from building import Cli
from official_files import HOPS

import clevrhope
from clevrhope.audit import audit
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import DatasetError
from clevrhope.export import export
from clevrhope.metrics import score
from clevrhope.pipeline.importing import import_source
from wording import refused

FORMS = ("parquet", "webdataset")
SPLITS = ("train", "val_iid", "complex_iid", "complex_ood", "minimal_iid", "minimal_ood")


@pytest.fixture(scope="module", params=FORMS)
def imported(request: pytest.FixtureRequest, dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset, exported and read back."""
    folder = tmp_path_factory.mktemp(request.param)
    export(dataset, folder / "export", format=request.param)
    import_source(folder / "export", folder / "out")
    return folder / "out"


def test_everything_is_as_in_the_dataset(imported: Path, dataset: Path) -> None:
    for hop in HOPS:
        for split in SPLITS:
            ours = clevrhope.load(dataset, hop, split, text=True, scenes=True)
            theirs = clevrhope.load(imported, hop, split, text=True, scenes=True)
            assert (len(theirs), theirs.pool) == (len(ours), ours.pool)
            for k in range(0, len(ours), 5):
                a, b = theirs[k], ours[k]
                for key in (
                    "question_text",
                    "program_text",
                    "answer_text",
                    "image_index",
                    "family",
                    "answer",
                ):
                    assert a[key] == b[key]
                np.testing.assert_array_equal(a["image"], b["image"])
                for mine, other in zip(a["scene"]["objects"], b["scene"]["objects"], strict=True):
                    assert {name: mine[name] for name in ("shape", "3d_coords")} == {
                        name: other[name] for name in ("shape", "3d_coords")
                    }


def test_the_same_predictions_give_the_same_scores(
    imported: Path, dataset: Path, tmp_path: Path, cli: Cli
) -> None:
    """Accuracies, gaps, intervals, groups and breakdowns: all the numbers that `score` knows."""
    predictions = tmp_path / "coin.jsonl"
    cli("baseline", dataset, "--kind", "coin", "--out", predictions)
    ours, theirs = (score(folder, predictions, seed=1, bootstrap=100) for folder in (dataset, imported))
    for mine, other in zip(theirs.conditions, ours.conditions, strict=True):
        assert mine.splits == other.splits
        assert mine.gaps == other.gaps


def test_an_audit_finds_nothing(imported: Path) -> None:
    checks = {check.name: check for check in audit(imported).checks}
    assert {name: check.faults for name, check in checks.items() if check.n_faults} == {}
    assert {"pair by descriptions", "pair in images", "answers", "objects an image"} <= {
        name for name, check in checks.items() if check.done
    }


def test_one_file_is_enough(dataset: Path, tmp_path: Path) -> None:
    export(dataset, tmp_path / "export", format="parquet", hops=["rubber_cylinder"])
    file = tmp_path / "export" / "rubber_cylinder" / "complex_ood-00000-of-00001.parquet"
    import_source(file, tmp_path / "out")
    manifest = existing_manifest(tmp_path / "out" / "manifest.json")
    assert {hop: list(splits) for hop, splits in manifest.splits.items()} == {
        "rubber_cylinder": ["complex_ood"]
    }


def test_a_file_that_lost_its_metadata_is_read_by_its_columns_and_path(dataset: Path, tmp_path: Path) -> None:
    export(dataset, tmp_path / "export", format="parquet", hops=["rubber_cylinder"])
    for path in (tmp_path / "export").rglob("*.parquet"):
        pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    import_source(tmp_path / "export", tmp_path / "out")
    ours = clevrhope.load(dataset, "rubber_cylinder", "complex_iid", text=True)
    theirs = clevrhope.load(tmp_path / "out", "rubber_cylinder", "complex_iid", text=True)
    assert [theirs[k]["question_text"] for k in range(9)] == [ours[k]["question_text"] for k in range(9)]


def spoil(table: Any, name: str, row: int, value: object) -> Any:
    import pyarrow as pa

    values = table.column(name).to_pylist()
    values[row] = value
    place = table.schema.names.index(name)
    kind = table.schema.field(name).type
    return table.set_column(place, name, pa.array(values, kind))


FAULTS = {
    "a column is missing": lambda table: table.drop_columns(["program"]),
    "a column of another type": lambda table: table.set_column(
        table.schema.names.index("image_index"), "image_index", table.column("question")
    ),
    "an unknown answer": lambda table: spoil(table, "answer", 7, "ochre"),
    "an empty text": lambda table: spoil(table, "question", 4, None),
    "an unknown function": lambda table: spoil(table, "program", 5, ["filter_taste[sweet]", "scene"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_bad_input_is_named_with_file_column_and_row(fault: str, dataset: Path, tmp_path: Path) -> None:
    export(dataset, tmp_path / "export", format="parquet", hops=["rubber_cylinder"], splits=["complex_iid"])
    path = tmp_path / "export" / "rubber_cylinder" / "complex_iid-00000-of-00001.parquet"
    pq.write_table(FAULTS[fault](pq.read_table(path)), path)
    with refused(DatasetError):
        import_source(tmp_path / "export", tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_missing_shard_is_named(dataset: Path, tmp_path: Path) -> None:
    export(dataset, tmp_path / "export", format="parquet", hops=["rubber_cylinder"], splits=["complex_iid"])
    folder = tmp_path / "export" / "rubber_cylinder"
    path = folder / "complex_iid-00000-of-00001.parquet"
    path.rename(folder / "complex_iid-00000-of-00002.parquet")
    with refused(DatasetError):
        import_source(tmp_path / "export", tmp_path / "out")
    export(dataset, tmp_path / "tars", format="webdataset", hops=["rubber_cylinder"], splits=["train"])
    listed = json.loads((tmp_path / "tars" / "shards.json").read_text())
    listed["rubber_cylinder"]["train"]["clevrhope"]["questions"] += 9
    (tmp_path / "tars" / "shards.json").write_text(json.dumps(listed))
    with refused(DatasetError):
        import_source(tmp_path / "tars", tmp_path / "out_of_tars")
    for wrong in ({**listed, "rubber_cylinder": {"/x": {"questions": 1}}}, {"/": {}}):
        (tmp_path / "tars" / "shards.json").write_text(json.dumps(wrong))
        with refused(DatasetError):
            import_source(tmp_path / "tars", tmp_path / "out_of_tars")


def test_nothing_is_written_into_the_source_or_over_other_files(
    dataset: Path, tmp_path: Path, cli: Cli
) -> None:
    export(dataset, tmp_path / "export", format="parquet", hops=["rubber_cylinder"], splits=["complex_iid"])
    before = sorted(path.name for path in (tmp_path / "export").rglob("*"))
    assert "inside" in cli("import", tmp_path / "export", "--out", tmp_path / "export" / "in", code=2).err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    assert (
        "not empty (notes.txt)" in cli("import", tmp_path / "export", "--out", tmp_path / "mine", code=2).err
    )
    assert "--out" in cli("import", tmp_path / "export", "--out", dataset, code=2).err
    assert sorted(path.name for path in (tmp_path / "export").rglob("*")) == before
    assert "no published questions" in cli("import", tmp_path / "mine", "--out", tmp_path / "new", code=2).err
