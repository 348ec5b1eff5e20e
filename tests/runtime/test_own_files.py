"""Files in a folder that a user writes into, too: his are neither replaced nor removed."""

from pathlib import Path

import pytest

from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import WRITTEN, check_own, write_own
from wording import check_refused


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != WRITTEN}


def test_what_this_program_wrote_is_replaced(tmp_path: Path) -> None:
    write_own(tmp_path, {"a.toml": b"1", "below/b.toml": b"2"})
    write_own(tmp_path, {"a.toml": b"3"})
    assert (tmp_path / "a.toml").read_bytes() == b"3"
    assert (tmp_path / "below" / "b.toml").read_bytes() == b"2"
    check_own(tmp_path, ["a.toml", "below/b.toml", "none.toml"])


@pytest.mark.parametrize("edited", [False, True], ids=["foreign", "edited"])
def test_a_users_file_stays(edited: bool, tmp_path: Path) -> None:
    if edited:
        write_own(tmp_path, {"a.toml": b"1"})
    (tmp_path / "a.toml").write_bytes(b"mine")
    check_refused(DatasetError, check_own, tmp_path, ["a.toml"])
    check_refused(DatasetError, write_own, tmp_path, {"b.toml": b"1", "a.toml": b"2"})
    assert content(tmp_path) == {"a.toml": b"mine"}


def test_a_users_file_that_is_the_same_may_be_there(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"same")
    write_own(tmp_path, {"a.toml": b"same"})


def test_in_a_folder_of_its_own_what_was_written_before_is_removed_and_nothing_else(tmp_path: Path) -> None:
    write_own(tmp_path, {"old.json": b"1", "both.json": b"1"}, alone="*.json")
    (tmp_path / "notes.txt").write_bytes(b"mine")
    write_own(tmp_path, {"both.json": b"2", "new.json": b"2"}, alone="*.json")
    assert content(tmp_path) == {"both.json": b"2", "new.json": b"2", "notes.txt": b"mine"}
    (tmp_path / "mine.json").write_bytes(b"mine")
    check_refused(DatasetError, write_own, tmp_path, {"both.json": b"3"}, alone="*.json")
    assert content(tmp_path)["both.json"] == b"2"


def test_a_write_that_was_killed_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_own(tmp_path, {"a": b"1", "b": b"1"})

    def killed(path: Path, content: bytes) -> None:
        if path.name == "b":
            raise KeyboardInterrupt
        real(path, content)

    module = "clevrhope.runtime.atomic.write_whole"
    from clevrhope.runtime.atomic import write_whole as real

    monkeypatch.setattr(module, killed)
    with pytest.raises(KeyboardInterrupt):
        write_own(tmp_path, {"a": b"2", "b": b"2"})
    monkeypatch.setattr(module, real)
    assert content(tmp_path) == {"a": b"2", "b": b"1"}
    write_own(tmp_path, {"a": b"3", "b": b"3"})
    assert content(tmp_path) == {"a": b"3", "b": b"3"}


@pytest.mark.parametrize("broken", ["[]", '{"a": 1}', '{"a": "x"}', '{"a": ["x"]}', "{", "[" * 10_000])
def test_a_broken_list_is_told(broken: str, tmp_path: Path) -> None:
    (tmp_path / WRITTEN).write_text(broken)
    check_refused(DatasetError, write_own, tmp_path, {"a": b"1"})
    assert not (tmp_path / "a").exists()
