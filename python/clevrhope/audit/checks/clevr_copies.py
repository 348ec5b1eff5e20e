"""The check that the scenes and images taken from CLEVR are as CLEVR published them."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.audit.checks.clevr_scenes import POOL, marked_scenes
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check
from clevrhope.dataset.clevr_folder import images_folder, scenes_file
from clevrhope.dataset.images_h5 import ImageArray, images_in, read_images
from clevrhope.dataset.json_rows import read_list
from clevrhope.images.png import read_png
from clevrhope.runtime.progress import Advance

COMPARED = ("objects", "relationships", "directions")
"""Keys of a scene that must be as in CLEVR."""
COMPARED_OF_OBJECTS = ("shape", "size", "material", "color", "3d_coords", "pixel_coords", "rotation")
"""Keys of an object in CLEVR. Other tools' files in its format may have more, which a dataset leaves out."""


def check_clevr_copies(folder: AuditFolder, clevr: Path, advance: Advance) -> Check:
    """Compares the scenes and images that are marked as CLEVR's with CLEVR's own.

    Raises:
        DatasetError: a file is broken.
    """
    # Digests instead of scenes, because there may be 70,000.
    ours = {
        str(row["source"]): (int(row["image_index"]), {key: _digest(row, key) for key in COMPARED})
        for pool, _, row in marked_scenes(folder)
        if pool == POOL and "source" in row
    }
    check = Check("copies of CLEVR", "scenes and pixels taken from CLEVR are as in its train split", "scenes")
    if not ours:
        check.skip("this folder has no scenes of CLEVR")
        return check
    path = scenes_file(clevr, "train")
    if not path.is_file():
        check.skip(f"{path.relative_to(clevr)} is not there")
        return check
    left = set(ours)
    n_theirs = 0
    for theirs in read_list(path, "scenes"):
        n_theirs += 1
        name = theirs.get("image_filename")
        if name not in left:
            continue
        left.remove(name)
        check.n_checked += 1
        advance(1)
        index, digests = ours[name]
        for key in COMPARED:
            if digests[key] != _digest(theirs, key):
                check.fault(f"scenes/{POOL}", index, f"{key} differ from those in CLEVR", name)
                break
    for name in sorted(left):
        check.fault(f"scenes/{POOL}", ours[name][0], "not in CLEVR's train split", name)
    stated = folder.manifest.world.get("clevr", {}).get("scenes")
    if stated != n_theirs:
        problem = f"world.clevr.scenes is not {n_theirs}, the number in CLEVR's train split"
        check.fault("manifest.json", None, problem, stated)
    _compare_images(folder, clevr, {index: name for name, (index, _) in ours.items()}, check)
    return check


def _digest(scene: Mapping[str, Any], key: str) -> bytes:
    """SHA-256 of a scene's value for a key, without the keys of objects that CLEVR lacks."""
    value = scene.get(key)
    if key == "objects" and isinstance(value, list):
        value = [
            {name: each.get(name) for name in COMPARED_OF_OBJECTS} if isinstance(each, dict) else each
            for each in value
        ]
    return hashlib.sha256(json.dumps(_plain(value), sort_keys=True).encode()).digest()


def _plain(value: Any) -> Any:
    """A JSON value in which 2.0 is 2, because some writers leave out the point."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _compare_images(folder: AuditFolder, clevr: Path, names: Mapping[int, str], check: Check) -> None:
    """Compares pixels, in each form that the pool has, for those of CLEVR's images that exist."""
    published, png = images_folder(clevr, "train"), folder.layout.images(POOL)
    packed = folder.layout.images_h5(POOL)
    if POOL not in folder.manifest.pools:
        check.notes.append("images were not compared: the dataset has none")
        return
    if not published.is_dir():
        check.notes.append(f"images were not compared: no {published.relative_to(clevr)}")
        return
    stored = set(images_in(packed).tolist())
    absent = [index for index, name in names.items() if not (published / name).is_file()]
    if absent:
        check.notes.append(f"{len(absent)} images were not compared: they are not in CLEVR's folder")
    for index in sorted(names.keys() - set(absent)):
        theirs = read_png(published / names[index])
        ours: dict[str, ImageArray] = {}
        path = folder.layout.image(POOL, index)
        if png.is_dir() and path.is_file():
            ours[f"images/{POOL}"] = read_png(path)
        if index in stored:
            ours[folder.layout.relative(packed)] = dict(read_images(packed, [index]))[index]
        for file, pixels in ours.items():
            if not np.array_equal(pixels, theirs):
                check.fault(file, index, "not the pixels of CLEVR's image", names[index])
