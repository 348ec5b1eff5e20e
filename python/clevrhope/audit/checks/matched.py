"""Splits and the numbers of objects in their images in, whether they are as the dataset promises out.

Every number is one that scenes were made with, from 3 to 10. With --match objects each is equally frequent:
scenes are thinned in blocks of their pool, until each number of objects is as frequent as the rarest one. So
in a block that a split has gone through every number is there equally often, but for the few scenes that gave
no question. Of a split's last block it took the first scenes, and chance says how many of each.
"""

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.dataset.scene_files import Pools
from clevrhope.runtime.progress import Advance

SCENES_A_BLOCK = 2_000
"""Indices of a pool that are thinned together."""

WITHOUT_QUESTIONS = 3
"""Scenes of a block, of one number of objects, that may have given no question, and so are in no file."""

LARGEST_CHI_SQUARE = 60.0
"""Of the last block; with 8 numbers of objects chance gives more in one split of 10 billion."""


def check_matched(folder: AuditFolder, pools: Pools, advance: Advance) -> Tally:
    """Every split has numbers of objects within the scenes' limits; `pools` are the folder's scenes.

    With --match objects, each equally often.

    Raises:
        DatasetError: a file that is missing or cannot be read.
    """
    constraints = folder.manifest.world["constraints"]
    least, most = int(constraints["min_objects"]), int(constraints["max_objects"])
    is_matched = folder.manifest.questions.get("match") == "objects"
    tally = Tally(
        "numbers of objects",
        f"every image but those of groups has {least} to {most} objects"
        + ("; as --match objects promises, every split has each number equally often" if is_matched else ""),
        "images",
    )
    for split in folder.splits:
        if not split.is_grouped:
            with folder.open(split) as arrays:
                pool, used = pools[arrays.pool], np.asarray(arrays.used, np.int64)
            rows = pool.rows(used)
            there = rows >= 0  # that a scene is missing is said elsewhere
            n_objects = pool.native.n_objects[rows[there]].astype(np.int64)
            tally.n_checked += len(n_objects)
            strange = (n_objects < least) | (n_objects > most)
            for index, n in zip(used[there][strange].tolist(), n_objects[strange].tolist(), strict=True):
                problem = f"an image of {split.hop.name} {split.name} has not {least} to {most} objects"
                tally.fault(f"scenes/{arrays.pool}", index, problem, n)
            if is_matched and not strange.any():
                for fault in uneven(used[there], n_objects, least, most):
                    tally.fault(split.file, None, *fault)
        advance(1)
    if not is_matched:
        tally.notes.append(
            "made without --match objects: some may be more frequent, and not in all splits alike"
        )
    return tally


def uneven(
    indices: npt.NDArray[np.int64], n_objects: npt.NDArray[np.int64], least: int, most: int
) -> list[tuple[str, str]]:
    """What is wrong with images (N,) of these scenes, sorted, with so many objects: problem and numbers."""
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
                found.append((f"{where}, the last, have numbers of objects that chance does not give", shown))
    return found
