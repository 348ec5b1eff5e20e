"""Placement of a scene's objects, camera and lights, with all names and numbers checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from clevrhope.errors import SceneError, shown
from clevrhope.look.definition import Look
from clevrhope.runtime.settings import suggestion

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Thing:
    """An object as it stands in the world.

    Attributes:
        shape: a name of the look's shapes.
        material: a name of the look's materials.
        color: linear RGB.
        radius: the factor that scales the unit shape.
        location: the position of its centre in the world.
        rotation_z_rad: the rotation about its own vertical axis.
    """

    shape: str
    material: str
    color: Vector
    radius: float
    location: Vector
    rotation_z_rad: float


@dataclass(frozen=True)
class Placement:
    """A scene as a renderer needs it: camera, lights by name, things in the order of the scene's objects."""

    camera: Vector
    lights: Mapping[str, Vector]
    things: tuple[Thing, ...]


def place(scene: Mapping[str, Any], look: Look) -> Placement:
    """Resolves a scene in CLEVR's JSON form.

    Camera and lights have the positions that the scene gives. If it gives none, as in published CLEVR files,
    they have their positions before jitter.

    Raises:
        SceneError: a key is missing, a name is not in the look, or a location is invalid.
    """
    for key in ("camera", "lights"):
        if not isinstance(scene.get(key, {}), Mapping):
            raise SceneError(f"{key}: {shown(scene[key])} should be an object")
    camera = scene.get("camera", {}).get("location", look.look["camera"]["location"])
    lights = {name: light["location"] for name, light in look.look["lights"].items() if "location" in light}
    for name, location in scene.get("lights", {}).items():
        if name not in lights:
            raise SceneError(f"lights: {_unknown(name, lights)}")
        lights[name] = location
    objects = scene.get("objects")
    if objects is None:
        raise SceneError("objects: missing; expected a list")
    if not isinstance(objects, list | tuple):
        raise SceneError(f"objects: {shown(objects)} should be a list")
    return Placement(
        camera=_vector(camera, "camera.location"),
        lights={name: _vector(location, f"lights.{name}") for name, location in lights.items()},
        things=tuple(_thing(entry, look, f"objects[{i}]") for i, entry in enumerate(objects)),
    )


def _thing(entry: Any, look: Look, place: str) -> Thing:
    if not isinstance(entry, Mapping):
        raise SceneError(f"{place}: {shown(entry)} should be an object")

    def named(key: str, section: str) -> Any:
        values = look.properties[section]
        name = entry.get(key)
        if not isinstance(name, str) or name not in values:
            raise SceneError(f"{place}.{key}: {_unknown(name, values)}")
        return values[name]

    rotation_deg = entry.get("rotation")
    if not _is_number(rotation_deg):
        raise SceneError(f"{place}.rotation: {rotation_deg!r:.60} should be an angle in degrees")
    red, green, blue = named("color", "colors")
    return Thing(
        shape=named("shape", "shapes"),
        material=named("material", "materials"),
        color=(red / 255.0, green / 255.0, blue / 255.0),
        radius=float(named("size", "sizes")),
        location=_vector(entry.get("3d_coords"), f"{place}.3d_coords"),
        rotation_z_rad=math.radians(rotation_deg),
    )


def _vector(value: Any, place: str) -> Vector:
    if isinstance(value, list | tuple) and len(value) == 3:
        x, y, z = value
        if all(map(_is_number, (x, y, z))):
            return float(x), float(y), float(z)
    raise SceneError(f"{place}: {value!r:.60} should be three numbers")


def _is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number; an integer in JSON may have more digits than a float can hold."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def _unknown(name: Any, known: Mapping[str, Any]) -> str:
    return f'unknown name "{name}"' + (suggestion(str(name), known) or f" (known: {', '.join(known)})")
