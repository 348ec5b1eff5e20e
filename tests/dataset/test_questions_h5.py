"""Question files: what CLEVR's readers expect, and bytes that depend on content alone."""

import errno
import itertools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
import pytest

from clevrhope.dataset.question_kinds import SINGLE
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import QuestionWriter
from clevrhope.errors import DatasetError
from wording import check_refused, refused


def some_questions(n: int, *, seed: int = 0) -> QuestionTable:
    rng = np.random.default_rng(seed)
    return QuestionTable(
        SINGLE,
        {
            "questions": rng.integers(0, 90, (n, 45), dtype=np.int32),
            "question_lengths": rng.integers(5, 45, n, dtype=np.int32),
            "programs": rng.integers(0, 40, (n, 27), dtype=np.int32),
            "program_lengths": rng.integers(3, 27, n, dtype=np.int32),
            "answers": rng.integers(4, 32, n, dtype=np.int32),
            "image_idxs": np.sort(rng.integers(0, 5 * n, n, dtype=np.int32)),
            "question_families": rng.integers(0, 90, n, dtype=np.int32),
            "relation_needed": rng.integers(-1, 2, (n, 3), dtype=np.int8),
        },
    )


def write(path: Path, rows: QuestionTable, cuts: Sequence[int] = ()) -> bytes:
    with QuestionWriter(path, hop="rubber_cylinder", split="train", pool="train") as writer:
        for a, b in itertools.pairwise([0, *cuts, len(rows)]):
            writer.append({name: values[a:b] for name, values in rows.arrays().items()})
    return path.read_bytes()


def test_a_file_holds_what_readers_of_clevr_expect(tmp_path: Path) -> None:
    rows = some_questions(1000)
    write(tmp_path / "train.h5", rows)
    with h5py.File(tmp_path / "train.h5", "r") as file:
        for name in ("questions", "image_idxs", "orig_idxs", "programs", "answers", "question_families"):
            assert file[name].dtype == np.int32
        np.testing.assert_array_equal(file["questions"][:], rows.questions)
        np.testing.assert_array_equal(file["orig_idxs"][:], np.arange(1000))
        assert file.attrs["split"] == "train"
    back = read_table(tmp_path / "train.h5")
    for name, values in rows.arrays().items():
        np.testing.assert_array_equal(back.arrays()[name], values)


@pytest.mark.parametrize("cuts", [[1], [256], [100, 300, 301], [4095, 4096, 8193], list(range(1, 9000, 70))])
def test_bytes_do_not_depend_on_batches(tmp_path: Path, cuts: list[int]) -> None:
    rows = some_questions(9000)
    assert write(tmp_path / "a.h5", rows) == write(tmp_path / "b.h5", rows, cuts)


def test_scenes_in_use_are_read_back_sorted_and_once(tmp_path: Path) -> None:
    rows = some_questions(50)
    write(tmp_path / "a.h5", rows)
    table = read_table(tmp_path / "a.h5")
    assert table.pool == "train"
    np.testing.assert_array_equal(table.scenes, np.unique(rows.image_idxs))


def test_a_broken_file_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.h5").write_bytes(b"not HDF5")
    check_refused(DatasetError, read_table, tmp_path / "a.h5")
    with h5py.File(tmp_path / "b.h5", "w"), refused(DatasetError):
        read_table(tmp_path / "b.h5")


@pytest.mark.parametrize("name", ["question_lengths", "program_lengths"])
def test_a_length_that_leaves_no_room_for_the_marks_is_told(name: str, tmp_path: Path) -> None:
    lengths = np.array([2, 1, 2], dtype=np.int32)
    write(tmp_path / "a.h5", some_questions(3).with_columns(**{name: lengths}))
    with refused(DatasetError):
        read_table(tmp_path / "a.h5").check()


NO_LOCKS = """
import errno, sys
import h5py
from pathlib import Path
from clevrhope.dataset.question_kinds import SINGLE
from clevrhope.dataset.question_table import read_table

real = h5py.File

class Locked(real):
    def __init__(self, name, mode="r", locking=None, **rest):
        if locking is not False:
            raise OSError(errno.ENOLCK, "Unable to lock file")
        super().__init__(name, mode, locking=locking, **rest)

h5py.File = Locked
print(len(read_table(Path(sys.argv[1]), SINGLE)))
"""


def test_files_are_read_where_disks_have_no_locks_and_while_another_program_has_them_open(
    tmp_path: Path,
) -> None:
    path = tmp_path / "q.h5"
    write(path, some_questions(20))
    done = subprocess.run(
        [sys.executable, "-c", NO_LOCKS, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "20\n"
    with h5py.File(path, "a"):
        held = [sys.executable, "-c", NO_LOCKS, str(path)]
        assert subprocess.run(held, capture_output=True, text=True, check=True).stdout == "20\n"


@pytest.mark.parametrize("name", ["ENOLCK", "EAGAIN", "EOPNOTSUPP", "ESTALE", "ETIMEDOUT"])
def test_an_error_of_the_system_is_not_damage(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "q.h5"
    write(path, some_questions(20))

    def fail(*_: object, **__: object) -> None:
        raise OSError(getattr(errno, name), os.strerror(getattr(errno, name)))

    # Each system has words of its own.
    monkeypatch.setattr(os, "strerror", lambda _: f"What the system says of {name}")
    monkeypatch.setattr(h5py, "File", fail)
    check_refused(DatasetError, read_table, path, SINGLE)


def test_a_file_that_another_program_writes_is_not_damaged(tmp_path: Path) -> None:
    path = tmp_path / "q.h5"
    writing = f"""
import sys, h5py
file = h5py.File({str(path)!r}, "w", libver="latest")
file["a"] = 1
file.flush()
print("open", flush=True)
sys.stdin.read()
"""
    program = subprocess.Popen(
        [sys.executable, "-c", writing], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdin is not None
    assert program.stdout is not None
    assert program.stdout.readline() == "open\n"
    check_refused(DatasetError, read_table, path, SINGLE)
    program.communicate()
