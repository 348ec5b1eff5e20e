"""The check that scenes marked as CLEVR's can be CLEVR's; `clevr_copies` compares them with CLEVR itself.

These scenes are named after images of CLEVR's train split, each of which occurs once. They occur only in the
train pool of a folder that is bound to CLEVR, at the share that its manifest states. A camera within CLEVR's
jitter projects their objects' centres to the stated pixels. All other scenes have a camera and a stream.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from clevrhope.audit.checks.cameras import Cameras
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check
from clevrhope.dataset.clevr_json import parse_row
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import SPLITS

POOL = "train"
"""The only pool that may have CLEVR's scenes."""

_SOURCE = b'"source"'
"""Key that only CLEVR's scenes have."""
_SAMPLED = (b'"camera"', b'"stream"')
"""Keys that all sampled scenes have."""
_NAME = re.compile(r"CLEVR_train_\d{6}\.png")
_SHARE = re.compile(r"([\d,]+) of the ([\d,]+) (?:images|pictures) of `train` are CLEVR's own\.")
"""The datasheet's sentence, in its current form and in that of older folders."""


def check_clevr_scenes(folder: AuditFolder, cameras: Cameras, advance: Advance) -> Check:
    """Checks the scenes marked as CLEVR's, and that their share of the pool is that of the manifest.

    Raises:
        DatasetError: a scene file is broken.
    """
    has_clevr = "clevr" in folder.manifest.world
    check = Check(
        "scenes from CLEVR",
        "scenes of CLEVR are from its train split, occur once, are in the train pool at the share that the "
        "manifest states, and are consistent",
        "scenes",
    )
    seen: dict[str, int] = {}
    ours: set[int] = set()
    for pool, file, row in marked_scenes(folder):
        check.n_checked += 1
        advance(1)
        index, name = int(row["image_index"]), str(row.get("source"))
        problem: tuple[str, object] | None = None
        if "source" not in row:
            problem = ("neither sampled, with camera and stream, nor CLEVR's, with source", pool)
        elif not has_clevr or pool != POOL:
            problem = ("CLEVR's, in a pool that may have none of its scenes", name)
        elif not _NAME.fullmatch(name):
            problem = ("not an image of CLEVR's train split", name)
        elif name in seen:
            problem = (f"the same scene of CLEVR as scene {seen[name]}", name)
        else:
            camera, problem = cameras.of(pool, row)
            if camera is None and problem is None:
                places = [each["pixel_coords"] for each in row["objects"]]
                problem = ("no camera of CLEVR sees its objects where it says", places)
        seen.setdefault(name, index)
        if pool == POOL and "source" in row:
            ours.add(index)
        if problem is not None:
            check.fault(file, index, *problem)
    if has_clevr:
        _check_share(folder, ours, check)
    _check_datasheets(folder, ours if has_clevr else None, check)
    if not has_clevr and not check.n_faults:
        check.skip("this folder has no scenes of CLEVR")
    return check


def _check_share(folder: AuditFolder, ours: set[int], check: Check) -> None:
    """Checks that one scene in each run of 1 / share indices is CLEVR's, until CLEVR's are used up.

    Files have only the scenes that splits use, so a run has at most one scene from CLEVR, and exactly one if
    all of its scenes are used.
    """
    clevr = folder.manifest.world["clevr"]
    millionths, n_runs = round(float(clevr["share"]) * 1e6), int(clevr["scenes"])
    used = {index for split in folder.splits if split.pool == POOL for index in folder.used(split).tolist()}
    n_ours: Counter[int] = Counter(index * millionths // 1_000_000 for index in ours)
    n_used: Counter[int] = Counter(index * millionths // 1_000_000 for index in used)
    for run, n in sorted(n_used.items()):
        first, end = (-(-each * 1_000_000 // millionths) for each in (run, run + 1))
        wanted = 1 if run < n_runs else 0
        places = f"scenes {first} to {end - 1}" if end - first > 1 else f"scene {first}"
        if n_ours[run] > wanted or (n == end - first and n_ours[run] != wanted):
            problem = f"not {wanted} of {places} is CLEVR's, as a share of {clevr['share']} of {n_runs} gives"
            check.fault(f"scenes/{POOL}", first, problem, n_ours[run])


def marked_scenes(folder: AuditFolder) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Pool, file and scene of each scene that names a source, or lacks a key of sampled scenes."""
    for pool in folder.pools:
        for path, line, row in folder.scene_rows(pool):
            # Most scenes are sampled, and are not parsed: there may be hundreds of thousands.
            if _SOURCE in row or not all(key in row for key in _SAMPLED):
                yield pool, folder.layout.relative(path), parse_row(row, path, line)


def _check_datasheets(folder: AuditFolder, ours: set[int] | None, check: Check) -> None:
    """Checks that datasheets say how many images of train are CLEVR's, or nothing if `ours` is None."""
    for split in folder.splits:
        if SPLITS[split.name].role != "train":
            continue
        path = folder.layout.hop_datasheet(split.hop.name)
        file = folder.layout.relative(path)
        match = _SHARE.search(folder.datasheet(path)) if path.is_file() else None
        stated = None if match is None else tuple(int(n.replace(",", "")) for n in match.groups())
        found = "nothing" if stated is None else f"{stated[0]} of {stated[1]}"
        if ours is None:
            if stated is not None:
                problem = "the manifest says that no image is CLEVR's, but the datasheet says"
                check.fault(file, None, problem, found)
            continue
        with folder.open(split) as arrays:
            there = (int(np.isin(arrays.used, np.fromiter(ours, np.int64)).sum()), len(arrays.used))
        if stated != there:
            problem = f"{there[0]} of {there[1]} images of train are CLEVR's, but the datasheet says"
            check.fault(file, None, problem, found)
