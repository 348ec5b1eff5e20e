"""A user's own files stay where they are; one that is in the way is an error before anything is written."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from building import Make, renderer, request, stamps, tree
from fake_renderer import FakeRenderer

from benchmarks.reference_images import reference_scenes
from clevrhope.audit import audit
from clevrhope.errors import ClevrhopeError, DatasetError
from clevrhope.export import export
from clevrhope.features.extraction import make_features
from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline import build
from clevrhope.pipeline.scene_images import RenderedFile, render_scene_file
from clevrhope.runtime.lock import OWNER
from wording import check_refused

HOP = "rubber_cylinder"


class Never(FakeRenderer):
    """Fails when it is asked for anything."""

    def __init__(self, *_: Any) -> None:
        super().__init__(settings=NativeSettings(), fails_on=0)


def put(folder: Path, *names: str) -> dict[Path, str]:
    """A user's files in a folder."""
    made = {}
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"mine: {name}")
        made[path] = f"mine: {name}"
    return made


def check_there(files: dict[Path, str]) -> None:
    assert {path: path.read_text() for path in files if path.exists()} == files


def users_files(root: Path, *folders: str) -> dict[Path, str]:
    names = ("mine.txt", ".download.partial", ".hidden", "own/deep/.clevrhope-a.partial", "own/deep/mine.png")
    return {
        path: text
        for folder in folders
        for path, text in put(root / folder if folder else root, *names).items()
    }


# clevrhope render


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"info": {}, "scenes": [dict(each) for each in reference_scenes()[:2]]}))
    return path


def render(scenes: Path, out: Path, passes: tuple[str, ...] = ("mask",)) -> RenderedFile:
    tiny = NativeSettings(width=48, height=32, quality="draft")
    return render_scene_file(scenes, out, rendering=tiny, passes=passes)


def test_render_leaves_a_users_folder_named_as_the_scene_file_and_files_of_other_programs(
    scenes: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    files = users_files(out, "", "s_passes", "s_passes/00", "images")
    files |= put(out, "s_passes/00.passes", "s_passes/HOPE_train_000000.passes", "s_passes/.a.partial")
    assert (render(scenes, out).n_annotated, render(scenes, out).n_annotated) == (2, 0)
    check_there(files)
    mine = {path.relative_to(out).as_posix() for path in files}
    assert tree(out).keys() - mine == {"00.png", "01.png", "render.json", "s_passes.h5"}


# clevrhope build


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with images in HDF5 and masks."""
    out = tmp_path_factory.mktemp("whole") / "data"
    asked = request(out, images="h5", passes=("mask",))
    build(asked, make_renderer=renderer)
    return out


@pytest.fixture(scope="module")
def text_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its questions and scenes, as a run leaves them that is killed before the first image."""
    out = tmp_path_factory.mktemp("text") / "data"
    with pytest.raises(ClevrhopeError, match="worker"):
        build(request(out, images="h5", passes=("mask",)), make_renderer=Never)
    return out


@pytest.fixture
def text(text_made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(text_made, tmp_path / "out"))


def test_build_leaves_a_users_files_and_makes_what_it_makes_without_them(
    make: Make, whole: Path, text: Path
) -> None:
    folders = ("", "images", "images/mine", "images/.clevrhope-mine", "passes", "passes/mine", "features")
    files = users_files(text, *folders, "scenes", "scenes/train", "hops/x", f"hops/{HOP}")
    files |= put(text / "scenes", "mine.json", "train/notes.txt", "train/0000.json.bak")
    files |= put(text / "hops/x", "train.txt", "train_questions.json")
    make(text, images="h5", passes=("mask",))
    check_there(files)
    mine = {path.relative_to(text).as_posix() for path in files}
    assert {name: digest for name, digest in tree(text).items() if name not in mine} == tree(whole)
    # Another run, with PNG files among those of the user.
    names = ("notes.txt", "mine.png", "HOPE_train_x.png", "HOPE_train_00001.png", "HOPE_val_000000.png")
    files |= put(text / "images/train", *names, ".HOPE_train_000000.png")
    make(text, images="both", passes=("mask",))
    check_there(files)
    assert len(list((text / "images/train").glob(f"HOPE_train_{'[0-9]' * 6}.png"))) > 10


@pytest.mark.slow
def test_a_users_files_in_a_dataset_are_told_of_by_an_audit_and_harm_no_reader(
    whole: Path, of_pixels: set[str], tmp_path: Path
) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    put(out / "images/train", "notes.txt", "HOPE_train_x.png")
    put(out / "scenes", "notes.txt")
    put(out / "hops/x", "notes.txt")
    assert failed_checks(out) == {*of_pixels, "files"}
    made = export(out, tmp_path / "exported", format="webdataset")
    assert {hop for hop, _ in made.splits} == {HOP}
    features = make_features(out, kind="attributes")
    assert features.pools == make_features(whole, kind="attributes", out=tmp_path / "store").pools


def failed_checks(folder: Path) -> set[str]:
    return {each.name for each in audit(folder).checks if each.result == "failed"}


@pytest.fixture(scope="module")
def of_pixels(whole: Path) -> set[str]:
    """The checks that fail in any case, since no renderer made the images."""
    failed = failed_checks(whole)
    assert failed <= {"images", "passes"}
    return failed


# --out on another disk


@pytest.mark.slow
def test_images_on_another_disk_are_built_resumed_and_audited(
    make: Make, whole: Path, text: Path, of_pixels: set[str], tmp_path: Path
) -> None:
    out, scratch = text, tmp_path / "scratch"
    for name in ("images", "passes"):
        (scratch / name).mkdir(parents=True)
        (out / name).symlink_to(scratch / name)
    asked = request(out, images="h5", passes=("mask",))

    def stopped(*_: Any) -> FakeRenderer:
        return FakeRenderer(settings=asked.config.rendering, fails_on=10)

    check_refused(ClevrhopeError, build, asked, make_renderer=stopped)
    assert list(scratch.glob("images/.clevrhope-*"))
    made = make(out, images="h5", passes=("mask",))
    assert 0 < made.n_rendered < made.n_images
    assert tree_through_links(out) == tree(whole)
    assert (out / "images").is_symlink()
    assert {path.name for path in (scratch / "images").iterdir()} == {
        OWNER,
        *(path.name for path in (whole / "images").iterdir()),
    }
    before = stamps(scratch)
    assert make(out, images="h5", passes=("mask",)).n_rendered == 0
    assert stamps(scratch) == before
    assert failed_checks(out) == of_pixels


def tree_through_links(root: Path) -> dict[str, str]:
    found = tree(root)
    for path in root.iterdir():
        if path.is_symlink():
            files = tree(path.resolve())
            del files[OWNER]  # which only a folder at the end of a link has
            found |= {f"{path.name}/{name}": digest for name, digest in files.items()}
    return found


# clevrhope features


@pytest.fixture(scope="module")
def extended(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset that was extended since features of two pools were made."""
    out = Path(shutil.copytree(whole, tmp_path_factory.mktemp("extended") / "data"))
    make_features(out, kind="pixels", size=(6, 4), pools=["test_ood", "train"])
    build(request(out, images="h5", passes=("mask",), sizes={"train": 300}), make_renderer=renderer)
    return out


@pytest.fixture
def data(extended: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(extended, tmp_path / "data"))


def test_features_leave_a_users_files_beside_their_pools(data: Path) -> None:
    store = data / "features/pixels-6x4"
    files = put(store, "notes.txt", ".train.work/mine.txt", ".train.old/mine.txt", "mine/pixels.npy")
    make_features(data, kind="pixels", size=(6, 4))
    check_there(files)
    assert not list(store.glob(".clevrhope-*"))


# clevrhope export


@pytest.mark.parametrize("fails", [False, True])
def test_export_leaves_partial_files_of_other_programs(
    fails: bool, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = put(
        tmp_path, ".out.partial/mine.txt", "out.partial/mine.txt", ".clevrhope-other.partial/mine.txt"
    )
    if fails:
        monkeypatch.setattr("clevrhope.export.webdataset.write", interrupted)
        from clevrhope.export import formats

        broken = {name: formats.Format(interrupted, prefer="png") for name in formats.FORMATS}
        monkeypatch.setattr("clevrhope.export.run.FORMATS", broken)
        with pytest.raises(KeyboardInterrupt):
            export(whole, tmp_path / "out", format="webdataset")
    else:
        export(whole, tmp_path / "out", format="webdataset")
    check_there(files)
    made = {"out"} if not fails else set()
    assert {path.name for path in tmp_path.iterdir()} == made | {path.parent.name for path in files}


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


# Something in the place of a working folder


@pytest.mark.parametrize("command", ["render", "build", "features", "export"])
def test_a_users_file_in_a_working_folder_is_named_before_anything_starts_and_stays(
    command: str, scenes: Path, text: Path, data: Path, whole: Path, tmp_path: Path
) -> None:
    """`tests/runtime/test_working_folders.py` has what else can be in the place of such a folder."""
    asked = request(text, images="h5", passes=("mask",))
    place, run = {
        "render": (tmp_path / "r/.clevrhope-s_passes", partial(render, scenes, tmp_path / "r")),
        "build": (text / "passes/train", partial(build, asked, make_renderer=Never)),
        "features": (
            data / "features/pixels-6x4/.clevrhope-train.work",
            partial(make_features, data, kind="pixels", size=(6, 4)),
        ),
        "export": (
            tmp_path / ".clevrhope-exported.partial",
            partial(export, whole, tmp_path / "exported", format="webdataset"),
        ),
    }[command]
    files = put(place, "mine.txt", "00.passes/mine.txt")
    before = tree(tmp_path)
    check_refused(DatasetError, run)
    check_there(files)
    assert tree(tmp_path) == before
