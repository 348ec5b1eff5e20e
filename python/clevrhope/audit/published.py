"""Scenes that say they are CLEVR's in, whether they can be, and beside a CLEVR folder whether they are, out.

Without CLEVR: they are named after pictures of its train split, each once, and are in the train pool of a
folder that says it has them; no other scene is without camera and stream; and a camera within CLEVR's jitter
sees their centres where they say. Where that camera stands follows from them, since a depth is a distance
along its view.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.dataset.clevr_folder import pictures_folder, scenes_file
from clevrhope.dataset.clevr_json import read_row_lines
from clevrhope.dataset.images_h5 import Picture, pictures_in, read_pictures, read_png
from clevrhope.dataset.json_rows import read_list
from clevrhope.errors import DatasetError
from clevrhope.progress import Advance

POOL = "train"
"""The one pool that may have scenes of CLEVR."""

_MARK = b'"source"'
_OUR_MARKS = (b'"camera"', b'"stream"')
"""Of scenes that were sampled: where their camera stood, and what they are a function of."""
_NAME = re.compile(r"CLEVR_train_\d{6}\.png")
_SHARE = re.compile(r"([\d,]+) of the ([\d,]+) pictures of `train` are CLEVR's own\.")

Vector = npt.NDArray[np.float64]

CAMERA: Vector = np.array([7.48113, -6.50764, 5.34367])
"""CLEVR's, before its jitter; it looks at the origin."""
JITTER = 0.5
"""Along each axis, in Blender units."""
FOCAL_PX, CENTRE_PX = 525.0, (240.0, 160.0)
"""Of a picture of 480 x 320."""

NEAR_DEPTH, NEAR_PX = 1e-3, 2.0
"""How far published depths and centres, which are rounded to pixels, may be from a camera's."""

STEPS = 20
"""At most, towards a camera; four or five do."""

_SLOPE_STEP = 1e-5
_AROUND: Vector = np.concatenate([np.zeros((1, 3)), np.eye(3) * _SLOPE_STEP])

COMPARED = ("objects", "relationships", "directions")
"""Keys of a scene that are as CLEVR has them."""
COMPARED_OF_OBJECTS = ("shape", "size", "material", "color", "3d_coords", "pixel_coords", "rotation")
"""What CLEVR says of an object. Other tools' files in its form may say more, which a dataset leaves out."""


def published_scenes(folder: AuditFolder) -> dict[int, dict[str, Any]]:
    """Index -> scene, of those of the train pool that say they are CLEVR's.

    Raises:
        DatasetError: a scene file that is broken.
    """
    return {
        int(row["image_index"]): row for pool, _, row in _marked(folder) if pool == POOL and "source" in row
    }


def check_published(folder: AuditFolder, advance: Advance) -> Tally:
    """Scenes that say they are CLEVR's can be.

    Raises:
        DatasetError: a scene file that is broken.
    """
    has = "clevr" in folder.manifest.world
    rows = _marked(folder)
    tally = Tally(
        "scenes from CLEVR",
        "those that are CLEVR's are of its train split, each once, in the train pool, and consistent",
        "scenes",
    )
    seen: dict[str, int] = {}
    for pool, file, row in rows:
        tally.n_checked += 1
        advance(1)
        index, name = int(row["image_index"]), str(row.get("source"))
        problem: tuple[str, object] | None = None
        if "source" not in row:
            problem = ("neither sampled, with camera and stream, nor CLEVR's, with source", pool)
        elif not has or pool != POOL:
            problem = ("CLEVR's, where none of its scenes may be", name)
        elif not _NAME.fullmatch(name):
            problem = ("not a picture of CLEVR's train split", name)
        elif name in seen:
            problem = (f"the same scene of CLEVR as scene {seen[name]}", name)
        else:
            problem = _inconsistent(row)
        seen.setdefault(name, index)
        if problem is not None:
            tally.fault(file, index, *problem)
    ours = {int(row["image_index"]) for pool, _, row in rows if pool == POOL and "source" in row}
    _check_datasheets(folder, ours if has else None, tally)
    if not has and not tally.n_faults:
        tally.skip("none of CLEVR's scenes is in this folder")
    return tally


def check_published_against(folder: AuditFolder, clevr: Path, advance: Advance) -> list[Tally]:
    """Scenes and pictures that say they are CLEVR's are CLEVR's.

    Raises:
        DatasetError: a file that is broken.
    """
    ours = published_scenes(folder)
    tally = Tally(
        "copies of CLEVR", "scenes and pixels that are CLEVR's are as in CLEVR's train split", "scenes"
    )
    if not ours:
        tally.skip("none of CLEVR's scenes is in this folder")
        return [tally]
    path = scenes_file(clevr, "train")
    if not path.is_file():
        tally.skip(f"{path.relative_to(clevr)} is not there")
        return [tally]
    names = {row["source"]: index for index, row in ours.items()}
    left = dict(names)
    for theirs in read_list(path, "scenes"):
        index = left.pop(theirs.get("image_filename"), None)
        if index is None:
            continue
        tally.n_checked += 1
        advance(1)
        for key in COMPARED:
            if _as_clevr_has(ours[index], key) != _as_clevr_has(theirs, key):
                tally.fault(
                    f"scenes/{POOL}", index, f"{key} are not as CLEVR has them", ours[index]["source"]
                )
                break
    for name, index in left.items():
        tally.fault(f"scenes/{POOL}", index, "not in CLEVR's train split", name)
    _compare_pictures(folder, clevr, {index: name for name, index in names.items()}, tally)
    return [tally]


def _as_clevr_has(scene: Mapping[str, Any], key: str) -> object:
    """What a scene says under a key, without what CLEVR does not say of objects."""
    said = scene.get(key)
    if key != "objects" or not isinstance(said, list):
        return said
    return [
        {name: each.get(name) for name in COMPARED_OF_OBJECTS} if isinstance(each, dict) else each
        for each in said
    ]


def camera_or_fault(scene: Mapping[str, Any]) -> tuple[Vector | None, tuple[str, object] | None]:
    """Where a published scene's camera stood, or what is wrong: problem and value.

    Both are None where none of CLEVR's cameras sees it so, which `check_published` alone tells.
    """
    try:
        return camera_of(scene), None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        return None, ("no scene of CLEVR's form", repr(error))


def camera_of(scene: Mapping[str, Any]) -> Vector | None:
    """Where a published scene's camera stood, by its objects' centres; None where none of CLEVR's sees so.

    Raises:
        KeyError, TypeError, ValueError: no scene of CLEVR's form; `camera_or_fault` tells which.
    """
    positions, seen = (_places(scene["objects"], key) for key in ("3d_coords", "pixel_coords"))
    weights = np.array([0.1, 0.1, 1e4])  # a pixel is rounded by half of one, a depth to 32 bits
    camera, off = CAMERA, np.zeros_like(seen)
    for _ in range(STEPS):  # Gauss and Newton, with differences for slopes
        there, *beside = _projected(positions, camera + _AROUND)
        off = there - seen
        slopes = [((each - there) * weights).ravel() / _SLOPE_STEP for each in beside]
        step = np.linalg.lstsq(np.stack(slopes, axis=1), -(off * weights).ravel(), rcond=None)[0]
        camera = camera + np.clip(step, -JITTER, JITTER)
        if float(np.abs(step).max()) < 1e-7:
            break
    fits = np.abs(off[:, :2]).max() <= NEAR_PX and np.abs(off[:, 2]).max() <= NEAR_DEPTH
    return camera if fits and np.abs(camera - CAMERA).max() <= JITTER + 1e-3 else None


def _places(objects: Sequence[Mapping[str, Any]], key: str) -> Vector:
    """Three finite numbers of each of one object or more, (n, 3)."""
    if not objects:
        raise ValueError("no objects")
    places = np.asarray([each[key] for each in objects], np.float64)
    if places.shape != (len(objects), 3) or not np.isfinite(places).all():
        raise ValueError(f"{key} are not three numbers of each object")
    return places


def _projected(positions: Vector, cameras: Vector) -> Vector:
    """Pixels right and down, and depth, (m, n, 3), of n positions as each of m cameras sees them."""
    forward = -cameras / np.sqrt((cameras**2).sum(axis=1, keepdims=True))
    # The view is crossed with the upright, then with what that gives.
    right = np.stack([forward[:, 1], -forward[:, 0], np.zeros(len(forward))], axis=1)
    right /= np.sqrt((right**2).sum(axis=1, keepdims=True))
    up = np.cross(right, forward)
    offsets = positions - cameras[:, None, :]
    u, v, depth = (np.einsum("mnk,mk->mn", offsets, axis) for axis in (right, up, forward))
    scale = FOCAL_PX / depth
    projected: Vector = np.stack([CENTRE_PX[0] + u * scale, CENTRE_PX[1] - v * scale, depth], axis=2)
    return projected


def _marked(folder: AuditFolder) -> list[tuple[str, str, dict[str, Any]]]:
    """Pool, file and row of every scene that names a source, or lacks what sampled ones have."""
    found = []
    for pool in folder.pools:
        for path in folder.scene_files(pool):
            for line in read_row_lines(path):
                if _MARK not in line and all(mark in line for mark in _OUR_MARKS):
                    continue  # not parsed: of a paper-sized folder these are hundreds of thousands
                try:
                    row = json.loads(line)
                    int(row["image_index"])
                    found.append((pool, folder.layout.relative(path), row))
                except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
                    raise DatasetError(f"{path}: a scene is no scene of a dataset ({error!r})") from error
    return found


def _inconsistent(row: Mapping[str, Any]) -> tuple[str, object] | None:
    """What contradicts itself in a scene; None where nothing does."""
    camera, fault = camera_or_fault(row)
    if camera is None and fault is None:
        places = [each["pixel_coords"] for each in row["objects"]]
        return "no camera of CLEVR sees its objects where it says", places
    return fault


def _check_datasheets(folder: AuditFolder, ours: set[int] | None, tally: Tally) -> None:
    """Datasheets say how many pictures of train are CLEVR's; nothing of the kind where None can be."""
    for split in folder.splits:
        if split.name != "train":
            continue
        path = folder.layout.hop_datasheet(split.hop.name)
        file = folder.layout.relative(path)
        match = _SHARE.search(_text(path))
        said = None if match is None else tuple(int(n.replace(",", "")) for n in match.groups())
        found = "nothing" if said is None else f"{said[0]} of {said[1]}"
        if ours is None:
            if said is not None:
                problem = "the manifest says that no picture is CLEVR's, but the datasheet says"
                tally.fault(file, None, problem, found)
            continue
        with folder.open(split) as arrays:
            there = (int(np.isin(arrays.used, np.fromiter(ours, np.int64)).sum()), len(arrays.used))
        if said != there:
            problem = f"{there[0]} of {there[1]} pictures of train are CLEVR's, but the datasheet says"
            tally.fault(file, None, problem, found)


def _text(path: Path) -> str:
    """A datasheet's text; nothing where there is none, which another check tells."""
    try:
        return path.read_text("utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: cannot be read ({error})") from error


def _compare_pictures(folder: AuditFolder, clevr: Path, names: Mapping[int, str], tally: Tally) -> None:
    """Pixel for pixel, in each form that the pool has; where CLEVR's pictures are there."""
    published, png = pictures_folder(clevr, "train"), folder.layout.pictures(POOL)
    packed = folder.layout.pictures_h5(POOL)
    if POOL not in folder.manifest.pools:
        tally.notes.append("pictures were not compared: the dataset has none")
        return
    if not published.is_dir():
        tally.notes.append(f"pictures were not compared: no {published.relative_to(clevr)}")
        return
    stored = set(pictures_in(packed).tolist())
    absent: Sequence[int] = [index for index, name in names.items() if not (published / name).is_file()]
    if absent:
        tally.notes.append(f"{len(absent)} pictures were not compared: CLEVR's are not there")
    for index in sorted(names.keys() - set(absent)):
        theirs = read_png(published / names[index])
        ours: dict[str, Picture] = {}
        path = folder.layout.picture(POOL, index)
        if png.is_dir() and path.is_file():
            ours[f"images/{POOL}"] = read_png(path)
        if index in stored:
            ours[folder.layout.relative(packed)] = dict(read_pictures(packed, [index]))[index]
        for file, pixels in ours.items():
            if not np.array_equal(pixels, theirs):
                tally.fault(file, index, "not the pixels of CLEVR's picture", names[index])
