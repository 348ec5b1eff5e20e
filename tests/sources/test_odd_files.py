"""Unusual published files are read correctly or refused in a sentence; a note names what is left out."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from building import Cli
from official_files import write_hdf5, write_json, write_parquet

import clevrhope
from clevrhope.errors import DatasetError, WrongFolderError
from clevrhope.export import export
from clevrhope.images.png import encode_png
from clevrhope.pipeline.importing import import_source
from clevrhope.sources.official import names
from wording import check_words, refused

HOP, ROWS = "rubber_cylinder", 20
NAME = "test_complex_ood-00000-of-00001.parquet"
PNG = encode_png(np.zeros((4, 6, 3), np.uint8))

Columns = dict[str, Any]


def official(folder: Path, change: Callable[[Columns], object] = lambda _: None, name: str = NAME) -> Path:
    """Twenty made-up rows of one split."""
    columns: Columns = {
        "idx": pa.array(range(ROWS), pa.int64()),
        "query": [f"Is there a small rubber cylinder near {k} things?" for k in range(ROWS)],
        "answer": ["yes", "no"] * (ROWS // 2),
        "image": [{"bytes": PNG, "path": None}] * ROWS,
    }
    change(columns)
    path = folder / "official" / "HOP00" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return folder / "official"


def at(columns: Columns, name: str, value: object) -> None:
    """Another value in the fourth row."""
    columns[name][3] = value


CHANGES: dict[str, Callable[[Columns], object]] = {
    "no rows": lambda columns: columns.update(
        {name: pa.array(values)[:0] for name, values in columns.items()}
    ),
    "a number twice": lambda columns: columns.update(idx=[0, *range(ROWS - 1)]),
    "numbers as text": lambda columns: columns.update(idx=list(map(str, range(ROWS)))),
    "images as paths": lambda columns: columns.update(image=["a.png"] * ROWS),
    "a text without end": lambda columns: at(columns, "query", "is there " * 1_000),
}


@pytest.mark.parametrize("change", CHANGES)
def test_wrong_columns_of_parquet_are_named(change: str, tmp_path: Path) -> None:
    with refused(DatasetError):
        import_source(official(tmp_path, CHANGES[change]), tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_column_that_is_there_twice_is_named(tmp_path: Path) -> None:
    source = official(tmp_path)
    table = pq.read_table(source / "HOP00" / NAME)
    pq.write_table(table.append_column("answer", table["answer"]), source / "HOP00" / NAME)
    with refused(DatasetError):
        import_source(source, tmp_path / "out")


@pytest.mark.parametrize(
    "there",
    [
        ("test_complex_ood-00001-of-00003.parquet",),
        (NAME, "test_complex_ood.parquet"),
        (NAME, "test_complex_ood-00000-of-00003.parquet"),
    ],
    ids=["missing", "twice", "of two exports"],
)
def test_a_part_of_a_split_that_is_missing_or_there_twice_is_named(
    there: tuple[str, ...], tmp_path: Path
) -> None:
    for name in there:
        source = official(tmp_path, name=name)
    with refused(DatasetError):
        import_source(source, tmp_path / "out")
    one = import_source(source / "HOP00" / there[0], tmp_path / "out")
    assert one.n_questions == {(HOP, "complex_ood"): ROWS}


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    source = official(tmp_path)
    (source / "HOP00" / NAME).unlink()
    os.mkfifo(source / "HOP00" / NAME)
    with refused(DatasetError):
        import_source(source, tmp_path / "out")


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    source = official(tmp_path)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "HOP00").symlink_to(source / "HOP00")
    (tmp_path / "links" / "HOP01").symlink_to(tmp_path / "links")
    made = import_source(tmp_path / "links", tmp_path / "out")
    assert made.n_questions == {(HOP, "complex_ood"): ROWS}


def test_names_with_a_digest_are_read_and_other_names_are_told(tmp_path: Path) -> None:
    source = official(tmp_path, name="train-00000-of-00001-1a2b3c4d5e6f7a8b.parquet")
    official(tmp_path, name="validation-00000-of-00001.parquet")
    made = import_source(source, tmp_path / "out")
    assert made.n_questions == {(HOP, "train"): ROWS}
    check_words("; ".join(made.manifest.source["notes"]) if made.manifest.source else "")


def notes(folder: Path, out: Path) -> str:
    described = import_source(folder, out).manifest.source
    return "\n".join(described["notes"]) if described else ""


def test_forms_that_are_mixed_are_told(dataset: Path, tmp_path: Path) -> None:
    """Ours beside the official one, two of the official ones, and files of unknown splits of each."""
    source = official(tmp_path, name="test_complex_iid-00000-of-00001.parquet")
    for form in ("parquet", "webdataset"):
        export(dataset, tmp_path / form, format=form, hops=[HOP], splits=["complex_ood"], images=False)
        shutil.copytree(tmp_path / form, source, dirs_exist_ok=True)
    write_hdf5(dataset, source, splits=["complex_ood"])
    (folder,) = source.rglob("no_text_no_vis_*cylinder*rubber*")
    shutil.copy(next(folder.glob("test_*.h5")), folder / "dev_CLEVR_ho_questions.h5")
    check_words(notes(source, tmp_path / "out"))
    table = tmp_path / "parquet" / HOP / "complex_ood-00000-of-00001.parquet"
    other = pq.read_table(table).replace_schema_metadata({})
    pq.write_table(other, table.with_name("dev-00000-of-00001.parquet"))
    shutil.copy(next((tmp_path / "webdataset" / HOP).glob("*.tar")), table.with_name("test-000000.tar"))
    check_words(notes(tmp_path / "parquet", tmp_path / "ours"))


def test_a_split_in_several_of_the_official_forms_is_read_from_the_last(
    dataset: Path, tmp_path: Path
) -> None:
    source = write_parquet(dataset, tmp_path / "official") / "HOP00"
    for path in source.glob("[!t]*"), source.glob("test_minimal_*"), source.glob("train*"):
        for each in path:
            each.unlink()
    write_json(dataset, source.parent)
    for path in source.parent.rglob("CLEVR_ho_val_iid_*"):
        path.unlink()
    check_words(notes(source.parent, tmp_path / "out"))
    assert clevrhope.load(tmp_path / "out", HOP, "complex_ood", text=True)[0]["program_text"]


def test_a_split_that_is_there_twice_is_refused(dataset: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        out = tmp_path / "both" / name
        out.parent.mkdir(exist_ok=True)
        export(dataset, out, format="parquet", hops=[HOP], splits=["complex_ood"], images=False)
    with refused(DatasetError):
        import_source(tmp_path / "both", tmp_path / "out")


def test_rows_are_read_in_the_order_of_their_numbers(dataset: Path, tmp_path: Path) -> None:
    """In an image of their own each, and also where names say which images rows share."""
    for named in (False, True):
        source = write_parquet(dataset, tmp_path / f"named {named}", named=named, shards=2)
        for path in source.glob("HOP00/*.parquet"):
            rows = pq.read_table(path)
            pq.write_table(rows.take([*range(len(rows))][::-1]), path)
        import_source(source / "HOP00", tmp_path / f"out of named {named}")
        for split in ("train", "complex_ood", "minimal_ood"):
            ours = clevrhope.load(dataset, HOP, split, text=True)
            theirs = clevrhope.load(tmp_path / f"out of named {named}", HOP, split, text=True)
            for k in range(len(ours)):
                assert theirs[k]["question_text"] == ours[k]["question_text"]
                assert (theirs[k]["image"] == ours[k]["image"]).all()


def test_numbers_that_lack_some_are_told(tmp_path: Path) -> None:
    source = official(tmp_path, lambda columns: columns.update(idx=[*range(1, ROWS), 50]))
    check_words("; ".join(import_source(source, tmp_path / "out").source.splits[0].notes))


def test_images_may_be_bytes_alone(tmp_path: Path) -> None:
    source = official(tmp_path, lambda columns: columns.update(image=[PNG] * ROWS))
    import_source(source, tmp_path / "out")
    assert clevrhope.load(tmp_path / "out", HOP, "complex_ood")[3]["image"].shape == (4, 6, 3)


def test_a_folder_of_something_else_says_what_is_looked_for(tmp_path: Path) -> None:
    source = official(tmp_path)
    (source / "HOP00").rename(source / "data")
    with refused(WrongFolderError):
        import_source(source, tmp_path / "out")


def test_a_layout_in_deeper_folders_says_what_is_looked_for_also_in_place(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = official(tmp_path) / "HOP00"
    (source / "train").mkdir()
    (source / NAME).rename(source / "train" / "0000.parquet")
    assert "no published questions were found there" in cli("audit", source.parent, code=2).err


# Files with programs


def test_numbers_of_images_have_a_bound(dataset: Path, tmp_path: Path) -> None:
    """A larger one would be a list of two billion places."""
    source = write_hdf5(dataset, tmp_path / "hdf5", splits=["complex_ood"])
    path = next(source.rglob("test_CLEVR_ho_questions.h5"))
    with h5py.File(path, "r+") as file:
        file["image_idxs"][4] = 2**31 - 2
    with refused(DatasetError):
        import_source(source, tmp_path / "out")


def test_images_of_another_layout_are_told(dataset: Path, tmp_path: Path) -> None:
    source = write_hdf5(dataset, tmp_path / "hdf5", splits=["complex_ood"])
    for path in source.rglob("test_ims.h5"):
        with h5py.File(path, "r+") as file:
            images = file["features"][:].transpose(0, 2, 3, 1)
            del file["features"]
            file["features"] = images
    made = import_source(source, tmp_path / "out")
    check_words("\n".join(made.source.notes))


def test_names_of_images_lead_nowhere_else(dataset: Path, tmp_path: Path) -> None:
    source = write_json(dataset, tmp_path / "json")
    path = next(source.rglob("CLEVR_held_out_questions_test_*rubber*.json"))
    content = json.loads(path.read_text())
    for name in ("../../elsewhere.png", "another.png"):
        content["questions"][3]["image_filename"] = name
        content["questions"][3]["image_index"] = content["questions"][2]["image_index"]
        path.write_text(json.dumps(content))
        with refused(DatasetError):
            import_source(source, tmp_path / "out")


def test_a_wrong_scene_is_named_by_its_image(dataset: Path, tmp_path: Path) -> None:
    source = write_json(dataset, tmp_path / "json")
    path = source / "held_out_CLEVR" / "CLEVR_held_out_test_scenes.json"
    content = json.loads(path.read_text())
    index = clevrhope.load(dataset, HOP, "complex_ood", images=False)[3]["image_index"]
    scene = next(scene for scene in content["scenes"] if scene["image_index"] == index)
    scene["objects"][0]["color"] = "ochre"
    path.write_text(json.dumps(content))
    with refused(DatasetError):
        import_source(source, tmp_path / "out")


def set_at(name: str, row: int, *values: int) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[name][row] = values if len(file[name].shape) == 1 else [*values, *file[name][row][len(values) :]]

    return change


WRONG_ROWS: dict[str, Callable[[h5py.File], None]] = {
    "an answer that is a special token": set_at("answers", 3, 1),
    "a program that is cut": set_at("programs_len", 4, 2),
    "a question that is too long": set_at("questions_len", 5, 1_000),
    "a program without its last function": lambda file: file["programs"].write_direct(cut(file, 6)),
    "an image behind the last": set_at("image_idxs", 7, 9_999),
}


def cut(file: h5py.File, row: int) -> Any:
    """The programs of a file, one of which has lost its last function; its length says so."""
    programs, n = file["programs"][:], int(file["programs_len"][row])
    programs[row, n - 2 : n] = programs[row, n - 1], 0
    file["programs_len"][row] = n - 1
    return programs


@pytest.mark.parametrize("fault", WRONG_ROWS)
def test_wrong_rows_of_hdf5_are_named(fault: str, dataset: Path, tmp_path: Path) -> None:
    source = write_hdf5(dataset, tmp_path / "hdf5", splits=["complex_ood"])
    with h5py.File(next(source.rglob("test_CLEVR_ho_questions.h5")), "r+") as file:
        WRONG_ROWS[fault](file)
    with refused(DatasetError):
        import_source(source, tmp_path / "out")


@pytest.mark.parametrize("by_number", [True, False])
@pytest.mark.parametrize("form", ["hdf5", "json"])
def test_the_first_pairs_lose_their_paired_questions(
    form: str, by_number: bool, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the number of questions if it is the published one, else where images begin again."""
    ours = {hop: clevrhope.load(dataset, hop, "train") for hop in (HOP, "metal_cylinder")}
    n = len(ours[HOP])
    wanted = n - 9 if by_number else n
    if by_number:
        monkeypatch.setitem(names.PLAIN, "train", (wanted, n + 16))
    order = [*np.argsort(ours[HOP].table.image_idxs, kind="stable"), *range(16)]
    if form == "hdf5":
        source = write_hdf5(dataset, tmp_path / "source")
        with h5py.File(next(source.rglob("*rubber*_ques/train_*.h5")), "r+") as file:
            for name in [*file]:
                values = file[name][:]
                del file[name]
                file[name] = values[order]
    else:
        source = write_json(dataset, tmp_path / "source")
        path = next(source.rglob("CLEVR_ho_train_*rubber*.json"))
        content = json.loads(path.read_text())
        content["questions"] = [content["questions"][row] for row in order]
        path.write_text(json.dumps(content))
    made = import_source(source, tmp_path / "out", splits=["train"])
    assert {hop: of for (hop, _), of in made.n_questions.items()} == {
        HOP: wanted,
        "metal_cylinder": len(ours["metal_cylinder"]),
    }
    assert len(clevrhope.load(tmp_path / "out", HOP, "train")) == wanted
    check_words("\n".join("; ".join(split.notes) for split in made.source.splits if split.hop == HOP))


@pytest.mark.parametrize(
    ("images", "n"),
    [([0, 0, 2, 2, 0, 2], 4), ([0, 0, 2, 0, 2, 1, 1], 3), ([2, 2, 0, 0], 4), ([1, 0, 2, 0, 3, 1], 6)],
    ids=["paired", "with paired images", "in another order", "in no order"],
)
def test_paired_questions_begin_with_an_image_that_was_there(images: list[int], n: int) -> None:
    file = names.OfficialFile(0, "train", "train", Path("train.h5"))
    assert file.plain(images)[0] == n
    assert bool(file.plain(images)[1]) == (n < len(images))
    assert names.OfficialFile(6, "train", "train", Path("train.h5")).plain(images) == (len(images), [])


# Exports


@pytest.fixture
def table(dataset: Path, tmp_path: Path) -> Path:
    export(dataset, tmp_path / "export", format="parquet", hops=[HOP], splits=["complex_ood"])
    return tmp_path / "export" / HOP / "complex_ood-00000-of-00001.parquet"


def changed(path: Path, name: str, change: Callable[[list[Any]], list[Any]], kind: str = "") -> None:
    content = pq.read_table(path)
    values = change(content[name].to_pylist())
    column = pa.array(values, getattr(pa, kind)() if kind else content.schema.field(name).type)
    pq.write_table(content.set_column(content.schema.names.index(name), name, column), path)


def test_rows_of_an_export_are_read_in_the_order_of_their_questions(
    table: Path, dataset: Path, tmp_path: Path
) -> None:
    content = pq.read_table(table)
    pq.write_table(content.take([*range(len(content))][::-1]), table)
    import_source(table, tmp_path / "out")
    ours = clevrhope.load(dataset, HOP, "complex_ood", text=True)
    theirs = clevrhope.load(tmp_path / "out", HOP, "complex_ood", text=True)
    for k in range(len(ours)):
        assert theirs[k]["question_text"] == ours[k]["question_text"]
        assert (theirs[k]["image"] == ours[k]["image"]).all()


@pytest.mark.parametrize(
    ("name", "change", "kind"),
    [
        ("question_index", lambda values: [0 for _ in values], ""),
        ("image_index", lambda values: [2**40, *values[1:]], "int64"),
        ("image_index", lambda values: [2**31 - 1, *values[1:]], ""),
        ("scene", lambda values: ["{", *values[1:]], ""),
    ],
    ids=["numbers", "large", "largest", "scene"],
)
def test_wrong_cells_of_an_export_are_named(
    name: str, change: Callable[[list[Any]], list[Any]], kind: str, table: Path, tmp_path: Path
) -> None:
    changed(table, name, change, kind)
    with refused(DatasetError):
        import_source(table, tmp_path / "out")


def test_a_folder_that_is_no_pair_is_refused_before_anything_is_written(table: Path, tmp_path: Path) -> None:
    pq.write_table(pq.read_table(table).replace_schema_metadata({}), table)
    table.parent.rename(tmp_path / "export" / "pink_unicorn")
    with refused(DatasetError):
        import_source(tmp_path / "export", tmp_path / "out")
    assert not [*(tmp_path / "out").glob("[!.]*")]


def test_missing_shards_of_a_whole_split_are_told(dataset: Path, tmp_path: Path, cli: Cli) -> None:
    export(dataset, tmp_path / "tars", format="webdataset", hops=[HOP], splits=["complex_ood", "complex_iid"])
    for path in (tmp_path / "tars" / HOP).glob("complex_iid-*"):
        path.unlink()
    said = cli("import", tmp_path / "tars", "--out", tmp_path / "out").out
    assert f"listed in shards.json, but not there: {HOP}/complex_iid" in said


@pytest.mark.parametrize("form", ["parquet", "webdataset"])
def test_an_export_of_files_without_scenes_is_read_back(form: str, tmp_path: Path) -> None:
    import_source(official(tmp_path), tmp_path / "first")
    export(tmp_path / "first", tmp_path / "export", format=form)
    import_source(tmp_path / "export", tmp_path / "second")
    first, second = (
        clevrhope.load(tmp_path / name, HOP, "complex_ood", text=True) for name in ("first", "second")
    )
    for k in range(ROWS):
        assert first[k]["question_text"] == second[k]["question_text"]
        np.testing.assert_array_equal(first[k]["image"], second[k]["image"])


@pytest.mark.parametrize("has_metadata", [True, False])
@pytest.mark.parametrize("kept", [slice(1, None), slice(None, -1)], ids=["first", "last"])
def test_an_export_that_lost_a_question_is_refused(
    kept: slice, has_metadata: bool, table: Path, tmp_path: Path
) -> None:
    """Its predictions would be those of the questions after it."""
    content = pq.read_table(table)
    if not has_metadata:
        content = content.replace_schema_metadata({})
    pq.write_table(content.take([*range(len(content))][kept]), table)
    if not has_metadata and kept.stop:  # nothing tells it
        assert import_source(table, tmp_path / "out").n_questions == {(HOP, "complex_ood"): len(content) - 1}
        return
    with refused(DatasetError):
        import_source(table, tmp_path / "out")


def test_a_file_of_several_is_read_and_told_to_be_a_part(table: Path, dataset: Path, tmp_path: Path) -> None:
    content = pq.read_table(table)
    table = table.rename(table.with_name("complex_ood-00001-of-00002.parquet"))
    pq.write_table(content.slice(4), table)
    out = tmp_path / "tars"
    export(dataset, out, format="webdataset", hops=[HOP], splits=["complex_iid"], shard_size=1)
    for path in (table, max(out.glob(f"{HOP}/*.tar"))):
        made = import_source(path, tmp_path / "out" / path.suffix[1:])
        check_words(made.source.splits[0].notes[0])
    assert not import_source(out, tmp_path / "out" / "whole").source.splits[0].notes


def test_tar_shards_that_lost_a_question_are_refused(dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "tars"
    export(dataset, out, format="webdataset", hops=[HOP], splits=["complex_iid"], shard_size=1)
    (out / "shards.json").unlink()
    min(out.glob(f"{HOP}/*.tar")).unlink()
    with refused(DatasetError):
        import_source(out, tmp_path / "out")
