"""What tests of the build share: small datasets, made in this process or as a command line."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fake_renderer import FakeRenderer

from clevrhope.__main__ import run_command
from clevrhope.config.presets import PRESETS
from clevrhope.pipeline import Request, Summary, build

SCRIPT = Path(__file__).with_name("fake_renderer.py")

SET_SIZES = {"covr_train": 96, "covr_dev": 24, "covr_test": 40}
"""Sizes of small splits of questions over several images."""

Make = Callable[..., Summary]


def request(out: Path, **changes: Any) -> Request:
    """A demo of rubber_cylinder, seed 5, with other settings if given; `sizes` has those that differ."""
    config = changes.pop("config", PRESETS["demo"])
    sizes = replace(config.sizes, **changes.pop("sizes", {}))
    settings = {name: changes.pop(name) for name in vars(config) if name in changes}
    config = replace(config, **settings, sizes=sizes)
    return replace(Request(out=out, hops=("rubber_cylinder",), config=config, seed=5), **changes)


def renderer(settings: Any, workers: Any) -> FakeRenderer:
    """Takes the place of a renderer."""
    return FakeRenderer(settings=settings, workers=workers)


def build_demo(out: Path, **changes: Any) -> Summary:
    """Builds a demo in this process, with 48 x 32 images that need no Blender; `changes` as for `request`."""
    return build(request(out, **changes), make_renderer=renderer)


def add_sets(folder: Path) -> None:
    """Adds questions over several images to a demo of rubber_cylinder with images in HDF5."""
    build_demo(folder, images="h5", covr=True, sizes=SET_SIZES)


@pytest.fixture
def make() -> Make:
    """Builds in this process, with images that need no Blender."""
    return build_demo


class Said(NamedTuple):
    """What a command wrote."""

    out: str
    err: str


Cli = Callable[..., Said]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command line in this process, which has to end with a code; gives what it wrote.

    Its working directory is the test's own, as commands take what they find in out/ for the dataset meant.
    """
    monkeypatch.chdir(tmp_path)

    def run(*words: object, code: int = 0) -> Said:
        capsys.readouterr()
        ended = run_command([str(word) for word in words])
        seen = capsys.readouterr()
        assert ended == code, seen.err
        return Said(seen.out, seen.err)

    return run


def command(
    *arguments: str | Path, delay_s: float = 0.0, hangs_after: int | None = None
) -> subprocess.Popen[str]:
    """Starts the command line with images that need no Blender."""
    environment = {
        **os.environ,
        "FAKE_RENDERER_DELAY_S": str(delay_s),
        "FAKE_RENDERER_HANGS_AFTER": str(hangs_after),
    }
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def tree(root: Path) -> dict[str, str]:
    """Each file below a folder, hidden ones included, with a hash of its bytes.

    The manifest's hash leaves its requests out, which tell a command line from a call in Python.
    """
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if path.name == "manifest.json":
                content = re.sub(
                    rb'\n  "requests": \[\n.*?\n  \],', b'\n  "requests": [],', content, flags=re.S
                )
            found[path.relative_to(root).as_posix()] = hashlib.sha256(content).hexdigest()
    return found


def stamps(root: Path) -> dict[str, tuple[int, int]]:
    """Each file below a folder with inode and time of change: equal when nothing wrote to it."""
    return {
        path.relative_to(root).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
