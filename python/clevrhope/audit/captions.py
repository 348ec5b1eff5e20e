"""The checks of a folder of captions, in code that shares nothing with the code that makes it."""

import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from PIL import Image

from clevrhope.audit.report import CheckResult, Report, Results, new_results
from clevrhope.dataset.captions import MATCHING_IID, CaptionTable, read_captions
from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import record
from clevrhope.runtime.reading import reading
from clevrhope.splits.hops import NAME_ORDER
from clevrhope.splits.kinds import MINIMAL_IID

CHECKS = tuple(f"captions: {name}" for name in ("files", "truth", "words", "pair"))

Row = tuple[str, Mapping[str, Any], bool]
"""A caption, its scene, and whether it is said to have the held-out values."""


def audit_captions(folder: Path) -> Report:
    """Proves what can be proved about a folder of captions from its files.

    Raises:
        DatasetError: captions.json is missing or broken; faults of other files are in the report.
    """
    tables, results = read_captions(folder), new_results(CHECKS)
    for table in tables:
        file = table.path(folder).relative_to(folder).as_posix()
        files = results["captions: files"]
        try:
            files.n_checked += 1
            if record(table.path(folder)).sha256 != table.sha256:
                files.fault(file, None, "its SHA-256 differs from captions.json", table.sha256)
            columns = table.columns(folder, "caption", "scene", "has_pair")
            with reading(table.path(folder), "a table of captions"):
                sizes = {Image.open(io.BytesIO(content)).size for content in table.images(folder)}
                columns[1] = [json.loads(scene) for scene in columns[1]]
                rows: list[Row] = list(zip(*columns, strict=True))
                _check_groups(table, rows, file, results)
        except DatasetError as error:
            files.fault(file, None, "it cannot be read", error)
            continue
        if len(sizes) > 1:
            files.fault(file, None, "its images have several sizes", sorted(sizes))
    for result in results.values():
        result.finish()
    return Report(str(folder), tuple(dict.fromkeys(table.hop for table in tables)), tuple(results.values()))


def _check_groups(table: CaptionTable, rows: Sequence[Row], file: str, results: Results) -> None:
    truth, words, pair = (results[name] for name in CHECKS[1:])
    is_iid = table.split in (MATCHING_IID, MINIMAL_IID)
    for begin in range(0, len(rows), table.group_size):
        group = rows[begin : begin + table.group_size]
        for k, (caption, scene, said) in enumerate(group, begin):
            truth.n_checked += 1
            if [_is_true(caption, other[1]) for other in group] != [other[1] is scene for other in group]:
                truth.fault(file, k, "its caption is not true of its image alone", caption)
            pair.n_checked += 1
            held = {value for _, value in table.held_out}
            shown = any(held <= _values(item) for item in scene["objects"])
            named = any(held <= {*noun.split()} for noun in caption.split(" and "))
            if not shown == named == said or (is_iid and shown):
                pair.fault(file, k, "it should not have the held-out values, or be marked so", caption)
        if not is_iid and sum(said for *_, said in group) != 1:
            pair.fault(file, begin, "not one image of its group has the held-out values", group[0][0])
        words.n_checked += 1
        _check_words(table, group, file, begin, words)


def _check_words(table: CaptionTable, group: Sequence[Row], file: str, row: int, check: CheckResult) -> None:
    """Whether all that differs within a group is its values or, of two objects, which of them has which."""
    captions = [Counter(caption.split()) for caption, *_ in group]
    kinds = {kind for kind, _ in table.held_out}
    bags, stages = [], []
    for _, scene, _ in group:
        bags.append(Counter(value for item in scene["objects"] for value in _values(item)))
        objects = [
            [
                item["3d_coords"][:2],
                item["rotation"],
                *(item[kind] for kind in NAME_ORDER if kind not in kinds),
            ]
            for item in scene["objects"]
        ]
        stages.append((scene["camera"], scene["lights"], objects))
    if any(stage != stages[0] for stage in stages):
        check.fault(file, row, "more than values of the pair's types differs in its group", group[0][0])
    if table.split.startswith("matching") and (captions[0] != captions[1] or bags[0] != bags[1]):
        check.fault(file, row, "the words or values of its group differ", group[0][0])


def _is_true(caption: str, scene: Mapping[str, Any]) -> bool:
    """Whether each noun of a caption describes another object."""
    nouns = [{*noun.split()} - {"a", "an", "thing"} for noun in caption.split(" and ")]
    return any(
        all(noun <= _values(item) for noun, item in zip(nouns, items, strict=True))
        for items in permutations(scene["objects"], len(nouns))
    )


def _values(item: Mapping[str, Any]) -> set[str]:
    return {item[kind] for kind in NAME_ORDER}
