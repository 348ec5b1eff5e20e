"""Datasets of other people, merged and exported: no name and no link in them leads anywhere else."""

import json
import os
import re
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

HOP = "rubber_cylinder"

NAMES: dict[str, Any] = {
    "above": "../../x",
    "dots": "..",
    "absolute": "/abs",
    "a path": "a/b",
    "NUL": "a\0b",
    "another system's path": "..\\x",
    "a newline": "a\nb",
    "half of a pair": "a\ud800",
    "long": "a" * 300,
    "hidden": ".hidden",
    "empty": "",
}
"""What no HOP, split or pool can be called."""


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest, indent=2))


def check_sentence(said: str, folder: Path) -> None:
    assert said.startswith(f"{folder}/")
    assert said.isprintable()
    assert len(said) < 500 + len(str(folder))


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


def refused(parts: list[Path], out: Path, words: str) -> None:
    """Merging is refused with one sentence, and nothing is written anywhere."""
    before = everything(out.parent)
    with pytest.raises(DatasetError, match=words) as told:
        merge(parts, request(out), make_renderer=renderer)
    check_sentence(str(told.value), parts[0])
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


PATHS = {
    "above": "hops/../../evil.txt",
    "far above": f"hops/{HOP}/../../../../evil.txt",
    "absolute": "/abs/evil.txt",
    "two strokes": "hops//evil.txt",
    "a stroke at the end": "hops/",
    "NUL": "hops/a\0b",
    "another system's path": "hops\\..\\..\\evil.txt",
    "a newline": "hops/a\nb",
    "half of a pair": "hops/a\ud800",
    "long": f"hops/{'a' * 300}/train.h5",
    "hidden": "hops/.clevrhope-x.partial",
    "empty": "",
}


@pytest.mark.parametrize("name", PATHS.values(), ids=PATHS)
def test_a_name_of_a_file_that_leads_out_of_a_part_is_refused(
    name: str, parts: list[Path], part: Path, tmp_path: Path
) -> None:
    (part.parent / "evil.txt").write_text("evil")
    edit(part, lambda manifest: manifest["files"].update({name: {"bytes": 4, "sha256": "0" * 64}}))
    words = "half of a surrogate pair" if "\ud800" in name else r"files: .* is not a path below the folder"
    refused(parts, tmp_path / "out", rf"manifest\.json: .*{words}")


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("place", ["HOP", "split", "pool"])
def test_a_name_that_leads_out_of_a_part_is_refused(
    place: str, name: str, parts: list[Path], part: Path, tmp_path: Path
) -> None:
    edit(part, lambda manifest: renamed(manifest, place, name))
    words = "half of a surrogate pair" if "\ud800" in name else r"(splits|pools).* cannot name a file"
    refused(parts, tmp_path / "out", rf"manifest\.json: .*{words}")


def renamed(manifest: dict[str, Any], place: str, name: Any) -> None:
    splits = manifest["splits"]
    hop = next(iter(splits))
    split = next(iter(splits[hop]))
    if place == "HOP":
        splits[name] = splits.pop(hop)
    elif place == "split":
        splits[hop][name] = splits[hop].pop(split)
    else:
        splits[hop][split]["pool"] = name


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
    refused(parts, tmp_path / "out", f"^{path}: a link that leads out of {part}; put a copy in its place")


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


def spoilt(path: Path, kind: str) -> str:
    """Puts something else in place of a file; gives what is said of it."""
    content = path.read_bytes()
    path.unlink()
    if kind == "missing":
        return "no such file; run the part's build again"
    if kind == "folder":
        path.mkdir()
        return "a folder; expected a file"
    if kind == "pipe":
        os.mkfifo(path)
        return "a pipe, socket or device; expected a file"
    path.write_bytes(content[:1000])
    return f"1,000 bytes are there, of {len(content):,}; run the part's build again"


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "cut off"])
def test_a_file_of_a_part_that_is_none_is_told_before_anything_is_written(
    kind: str, parts: list[Path], part: Path, tmp_path: Path
) -> None:
    path = question_file(part)
    words = spoilt(path, kind)
    # Told before anything is read: a pipe would be read for ever.
    with pytest.raises(DatasetError, match=f"^{path}: {re.escape(words)}"):
        merge(parts, request(tmp_path / "out"), make_renderer=renderer)
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


def exports_refused(data: Path, words: str) -> None:
    """Every format is refused with one sentence, and nothing is written anywhere."""
    before = everything(data.parent)
    for name in FORMATS.keys() - {"covr"}:  # which needs questions over several images
        with pytest.raises(DatasetError, match=words) as told:
            export(data, data.parent / "out", format=name)
        check_sentence(str(told.value), data)
    assert everything(data.parent) == before


VALUES: dict[str, Any] = {
    **{each: name for each, name in NAMES.items() if name.isascii() and "\0" not in name},
    "NUL": np.bytes_(b"a\0b"),
    "a number": 3,
    "numbers": np.array([1, 2]),
    "names": [b"train", b"val"],
    "no value": h5py.Empty("S1"),
    "missing": None,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.slow
def test_a_question_files_attribute_that_leads_out_is_refused(value: Any, data: Path) -> None:
    path = question_file(data)
    for attribute in ("hop", "split", "pool"):
        with h5py.File(path, "r+") as file:
            kept = file.attrs.pop(attribute)
            if value is not None:
                file.attrs[attribute] = value
        words = (
            f"it has no attribute {attribute}" if value is None else f"attribute {attribute}: .* cannot na"
        )
        exports_refused(data, rf"{path.name}: .*{words}")
        with h5py.File(path, "r+") as file:
            file.attrs[attribute] = kept


@pytest.mark.parametrize("place", ["hop", "split", "pool"])
def test_a_question_file_of_another_split_is_refused(place: str, data: Path) -> None:
    path = question_file(data)
    with h5py.File(path, "r+") as file:
        file.attrs[place] = "another"
    exports_refused(data, rf"{path.name}: .*another.*, but the manifest has {HOP}/")
