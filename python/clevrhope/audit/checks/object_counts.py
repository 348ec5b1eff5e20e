"""The check of the numbers of objects in the images of a split.

Each number must be one that scenes can have, from 3 to 10, and all are equally frequent: each place of a
split has the number of the pool's scene at that place, and a pool has each number once in a run of as many
scenes. So they differ by no more than the last run, and by scenes that gave no question and are in no file.
"""

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Lines
from clevrhope.runtime.progress import Advance

WITHOUT_QUESTIONS, SHARE_WITHOUT = 4, 0.03
"""How many scenes of one number of objects may be missing because they gave no question: so many, and so
large a share of them. In splits that ask for a pair some scenes do, and hardly any in others."""


def check_object_counts(folder: AuditFolder, lines: Lines, advance: Advance) -> None:
    """Checks that numbers of objects are within limits and equally frequent.

    Raises:
        DatasetError: a file is missing or cannot be read.
    """
    constraints = folder.manifest.world["constraints"]
    least, most = int(constraints["min_objects"]), int(constraints["max_objects"])
    check = lines["numbers of objects"]
    for split in folder.splits:
        if not split.is_grouped:
            with split.open() as arrays:
                pool, used = folder.scenes[arrays.pool], np.asarray(arrays.used, np.int64)
            rows = pool.rows(used)
            there = rows >= 0  # another check reports missing scenes
            n_objects = pool.native.n_objects[rows[there]].astype(np.int64)
            check.n_checked += len(n_objects)
            strange = (n_objects < least) | (n_objects > most)
            for index, n in zip(used[there][strange].tolist(), n_objects[strange].tolist(), strict=True):
                problem = f"an image of {split.hop.name} {split.name} does not have {least} to {most} objects"
                check.fault(f"scenes/{arrays.pool}", index, problem, n)
            if not strange.any():
                for fault in uneven(n_objects, least, most):
                    check.fault(split.file, None, *fault)
        advance(1)


def uneven(n_objects: npt.NDArray[np.int64], least: int, most: int) -> list[tuple[str, str]]:
    """The problem and the counts if numbers of objects are not even; `n_objects` (N,) is by image."""
    counts = np.bincount(n_objects - least, minlength=most - least + 1)
    allowed = 1 + WITHOUT_QUESTIONS + SHARE_WITHOUT * counts.max()
    if np.ptp(counts) <= allowed:
        return []
    shown = f"{least} to {most} objects: {', '.join(map(str, counts.tolist()))}"
    return [("the images have some numbers of objects more often than others", shown)]
