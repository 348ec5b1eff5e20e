"""Shapes and materials from .blend files that a properties file names.

A value of "shapes" or "materials" in properties.json may be a path that ends with .blend, relative to the
properties file. A shape's file has an object or a mesh with the file's name (or only one mesh), of CLEVR's
size: it stands at z = -1 and fits into a cube of half side 1, which a scene scales to its objects' radius. It
becomes a mesh of the look like any other. A material's file has a group of nodes with the file's name and an
input "Color", as in CLEVR, or a material whose Object Info node provides the object's colour.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError, DatasetError, RenderError, shown
from clevrhope.look.meshes import build_mesh, problem_of_mesh
from clevrhope.runtime.atomic import record, write_whole
from clevrhope.runtime.blender import OR_NATIVE, check_blender, how_ended, last_line, worker_environment
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.reading import check_regular, reading
from clevrhope.runtime.settings import naming

SUFFIX = ".blend"
READER = "clevrhope.look.blend_reader"
START_TIMEOUT_S = 300.0

READ_TIMEOUT_S = 10.0
"""Time for each file, once Blender has started."""
MEMORY_BYTES = 2 << 30
"""Memory that Blender may use for a file, in addition to its own."""
MAX_KEPT_BYTES = 1 << 26
"""The most bytes of a kept mesh."""
KEPT_SUFFIX = ".mesh.json"
"""Appended to a shape's path to name the file that keeps its mesh."""


class _BlenderEndedError(Exception):
    """Blender ended while reading the file with this number, counted from 0."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number


def read_blends(
    properties: Mapping[str, Any], file: Path
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Reads the .blend files that a properties file names; starts Blender only if there is something to read.

    A shape's mesh is kept beside its file, if the folder permits it, so that Blender does not read it again.

    Returns:
        The shapes, as meshes of look.json, and the materials, {"path", "what", "name", "sha256"}, by their
        paths in the properties file.

    Raises:
        ConfigError: a file is missing, is not a .blend file, or does not have the required content.
        RenderError: Blender is missing.
    """
    shapes: dict[str, dict[str, Any]] = {}
    materials: dict[str, dict[str, Any]] = {}
    unread = []
    for kind, section in (("shape", "shapes"), ("material", "materials")):
        for name, asset in named_assets(properties, section, SUFFIX):
            path, changed_ns = _locate(file.parent / asset, f"{file}: {section}.{name}")
            mesh = _kept_mesh(path) if kind == "shape" else None
            if mesh:
                shapes[asset] = {"kind": "mesh", **mesh}
            else:
                unread.append((kind, f"{file}: {section}.{name}: {asset}", asset, path, changed_ns))
    if not unread:
        return shapes, materials
    if sys.platform == "win32":
        raise ConfigError(
            f"{unread[0][1]} is a Blender file, and Windows has no limits for reading one safely; a "
            f"shape that was read on another system can be used here with its file *{KEPT_SUFFIX} beside it"
        )
    try:
        reader = check_blender().command(READER)
    except RenderError as error:
        # Another renderer would not help, because only Blender can read the files.
        reason = str(error).removesuffix(OR_NATIVE).rstrip(",; ")
        raise RenderError(f"{unread[0][1]} is a Blender file, and {reason}") from error
    hashes = [record(path).sha256 for _, _, _, path, _ in unread]  # of the files that Blender will read
    try:
        wanted = tuple((kind, str(path), changed) for kind, _, _, path, changed in unread)
        contents = _read_contents(wanted, reader)
    except _BlenderEndedError as ended:
        raise ConfigError(f"{unread[ended.number][1]}: {ended}") from ended
    for (kind, place, asset, path, _), sha256, found in zip(unread, hashes, contents, strict=True):
        problem = found.get("problem") or (problem_of_mesh(found) if kind == "shape" else "")
        if problem:
            raise ConfigError(f"{place} {problem}")
        if kind == "shape":
            shapes[asset] = {"kind": "mesh", **found}
            with suppress(DatasetError, OSError):  # the folder may not be written to
                kept = json.dumps({"sha256": sha256, **found}).encode()
                write_whole(path.with_name(path.name + KEPT_SUFFIX), kept)
        else:
            materials[asset] = {"path": str(path), "sha256": sha256, **found}
    return shapes, materials


def _kept_mesh(path: Path) -> dict[str, Any] | None:
    """The mesh that was kept for a shape's file, if the file is unchanged."""
    kept = path.with_name(path.name + KEPT_SUFFIX)
    if not kept.exists():
        return None
    try:
        mesh = read_object(kept, "a kept mesh", error=ConfigError, max_bytes=MAX_KEPT_BYTES)
        if mesh.pop("sha256") != record(path).sha256 or problem_of_mesh(mesh):
            return None
        build_mesh({"kind": "mesh", **mesh})
    except (ConfigError, DatasetError, KeyError, TypeError, ValueError, IndexError):
        return None  # Blender makes it again
    return mesh


def is_blend(asset: Any) -> bool:
    """Whether a value of a properties file names a .blend file."""
    return isinstance(asset, str) and asset.endswith(SUFFIX)


def named_assets(
    properties: Mapping[str, Any], section: str, suffixes: str | tuple[str, ...]
) -> list[tuple[str, str]]:
    """The names and paths of a section's values that are files with one of these suffixes."""
    entries = properties.get(section)
    if not isinstance(entries, dict):
        return []  # the reader of the properties reports it
    named = [(name, asset) for name, asset in entries.items() if isinstance(asset, str)]
    return [(name, asset) for name, asset in named if asset.endswith(suffixes)]


def _locate(path: Path, place: str) -> tuple[Path, int]:
    """The resolved path of a regular file, and its modification time in nanoseconds; else a ConfigError."""
    with naming(place), reading(shown(str(path)).strip('"'), "a Blender file", error=ConfigError):
        path = path.resolve()
        check_regular(path, error=ConfigError)
        return path, path.stat().st_mtime_ns


@cache
def _read_contents(wanted: tuple[tuple[str, str, int], ...], reader: tuple[str, ...]) -> list[dict[str, Any]]:
    """The reader's results for files, each given by kind, path and modification time; cached per process."""
    files = [{"kind": kind, "path": path} for kind, path, _ in wanted]
    request = json.dumps({"files": files, "timeout_s": READ_TIMEOUT_S, "memory_bytes": MEMORY_BYTES})
    with tempfile.TemporaryDirectory(prefix="clevrhope-") as folder:
        try:
            done = subprocess.run(
                reader,
                input=request,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=START_TIMEOUT_S + READ_TIMEOUT_S * len(wanted),
                env={**worker_environment(), "BLENDER_USER_RESOURCES": folder, "TMPDIR": folder},
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise _BlenderEndedError(0, f"Blender did not start within {error.timeout:g} s") from error
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    if len(found) < len(wanted):
        raise _BlenderEndedError(len(found), _ending(done.returncode, done.stderr))
    return found


def _ending(code: int, stderr: str) -> str:
    """Why the reader ended without answering, in a sentence about a file."""
    if sys.platform != "win32" and code == -signal.SIGALRM:
        return f"Blender took over {READ_TIMEOUT_S:g} s to read it"
    if any(each in stderr for each in ("Malloc returns null", "MemoryError", "bad_alloc")):
        return f"Blender needs over {MEMORY_BYTES >> 30} GiB to read it"
    last = last_line(stderr)
    return f"Blender {how_ended(code)} while reading it" + (f" ({last})" if last else "")
