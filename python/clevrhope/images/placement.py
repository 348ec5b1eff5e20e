"""Places a scene's objects, camera and lights: checks names and numbers, and that all is in the image."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrhope.errors import SceneError, shown
from clevrhope.look.definition import Look
from clevrhope.look.view import ground_height, off_the_ground
from clevrhope.runtime.forms import NUMBER
from clevrhope.runtime.settings import suggestion

Vector = tuple[float, float, float]

LEAST_LENGTH = 1e-6
"""A shorter vector has no usable direction: an image seen along it is black."""

FARTHEST = 1e6
"""From this distance, the camera sees nothing of a world whose objects stand within a few units."""

_UP_TO = f", at most {FARTHEST:,.0f}"


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


def place_inside(scene: Mapping[str, Any], look: Look, *, width_px: int, height_px: int) -> Placement:
    """As `place`, for a scene whose objects must all be in the world and in the image.

    Raises:
        SceneError: as for `place`; or an object is outside the world; the camera is at its target, straight
            above or below it, or too far away; or a light is at its target or below the ground.
    """
    placement = place(scene, look)
    axes = view_axes(placement.camera, look.look["camera"]["target"])
    for i, thing in enumerate(placement.things):
        # It would be missing from the image, partly or wholly, although the scene contains it. The ground is
        # flat below the objects of CLEVR and rises far behind them.
        problem = off_the_ground(look.look["ground"], thing.location) or _out_of_sight(
            thing, placement.camera, axes, look.look["camera"], width_px, height_px
        )
        if problem:
            at = ", ".join(f"{x:g}" for x in thing.location)
            raise SceneError(
                f"objects[{i}].3d_coords: ({at}) is outside the world, {problem}; objects of CLEVR stand on "
                "the ground, x and y from -3 to 3"
            )
    for name, location in placement.lights.items():
        if math.dist(location, look.look["lights"][name]["target"]) < LEAST_LENGTH:
            raise SceneError(f"lights.{name}: its place is its own target; move it")
        if not ground_height(look.look["ground"], location) < location[2]:
            at = ", ".join(f"{each:g}" for each in location)
            raise SceneError(f"lights.{name}: ({at}) is below the ground; move it")
    return placement


def view_axes(camera: Vector, target: Sequence[float]) -> tuple[Vector, Vector, Vector]:
    """Right, up and forward of a camera as unit vectors in the world.

    Raises:
        SceneError: the camera is at its target, straight above or below it, or too far away.
    """

    def problem(what: str) -> SceneError:
        here, there = (", ".join(f"{each:g}" for each in place) for place in (camera, target))
        return SceneError(f"camera.location: ({here}) is {what} ({there}), which it looks at; move it")

    way = [b - a for a, b in zip(camera, target, strict=True)]
    distance = math.hypot(*way)
    if not distance <= FARTHEST:
        raise problem("too far from")
    if distance < LEAST_LENGTH:
        raise problem("at the place")
    x, y, z = (each / distance for each in way)
    aside = math.hypot(x, y)
    if aside < LEAST_LENGTH:
        raise problem("straight above or below")
    right_x, right_y = y / aside, -x / aside
    up = (right_y * z, -right_x * z, right_x * y - right_y * x)
    return (right_x, right_y, 0.0), up, (x, y, z)


def _thing(entry: Any, look: Look, place: str) -> Thing:
    if not isinstance(entry, Mapping):
        raise SceneError(f"{place}: {shown(entry)} should be an object")

    def named(key: str, section: str) -> Any:
        values = look.properties[section]
        name = entry.get(key)
        if not isinstance(name, str) or name not in values:
            raise SceneError(f"{place}.{key}: {_unknown(name, values)}")
        return values[name]

    rotation_deg = entry.get("rotation", 0.0)
    if not _is_near(rotation_deg):
        raise SceneError(f"{place}.rotation: {rotation_deg!r:.60} should be an angle in degrees{_UP_TO}")
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
        if all(map(_is_near, (x, y, z))):
            return float(x), float(y), float(z)
    raise SceneError(f"{place}: {value!r:.60} should be three numbers{_UP_TO}")


def _is_near(value: Any) -> bool:
    return NUMBER.test(value) and abs(value) <= FARTHEST


def _unknown(name: Any, known: Mapping[str, Any]) -> str:
    return f'unknown name "{name}"' + (suggestion(str(name), known) or f" (known: {', '.join(known)})")


def _out_of_sight(
    thing: Thing,
    camera: Vector,
    axes: tuple[Vector, Vector, Vector],
    lens: Mapping[str, Any],
    width_px: int,
    height_px: int,
) -> str:
    """Where an object is if no part of a ball around it is in the image; "" if some part is."""
    way = [b - a for a, b in zip(camera, thing.location, strict=True)]
    right, up, depth = (sum(a * b for a, b in zip(way, axis, strict=True)) for axis in axes)
    reach = math.sqrt(3.0) * thing.radius  # the distance of a cube's corners from its centre
    # Written so that NaN, which results from huge distances, counts as out of the image.
    if not depth > reach:
        return "behind the camera, or around it"
    focal_px = lens["lens_mm"] / lens["sensor_width_mm"] * max(width_px, height_px)
    for aside, half_px in ((right, width_px / 2), (up, height_px / 2)):
        if not abs(aside) - reach <= half_px / focal_px * (depth + reach) < math.inf:
            return "out of the image"
    return ""
