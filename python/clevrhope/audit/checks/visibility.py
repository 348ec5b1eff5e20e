"""The check that enough of each object is visible from the camera, and as much as its scene states.

Visible pixels are counted again in the raster of object ids. This takes too long for all scenes of a large
dataset, so only a sample is checked, which depends on the dataset's seed.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check, Lines
from clevrhope.dataset.clevr_json import parse_row
from clevrhope.runtime.progress import Advance

MOST_SCENES = 10_000
"""Maximum number of scenes that are checked."""

SCENES_A_BATCH = 48
TYPES = ("size", "color", "material", "shape")

Rows = npt.NDArray[np.int64]


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
        rows = (row for place, row in enumerate(folder.scene_rows(pool)) if place in wanted)
        while batch := list(islice(rows, SCENES_A_BATCH)):
            _count(folder, pool, batch, least, check)
            advance(len(batch))
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


def _count(
    folder: AuditFolder, pool: str, batch: Sequence[tuple[Path, int, bytes]], least: int, check: Check
) -> None:
    scenes = [(parse_row(row, path, line), row) for path, line, row in batch]
    # CLEVR's own scenes have no camera; another check reports other scenes without one.
    scenes = [(scene, row) for scene, row in scenes if "camera" in scene]
    if not scenes:
        return
    rasters = folder.object_ids(pool, [row for _, row in scenes])
    for (scene, _), raster in zip(scenes, rasters, strict=True):
        check.n_checked += 1
        counts = np.bincount(raster.ravel(), minlength=len(scene["objects"]) + 1)
        for number, (each, n_pixels) in enumerate(zip(scene["objects"], counts[1:].tolist(), strict=False)):
            stated = each.get("visible_pixels", n_pixels)
            problem = ""
            if n_pixels < least:
                problem = f"shows less than {least} pixels"
            elif stated != n_pixels:
                problem = f"does not show {stated} pixels, as its scene states"
            if problem:
                name = " ".join(str(each[kind]) for kind in TYPES)
                check.fault(
                    f"scenes/{pool}", scene["image_index"], f"object {number}, a {name}, {problem}", n_pixels
                )
