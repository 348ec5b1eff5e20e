"""look.json and properties.json in, what a renderer needs of them out, checked before a process starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from clevrhope._core import Vocabulary
from clevrhope.errors import ConfigError
from clevrhope.look.blend_files import read_blends
from clevrhope.look.meshes import build_mesh
from clevrhope.runtime.assets import blender_assets
from clevrhope.runtime.json_text import parse_json, read_object
from clevrhope.runtime.reading import read_bytes

#: Nodes that a material's shader graph is made of, and what each one has to say.
SHADER_NODES = {
    "mix": ("factor", "first", "second"),
    "diffuse": ("color", "roughness"),
    "sheen": ("color", "sigma"),
    "glossy": ("distribution", "color", "roughness"),
}


@dataclass(frozen=True)
class Look:
    """What turns names in a scene into things to be seen.

    Attributes:
        look: camera, lights, ground, shapes, materials and render, as in look.json.
        properties: sizes, colors, materials and shapes, as in properties.json.
    """

    look: Mapping[str, Any]
    properties: Mapping[str, Any]

    @property
    def shapes(self) -> dict[str, Any]:
        """Mesh descriptions by the names and aliases that properties.json may use."""
        return _with_aliases(self.look["shapes"])

    @property
    def materials(self) -> dict[str, Any]:
        """Materials by the names and aliases that properties.json may use."""
        return _with_aliases(self.look["materials"])


def read_look(look: Path | None = None, properties: Path | None = None) -> Look:
    """Reads and checks the look.

    Args:
        look: a look.json; by default the package's.
        properties: a properties.json, CLEVR's own included; by default the package's.

    Raises:
        ConfigError: a file that is missing or not JSON, or that names an unknown mesh or node, or a .blend
            file without what it should hold.
        VocabularyError: properties that define no vocabulary; says where.
        RenderError: a .blend file is named, and Blender is missing.
    """
    look_path = look or blender_assets() / "look.json"
    properties_path = properties or blender_assets() / "properties.json"
    data = read_bytes(properties_path, "a properties file", error=ConfigError)
    Vocabulary(
        data, file=str(properties_path)
    )  # names and definitions, as whoever samples scenes checks them
    named = parse_json(data, properties_path, error=ConfigError)
    read = Look(read_blends(named, properties_path).added_to(_read_json(look_path)), named)
    for file, problem in _problems(read, look_path, properties_path):
        raise ConfigError(f"{file}: {problem}")
    return read


def _read_json(path: Path) -> Mapping[str, Any]:
    return read_object(path, "a look", error=ConfigError)


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
                near = get_close_matches(str(asset), known, n=1)
                listed = ", ".join(look.look[section])
                hint = f' (did you mean "{near[0]}"?)' if near else f"; it has {listed}"
                yield properties_path, f'{section}.{name}: {look_path.name} has no "{asset}"{hint}'


def _shader_problem(shader: Any, place: str) -> str | None:
    """What is wrong with a shader graph, or None."""
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
    names = dict(entries)
    for entry in entries.values():
        names.update(dict.fromkeys(entry.get("aliases", ()), entry))
    return names
