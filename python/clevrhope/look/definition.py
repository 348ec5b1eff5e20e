"""The look, which defines how a renderer draws the names in scenes, from look.json and properties.json."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clevrhope._core import Vocabulary
from clevrhope.errors import ConfigError
from clevrhope.look.blend_files import named_assets, read_blends
from clevrhope.look.changes import read_changes, with_changes
from clevrhope.look.mesh_files import GLTF_SUFFIXES, SUFFIXES, read_material, read_mesh
from clevrhope.look.meshes import build_mesh
from clevrhope.runtime.assets import blender_assets
from clevrhope.runtime.json_text import parse_json, read_object
from clevrhope.runtime.reading import read_utf8
from clevrhope.runtime.settings import naming, suggestion


@dataclass(frozen=True)
class Look:
    """How the names in a scene are drawn.

    Attributes:
        look: camera, lights, ground, shapes, materials and render, as in look.json.
        properties: sizes, colors, materials and shapes, as in properties.json; each material and shape names
            one of the look's.
    """

    look: Mapping[str, Any]
    properties: Mapping[str, Any]

    @property
    def shapes(self) -> dict[str, Any]:
        """Name or alias that properties.json may use -> description of a mesh."""
        return _with_aliases(self.look["shapes"])

    @property
    def materials(self) -> dict[str, Any]:
        """Name or alias that properties.json may use -> material."""
        return _with_aliases(self.look["materials"])

    def __repr__(self) -> str:
        sections = (
            f"{len(self.properties[name])} {name}" for name in ("sizes", "colors", "materials", "shapes")
        )
        return f"Look({', '.join(sections)})"


def read_look(properties: Path | None = None, *, changes: Mapping[str, Any] | None = None) -> Look:
    """Reads and checks the look.

    Args:
        properties: a properties.json, such as CLEVR's own; by default the package's.
        changes: differences from the package's look.json, as in a [look] table; see `read_changes`.

    Raises:
        ConfigError: the file is missing or not JSON, or names an unknown mesh or material; no renderer
            supports a change; or a file that the properties name does not have the required content.
        VocabularyError: the properties define no vocabulary; says where.
        RenderError: a .blend file is named, but Blender is missing.
    """
    path = properties or blender_assets() / "properties.json"
    data = read_utf8(path, "a properties file", error=ConfigError)
    Vocabulary(data, file=str(path))  # checks names and definitions
    named = parse_json(data, path, error=ConfigError)
    entries = read_object(blender_assets() / "look.json", "a look", error=ConfigError)
    look = _with_numbers(*read_named_files(named, entries, path, content_only=False))
    _check(look, path)
    if not changes:
        return look
    return replace(look, look=with_changes(look.look, read_changes(changes, look.look, where="look.json")))


def read_named_files(
    properties: Mapping[str, Any], look: Mapping[str, Any], file: Path, *, content_only: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Adds the content of named files to a properties file and a look: returns the properties, the look.

    A value of "shapes" or "materials" in properties.json may be a path, relative to the properties file, of a
    .blend file (blend_files.py), or of a glTF or OBJ file (mesh_files.py). A mesh from the latter is named by
    a hash of its content, so that neither scenes nor images depend on the location of the file.

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
    of_blends, materials_of_blends = read_blends(properties, file)
    shapes = {**look.get("shapes", {}), **of_blends}
    materials = {**look.get("materials", {})}
    for asset, entry in materials_of_blends.items():
        materials[asset] = {"blend": {"sha256": entry["sha256"]} if content_only else entry}
    named = {**properties}
    for name, asset in named_assets(properties, "shapes", SUFFIXES):
        with naming(f"{file}: shapes.{name}"):
            mesh = read_mesh(file.parent / asset)
        content = hashlib.sha256(json.dumps(mesh, sort_keys=True).encode()).hexdigest()
        shapes[content] = mesh
        named["shapes"] = {**named["shapes"], name: content}
    for name, asset in named_assets(properties, "materials", GLTF_SUFFIXES):
        with naming(f"{file}: materials.{name}"):
            named["materials"] = {**named["materials"], name: read_material(file.parent / asset)}
    return named, {**look, "shapes": shapes, "materials": materials}


def _with_numbers(properties: Mapping[str, Any], look: Mapping[str, Any]) -> Look:
    """Adds to the look the materials that the properties define by numbers."""
    named, materials = dict(properties["materials"]), dict(look.get("materials") or {})
    for name, entry in properties["materials"].items():
        if isinstance(entry, dict):
            named[name] = f"materials.{name}"
            color = [x / 255.0 for x in entry["base_color"]] if "base_color" in entry else "object"
            numbers = {key: entry[key] for key in ("metallic", "roughness")}
            materials[named[name]] = {"shader": {"node": "principled", "color": color, **numbers}}
    return Look({**look, "materials": materials}, {**properties, "materials": named})


def _check(look: Look, path: Path) -> None:
    """Checks that shapes can be built, and that the properties name what the look has; else a ConfigError."""
    for name, shape in look.look["shapes"].items():
        try:
            build_mesh(shape)
        except ValueError as error:
            raise ConfigError(f"{path}: shapes: {name}: {error}") from error
    for section, known in (("shapes", look.shapes), ("materials", look.materials)):
        for name, asset in look.properties[section].items():
            if asset not in known:
                hint = suggestion(str(asset), known) or f"; it has {', '.join(look.look[section])}"
                raise ConfigError(f'{path}: {section}.{name}: look.json has no "{asset}"{hint}')


def _with_aliases(entries: Mapping[str, Any]) -> dict[str, Any]:
    aliases = {alias: entry for entry in entries.values() for alias in entry.get("aliases", ())}
    return {**entries, **aliases}
