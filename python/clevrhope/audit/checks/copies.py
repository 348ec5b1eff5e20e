"""Scenes and images that say they are CLEVR's, and CLEVR, in; whether they are as it has them out."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.audit.checks.published import POOL, marked_scenes
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.dataset.clevr_folder import images_folder, scenes_file
from clevrhope.dataset.images_h5 import ImageArray, images_in, read_images
from clevrhope.dataset.json_rows import read_list
from clevrhope.images.png import read_png
from clevrhope.runtime.progress import Advance

COMPARED = ("objects", "relationships", "directions")
"""Keys of a scene that are as CLEVR has them."""
COMPARED_OF_OBJECTS = ("shape", "size", "material", "color", "3d_coords", "pixel_coords", "rotation")
"""What CLEVR says of an object. Other tools' files in its form may say more, which a dataset leaves out."""


def check_copies(folder: AuditFolder, clevr: Path, advance: Advance) -> list[Tally]:
    """Scenes and images that say they are CLEVR's are CLEVR's.

    Raises:
        DatasetError: a file that is broken.
    """
    # Of each scene not more than its name and what its parts come to: there may be 70,000.
    ours = {
        str(row["source"]): (int(row["image_index"]), {key: _mark(row, key) for key in COMPARED})
        for pool, _, row in marked_scenes(folder)
        if pool == POOL and "source" in row
    }
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
    left = set(ours)
    n_theirs = 0
    for theirs in read_list(path, "scenes"):
        n_theirs += 1
        name = theirs.get("image_filename")
        if name not in left:
            continue
        left.remove(name)
        tally.n_checked += 1
        advance(1)
        index, marks = ours[name]
        for key in COMPARED:
            if marks[key] != _mark(theirs, key):
                tally.fault(f"scenes/{POOL}", index, f"{key} are not as CLEVR has them", name)
                break
    for name in sorted(left):
        tally.fault(f"scenes/{POOL}", ours[name][0], "not in CLEVR's train split", name)
    said = folder.manifest.world.get("clevr", {}).get("scenes")
    if said != n_theirs:
        problem = f"world.clevr.scenes is not {n_theirs}, as many as CLEVR's train split has"
        tally.fault("manifest.json", None, problem, said)
    _compare_images(folder, clevr, {index: name for name, (index, _) in ours.items()}, tally)
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


def _mark(scene: Mapping[str, Any], key: str) -> bytes:
    """32 bytes that are the same where scenes say the same under a key: SHA-256 of it as JSON, keys in order.

    2 and 2.0 are one number, as some writers leave out the point.
    """
    said = json.dumps(_plain(_as_clevr_has(scene, key)), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(said.encode()).digest()


def _plain(said: Any) -> Any:
    """JSON whose whole numbers have no point."""
    if isinstance(said, dict):
        return {name: _plain(value) for name, value in said.items()}
    if isinstance(said, list):
        return [_plain(each) for each in said]
    return int(said) if isinstance(said, float) and said.is_integer() else said


def _compare_images(folder: AuditFolder, clevr: Path, names: Mapping[int, str], tally: Tally) -> None:
    """Pixel for pixel, in each form that the pool has; where CLEVR's images are there."""
    published, png = images_folder(clevr, "train"), folder.layout.images(POOL)
    packed = folder.layout.images_h5(POOL)
    if POOL not in folder.manifest.pools:
        tally.notes.append("images were not compared: the dataset has none")
        return
    if not published.is_dir():
        tally.notes.append(f"images were not compared: no {published.relative_to(clevr)}")
        return
    stored = set(images_in(packed).tolist())
    absent: Sequence[int] = [index for index, name in names.items() if not (published / name).is_file()]
    if absent:
        tally.notes.append(f"{len(absent)} images were not compared: CLEVR's are not there")
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
                tally.fault(file, index, "not the pixels of CLEVR's image", names[index])
