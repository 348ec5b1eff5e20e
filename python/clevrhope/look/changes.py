"""Changes to the package's look, as in a [look] table: camera, lights, ground and background."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

import numpy as np

from clevrhope.errors import ConfigError, shown
from clevrhope.look.view import ground_height
from clevrhope.runtime.settings import read_settings, suggestion

Vector = tuple[float, ...]

#: The most lights of a look; the native renderer uses a bit for each.
MOST_LIGHTS = 8
#: The largest coordinate of a camera and of its target: up to there, all of the ground is within its range.
FARTHEST = 25.0
WHITE = (1.0, 1.0, 1.0)


def _range(least: float, most: float, *, above: bool = False) -> Mapping[str, Any]:
    """Metadata of a field that holds a number or three: their range, from `least` on or above it."""
    return {"range": (least, most, above)}


class _Table:
    """A table whose fields all have a `_range`."""

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            least, most, above = each.metadata["range"]
            value = getattr(self, each.name)
            is_vector = isinstance(value, tuple)
            numbers = value if is_vector else (value,)
            if (is_vector and len(value) != 3) or not all(
                (least < number if above else least <= number) and number <= most for number in numbers
            ):
                limits = f"above {least:g}, at most {most:g}" if above else f"from {least:g} to {most:g}"
                expected = "three numbers" if is_vector else "a number"
                found = _shown(value) if is_vector else f"{value:g}"
                raise ConfigError(f"{each.name} is {found}; expected {expected} {limits}")


@dataclass(frozen=True)
class Camera(_Table):
    """The camera, which looks from around `location` at `target`.

    Attributes:
        location: in the world; each scene moves every coordinate by at most `jitter`.
        target: in the world.
        lens_mm: focal length.
        sensor_width_mm: the sensor width that the longer side of an image covers.
        jitter: in Blender units.
    """

    location: Vector = field(metadata=_range(-FARTHEST, FARTHEST))
    target: Vector = field(metadata=_range(-FARTHEST, FARTHEST))
    lens_mm: float = field(metadata=_range(1.0, 5000.0))
    sensor_width_mm: float = field(metadata=_range(1.0, 1000.0))
    jitter: float = field(metadata=_range(0.0, 10.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        x, y, _ = (a - b for a, b in zip(self.location, self.target, strict=True))
        if not math.hypot(x, y) > max(2.0 * self.jitter, 1e-3):
            raise ConfigError(
                f"location is {_shown(self.location)}, at, straight above or straight below its target "
                f"{_shown(self.target)} or brought there by its jitter of {self.jitter:g}; move one of them"
            )


@dataclass(frozen=True)
class Area(_Table):
    """A square light that shines from around `location` towards `target`.

    Attributes:
        location: in the world; each scene moves every coordinate by at most `jitter`.
        power_w: radiant power.
        size: length of its sides, in Blender units.
        color: linear RGB, by which the power is multiplied.
        target: in the world.
        jitter: in Blender units.
    """

    location: Vector = field(metadata=_range(-1000.0, 1000.0))
    power_w: float = field(metadata=_range(0.0, 100_000.0, above=True))
    size: float = field(metadata=_range(1e-3, 100.0))
    color: Vector = field(default=WHITE, metadata=_range(0.0, 1.0))
    target: Vector = field(default=(0.0, 0.0, 0.0), metadata=_range(-1000.0, 1000.0))
    jitter: float = field(default=0.0, metadata=_range(0.0, 100.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_light_color(self.color)
        if not math.dist(self.location, self.target) > 1e-3:
            raise ConfigError(f"location is {_shown(self.location)}, its own target; move one of them")


@dataclass(frozen=True)
class Sun(_Table):
    """A light that is infinitely far away.

    Attributes:
        rotation_rad: rotation about x, y and z, in this order, of a light that shines straight down.
        strength_w_m2: power per square metre on a surface that faces it.
        angle_rad: its apparent size.
        color: linear RGB, by which the strength is multiplied.
    """

    rotation_rad: Vector = field(metadata=_range(-100.0, 100.0))
    strength_w_m2: float = field(metadata=_range(0.0, 100_000.0, above=True))
    angle_rad: float = field(default=0.00918, metadata=_range(1e-3, 1.0))
    color: Vector = field(default=WHITE, metadata=_range(0.0, 1.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_light_color(self.color)
        x, y, _ = self.rotation_rad
        if not math.cos(x) * math.cos(y) > 0.05:
            raise ConfigError(
                f"rotation_rad is {_shown(self.rotation_rad)}, so that it shines from the horizon or from "
                "below; expected angles that let it shine from above, such as [0.3, 0.4, 0.0]"
            )


@dataclass(frozen=True)
class Ground(_Table):
    """The ground's surface.

    Attributes:
        color: linear RGB, the share of light that is reflected.
        roughness: 0 scatters evenly; up to 1, more light returns in the direction that it came from.
    """

    color: Vector = field(metadata=_range(0.0, 1.0))
    roughness: float = field(default=0.0, metadata=_range(0.0, 1.0))


@dataclass(frozen=True)
class Background(_Table):
    """The background, which shines evenly and is visible beyond the ground.

    Attributes:
        background_strength: radiance; 0 for none.
        background_color: linear RGB, by which the strength is multiplied.
    """

    background_strength: float = field(metadata=_range(0.0, 1000.0))
    background_color: Vector = field(default=WHITE, metadata=_range(0.0, 1.0))


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")

#: Sections of look.json that are single tables.
_SECTIONS: Mapping[str, Any] = {"camera": Camera, "ground": Ground, "world": Background}
#: Kinds of light.
_KINDS: Mapping[str, Any] = {"area": Area, "sun": Sun}


def read_changes(table: Mapping[str, Any], look: Mapping[str, Any], *, where: object) -> dict[str, Any]:
    """The changes that a [look] table makes to a look: the values that differ, and False for removed lights.

    Args:
        table: camera, lights, ground and world, each with some of look.json's keys. A light that the look
            does not have is added; False removes a light.
        look: the look, as in look.json.
        where: the source of the table, for messages.

    Raises:
        ConfigError: a key is unknown, no renderer supports a value, or a light or the camera is below the
            ground.
    """
    known = (*_SECTIONS, "lights")
    for name in table:
        if name not in known:
            hint = f"{suggestion(name, known)}; known: {', '.join(known)}"
            raise ConfigError(f"{where}: unknown setting {shown(f'look.{name}')}{hint}")
    changes: dict[str, Any] = {}
    # In a fixed order, because a world's fingerprint depends on that of its look.
    for name, given in _in_order(table, known):
        if not isinstance(given, Mapping):
            raise ConfigError(f"{where}: look.{name} is {shown(given)}; expected a table [look.{name}]")
        if name == "lights":
            changed = _changed_lights(given, look.get("lights", {}), where)
        else:
            changed = _changed(_SECTIONS[name], given, look.get(name, {}), where, f"look.{name}.")
        if changed:
            changes[name] = changed
    _check_whole(with_changes(look, changes), where)
    return changes


def with_changes(look: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A look with the changes from `read_changes` applied."""
    merged = dict(look)
    for name, change in changes.items():
        if change is False:
            merged.pop(name, None)
        elif isinstance(change, Mapping):
            merged[name] = with_changes(merged.get(name, {}), change)
        else:
            merged[name] = change
    return merged


def _changed(
    kind: Any, given: Mapping[str, Any], there: Mapping[str, Any], where: object, path: str
) -> dict[str, Any]:
    """The settings of a table that differ from those of the look, which may have none."""
    keys = [each.name for each in fields(kind)]
    own = {key: there[key] for key in keys if key in there}
    start = read_settings(kind, own, where=where, path=path) if own else None
    found = asdict(read_settings(kind, given, where=where, path=path, start=start))
    before = {each.name: each.default for each in fields(kind) if each.default is not MISSING} | own
    return {
        key: _as_json(found[key])
        for key in keys
        if start is None or _as_json(found[key]) != _as_json(before[key])
    }


def _changed_lights(given: Mapping[str, Any], there: Mapping[str, Any], where: object) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, light in _in_order(given, tuple(there)):
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{where}: look.lights: {shown(name)} cannot be the name of a light; expected a letter, then "
                "up to 31 letters, digits and underscores"
            )
        path = f"look.lights.{name}"
        if light is False:
            if name not in there:
                hint = f"{suggestion(name, there)}; it has {', '.join(there)}"
                raise ConfigError(f"{where}: {path}: the look has no such light to leave out{hint}")
            changed[name] = False
            continue
        if not isinstance(light, Mapping):
            raise ConfigError(
                f"{where}: {path} is {shown(light)}; expected a table [{path}], or false to leave it out"
            )
        own = there.get(name, {})
        chosen = light.get("kind", own.get("kind", "area"))
        if not isinstance(chosen, str) or chosen not in _KINDS:
            raise ConfigError(f'{where}: {path}.kind is {shown(chosen)}; expected "area" or "sun"')
        if own and chosen != own["kind"]:
            raise ConfigError(
                f'{where}: {path}.kind is "{chosen}", but the look\'s {name} is of kind "{own["kind"]}"; '
                "give the light another name, and leave this one out with false"
            )
        settings = {key: each for key, each in light.items() if key != "kind"}
        differing = _changed(_KINDS[chosen], settings, own, where, f"{path}.")
        if not own:
            differing = {"kind": chosen, **differing}
        if differing:
            changed[name] = differing
    return changed


def _in_order(given: Mapping[str, Any], first: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The entries of a table: known names in their order, followed by others by name."""
    others = sorted(name for name in given if name not in first)
    return ((name, given[name]) for name in (*first, *others) if name in given)


def _check_whole(look: Mapping[str, Any], where: object) -> None:
    """Checks that the parts of a look are consistent; raises ConfigError if they are not."""
    lights = look["lights"]
    if not 1 <= len(lights) <= MOST_LIGHTS:
        raise ConfigError(f"{where}: look.lights has {len(lights)} lights; expected from 1 to {MOST_LIGHTS}")
    for name, light in lights.items():
        place = light.get("location")
        if place is None:
            continue
        reach = light["jitter"] + light["size"] / math.sqrt(2.0)  # to the lowest corner that it can have
        if not ground_height(look["ground"], place) + reach < place[2]:
            raise ConfigError(
                f"{where}: look.lights.{name}.location is {_shown(place)}, where the light may be below the "
                f"ground with its size and jitter; expected a place more than {reach:.3g} above it"
            )
    place, jitter = look["camera"]["location"], look["camera"]["jitter"]
    if not ground_height(look["ground"], place) + jitter < place[2]:
        raise ConfigError(
            f"{where}: look.camera.location is {_shown(place)}, where the camera may be below the ground "
            f"with its jitter; expected a place more than {jitter:.3g} above it"
        )


def _check_light_color(color: Vector) -> None:
    if not any(color):
        raise ConfigError(f"color is {_shown(color)}, which gives no light; expected a number above 0 in it")


def _shown(vector: Any) -> str:
    return f"[{', '.join(f'{each:g}' for each in np.ravel(vector))}]"


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
