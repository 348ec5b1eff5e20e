"""The checks of what a dataset has from CLEVR: of val and test nothing, and of train what its scenes say.

Models are tuned on CLEVR's val split and tested on its test split, so a dataset with their scenes or
questions would leak them. Scenes are compared by their objects' values and positions, questions by the names
of their images. CLEVR published its test split without scenes, so only names can be compared there.

Scenes that are marked as CLEVR's are named after images of CLEVR's train split, each of which occurs once.
They occur only in the train pool of a folder that is bound to CLEVR, at the share that its manifest states.
All other scenes have a camera and a stream.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.audit.checks.images import used_scenes
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import CheckResult, Results
from clevrhope.dataset.clevr_folder import TYPES, questions_file, scenes_file
from clevrhope.dataset.clevr_json import parse_row, read_row_lines
from clevrhope.dataset.json_rows import read_list
from clevrhope.errors import DatasetError
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.reading import reading

KEPT_APART = ("val", "test")
"""CLEVR's splits from which a dataset may contain nothing."""

NEAR = 1e-4
"""Positions that differ by less count as equal; CLEVR's files have about 16 decimals, datasets 6."""

Values = tuple[tuple[str, ...], ...]
Positions = tuple[float, ...]
_Scenes = dict[Values, list[tuple[Positions, str]]]
"""Values of a scene's objects -> positions and name of each scene that has them."""


def check_clevr_folder(clevr: Path) -> None:
    """Checks a CLEVR folder before any long check begins.

    Raises:
        DatasetError: it has neither a val nor a test split.
    """
    if not clevr.is_dir():
        raise DatasetError(f"{clevr}: no such folder; expected a CLEVR_v1.0 folder (--against)")
    if not any(scenes_file(clevr, split).is_file() for split in KEPT_APART):
        raise DatasetError(
            f"{clevr}: not a CLEVR_v1.0 folder: neither {scenes_file(clevr, 'val').relative_to(clevr)} nor "
            f"{scenes_file(clevr, 'test').relative_to(clevr)} is there"
        )


def check_clevr_leaks(folder: AuditFolder, clevr: Path, results: Results, advance: Advance) -> None:
    """Checks that no scene and no question of the dataset is in CLEVR's val or test."""
    scenes = results["scenes of CLEVR"]
    theirs: _Scenes = {}
    names: set[str] = set()
    for split in KEPT_APART:
        for key, path in (("scenes", scenes_file(clevr, split)), ("questions", questions_file(clevr, split))):
            if not path.is_file():
                scenes.notes.append(f"{path.relative_to(clevr)} is not there")
                continue
            for n, row in enumerate(read_list(path, key)):
                try:
                    names.add(str(row["image_filename"]))
                    if key == "scenes":
                        values, places = objects_of(row)
                        theirs.setdefault(values, []).append((places, f"{path.name}[{n}]"))
                except (KeyError, TypeError, ValueError, IndexError) as error:
                    raise DatasetError(f"{path}: {key}[{n}] is not in CLEVR's format ({error!r})") from error
    _check_scenes(folder, theirs, names, scenes, advance)
    _check_questions(folder, names, results["questions of CLEVR"])


def objects_of(scene: Mapping[str, Any]) -> tuple[Values, Positions]:
    """The values and the x and y of each object of a scene, in an order that depends only on these.

    Raises:
        KeyError: not a scene in CLEVR's format.
    """
    objects = sorted(
        (tuple(str(each[kind]) for kind in TYPES), float(each["3d_coords"][0]), float(each["3d_coords"][1]))
        for each in scene["objects"]
    )
    return tuple(values for values, _, _ in objects), tuple(at for _, *place in objects for at in place)


def _find(scene: Mapping[str, Any], theirs: _Scenes) -> str | None:
    """The name of a CLEVR scene with the same objects at the same positions, up to `NEAR`."""
    values, places = objects_of(scene)
    for others, name in theirs.get(values, ()):
        if all(abs(a - b) < NEAR for a, b in zip(places, others, strict=True)):
            return name
    return None


def _check_scenes(
    folder: AuditFolder, theirs: _Scenes, names: set[str], check: CheckResult, advance: Advance
) -> None:
    for pool in folder.pools:
        for path, line, content in folder.scene_rows(pool):
            row = parse_row(content, path, line)
            with reading(path, "a scene file of a dataset"):
                twin = _find(row, theirs)
            file, index = folder.layout.relative(path), int(row["image_index"])
            check.n_checked += 1
            if twin is not None:
                check.fault(file, index, "the objects of a scene of CLEVR", twin)
            elif row["image_filename"] in names:
                check.fault(file, index, "the name of an image of CLEVR", row["image_filename"])
            advance(1)


def _check_questions(folder: AuditFolder, names: set[str], check: CheckResult) -> None:
    encoded = {name.encode() for name in names}
    n_files = 0
    for split in folder.splits:
        path = split.json
        if not path.is_file():
            continue
        n_files += 1
        for k, line in enumerate(read_row_lines(path)):
            check.n_checked += 1
            # Found without parsing the row.
            _, _, rest = line.partition(b'"image_filename"')
            name = rest.lstrip(b": ").partition(b'"')[2].partition(b'"')[0]
            if name in encoded:
                file, problem = folder.layout.relative(path), "asks about an image of CLEVR"
                check.fault(file, k, problem, name.decode("utf-8", "replace"))
    if not n_files:
        check.skip("this folder has no question files in JSON")


POOL = "train"
"""The only pool that may have CLEVR's scenes."""

_SOURCE = b'"source"'
"""Key that only CLEVR's scenes have."""
_SAMPLED = (b'"camera"', b'"stream"')
"""Keys that all sampled scenes have."""
_NAME = re.compile(r"CLEVR_train_\d{6}\.png")


def check_clevr_scenes(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Checks the scenes marked as CLEVR's, and that their share of the pool is that of the manifest."""
    has_clevr = "clevr" in folder.manifest.world
    check = results["scenes from CLEVR"]
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


def _check_share(folder: AuditFolder, ours: set[int], check: CheckResult) -> None:
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
