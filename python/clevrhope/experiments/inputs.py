"""Digests of what steps read of a dataset's folder; they change exactly when that changes."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from clevrhope.dataset.contents import same_hop
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import MAX_MANIFEST_BYTES
from clevrhope.errors import DatasetError
from clevrhope.runtime.forms import TEXT, Fields, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.splits.covr.kinds import COVR_TRAIN, covr_file
from clevrhope.splits.kinds import TRAIN

_WHOLE = ("version", "seed", "world", "templates", "questions", "rendering")
"""Keys of the manifest that a folder is bound to; they differ where another dataset takes its place."""

_TRAIN_FILES = (f"{TRAIN.name}.h5", f"{covr_file(COVR_TRAIN)}.h5")


@dataclass(frozen=True, slots=True)
class DatasetInputs:
    """The parts of a dataset that a step reads.

    Attributes:
        dataset: its folder.
        images: whether all images and scenes count.
        sources: whether the test sets of all HOPs count, without what suites have made of them.
        tests_of: the HOP whose test sets count, with those of its suites. Train sets never count: they only
            grow at their ends, and a run uses the first questions.
    """

    dataset: Path
    images: bool = False
    sources: bool = False
    tests_of: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of these parts by the dataset's manifest; "no manifest" where it cannot be read."""
        path = Layout(self.dataset).manifest
        try:
            stat = path.stat()
            digests = _read(path, stat.st_mtime_ns, stat.st_size)
        except (OSError, DatasetError):
            return "no manifest"
        tests = [
            digest
            for hop, digest in digests.tests.items()
            if self.tests_of is not None and same_hop(hop, self.tests_of)
        ]
        sources = [digests.sources] if self.sources else []
        return _sha256([digests.whole, digests.images if self.images else None, tests, *sources])


@dataclass(frozen=True, slots=True)
class _Digests:
    """Digests of what binds a folder, of its images and scenes, and of test sets.

    Attributes:
        sources: of all HOPs, without suites.
        tests: of each HOP, with its suites.
    """

    whole: str
    images: str
    sources: str
    tests: Mapping[str, str]


@lru_cache(maxsize=8)
def _read(path: Path, changed_ns: int, n_bytes: int) -> _Digests:
    """Reads a manifest once until it changes: at the paper's size it lists 400,000 files."""
    raw = read_object(path, "a manifest", max_bytes=MAX_MANIFEST_BYTES)
    check_form(raw, Fields({}, {"files": MapOf(Fields({"sha256": TEXT}))}), path)
    images: list[tuple[str, str]] = []
    sources: list[tuple[str, str]] = []
    tests: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, entry in sorted(raw.get("files", {}).items()):
        folder, *rest = name.split("/")
        if folder in ("images", "scenes"):
            images.append((name, entry["sha256"]))
        elif folder in ("hops", "covr") and name.endswith(".h5") and rest[-1] not in _TRAIN_FILES:
            tests[rest[0]].append((name, entry["sha256"]))
            if folder == "hops" and "suites" not in rest:
                sources.append((name, entry["sha256"]))
    whole = {name: raw.get(name) for name in _WHOLE}
    by_hop = {hop: _sha256(each) for hop, each in tests.items()}
    return _Digests(_sha256(whole), _sha256(images), _sha256(sources), by_hop)


def _sha256(content: Any) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
