"""The check that masks, depths and normals fit their scenes.

The objects' pixels follow from the object-id raster by which their visibility was counted, computed again
from the scene and its camera; their depths follow from their centres and sizes. The annotations come from
rays through another program's shapes, so outlines may differ by a pixel, but interiors do not.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.audit.checks.images import used_scenes, without_outlines
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check
from clevrhope.dataset.clevr_json import parse_row
from clevrhope.dataset.passes_h5 import PassesFile
from clevrhope.runtime.forms import NUMBER, OBJECT, Fields, MapOf, check_form
from clevrhope.runtime.progress import Advance

NOBODY = 255
"""The mask's value at pixels without an object."""

MOST_OTHER_PX = 0.02
"""Largest share of an object's inner pixels that may show another object, next to a thin bevel."""

MOST_OFF_PX = 2
"""Largest difference between a box's sides and those in the raster."""

LEAST_PX = 60
"""Objects with fewer pixels within their outline are not compared with the raster."""

REACH = 1.8
"""Largest distance of a point of an object from its centre, in radii: a cube's corner, and a little more."""

MOST_LENGTH_OFF = 0.002
"""Largest error in the length of a unit vector of three half-precision numbers."""

SCENES_A_BATCH = 48

Row = Mapping[str, npt.NDArray[Any]]


def check_passes(folder: AuditFolder, advance: Advance) -> Check:
    """Checks the annotations of every image that has some.

    Raises:
        DatasetError: a scene file or a file of annotations cannot be read.
    """
    check = Check("passes", "masks, depths, normals and boxes fit the scenes' objects", "images")
    promised = tuple(folder.manifest.config.get("passes") or ())
    pools = {name: tuple(each.get("passes", ())) for name, each in folder.manifest.pools.items()}
    for pool, kinds in pools.items():
        if kinds != promised:
            problem = f"config.passes is {', '.join(promised) or 'none'}, but pools.{pool}.passes is"
            check.fault("manifest.json", None, problem, ", ".join(kinds) or "none")
    if not promised and not any(pools.values()):
        check.skip("made without --passes")
        return check
    sizes, size = folder.properties_of("sizes", MapOf(NUMBER)), folder.image_size
    for pool, used in used_scenes(folder).items():
        kinds, path = pools.get(pool, ()), folder.layout.passes_h5(pool)
        if not kinds or not folder.is_readable(path):
            continue  # another check reports files that cannot be read
        name = folder.layout.relative(path)
        if not path.is_file():
            check.fault(name, None, "no such file, although the pool has images", pool)
            continue
        file = PassesFile(path)
        there = frozenset(file.indices.tolist())
        if kinds != file.kinds:
            check.fault(name, None, f"has {', '.join(file.kinds)}, but the manifest says", ", ".join(kinds))
            continue
        for index in sorted(used - there):
            check.fault(name, index, "no annotations of the image", f"row {index} is empty")
        rows = _rows(folder, pool, used & there)
        while batch := list(islice(rows, SCENES_A_BATCH)):
            rasters = folder.object_ids(pool, [content for _, content in batch])
            for (scene, _), raster in zip(batch, rasters, strict=True):
                row = file.row(scene["image_index"], file.kinds)
                check.n_checked += 1
                fault = _problem(scene, row, raster, sizes, size)
                if fault:
                    check.fault(name, scene["image_index"], *fault)
            advance(len(batch))
    return check


def _rows(folder: AuditFolder, pool: str, wanted: set[int]) -> Iterator[tuple[dict[str, Any], bytes]]:
    for path, line, row in folder.scene_rows(pool):
        scene = parse_row(row, path, line)
        check_form(scene, _WITH_CAMERA, f"{path}:{line}")
        if scene["image_index"] in wanted:
            yield scene, row


_WITH_CAMERA = Fields({"camera": OBJECT})


def _problem(
    scene: Mapping[str, Any],
    row: Row,
    raster: npt.NDArray[np.uint8],
    sizes: Mapping[str, float],
    size: tuple[int, int],
) -> tuple[str, object] | None:
    """The problem with an image's annotations, and the value that shows it; None if there is none."""
    n = len(scene["objects"])
    if len(row["boxes"]) != n:
        return f"does not have the scene's {n} objects", len(row["boxes"])
    mask = row.get("mask")
    raster = _resized(raster, size)
    for kind in ("mask", "depth", "normal"):
        if kind in row and row[kind].shape[:2] != size:
            height, width = row[kind].shape[:2]
            return f"{kind}: not {size[1]} x {size[0]} pixels", f"{width} x {height}"
    inner = without_outlines(raster)
    problem = _box_problem(row, raster, n) if mask is None else _mask_problem(mask, row, inner, n)
    if problem is None and "depth" in row:
        problem = _depth_problem(row["depth"], scene, inner, sizes)
    if problem is None and "normal" in row:
        problem = _normal_problem(row["normal"], mask, inner)
    return problem


def _resized(raster: npt.NDArray[np.uint8], size: Sequence[int]) -> npt.NDArray[np.uint8]:
    """The raster (height, width) scaled to another size by sampling at pixel centres."""
    rows, columns = (
        (np.arange(n) * 2 + 1) * old // (2 * n) for n, old in zip(size, raster.shape, strict=True)
    )
    resized: npt.NDArray[np.uint8] = raster[rows[:, None], columns]
    return resized


def _mask_problem(
    mask: npt.NDArray[np.uint8], row: Row, inner: npt.NDArray[np.uint8], n: int
) -> tuple[str, object] | None:
    strange = set(np.unique(mask).tolist()) - {*range(n), NOBODY}
    if strange:
        return f"mask: a number that is neither one of the {n} objects nor {NOBODY}", min(strange)
    for number in range(n):
        shown = mask == number
        count = int(shown.sum())
        rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
        box = [0, 0, 0, 0]
        if count:
            box = [columns[0], rows[0], columns[-1] + 1 - columns[0], rows[-1] + 1 - rows[0]]
        if row["boxes"][number].tolist() != [int(each) for each in box]:
            return f"boxes: not the tight box of object {number} in the mask", row["boxes"][number].tolist()
        visible_px, alone_px = (int(row[name][number]) for name in ("visible_px", "alone_px"))
        if visible_px != count:
            return f"visible_px: not the {count} pixels of object {number} in the mask", visible_px
        if alone_px < count:
            return f"alone_px: fewer than the {count} visible pixels of object {number}", alone_px
        within = inner == number + 1
        other = int((within & ~shown).sum())
        if within.sum() >= LEAST_PX and other > MOST_OTHER_PX * within.sum():
            return f"mask: does not show object {number} where its scene has it, in pixels", other
    return None


def _box_problem(row: Row, raster: npt.NDArray[np.uint8], n: int) -> tuple[str, object] | None:
    """Compares boxes with those in the raster; used if there is no mask."""
    for number in range(n):
        rows, columns = (np.flatnonzero((raster == number + 1).any(axis=axis)) for axis in (1, 0))
        if not len(rows):
            continue
        x, y, width, height = row["boxes"][number].tolist()
        sides = np.asarray([x, y, x + width - 1, y + height - 1])
        if np.abs(sides - [columns[0], rows[0], columns[-1], rows[-1]]).max() > MOST_OFF_PX:
            return f"boxes: not where its scene has object {number}", row["boxes"][number].tolist()
    return None


def _depth_problem(
    depth: npt.NDArray[np.float32],
    scene: Mapping[str, Any],
    inner: npt.NDArray[np.uint8],
    sizes: Mapping[str, float],
) -> tuple[str, object] | None:
    if not np.isfinite(depth).all() or depth.min() < 0:
        return "depth: not a finite number of at least 0", float(depth.min())
    camera = np.asarray(scene["camera"]["location"], dtype=np.float64)
    view = -camera / np.linalg.norm(camera)  # CLEVR's cameras look at the origin
    for number, each in enumerate(scene["objects"]):
        found = depth[inner == number + 1]
        if len(found) < LEAST_PX:
            continue
        centre = float((np.asarray(each["3d_coords"]) - camera) @ view)
        # The ray of a pixel next to a bevel may miss the object, so one pixel in fifty is left out.
        off = float(np.quantile(np.abs(found - centre), 1 - MOST_OTHER_PX))
        reach = REACH * sizes[each["size"]]
        if off > reach:
            problem = f"depth: object {number} differs from its centre at {centre:.2f} by over {reach:.2f}"
            return problem, round(off, 3)
    return None


def _normal_problem(
    normal: npt.NDArray[np.float16], mask: npt.NDArray[np.uint8] | None, inner: npt.NDArray[np.uint8]
) -> tuple[str, object] | None:
    length = np.linalg.norm(normal.astype(np.float32), axis=-1)
    is_unit, is_zero = np.abs(length - 1) <= MOST_LENGTH_OFF, length == 0
    objects = inner > 0 if mask is None else mask != NOBODY
    n_wrong = int((objects & ~is_unit).sum())
    if n_wrong > (MOST_OTHER_PX * objects.sum() if mask is None else 0):
        return "normal: not of length 1 at this many pixels of objects", n_wrong
    n_wrong = int((~is_unit & ~is_zero).sum() if mask is None else (~objects & ~is_zero).sum())
    if n_wrong:
        return "normal: not 0 at this many pixels without an object", n_wrong
    return None
