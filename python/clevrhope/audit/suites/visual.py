"""The check of visual pairs: the same question about an image of the split and about the edited one."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain

import numpy as np
import numpy.typing as npt

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

LEAST_BLUR_PX = 1.0
"""Blurs of a smaller standard deviation, as of small images, can leave every pixel as it was."""

LEAST_KEPT = 0.995
"""Least share of the foreground's pixels that must equal the source's; at equal sizes, all of them do."""

Raster = npt.NDArray[np.uint8]


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
        if edited.kind == COPY:
            problems = _copied(image, source)
        else:
            before = raster(of_sources, edited.source_row)
            after = raster(pool, edited.row) if edited.kind in RENDERED else before
            problems = chain(
                _kept(edited, image, source, before), _changed(edited, image, source, before, after)
            )
        for problem, value in problems:
            check.fault(file, index, problem, value)


def _copied(image: ImageArray, source: ImageArray) -> Faults:
    """A copy is its source."""
    n_others = np.count_nonzero((image != source).any(axis=2))
    if n_others:
        yield "not the pixels of its source", f"{n_others} pixels differ"


def _kept(edited: EditedScene, image: ImageArray, source: ImageArray, before: Raster) -> Faults:
    """The foreground can be seen in the source, and a fill or blur keeps it."""
    if "objects" not in edited.edit:
        return
    foreground = np.isin(before, [number + 1 for number in edited.edit["objects"]])
    if not foreground.any():
        yield "edit.objects cover no pixel", edited.edit["objects"]
    elif edited.kind in (*BLURS, "fill"):
        same = (image == source)[foreground].all(axis=1).mean()
        if same < LEAST_KEPT:
            yield "its foreground does not have the pixels of its source", f"{same:.0%} of them"


def _changed(
    edited: EditedScene, image: ImageArray, source: ImageArray, before: Raster, after: Raster
) -> Faults:
    """An image differs from its source: where objects were removed, where one was changed, or anywhere."""
    edit = edited.edit
    if edited.kind not in RENDERED:
        is_whole = edit.get("box") == [0, 0, image.shape[1], image.shape[0]]
        can_be_seen = not is_whole and edit.get("sigma_px", LEAST_BLUR_PX) >= LEAST_BLUR_PX
        if can_be_seen and np.array_equal(image, source):
            yield f"it shows its source, not the {edited.kind}", edit["source"]
        return
    if edited.kind == "edit":
        changed = int(edit["object"])
        regions = {changed: (before == changed + 1) | (after == changed + 1)}
    else:
        inner = without_outlines(before)
        regions = {
            number: (inner == number + 1) & (after == 0)
            for number in range(len(edited.source["objects"]))
            if number not in edit["objects"]
        }
    for number, region in regions.items():
        if np.count_nonzero(region) >= LEAST_PX:
            apart = float(np.abs(image[region].astype(np.int64) - source[region]).mean())
            if apart < LEAST_CHANGED:
                yield f"it shows its source where object {number} was edited", f"{apart:.1f} of 255 apart"
