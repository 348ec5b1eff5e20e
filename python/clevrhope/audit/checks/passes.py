"""Masks, depths and normals and scenes in, whether they fit each other out.

Where objects are is taken from the object-id raster by which their visibility was counted, worked out anew
from the scene and its camera; how deep they are from their centres and sizes. Whoever made the annotations
had rays through another program's shapes: outlines differ by a pixel here and there, what is within does not.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import SceneBatch, object_ids
from clevrhope.audit.checks.images import used_scenes, without_outlines
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.dataset.clevr_json import parse_row, read_numbered_rows
from clevrhope.dataset.passes_h5 import PassesFile
from clevrhope.runtime import assets
from clevrhope.runtime.forms import NUMBER, OBJECT, Fields, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.progress import Advance

NOBODY = 255
"""What a mask has where no object is."""

MOST_OTHER_PX = 0.02
"""Of an object's pixels within its outline, how many may show another one: those beside a thin bevel."""

MOST_OFF_PX = 2
"""By which the sides of a box may differ from the raster's."""

LEAST_PX = 60
"""Objects of which fewer pixels remain without their outline are not held against the raster."""

REACH = 1.8
"""Times its radius, how far a point of an object is from its centre: a cube's corner, and a little more."""

MOST_LENGTH_OFF = 0.002
"""Of a unit vector whose three numbers are of half precision."""

SCENES_A_BATCH = 48

Row = Mapping[str, npt.NDArray[Any]]


def check_passes(folder: AuditFolder, advance: Advance) -> Tally:
    """Looks at the annotations of every image that has some.

    Raises:
        DatasetError: a scene file or a file of annotations that cannot be read.
    """
    tally = Tally(
        "passes",
        "masks, depths, normals and boxes are those of the scenes' objects",
        "images",
    )
    promised = tuple(folder.manifest.config.get("passes") or ())
    pools = {name: tuple(each.get("passes", ())) for name, each in folder.manifest.pools.items()}
    for pool, kinds in pools.items():
        if kinds != promised:
            told = ", ".join(promised) or "none"
            tally.fault(
                "manifest.json",
                None,
                f"config.passes is {told}, pools.{pool}.passes",
                ", ".join(kinds) or "none",
            )
    if not promised and not any(pools.values()):
        tally.skip("made without --passes")
        return tally
    sizes = _sizes(folder)
    rendering = {**folder.manifest.world["constraints"], **(folder.manifest.rendering or {})}
    size = (int(rendering["height"]), int(rendering["width"]))
    for pool, used in used_scenes(folder).items():
        if pool not in folder.manifest.pools:
            continue  # scenes without images
        kinds = pools[pool]
        if not kinds:
            continue
        path = folder.layout.passes_h5(pool)
        if not folder.is_readable(path):
            continue  # which another check tells
        if not path.is_file():
            tally.fault(folder.layout.relative(path), None, "no such file, but images of the pool", pool)
            continue
        file = PassesFile(path)
        there = frozenset(file.indices.tolist())
        name = folder.layout.relative(path)
        if kinds != file.kinds:
            tally.fault(name, None, f"has {', '.join(file.kinds)}, the manifest says", ", ".join(kinds))
            continue
        for index in sorted(used - there):
            tally.fault(name, index, "no annotations of the image", f"row {index} is empty")
        rows = _rows(folder, pool, used & there)
        while batch := list(islice(rows, SCENES_A_BATCH)):
            data = b'{"scenes": [' + b",".join(line for _, line in batch) + b"]}"
            world = folder.world
            scenes = SceneBatch.from_json(world.vocabulary, data, file=f"scenes/{pool}")
            for (scene, _), raster in zip(batch, object_ids(world, scenes), strict=True):
                row = file.row(scene["image_index"], file.kinds)
                tally.n_checked += 1
                problem = _problem(scene, row, raster, sizes, size)
                if problem:
                    tally.fault(name, scene["image_index"], *problem)
            advance(len(batch))
    return tally


def _sizes(folder: AuditFolder) -> Mapping[str, float]:
    path = folder.properties or assets.blender_assets() / "properties.json"
    raw = read_object(path, "a properties file")
    check_form(raw, Fields({"sizes": MapOf(NUMBER)}), path)
    sizes: Mapping[str, float] = raw["sizes"]
    return sizes


def _rows(folder: AuditFolder, pool: str, wanted: set[int]) -> Iterator[tuple[dict[str, Any], bytes]]:
    for path in folder.scene_files(pool):
        for number, line in read_numbered_rows(path):
            scene = parse_row(line, path, number)
            check_form(scene, _WITH_CAMERA, f"{path}:{number}")
            if scene["image_index"] in wanted:
                yield scene, line


_WITH_CAMERA = Fields({"camera": OBJECT})


def _problem(
    scene: Mapping[str, Any],
    row: Row,
    raster: npt.NDArray[np.uint8],
    sizes: Mapping[str, float],
    size: tuple[int, int],
) -> tuple[str, object] | None:
    """What is wrong with an image's annotations, and the number that shows it."""
    n = len(scene["objects"])
    if len(row["boxes"]) != n:
        return f"has not the scene's {n} objects", len(row["boxes"])
    mask = row.get("mask")
    raster = _resized(raster, size)
    for kind in ("mask", "depth", "normal"):
        if kind in row and row[kind].shape[:2] != size:
            height, width = row[kind].shape[:2]
            return f"{kind}: not {size[1]} x {size[0]} pixels", f"{width} x {height}"
    inner = without_outlines(raster)
    problem = _of_boxes(row, raster, n) if mask is None else _of_mask(mask, row, inner, n)
    if problem is None and "depth" in row:
        problem = _of_depth(row["depth"], scene, inner, sizes)
    if problem is None and "normal" in row:
        problem = _of_normal(row["normal"], mask, inner)
    return problem


def _resized(raster: npt.NDArray[np.uint8], size: Sequence[int]) -> npt.NDArray[np.uint8]:
    """The raster as an image of another size would show it, each pixel by its centre."""
    rows, columns = (
        (np.arange(n) * 2 + 1) * old // (2 * n) for n, old in zip(size, raster.shape, strict=True)
    )
    resized: npt.NDArray[np.uint8] = raster[rows[:, None], columns]
    return resized


def _of_mask(
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
        if int(row["visible_px"][number]) != count:
            return f"visible_px: not the {count} pixels of object {number} in the mask", int(
                row["visible_px"][number]
            )
        if int(row["alone_px"][number]) < count:
            return f"alone_px: fewer than the {count} pixels of object {number} that are seen", int(
                row["alone_px"][number]
            )
        within = inner == number + 1
        other = int((within & ~shown).sum())
        if within.sum() >= LEAST_PX and other > MOST_OTHER_PX * within.sum():
            return f"mask: does not show object {number} where its scene has it, in pixels", other
    return None


def _of_boxes(row: Row, raster: npt.NDArray[np.uint8], n: int) -> tuple[str, object] | None:
    """Without a mask, boxes are held against the raster's."""
    for number in range(n):
        rows, columns = (np.flatnonzero((raster == number + 1).any(axis=axis)) for axis in (1, 0))
        if not len(rows):
            continue
        x, y, width, height = row["boxes"][number].tolist()
        sides = np.asarray([x, y, x + width - 1, y + height - 1])
        if np.abs(sides - [columns[0], rows[0], columns[-1], rows[-1]]).max() > MOST_OFF_PX:
            return f"boxes: not where its scene has object {number}", row["boxes"][number].tolist()
    return None


def _of_depth(
    depth: npt.NDArray[np.float32],
    scene: Mapping[str, Any],
    inner: npt.NDArray[np.uint8],
    sizes: Mapping[str, float],
) -> tuple[str, object] | None:
    if not np.isfinite(depth).all() or depth.min() < 0:
        return "depth: no number, or one below 0", float(depth.min())
    camera = np.asarray(scene["camera"]["location"], dtype=np.float64)
    ahead = -camera / np.linalg.norm(camera)  # CLEVR's cameras look at the origin
    for number, each in enumerate(scene["objects"]):
        found = depth[inner == number + 1]
        if len(found) < LEAST_PX:
            continue
        centre = float((np.asarray(each["3d_coords"]) - camera) @ ahead)
        # A pixel beside a bevel may look past it, so one in fifty is not asked.
        off = float(np.quantile(np.abs(found - centre), 1 - MOST_OTHER_PX))
        reach = REACH * sizes[each["size"]]
        if off > reach:
            problem = (
                f"depth: object {number}, whose centre is at {centre:.2f}, is further off than {reach:.2f}"
            )
            return problem, round(off, 3)
    return None


def _of_normal(
    normal: npt.NDArray[np.float16], mask: npt.NDArray[np.uint8] | None, inner: npt.NDArray[np.uint8]
) -> tuple[str, object] | None:
    length = np.linalg.norm(normal.astype(np.float32), axis=-1)
    is_unit, is_zero = np.abs(length - 1) <= MOST_LENGTH_OFF, length == 0
    objects = inner > 0 if mask is None else mask != NOBODY
    n_wrong = int((objects & ~is_unit).sum())
    if n_wrong > (MOST_OTHER_PX * objects.sum() if mask is None else 0):
        return "normal: not of length 1 at so many pixels of objects", n_wrong
    n_wrong = int((~is_unit & ~is_zero).sum() if mask is None else (~objects & ~is_zero).sum())
    if n_wrong:
        return "normal: not 0 at so many pixels without an object", n_wrong
    return None
