"""The check of edited images: the foreground is unchanged, and the rest matches the edit's record.

Images that were rendered again must differ from their source where objects were removed or changed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from clevrhope.audit.checks.images import LEAST_PX, without_outlines
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check
from clevrhope.audit.suites.edited_scenes import BLURS, SCENES_A_BATCH, EditedScene
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.images_h5 import ImageArray, images_in, read_images
from clevrhope.errors import DatasetError
from clevrhope.images.png import read_png

LEAST_CHANGED = 1.0
"""Least mean difference (of 255) from the source where an image was rendered with another object."""

MOST_APART = 8.0
"""Largest mean difference (of 255) between a crop and the part of its source that it shows."""

LEAST_KEPT = 0.995
"""Least share of the foreground's pixels that must equal the source's; at equal sizes, all of them do."""

_WIDEST = 1 / 40
"""Margin around the foreground, as a share of the width, in which an edit may fade into the background."""

Flags = npt.NDArray[np.bool_]


class EditedImages:
    """The images of a suite's pool."""

    def __init__(self, folder: AuditFolder, pool: str, source_pool: str, check: Check) -> None:
        self._folder, self._pool, self._source_pool, self._check = folder, pool, source_pool, check
        self._size = folder.image_size
        self._file = folder.layout.relative(folder.layout.images_h5(pool))

    def check(self, scenes: Mapping[int, EditedScene]) -> None:
        """Checks the image of every scene.

        Raises:
            DatasetError: an HDF5 file of images, or the source of an image, cannot be read.
        """
        packed = self._folder.layout.images_h5(self._pool)
        there = set(images_in(packed).tolist())
        for index in sorted(there.symmetric_difference(scenes)):
            problem = "an image without a scene" if index in there else "no such image"
            self._check.fault(self._file, index, problem, f"row {index}")
        rest = iter([scenes[index] for index in sorted(there & scenes.keys())])
        by_source: dict[int, tuple[ImageArray, npt.NDArray[np.uint8]]] = {}
        softness: dict[int, float] = {}
        while batch := list(islice(rest, SCENES_A_BATCH)):
            for each, (_, image) in zip(
                batch, read_images(packed, [each.index for each in batch]), strict=True
            ):
                source = int(each.edit["source_index"])
                if source not in by_source:
                    by_source = {source: self._source(each)}
                if image.shape[:2] != self._size:
                    self._check.fault(self._file, each.index, f"not {self._size} pixels", image.shape[:2])
                    continue
                self._compare_png(each, image)
                self._look(each, image, *by_source[source], softness)

    def _source(self, each: EditedScene) -> tuple[ImageArray, npt.NDArray[np.uint8]]:
        """The image of a scene's source, and its raster of objects at the image's size."""
        index = int(each.edit["source_index"])
        wanted = np.asarray([index], dtype=np.int32)
        images = find_images(self._folder.layout, self._source_pool, wanted, prefer="h5")
        if images is None:
            raise DatasetError(f"{self._folder.layout.images(self._source_pool)}: no image of scene {index}")
        return images.pixels(index), self._raster(self._source_pool, each.source_row)

    def _raster(self, pool: str, row: bytes) -> npt.NDArray[np.uint8]:
        (ids,) = self._folder.object_ids(pool, [row])
        rows, columns = (np.arange(n) * old // n for n, old in zip(self._size, ids.shape, strict=True))
        raster: npt.NDArray[np.uint8] = ids[rows[:, None], columns]
        return raster

    def _compare_png(self, each: EditedScene, image: ImageArray) -> None:
        layout = self._folder.layout
        path = layout.image(self._pool, each.index)
        if layout.relative(path) in self._folder.manifest.files:
            try:
                same = np.array_equal(read_png(path), image)
            except DatasetError as error:
                self._check.fault(layout.relative(path), each.index, "not a readable PNG file", error)
                return
            if not same:
                self._check.fault(self._file, each.index, "not the pixels of", path.name)

    def _look(
        self,
        each: EditedScene,
        image: ImageArray,
        source: ImageArray,
        raster: npt.NDArray[np.uint8],
        softness: dict[int, float],
    ) -> None:
        """Compares an image with its source in the way that the kind of edit requires."""
        kinds: Mapping[str, Callable[[], Iterator[tuple[str, object]]]] = {
            "copy": lambda: _copy(image, source),
            "fill": lambda: _fill(each, image, source, raster),
            "crop": lambda: _crop(each, image, source, raster),
            "removal": lambda: self._rendered(each, image, source, raster),
            "edit": lambda: self._rendered(each, image, source, raster),
            **dict.fromkeys(BLURS, lambda: _blur(each, image, source, raster, softness)),
        }
        if each.kind in kinds:
            for problem, value in kinds[each.kind]():
                self._check.fault(self._file, each.index, problem, value)

    def _rendered(
        self, each: EditedScene, image: ImageArray, source: ImageArray, before: npt.NDArray[np.uint8]
    ) -> Iterator[tuple[str, object]]:
        """Compares the image with its source where objects were removed, or where one was changed."""
        edit, after = each.edit, self._raster(self._pool, each.row)
        if each.kind == "edit":
            number = int(edit["object"]) + 1
            regions = {number: (before == number) | (after == number)}
        else:
            gone = set(range(1, 1 + len(each.source["objects"]))).difference(k + 1 for k in edit["objects"])
            old = without_outlines(before)
            regions = {number: (old == number) & (after == 0) for number in sorted(gone)}
        for number, region in regions.items():
            if np.count_nonzero(region) >= LEAST_PX:
                apart = float(np.abs(image[region].astype(np.int64) - source[region]).mean())
                if apart < LEAST_CHANGED:
                    problem = f"it shows its source where object {number - 1} was {_DONE[each.kind]}"
                    yield problem, f"{apart:.1f} of 255 apart"


_DONE = {"edit": "changed", "removal": "removed"}


def _copy(image: ImageArray, source: ImageArray) -> Iterator[tuple[str, object]]:
    if not np.array_equal(image, source):
        yield "not the pixels of its source", f"{(image != source).any(axis=2).sum()} pixels differ"


def _foreground(each: EditedScene, raster: npt.NDArray[np.uint8]) -> Flags:
    objects: Sequence[int] = each.edit["objects"]
    return np.isin(raster, [number + 1 for number in objects])


def _kept(image: ImageArray, source: ImageArray, mask: Flags) -> Iterator[tuple[str, object]]:
    same = (image[mask] == source[mask]).all(axis=1).mean()
    if same < LEAST_KEPT:
        yield "its foreground does not have the pixels of its source", f"{same:.0%} of them"


def _background(mask: Flags) -> Flags:
    """The pixels that are not near the foreground."""
    reach = max(2, int(mask.shape[1] * _WIDEST))
    sums = np.pad(mask.astype(np.int64), reach).cumsum(axis=0).cumsum(axis=1)
    sums = np.pad(sums, ((1, 0), (1, 0)))
    side = 2 * reach + 1
    near = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    far: Flags = near == 0
    return far


def _fill(
    each: EditedScene, image: ImageArray, source: ImageArray, raster: npt.NDArray[np.uint8]
) -> Iterator[tuple[str, object]]:
    mask = _foreground(each, raster)
    yield from _kept(image, source, mask)
    nothing_kept = _background(mask) | ((raster > 0) & ~mask)
    wrong = (image[nothing_kept] != each.edit["rgb"]).any(axis=1).sum()
    if wrong:
        yield f"its background is not {each.edit['rgb']}", f"{wrong} pixels"


def _blur(
    each: EditedScene,
    image: ImageArray,
    source: ImageArray,
    raster: npt.NDArray[np.uint8],
    softness: dict[int, float],
) -> Iterator[tuple[str, object]]:
    """Checks that the background changes less from pixel to pixel than in the source and at less blur."""
    mask = _foreground(each, raster)
    yield from _kept(image, source, mask)
    share = int(each.kind[-1]) * 3 / 480
    if abs(each.edit["sigma_px"] - share * image.shape[1]) > 1e-9:
        yield "edit.sigma_px is not that of its test", each.edit["sigma_px"]
    background = _background(mask)
    row = int(each.edit["question_index"])
    before = _roughness(source, background) if each.kind == BLURS[0] else softness.get(row, np.inf)
    softness[row] = _roughness(image, background)
    if softness[row] >= before and before > 0:
        yield "its background is not blurred more than before", f"{softness[row]:.3f} after {before:.3f}"


def _roughness(image: ImageArray, where: Flags) -> float:
    """Mean difference (of 255) between a pixel and its right neighbour."""
    both = where[:, 1:] & where[:, :-1]
    steps = np.abs(np.diff(image.astype(np.int64), axis=1))[both]
    return float(steps.mean()) if steps.size else 0.0


def _crop(
    each: EditedScene, image: ImageArray, source: ImageArray, raster: npt.NDArray[np.uint8]
) -> Iterator[tuple[str, object]]:
    rows, columns = np.nonzero(_foreground(each, raster))
    left, top, right, bottom = each.edit["box"]
    height, width = image.shape[:2]
    is_tight = (
        0 <= columns.min() - left <= width * _WIDEST + 2
        and 0 <= right - 1 - columns.max() <= width * _WIDEST + 2
        and 0 <= rows.min() - top <= width * _WIDEST + 2
        and 0 <= bottom - 1 - rows.max() <= width * _WIDEST + 2
    )
    if not is_tight:
        yield "edit.box is not the tightest one around the foreground", each.edit["box"]
        return
    scale = min(width / (right - left), height / (bottom - top))
    shown = (int((bottom - top) * scale), int((right - left) * scale))
    y, x = (height - shown[0]) // 2, (width - shown[1]) // 2
    around = np.ones((height, width), bool)
    around[max(0, y - 1) : y + shown[0] + 1, max(0, x - 1) : x + shown[1] + 1] = False
    if (image[around] != each.edit["rgb"]).any():
        yield f"what surrounds the crop is not {each.edit['rgb']}", "other pixels"
    # The nearest source pixel for each pixel of the crop.
    at = [
        (np.arange(n) * (end - begin) // n + begin)
        for n, begin, end in ((shown[0], top, bottom), (shown[1], left, right))
    ]
    expected = source[at[0][:, None], at[1]].astype(np.float64)
    apart = np.abs(image[y : y + shown[0], x : x + shown[1]] - expected).mean()
    if apart > MOST_APART:
        yield "it does not show that part of its source", f"{apart:.0f} of 255 apart"
