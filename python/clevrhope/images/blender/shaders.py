"""Builds shader graphs of look.json in a material's tree of nodes.

Nothing is imported from Blender here: a tree makes its own nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Materials read the object's colour here, so that objects of all colours can share a mesh with its material.
OBJECT_COLOR = "object"

#: A "node" of look.json -> its node in Blender, its distribution (an entry may name another one), and the
#: inputs of its numbers and of its color. Blender 4 keeps Ashikhmin's velvet as a distribution of its sheen;
#: the tangent of anisotropy runs around Z; light reflected between microfacets is left out.
SHADERS: Mapping[str, tuple[str, str, Mapping[str, str], str]] = {
    "diffuse": ("ShaderNodeBsdfDiffuse", "", {"roughness": "Roughness"}, "Color"),
    "sheen": ("ShaderNodeBsdfSheen", "ashikhmin", {"sigma": "Roughness"}, "Color"),
    "glossy": (
        "ShaderNodeBsdfAnisotropic",
        "beckmann",
        {"roughness": "Roughness", "anisotropy": "Anisotropy"},
        "Color",
    ),
    "principled": (
        "ShaderNodeBsdfPrincipled",
        "ggx",
        {"metallic": "Metallic", "roughness": "Roughness"},
        "Base Color",
    ),
}


def add_shader(tree: Any, entry: Mapping[str, Any]) -> Any:
    """Adds a shader to a tree and returns its last node; `entry` is a mix of two, or one of `SHADERS`."""
    if entry["node"] == "mix":
        return _add_mix(tree, entry)
    kind, distribution, inputs, color_input = SHADERS[entry["node"]]
    node = tree.nodes.new(kind)
    if distribution:
        node.distribution = entry.get("distribution", distribution).upper()
    for name, place in inputs.items():
        node.inputs[place].default_value = entry.get(name, 0.0)
    if entry["color"] == OBJECT_COLOR:
        link_object_color(tree, node.inputs[color_input])
    else:
        node.inputs[color_input].default_value = (*entry["color"], 1.0)
    return node


def link_object_color(tree: Any, place: Any) -> None:
    """Links the colour of the object that has the material to an input of a node."""
    info = tree.nodes.new("ShaderNodeObjectInfo")
    tree.links.new(info.outputs["Color"], place)


def _add_mix(tree: Any, entry: Mapping[str, Any]) -> Any:
    """{"factor": number or {"fresnel_ior": number}, "first", "second"}: `factor` is the weight of second."""
    node = tree.nodes.new("ShaderNodeMixShader")
    factor = entry["factor"]
    if isinstance(factor, Mapping):
        fresnel = tree.nodes.new("ShaderNodeFresnel")
        fresnel.inputs["IOR"].default_value = factor["fresnel_ior"]
        tree.links.new(fresnel.outputs["Fac"], node.inputs[0])
    else:
        node.inputs[0].default_value = factor
    for place, name in enumerate(("first", "second"), 1):
        tree.links.new(add_shader(tree, entry[name]).outputs[0], node.inputs[place])
    return node
