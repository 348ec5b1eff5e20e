"""A properties file's .blend paths in, the shapes and materials that they hold out, checked.

A value of "shapes" or "materials" in properties.json may be a path that ends with .blend, meant from where
the properties file lies. A shape's file has an object or a mesh named as the file (or one mesh only), of
CLEVR's size: it stands at z = -1 and fits a cube of half side 1, which a scene scales to its objects' radius.
From there on it is a mesh of the look as any other. A material's file has a group of nodes named as the
file, with an input "Color", as CLEVR's have, or a material, whose Object Info node gives the object's colour.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError, RenderError, shown
from clevrhope.runtime.blender import OR_NATIVE, check_blender, worker_environment

SUFFIX = ".blend"
READER = (sys.executable, "-P", "-m", "clevrhope.look.blend_reader")
START_TIMEOUT_S = 300.0

READ_TIMEOUT_S = 10.0
"""Of a file, once Blender has started."""
MEMORY_BYTES = 2 << 30
"""That Blender may take for a file, beside its own."""
MOST_VERTICES = 65_535
LOWEST_Z, STANDS_TO = -1.0, 0.02
"""Where a shape touches the ground, in units of the object's radius, and how exactly."""
FARTHEST = math.sqrt(3.0) + 0.01
"""From its centre: a cube's corners."""


@dataclass(frozen=True)
class Blends:
    """What .blend files hold, by the text that names them in a properties file."""

    shapes: Mapping[str, Mapping[str, Any]]
    """Mesh descriptions as look.json has them."""
    materials: Mapping[str, Mapping[str, Any]]
    """{"path", "what", "name", "sha256"} of each."""

    def added_to(self, look: Mapping[str, Any]) -> dict[str, Any]:
        """A look with these shapes and materials besides its own."""
        materials = {name: {"blend": entry} for name, entry in self.materials.items()}
        return {
            **look,
            "shapes": {**look.get("shapes", {}), **self.shapes},
            "materials": {**look.get("materials", {}), **materials},
        }

    def added_to_world(self, look: Mapping[str, Any]) -> dict[str, Any]:
        """The same for what decides scenes: a material's content without the place of its file."""
        added = self.added_to(look)
        hashes = {name: {"sha256": entry["sha256"]} for name, entry in self.materials.items()}
        return {**added, "materials": {**added["materials"], **hashes}}


class _EndedError(Exception):
    """Blender ended over the file of this number, counted from 0."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number


NONE = Blends({}, {})


def read_blends(properties: Mapping[str, Any], file: Path) -> Blends:
    """The .blend files that a properties file names; Blender is started only where there are some.

    Raises:
        ConfigError: a file that is missing or no .blend file, or does not hold what it should.
        RenderError: Blender is missing.
    """
    named = [
        (kind, section, name, asset)
        for kind, section in (("shape", "shapes"), ("material", "materials"))
        for name, asset in _entries(properties, section)
    ]
    if not named:
        return NONE
    try:
        check_blender()
    except RenderError as error:
        # Another renderer would not help: what is in the files is not known without Blender.
        _, section, name, asset = named[0]
        reason = str(error).removesuffix(OR_NATIVE).rstrip(",; ")
        raise RenderError(
            f"{file}: {section}.{name}: {asset} is a file of Blender's, and {reason}"
        ) from error
    wanted = []
    for kind, section, name, asset in named:
        place = f"{file}: {section}.{name}"
        path, changed_ns = _found(file.parent / asset, place)
        wanted.append((kind, str(path), changed_ns))
    shapes, materials = {}, {}
    try:
        contents = _looked_into(tuple(wanted))
    except _EndedError as ended:
        _, section, name, asset = named[ended.number]
        raise ConfigError(f"{file}: {section}.{name}: {asset}: {ended}") from ended
    for (kind, section, name, asset), found in zip(named, contents, strict=True):
        problem = found.get("problem") or (problem_of_mesh(found) if kind == "shape" else "")
        if problem:
            raise ConfigError(f"{file}: {section}.{name}: {asset} {problem}")
        if kind == "shape":
            shapes[asset] = {"kind": "mesh", **found}
        else:
            path = (file.parent / asset).resolve()
            with path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            materials[asset] = {"path": str(path), "sha256": digest, **found}
    return Blends(shapes, materials)


def is_blend(asset: Any) -> bool:
    """Whether a value of a properties file names a .blend file."""
    return isinstance(asset, str) and asset.endswith(SUFFIX)


def _entries(properties: Mapping[str, Any], section: str) -> list[tuple[str, str]]:
    entries = properties.get(section)
    if not isinstance(entries, dict):
        return []  # which whoever reads the properties tells
    return [(name, asset) for name, asset in entries.items() if is_blend(asset)]


def _found(path: Path, place: str) -> tuple[Path, int]:
    """Where a file lies, and when it changed.

    Raises:
        ConfigError: there is none, or it is a folder, a pipe or the like.
    """
    try:
        path = path.resolve()
        content = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # which does not wait for a pipe's other end
        try:
            status = os.fstat(content)
        finally:
            os.close(content)
    except OSError as error:
        said = (
            "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        )
        raise ConfigError(f"{place}: {path}: {said}") from error
    except (RuntimeError, ValueError) as error:  # a link to itself; no name of a file
        raise ConfigError(f"{place}: {shown(str(path))}: cannot be read ({error})") from error
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"{place}: {path}: is no file; expected one that Blender wrote")
    return path, status.st_mtime_ns


@cache
def _looked_into(wanted: tuple[tuple[str, str, int], ...]) -> list[dict[str, Any]]:
    """What Blender finds in (kind, path, time of change)s; once in a process."""
    files = [{"kind": kind, "path": path} for kind, path, _ in wanted]
    asked = json.dumps({"files": files, "timeout_s": READ_TIMEOUT_S, "memory_bytes": MEMORY_BYTES})
    with tempfile.TemporaryDirectory(prefix="clevrhope-") as folder:
        try:
            done = subprocess.run(
                READER,
                input=asked,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=START_TIMEOUT_S + READ_TIMEOUT_S * len(wanted),
                env={**worker_environment(), "BLENDER_USER_RESOURCES": folder},
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise _EndedError(0, f"Blender did not start within {error.timeout:g} s") from error
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    if len(found) < len(wanted):
        raise _EndedError(len(found), _ending(done.returncode, done.stderr))
    return found


def _ending(code: int, said: str) -> str:
    """Why the reader ended before its answer, in a sentence on a file."""
    if code == -signal.SIGALRM:
        return f"Blender took over {READ_TIMEOUT_S:g} s to read it"
    if "Malloc returns null" in said or "MemoryError" in said or "bad_alloc" in said:
        return f"Blender needs over {MEMORY_BYTES >> 30} GiB to read it"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    return f"Blender {how} over it" + (f" ({lines[-1][:200]})" if lines else "")


def problem_of_mesh(shape: Mapping[str, Any]) -> str:
    """What is wrong with a mesh, to follow the file's name."""
    vertices, faces = shape["vertices"], shape["faces"]
    if not faces:
        return "has a mesh without faces"
    if len(vertices) > MOST_VERTICES:
        return too_many_vertices(len(vertices))
    if not all(math.isfinite(x) for vertex in vertices for x in vertex):
        return "has a mesh with a coordinate that is no number"
    lowest = min(vertex[2] for vertex in vertices)
    if abs(lowest - LOWEST_Z) > STANDS_TO:
        return (
            f"has a mesh whose lowest point is at z = {lowest:g}; it should stand at {LOWEST_Z:g}, with its "
            "centre at the origin"
        )
    farthest = max(math.dist(vertex, (0.0, 0.0, 0.0)) for vertex in vertices)
    if farthest > FARTHEST:
        return f"has a mesh that reaches {farthest:.3g} from the origin; it should fit a cube of half side 1"
    return ""


def too_many_vertices(n: int) -> str:
    """That there are so many, to follow the file's name."""
    return f"has a mesh of {n:,} vertices; {MOST_VERTICES:,} are the most"
