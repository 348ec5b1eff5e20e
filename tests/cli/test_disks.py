"""What full or read-only disks and hostile names do to a command: a sentence, and nothing to the terminal."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from clevrhope.__main__ import run_command


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
