"""The check of images: each exists, has the right size and is not blank; its mask agrees with its scene."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import CheckResult, Results
from clevrhope.dataset.images_h5 import ImageArray, images_in, read_images
from clevrhope.dataset.passes_h5 import PassesFile
from clevrhope.dataset.question_kinds import NONCE
from clevrhope.errors import DatasetError
from clevrhope.images.png import read_png
from clevrhope.runtime.forms import OBJECT
from clevrhope.runtime.progress import Advance

LEAST_SPREAD = 2.0
"""An image with a smaller standard deviation (of 255) is blank; rendered images have 10 or more."""

NOBODY = 255
"""The mask's value at pixels without an object."""

LEAST_PX = 60
"""Objects with fewer pixels within their outline are not compared with the raster."""

MOST_OTHER_PX = 0.02
"""Largest share of an object's inner pixels that may show another object, next to a thin bevel."""

AT_ONCE = 48
"""Number of images or scenes that are read at once."""

Raster = npt.NDArray[np.uint8]
Problem = tuple[str, object]


def check_images(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Checks the image of every scene that a split uses, in each form that the pool has."""
    check = results["images"]
    if not folder.manifest.pools:
        check.skip("no images were rendered")
    for pool, used in used_scenes(folder).items() if check.done else ():
        check.n_checked += len(used)
        for index, image in images_of(folder, pool, used, check):
            if float(image.std()) < LEAST_SPREAD:
                value = f"all pixels near {image.mean(axis=(0, 1)).round()}"
                check.fault(f"images/{pool}", index, "blank", value)
            advance(1)


def used_scenes(folder: AuditFolder) -> dict[str, set[int]]:
    """Pool -> indices of the scenes that splits ask about, and of those in supports of episodes."""
    used: dict[str, set[int]] = {}
    for split in (*folder.splits, *(file for file in folder.files if file.kind is NONCE)):
        with split.open() as arrays:
            used.setdefault(arrays.pool, set()).update(int(index) for index in arrays.used)
            if split.kind is NONCE:
                supports = arrays.tokens("support_idxs", 0, len(arrays))
                shown = used.setdefault(str(arrays.attributes["support_pool"]), set())
                shown.update(supports[supports >= 0].tolist())
    return used


def images_of(
    folder: AuditFolder, pool: str, used: Iterable[int], check: CheckResult
) -> Iterator[tuple[int, ImageArray]]:
    """The images of these scenes of a pool that are there and of the right size; reports the others.

    A pool may have PNG files, an HDF5 file, or both, which then have the same pixels.
    """
    layout, indices = folder.layout, sorted(used)
    place, packed = layout.relative(layout.images(pool)), layout.images_h5(pool)
    has_png = layout.images(pool).is_dir()
    has_h5 = packed.is_file() and folder.is_readable(packed)
    if not has_png and not has_h5:
        if folder.is_readable(packed):  # another check reports files that cannot be read
            check.fault(place, None, "no images of the pool", pool)
        return
    stored = set(images_in(packed).tolist()) if has_h5 else set[int]()

    def png_of(index: int) -> ImageArray | Problem | None:
        path = layout.image(pool, index)
        if not has_png:
            return None
        if not path.is_file():
            return "no such image", "the file is not there"
        try:
            return read_png(path)
        except DatasetError as error:
            return "not a readable PNG file", error.__cause__ or error

    height, width = folder.image_size
    with ThreadPoolExecutor() as threads:
        for first in range(0, len(indices), AT_ONCE):
            batch = indices[first : first + AT_ONCE]
            rows = dict(read_images(packed, sorted(stored.intersection(batch)))) if has_h5 else {}
            for index, png in zip(batch, threads.map(png_of, batch), strict=True):
                image, path = rows.get(index), layout.image(pool, index)
                if has_h5 and image is None:
                    check.fault(layout.relative(packed), index, "no such image", f"row {index} is empty")
                if isinstance(png, tuple):
                    check.fault(layout.relative(path), index, *png)
                elif png is not None:
                    if image is not None and not np.array_equal(image, png):
                        check.fault(layout.relative(packed), index, "not the pixels of", path.name)
                    image = png
                if image is not None and image.shape[:2] == (height, width):
                    yield index, image
                elif image is not None:
                    size = f"{image.shape[1]} x {image.shape[0]}"
                    check.fault(place, index, f"not {width} x {height} pixels", size)


def check_passes(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Checks the annotations of every image that has some.

    The objects' pixels follow from the object-id raster by which their visibility was counted, computed again
    from the scene and its camera. Masks come from rays through another program's shapes, so outlines may
    differ by a pixel, but interiors do not.
    """
    check = results["passes"]
    promised = tuple(folder.manifest.config.get("passes") or ())
    pools = {name: tuple(entry.get("passes", ())) for name, entry in folder.manifest.pools.items()}
    for pool, kinds in pools.items():
        if kinds != promised:
            problem = f"config.passes is {', '.join(promised) or 'none'}, but pools.{pool}.passes is"
            check.fault("manifest.json", None, problem, ", ".join(kinds) or "none")
    if not promised and not any(pools.values()):
        check.skip("made without --passes")
        return
    for pool, used in used_scenes(folder).items():
        kinds = pools.get(pool, ())
        path = folder.layout.passes_h5(pool)
        if not kinds or not folder.is_readable(path):
            continue  # another check reports files that cannot be read
        name = folder.layout.relative(path)
        if not path.is_file():
            check.fault(name, None, "no such file, although the pool has images", pool)
            continue
        file = PassesFile(path)
        if kinds != file.kinds:
            check.fault(name, None, f"has {', '.join(file.kinds)}, but the manifest says", ", ".join(kinds))
            continue
        annotated = used.intersection(file.indices.tolist())
        for index in sorted(used - annotated):
            check.fault(name, index, "no annotations of the image", f"row {index} is empty")
        scenes = folder.parsed_scenes(pool, camera=OBJECT)
        chosen = ((scene, row) for scene, row in scenes if scene["image_index"] in annotated)
        while batch := list(islice(chosen, AT_ONCE)):
            rasters = folder.object_ids(pool, [row for _, row in batch])
            for (scene, _), raster in zip(batch, rasters, strict=True):
                check.n_checked += 1
                annotations = file.row(scene["image_index"], file.kinds)
                fault = _problem(len(scene["objects"]), annotations, raster, folder.image_size)
                if fault:
                    check.fault(name, scene["image_index"], *fault)
            advance(len(batch))


def _problem(
    n: int, annotations: Mapping[str, npt.NDArray[Any]], raster: Raster, size: tuple[int, int]
) -> Problem | None:
    """The problem with the annotations of an image of n objects, and the value that shows it."""
    if len(annotations["boxes"]) != n:
        return f"does not have the scene's {n} objects", len(annotations["boxes"])
    for kind in ("mask", "depth", "normal"):
        if kind in annotations and annotations[kind].shape[:2] != size:
            height, width = annotations[kind].shape[:2]
            return f"{kind}: not {size[1]} x {size[0]} pixels", f"{width} x {height}"
    if "mask" not in annotations:
        return None
    mask = annotations["mask"]
    strange = set(np.unique(mask).tolist()) - {*range(n), NOBODY}
    if strange:
        return f"mask: a number that is neither one of the {n} objects nor {NOBODY}", min(strange)
    inner = without_outlines(resized(raster, size))
    for number in range(n):
        within = inner == number + 1
        n_other = int((within & (mask != number)).sum())
        if within.sum() >= LEAST_PX and n_other > MOST_OTHER_PX * within.sum():
            return f"mask: does not show object {number} where its scene has it, in pixels", n_other
    return None


def resized(raster: Raster, size: Sequence[int]) -> Raster:
    """The raster (height, width) scaled to another size by sampling at pixel centres."""
    rows, columns = (
        (np.arange(n) * 2 + 1) * old // (2 * n) for n, old in zip(size, raster.shape, strict=True)
    )
    scaled: Raster = raster[rows[:, None], columns]
    return scaled


def without_outlines(raster: Raster) -> Raster:
    """The raster (height, width) with 0 at each pixel that is next to another object."""
    inner = raster.copy()
    differs_below = raster[1:] != raster[:-1]
    inner[1:][differs_below] = 0
    inner[:-1][differs_below] = 0
    differs_right = raster[:, 1:] != raster[:, :-1]
    inner[:, 1:][differs_right] = 0
    inner[:, :-1][differs_right] = 0
    return inner
