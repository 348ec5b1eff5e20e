"""What full or read-only disks and hostile names do to a command: a sentence, and nothing to the terminal."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from building import build_demo

from clevrhope.__main__ import run_command
from clevrhope.runtime import lock
from clevrhope.runtime.assets import blender_assets, question_templates
from clevrhope.runtime.reading import NOT_UTF8


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_for_the_output_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "clevrhope.start", "hops"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "clevrhope: the output: no space left on device\n"


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EIO])
def test_an_error_of_a_disk_is_one_sentence(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command
    def fail() -> None:
        raise OSError(number, os.strerror(number), "demo/hops\x1b[31m")

    assert run_command([], fail) == 1
    reason = os.strerror(number)
    expected = f"clevrhope: demo/hops\\x1b[31m: {reason[0].lower()}{reason[1:]}\n"
    assert capsys.readouterr().err == expected


def test_an_error_that_is_a_bug_is_raised() -> None:
    @click.command
    def fail() -> None:
        raise FileNotFoundError(errno.ENOENT, "no such file", "gone")

    with pytest.raises(FileNotFoundError):
        run_command([], fail)


@pytest.mark.parametrize(
    "words", [("suite", "rad", "{}"), ("suite", "rad", "{}", "--remove")], ids=lambda words: " ".join(words)
)
def test_who_changes_a_dataset_on_a_disk_for_reading_is_told_to_copy_it(
    words: tuple[str, ...], only_h5: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lock.os, "open", _refuses(errno.EROFS, lock.os.open))
    code = run_command([each.format(only_h5) for each in words])
    advice = "copy the dataset to a folder of your own, or change its permissions"
    assert code == 1
    assert capsys.readouterr().err == f"clevrhope: {only_h5}: no permission to write there; {advice}\n"


def _refuses(number: int, opens: Callable[..., int]) -> Callable[..., int]:
    """As os.open, but no file may be written."""

    def refusing(path: Path, flags: int, *more: int) -> int:
        if flags & os.O_RDWR:
            raise OSError(number, os.strerror(number), path)
        return opens(path, flags, *more)

    return refusing


@pytest.mark.parametrize(
    "options", ["--templates {}", "--palette {}/palette.json", "--properties {}/properties.json"]
)
def test_a_path_that_is_not_utf8_is_named(
    options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    shutil.copytree(question_templates(), folder)
    shutil.copy(blender_assets() / "properties.json", folder)
    (folder / "palette.json").write_text('{"cube": ["gray", "red"], "sphere": ["red", "blue"]}')
    words = ["plan", "--no-render", "--hop", "none", "--out", str(tmp_path / "new")]
    assert run_command([*words, *options.format(folder).split()]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"clevrhope: {tmp_path}/caf\\udce9/")
    assert said.endswith(f"json: {NOT_UTF8}")


def test_pages_of_a_folder_that_is_not_utf8_are_not_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    build_demo(folder, render=False)
    assert run_command(["browse", str(folder), "--no-browser"]) == 1
    assert capsys.readouterr().err == f"clevrhope: {tmp_path}/caf\\udce9: {NOT_UTF8}\n"


def test_text_that_names_such_a_path_is_not_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command
    def fail() -> None:
        '{"seed": 3, "dataset": "caf\udce9/data"}'.encode()

    assert run_command([], fail) == 2
    assert capsys.readouterr().err == f"clevrhope: caf\\udce9/data: {NOT_UTF8}\n"


def test_a_palette_that_is_a_link_to_itself_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "palette.json"
    path.symlink_to(path.name)
    words = ["plan", "--no-render", "--hop", "none", "--out", str(tmp_path / "new")]
    assert run_command([*words, "--palette", str(path)]) == 2
    assert f"{path}: cannot be read (a link that leads back to itself)" in capsys.readouterr().err
