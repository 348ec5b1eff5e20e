"""The check that enough of each object is visible from the camera, and as much as its scene states.

Visible pixels are counted again in the raster of object ids. This takes too long for all scenes of a large
dataset, so only a sample is checked, which depends on the dataset's seed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Lines
from clevrhope.dataset.clevr_json import parse_row
from clevrhope.runtime.progress import Advance

MOST_SCENES = 10_000
"""Maximum number of scenes that are checked."""

SCENES_A_BATCH = 48
TYPES = ("size", "color", "material", "shape")

Rows = npt.NDArray[np.int64]
Scene = Mapping[str, Any]


def check_visibility(folder: AuditFolder, lines: Lines, advance: Advance) -> None:
    """Counts each object's visible pixels in a sample of the scenes.

    Raises:
        DatasetError: a scene file cannot be read, or the properties are not the folder's.
    """
    least = int(folder.manifest.world["constraints"]["min_pixels"])
    check = lines["visible objects"]
    n_scenes = {pool: len(folder.scenes[pool].indices) for pool in folder.pools}
    chosen = sampled(n_scenes, folder.manifest.seed)
    for pool, places in chosen.items():
        wanted = frozenset(places.tolist())
        for (scene, _), shown in pixels_shown(folder, pool, _scenes(folder, pool, wanted, advance)):
            check.n_checked += 1
            for number, (thing, n_pixels) in enumerate(zip(scene["objects"], shown, strict=True)):
                stated = thing.get("visible_pixels", n_pixels)
                problem = ""
                if n_pixels < least:
                    problem = f"shows less than {least} pixels"
                elif stated != n_pixels:
                    problem = f"does not show {stated} pixels, as its scene states"
                if problem:
                    problem = f"object {number}, a {' '.join(str(thing[kind]) for kind in TYPES)}, {problem}"
                    check.fault(f"scenes/{pool}", scene["image_index"], problem, n_pixels)
    n_all = sum(n_scenes.values())
    if n_all > MOST_SCENES:
        check.notes.append(f"a sample of {MOST_SCENES:,} of {n_all:,} scenes, drawn from the dataset's seed")


def sampled(n_scenes: Mapping[str, int], seed: int) -> dict[str, Rows]:
    """Pool -> indices (N,) of the scenes to check, ascending; all if there are at most `MOST_SCENES`."""
    n_all = sum(n_scenes.values())
    drawn = np.arange(n_all)
    if n_all > MOST_SCENES:
        drawn = np.sort(np.random.default_rng(seed).choice(n_all, MOST_SCENES, replace=False))
    ends = np.cumsum(list(n_scenes.values()))
    parts = np.split(drawn, np.searchsorted(drawn, ends[:-1]))
    return {
        pool: part - (end - n) for (pool, n), end, part in zip(n_scenes.items(), ends, parts, strict=True)
    }


def _scenes(
    folder: AuditFolder, pool: str, wanted: Collection[int], advance: Advance
) -> Iterator[tuple[Scene, bytes]]:
    """Scenes at these places of a pool, with their rows, except CLEVR's own, which have no camera.

    Another check reports other scenes without one.
    """
    for place, (path, line, row) in enumerate(folder.scene_rows(pool)):
        if place in wanted:
            scene = parse_row(row, path, line)
            advance(1)
            if "camera" in scene:
                yield scene, row


def pixels_shown(
    folder: AuditFolder, pool: str, scenes: Iterable[tuple[Scene, bytes]]
) -> Iterator[tuple[tuple[Scene, bytes], list[int]]]:
    """Scenes and their rows, each with the number of pixels that each of its objects shows."""
    left = iter(scenes)
    while batch := list(islice(left, SCENES_A_BATCH)):
        rasters = folder.object_ids(pool, [row for _, row in batch])
        for scene, raster in zip(batch, rasters, strict=True):
            yield scene, np.bincount(raster.ravel(), minlength=len(scene[0]["objects"]) + 1)[1:].tolist()
