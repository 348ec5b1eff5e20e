"""Names that become parts of paths, and links: what leads out of a folder is refused with one sentence."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.forms import NAME, PATH, check_form
from clevrhope.runtime.paths import below, check_links, is_name, is_path
from wording import check_refused, refused

NO_NAMES: dict[str, Any] = {
    "empty": "",
    "here": ".",
    "above": "..",
    "hidden": ".clevrhope-x",
    "an option": "-rf",
    "a path": "a/b",
    "absolute": "/etc",
    "another system's path": "a\\..\\b",
    "another system's drive": "c:evil",
    "NUL": "a\0b",
    "a newline": "a\nb",
    "a newline at its end": "train\n",
    "a space": "a b",
    "half of a pair": "a\ud800",
    "another alphabet": "\u0430",
    "a digit of another alphabet": "\u0664",
    "an escape": "a\x1b[2J",
    "too long": "a" * 300,
    "a number": 3,
    "null": None,
    "bytes": b"train",
    "a list": ["train"],
}


@pytest.mark.parametrize("value", NO_NAMES.values(), ids=NO_NAMES)
def test_what_cannot_name_a_file_is_refused_alone_and_in_a_path(value: Any) -> None:
    assert not is_name(value)
    with refused(ConfigError) as told:
        check_form(value, NAME, "m.json", place="splits", error=ConfigError)
    assert str(told.value).isprintable()
    assert len(str(told.value)) < 400
    if value != "a/b":
        path = f"hops/{value}/train.h5" if isinstance(value, str) else value
        with refused(DatasetError) as told:
            check_form(path, PATH, "m.json", place="files")
        assert str(told.value).isprintable()
        assert len(str(told.value)) < 300


@given(st.text(alphabet=st.sampled_from("ab./\\\0\n -_~"), max_size=12))
def test_a_path_that_passes_leads_below_the_folder(text: str) -> None:
    root = Path("/data/set")
    if not is_path(text):
        return
    path = below(root, text)
    assert Path(os.path.normpath(path)).is_relative_to(root)
    assert path.relative_to(root).as_posix() == text


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/passwd", "a/.."])
def test_a_path_that_nobody_checked_leads_nowhere_else_either(name: str) -> None:
    check_refused(DatasetError, below, Path("/data/set"), name)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with hops/a/train.h5, and another beside it with a secret."""
    (tmp_path / "set/hops/a").mkdir(parents=True)
    (tmp_path / "set/hops/a/train.h5").write_text("questions")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/secret.h5").write_text("secret")
    return tmp_path / "set"


LINKS = {
    "a file": ("hops/a/val.h5", "../../../other/secret.h5"),
    "a folder": ("hops/b", "../../other"),
    "the folder itself": ("hops", "../other"),
    "an absolute one": ("hops/a/val.h5", "/etc/hostname"),
    "nothing": ("hops/a/val.h5", "../../../other/none"),
    "a folder like this one's": ("hops/b", "../../set2"),
    "above": ("hops/a/up", "../../.."),
}


@pytest.mark.parametrize(("place", "target"), LINKS.values(), ids=LINKS)
def test_a_link_that_leads_out_is_named(place: str, target: str, root: Path) -> None:
    (root.parent / "set2").mkdir()
    if place == "hops":
        (root / "hops").rename(root / "kept")
    check_links(root, ("hops", "scenes"))
    (root / place).symlink_to(target)
    check_refused(DatasetError, check_links, root, ("hops", "scenes"))


def test_a_link_out_is_found_behind_a_link_within(root: Path) -> None:
    (root / "kept/here").mkdir(parents=True)
    (root / "scenes").symlink_to("kept/here")
    check_links(root, ("hops", "scenes"))
    (root / "kept/here/train").symlink_to(root.parent / "other")
    check_refused(DatasetError, check_links, root, ("hops", "scenes"))
    check_links(root, ("hops",))


def test_links_within_the_folder_pass_rings_of_them_too(root: Path) -> None:
    (root / "hops/a/val.h5").symlink_to("train.h5")
    (root / "hops/b").symlink_to("a")
    (root / "hops/a/ring").symlink_to("../..")
    (root / "hops/c").symlink_to(root / "hops" / "a")
    check_links(root, ("hops", "none"))
    linked = root.parent / "linked"
    linked.symlink_to(root)
    check_links(linked, ("hops",))


def test_a_link_to_itself_is_named(root: Path) -> None:
    (root / "hops/a/loop").symlink_to("loop")
    check_refused(DatasetError, check_links, root, ("hops",))
