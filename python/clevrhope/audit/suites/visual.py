"""The check of visual pairs: the same question about an image of the split and about the edited one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope.audit.checks.images import LEAST_PX, without_outlines
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import CheckResult, Found
from clevrhope.audit.suites.edited_scenes import BLURS, PIXELS, EditedScene, Faults, check_scenes, read_edited
from clevrhope.audit.suites.pairs import SuitePairs
from clevrhope.audit.suites.source import FLIP, SAME
from clevrhope.dataset.image_source import find_images
from clevrhope.dataset.images_h5 import ImageArray, images_in, read_images
from clevrhope.errors import DatasetError
from clevrhope.images.png import read_png

TESTS = (*PIXELS, "removal", "edit")
"""The tests of the suite, each named after an edit."""

_SAME = ("questions", "programs", "question_families", "question_lengths", "program_lengths")


def check_visual(pairs: SuitePairs, check: CheckResult) -> None:
    """Checks the pairs of a file, and the scenes and images that they are about.

    Raises:
        DatasetError: a file of scenes or images is missing or cannot be read.
    """
    if not len(pairs.arrays):
        return
    folder, place, pool = pairs.folder, pairs.place, pairs.pool.name
    scenes = read_edited(folder, place, pool, check)
    check_scenes(folder, place, pool, scenes, check)
    check_images(folder, pool, place.pool, scenes, check)
    check.add(place.file, _rows(pairs, scenes))
    stated = folder.manifest.suites[place.hop.name][place.suite][place.name].get("images")
    if stated != len(scenes):
        check.fault("manifest.json", None, f"images of {place.file}: {stated}, not", len(scenes))


def _rows(pairs: SuitePairs, scenes: Mapping[int, EditedScene]) -> Iterator[Found]:
    """Both questions of a pair are the same; its images are those of its test and question."""
    if pairs.arrays.tests != TESTS:
        yield None, f"tests are not {', '.join(TESTS)}", ", ".join(pairs.arrays.tests)
        return
    for name in _SAME:
        rows = pairs.tokens(name) if name in ("questions", "programs") else pairs.arrays.columns[name]
        differs = (rows[pairs.given] != rows[pairs.made]).reshape(pairs.n, -1).any(axis=1)
        for k in np.flatnonzero(differs).tolist():
            yield int(pairs.made[k]), f"{name} is not that of its original", "another"
    images, split = pairs.both("image_idxs"), pairs.split
    columns = (pairs.of_pair(name).tolist() for name in ("test", "relation"))
    for k, (test, relation) in enumerate(zip(*columns, strict=True)):
        given, made = (scenes.get(int(index)) for index in images[k])
        original = int(pairs.originals[k])
        if pairs.swapped[k]:
            yield 2 * k, "the split's question is the partner", original
        if given is None or made is None or not 0 <= original < len(split) or not 0 <= test < len(TESTS):
            continue  # other lines report it
        source = int(split.columns["image_idxs"][original])
        if given.kind != "copy" or given.edit["source_index"] != source:
            problem = f"its image is not a copy of image {source} of {pairs.place.pool}"
            yield 2 * k, problem, given.scene["image_filename"]
        of = (made.kind, made.edit["source_index"], made.edit.get("question_index"))
        if of != (TESTS[test], source, original):
            problem = f"its image is not the {TESTS[test]} of image {source} for question {original}"
            yield 2 * k + 1, problem, made.scene["image_filename"]
        if relation != (FLIP if TESTS[test] == "edit" else SAME):
            yield 2 * k, f"relation is not that of {TESTS[test]}", relation
    for index in sorted(set(scenes).difference(pairs.arrays.used.tolist())):
        yield None, "no pair is about an image", index


LEAST_CHANGED = 1.0
"""Least mean difference (of 255) from the source where an image was rendered with another object."""

MOST_APART = 8.0
"""Largest mean difference (of 255) between a crop and the part of its source that it shows."""

LEAST_KEPT = 0.995
"""Least share of the foreground's pixels that must equal the source's; at equal sizes, all of them do."""

_WIDEST = 1 / 40
"""Margin around the foreground, as a share of the width, in which an edit may fade into the background."""

Flags = npt.NDArray[np.bool_]


def check_images(
    folder: AuditFolder, pool: str, source_pool: str, scenes: Mapping[int, EditedScene], check: CheckResult
) -> None:
    """Checks the image of every scene of a suite's pool.

    Raises:
        DatasetError: an HDF5 file of images, or the source of an image, cannot be read.
    """
    layout, packed = folder.layout, folder.layout.images_h5(pool)
    file, there = layout.relative(packed), set(images_in(packed).tolist())
    for index in sorted(there.symmetric_difference(scenes)):
        problem = "an image without a scene" if index in there else "no such image"
        check.fault(file, index, problem, f"row {index}")
    wanted = np.unique([int(each.edit["source_index"]) for each in scenes.values()]).astype(np.int32)
    sources = find_images(layout, source_pool, wanted, prefer="h5")
    if sources is None:
        raise DatasetError(f"{layout.images(source_pool)}: no images of the scenes that were edited")

    def raster(pool: str, row: bytes) -> npt.NDArray[np.uint8]:
        (ids,) = folder.object_ids(pool, [row])
        rows, columns = (np.arange(n) * old // n for n, old in zip(folder.image_size, ids.shape, strict=True))
        scaled: npt.NDArray[np.uint8] = ids[rows[:, None], columns]
        return scaled

    softness: dict[int, float] = {}
    for index in sorted(there & scenes.keys()):
        each = scenes[index]
        ((_, image),) = read_images(packed, [index])
        if image.shape[:2] != folder.image_size:
            check.fault(file, index, f"not {folder.image_size} pixels", image.shape[:2])
            continue
        path = layout.image(pool, index)
        if layout.relative(path) in folder.manifest.files:
            try:
                if not np.array_equal(read_png(path), image):
                    check.fault(file, index, "not the pixels of", path.name)
            except DatasetError as error:
                check.fault(layout.relative(path), index, "not a readable PNG file", error)
        source = sources.pixels(int(each.edit["source_index"]))
        look = Look(each, image, source, raster(source_pool, each.source_row))
        if each.kind in ("removal", "edit"):
            problems = look.rendered(raster(pool, each.row))
        elif each.kind in BLURS:
            problems = look.blurred(softness)
        else:
            kinds = {"copy": look.copied, "fill": look.filled, "crop": look.cropped}
            problems = kinds[each.kind]()
        for problem, value in problems:
            check.fault(file, index, problem, value)


@dataclass(frozen=True)
class Look:
    """An edited image beside its source, of which `raster` has the number of each pixel's object."""

    scene: EditedScene
    image: ImageArray
    source: ImageArray
    raster: npt.NDArray[np.uint8]

    def rendered(self, after: npt.NDArray[np.uint8]) -> Faults:
        """It differs from its source where objects were removed, or where one was changed."""
        edit, before = self.scene.edit, self.raster
        if self.scene.kind == "edit":
            changed = int(edit["object"]) + 1
            regions = {changed: (before == changed) | (after == changed)}
        else:
            gone = set(range(len(self.scene.source["objects"]))).difference(edit["objects"])
            old = without_outlines(before)
            regions = {number + 1: (old == number + 1) & (after == 0) for number in sorted(gone)}
        for number, region in regions.items():
            if np.count_nonzero(region) >= LEAST_PX:
                apart = float(np.abs(self.image[region].astype(np.int64) - self.source[region]).mean())
                if apart < LEAST_CHANGED:
                    problem = f"it shows its source where object {number - 1} was edited"
                    yield problem, f"{apart:.1f} of 255 apart"

    def copied(self) -> Faults:
        """It is its source."""
        n_others = np.count_nonzero((self.image != self.source).any(axis=2))
        if n_others:
            yield "not the pixels of its source", f"{n_others} pixels differ"

    def filled(self) -> Faults:
        """Its foreground is kept, and all else is of one color."""
        foreground = self._foreground()
        yield from self._kept(foreground)
        nothing_kept = _far_from(foreground) | ((self.raster > 0) & ~foreground)
        wrong = (self.image[nothing_kept] != self.scene.edit["rgb"]).any(axis=1).sum()
        if wrong:
            yield f"its background is not {self.scene.edit['rgb']}", f"{wrong} pixels"

    def blurred(self, softness: dict[int, float]) -> Faults:
        """Its background changes less from pixel to pixel than in the source and at less blur."""
        edit, kind, foreground = self.scene.edit, self.scene.kind, self._foreground()
        yield from self._kept(foreground)
        if abs(edit["sigma_px"] - int(kind[-1]) * 3 / 480 * self.image.shape[1]) > 1e-9:
            yield "edit.sigma_px is not that of its test", edit["sigma_px"]
        background, row = _far_from(foreground), int(edit["question_index"])
        before = _roughness(self.source, background) if kind == BLURS[0] else softness.get(row, np.inf)
        softness[row] = _roughness(self.image, background)
        if softness[row] >= before and before > 0:
            yield "its background is not blurred more than before", f"{softness[row]:.3f} after {before:.3f}"

    def cropped(self) -> Faults:
        """It shows the part of its source around the foreground, as large as possible, on one color."""
        rows, columns = np.nonzero(self._foreground())
        left, top, right, bottom = self.scene.edit["box"]
        height, width = self.image.shape[:2]
        margins = [columns.min() - left, right - 1 - columns.max(), rows.min() - top, bottom - 1 - rows.max()]
        if not all(0 <= margin <= width * _WIDEST + 2 for margin in margins):
            yield "edit.box is not the tightest one around the foreground", self.scene.edit["box"]
            return
        scale = min(width / (right - left), height / (bottom - top))
        shown = (int((bottom - top) * scale), int((right - left) * scale))
        y, x = (height - shown[0]) // 2, (width - shown[1]) // 2
        around = np.ones((height, width), bool)
        around[max(0, y - 1) : y + shown[0] + 1, max(0, x - 1) : x + shown[1] + 1] = False
        if (self.image[around] != self.scene.edit["rgb"]).any():
            yield f"what surrounds the crop is not {self.scene.edit['rgb']}", "other pixels"
        # The nearest source pixel for each pixel of the crop.
        at_y = np.arange(shown[0]) * (bottom - top) // shown[0] + top
        at_x = np.arange(shown[1]) * (right - left) // shown[1] + left
        expected = self.source[at_y[:, None], at_x].astype(np.float64)
        apart = np.abs(self.image[y : y + shown[0], x : x + shown[1]] - expected).mean()
        if apart > MOST_APART:
            yield "it does not show that part of its source", f"{apart:.0f} of 255 apart"

    def _foreground(self) -> Flags:
        found: Flags = np.isin(self.raster, [number + 1 for number in self.scene.edit["objects"]])
        return found

    def _kept(self, mask: Flags) -> Faults:
        same = (self.image[mask] == self.source[mask]).all(axis=1).mean()
        if same < LEAST_KEPT:
            yield "its foreground does not have the pixels of its source", f"{same:.0%} of them"


def _far_from(mask: Flags) -> Flags:
    """The pixels that are not near those of a mask."""
    reach = max(2, int(mask.shape[1] * _WIDEST))
    sums = np.pad(mask.astype(np.int64), reach).cumsum(axis=0).cumsum(axis=1)
    sums = np.pad(sums, ((1, 0), (1, 0)))
    side = 2 * reach + 1
    near = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    far: Flags = near == 0
    return far


def _roughness(image: ImageArray, where: Flags) -> float:
    """Mean difference (of 255) between a pixel and its right neighbour."""
    both = where[:, 1:] & where[:, :-1]
    steps = np.abs(np.diff(image.astype(np.int64), axis=1))[both]
    return float(steps.mean()) if steps.size else 0.0
