"""An import, exported again: what was not published does not appear, and what was is read back."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from official_files import write_hdf5, write_parquet

import clevrhope
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, existing_manifest
from clevrhope.errors import ConfigError
from clevrhope.export import FORMATS, export
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.pipeline.importing import import_source
from clevrhope.runtime.assets import question_templates
from wording import refused

HOP = "rubber_cylinder"
WRITERS = {"four columns": write_parquet, "HDF5": write_hdf5}
"""Published files: with texts alone, or with programs; neither has scenes."""


@pytest.fixture(scope="module", params=WRITERS)
def imported(request: pytest.FixtureRequest, dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An import of such files of one pair."""
    folder = tmp_path_factory.mktemp("imported")
    published = WRITERS[request.param](dataset, folder / "official")
    if request.param == "four columns":
        _whole_places(published / "HOP00" / "test_minimal_ood-00000-of-00001.parquet")
    import_source(published, folder / "out", hops=[HOP])
    return folder / "out"


def _whole_places(path: Path) -> None:
    """Makes 160 questions of a minimal set of some: four images of each of the pair's 40 places."""
    table = pq.read_table(path).slice(0, 16).drop_columns(["idx"])
    table = pa.concat_tables([table] * 10)
    pq.write_table(table.append_column("idx", pa.array(range(160), pa.int64())), path)


def manifest_of(folder: Path) -> Manifest:
    return existing_manifest(Layout(folder).manifest)


@pytest.mark.parametrize("form", ["parquet", "webdataset"])
def test_it_is_read_back_equal(form: str, imported: Path, tmp_path: Path) -> None:
    export(imported, tmp_path / "export", format=form)
    import_source(tmp_path / "export", tmp_path / "out")
    mine, theirs = manifest_of(imported), manifest_of(tmp_path / "out")
    assert mine.source
    assert theirs.source
    for said in ("programs", "notes", "grouped", "is_placed"):
        assert theirs.source[said] == mine.source[said]
    assert theirs.source["dataset"] == mine.digest
    assert not any(Layout(tmp_path / "out").scenes(pool).exists() for pool in mine.pools)
    keys = [AnswerKey(folder) for folder in (imported, tmp_path / "out")]
    for split, entry in mine.splits[HOP].items():
        ours, back = (clevrhope.load(folder, HOP, split) for folder in (imported, tmp_path / "out"))
        for name, numbers in ours.table.arrays().items():
            np.testing.assert_array_equal(back.table.arrays()[name], numbers, f"{split} {name}")
        for k in range(0, len(ours), 9):
            np.testing.assert_array_equal(back[k]["image"], ours[k]["image"])
        for key in keys[1:]:
            for name, place in (("images_of_a_unit", entry["pool"]), ("images_of_a_group", HOP)):
                assert getattr(key, name)(place, split) == getattr(keys[0], name)(place, split)


def test_the_official_form_has_no_programs_that_were_not_published(imported: Path, tmp_path: Path) -> None:
    export(imported, tmp_path / "export", format="official")
    import_source(tmp_path / "export", tmp_path / "out")
    mine, theirs = (manifest_of(folder).source or {} for folder in (imported, tmp_path / "out"))
    assert theirs["programs"] == mine["programs"]
    has_programs = mine["programs"] == "published"
    assert bool(list((tmp_path / "export").rglob("*.h5"))) == has_programs
    assert ("held_out_CLEVR" in (tmp_path / "export" / "README.md").read_text()) == has_programs
    for split in manifest_of(imported).splits[HOP]:
        ours, back = (clevrhope.load(root, HOP, split, text=True) for root in (imported, tmp_path / "out"))
        assert texts(back) == texts(ours)
        for k in range(0, len(ours), 9):
            np.testing.assert_array_equal(back[k]["image"], ours[k]["image"])


def texts(rows: Any) -> list[tuple[str, str, str]]:
    items = [rows[k] for k in range(len(rows))]
    return [(item["question_text"], item["program_text"], item["answer_text"]) for item in items]


def test_programs_are_read_from_the_texts_of_an_export_without(dataset: Path, tmp_path: Path) -> None:
    write_parquet(dataset, tmp_path / "official")
    import_source(tmp_path / "official", tmp_path / "in", hops=[HOP], splits=["complex_iid"])
    export(tmp_path / "in", tmp_path / "export", format="parquet")
    templates = question_templates()
    for source, out in (("official", "at once"), ("export", "later")):
        chosen = {"hops": [HOP], "splits": ["complex_iid"], "templates": templates}
        import_source(tmp_path / source, tmp_path / out, **chosen)
    ours, back = (
        clevrhope.load(tmp_path / name, HOP, "complex_iid", text=True) for name in ("at once", "later")
    )
    assert texts(back) == texts(ours)
    assert any(program for _, program, _ in texts(ours))


@pytest.mark.parametrize("name", [name for name, each in FORMATS.items() if each.scenes])
def test_formats_of_scenes_refuse_an_import_without(name: str, imported: Path, tmp_path: Path) -> None:
    with refused(ConfigError):
        export(imported, tmp_path / "out", format=name)
    assert not (tmp_path / "out").exists()
