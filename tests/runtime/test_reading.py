"""The boundary around the reading of a named file: whatever goes wrong there is one sentence."""

import errno
import io
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from clevrhope.errors import ConfigError, DatasetError, PredictionsError
from clevrhope.runtime.reading import (
    MAX_LINE,
    NOT_UTF8,
    check_regular,
    numbered_lines,
    read_bytes,
    reading,
)
from wording import check_refused, refused

FAILURES: dict[str, Exception] = {
    "missing": FileNotFoundError(errno.ENOENT, "x"),
    "forbidden": PermissionError(errno.EACCES, "x"),
    "a broken disk": OSError(errno.EIO, "x"),
    "a loop": OSError(errno.ELOOP, "x"),
    "a library's": OSError("unknown codec 7. Ask them\nand us"),
    "a key": KeyError("size"),
    "text": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"),
    "depth": RecursionError(),
    "memory": MemoryError(),
    "a value": ValueError("a\x1b[2J" + "b" * 1_000),
    "an index": IndexError("list index out of range"),
    "compression": zlib.error("Error -3: incorrect header"),
    "nothing said": ArithmeticError(),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_failure_becomes_one_sentence_with_its_cause(failure: Exception) -> None:
    with (
        refused(ConfigError) as caught,
        reading("folder/a.bin", "a list of words", error=ConfigError, remedy="make it again"),
    ):
        raise failure
    assert str(caught.value).isprintable()
    assert caught.value.__cause__ is failure


@pytest.mark.parametrize(
    "problem",
    [UnicodeEncodeError("utf-8", "caf\udce9", 3, 4, "x"), ValueError("Path caf\udce9 is not valid UTF-8")],
    ids=["pyarrow", "safetensors"],
)
def test_a_library_that_takes_no_such_path_is_not_said_to_find_damage(problem: Exception) -> None:
    with pytest.raises(DatasetError) as told, reading("caf\udce9", "weights", remedy="remove it"):
        raise problem
    assert str(told.value) == f"caf\udce9: {NOT_UTF8}"


def test_errors_of_this_package_and_interrupts_pass_as_they_are() -> None:
    for each in (PredictionsError("two answers"), KeyboardInterrupt(), SystemExit(3)):
        with pytest.raises(type(each)) as told, reading("a.bin", "a list"):
            raise each
        assert told.value is each


def test_a_file_is_read_whole_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"0123456789")
    assert read_bytes(path, "a number", max_bytes=10) == b"0123456789"
    check_refused(DatasetError, read_bytes, path, "a number", max_bytes=9)


def test_links_to_a_file_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"a")
    (tmp_path / "link").symlink_to("a.bin")
    check_regular(tmp_path / "link")
    assert read_bytes(tmp_path / "link", "a letter") == b"a"


IN_ITS_PLACE: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a file for a folder": lambda path: path.parent.rmdir() or path.parent.write_text(""),
    "a terabyte without content": lambda path: made_sparse(path, 1 << 40),
}


def made_sparse(path: Path, n_bytes: int) -> None:
    with path.open("wb") as file:
        file.truncate(n_bytes)


@pytest.mark.parametrize("make", IN_ITS_PLACE.values(), ids=IN_ITS_PLACE)
def test_what_is_no_file_is_not_read(make: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.bin"
    path.parent.mkdir()
    make(path)
    with refused(ConfigError):
        read_bytes(path, "JSON", error=ConfigError, remedy="write one", max_bytes=1 << 20)


@pytest.mark.parametrize("name", ["a\0b", "a" * 300])
def test_a_name_that_no_file_can_have_gets_a_sentence(name: str, tmp_path: Path) -> None:
    check_refused(DatasetError, read_bytes, tmp_path / name, "JSON")


def test_lines_are_counted_and_one_without_an_end_is_refused() -> None:
    lines = list(numbered_lines(Path("a.jsonl"), io.StringIO("a\n\nb")))
    assert lines == [(1, "a\n"), (2, "\n"), (3, "b")]
    longest = "x" * (MAX_LINE - 1) + "\n"
    found = numbered_lines(Path("a.jsonl"), io.StringIO(f"{longest}x{longest}"))
    assert next(found) == (1, longest)
    check_refused(PredictionsError, next, found)
