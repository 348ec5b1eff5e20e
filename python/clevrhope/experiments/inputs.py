"""Digests of what steps read from a dataset's folder; they change exactly when that changes."""

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
from clevrhope.dataset.manifest import read_plainly
from clevrhope.errors import DatasetError
from clevrhope.runtime.forms import TEXT, Fields, MapOf, check_form
from clevrhope.splits.covr.kinds import COVR_TRAIN, covr_file
from clevrhope.splits.kinds import TRAIN

_WHOLE = ("version", "seed", "world", "templates", "questions", "rendering")
"""Keys of the manifest that tell a dataset from another one that has taken its place."""

_TRAIN_FILES = (f"{TRAIN.name}.h5", f"{covr_file(COVR_TRAIN)}.h5")


@dataclass(frozen=True, slots=True)
class DatasetInputs:
    """The part of a dataset that a step reads."""

    dataset: Path
    part: str = ""
    """Empty for its settings, which every part includes; "images" for all images and scenes; "sources" for
    the test sets of all HOPs, without those of suites; "tests/HOP" for the test sets of a HOP and its suites.
    Train sets are in no part: they only grow at their ends, and a run uses the first questions."""

    @property
    def digest(self) -> str:
        """SHA-256 of this part according to the manifest; "no manifest" where that cannot be read."""
        path = Layout(self.dataset).manifest
        try:
            stat = path.stat()
            digests = _read(path, stat.st_mtime_ns, stat.st_size)
        except (OSError, DatasetError):
            return "no manifest"
        kind, _, hop = self.part.partition("/")
        named = [(name.partition("/"), digest) for name, digest in digests.items()]
        own = [digest for (each, _, its_hop), digest in named if each == kind and same_hop(its_hop, hop)]
        return _sha256([digests[""], *own])


@lru_cache(maxsize=8)
def _read(path: Path, changed_ns: int, n_bytes: int) -> Mapping[str, str]:
    """Part -> digest. A manifest, of 400,000 files at the paper's size, is read once until it changes."""
    raw = read_plainly(path)
    check_form(raw, Fields({}, {"files": MapOf(Fields({"sha256": TEXT}))}), path)
    parts: dict[str, list[Any]] = defaultdict(list)
    parts[""] = [raw.get(name) for name in _WHOLE]
    for name, entry in sorted(raw.get("files", {}).items()):
        folder, *rest = name.split("/")
        if folder in ("images", "scenes"):
            parts["images"].append((name, entry["sha256"]))
        elif folder in ("hops", "covr") and name.endswith(".h5") and rest[-1] not in _TRAIN_FILES:
            parts[f"tests/{rest[0]}"].append((name, entry["sha256"]))
            if folder == "hops" and "suites" not in rest:
                parts["sources"].append((name, entry["sha256"]))
    return {part: _sha256(content) for part, content in parts.items()}


def _sha256(content: Any) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
