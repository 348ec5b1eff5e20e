"""What all formats share: the folder appears whole or not at all, and bad input costs one sentence."""

import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import h5py
import pytest
from building import Cli, stamps, tree
from truth import HOP, Truth, items_of_sets

from clevrhope.__main__ import run_command
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.export import FORMATS, export
from clevrhope.export.formats import Format
from clevrhope.runtime.lock import locked
from clevrhope.splits.covr.kinds import COVR_SPLITS
from systems import needs_limits, needs_sys
from wording import check_words, refused

Patch = pytest.MonkeyPatch

#: Those of questions about one image.
ONE_IMAGE = [name for name, each in FORMATS.items() if each.single]
all_formats = pytest.mark.parametrize("name", ONE_IMAGE)
#: Of test sets alone is lmms-eval.
forms_of_train = pytest.mark.parametrize("name", [name for name in ONE_IMAGE if name != "lmms-eval"])
#: Of images alone is coco.
forms_of_sets = pytest.mark.parametrize("name", ["parquet", "webdataset"])
text_formats = pytest.mark.parametrize("name", [name for name in ONE_IMAGE if name != "coco"])


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@all_formats
def test_png_and_hdf5_images_give_the_same_bytes(
    png_dataset: Path, h5_dataset: Path, tmp_path: Path, name: str
) -> None:
    for folder in (png_dataset, h5_dataset):
        export(folder, tmp_path / folder.parent.name, format=name, hops=[HOP])
    first, second = (tree(tmp_path / folder.parent.name) for folder in (png_dataset, h5_dataset))
    assert first == second
    assert len(first) > 3


@forms_of_train
def test_a_prefix_of_train_is_its_first_questions(png_dataset: Path, tmp_path: Path, name: str) -> None:
    """100 questions end in the middle of the twelfth image."""
    chosen: dict[str, Any] = {"hops": [HOP], "splits": ["train"], "train_questions": 100}
    made = export(png_dataset, tmp_path / "out", format=name, **chosen)
    assert (made.n_questions, made.n_images, made.n_copies) == (100, 12, 12)


@forms_of_sets
def test_a_prefix_of_questions_over_several_images(set_dataset: Path, tmp_path: Path, name: str) -> None:
    made = export(set_dataset, tmp_path / "out", format=name, splits=["covr_train"], train_questions=31)
    sets = [item["image_indices"] for item in items_of_sets(set_dataset, "covr_train")[:31]]
    n_images = len({index for indices in sets for index in indices})
    assert (made.n_questions, made.n_images, made.n_copies) == (31, n_images, sum(map(len, sets)))


@forms_of_sets
def test_sets_of_images_are_left_out_unless_they_are_named(
    set_dataset: Path, tmp_path: Path, name: str
) -> None:
    made = export(set_dataset, tmp_path / "out", format=name, images=False)
    assert not {split for _, split in made.splits} & set(COVR_SPLITS)
    assert made.n_questions > 0
    assert not list((tmp_path / "out").rglob("*covr*"))


def test_images_are_counted_as_build_counts_them(png_dataset: Path, tmp_path: Path, cli: Cli) -> None:
    pools = json.loads((png_dataset / "manifest.json").read_text())["pools"]
    built = sum(pool["images"] for pool in pools.values())
    made = export(png_dataset, tmp_path / "out", format="parquet")
    assert made.n_images == built
    assert made.n_copies == sum(entry["images"] for entry in splits_of(png_dataset)) > built
    counted = f"{built:,} images ({made.n_copies:,} copies, one for each split that uses it)"
    assert counted in cli("export", png_dataset, "--format", "parquet", "--out", tmp_path / "again").out


def splits_of(root: Path) -> list[dict[str, Any]]:
    splits = json.loads((root / "manifest.json").read_text())["splits"]
    return [entry for found in splits.values() for entry in found.values()]


@pytest.mark.slow
@text_formats
def test_text_only_by_choice(png_dataset: Path, bare_dataset: Path, tmp_path: Path, name: str) -> None:
    export(png_dataset, tmp_path / "chosen", format=name, hops=[HOP], images=False)
    export(bare_dataset, tmp_path / "bare", format=name, hops=[HOP])
    chosen, bare = (tree(tmp_path / each) for each in ("chosen", "bare"))
    # The README says of both how the dataset was rendered, or that it was not.
    assert "not rendered" in (tmp_path / "bare" / "README.md").read_text()
    assert {**chosen, "README.md": bare["README.md"]} == bare
    assert not [path for path in bare if "images" in str(path)]


def test_the_command_line(png_dataset: Path, bare_dataset: Path, tmp_path: Path, cli: Cli) -> None:
    asked = ("--format", "clevr", "--hop", HOP, "--splits", "train,complex_ood")
    said = cli("export", png_dataset, *asked, "--out", tmp_path / "out").out
    assert re.search(r"out: 174 questions, 30 images, \d", said)
    assert leftovers(tmp_path / "out" / "images") == ["complex_ood", "train"]
    said = cli("export", bare_dataset, *asked, "--json", "--quiet", "--out", tmp_path / "text").out
    assert '"questions": 174, "images": 0' in said


def test_nothing_is_exported_into_a_dataset(png_dataset: Path, cli: Cli) -> None:
    before = stamps(png_dataset)
    for out in (png_dataset / "images" / "mine", png_dataset / "mine"):
        told = cli("export", png_dataset, "--format", "clevr", "--out", out, "--hop", HOP, code=2).err
        assert f"{out}: is within the dataset {png_dataset}, whose manifest lists" in told
    assert stamps(png_dataset) == before


@all_formats
def test_a_folder_that_is_not_empty_is_left_as_it_is(
    png_dataset: Path, tmp_path: Path, name: str, cli: Cli
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    before = stamps(tmp_path)
    check_words(
        cli("export", png_dataset, "--format", name, "--out", out, "--quiet", "--hop", HOP, code=1).err
    )
    assert stamps(tmp_path) == before
    assert leftovers(tmp_path) == ["out"]


def test_hops_without_the_split_are_passed_over_unless_they_are_named(
    png_dataset: Path, tmp_path: Path
) -> None:
    made = export(png_dataset, tmp_path / "out", format="clevr", splits=["complex_ood"])
    assert made.splits == ((HOP, "complex_ood"),)
    with refused(ConfigError):
        export(png_dataset, tmp_path / "again", format="clevr", splits=["complex_ood"], hops=["none", HOP])


def test_an_empty_folder_is_taken_and_a_file_is_not(png_dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    export(png_dataset, tmp_path / "empty", format="webdataset")
    assert (tmp_path / "empty" / "shards.json").exists()
    (tmp_path / "file").write_text("mine")
    with refused(DatasetError):
        export(png_dataset, tmp_path / "file", format="webdataset")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "parket"},
        {"hops": ["rubber_cilinder"]},
        {"splits": ["complex_odd"]},
        {"splits": ["val"], "hops": [HOP]},
        {"format": "clevr"},
        {"format": "official", "hops": ["none"]},
        {"format": "official", "splits": ["val_iid"], "hops": [HOP]},
        {"train_questions": 1000},
        {"train_questions": 0},
        {"splits": ["train", "covr_test"]},
    ],
)
def test_what_the_folder_does_not_have(png_dataset: Path, tmp_path: Path, wrong: dict[str, Any]) -> None:
    with refused(ConfigError):
        export(png_dataset, tmp_path / "out", **{"format": "webdataset", **wrong})
    assert leftovers(tmp_path) == []


def test_a_library_that_is_missing(png_dataset: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with refused(ConfigError):
        export(png_dataset, tmp_path / "out", format="parquet")


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def check_refuses(folder: Path, name: str) -> None:
    """An export of a damaged copy is refused, and leaves nothing behind."""
    with refused(DatasetError):
        export(folder, folder.with_name("out"), format=name, hops=[HOP])
    assert leftovers(folder.parent) == [folder.name]


@all_formats
def test_a_question_file_that_is_cut_off(copy: Path, name: str) -> None:
    cut(copy / "hops" / HOP / "complex_ood.h5")
    check_refuses(copy, name)


@text_formats
def test_tokens_that_are_broken_in_the_file(copy: Path, name: str) -> None:
    """Found when the export is under way already."""
    path = copy / "hops" / HOP / "complex_ood.h5"
    with h5py.File(path) as file:
        chunk = file["questions"].id.get_chunk_info(0)
    with path.open("r+b") as raw:
        raw.seek(chunk.byte_offset)
        raw.write(b"\0" * chunk.size)
    check_refuses(copy, name)


@all_formats
def test_an_image_that_is_missing_and_one_that_is_cut_off(copy: Path, name: str) -> None:
    image = copy / "images" / "test_iid" / Truth(copy).questions("complex_iid")[9]["image_filename"]
    cut(image)
    check_refuses(copy, name)
    image.unlink()
    check_refuses(copy, name)
    for path in image.parent.iterdir():
        path.unlink()
    check_refuses(copy, name)


@forms_of_train
def test_an_image_file_that_is_cut_off(h5_dataset: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(h5_dataset, copy)
    cut(copy / "images" / "train.h5")
    check_refuses(copy, name)


def test_a_scene_file_that_is_cut_off(copy: Path) -> None:
    shard = copy / "scenes" / "train" / "0000.json"
    lines = shard.read_bytes().splitlines(keepends=True)
    fourth = sorted({question["image_index"] for question in Truth(copy).questions("train")})[3]
    end = next(k for k, line in enumerate(lines, 1) if f'"image_index":{fourth},'.encode() in line)
    for content in (b"".join(lines[:end]), b"".join(lines[:end])[:-40]):
        shard.write_bytes(content)
        check_refuses(copy, "clevr")


@needs_limits
@all_formats
@pytest.mark.parametrize("limit", [900, 3_000])
@pytest.mark.slow
def test_no_space_left_and_then_some(dataset: Path, tmp_path: Path, name: str, limit: int) -> None:
    """A file that may not grow meets the same code as a disk that is full."""
    arguments = ["export", str(dataset), "--format", name, "--hop", HOP, "--quiet"]
    script = f"""
        import resource, sys
        import pyarrow.parquet
        from clevrhope.__main__ import run_command
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
        failed = run_command(sys.argv[1:])
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(failed)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments, "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "1\n", done.stderr
    (sentence,) = done.stderr.splitlines()
    assert "space" in sentence
    assert "run the same command again" in sentence
    assert leftovers(tmp_path) == []
    assert run_command([*arguments, "--out", str(tmp_path / "out")]) == 0


def test_stopped_at_any_point_nothing_is_left(png_dataset: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    written = []

    def stop(source: object, out: Path, advance: object) -> None:
        (out / "half").write_text("half")
        written.append(out)
        raise KeyboardInterrupt

    monkeypatch.setattr("clevrhope.export.run.FORMATS", {"broken": Format(stop, prefer="png")})
    with pytest.raises(KeyboardInterrupt):
        export(png_dataset, tmp_path / "out", format="broken")
    assert len(written) == 1
    assert leftovers(tmp_path) == []


def test_what_a_killed_export_left_goes_with_the_next(png_dataset: Path, tmp_path: Path) -> None:
    """And a folder in which another one is at work is not touched."""
    left = tmp_path / ".clevrhope-out.partial"
    (left / "export/train").mkdir(parents=True)
    (left / "export/train/half").write_text("half")
    with locked(left):
        with pytest.raises(DatasetError, match="another run is writing here"):
            export(png_dataset, tmp_path / "out", format="webdataset")
        assert (left / "export/train/half").exists()
    export(png_dataset, tmp_path / "out", format="webdataset")
    assert leftovers(tmp_path) == ["out"]
    assert not list((tmp_path / "out").rglob("half"))


@needs_sys
def test_no_permission(png_dataset: Path) -> None:
    """Nobody makes folders in /sys, root included."""
    with refused(DatasetError):
        export(png_dataset, Path("/sys/clevrhope"), format="webdataset")
