"""Scenes, sampled from pools.

A pool is an endless stream of scenes with a seed and a name. A scene depends only on the world, the seed, the
pool and its index, so any scene can be made anywhere and in any order.
"""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope import _core
from clevrhope._core import SceneBatch, World
from clevrhope.errors import ConfigError, shown
from clevrhope.look.mesh_files import SUFFIXES
from clevrhope.runtime.assets import blender_assets
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import read_utf8
from clevrhope.runtime.settings import check_whole

__all__ = ["SceneBatch", "World", "raster", "read_world", "sample_scenes"]

RASTER_PX = 480 * 320
"""Number of pixels in which the visible pixels of objects are counted, in any shape."""

MOST_PX = 8192
"""Maximum number of pixels along a side of the raster."""


def raster(width: int, height: int) -> dict[str, int]:
    """The constraints `width` and `height` for images of a shape, in pixels.

    Scenes are sampled for a shape: an object has `min_pixels` visible pixels in an image of about `RASTER_PX`
    pixels, 480 x 320 for 3:2. Sizes with the same raster have the same scenes.

    Raises:
        ConfigError: the shape is too long.
    """
    sides = [round(math.sqrt(RASTER_PX * ratio)) for ratio in (width / height, height / width)]
    if not all(1 <= side <= MOST_PX for side in sides):
        raise ConfigError(
            f"an image of {width} x {height} pixels: the longer side may be at most "
            f"{MOST_PX**2 // RASTER_PX} times the shorter one"
        )
    return dict(zip(("width", "height"), sides, strict=True))


def read_world(
    *,
    properties: Path | str | None = None,
    look: Path | str | None = None,
    constraints: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
    size: tuple[int, int] | None = None,
) -> World:
    """Reads everything that decides a scene, except seed, pool and index.

    Args:
        properties: attribute values in CLEVR's properties format; by default the package's. Shapes and
            materials may be mesh files or .blend files, which Blender reads.
        look: camera, lights, shapes and materials; by default the package's.
        constraints: those that differ from CLEVR-HOPE's (`World.config_json` lists all): `min_objects`,
            `max_objects`, `min_distance`, `margin`, `position_range` (Blender units), `min_pixels`,
            `tries_per_object`, `max_restarts`, `directions` ("camera" or "clevr"), and `raster`'s.
        changes: differences from the look file, as in a [look] table; see `look.changes.read_changes`.
        size: width and height of the images, whose shape the scenes are sampled for; by default 3:2.

    Raises:
        ConfigError: a file cannot be read, or no renderer supports a change.
        VocabularyError: the vocabulary is unusable.
        SceneError: a constraint is impossible, or the asset of a value is not in the look.
        RenderError: the properties name .blend files, but Blender is missing.
    """
    properties = Path(properties or blender_assets() / "properties.json")
    look = Path(look or blender_assets() / "look.json")
    named, seen = (read_utf8(path, "JSON", error=ConfigError) for path in (properties, look))
    if any(f'{suffix}"'.encode() in named for suffix in (".blend", *SUFFIXES)):
        named, seen = _with_named_files(named, seen, properties)
    config = json.dumps({**(raster(*size) if size else {}), **(constraints or {})})
    world = World(named, seen, config, properties_file=str(properties), look_file=str(look))
    if not changes:
        return world
    # Imported only for custom looks.
    from clevrhope.look.changes import read_changes, with_changes

    original = parse_json(seen, look, error=ConfigError)
    changed = with_changes(original, read_changes(changes, original, where=look.name))
    seen = json.dumps(changed).encode()
    return World(named, seen, config, properties_file=str(properties), look_file=str(look))


def sample_scenes(
    indices: int | Iterable[int], *, seed: int, pool: str = "train", world: World | None = None
) -> SceneBatch:
    """Samples scenes of a pool; `json.loads(batch.to_json())` returns them as dictionaries.

    Each object has at least `min_pixels` visible pixels, counted in the image as it will be rendered.

    Args:
        indices: the scenes' indices in the pool; a number n means the first n.
        seed: from 0 to 2**64 - 1.
        pool: the stream's name: train, val, test_iid, test_ood, or any other.
        world: by default CLEVR's vocabulary and look with CLEVR-HOPE's constraints.

    Raises:
        ConfigError: the seed or an index is not a whole number from 0 to 2**64 - 1.
        SceneError: a scene could not meet the constraints; says which ones, and how often it failed.
    """
    check_whole("seed", seed)
    return _core.sample_scenes(world or read_world(), seed=seed, pool=pool, indices=_checked(indices))


def _checked(indices: object) -> npt.NDArray[np.uint64]:
    if isinstance(indices, int):
        check_whole("indices", indices)
        return np.arange(indices, dtype=np.uint64)
    if not isinstance(indices, Iterable) or isinstance(indices, str | bytes):
        raise ConfigError(f"indices is {shown(indices)}; expected a number of scenes, or the index of each")
    numbers = [each.item() if isinstance(each, np.generic) else each for each in indices]
    for place, number in enumerate(numbers):
        check_whole(f"indices[{place}]", number)
    return np.array(numbers, dtype=np.uint64)


def _with_named_files(properties: bytes, look: bytes, file: Path) -> tuple[bytes, bytes]:
    """Properties and a look with the content of the named files; unchanged if the look is not an object."""
    # Imported only if there are such files.
    from clevrhope.look.definition import read_named_files

    _core.Vocabulary(properties, file=str(file))  # checks names and definitions
    named = parse_json(properties, file, error=ConfigError)
    seen = parse_json(look, "look.json", error=ConfigError)
    if not isinstance(seen, dict):
        return properties, look
    named, seen = read_named_files(named, seen, file, content_only=True)
    return json.dumps(named).encode(), json.dumps(seen).encode()
