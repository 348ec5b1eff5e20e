"""The check that manifest, measured.json and files agree on numbers, and minimal sets have the right size.

The size of a minimal set follows from its construction (CLEVR-HOPE, section 3): there is a grid for every two
values of each held-out type and every combination of the other types' values, at a number of places. If a
grid contains the pair, minimal_ood asks for the pair at all corners, and minimal_iid asks for each other
corner at all other corners. In any other grid, minimal_iid asks for each corner at all corners.
"""

from collections.abc import Mapping, Sequence, Set
from itertools import combinations, product
from math import comb, prod
from pathlib import Path

from clevrhope.audit.checks.measured import check_measured
from clevrhope.audit.folder import AuditFolder, SplitPlace
from clevrhope.audit.leaks.palette import seen_values
from clevrhope.audit.report import Check, Lines
from clevrhope.dataset.split_files import AddedPairs
from clevrhope.dataset.suite_pools import SuitePool
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import SPLITS

GROUPS_OF_A_PAIR = 960
"""Maximum number of places for a pair in a minimal set of the paper's size, which has whole copies."""


def check_counts(folder: AuditFolder, lines: Lines, advance: Advance) -> None:
    """Compares the numbers of questions, images and places with those of manifest and measured.json.

    Raises:
        DatasetError: a file is missing or cannot be read.
    """
    check = lines["counts"]
    for split in folder.splits:
        entry = folder.manifest.splits[split.hop.name][split.name]
        with split.open() as arrays:
            n_questions, n_images, pool = len(arrays), len(arrays.used), arrays.pool
        for name, n in (("questions", n_questions), ("images", n_images)):
            _compare(check, split.file, f"{name} in the manifest", n, entry.get(name))
        if pool != split.pool:
            check.fault(split.file, None, f"belongs to pool {pool}, but the manifest says", split.pool)
        if split.is_prelim:
            _prelim(check, folder, split, n_questions, int(entry["sets"]))
        if split.is_minimal:
            _minimal(check, folder, split, n_questions, int(entry["places"]))
        advance(1)
    _unnamed(check, folder)
    _suites(check, folder)
    check_measured(folder, check)
    for pool, entry in folder.manifest.pools.items():
        begin = f"images/{pool}/"
        listed = sum(name.startswith(begin) and name.endswith(".png") for name in folder.manifest.files)
        if listed:
            _compare(check, "manifest.json", f"images of pool {pool}", listed, entry.get("images"))


def _unnamed(check: Check, folder: AuditFolder) -> None:
    """Reports splits that have a file, but are not among the manifest's `splits`.

    No other check would look at them, because all checks rely on `splits`.
    """
    known = {place.file for place in (*folder.all_splits, *folder.all_suites, *folder.all_augmented)}
    layout = folder.layout
    for place in folder.all_suites:  # some have images of their own
        pool = SuitePool(place.hop.name, place.suite, place.name)
        known.add(layout.relative(layout.images_h5(pool.name)))
    for name in folder.manifest.files:
        if name.startswith("hops/") and name.endswith(".h5"):
            check.n_checked += 1
            if name not in known:
                check.fault(name, None, "in the manifest, but belongs to none of its splits", Path(name).stem)


def _suites(check: Check, folder: AuditFolder) -> None:
    """Compares the numbers of pairs and originals; reports suites without a split, and files not listed."""
    for hop, of_hop in folder.manifest.suites.items():
        for suite, of_suite in of_hop.items():
            splits = folder.manifest.splits.get(hop, {}).keys()
            of_train = {f"{name}_{suite}" for name in splits if SPLITS[name].role == "train"}
            for unknown in sorted(of_suite.keys() - splits - of_train):
                problem = f"suites.{hop}.{suite}: pairs on a split that it does not list"
                check.fault("manifest.json", None, problem, unknown)
    for place in (*folder.all_suites, *folder.all_augmented):
        for path in (place.h5, place.json, place.vocab):
            check.n_checked += 1
            if folder.layout.relative(path) not in folder.manifest.files:
                problem = "a file of a suite, not listed in the manifest"
                check.fault(folder.layout.relative(path), None, problem, place.suite)
    for place in (*folder.suites, *folder.augmented):
        entry = folder.manifest.suites[place.hop.name][place.suite][place.name]
        with place.open() as pairs, place.split.open() as split:
            n_pairs, n_own, n_questions = len(pairs) / 2, pairs.n_originals, len(split)
            n_stated = n_own if isinstance(pairs, AddedPairs) else n_questions
        _compare(check, place.file, "pairs in the manifest", n_pairs, entry["pairs"])
        _compare(check, place.file, "originals in the manifest", n_stated, entry["originals"])
        _compare(check, place.file, "questions of the split by the file", n_questions, n_own)


def _compare(check: Check, file: str, what: str, found: float, stated: object) -> None:
    check.n_checked += 1
    if found != stated:
        check.fault(file, None, f"{what}: {stated}, but the files have", found)


def _minimal(check: Check, folder: AuditFolder, split: SplitPlace, n_questions: int, n_places: int) -> None:
    """Checks the size of a complete minimal set; `check_groups` checks the places of any set one by one."""
    values, kinds = dict(folder.attribute_types), dict(split.hop.held_out or ())
    grids, questions = _grids(
        split, values, seen_values(folder.layout.manifest, folder.manifest.palettes, split.hop)
    )
    others = prod(len(values[kind]) for kind in values if kind not in kinds)
    copies, rest = divmod(n_places, grids * others)
    if rest:
        return  # the set has only some places of a copy, whose number can be chosen for each pair
    check.n_checked += 1
    most = max(1, GROUPS_OF_A_PAIR // (grids * others))
    if not 1 <= copies <= most:
        check.fault(split.file, None, f"not at most {most} copies of {grids * others} places", n_places)
    wanted = questions * others * copies
    if n_questions != wanted:
        check.fault(split.file, None, f"not {wanted} questions for {n_places} places", n_questions)


def _prelim(check: Check, folder: AuditFolder, split: SplitPlace, n_questions: int, n_sets: int) -> None:
    """Checks that there are two questions for each existence group and six for each counting set."""
    check.n_checked += 1
    of_each = SPLITS[split.name].group
    if n_questions != of_each * n_sets:
        check.fault(split.file, None, f"not {of_each * n_sets} questions for {n_sets} sets", n_questions)
    if SPLITS[split.name].drawn == "groups":
        n_values = {kind: len(values) for kind, values in folder.attribute_types}
        ((kind, _),) = split.hop.target
        others = prod(n for each, n in n_values.items() if each != kind)
        copies = max(1, GROUPS_OF_A_PAIR // (comb(n_values[kind], 2) * others))
        most = (n_values[kind] - 1) * others * copies
        if n_sets > most:
            check.fault(split.file, None, f"more than the {most} groups that there can be", n_sets)


def _grids(
    split: SplitPlace, values: Mapping[str, Sequence[str]], seen: Set[tuple[str, ...]] | None
) -> tuple[int, int]:
    """Number of grids with at most one unseen corner, and of questions about one copy of each.

    In distribution, each seen corner is asked for at all seen corners. Out of distribution, the pair is asked
    for at all corners of the grids that contain it. `seen` is None if everything but the pair was seen.
    """
    pair = tuple(value for _, value in split.hop.held_out or ())
    n_grids = n_questions = 0
    sides = (combinations(values[kind], 2) for kind, _ in split.hop.held_out or ())
    for grid in product(*sides):
        corners = set(product(*grid))
        n_seen = len(corners - {pair} if seen is None else corners & seen)
        if n_seen >= len(corners) - 1:
            n_grids += 1
            if SPLITS[split.name].shown == "in one":
                n_questions += len(corners) if pair in corners else 0
            else:
                n_questions += n_seen**2
    return n_grids, n_questions
