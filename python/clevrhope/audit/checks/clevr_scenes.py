"""The check of scenes that are marked as CLEVR's.

These scenes are named after images of CLEVR's train split, each of which occurs once. They occur only in the
train pool of a folder that is bound to CLEVR, at the share that its manifest states. All other scenes have a
camera and a stream.
"""

import re
from collections.abc import Iterator

import numpy as np

from clevrhope.audit.checks.images import used_scenes
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check, Lines
from clevrhope.dataset.clevr_json import parse_row
from clevrhope.runtime.progress import Advance

POOL = "train"
"""The only pool that may have CLEVR's scenes."""

_SOURCE = b'"source"'
"""Key that only CLEVR's scenes have."""
_SAMPLED = (b'"camera"', b'"stream"')
"""Keys that all sampled scenes have."""
_NAME = re.compile(r"CLEVR_train_\d{6}\.png")


def check_clevr_scenes(folder: AuditFolder, lines: Lines, advance: Advance) -> None:
    """Checks the scenes marked as CLEVR's, and that their share of the pool is that of the manifest.

    Raises:
        DatasetError: a scene file is broken.
    """
    has_clevr = "clevr" in folder.manifest.world
    check = lines["scenes from CLEVR"]
    seen: dict[str, int] = {}
    ours: set[int] = set()
    for pool in folder.pools:
        for path, line, content in folder.scene_rows(pool):
            # Most scenes are sampled, and are not parsed: there may be hundreds of thousands.
            if _SOURCE not in content and all(key in content for key in _SAMPLED):
                continue
            row = parse_row(content, path, line)
            check.n_checked += 1
            advance(1)
            index, name = int(row["image_index"]), str(row.get("source"))
            problem, value = "", name
            if "source" not in row:
                problem, value = "neither sampled, with camera and stream, nor CLEVR's, with source", pool
            elif not has_clevr or pool != POOL:
                problem = "CLEVR's, in a pool that may have none of its scenes"
            elif not _NAME.fullmatch(name):
                problem = "not an image of CLEVR's train split"
            elif name in seen:
                problem = f"the same scene of CLEVR as scene {seen[name]}"
            seen.setdefault(name, index)
            if pool == POOL and "source" in row:
                ours.add(index)
            if problem:
                check.fault(folder.layout.relative(path), index, problem, value)
    if has_clevr:
        _check_share(folder, ours, check)
    elif not check.n_faults:
        check.skip("this folder has no scenes of CLEVR")


def clevr_scenes(folder: AuditFolder, pool: str) -> Iterator[int]:
    """Indices of the scenes of a pool that are marked as CLEVR's."""
    for path, line, content in folder.scene_rows(pool):
        if _SOURCE in content:
            row = parse_row(content, path, line)
            if "source" in row:
                yield int(row["image_index"])


def _check_share(folder: AuditFolder, ours: set[int], check: Check) -> None:
    """Checks that of the places for each number of objects, one in 1 / share is CLEVR's until they run out.

    Files have only the scenes that splits use, so a stretch of 1 / share such places has at most one scene
    from CLEVR, and exactly one if all of its scenes are used. The first stretch that has none ends CLEVR's
    scenes of this number of objects.
    """
    clevr = folder.manifest.world["clevr"]
    constraints = folder.manifest.world["constraints"]
    length = int(constraints["max_objects"]) - int(constraints["min_objects"]) + 1
    millionths = round(float(clevr["share"]) * 1e6)
    used = used_scenes(folder).get(POOL)
    if not used:
        return
    pool, indices = folder.scenes[POOL], np.asarray(sorted(used), np.int64)
    rows = pool.rows(indices)
    numbers = pool.native.n_objects[rows[rows >= 0]].astype(np.int64)  # another check reports missing scenes
    indices = indices[rows >= 0]
    for number in np.unique(numbers).tolist():
        of_number = indices[numbers == number].tolist()
        stretches: dict[int, list[int]] = {}
        for index in of_number:
            stretches.setdefault(index // length * millionths // 1_000_000, []).append(index)
        ended = False
        for stretch, there in sorted(stretches.items()):
            n_ours = len(ours.intersection(there))
            first, end = (-(-each * 1_000_000 // millionths) for each in (stretch, stretch + 1))
            ended |= len(there) == end - first and not n_ours
            if n_ours > (not ended):
                wanted = "none is left" if ended else "one is"
                problem = (
                    f"{n_ours} of the scenes with {number} objects at places {first} to {end - 1} are "
                    f"CLEVR's, but {wanted} by a share of {clevr['share']}"
                )
                check.fault(f"scenes/{POOL}", there[0], problem, n_ours)
    if len(ours) > int(clevr["scenes"]):
        check.fault(
            f"scenes/{POOL}", None, f"more scenes of CLEVR than the {clevr['scenes']} there are", len(ours)
        )
