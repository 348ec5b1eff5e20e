"""What made a result: the commit of a checkout, the versions of libraries, and the processor."""

import platform
import re
import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from clevrhope.version import software_version

_ROOT = Path(__file__).parents[3]
_CODE = ("python", "rust", "experiments", "question_templates", "blender_assets", "Cargo.lock")
"""The paths of a checkout that decide results; its documents may change."""


@cache
def made_with() -> dict[str, Any]:
    """Versions and processor of this process; a library that is not installed is left out.

    In a checkout it also has `commit`, and `changed`, whether the code differs from that commit.
    """
    found = {"clevrhope": software_version(), **checkout(_ROOT)}
    for name in ("torch", "numpy"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return {**found, "processor": _processor()}


def checkout(root: Path) -> dict[str, Any]:
    """`commit` and `changed` of a checkout of this package; empty where there is none, or no git."""
    if not (root / ".git").exists():
        return {}
    with suppress(OSError, subprocess.CalledProcessError):
        commit = _git(root, "rev-parse", "HEAD").strip()
        return {"commit": commit, "changed": bool(_git(root, "status", "--porcelain", "--", *_CODE).strip())}
    return {}


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def _processor() -> str:
    """The processor's name; Linux says it in a file of its own."""
    with suppress(OSError):
        if found := re.search(r"^model name\s*: *(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE):
            return found[1]
    return platform.processor() or platform.machine()
