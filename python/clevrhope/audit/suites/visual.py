"""The check of visual pairs: the same question about an image of the split and about the edited one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from math import ceil

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image

from clevrhope.audit.checks.images import LEAST_PX, images_of, without_outlines
from clevrhope.audit.report import CheckResult, Found, where
from clevrhope.audit.suites.edited_scenes import (
    BLURS,
    RENDERED,
    EditedScene,
    Faults,
    check_scenes,
    read_edited,
)
from clevrhope.audit.suites.pairs import SuitePairs
from clevrhope.audit.suites.source import FLIP, SAME
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.images_h5 import ImageArray, images_in
from clevrhope.dataset.suite_pools import COPY, VISUAL_TESTS
from clevrhope.errors import DatasetError

_SAME = ("questions", "programs", "question_families", "question_lengths", "program_lengths")

LEAST_CHANGED = 1.0
"""Least mean difference (of 255) from the source where an image was rendered with another object."""

MOST_APART = 2.0
"""Largest difference (of 255) from what is expected: the mean of a crop's pixels, any one of a blur's."""

EVERY = 4
"""Of a blurred image, one row in so many is compared."""

LEAST_KEPT = 0.995
"""Least share of the foreground's pixels that must equal the source's; at equal sizes, all of them do."""

Flags = npt.NDArray[np.bool_]
Raster = npt.NDArray[np.uint8]
Levels = npt.NDArray[np.float32]


def check_visual(pairs: SuitePairs, check: CheckResult) -> None:
    """Checks the pairs of a file, and the scenes and images that they are about.

    Raises:
        DatasetError: a file of scenes or images is missing or cannot be read.
    """
    if not len(pairs.arrays):
        return
    place, layout = pairs.place, pairs.folder.layout
    fault = partial(check.fault, layout.relative(layout.scenes(pairs.pool.name)))
    scenes = read_edited(pairs, fault)
    check.n_checked += len(scenes)
    check_scenes(pairs, scenes, fault)
    _check_images(pairs, scenes, check)
    check.add(place.file, _rows(pairs, scenes))
    stated = pairs.folder.manifest.suites[place.hop.name][place.suite][place.name].get("images")
    if stated != len(scenes):
        check.fault("manifest.json", None, f"images of {place.file}: {stated}, not", len(scenes))


def _rows(pairs: SuitePairs, scenes: Mapping[int, EditedScene]) -> Iterator[Found]:
    """Both questions of a pair are the same; its images are those of its test and question."""
    if pairs.arrays.tests != VISUAL_TESTS:
        yield None, f"tests are not {', '.join(VISUAL_TESTS)}", ", ".join(pairs.arrays.tests)
        return
    for name in _SAME:
        rows = pairs.tokens(name) if name in ("questions", "programs") else pairs.arrays.columns[name]
        differs = (rows[pairs.given] != rows[pairs.made]).reshape(pairs.n, -1).any(axis=1)
        yield from where(differs, f"{name} is not that of its original", lambda k: "another", pairs.made)
    yield from pairs.at_pairs(pairs.swapped, "the split's question is the partner", pairs.originals)
    for k in range(pairs.n):
        yield from _images_of_pair(pairs, scenes, k)
    for index in sorted(set(scenes).difference(pairs.arrays.used.tolist())):
        yield None, "no pair is about an image", index


def _images_of_pair(pairs: SuitePairs, scenes: Mapping[int, EditedScene], k: int) -> Iterator[Found]:
    """Pair k is about a copy of its original's image, and about that image with the edit of its test."""
    original_image, partner_image = (scenes.get(index) for index in pairs.both("image_idxs")[k].tolist())
    number = int(pairs.of_pair("test")[k])
    original = int(pairs.originals[k])
    if original_image is None or partner_image is None or not pairs.sound[k]:
        return  # other lines report it
    if not 0 <= number < len(VISUAL_TESTS):
        return
    test = VISUAL_TESTS[number]
    source = int(pairs.split.columns["image_idxs"][original])
    if original_image.kind != COPY or original_image.edit["source_index"] != source:
        problem = f"its image is not a copy of image {source} of {pairs.place.pool}"
        yield 2 * k, problem, original_image.scene["image_filename"]
    edit = partner_image.edit
    if (edit["kind"], edit["source_index"], edit.get("question_index")) != (test, source, original):
        problem = f"its image is not the {test} of image {source} for question {original}"
        yield 2 * k + 1, problem, partner_image.scene["image_filename"]
    relation = int(pairs.of_pair("relation")[k])
    if relation != (FLIP if test == "edit" else SAME):
        yield 2 * k, f"relation is not that of {test}", relation


def _check_images(pairs: SuitePairs, scenes: Mapping[int, EditedScene], check: CheckResult) -> None:
    """Checks the image of every scene of a suite's pool.

    Raises:
        DatasetError: an HDF5 file of images, or the source of an image, cannot be read.
    """
    folder, layout, pool, of_sources = pairs.folder, pairs.folder.layout, pairs.pool.name, pairs.place.pool
    file = layout.relative(layout.images_h5(pool))
    for index in np.setdiff1d(images_in(layout.images_h5(pool)), list(scenes)).tolist():
        check.fault(file, index, "an image without a scene", f"row {index}")
    wanted = np.unique([int(edited.edit["source_index"]) for edited in scenes.values()]).astype(np.int32)
    sources = find_images(layout, of_sources, wanted, prefer="h5")
    if sources is None:
        raise DatasetError(f"{layout.images(of_sources)}: no images of the scenes that were edited")

    def raster(pool: str, row: bytes) -> Raster:
        """The number of the object at each pixel of an image, sampled as the suite samples it."""
        (ids,) = folder.object_ids(pool, [row])
        rows, columns = (np.arange(n) * old // n for n, old in zip(folder.image_size, ids.shape, strict=True))
        scaled: Raster = ids[rows[:, None], columns]
        return scaled

    for index, image in images_of(folder, pool, scenes, check):
        edited = scenes[index]
        source = sources.pixels(int(edited.edit["source_index"]))
        look = Look(edited, image, source, raster(of_sources, edited.source_row))
        if "objects" in edited.edit and not look.foreground.any():
            check.fault(file, index, "edit.objects cover no pixel", edited.edit["objects"])
            continue
        if edited.kind in RENDERED:
            problems = look.rendered(raster(pool, edited.row))
        elif edited.kind in BLURS:
            problems = look.blurred()
        else:
            problems = {COPY: look.copied, "fill": look.filled, "crop": look.cropped}[edited.kind]()
        for problem, value in problems:
            check.fault(file, index, problem, value)


@dataclass(frozen=True)
class Look:
    """An edited image beside its source, of which `raster` has the number of each pixel's object."""

    scene: EditedScene
    image: ImageArray
    source: ImageArray
    raster: Raster

    @property
    def foreground(self) -> Flags:
        """(height, width) the pixels that show the objects that the edit keeps."""
        return np.isin(self.raster, [number + 1 for number in self.scene.edit["objects"]])

    def rendered(self, after: Raster) -> Faults:
        """It differs from its source where objects were removed, or where one was changed."""
        edit = self.scene.edit
        if self.scene.kind == "edit":
            changed = int(edit["object"])
            regions = {changed: (self.raster == changed + 1) | (after == changed + 1)}
        else:
            inner = without_outlines(self.raster)
            regions = {
                number: (inner == number + 1) & (after == 0)
                for number in range(len(self.scene.source["objects"]))
                if number not in edit["objects"]
            }
        for number, region in regions.items():
            if np.count_nonzero(region) >= LEAST_PX:
                apart = float(np.abs(self.image[region].astype(np.int64) - self.source[region]).mean())
                if apart < LEAST_CHANGED:
                    problem = f"it shows its source where object {number} was edited"
                    yield problem, f"{apart:.1f} of 255 apart"

    def copied(self) -> Faults:
        """It is its source."""
        n_others = np.count_nonzero((self.image != self.source).any(axis=2))
        if n_others:
            yield "not the pixels of its source", f"{n_others} pixels differ"

    def filled(self) -> Faults:
        """Its foreground is kept, and all else is of one color."""
        yield from self._kept()
        wrong = (self.image[self._nothing_kept()] != self.scene.edit["rgb"]).any(axis=1).sum()
        if wrong:
            yield f"its background is not {self.scene.edit['rgb']}", f"{wrong} pixels"

    def blurred(self) -> Faults:
        """Its foreground is kept, and its background is that of its source under the blur of its test."""
        yield from self._kept()
        sigma_px = (1 + BLURS.index(self.scene.kind)) * 3 / 480 * self.image.shape[1]
        if abs(self.scene.edit["sigma_px"] - sigma_px) > 1e-9:
            yield "edit.sigma_px is not that of its test", self.scene.edit["sigma_px"]
        expected = _blurred(self.source, sigma_px)
        apart = np.abs(self.image[::EVERY] - expected)[self._nothing_kept()[::EVERY]]
        if (worst := float(apart.max(initial=0))) > MOST_APART:
            yield f"its background is not blurred by {sigma_px:g} pixels", f"{worst:.0f} of 255 apart"

    def cropped(self) -> Faults:
        """It shows the part of its source around the foreground, as large as possible, on one color."""
        left, top, right, bottom = self.scene.edit["box"]
        height, width = self.image.shape[:2]
        rows, columns = np.nonzero(self.foreground)
        margins = [columns.min() - left, right - 1 - columns.max(), rows.min() - top, bottom - 1 - rows.max()]
        if not all(0 <= margin <= _reach_px(width) + 2 for margin in margins):
            yield "edit.box is not the tightest one around the foreground", self.scene.edit["box"]
            return
        # The largest factor with which both sides fit.
        if width * (bottom - top) <= height * (right - left):
            shown_width, shown_height = width, max(1, (bottom - top) * width // (right - left))
        else:
            shown_width, shown_height = max(1, (right - left) * height // (bottom - top)), height
        x, y = (width - shown_width) // 2, (height - shown_height) // 2
        around = np.ones((height, width), bool)
        around[y : y + shown_height, x : x + shown_width] = False
        if (self.image[around] != self.scene.edit["rgb"]).any():
            yield f"what surrounds the crop is not {self.scene.edit['rgb']}", "other pixels"
        size, box = (shown_width, shown_height), (left, top, right, bottom)
        shown = Image.fromarray(self.source).resize(size, Image.Resampling.BICUBIC, box=box)
        expected = np.asarray(shown, dtype=np.float64)
        apart = np.abs(self.image[y : y + shown_height, x : x + shown_width] - expected).mean()
        if apart > MOST_APART:
            yield "it does not show that part of its source", f"{apart:.0f} of 255 apart"

    def _nothing_kept(self) -> Flags:
        """The pixels of which an edit keeps nothing: those of other objects, and all beyond the margin."""
        return _far_from(self.foreground) | ((self.raster > 0) & ~self.foreground)

    def _kept(self) -> Faults:
        same = (self.image == self.source)[self.foreground].all(axis=1).mean()
        if same < LEAST_KEPT:
            yield "its foreground does not have the pixels of its source", f"{same:.0%} of them"


def _reach_px(width: int) -> int:
    """How far an edit fades into the background: twice a margin of 1/80 of the width, or of 2 pixels."""
    return 2 * max(2, round(width / 80))


def _far_from(mask: Flags) -> Flags:
    """The pixels that are not near those of a mask."""
    reach = _reach_px(mask.shape[1])
    for axis in (0, 1):
        padded = np.pad(mask, [(reach * (axis == each),) * 2 for each in (0, 1)])
        mask = sliding_window_view(padded, 2 * reach + 1, axis=axis).any(axis=-1)
    return ~mask


def _blurred(image: ImageArray, sigma_px: float) -> Levels:
    """(n, width, 3) some rows of the image under a Gaussian that is cut off at three deviations."""
    down, across = (_gaussian(n, sigma_px) for n in image.shape[:2])
    levels: Levels = np.einsum(
        "yv,vuc,xu->yxc", down[::EVERY], image.astype(np.float32), across, optimize=True
    )
    return levels


@lru_cache(maxsize=8)
def _gaussian(n: int, sigma_px: float) -> Levels:
    """(n, n) the weight of each pixel in each of a blurred line, whose ends are repeated beyond them."""
    reach = ceil(3 * sigma_px)
    steps = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (steps / sigma_px) ** 2)
    found = np.zeros((n, n), np.float32)
    for step, weight in zip(steps, weights / weights.sum(), strict=True):
        found[np.arange(n), np.clip(np.arange(n) + step, 0, n - 1)] += weight
    return found
