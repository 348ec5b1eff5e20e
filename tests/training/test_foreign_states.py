"""A user's own files in a run's folder: they stay, and what is in the way is told before anything starts."""

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from building import stamps
from short_runs import Train, stopped_states, weights

from clevrhope.errors import DatasetError
from clevrhope.training.checkpoints import check_states, remove_states, states_in
from wording import check_refused


@pytest.fixture
def stopped(run: Train, tmp_path: Path) -> Path:
    """A run that was stopped after five updates."""
    assert stopped_states(run, tmp_path / "run", [5]) == ["000000005"]
    return tmp_path / "run"


def put(folder: Path, *names: str) -> dict[Path, str]:
    """A user's files in a folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"mine: {name}")
    return {folder / name: f"mine: {name}" for name in names}


def check_there(files: dict[Path, str]) -> None:
    assert {path: path.read_text() for path in files if path.exists()} == files


IN_THE_WAY = {
    "in the newest state": "state/000000005/mine.txt",
    "a folder in it": "state/000000005/deep/state.json",
    "in an older state": "state/000000002/mine.txt",
    "in a later one": "state/000000017/state.json.bak",
    "in one that is being written": "state/.clevrhope-000000007.work/mine.txt",
    "another program's": "state/000000005/.download.partial",
    "in place of a state": "state/000000030",
}


@pytest.mark.parametrize("name", IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_a_users_file_where_states_are_removed_is_told_before_anything_starts(
    name: str, stopped: Path, run: Train, tmp_path: Path
) -> None:
    files = put(stopped, name)
    before = stamps(tmp_path)
    check_refused(DatasetError, run)
    check_there(files)
    assert stamps(tmp_path) == before


def test_a_users_files_beside_states_stay_and_the_run_is_the_same(
    stopped: Path, run: Train, tmp_path: Path
) -> None:
    names = ("notes.txt", "mine/state.json", "00000005/state.json", "0000000005/state.json", ".hidden")
    files = put(stopped / "state", *names, ".000000003.work/state.json", "000000005.bak/state.json")
    files |= put(stopped, "notes.txt", ".download.partial", "weights/.download.partial", "weights/mine.txt")
    half = put(stopped, ".clevrhope-vocab.json.partial", "weights/.clevrhope-last.safetensors.partial")
    half |= put(stopped, "state/.clevrhope-000000004.work/.clevrhope-state.json.partial")
    assert run().resumed_at == 5
    check_there(files)
    assert not any(map(os.path.lexists, half))
    assert not list((stopped / "state").glob(".clevrhope-*"))
    run("whole")
    assert weights(stopped) == weights(tmp_path / "whole")


def test_a_file_that_comes_later_stays_with_its_folder(tmp_path: Path) -> None:
    files = put(tmp_path / "state", "000000005/mine.txt", "000000007/mine.txt")
    own = put(tmp_path / "state", "000000005/state.json", "000000006/tensors.safetensors")
    check_refused(DatasetError, check_states, tmp_path / "state")
    remove_states(tmp_path / "state")
    check_there(files)
    assert not any(path.exists() for path in own)
    assert [path.name for path in states_in(tmp_path / "state")] == ["000000005", "000000007"]


def test_a_folder_of_a_users_is_not_taken_for_a_run(run: Train, tmp_path: Path) -> None:
    files = put(tmp_path / "run", "state/000000005/state.json", "notes.txt")
    check_refused(DatasetError, run)
    check_there(files)
    assert not (tmp_path / "run/run.json").exists()
