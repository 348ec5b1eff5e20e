"""Names of .blend files in, what is in them out: `python -m clevrhope.images.blend_reader`.

Runs in a process of its own, and is one of the two modules that import bpy. Standard input is a JSON list of
{"kind": "shape" or "material", "path"}; the last line of standard output a list as long, of what was found:
of a shape {"vertices", "faces", "shading"}, of a material {"what", "name"}, or {"problem"}, the end of a
sentence that begins with the file's name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy

#: Decimals of a coordinate; what is finer is the float's.
DECIMALS = 6


class _Lacking(Exception):
    """The file does not hold what is asked of it."""


def main() -> int:
    """Reads the list, looks into each file."""
    wanted = json.load(sys.stdin)
    found = [_read(each["kind"], Path(each["path"])) for each in wanted]
    sys.stdout.write(f"\n{json.dumps(found)}\n")
    return 0


def _read(kind: str, path: Path) -> dict[str, Any]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    try:
        return _shape(path) if kind == "shape" else _material(path)
    except _Lacking as problem:
        return {"problem": str(problem)}
    except OSError:
        return {"problem": "is no .blend file that Blender can read"}


def _shape(path: Path) -> dict[str, Any]:
    """The object named as the file, or the mesh, or the only mesh."""
    with bpy.data.libraries.load(str(path), link=False) as (there, wanted):
        objects, meshes = list(there.objects), list(there.meshes)
        if path.stem in objects:
            wanted.objects = [path.stem]
        else:
            wanted.meshes = [_named(path.stem, meshes, "mesh")]
    data = _evaluated(wanted.objects[0]) if wanted.objects else wanted.meshes[0]
    smooth = sum(polygon.use_smooth for polygon in data.polygons)
    data.calc_loop_triangles()
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
    ahead = zip(corners, corners[1:] + corners[:1], corners[2:] + corners[:2], strict=True)
    return all((b - a).cross(c - b).dot(polygon.normal) >= 0.0 for a, b, c in ahead)


def _evaluated(thing: Any) -> Any:
    """An object's mesh with its modifiers applied, in its own axes."""
    if thing.type != "MESH":
        raise _Lacking(f'has no mesh: its object "{thing.name}" is a {thing.type.lower()}')
    bpy.context.scene.collection.objects.link(thing)
    graph = bpy.context.evaluated_depsgraph_get()
    return bpy.data.meshes.new_from_object(thing.evaluated_get(graph), depsgraph=graph)


def _material(path: Path) -> dict[str, Any]:
    """The group of nodes named as the file, as CLEVR's materials are, or the material, or the only one."""
    with bpy.data.libraries.load(str(path), link=False) as (there, _):
        groups, materials = list(there.node_groups), list(there.materials)
    if path.stem in groups:
        return {"what": "node_groups", "name": path.stem}
    return {"what": "materials", "name": _named(path.stem, materials, "material")}


def _named(name: str, there: Sequence[str], kind: str) -> str:
    if name in there:
        return name
    if len(there) == 1:
        return there[0]
    if not there:
        raise _Lacking(f"has no {kind}")
    raise _Lacking(f'has several, but no {kind} named "{name}" as the file: {", ".join(sorted(there)[:8])}')


if __name__ == "__main__":
    sys.exit(main())
