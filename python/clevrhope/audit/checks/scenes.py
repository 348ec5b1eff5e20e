"""The checks of scenes: they are unique and consistent, and splits share only what they may.

Whether enough of each object is visible from the camera, and as much as its scene states, is counted again in
the raster of object ids. This takes too long for all scenes of a large dataset, so only a sample is checked,
which depends on the dataset's seed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import CheckResult, Results
from clevrhope.dataset.clevr_folder import TYPES
from clevrhope.dataset.clevr_json import parse_row
from clevrhope.dataset.scene_files import MISSING, PoolScenes, Rows
from clevrhope.errors import with_article
from clevrhope.runtime.progress import Advance
from clevrhope.scenes import raster
from clevrhope.splits.kinds import SPLITS, SplitKind

CAMERA, JITTER = (7.48113, -6.50764, 5.34367), 0.5
"""Position of CLEVR's camera before its jitter, and the largest jitter along each axis, in Blender units."""

NEAR = 1e-4
"""Positions and directions that differ by less count as equal: files have about six decimals."""


def check_scenes(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Checks all scenes of the folder, and which of them splits share."""
    for pool in folder.pools:
        folder.scene_files(pool)  # raises an error if the pool has none
    _check_twins(folder, results["twin scenes"])
    _check_relations(folder, results["relationships"])
    _check_apart(folder, results["train and test"])


def _check_relations(folder: AuditFolder, check: CheckResult) -> None:
    """Checks that relationships follow from positions and directions, and directions from the camera."""
    world = folder.manifest.world
    jittered = world["constraints"].get("directions", "camera") == "camera"
    camera = world.get("look", {}).get("camera", {})
    for name in folder.pools:
        pool = folder.scenes[name]
        check.n_checked += len(pool.indices)
        for row, fault in pool.native.misrelated:
            check.fault(f"scenes/{name}", int(pool.indices[row]), "relationships", fault)
        for row, fault in _misdirected(pool, camera, jittered=jittered):
            check.fault(f"scenes/{name}", int(pool.indices[row]), "directions", fault)


def _misdirected(pool: PoolScenes, camera: Mapping[str, Any], *, jittered: bool) -> Iterator[tuple[int, str]]:
    """Rows of scenes whose camera or directions are wrong, with the problem of each.

    Behind is the direction in which the camera looks, along the ground, and left is at a right angle to it.
    CLEVR's own scenes have no camera, and take their directions from the camera before its jitter, as do all
    scenes of a dataset with `directions = "clevr"`. `camera` has the settings that differ from CLEVR's.
    """
    usual = np.asarray(camera.get("location", CAMERA))
    target = np.asarray(camera.get("target", np.zeros(3)))
    jitter = camera.get("jitter", JITTER)
    cameras = pool.native.cameras  # (S, 3)
    has_camera = ~np.isnan(cameras).any(axis=1)
    for row in np.flatnonzero((np.abs(cameras - usual) > jitter + NEAR).any(axis=1)).tolist():
        whose = "the look's" if camera else "CLEVR's"
        yield row, f"the camera is further than {jitter} from {whose}, at {cameras[row].tolist()}"
    looks_from = (np.where((has_camera & jittered)[:, None], cameras, usual) - target)[:, :2]
    looks_from /= np.sqrt((looks_from**2).sum(axis=1, keepdims=True))
    wanted_left = np.stack([looks_from[:, 1], -looks_from[:, 0]], axis=1)
    for what, stated, wanted in (
        ("behind", pool.native.behind, -looks_from),
        ("left", pool.native.left, wanted_left),
    ):  # (S, 3) and (S, 2) each
        for row in np.flatnonzero((np.abs(stated[:, :2] - wanted) > NEAR).any(axis=1)).tolist():
            x, y = wanted[row].tolist()
            yield row, f"{what} is {stated[row].tolist()}, but ({x:.6f}, {y:.6f}) for its camera"


def _check_twins(folder: AuditFolder, check: CheckResult) -> None:
    """Checks that no two scenes have the same index in a pool, or the same objects at the same positions."""
    pools = [folder.scenes[name] for name in folder.pools]
    looks = np.concatenate([pool.native.looks for pool in pools])
    names = np.repeat(np.asarray(folder.pools, object), [len(pool.indices) for pool in pools])
    indices = np.concatenate([pool.indices for pool in pools])
    check.n_checked = len(looks)
    for pool in pools:
        for index in pool.twice():
            check.fault(f"scenes/{pool.name}", int(index), "the index occurs twice", pool.name)
    order = np.argsort(looks, kind="stable")
    again = np.flatnonzero(looks[order][1:] == looks[order][:-1])
    for first, second in zip(order[again].tolist(), order[again + 1].tolist(), strict=True):
        problem = "the same objects at the same positions as in another scene"
        other = f"{names[first]}[{indices[first]}]"
        check.fault(f"scenes/{names[second]}", int(indices[second]), problem, other)


def _check_apart(folder: AuditFolder, check: CheckResult) -> None:
    """Checks, over all pairs, that splits whose kinds exclude each other share no image."""
    used: dict[tuple[SplitKind, str], Rows] = {}
    for split in folder.splits:
        with split.open() as arrays:
            key = (SPLITS[split.name], arrays.pool)
            used[key] = np.union1d(used.get(key, arrays.used), arrays.used).astype(np.int64)
    check.n_checked = sum(map(len, used.values()))
    for ((a, pool), mine), ((b, pool_b), theirs) in combinations(used.items(), 2):
        if pool == pool_b and excluded(a, b):
            for index in np.intersect1d(mine, theirs).tolist():
                check.fault(f"scenes/{pool}", index, f"used by {a.name} and by {b.name}", f"{pool}[{index}]")


def excluded(a: SplitKind, b: SplitKind) -> bool:
    """Whether two splits must share no image: just one is a test, or one has the pair and one must not."""
    return (a.role == "test") != (b.role == "test") or {a.rule, b.rule} == {"with", "without"}


WITHOUT_QUESTIONS, SHARE_WITHOUT = 4, 0.03
"""How many scenes of one number of objects may be missing because they gave no question: so many, and so
large a share of them. In splits that ask for a pair some scenes do, and hardly any in others."""


def check_object_counts(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Checks that numbers of objects are within limits and equally frequent."""
    constraints = folder.manifest.world["constraints"]
    least, most = int(constraints["min_objects"]), int(constraints["max_objects"])
    check = results["numbers of objects"]
    for split in folder.splits:
        if not split.is_grouped:
            with split.open() as arrays:
                pool = folder.scenes[arrays.pool]
                rows = pool.rows(arrays.used)
            rows = rows[rows != MISSING]  # another check reports missing scenes
            n_objects = pool.native.n_objects[rows].astype(np.int64)
            check.n_checked += len(n_objects)
            strange = (n_objects < least) | (n_objects > most)
            for row in rows[strange].tolist():
                problem = f"an image of {split.hop.name} {split.name} does not have {least} to {most} objects"
                n = int(pool.native.n_objects[row])
                check.fault(f"scenes/{pool.name}", int(pool.indices[row]), problem, n)
            if not strange.any():
                for fault in uneven(n_objects, least, most):
                    check.fault(split.file, None, *fault)
        advance(1)


def uneven(n_objects: npt.NDArray[np.int64], least: int, most: int) -> list[tuple[str, str]]:
    """The problem and the counts if numbers of objects are not even; `n_objects` (N,) is by image."""
    counts = np.bincount(n_objects - least, minlength=most - least + 1)
    allowed = 1 + WITHOUT_QUESTIONS + SHARE_WITHOUT * counts.max()
    if np.ptp(counts) <= allowed:
        return []
    shown = f"{least} to {most} objects: {', '.join(map(str, counts.tolist()))}"
    return [("the images have some numbers of objects more often than others", shown)]


MOST_SCENES = 10_000
"""Maximum number of scenes that are checked."""

SCENES_A_BATCH = 48

Scene = Mapping[str, Any]


def check_visibility(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Counts each object's visible pixels in a sample of the scenes."""
    least = int(folder.manifest.world["constraints"]["min_pixels"])
    check = results["visible objects"]
    if folder.manifest.rendering:
        height, width = folder.image_size
        if tuple(raster(width, height).values()) != folder.manifest.raster_px:
            shape = " x ".join(map(str, folder.manifest.raster_px))
            problem = f"its scenes were sampled for images in the shape of {shape}"
            check.fault("manifest.json", None, problem, f"{width} x {height}")
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
                    words = " ".join(str(thing[kind]) for kind in TYPES)
                    problem = f"object {number}, {with_article(words)}, {problem}"
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
        for scene, ids in zip(batch, rasters, strict=True):
            yield scene, np.bincount(ids.ravel(), minlength=len(scene[0]["objects"]) + 1)[1:].tolist()
