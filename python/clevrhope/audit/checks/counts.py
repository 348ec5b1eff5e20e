"""The check that manifest, measured.json and files agree on numbers."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.audit.checks.clevr import clevr_scenes
from clevrhope.audit.folder import AuditFolder, PairFile, SplitFile
from clevrhope.audit.report import CheckResult, Found, Results
from clevrhope.audit.suites.pairs import named
from clevrhope.dataset.measured import read_measured, read_measured_folder
from clevrhope.dataset.question_kinds import RELATIONS, TIERS
from clevrhope.dataset.split_files import AddedPairs
from clevrhope.errors import DatasetError
from clevrhope.runtime.progress import Advance
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS, TRAIN


def check_counts(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Compares the numbers of questions, images and places with those of manifest and measured.json."""
    check = results["counts"]
    for file in folder.files:
        entry = getattr(folder.manifest, file.kind.listed)[file.hop.name][file.name]
        with file.open() as arrays:
            n_questions = len(arrays)
            n_images = len(arrays.used)
            pool = arrays.pool
        _compare(check, file.file, "questions in the manifest", n_questions, entry.get("questions"))
        _compare(check, file.file, "images in the manifest", n_images, entry.get("images"))
        if pool != file.pool:
            check.fault(file.file, None, f"belongs to pool {pool}, but the manifest says", file.pool)
        advance(1)
    _check_listing(check, folder)
    _suites(check, folder)
    check_measured(folder, check)
    for pool, entry in folder.manifest.pools.items():
        begin = f"images/{pool}/"
        listed = sum(name.startswith(begin) and name.endswith(".png") for name in folder.manifest.files)
        if listed:
            _compare(check, "manifest.json", f"images of pool {pool}", listed, entry.get("images"))


def _check_listing(check: CheckResult, folder: AuditFolder) -> None:
    """Reports question files of the manifest's list that belong to no split.

    No other check would look at them, because all checks rely on the splits that the manifest lists.
    """
    layout, pairs = folder.layout, (*folder.all_pairs, *folder.all_added)
    paths = [path for file in (*folder.all_files, *pairs) for path in (file.h5, file.vocab, file.json)]
    paths += [layout.images_h5(file.own_pool) for file in pairs if file.own_pool]
    known = {layout.relative(path) for path in paths}
    for name in folder.manifest.files:
        if name.startswith("covr/") or (name.startswith("hops/") and name.endswith(".h5")):
            check.n_checked += 1
            if name not in known:
                check.fault(name, None, "in the manifest, but belongs to none of its splits", Path(name).stem)


def _suites(check: CheckResult, folder: AuditFolder) -> None:
    """Compares the numbers of pairs and originals; reports suites without a split."""
    for hop, suites in folder.manifest.suites.items():
        splits = {split for of, split, _ in folder.manifest.all_splits() if of == hop}
        for suite, entries in suites.items():
            of_train = {
                f"{name}_{suite}" for name in splits if name in SPLITS and SPLITS[name].role == "train"
            }
            for unknown in sorted(entries.keys() - splits - of_train):
                problem = f"suites.{hop}.{suite}: pairs on a split that it does not list"
                check.fault("manifest.json", None, problem, unknown)
    for file in (*folder.pairs, *folder.added):
        entry = folder.manifest.suites[file.hop.name][file.suite][file.name]
        with file.open() as pairs, file.split.open() as split:
            n_questions = len(split)
            n_originals = pairs.n_originals if isinstance(pairs, AddedPairs) else n_questions
            _compare(
                check, file.file, "pairs in the manifest", (len(pairs) + len(pairs.lone)) / 2, entry["pairs"]
            )
            _compare(check, file.file, "originals in the manifest", n_originals, entry["originals"])
            of_file = "questions of the split by the file"
            _compare(check, file.file, of_file, n_questions, pairs.n_originals)


def _compare(check: CheckResult, file: str, what: str, found: float, stated: float | None) -> None:
    """Compares a number of the files with the one that is stated; None states nothing."""
    check.n_checked += stated is not None
    if stated not in (None, found):
        check.fault(file, None, f"{what}: {stated}, but the files have", found)


Numbers = Mapping[str, Any]


def check_measured(folder: AuditFolder, check: CheckResult) -> None:
    """Compares the numbers of each sub-dataset and of the folder, as far as its files can be read."""
    sizes: dict[str, dict[str, Any]] = {"splits": {}, "covr": {}}
    for hop in folder.hops:
        sections = _of_hop(folder, hop)
        _compare_measured(folder, folder.layout.hop_measured(hop.name), read_measured, sections, check)
        for section, of_hops in sizes.items():
            splits = sections[section].items()
            of_hops[hop.name] = {name: numbers and numbers["questions"] for name, numbers in splits}
    _compare_measured(folder, folder.layout.measured, read_measured_folder, sizes, check)


def _compare_measured(
    folder: AuditFolder, path: Path, read: Callable[[Path], Numbers], wanted: Numbers, check: CheckResult
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
        stated_value = stated.get(key)
        if isinstance(value, dict) and isinstance(stated_value, dict):
            yield from _differences(f"{place}.{key}", value, stated_value)
        elif value is not None and stated_value != value:
            expected = "there" if isinstance(value, dict) else value
            yield None, f"{place}.{key} is not {expected}, as in the files", stated_value
    if all(value is None or isinstance(value, dict) for value in wanted.values()):
        for key in sorted(stated.keys() - wanted.keys()):
            yield None, f"{place}: neither the manifest nor the files have it", key


def _of_hop(folder: AuditFolder, hop: Hop) -> dict[str, dict[str, Any]]:
    """The numbers of a sub-dataset's splits, suites, and splits over several images."""
    sections: dict[str, dict[str, Any]] = {"splits": {}, "suites": {}, "covr": {}}
    readable = (*folder.splits, *folder.sets, *folder.pairs)
    for split in (*folder.all_splits, *folder.all_sets):
        if split.hop == hop:
            of_kind = sections[split.kind.listed]
            of_kind[split.name] = _of_split(folder, split) if split in readable else None
    for file in folder.all_pairs:
        if file.hop == hop:
            of_suite = sections["suites"].setdefault(file.suite, {})
            of_suite[file.name] = _of_pairs(folder, file) if file in readable else None
    return sections


def _of_split(folder: AuditFolder, split: SplitFile) -> Numbers:
    with split.open() as arrays:
        numbers = {"pool": arrays.pool, "questions": len(arrays), "images": len(arrays.used)}
        if "clevr" in folder.manifest.world and split.name == TRAIN.name:
            from_clevr = list(clevr_scenes(folder, arrays.pool))
            numbers["images_from_clevr"] = int(np.isin(arrays.used, from_clevr).sum())
    return numbers


def _of_pairs(folder: AuditFolder, file: PairFile) -> Numbers:
    """The numbers of a suite's pairs on a split, and of each test that has a pair."""
    with file.open() as pairs:
        n = 2 * (len(pairs) // 2)
        column = {name: pairs.columns[name][:n:2] for name in ("test", "tier", "relation", "cell")}
        partners = pairs.columns["answers"][1:n:2]
        is_yes, is_no = (partners == folder.vocab.answers.get(name, -1) for name in ("yes", "no"))
        tests = {}
        for number, test in enumerate(pairs.tests):
            of_test = column["test"] == number
            if not of_test.any():
                continue
            relations = np.unique(column["relation"][of_test]).tolist()
            n_of_cells = Counter(column["cell"][of_test].tolist())
            tests[test] = {
                "tier": named(TIERS, int(column["tier"][of_test][0])),
                "relations": [named(RELATIONS, relation) for relation in relations],
                "pairs": int(of_test.sum()),
                "cells": {f"{cell:02b}": n for cell, n in sorted(n_of_cells.items())},
                "partners_yes": int((is_yes & of_test).sum()),
                "partners_yes_or_no": int(((is_yes | is_no) & of_test).sum()),
            }
        return {"pairs": len(pairs) // 2, "originals": pairs.n_originals, "tests": tests}
