"""A folder is imported from one source: again from the same files, wherever they are, never from others."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from building import Cli
from official_files import write_parquet

import clevrhope
from clevrhope.dataset.source_images import ImageRecord
from wording import check_words


@pytest.fixture
def source(dataset: Path, tmp_path: Path) -> Path:
    return write_parquet(dataset, tmp_path / "official")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def other_answers(source: Path, out: Path) -> Path:
    """A copy in which the last rows of one file have other answers."""
    shutil.copytree(source, out)
    path = out / "HOP12" / "test_complex_ood-00000-of-00001.parquet"
    table = pq.read_table(path)
    answers = table["answer"].to_pylist()
    answers[-1] = "no" if answers[-1] == "yes" else "yes"
    pq.write_table(table.set_column(2, "answer", pa.array(answers)), path)
    return out


def test_the_same_source_can_be_imported_again_from_another_place(
    source: Path, tmp_path: Path, cli: Cli
) -> None:
    out = tmp_path / "out"
    cli("import", source, "--out", out)
    before = content(out)
    cli("import", source, "--out", out)
    assert content(out) == before
    moved = tmp_path / "moved" / "there"
    moved.parent.mkdir()
    source.rename(moved)
    cli("import", moved / "HOP00", "--out", out, "--splits", "complex_ood")
    first = clevrhope.load(out, "rubber_cylinder", "complex_ood")[0]
    assert first["image"].shape[2] == 3
    cli("import", moved, "--out", out)
    assert clevrhope.load(out, "metal_cylinder", "train")[0]["image"].shape[2] == 3
    records = [ImageRecord.read(path) for path in (out / "images").glob("*.npz")]
    assert {file.is_relative_to(moved) for record in records for file in record.files} == {True}


@pytest.mark.parametrize("hop", ["metal_cylinder", "rubber_cylinder"])
def test_other_questions_of_the_same_names_are_refused(
    hop: str, source: Path, tmp_path: Path, cli: Cli
) -> None:
    out, other = tmp_path / "out", other_answers(source, tmp_path / "other")
    cli("import", source, "--out", out, "--hop", "metal_cylinder")
    before = content(out)
    check_words(cli("import", other, "--out", out, "--hop", hop, "--quiet", code=2).err)
    assert content(out) == before


def test_parts_of_a_source_can_be_added(source: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "out"
    cli("import", source / "HOP00", "--out", out)
    cli("import", source, "--out", out, "--hop", "metal_cylinder")
    assert len(clevrhope.load(out, "metal_cylinder", "train", images=False)) > 0
