"""Reads .blend files, in a separate process, in the interpreter that has Blender.

This is one of the two modules that import bpy. Standard input is JSON: {"files": [{"kind": "shape" or
"material", "path"}, ...], "timeout_s" for each, "memory_bytes"}. Standard output has a line of JSON for each
file, as soon as it is read: {"vertices", "faces", "shading"} for a shape, {"what", "name"} for a material, or
{"problem"}, a clause that follows the file's name. A file that makes Blender crash or hang ends the process.

Files may come from anybody, so nothing in them is executed: no script, no driver, and no other file is
opened.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import bpy

from clevrhope.look.meshes import problem_of_triangles

if sys.platform != "win32":  # on Windows, nothing is read: see blend_files.py
    import resource

#: Decimals of a coordinate; further digits are noise of 32-bit floats.
DECIMALS = 6
#: Blender's names for the collections in a .blend file.
_COLLECTIONS = ("objects", "meshes", "node_groups", "materials")
#: Standard input, output and error are open; with this limit, no other file can be opened.
_STANDARD_FILES = 3


class UnfitFileError(Exception):
    """The file does not have the required content; the message is a clause that follows the file's name."""


def main() -> int:
    """Reads the list of files and each file in it."""
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # so that Blender's own output does not get between the answers
    os.close(nowhere)
    request = json.load(sys.stdin)
    _limit_memory(request["memory_bytes"])
    for each in request["files"]:
        with _time_limit(request["timeout_s"]):
            answers.write(json.dumps(_read(each["kind"], Path(each["path"]))) + "\n")
            answers.flush()
    # Blender hangs at the end of a process in which it has loaded a driver.
    os._exit(0)


def load_part(path: str, collection: str, name: str) -> Any:
    """Loads one part of a .blend file, with everything that it needs, into this process's Blender.

    No script or driver of the file runs, now or later, and no other file is read for it.

    Args:
        path: the file.
        collection: one of `_COLLECTIONS`.
        name: the name of the part.

    Raises:
        UnfitFileError: it is linked to other files, or has no such part.
        OSError: it is not a .blend file.
    """
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
    with ExitStack() as stack:
        _, wanted = stack.enter_context(bpy.data.libraries.load(path, link=False))
        setattr(wanted, collection, [name])
        # The file is already open; libraries to which it is linked cannot be opened.
        with _no_more_files():
            stack.close()
    loaded = list(bpy.data.user_map())
    elsewhere = sorted({each.library.filepath for each in loaded if each.library is not None})
    if elsewhere:
        raise UnfitFileError(
            f"is linked to {elsewhere[0][:200]}; it should hold all that it needs (in Blender: Make Local)"
        )
    for each in loaded:
        _remove_drivers(each)
    (part,) = getattr(wanted, collection)
    if part is None:
        raise UnfitFileError(f'has no "{name}" that Blender can read')
    return part


@contextmanager
def _no_more_files() -> Iterator[None]:
    """Prevents this process from opening files in the block."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_STANDARD_FILES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _remove_drivers(data: Any) -> None:
    """Removes drivers and animations; their targets keep the values from when the file was saved."""
    if hasattr(data, "animation_data_clear"):
        data.animation_data_clear()
    if getattr(data, "node_tree", None) is not None:
        data.node_tree.animation_data_clear()


def _limit_memory(more: int) -> None:
    """Limits this process to `more` bytes beyond what it uses now; if it needs more, Blender ends."""
    with suppress(OSError, ValueError):  # the system has lower limits, or none
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (held + more, most))


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Lets the system end this process after `seconds` in the block, whatever Blender is doing."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0.0)


def _read(kind: str, path: Path) -> dict[str, Any]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    try:
        return _shape(path) if kind == "shape" else _material(path)
    except UnfitFileError as problem:
        return {"problem": str(problem)}
    except OSError:
        return {"problem": "is not a .blend file that Blender can read"}
    except (RuntimeError, SystemError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        return {"problem": f"has something that Blender cannot read ({type(error).__name__}: {reason})"}


def _shape(path: Path) -> dict[str, Any]:
    """The object or mesh with the file's name, or the only mesh."""
    names = _names(path)
    if path.stem in names["objects"]:
        thing = load_part(str(path), "objects", path.stem)
        with _no_more_files():  # a modifier could try to open some
            data = _evaluated(thing)
    else:
        data = load_part(str(path), "meshes", _named(path.stem, names["meshes"], "mesh"))
    data.calc_loop_triangles()
    if problem := problem_of_triangles(len(data.loop_triangles)):
        raise UnfitFileError(problem)
    smooth = sum(polygon.use_smooth for polygon in data.polygons)
    triangles: dict[int, list[list[int]]] = {}
    for triangle in data.loop_triangles:
        triangles.setdefault(triangle.polygon_index, []).append(list(triangle.vertices))
    faces: list[list[int]] = []
    for polygon in data.polygons:
        faces += [list(polygon.vertices)] if _is_convex(data, polygon) else triangles[polygon.index]
    return {
        "vertices": [[round(x, DECIMALS) for x in vertex.co] for vertex in data.vertices],
        "faces": faces,
        "shading": "smooth" if 2 * smooth > len(data.polygons) else "flat",
    }


def _is_convex(data: Any, polygon: Any) -> bool:
    """Whether triangles from the first corner to all others fill a face."""
    corners = [data.vertices[number].co for number in polygon.vertices]
    triples = zip(corners, corners[1:] + corners[:1], corners[2:] + corners[:2], strict=True)
    return all((b - a).cross(c - b).dot(polygon.normal) >= 0.0 for a, b, c in triples)


def _evaluated(thing: Any) -> Any:
    """An object's mesh with its modifiers applied, in its own axes."""
    if thing.type != "MESH":
        raise UnfitFileError(f'has no mesh: its object "{thing.name}" is a {thing.type.lower()}')
    bpy.context.scene.collection.objects.link(thing)
    graph = bpy.context.evaluated_depsgraph_get()
    return bpy.data.meshes.new_from_object(thing.evaluated_get(graph), depsgraph=graph)


def _material(path: Path) -> dict[str, Any]:
    """The group of nodes with the file's name, as in CLEVR, or such a material, or the only material."""
    names = _names(path)
    if path.stem not in names["node_groups"]:
        name = _named(path.stem, names["materials"], "material")
        load_part(str(path), "materials", name)
        return {"what": "materials", "name": name}
    group = load_part(str(path), "node_groups", path.stem)
    ends = [each.in_out for each in group.interface.items_tree if each.item_type == "SOCKET"]
    if group.bl_idname != "ShaderNodeTree" or "OUTPUT" not in ends:
        raise UnfitFileError(
            f'has a group of nodes "{path.stem}", but it is not a shader group with an output'
        )
    return {"what": "node_groups", "name": path.stem}


def _names(path: Path) -> dict[str, list[str]]:
    """The names in a file by collection, without loading anything."""
    with bpy.data.libraries.load(str(path), link=False) as (there, _):
        return {kind: list(getattr(there, kind)) for kind in _COLLECTIONS}


def _named(name: str, there: Sequence[str], kind: str) -> str:
    if name in there:
        return name
    if len(there) == 1:
        return there[0]
    if not there:
        raise UnfitFileError(f"has no {kind}")
    raise UnfitFileError(
        f'has several of them, but no {kind} named "{name}" like the file: {", ".join(sorted(there)[:8])}'
    )


if __name__ == "__main__":
    sys.exit(main())
