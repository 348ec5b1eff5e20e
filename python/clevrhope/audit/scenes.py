"""Scene files in, whether a scene is there twice, and in pools that must have none in common, out."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.minimal import MinimalSets
from clevrhope.audit.report import Tally
from clevrhope.dataset.json_rows import read_list
from clevrhope.errors import DatasetError
from clevrhope.progress import Advance

TRAINED_ON = ("train", "val")
"""Splits that models learn or are tuned on; all others are tests."""

COMPLEX = ("complex_iid", "complex_ood")

Digest = bytes


@dataclass(frozen=True)
class _Place:
    pool: str
    index: int


def check_scenes(folder: AuditFolder, advance: Advance) -> list[Tally]:
    """No scene twice, in a pool or in two; no picture both trained on and tested on; minimal groups as made.

    Raises:
        DatasetError: a scene file that is missing or broken; says at which scene.
    """
    twins = Tally(
        "twin scenes", "no scene has the objects and places of another, in its pool or any other", "scenes"
    )
    apart = Tally(
        "train and test",
        "over all pairs, no picture is in a train and a test split, and none in both complex sets",
        "pictures",
    )
    minimal = MinimalSets(folder)
    looks: dict[Digest, _Place] = {}
    for pool in folder.pools:
        seen: set[int] = set()
        for path in folder.scene_files(pool):
            file = folder.layout.relative(path)
            for n, row in enumerate(read_list(path, "scenes")):
                try:
                    index, digest = int(row["image_index"]), look(row)
                    minimal.add(pool, row)
                except (KeyError, TypeError, ValueError, IndexError) as error:
                    raise DatasetError(f"{path}: scenes[{n}] is no scene of a dataset ({error!r})") from error
                if index in seen:
                    twins.fault(file, index, "the index is there twice", row.get("image_filename"))
                elif digest in looks:
                    other = looks[digest]
                    twins.fault(
                        file, index, "the same objects at the same places", f"{other.pool}[{other.index}]"
                    )
                seen.add(index)
                looks.setdefault(digest, _Place(pool, index))
                twins.n_checked += 1
                advance(1)
    _apart(folder, apart)
    return [twins, apart, minimal.check()]


def look(scene: Mapping[str, Any]) -> Digest:
    """A digest of what is where, whatever the camera, the lights and the objects' order."""
    objects = sorted(
        json.dumps(
            [
                each["shape"],
                each["size"],
                each["color"],
                each["material"],
                each["3d_coords"],
                each["rotation"],
            ]
        )
        for each in scene["objects"]
    )
    return hashlib.blake2b("\n".join(objects).encode(), digest_size=16).digest()


def _apart(folder: AuditFolder, tally: Tally) -> None:
    """Which splits use which pictures, over all pairs: roles that exclude each other share none."""
    used: dict[tuple[str, str], np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    for split in folder.splits:
        with folder.open(split) as arrays:
            key = (_role(split.name), arrays.pool)
            mine = np.asarray(arrays.used, np.int64)
            used[key] = np.union1d(used[key], mine) if key in used else mine
    tally.n_checked = sum(map(len, used.values()))
    for (a, pool_a), (b, pool_b) in combinations(used, 2):
        if pool_a == pool_b and _excluded(a, b):
            both = np.intersect1d(used[a, pool_a], used[b, pool_b])
            for index in both.tolist():
                tally.fault(f"scenes/{pool_a}", index, f"used by {a} and by {b}", f"{pool_a}[{index}]")


def _role(split: str) -> str:
    return "minimal sets" if split.startswith("minimal") else split


def _excluded(a: str, b: str) -> bool:
    return (a in TRAINED_ON) != (b in TRAINED_ON) or (a, b) in (COMPLEX, COMPLEX[::-1])


def n_scenes(folder: AuditFolder) -> int:
    """About how many scenes there are: in each pool as many as its largest split uses, or more."""
    most: dict[str, int] = {}
    for split in folder.splits:
        pictures = int(folder.manifest.splits[split.hop.name][split.name]["pictures"])
        most[split.pool] = max(most.get(split.pool, 0), pictures)
    return sum(most.values())


def scene_rows(folder: AuditFolder, pool: str) -> Iterator[dict[str, Any]]:
    """The scenes of a pool, in order."""
    for path in folder.scene_files(pool):
        yield from read_list(path, "scenes")
