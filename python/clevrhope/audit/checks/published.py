"""Scenes that say they are CLEVR's in, whether they can be, out; beside CLEVR, `copies` tells if they are.

They are named after images of its train split, each once, and are in the train pool of a folder that says
it has them, at the share of its places that it says; no other scene is without camera and stream; and a
camera within CLEVR's jitter sees their centres where they say.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.audit.checks.cameras import Cameras, Vector
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.dataset.clevr_json import parse_row, read_numbered_rows
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.reading import read_bytes
from clevrhope.splits.kinds import SPLITS

POOL = "train"
"""The one pool that may have scenes of CLEVR."""

_MARK = b'"source"'
_OUR_MARKS = (b'"camera"', b'"stream"')
"""Of scenes that were sampled: where their camera stood, and what they are a function of."""
_NAME = re.compile(r"CLEVR_train_\d{6}\.png")
_SHARE = re.compile(r"([\d,]+) of the ([\d,]+) images of `train` are CLEVR's own\.")


def check_published(folder: AuditFolder, cameras: Cameras, advance: Advance) -> Tally:
    """Scenes that say they are CLEVR's can be, and are the share of the pool that the manifest says.

    Raises:
        DatasetError: a scene file that is broken.
    """
    has = "clevr" in folder.manifest.world
    tally = Tally(
        "scenes from CLEVR",
        "those that are CLEVR's are of its train split, each once, in the train pool, at the share of its "
        "places that the manifest says, and consistent",
        "scenes",
    )
    seen: dict[str, int] = {}
    ours: set[int] = set()
    for pool, file, row in marked_scenes(folder):
        tally.n_checked += 1
        advance(1)
        index, name = int(row["image_index"]), str(row.get("source"))
        problem: tuple[str, object] | None = None
        if "source" not in row:
            problem = ("neither sampled, with camera and stream, nor CLEVR's, with source", pool)
        elif not has or pool != POOL:
            problem = ("CLEVR's, where none of its scenes may be", name)
        elif not _NAME.fullmatch(name):
            problem = ("not an image of CLEVR's train split", name)
        elif name in seen:
            problem = (f"the same scene of CLEVR as scene {seen[name]}", name)
        else:
            problem = _inconsistent(row, cameras.of(pool, row))
        seen.setdefault(name, index)
        if pool == POOL and "source" in row:
            ours.add(index)
        if problem is not None:
            tally.fault(file, index, *problem)
    if has:
        _check_share(folder, ours, tally)
    _check_datasheets(folder, ours if has else None, tally)
    if not has and not tally.n_faults:
        tally.skip("none of CLEVR's scenes is in this folder")
    return tally


def _check_share(folder: AuditFolder, ours: set[int], tally: Tally) -> None:
    """One place of each run of 1 / share places of the pool is CLEVR's, until its scenes are used up.

    Files hold the places that splits use. So a run has one of CLEVR's at most, and one if all of it is used.
    """
    said = folder.manifest.world["clevr"]
    millionths, n_runs = round(float(said["share"]) * 1e6), int(said["scenes"])
    used = {index for split in folder.splits if split.pool == POOL for index in folder.used(split).tolist()}
    n_ours: Counter[int] = Counter(index * millionths // 1_000_000 for index in ours)
    n_used: Counter[int] = Counter(index * millionths // 1_000_000 for index in used)
    for run, n in sorted(n_used.items()):
        first, behind = (-(-each * 1_000_000 // millionths) for each in (run, run + 1))
        wanted = 1 if run < n_runs else 0
        places = f"scenes {first} to {behind - 1}" if behind - first > 1 else f"scene {first}"
        if n_ours[run] > wanted or (n == behind - first and n_ours[run] != wanted):
            problem = f"of {places} not {wanted} is CLEVR's, as a share of {said['share']} of {n_runs} gives"
            tally.fault(f"scenes/{POOL}", first, problem, n_ours[run])


def marked_scenes(folder: AuditFolder) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Pool, file and row of every scene that names a source, or lacks what sampled ones have."""
    for pool in folder.pools:
        for path in folder.scene_files(pool):
            for number, line in read_numbered_rows(path):
                if _MARK not in line and all(mark in line for mark in _OUR_MARKS):
                    continue  # not parsed: of a paper-sized folder these are hundreds of thousands
                yield pool, folder.layout.relative(path), parse_row(line, path, number)


def _inconsistent(
    row: Mapping[str, Any], found: tuple[Vector | None, tuple[str, object] | None]
) -> tuple[str, object] | None:
    """What contradicts itself in a scene, whose camera or fault is `found`; None where nothing does."""
    camera, fault = found
    if camera is None and fault is None:
        places = [each["pixel_coords"] for each in row["objects"]]
        return "no camera of CLEVR sees its objects where it says", places
    return fault


def _check_datasheets(folder: AuditFolder, ours: set[int] | None, tally: Tally) -> None:
    """Datasheets say how many images of train are CLEVR's; nothing of the kind where None can be."""
    for split in folder.splits:
        if SPLITS[split.name].role != "train":
            continue
        path = folder.layout.hop_datasheet(split.hop.name)
        file = folder.layout.relative(path)
        match = _SHARE.search(_text(path))
        said = None if match is None else tuple(int(n.replace(",", "")) for n in match.groups())
        found = "nothing" if said is None else f"{said[0]} of {said[1]}"
        if ours is None:
            if said is not None:
                problem = "the manifest says that no image is CLEVR's, but the datasheet says"
                tally.fault(file, None, problem, found)
            continue
        with folder.open(split) as arrays:
            there = (int(np.isin(arrays.used, np.fromiter(ours, np.int64)).sum()), len(arrays.used))
        if said != there:
            problem = f"{there[0]} of {there[1]} images of train are CLEVR's, but the datasheet says"
            tally.fault(file, None, problem, found)


def _text(path: Path) -> str:
    """A datasheet's text; nothing where there is none, which another check tells."""
    return read_bytes(path, "a datasheet").decode(errors="replace") if path.is_file() else ""
