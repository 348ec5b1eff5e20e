"""Scene files in, whether a scene is there twice, and in pools that must have none in common, out."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from clevrhope.audit.checks.cameras import CAMERA, JITTER
from clevrhope.audit.checks.minimal import MinimalSets
from clevrhope.audit.checks.prelim import PrelimSets
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.dataset.json_rows import read_list
from clevrhope.dataset.scene_files import Pools, PoolScenes
from clevrhope.errors import DatasetError
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import SPLITS, SplitKind

NEAR = 1e-4
"""Places and directions that differ by less are the same: files have some six decimals."""


def check_scenes(folder: AuditFolder, pools: Pools, advance: Advance) -> list[Tally]:
    """No scene twice, in a pool or in two; no image both trained on and tested on; groups as made.

    `pools` are the folder's scenes.

    Raises:
        DatasetError: a scene file that is missing or broken; says at which scene.
    """
    apart = Tally(
        "train and test",
        "over all pairs, no image is in a train and a test split, and none in both complex sets",
        "images",
    )
    for pool in folder.pools:
        folder.scene_files(pool)  # says which pool has none
    twins = _twins(folder, pools)
    _apart(folder, apart)
    minimal, prelim = MinimalSets(folder), PrelimSets(folder)
    for pool in dict.fromkeys(split.pool for split in folder.splits if split.is_grouped):
        for path in folder.scene_files(pool):
            for n, row in enumerate(read_list(path, "scenes")):
                try:
                    minimal.images.add(pool, row)
                    prelim.images.add(pool, row)
                except (KeyError, TypeError, ValueError, IndexError) as error:
                    raise DatasetError(f"{path}: scenes[{n}] is no scene of a dataset ({error!r})") from error
                advance(1)
    return [twins, _related(folder, pools), apart, minimal.check(), prelim.check()]


def _related(folder: AuditFolder, pools: Pools) -> Tally:
    """Which scenes' relationships are not those that places, directions and the camera give."""
    tally = Tally(
        "relationships",
        "who stands left, right, behind and in front of whom follows from places and directions, and these "
        "from where the camera stood",
        "scenes",
    )
    jittered = folder.manifest.world["constraints"].get("directions", "camera") == "camera"
    for name in folder.pools:
        pool = pools[name]
        tally.n_checked += len(pool.indices)
        for row, fault in pool.native.misrelated:
            tally.fault(f"scenes/{name}", int(pool.indices[row]), "relationships", fault)
        for row, fault in _misdirected(pool, jittered=jittered):
            tally.fault(f"scenes/{name}", int(pool.indices[row]), "directions", fault)
    return tally


def _misdirected(pool: PoolScenes, *, jittered: bool) -> Iterator[tuple[int, str]]:
    """Rows of scenes whose directions are not their camera's, or whose camera is none of CLEVR's; and how.

    Behind is where the camera looks, along the ground, and left what is left there. CLEVR's own scenes do not
    say where their camera stood, and have the directions of the one before its jitter, as all scenes of a
    dataset with `directions = "clevr"`.
    """
    cameras, behind, left = pool.native.cameras, pool.native.behind, pool.native.left  # (S, 3) each
    told = ~np.isnan(cameras).any(axis=1)
    for row in np.flatnonzero((np.abs(cameras - CAMERA) > JITTER + NEAR).any(axis=1)).tolist():
        yield row, f"the camera is further than {JITTER} from CLEVR's, at {cameras[row].tolist()}"
    looks_from = np.where((told & jittered)[:, None], cameras, CAMERA)[:, :2]
    looks_from /= np.sqrt((looks_from**2).sum(axis=1, keepdims=True))
    wanted_left = np.stack([looks_from[:, 1], -looks_from[:, 0]], axis=1)
    for what, there, wanted in (("behind", behind, -looks_from), ("left", left, wanted_left)):
        for row in np.flatnonzero((np.abs(there[:, :2] - wanted) > NEAR).any(axis=1)).tolist():
            x, y = wanted[row].tolist()
            yield row, f"{what} is {there[row].tolist()}, but ({x:.6f}, {y:.6f}) from where its camera stood"


def _twins(folder: AuditFolder, pools: Pools) -> Tally:
    """Scenes with an index, or all objects at all places, that another has."""
    tally = Tally(
        "twin scenes", "no scene has the objects and places of another, in its pool or any other", "scenes"
    )
    names = folder.pools
    looks = np.concatenate([pools[name].native.looks for name in names])
    indices = np.concatenate([pools[name].indices for name in names])
    pool_of = np.repeat(np.arange(len(names)), [len(pools[name].indices) for name in names])
    tally.n_checked = len(looks)
    for name in names:
        for index in pools[name].twice():
            tally.fault(f"scenes/{name}", int(index), "the index is there twice", name)
    order = np.argsort(looks, kind="stable")
    again = np.flatnonzero(looks[order][1:] == looks[order][:-1])
    for first, second in zip(order[again].tolist(), order[again + 1].tolist(), strict=True):
        other = f"{names[pool_of[first]]}[{indices[first]}]"
        problem = "the same objects at the same places as another"
        tally.fault(f"scenes/{names[pool_of[second]]}", int(indices[second]), problem, other)
    return tally


def _apart(folder: AuditFolder, tally: Tally) -> None:
    """Which splits use which images, over all pairs: roles that exclude each other share none."""
    kinds: dict[str, SplitKind] = {}
    used: dict[tuple[str, str], np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    for split in folder.splits:
        with folder.open(split) as arrays:
            kind = SPLITS[split.name]
            name = "minimal sets" if kind.drawn == "places" else kind.name
            kinds[name] = kind
            key = (name, arrays.pool)
            mine = np.asarray(arrays.used, np.int64)
            used[key] = np.union1d(used[key], mine) if key in used else mine
    tally.n_checked = sum(map(len, used.values()))
    for (a, pool_a), (b, pool_b) in combinations(used, 2):
        if pool_a == pool_b and _excluded(kinds[a], kinds[b]):
            both = np.intersect1d(used[a, pool_a], used[b, pool_b])
            for index in both.tolist():
                tally.fault(f"scenes/{pool_a}", index, f"used by {a} and by {b}", f"{pool_a}[{index}]")


def _excluded(a: SplitKind, b: SplitKind) -> bool:
    """Whether they may have no image in common: one of them is a test, or one of them has the pair."""
    return (a.role == "test") != (b.role == "test") or {a.rule, b.rule} == {"with", "without"}


def n_grouped_scenes(folder: AuditFolder) -> int:
    """About how many scenes of groups there are: in each pool as many as its largest split uses, or more."""
    most: dict[str, int] = {}
    for split in folder.splits:
        if split.is_grouped:
            images = int(folder.manifest.splits[split.hop.name][split.name]["pictures"])
            most[split.pool] = max(most.get(split.pool, 0), images)
    return sum(most.values())
