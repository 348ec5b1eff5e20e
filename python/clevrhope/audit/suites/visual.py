"""The check of visual pairs: the same question about an image of the split and about the edited one."""

from collections.abc import Iterator, Mapping

import numpy as np

from clevrhope.audit.report import Check, Found
from clevrhope.audit.suites.edited_images import check_images
from clevrhope.audit.suites.edited_scenes import PIXELS, EditedScene, check_scenes, read_edited
from clevrhope.audit.suites.pairs import Pairs
from clevrhope.audit.suites.source import FLIP, SAME

TESTS = (*PIXELS, "removal", "edit")
"""The tests of the suite, each named after an edit."""

_SAME = ("questions", "programs", "question_families", "question_lengths", "program_lengths")


def check_visual(pairs: Pairs, check: Check) -> None:
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


def _rows(pairs: Pairs, scenes: Mapping[int, EditedScene]) -> Iterator[Found]:
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
