"""Datasets of other people, merged and exported: no name and no link in them leads anywhere else."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import renderer, request, tree

from clevrhope.errors import DatasetError
from clevrhope.export import FORMATS, export
from clevrhope.pipeline import build, build_part, merge, parse_shard
from wording import check_refused, check_words

HOP = "rubber_cylinder"


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest, indent=2))


# clevrhope merge


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two parts with their images."""
    root = tmp_path_factory.mktemp("parts")
    for number in (1, 2):
        build_part(request(root / str(number)), parse_shard(f"{number}/2"), make_renderer=renderer)
    return root


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one machine makes of the same request."""
    out = tmp_path_factory.mktemp("whole") / "data"
    build(request(out), make_renderer=renderer)
    return tree(out)


@pytest.fixture
def parts(pristine: Path, tmp_path: Path) -> list[Path]:
    root = Path(shutil.copytree(pristine, tmp_path / "in" / "parts"))
    return [root / "1", root / "2"]


@pytest.fixture
def part(parts: list[Path]) -> Path:
    """The first part, to be spoilt."""
    return parts[0]


def merge_refused(parts: list[Path], out: Path) -> None:
    """Merging is refused with one sentence, and nothing is written anywhere."""
    before = everything(out.parent)
    check_refused(DatasetError, merge, parts, request(out), make_renderer=renderer)
    assert everything(out.parent) == before


def everything(root: Path) -> dict[str, object]:
    """Each path below a folder, folders and links included, with what is in it."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        what: object = None
        if path.is_symlink():
            what = path.readlink()
        elif path.is_file():
            what = path.read_bytes()
        found[path.relative_to(root).as_posix()] = what
    return found


@pytest.mark.parametrize(
    ("place", "name"),
    [("file", "hops/../../evil.txt"), ("HOP", "../../x"), ("split", ".."), ("pool", "/abs")],
)
def test_a_name_that_leads_out_of_a_part_is_refused(
    place: str, name: str, parts: list[Path], part: Path, tmp_path: Path
) -> None:
    """`tests/runtime/test_paths.py` has all that cannot name a file."""
    (part.parent / "evil.txt").write_text("evil")
    edit(part, lambda manifest: renamed(manifest, place, name))
    merge_refused(parts, tmp_path / "out")


def renamed(manifest: dict[str, Any], place: str, name: str) -> None:
    splits = manifest["splits"]
    split = next(iter(splits[HOP]))
    if place == "file":
        manifest["files"][name] = {"bytes": 4, "sha256": "0" * 64}
    elif place == "HOP":
        splits[name] = splits.pop(HOP)
    elif place == "split":
        splits[HOP][name] = splits[HOP].pop(split)
    else:
        splits[HOP][split]["pool"] = name


@pytest.fixture
def outside(part: Path, tmp_path: Path) -> Path:
    """A folder with a copy of what the part holds, and a secret."""
    folder = tmp_path / "outside"
    for name in ("hops", "images", "scenes"):
        shutil.copytree(part / name, folder / name)
    (folder / "secret.txt").write_text("secret")
    return folder


def question_file(part: Path) -> Path:
    return min(part.glob(f"hops/{HOP}/*.h5"))


def image(part: Path) -> Path:
    return min(part.glob("images/*/*.png"))


def swap(path: Path, target: Path) -> None:
    """Puts a link in place of a file or folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    path.symlink_to(target)


PLACES: dict[str, Callable[[Path], Path]] = {
    "a question file": question_file,
    "an image": image,
    "a scene file": lambda part: min(part.glob("scenes/*/*.json")),
    "the manifest": lambda part: part / "manifest.json",
    "a folder of questions": lambda part: part / "hops" / HOP,
    "all questions": lambda part: part / "hops",
    "a pool's images": lambda part: image(part).parent,
    "all images": lambda part: part / "images",
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_link_that_leads_out_of_a_part_is_refused(
    place: Callable[[Path], Path], parts: list[Path], part: Path, outside: Path, tmp_path: Path
) -> None:
    path = place(part)
    shutil.copy(part / "manifest.json", outside)
    swap(path, outside / path.relative_to(part))
    assert path.exists()
    merge_refused(parts, tmp_path / "out")


def test_links_within_a_part_are_followed(
    parts: list[Path], part: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    (part / "kept").mkdir()
    for path in (question_file(part), image(part), part / "scenes"):
        moved = path.rename(part / "kept" / path.name)
        path.symlink_to(os.path.relpath(moved, path.parent))
    linked = tmp_path / "linked"
    linked.symlink_to(part)
    merge([linked, parts[1]], request(tmp_path / "out"), make_renderer=renderer)
    assert tree(tmp_path / "out") == whole
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_symlink()]


def spoil(path: Path, kind: str) -> None:
    """Puts something else in place of a file."""
    content = path.read_bytes()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "cut off":
        path.write_bytes(content[:1000])


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "cut off"])
def test_a_file_of_a_part_that_is_none_is_told_before_anything_is_written(
    kind: str, parts: list[Path], part: Path, tmp_path: Path
) -> None:
    spoil(question_file(part), kind)
    # Told before anything is read: a pipe would be read for ever.
    check_refused(DatasetError, merge, parts, request(tmp_path / "out"), make_renderer=renderer)
    assert not (tmp_path / "out").exists()


# clevrhope export


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of one HOP with PNG files and masks, which each format can take."""
    out = tmp_path_factory.mktemp("made") / "data"
    build(request(out, images="png", passes=("mask",)), make_renderer=renderer)
    return out


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "data"))


VALUES: dict[str, Any] = {
    "above": "../../x",
    "NUL": np.bytes_(b"a\0b"),
    "a number": 3,
    "names": [b"train", b"val"],
    "no value": h5py.Empty("S1"),
    "another": "another",
    "missing": None,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("attribute", ["hop", "split", "pool"])
def test_a_question_files_attribute_that_is_not_the_manifests_is_refused(
    attribute: str, value: Any, data: Path
) -> None:
    """By every format, with nothing written anywhere."""
    with h5py.File(question_file(data), "r+") as file:
        del file.attrs[attribute]
        if value is not None:
            file.attrs[attribute] = value
    before = everything(data.parent)
    sentences = set()
    for name in FORMATS.keys() - {"covr"}:  # which needs questions over several images
        with pytest.raises(DatasetError) as error:
            export(data, data.parent / "out", format=name)
        sentences.add(str(error.value))
    (sentence,) = sentences
    check_words(sentence)
    assert everything(data.parent) == before
