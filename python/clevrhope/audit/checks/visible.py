"""Scenes in, whether enough of each object is seen from where its camera stood, and as much as it says, out.

What is seen is counted anew, in the raster of which object each pixel shows. That takes too long for all
scenes of a large dataset, of which a sample is looked at that the dataset's seed decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import SceneBatch, object_ids
from clevrhope.audit.checks.cameras import Cameras, with_camera
from clevrhope.audit.checks.grouped import TYPES
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.dataset.clevr_json import parse_row, read_numbered_rows
from clevrhope.dataset.scene_files import Pools
from clevrhope.runtime.progress import Advance

MOST_SCENES = 10_000
"""So many scenes of a folder are looked at, or all where there are no more."""

SCENES_A_BATCH = 48

Rows = npt.NDArray[np.int64]


def check_visible(folder: AuditFolder, pools: Pools, cameras: Cameras, advance: Advance) -> Tally:
    """Every object of the scenes that are looked at shows the least number of pixels, and those that it says.

    Raises:
        DatasetError: a scene file that cannot be read, or properties that are not the folder's.
    """
    least = int(folder.manifest.world["constraints"]["min_pixels"])
    tally = Tally(
        "visible objects",
        f"from where its camera stood each object shows {least} pixels or more, as many as its scene says",
        "scenes",
    )
    n_scenes = {pool: len(pools[pool].indices) for pool in folder.pools}
    chosen = sampled(n_scenes, folder.manifest.seed)
    for pool, places in chosen.items():
        lines = _lines(folder.scene_files(pool), places)
        while batch := list(islice(lines, SCENES_A_BATCH)):
            _look(folder, pool, batch, cameras, least, tally)
            advance(len(batch))
    n_all = sum(n_scenes.values())
    if n_all > MOST_SCENES:
        tally.notes.append(f"a sample of {MOST_SCENES:,} of {n_all:,} scenes, drawn from the dataset's seed")
    return tally


def sampled(n_scenes: Mapping[str, int], seed: int) -> dict[str, Rows]:
    """Pool -> places of the scenes to look at, ascending; all where there are no more than `MOST_SCENES`."""
    n_all = sum(n_scenes.values())
    drawn = np.arange(n_all)
    if n_all > MOST_SCENES:
        drawn = np.sort(np.random.default_rng(seed).choice(n_all, MOST_SCENES, replace=False))
    ends = np.cumsum(list(n_scenes.values()))
    parts = np.split(drawn, np.searchsorted(drawn, ends[:-1]))
    return {
        pool: part - (end - n) for (pool, n), end, part in zip(n_scenes.items(), ends, parts, strict=True)
    }


def _lines(files: Sequence[Path], places: Rows) -> Iterator[tuple[Path, int, bytes]]:
    """The rows at these places of a pool, counted through its files, each with its file and line."""
    wanted = iter(places.tolist())
    next_place = next(wanted, None)
    place = 0
    for path in files:
        for number, line in read_numbered_rows(path):
            if place == next_place:
                yield path, number, line
                next_place = next(wanted, None)
            place += 1
        if next_place is None:
            return


def _look(
    folder: AuditFolder,
    pool: str,
    batch: Sequence[tuple[Path, int, bytes]],
    cameras: Cameras,
    least: int,
    tally: Tally,
) -> None:
    scenes: list[dict[str, Any]] = []
    lines: list[bytes] = []
    for path, number, line in batch:
        scene = parse_row(line, path, number)
        if "camera" not in scene:
            camera, fault = cameras.of(pool, scene)
            if fault is not None or camera is None:
                continue  # which another check tells
            line = with_camera(scene, camera)
        scenes.append(scene)
        lines.append(line)
    if not lines:
        return
    data = b'{"scenes": [' + b",".join(lines) + b"]}"
    rasters = object_ids(
        folder.world, SceneBatch.from_json(folder.world.vocabulary, data, file=f"scenes/{pool}")
    )
    for scene, raster in zip(scenes, rasters, strict=True):
        tally.n_checked += 1
        _judge(pool, scene, raster, least, tally)


def _judge(
    pool: str, scene: Mapping[str, Any], raster: npt.NDArray[np.uint8], least: int, tally: Tally
) -> None:
    """Counts each object's pixels; the first object has number 1 in the raster."""
    for number, each in enumerate(scene["objects"]):
        n_pixels = int(np.count_nonzero(raster == number + 1))
        said = each.get("visible_pixels", n_pixels)  # CLEVR's own scenes do not say
        problem = ""
        if n_pixels < least:
            problem = f"shows less than {least} pixels"
        elif said != n_pixels:
            problem = f"shows other than {said} pixels, as its scene has it"
        if problem:
            name = " ".join(str(each[kind]) for kind in TYPES)
            tally.fault(
                f"scenes/{pool}", scene["image_index"], f"object {number}, a {name}, {problem}", n_pixels
            )
