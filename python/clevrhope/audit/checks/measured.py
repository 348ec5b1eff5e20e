"""The comparison of measured.json, from which pages take their numbers, with the files."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.audit.checks.clevr_scenes import clevr_scenes
from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check, Found
from clevrhope.audit.suites.pairs import RELATIONS, TIERS, named
from clevrhope.dataset.measured import read_measured, read_measured_folder
from clevrhope.dataset.split_files import PairArrays
from clevrhope.errors import DatasetError
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS

Numbers = Mapping[str, Any]


def check_measured(folder: AuditFolder, check: Check) -> None:
    """Compares the numbers of each sub-dataset and of the folder, as far as its files can be read."""
    wanted = {hop.name: _of_hop(folder, hop) for hop in folder.hops}
    for hop, sections in wanted.items():
        _compare(folder, folder.layout.hop_measured(hop), read_measured, sections, check)
    sizes = {
        section: {
            hop: {name: each and each["questions"] for name, each in sections[section].items()}
            for hop, sections in wanted.items()
        }
        for section in ("splits", "covr")
    }
    _compare(folder, folder.layout.measured, read_measured_folder, sizes, check)


def _compare(
    folder: AuditFolder, path: Path, read: Callable[[Path], Numbers], wanted: Numbers, check: Check
) -> None:
    file = folder.layout.relative(path)
    try:
        stated = read(path)
    except DatasetError as error:
        check.fault(file, None, "cannot be read", str(error).removeprefix(f"{path}: "))
        return
    for section, of_section in wanted.items():
        check.n_checked += len(of_section)
        check.add(file, _differences(section, of_section, stated[section]))


def _differences(place: str, wanted: Numbers, stated: Numbers) -> Iterator[Found]:
    """Numbers that are not those of the files; None is for what could not be read.

    Of what has numbers of its own, as a split has, more may be stated than is compared.
    """
    for key, value in wanted.items():
        there, at = stated.get(key), f"{place}.{key}"
        if isinstance(value, dict) and isinstance(there, dict):
            yield from _differences(at, value, there)
        elif value is not None and there != value:
            yield None, f"{at} is not {'there' if isinstance(value, dict) else value}, as in the files", there
    if all(value is None or isinstance(value, dict) for value in wanted.values()):
        for key in stated.keys() - wanted.keys():
            yield None, f"{place}: neither the manifest nor the files have it", key


def _of_hop(folder: AuditFolder, hop: Hop) -> dict[str, dict[str, Any]]:
    """The numbers of a sub-dataset's splits, suites, and splits over several images."""
    splits: dict[str, Any] = {each.name: None for each in folder.all_splits if each.hop == hop}
    covr: dict[str, Any] = {each.name: None for each in folder.all_set_splits if each.hop == hop}
    suites: dict[str, dict[str, Any]] = {}
    for place in folder.all_suites:
        if place.hop == hop:
            suites.setdefault(place.suite, {})[place.name] = None
    for split in folder.splits:
        if split.hop == hop:
            with split.open() as arrays:
                numbers = {"pool": arrays.pool, "questions": len(arrays), "images": len(arrays.used)}
                if "clevr" in folder.manifest.world and SPLITS[split.name].role == "train":
                    ours = list(clevr_scenes(folder, arrays.pool))
                    numbers["images_from_clevr"] = int(np.isin(arrays.used, ours).sum())
            splits[split.name] = numbers
    for several in folder.set_splits:
        if several.hop == hop:
            with several.open() as sets:
                covr[several.name] = {"questions": len(sets), "images": len(sets.used)}
    for place in folder.suites:
        if place.hop == hop:
            with place.open() as pairs:
                suites[place.suite][place.name] = {
                    "pairs": len(pairs) // 2,
                    "originals": pairs.n_originals,
                    "tests": _of_tests(folder, pairs),
                }
    return {"splits": splits, "suites": suites, "covr": covr}


def _of_tests(folder: AuditFolder, pairs: PairArrays) -> dict[str, Any]:
    """The numbers of each test that has a pair."""
    n = 2 * (len(pairs) // 2)
    names = ("test", "tier", "relation", "cell")
    tests, tiers, relations, cells = (pairs.columns[name][:n:2] for name in names)
    partners = pairs.columns["answers"][1:n:2]
    is_yes, is_no = (partners == folder.vocab.answers.get(name, -1) for name in ("yes", "no"))
    found = {}
    for number, test in enumerate(pairs.tests):
        mine = tests == number
        if mine.any():
            found[test] = {
                "tier": named(TIERS, int(tiers[mine][0])),
                "relations": [named(RELATIONS, each) for each in np.unique(relations[mine]).tolist()],
                "pairs": int(mine.sum()),
                "cells": {f"{cell:02b}": k for cell, k in sorted(Counter(cells[mine].tolist()).items())},
                "partners_yes": int((is_yes & mine).sum()),
                "partners_yes_or_no": int(((is_yes | is_no) & mine).sum()),
            }
    return found
