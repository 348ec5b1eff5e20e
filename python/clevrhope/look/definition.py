"""The look, which defines how a renderer draws the names in scenes, from look.json and properties.json."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
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
from clevrhope.runtime.reading import read_bytes
from clevrhope.runtime.settings import naming, suggestion

#: Nodes of a material's shader graph -> keys that each needs.
SHADER_NODES = {
    "mix": ("factor", "first", "second"),
    "diffuse": ("color", "roughness"),
    "sheen": ("color", "sigma"),
    "glossy": ("distribution", "color", "roughness"),
    "principled": ("color", "metallic", "roughness"),
}


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


def read_look(
    look: Path | None = None, properties: Path | None = None, *, changes: Mapping[str, Any] | None = None
) -> Look:
    """Reads and checks the look.

    Args:
        look: a look.json; by default the package's.
        properties: a properties.json, such as CLEVR's own; by default the package's.
        changes: differences from the look file, as in a [look] table; see `read_changes`.

    Raises:
        ConfigError: a file is missing or not JSON, or names an unknown mesh or node; no renderer supports a
            change; or a file that the properties name does not have the required content.
        VocabularyError: the properties define no vocabulary; says where.
        RenderError: a .blend file is named, but Blender is missing.
    """
    look_path = look or blender_assets() / "look.json"
    properties_path = properties or blender_assets() / "properties.json"
    data = read_bytes(properties_path, "a properties file", error=ConfigError)
    Vocabulary(data, file=str(properties_path))  # checks names and definitions
    named = parse_json(data, properties_path, error=ConfigError)
    entries = read_object(look_path, "a look", error=ConfigError)
    named, entries = read_named_files(named, entries, properties_path, content_only=False)
    checked = _with_numbers(named, entries)
    _check(checked, look_path, properties_path)
    if not changes:
        return checked
    changed = read_changes(changes, checked.look, where=look_path.name)
    return Look(with_changes(checked.look, changed), named)


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


def _check(look: Look, look_path: Path, properties_path: Path) -> None:
    """Checks that a look is complete, and that the properties name what it has; else raises ConfigError."""
    for section in ("camera", "lights", "world", "ground", "shapes", "materials", "render"):
        if not isinstance(look.look.get(section), dict):
            raise ConfigError(f"{look_path}: {section}: missing; expected an object")
    for place, shape in {"ground": look.look["ground"], **_places("shapes", look.look["shapes"])}.items():
        try:
            build_mesh(shape)
        except ValueError as error:
            raise ConfigError(f"{look_path}: {place}: {error}") from error
    for place, material in _places("materials", look.look["materials"]).items():
        if "blend" not in material:
            with naming(str(look_path)):
                _check_shader(material.get("shader"), f"{place}.shader")
    for section, known in (("shapes", look.shapes), ("materials", look.materials)):
        for name, asset in look.properties[section].items():
            if asset not in known:
                hint = suggestion(str(asset), known) or f"; it has {', '.join(look.look[section])}"
                raise ConfigError(
                    f'{properties_path}: {section}.{name}: {look_path.name} has no "{asset}"{hint}'
                )


def _check_shader(shader: Any, place: str) -> None:
    """Checks a shader graph; raises ConfigError if a node or a key of one is missing or wrong."""
    if not isinstance(shader, dict) or shader.get("node") not in SHADER_NODES:
        known = ", ".join(SHADER_NODES)
        raise ConfigError(f'{place}: expected an object whose "node" is one of {known}; found {shader!r:.80}')
    for name in SHADER_NODES[shader["node"]]:
        if name not in shader:
            raise ConfigError(f'{place}: a {shader["node"]} node needs "{name}"')
        if name in ("first", "second"):
            _check_shader(shader[name], f"{place}.{name}")
    color = shader.get("color")
    if color is not None and color != "object" and not (isinstance(color, list) and len(color) == 3):
        raise ConfigError(f'{place}.color: {color!r} should be "object" or three linear values')


def _places(section: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{section}.{name}": entry for name, entry in entries.items()}


def _with_aliases(entries: Mapping[str, Any]) -> dict[str, Any]:
    aliases = {alias: entry for entry in entries.values() for alias in entry.get("aliases", ())}
    return {**entries, **aliases}
