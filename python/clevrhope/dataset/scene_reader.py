"""Loads the scenes of a pool, all or those that show some objects, and what is published of them."""

import math
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from clevrhope.dataset.clevr_json import parse_row, read_numbered_rows
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.manifest import Manifest
from clevrhope.errors import ConfigError
from clevrhope.runtime.settings import suggestion
from clevrhope.scenes.descriptions import parse_description, shows


def load_scenes(folder: str | PathLike[str], pool: str, *, objects: str = "") -> Iterator[dict[str, Any]]:
    """The scenes of a pool in their order, in the form of CLEVR's scene files, one at a time.

    Each image comes once, however many questions ask about it; `image_index` and `image_filename` name it.

    Args:
        folder: a dataset.
        pool: a pool of scenes, such as "train"; `Split.pool` of `clevrhope.load` names a split's.
        objects: a description of what they show, such as "small red metal cube" or "two or more cubes"; see
            `clevrhope.scenes.descriptions`. Empty for all scenes.

    Raises:
        ConfigError: there is no such pool, or the description has a word that the world does not know.
        DatasetError: the folder is not a dataset, or a file of scenes is missing or damaged.
    """
    opened = Folder.open(Path(folder), finished=False)
    files = opened.layout.scene_files(pool)
    if not files:
        folders = sorted(opened.root.glob("scenes/[!.]*/"))
        pools = [path.name for path in folders if opened.layout.scene_files(path.name)]
        near, there = suggestion(pool, pools), ", ".join(pools) or "none"
        raise ConfigError(f'{folder}: no scenes of a pool "{pool}"{near}; there are: {there}')
    wanted = parse_description(objects, opened.attributes)
    rows = (parse_row(row, path, line) for path in files for line, row in read_numbered_rows(path))
    return (scene for scene in rows if shows(wanted, scene))


def size_px(manifest: Manifest) -> tuple[int, int]:
    """Width and height of the images; without images, of their world's raster."""
    rendering = manifest.rendering
    return (rendering["width"], rendering["height"]) if rendering else manifest.raster_px


def in_image_pixels(manifest: Manifest) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What is published of a scene: in pixels of images, not of its world's raster, and no secret seed."""
    sides = [size / side for size, side in zip(size_px(manifest), manifest.raster_px, strict=True)]

    def scaled(numbers: Sequence[int], rounded: Callable[[float], int]) -> list[int]:
        return [rounded(each * side) for each, side in zip(numbers, sides, strict=True)]

    def converted(scene: dict[str, Any]) -> dict[str, Any]:
        if manifest.public_seed is None:
            scene.pop("stream", None)  # it contains the seed
        for item in scene["objects"] if sides != [1, 1] else ():
            if "pixel_coords" in item:
                *place, depth = item["pixel_coords"]
                item["pixel_coords"] = [*scaled(place, round), depth]
            if "bbox" in item:
                item["bbox"] = scaled(item["bbox"][:2], math.floor) + scaled(item["bbox"][2:], math.ceil)
        return scene

    return converted
