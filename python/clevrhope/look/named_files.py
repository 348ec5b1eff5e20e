"""Reads the files that a properties file names as shapes and materials into the look.

A value of "shapes" or "materials" in properties.json may be a path, relative to the properties file, of a
.blend file (blend_files.py), or of a glTF or OBJ file (mesh_files.py). A mesh from the latter is named by a
hash of its content, so that neither scenes nor images depend on the location of the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError
from clevrhope.look.blend_files import named_assets, read_blends
from clevrhope.look.mesh_files import GLTF_SUFFIXES, SUFFIXES, read_material, read_mesh

Section = Mapping[str, Any]


def read_named_files(
    properties: Section, look: Section, file: Path, *, content_only: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Adds the content of named files to a properties file and a look: returns the properties, the look.

    Args:
        properties: the content of the properties file.
        look: the content of a look.json.
        file: the path of the properties file, also for messages.
        content_only: for everything that decides scenes: represents a material from Blender by a hash, not by
            its path.

    Raises:
        ConfigError: a file is missing, is not of its format, or does not have the required content.
        RenderError: Blender has to read a file, but is missing.
    """
    blends = read_blends(properties, file)
    shapes = {**look.get("shapes", {}), **blends.shapes}
    materials = {**look.get("materials", {})}
    for asset, entry in blends.materials.items():
        materials[asset] = {"blend": {"sha256": entry["sha256"]} if content_only else entry}
    named = {**properties}
    for name, asset in named_assets(properties, "shapes", SUFFIXES):
        with _named(f"{file}: shapes.{name}"):
            mesh = read_mesh(file.parent / asset)
        content = hashlib.sha256(json.dumps(mesh, sort_keys=True).encode()).hexdigest()
        shapes[content] = mesh
        named["shapes"] = {**named["shapes"], name: content}
    for name, asset in named_assets(properties, "materials", GLTF_SUFFIXES):
        with _named(f"{file}: materials.{name}"):
            named["materials"] = {**named["materials"], name: read_material(file.parent / asset)}
    return named, {**look, "shapes": shapes, "materials": materials}


@contextmanager
def _named(place: str) -> Iterator[None]:
    """Adds to errors in the block which value of the properties they are about."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from error
