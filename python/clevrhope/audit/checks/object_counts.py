"""The check of the numbers of objects in the images of a split.

Each number must be one that scenes can have, from 3 to 10. With --match objects, all are equally frequent:
scenes are thinned in blocks of their pool until each number of objects is as frequent as the rarest one. So
in each block that a split has used up, all numbers are equally frequent, except for a few scenes that gave no
question. A split uses only the first scenes of its last block, so the frequencies there depend on chance.
"""

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check
from clevrhope.dataset.scene_files import Pools
from clevrhope.runtime.progress import Advance

SCENES_A_BLOCK = 2_000
"""Number of scenes of a pool that are thinned together."""

WITHOUT_QUESTIONS = 3
"""Most scenes of a block with the same number of objects that gave no question, and so are in no file."""

LARGEST_CHI_SQUARE = 60.0
"""For the last block; with 8 numbers of objects, chance exceeds it in one split of 10 billion."""


def check_object_counts(folder: AuditFolder, pools: Pools, advance: Advance) -> Check:
    """Checks that numbers of objects are within limits and, with --match objects, equally frequent.

    `pools` are the folder's scenes.

    Raises:
        DatasetError: a file is missing or cannot be read.
    """
    constraints = folder.manifest.world["constraints"]
    least, most = int(constraints["min_objects"]), int(constraints["max_objects"])
    is_matched = folder.manifest.settings.match == "objects"
    check = Check(
        "numbers of objects",
        f"every image that is in no group has {least} to {most} objects"
        + ("; by --match objects, all numbers are equally frequent in every split" if is_matched else ""),
        "images",
    )
    for split in folder.splits:
        if not split.is_grouped:
            with folder.open(split) as arrays:
                pool, used = pools[arrays.pool], np.asarray(arrays.used, np.int64)
            rows = pool.rows(used)
            there = rows >= 0  # another check reports missing scenes
            n_objects = pool.native.n_objects[rows[there]].astype(np.int64)
            check.n_checked += len(n_objects)
            strange = (n_objects < least) | (n_objects > most)
            for index, n in zip(used[there][strange].tolist(), n_objects[strange].tolist(), strict=True):
                problem = f"an image of {split.hop.name} {split.name} does not have {least} to {most} objects"
                check.fault(f"scenes/{arrays.pool}", index, problem, n)
            if is_matched and not strange.any():
                for fault in uneven(used[there], n_objects, least, most):
                    check.fault(split.file, None, *fault)
        advance(1)
    if not is_matched:
        check.notes.append("made without --match objects, so that splits may differ in how frequent each is")
    return check


def uneven(
    indices: npt.NDArray[np.int64], n_objects: npt.NDArray[np.int64], least: int, most: int
) -> list[tuple[str, str]]:
    """The problem and the numbers for each block in which some numbers of objects are too frequent.

    `indices` (N,) are scene indices, sorted, and `n_objects` (N,) the numbers of their objects.
    """
    if not len(indices):
        return []
    blocks = indices // SCENES_A_BLOCK
    found = []
    for block in np.unique(blocks).tolist():
        counts = np.bincount(n_objects[blocks == block] - least, minlength=most - least + 1)
        shown = f"{least} to {most} objects: {', '.join(map(str, counts.tolist()))}"
        first = block * SCENES_A_BLOCK
        where = f"images of scenes {first} to {first + SCENES_A_BLOCK - 1}"
        if block != blocks[-1]:
            if np.ptp(counts) > WITHOUT_QUESTIONS:
                found.append((f"{where} have some numbers of objects more often than others", shown))
        else:
            even = counts.sum() / len(counts)
            if ((counts - even) ** 2 / even).sum() > LARGEST_CHI_SQUARE:
                found.append(
                    (f"{where}, the last ones, have numbers of objects that chance cannot explain", shown)
                )
    return found
