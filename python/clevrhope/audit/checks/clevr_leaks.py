"""The check that a dataset contains nothing from CLEVR's val and test splits.

Models are tuned on CLEVR's val split and tested on its test split, so a dataset with their scenes or
questions would leak them. Scenes are compared by their objects' values and positions, questions by the names
of their images. CLEVR published its test split without scenes, so only names can be compared there.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check, Lines
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
Places = tuple[float, ...]
_Scenes = dict[Values, list[tuple[Places, str]]]
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


def check_clevr_leaks(folder: AuditFolder, clevr: Path, lines: Lines, advance: Advance) -> None:
    """Checks that no scene and no question of the dataset is in CLEVR's val or test.

    Raises:
        DatasetError: a file is broken, or a row of it is not a scene or question.
    """
    scenes = lines["scenes of CLEVR"]
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
    _check_questions(folder, names, lines["questions of CLEVR"])


def objects_of(scene: Mapping[str, Any]) -> tuple[Values, Places]:
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
    folder: AuditFolder, theirs: _Scenes, names: set[str], check: Check, advance: Advance
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


def _check_questions(folder: AuditFolder, names: set[str], check: Check) -> None:
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
