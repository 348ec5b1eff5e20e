"""Nothing is written or deleted through links: each command that writes refuses those that lead outside."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from building import renderer, request, stamps

from clevrhope.dataset.manifest import existing_manifest, write_manifest
from clevrhope.errors import DatasetError
from clevrhope.features.extraction import make_features
from clevrhope.metrics.request_files import write_requests
from clevrhope.pipeline import build, build_part, merge, parse_shard
from clevrhope.pipeline.suites import make_suite, remove_suite
from clevrhope.runtime.atomic import write_own
from clevrhope.runtime.lock import OWNER
from wording import check_refused

HOP = "rubber_cylinder"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with a suite."""
    out = tmp_path_factory.mktemp("made") / "data"
    build(request(out, images="h5"), make_renderer=renderer)
    make_suite(out, "carets", hops=(HOP,))
    return out


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "data"))


def linked(path: Path, target: Path) -> Path:
    """Moves a file or folder elsewhere, and puts a link to it in its place; returns the folder there."""
    target.parent.mkdir(parents=True)
    path.rename(target)
    path.symlink_to(target)
    return target.parent


def grown(out: Path, **changes: object) -> Callable[[], object]:
    """A build of more questions."""
    asked = request(out, images="h5", sizes={"train": 300}, **changes)
    return partial(build, asked, make_renderer=renderer)


def grown_through(root: Path, place: str) -> Callable[[], object]:
    linked(root / place, root.parent / "elsewhere" / Path(place).name)
    return grown(root)


@pytest.mark.parametrize("place", ["scenes", "hops", f"hops/{HOP}", "scenes/train", "scenes/train/0000.json"])
def test_build_refuses_links_that_lead_outside(place: str, data: Path, tmp_path: Path) -> None:
    run = grown_through(data, place)
    before = stamps(tmp_path)
    check_refused(DatasetError, run)
    assert stamps(tmp_path) == before


COMMANDS: dict[str, Callable[[Path], object]] = {
    "suite": lambda root: make_suite(root, "carets", hops=(HOP,)),
    "suite --remove": lambda root: remove_suite(root, "carets"),
    "build": lambda root: grown(root)(),
    "build --shard": lambda root: build_part(request(root), parse_shard("1/2"), make_renderer=renderer),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_that_changes_a_dataset_refuses_them(command: str, data: Path, tmp_path: Path) -> None:
    linked(data / f"hops/{HOP}/suites", tmp_path / "elsewhere/suites")
    before = stamps(tmp_path)
    with pytest.raises(DatasetError, match=f"hops/{HOP}/suites: a link that leads out of"):
        COMMANDS[command](data)
    assert stamps(tmp_path) == before


def test_merge_refuses_them_in_its_own_folder(tmp_path: Path) -> None:
    parts = [tmp_path / "1", tmp_path / "2"]
    for number, part in enumerate(parts, start=1):
        build_part(request(part, render=False), parse_shard(f"{number}/2"))
    asked = request(tmp_path / "out", render=False)
    merge(parts, asked)
    linked(tmp_path / "out/scenes", tmp_path / "elsewhere/scenes")
    before = stamps(tmp_path)
    with pytest.raises(DatasetError, match="scenes: a link that leads out of"):
        merge(parts, asked)
    assert stamps(tmp_path) == before


def test_images_may_be_on_another_disk_but_not_those_of_another_dataset(data: Path, tmp_path: Path) -> None:
    elsewhere = linked(data / "images", tmp_path / "elsewhere/images")
    (data / "images" / OWNER).touch()
    grown(data)()
    manifest = existing_manifest(data / "manifest.json")
    for place in (elsewhere, elsewhere / "images", elsewhere.parent):
        write_manifest(place / "manifest.json", manifest)
        before = stamps(tmp_path)
        with pytest.raises(DatasetError, match="images: a link that leads out of"):
            grown(data)()
        assert stamps(tmp_path) == before
        (place / "manifest.json").unlink()
    linked(elsewhere / "images/train.h5", tmp_path / "further/train.h5")
    before = stamps(tmp_path)
    with pytest.raises(DatasetError, match=r"images/train\.h5: a link that leads out of"):
        grown(data)()
    assert stamps(tmp_path) == before


def copied(data: Path) -> Path:
    """A copy as `cp -a` makes it, whose link leads to the same images."""
    return Path(shutil.copytree(data, data.with_name("copy"), symlinks=True))


def test_a_copy_writes_nothing_where_the_original_has_its_images(data: Path, tmp_path: Path) -> None:
    linked(data / "images", tmp_path / "elsewhere/images")
    copy = copied(data)
    before = stamps(tmp_path)
    for folder in (copy, data):  # nobody knows yet whose images they are
        check_refused(DatasetError, grown(folder))
    assert stamps(tmp_path) == before
    (data / "images" / OWNER).touch()
    grown(data)()
    before = stamps(tmp_path)
    check_refused(DatasetError, grown(copy))
    assert stamps(tmp_path) == before
    shutil.rmtree(copy)
    grown(Path(data.rename(tmp_path / "moved")))()


def test_a_dataset_that_began_with_a_link_knows_its_images(tmp_path: Path) -> None:
    data, images = tmp_path / "data", tmp_path / "elsewhere/images"
    data.mkdir()
    images.mkdir(parents=True)
    (data / "images").symlink_to(images)
    for _ in range(2):
        build(request(data, images="h5"), make_renderer=renderer)
    copy, before = copied(data), stamps(tmp_path)
    check_refused(DatasetError, grown(copy))
    assert stamps(tmp_path) == before


@pytest.mark.parametrize("place", ["images", "hops", f"hops/{HOP}/suites", "scenes/train"])
def test_a_link_that_leads_nowhere_is_named(place: str, data: Path) -> None:
    (data / place).rename(data / "aside")
    (data / place).symlink_to(data / "nowhere")
    with pytest.raises(DatasetError, match=f"{place}: a link to .*/nowhere, which does not exist"):
        grown(data)()


@pytest.mark.parametrize("place", ["features", "features/attributes", "features/attributes/train"])
def test_features_are_not_written_through_a_link(place: str, data: Path, tmp_path: Path) -> None:
    make_features(data, kind="attributes", pools=["train"])
    linked(data / place, tmp_path / "elsewhere" / Path(place).name)
    before = stamps(tmp_path)
    with pytest.raises(DatasetError, match=f"{place}: a link that leads out of"):
        make_features(data, kind="attributes")
    assert stamps(tmp_path) == before


def test_images_of_requests_are_not_written_through_a_link(data: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/asked_images").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DatasetError, match="asked_images: a link that leads out of"):
        write_requests(data, tmp_path / "out/asked.jsonl", splits=("complex_iid",), seed=1)
    assert not any((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("place", ["figures", "figures/a.png", "report.md"])
def test_reports_and_settings_are_not_written_through_a_link(place: str, tmp_path: Path) -> None:
    files = {"figures/a.png": b"a", "report.md": b"b"}
    write_own(tmp_path / "out", files)
    elsewhere = linked(tmp_path / "out" / place, tmp_path / "elsewhere" / Path(place).name)
    before = stamps(elsewhere)
    with pytest.raises(DatasetError, match=f"{place}: a link that leads out of"):
        write_own(tmp_path / "out", dict.fromkeys(files, b"c"))
    assert stamps(elsewhere) == before
