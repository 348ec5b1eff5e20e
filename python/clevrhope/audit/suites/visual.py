"""The check of visual pairs: the same question about an image of the split and about the edited one."""

from collections.abc import Mapping

import numpy as np

from clevrhope.audit.folder import AuditFolder, SuitePlace
from clevrhope.audit.report import Check
from clevrhope.audit.suites.edited_images import EditedImages
from clevrhope.audit.suites.edited_scenes import PIXELS, EditedScene, check_scenes, read_edited
from clevrhope.audit.suites.sides import Flags, Sides
from clevrhope.audit.suites.source import FLIP, SAME
from clevrhope.dataset.split_files import PairArrays, SplitArrays

VISUAL = "visual"
"""The suite whose pairs differ in their images instead of their questions."""

TESTS = (*PIXELS, "removal", "edit")
"""The tests of this suite, each named after an edit."""

_SAME = ("questions", "programs", "question_families", "question_lengths", "program_lengths")


def pool_of(place: SuitePlace) -> str:
    """The pool of a suite's images: the split's, or one of its own."""
    return f"{place.hop.name}.{place.suite}.{place.name}" if place.suite == VISUAL else place.pool


def check_visual(
    folder: AuditFolder, place: SuitePlace, arrays: PairArrays, split: SplitArrays, sides: Sides, check: Check
) -> None:
    """Checks the pairs of a file, and the scenes and images that they are about.

    Raises:
        DatasetError: a file of scenes or images is missing or cannot be read.
    """
    if not len(arrays):
        return
    pool = pool_of(place)
    scenes = read_edited(folder, place, pool, check)
    check_scenes(folder, place, pool, scenes, check)
    EditedImages(folder, pool, place.pool, check).check(scenes)
    _check_rows(place, arrays, split, sides, scenes, check)
    entry = folder.manifest.suites[place.hop.name][place.suite][place.name]
    if entry.get("pictures") != len(scenes):
        check.fault(
            "manifest.json", None, f"images of {place.file}: {entry.get('pictures')}, not", len(scenes)
        )
    unused = sorted(set(scenes).difference(arrays.used.tolist()))
    for index in unused:
        check.fault(place.file, None, "no pair is about an image", index)


def _check_rows(
    place: SuitePlace,
    arrays: PairArrays,
    split: SplitArrays,
    sides: Sides,
    scenes: Mapping[int, EditedScene],
    check: Check,
) -> None:
    if arrays.tests != TESTS:
        check.fault(place.file, None, f"tests are not {', '.join(TESTS)}", ", ".join(arrays.tests))
        return
    n = len(sides.given)
    for name in _SAME:
        wide = name in ("questions", "programs")
        rows = arrays.tokens(name, 0, len(arrays)) if wide else arrays.columns[name]
        differs: Flags = rows[sides.given] != rows[sides.made]
        for k in np.flatnonzero(differs.any(axis=1) if wide else differs).tolist():
            check.fault(place.file, int(sides.made[k]), f"{name} is not that of its original", "another")
    images = sides.column(arrays, "image_idxs")
    tests, relations = (arrays.columns[name][: 2 * n : 2].tolist() for name in ("test", "relation"))
    for k, (test, relation) in enumerate(zip(tests, relations, strict=True)):
        given, made = (scenes.get(int(index)) for index in images[k])
        original = int(sides.originals[k])
        if sides.swapped[k]:
            check.fault(place.file, 2 * k, "the split's question is the partner", original)
        if given is None or made is None or not 0 <= original < len(split) or not 0 <= test < len(TESTS):
            continue  # other lines report it
        source = int(split.columns["image_idxs"][original])
        if given.kind != "copy" or given.edit["source_index"] != source:
            problem = f"its image is not a copy of image {source} of {place.pool}"
            check.fault(place.file, 2 * k, problem, given.scene["image_filename"])
        of = (made.kind, made.edit["source_index"], made.edit.get("question_index"))
        if of != (TESTS[test], source, original):
            problem = f"its image is not the {TESTS[test]} of image {source} for question {original}"
            check.fault(place.file, 2 * k + 1, problem, made.scene["image_filename"])
        if relation != (FLIP if TESTS[test] == "edit" else SAME):
            check.fault(place.file, 2 * k, f"relation is not that of {TESTS[test]}", relation)
