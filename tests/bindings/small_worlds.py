"""Worlds of the package's values and look, and templates for them, for tests of the native module."""

from clevrhope import _core
from clevrhope.runtime.assets import blender_assets, question_templates

PAIR = [("material", "rubber"), ("shape", "cylinder")]


def world_of(constraints: str = "{}") -> _core.World:
    properties, look = ((blender_assets() / name).read_bytes() for name in ("properties.json", "look.json"))
    return _core.World(properties, look, constraints, properties_file="properties", look_file="look")


def zero_hop(world: _core.World) -> _core.Templates:
    folder = question_templates()
    files = [("zero_hop", (folder / "zero_hop.json").read_bytes())]
    return _core.Templates(files, [], (folder / "synonyms.json").read_bytes(), world.vocabulary)
