"""The checks of what a dataset has from CLEVR: of val and test nothing, and of train what its scenes say.

Models are tuned on CLEVR's val split and tested on its test split, so a dataset with their scenes would leak
them. Scenes are compared by their objects' values and positions, and by the names of their images, which
questions name too, as other checks prove. CLEVR published its test split without scenes, so only names can be
compared there.

Scenes that are marked as CLEVR's are named after images of CLEVR's train split, each of which occurs once.
They occur only in the train pool of a folder that is bound to CLEVR, at the share that its manifest states.
All other scenes have a camera and a stream.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.audit.checks.images import used_scenes
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import CheckResult, Results
from clevrhope.dataset.clevr_folder import TYPES, questions_file, scenes_file
from clevrhope.dataset.clevr_json import parse_row
from clevrhope.dataset.json_rows import read_list
from clevrhope.errors import DatasetError
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.reading import reading
from clevrhope.splits.nonce.kinds import SCENES

KEPT_APART = ("val", "test")
"""CLEVR's splits from which a dataset may contain nothing."""

NEAR = 1e-4
"""Positions that differ by less count as equal; CLEVR's files have about 16 decimals, datasets 6."""

Values = tuple[tuple[str, ...], ...]
Positions = tuple[float, ...]


@dataclass(frozen=True)
class PublishedClevr:
    """The val and test splits of a CLEVR folder."""

    scenes: dict[Values, list[tuple[Positions, str]]] = field(default_factory=dict)
    """Values of a scene's objects -> positions and name of each scene that has them."""
    names: set[str] = field(default_factory=set)
    """The names of images."""
    missing: list[str] = field(default_factory=list)
    """The files that are not there."""

    def twin(self, scene: Mapping[str, Any]) -> str | None:
        """The name of a CLEVR scene with the same objects at the same positions, up to `NEAR`."""
        values, positions = objects_of(scene)
        for others, name in self.scenes.get(values, ()):
            if all(abs(a - b) < NEAR for a, b in zip(positions, others, strict=True)):
                return name
        return None


def read_clevr(clevr: Path) -> PublishedClevr:
    """Reads the val and test splits of a CLEVR folder, before any long check begins.

    Raises:
        DatasetError: it has neither a val nor a test split, or a file is not in CLEVR's format.
    """
    if not clevr.is_dir():
        raise DatasetError(f"{clevr}: no such folder; expected a CLEVR_v1.0 folder (--against)")
    if not any(scenes_file(clevr, split).is_file() for split in KEPT_APART):
        raise DatasetError(
            f"{clevr}: not a CLEVR_v1.0 folder: neither {scenes_file(clevr, 'val').relative_to(clevr)} nor "
            f"{scenes_file(clevr, 'test').relative_to(clevr)} is there"
        )
    published = PublishedClevr()
    for split in KEPT_APART:
        for key, path in (("scenes", scenes_file(clevr, split)), ("questions", questions_file(clevr, split))):
            if not path.is_file():
                published.missing.append(f"{path.relative_to(clevr)} is not there")
                continue
            for n, row in enumerate(read_list(path, key)):
                try:
                    published.names.add(str(row["image_filename"]))
                    if key == "scenes":
                        values, positions = objects_of(row)
                        named = published.scenes.setdefault(values, [])
                        named.append((positions, f"{path.name}[{n}]"))
                except (KeyError, TypeError, ValueError, IndexError) as error:
                    raise DatasetError(f"{path}: {key}[{n}] is not in CLEVR's format ({error!r})") from error
    return published


def objects_of(scene: Mapping[str, Any]) -> tuple[Values, Positions]:
    """The values and the x and y of each object of a scene, in an order that depends only on these.

    Raises:
        KeyError: not a scene in CLEVR's format.
    """
    objects = sorted(
        (tuple(str(thing[kind]) for kind in TYPES), float(x), float(y))
        for thing in scene["objects"]
        for x, y, *_ in [thing["3d_coords"]]
    )
    return tuple(values for values, _, _ in objects), tuple(x for _, *xy in objects for x in xy)


def check_clevr_leaks(
    folder: AuditFolder, results: Results, advance: Advance, published: PublishedClevr
) -> None:
    """Checks that no scene of the dataset is in CLEVR's val or test."""
    check = results["scenes of CLEVR"]
    check.notes += published.missing
    for pool in folder.pools:
        for path, line, content in folder.scene_rows(pool):
            row = parse_row(content, path, line)
            with reading(path, "a scene file of a dataset"):
                twin = published.twin(row)
            file, index = folder.layout.relative(path), int(row["image_index"])
            check.n_checked += 1
            if twin is not None:
                check.fault(file, index, "the objects of a scene of CLEVR", twin)
            elif row["image_filename"] in published.names:
                check.fault(file, index, "the name of an image of CLEVR", row["image_filename"])
            advance(1)


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
    first_with: dict[str, int] = {}
    from_clevr: set[int] = set()
    for pool in folder.pools:
        if pool == SCENES:  # whose objects have other values than they were sampled with
            continue
        for path, line, content in folder.scene_rows(pool):
            # Most scenes are sampled, and are not parsed: there may be hundreds of thousands.
            if _SOURCE not in content and all(key in content for key in _SAMPLED):
                continue
            row = parse_row(content, path, line)
            check.n_checked += 1
            advance(1)
            index = int(row["image_index"])
            source = str(row.get("source"))
            problem = ""
            if "source" not in row:
                problem = "neither sampled, with camera and stream, nor CLEVR's, with source"
            elif not has_clevr or pool != POOL:
                problem = "CLEVR's, in a pool that may have none of its scenes"
            elif not _NAME.fullmatch(source):
                problem = "not an image of CLEVR's train split"
            elif source in first_with:
                problem = f"the same scene of CLEVR as scene {first_with[source]}"
            first_with.setdefault(source, index)
            if pool == POOL and "source" in row:
                from_clevr.add(index)
            if problem:
                value = source if "source" in row else pool
                check.fault(folder.layout.relative(path), index, problem, value)
    if has_clevr:
        _check_share(folder, from_clevr, check)
    elif not check.n_faults:
        check.skip("this folder has no scenes of CLEVR")


def clevr_scenes(folder: AuditFolder, pool: str) -> Iterator[int]:
    """Indices of the scenes of a pool that are marked as CLEVR's."""
    for path, line, content in folder.scene_rows(pool):
        if _SOURCE in content:
            row = parse_row(content, path, line)
            if "source" in row:
                yield int(row["image_index"])


def _check_share(folder: AuditFolder, from_clevr: set[int], check: CheckResult) -> None:
    """Checks that of the places for each number of objects, one in 1 / share is CLEVR's until they run out.

    Files have only the scenes that splits use, so a stretch of 1 / share such places has at most one scene
    from CLEVR, and exactly one if all of its scenes are used. The first stretch that has none ends CLEVR's
    scenes of this number of objects.
    """
    clevr = folder.manifest.world["clevr"]
    constraints = folder.manifest.world["constraints"]
    n_numbers = int(constraints["max_objects"]) - int(constraints["min_objects"]) + 1
    millionths = round(float(clevr["share"]) * 1e6)
    used = used_scenes(folder).get(POOL)
    if not used:
        return
    pool = folder.scenes[POOL]
    indices = np.asarray(sorted(used), np.int64)
    rows = pool.rows(indices)
    indices = indices[rows >= 0]  # another check reports missing scenes
    n_objects = pool.native.n_objects[rows[rows >= 0]].astype(np.int64)
    for n in np.unique(n_objects).tolist():
        stretches: dict[int, list[int]] = {}
        for index in indices[n_objects == n].tolist():
            stretches.setdefault(index // n_numbers * millionths // 1_000_000, []).append(index)
        ended = False
        for stretch, in_stretch in sorted(stretches.items()):
            n_from_clevr = len(from_clevr.intersection(in_stretch))
            first, end = (-(-each * 1_000_000 // millionths) for each in (stretch, stretch + 1))
            ended |= len(in_stretch) == end - first and not n_from_clevr
            if n_from_clevr > (not ended):
                wanted = "none is left" if ended else "one is"
                problem = (
                    f"{n_from_clevr} of the scenes with {n} objects at places {first} to {end - 1} are "
                    f"CLEVR's, but {wanted} by a share of {clevr['share']}"
                )
                check.fault(f"scenes/{POOL}", in_stretch[0], problem, n_from_clevr)
    if len(from_clevr) > int(clevr["scenes"]):
        problem = f"more scenes of CLEVR than the {clevr['scenes']} there are"
        check.fault(f"scenes/{POOL}", None, problem, len(from_clevr))
