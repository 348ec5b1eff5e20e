"""The look, which defines how a renderer draws the names in scenes, from look.json and properties.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope._core import Vocabulary
from clevrhope.errors import ConfigError
from clevrhope.look.changes import read_changes, with_changes
from clevrhope.look.meshes import build_mesh
from clevrhope.look.named_files import read_named_files
from clevrhope.runtime.assets import blender_assets
from clevrhope.runtime.json_text import parse_json, read_object
from clevrhope.runtime.reading import read_bytes
from clevrhope.runtime.settings import suggestion

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
    look: Path | None = None,
    properties: Path | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
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
    for file, problem in _problems(checked, look_path, properties_path):
        raise ConfigError(f"{file}: {problem}")
    if not changes:
        return checked
    changed = read_changes(changes, checked.look, where=look_path.name)
    return Look(with_changes(checked.look, changed), named)


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


def _problems(look: Look, look_path: Path, properties_path: Path) -> Iterator[tuple[Path, str]]:
    for section in ("camera", "lights", "world", "ground", "shapes", "materials", "render"):
        if not isinstance(look.look.get(section), dict):
            yield look_path, f"{section}: missing; expected an object"
            return
    for place, shape in {"ground": look.look["ground"], **_places("shapes", look.look["shapes"])}.items():
        try:
            build_mesh(shape)
        except ValueError as error:
            yield look_path, f"{place}: {error}"
    for place, material in _places("materials", look.look["materials"]).items():
        if "blend" in material:
            continue
        problem = _shader_problem(material.get("shader"), f"{place}.shader")
        if problem:
            yield look_path, problem
    for section, known in (("shapes", look.shapes), ("materials", look.materials)):
        for name, asset in look.properties[section].items():
            if asset not in known:
                hint = suggestion(str(asset), known) or f"; it has {', '.join(look.look[section])}"
                yield properties_path, f'{section}.{name}: {look_path.name} has no "{asset}"{hint}'


def _shader_problem(shader: Any, place: str) -> str | None:
    """The problem of a shader graph; None if there is none."""
    if not isinstance(shader, dict) or shader.get("node") not in SHADER_NODES:
        known = ", ".join(SHADER_NODES)
        return f'{place}: expected an object whose "node" is one of {known}; found {shader!r:.80}'
    for name in SHADER_NODES[shader["node"]]:
        if name not in shader:
            return f'{place}: a {shader["node"]} node needs "{name}"'
        if name in ("first", "second"):
            problem = _shader_problem(shader[name], f"{place}.{name}")
            if problem:
                return problem
    color = shader.get("color")
    if color is not None and color != "object" and not (isinstance(color, list) and len(color) == 3):
        return f'{place}.color: {color!r} should be "object" or three linear values'
    return None


def _places(section: str, entries: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{section}.{name}": entry for name, entry in entries.items()}


def _with_aliases(entries: Mapping[str, Any]) -> dict[str, Any]:
    aliases = {alias: entry for entry in entries.values() for alias in entry.get("aliases", ())}
    return {**entries, **aliases}
