"""The measurements that pages show, measured.json: one file beside each datasheet.

Every number in it was counted in the dataset's files when a build or a suite was finished. Datasheets,
statistics and the audit read it, so that nobody has to read numbers in prose.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.errors import DatasetError, shown
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.forms import (
    BOOLEAN,
    COUNT,
    INDEX,
    NAME,
    NUMBER,
    TEXT,
    Fields,
    ListOf,
    MapOf,
    Nullable,
    check_form,
)
from clevrhope.runtime.json_text import read_object

FORMAT = 1
"""Version of the files' keys."""

MAX_BYTES = 1 << 26
"""The most bytes of such a file; a pair with suites and sets in CLEVR's world has 300 KB."""

REMEDY = "run the dataset's build again to measure its files"


def read_measured(path: Path) -> dict[str, Any]:
    """Reads the measurements of a sub-dataset; `docs/files.md` lists their keys.

    Raises:
        DatasetError: the file is missing, broken, of another form, or not that of this sub-dataset.
    """
    found = _read(path, OF_HOP)
    if found["hop"] != path.parent.name:
        raise DatasetError(
            f"{path}: measurements of {shown(found['hop'])}, but the folder is {path.parent.name}; {REMEDY}"
        )
    return found


def read_measured_folder(path: Path) -> dict[str, Any]:
    """Reads the measurements of a whole dataset; raises as `read_measured` does."""
    return _read(path, OF_FOLDER)


def read_fitting(layout: Layout, manifest: Manifest, hop: str) -> dict[str, Any]:
    """Reads the measurements of a sub-dataset, whose sizes must be those of the manifest.

    Raises:
        DatasetError: as for `read_measured`, or a split, suite or size is not the manifest's.
    """
    path = layout.hop_measured(hop)
    found = read_measured(path)
    for place in ("splits", "covr"):
        stated, measured = (
            {split: entry["questions"] for split, entry in entries.items()}
            for entries in (getattr(manifest, place).get(hop, {}), found[place])
        )
        if stated != measured:
            raise DatasetError(
                f"{path}: questions of {place}: {shown(measured)}, but the manifest has {shown(stated)}; "
                f"{REMEDY}"
            )
    return found


def write_measured(path: Path, measured: Mapping[str, Any]) -> None:
    """Writes measurements whole."""
    content = json.dumps({"format": FORMAT, **measured}, indent=1, ensure_ascii=False)
    write_whole(path, f"{content}\n".encode())


def _read(path: Path, form: Fields) -> dict[str, Any]:
    found = read_object(path, "measurements of a dataset", remedy=REMEDY, max_bytes=MAX_BYTES)
    if found.get("format") != FORMAT:
        raise DatasetError(
            f"{path}: format {shown(found.get('format'))}, but this version of clevrhope reads format "
            f"{FORMAT}; {REMEDY}"
        )
    check_form(found, form, path, remedy=REMEDY)
    return found


_COUNTS = MapOf(COUNT)
_SHARES = MapOf(Nullable(NUMBER))
_NAMED_FAMILY = {"question_family_index": INDEX, "file": TEXT, "place": INDEX}
_SPLIT = Fields(
    {
        **dict.fromkeys(("questions", "images", "images_shared", "objects"), COUNT),
        **dict.fromkeys(("answers", "answer_types", "words", "functions", "relations", "values"), _COUNTS),
        **dict.fromkeys(("relations_a_question", "objects_an_image", "questions_an_image"), _COUNTS),
        "pool": NAME,
        "questions_with_all_relations_needed": Nullable(COUNT),
        "files": _COUNTS,
        "families": ListOf(Fields({**_NAMED_FAMILY, "questions": COUNT, "answers": _COUNTS})),
        "pairs": ListOf(Fields({"values": MapOf(TEXT), "objects": COUNT, "images": COUNT})),
        "most_frequent_answer": TEXT,
        "baselines": _SHARES,
    },
    {
        "images_from_clevr": COUNT,
        "from_clevr_by_objects": MapOf(Fields({"images": COUNT, "from_clevr": COUNT})),
    },
)
_TEST = Fields(
    {
        "type": TEXT,
        "tier": TEXT,
        "relations": ListOf(TEXT),
        "pairs": COUNT,
        "cells": _COUNTS,
        "partners_yes": COUNT,
        "partners_yes_or_no": COUNT,
    },
    {"partners_by_words": Nullable(COUNT)},
)
_SUITE = Fields({"pairs": COUNT, "originals": COUNT, "empty_tests": ListOf(TEXT), "tests": MapOf(_TEST)})
_TEMPLATE = Fields(
    {
        "questions": COUNT,
        "answers": _COUNTS,
        "cut": Fields(dict.fromkeys(("changed", "numbers", "stays", "exempt"), COUNT)),
    }
)
_SETS = Fields(
    {
        **dict.fromkeys(("questions", "images"), COUNT),
        **dict.fromkeys(("images_a_question", "answers", "structures", "properties"), _COUNTS),
        **dict.fromkeys(("pair_places", "tokens", "functions"), _COUNTS),
        "pool": NAME,
        "templates": MapOf(_TEMPLATE),
        "pairs_not_found": _COUNTS,
        "baselines": _SHARES,
    },
    {"texts": COUNT, "anonymised_programs": COUNT, "operators": MapOf(_COUNTS)},
)

OF_HOP = Fields(
    {
        "hop": NAME,
        "diversity": COUNT,
        "held_out": MapOf(TEXT),
        "splits": MapOf(_SPLIT, keys=NAME),
        "distances": ListOf(Fields({"a": TEXT, "b": TEXT, "total_variation": _SHARES, "by_chance": _SHARES})),
        "families": ListOf(Fields({**_NAMED_FAMILY, "can_mention": BOOLEAN})),
        "suites": MapOf(MapOf(_SUITE, keys=NAME), keys=NAME),
        "covr": MapOf(_SETS, keys=NAME),
    }
)
"""The form of a sub-dataset's measurements."""

_POOL = Fields(dict.fromkeys(("scenes_so_far", "images", "images_shared", "uses"), COUNT))
_SIZES = MapOf(MapOf(COUNT, keys=NAME), keys=NAME)
OF_FOLDER = Fields(
    {
        "answers": COUNT,
        "diversity": MapOf(COUNT, keys=NAME),
        "splits": _SIZES,
        "covr": _SIZES,
        "pools": MapOf(_POOL, keys=NAME),
        "bytes": _COUNTS,
    }
)
"""The form of a folder's measurements: `splits` and `covr` have the questions of each split."""
