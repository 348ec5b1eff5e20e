"""Exports side by side in one folder: those of different splits are one source, and no two are mixed."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from building import Cli
from official_files import HOPS

import clevrhope
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import DatasetError
from clevrhope.export import FORMATS, export
from clevrhope.pipeline.importing import import_source
from wording import refused

HOP = "rubber_cylinder"
FORMS = ("parquet", "webdataset")


def export_two(dataset: Path, folder: Path, *choices: tuple[str, dict[str, Any]]) -> Path:
    """Exports without images into folders below one."""
    for number, (form, chosen) in enumerate(choices):
        export(dataset, folder / "both" / str(number), format=form, images=False, **chosen)
    return folder / "both"


@pytest.mark.parametrize("form", FORMS)
def test_two_pairs_below_one_folder_are_one_source(form: str, dataset: Path, tmp_path: Path) -> None:
    """Each keeps what its own export says of it."""
    both = export_two(dataset, tmp_path, *((form, {"hops": [hop]}) for hop in HOPS))
    import_source(both, tmp_path / "out")
    source = existing_manifest(tmp_path / "out" / "manifest.json").source or {}
    assert source["dataset"] == existing_manifest(dataset / "manifest.json").digest
    assert source["notes"] == []
    for hop in HOPS:
        ours, back = (clevrhope.load(root, hop, "train", text=True) for root in (dataset, tmp_path / "out"))
        assert len(back) == len(ours)
        assert back[5]["program_text"] == ours[5]["program_text"]


@pytest.mark.parametrize("form", FORMS)
def test_two_of_one_split_are_refused(form: str, dataset: Path, tmp_path: Path) -> None:
    """The second has fewer questions, which would overwrite those of the first."""
    of_train: dict[str, Any] = {"hops": [HOP], "splits": ["train"]}
    both = export_two(dataset, tmp_path, (form, of_train), (form, {**of_train, "train_questions": 90}))
    with refused(DatasetError):
        import_source(both, tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_two_of_one_split_in_the_official_form_are_refused(dataset: Path, tmp_path: Path) -> None:
    chosen = {"hops": [HOP], "splits": ["complex_ood"]}
    both = export_two(dataset, tmp_path, *[("official", chosen)] * 2)
    with refused(DatasetError):
        import_source(both, tmp_path / "out")


@pytest.mark.parametrize("other", ["official", "webdataset"])
def test_exports_in_two_forms_are_refused_unless_one_is_named(
    other: str, dataset: Path, tmp_path: Path
) -> None:
    chosen = {"hops": [HOP], "splits": ["complex_ood"]}
    both = export_two(dataset, tmp_path, ("parquet", chosen), (other, chosen))
    with refused(DatasetError):
        import_source(both, tmp_path / "out")
    assert import_source(both, tmp_path / "named", form="parquet").source.form == "parquet"


@pytest.mark.parametrize(("form", "other"), [(1, 2), (3, 7)])
def test_shards_of_an_earlier_download_are_refused(
    form: int, other: int, dataset: Path, tmp_path: Path
) -> None:
    """Of 18 images in files of some images each; files of both exports are in one folder."""
    for name in FORMS:
        for size in (form, other):
            chosen = {"hops": [HOP], "splits": ["train"], "images": False, "shard_size": size}
            export(dataset, tmp_path / name / str(size), format=name, **chosen)
        shutil.copytree(tmp_path / name / str(form), tmp_path / name / "mixed")
        shutil.copytree(tmp_path / name / str(other), tmp_path / name / "mixed", dirs_exist_ok=True)
        with pytest.raises(DatasetError):
            import_source(tmp_path / name / "mixed", tmp_path / name / "out")


@pytest.mark.parametrize("form", [name for name, each in FORMATS.items() if each.single])
def test_a_second_export_into_a_folder_is_refused(form: str, dataset: Path, tmp_path: Path, cli: Cli) -> None:
    """Whatever the format of the first, nothing of which is changed."""
    chosen = (
        "export",
        dataset,
        "--hop",
        HOP,
        "--splits",
        "complex_ood",
        "--no-images",
        "--out",
        tmp_path / "o",
    )
    cli(*chosen, "--format", "parquet")
    before = {path: path.read_bytes() for path in (tmp_path / "o").rglob("*") if path.is_file()}
    told = cli(*chosen, "--format", form, code=1).err
    assert "not empty" in told
    assert {path: path.read_bytes() for path in (tmp_path / "o").rglob("*") if path.is_file()} == before
