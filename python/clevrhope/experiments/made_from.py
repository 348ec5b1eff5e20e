"""A dataset's folder in, digests of what steps read of it out: they change when that does, and only then."""

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

_WHOLE = ("version", "seed", "world", "templates", "questions", "rendering")
"""Of the manifest: what a folder is bound to, so that it changes where another dataset takes its place."""

_NO_MANIFEST = "no manifest"


@dataclass(frozen=True, slots=True)
class MadeFrom:
    """What a step reads of a dataset.

    Attributes:
        dataset: its folder.
        images: whether images and scenes count, all of them.
        tests_of: the pair whose test sets count. Train sets never do: they grow at their ends, and a run is
            on the first so many questions.
    """

    dataset: Path
    images: bool = False
    tests_of: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of it, as far as the dataset's manifest tells; a text of its own where there is none."""
        path = Layout(self.dataset).manifest
        try:
            stat = path.stat()
            digests = _read(path, stat.st_mtime_ns, stat.st_size)
        except (OSError, DatasetError):
            return _NO_MANIFEST
        tests = [
            digest
            for hop, digest in digests.tests.items()
            if self.tests_of is not None and same_hop(hop, self.tests_of)
        ]
        return _sha256([digests.whole, digests.images if self.images else None, tests])


@dataclass(frozen=True, slots=True)
class _Digests:
    """Of a manifest: of what binds the folder, of its images and scenes, and of each pair's test sets."""

    whole: str
    images: str
    tests: Mapping[str, str]


@lru_cache(maxsize=8)
def _read(path: Path, changed_ns: int, n_bytes: int) -> _Digests:
    """Read once as long as it does not change: of a dataset of the paper's size it has 400,000 files."""
    raw = read_object(path, "a manifest", max_bytes=MAX_MANIFEST_BYTES)
    check_form(raw, Fields({}, {"files": MapOf(Fields({"sha256": TEXT}))}), path)
    images: list[tuple[str, str]] = []
    tests: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, said in sorted(raw.get("files", {}).items()):
        folder, *rest = name.split("/")
        if folder in ("images", "scenes"):
            images.append((name, said["sha256"]))
        elif folder == "hops" and name.endswith(".h5") and rest[-1] != "train.h5":
            tests[rest[0]].append((name, said["sha256"]))
    whole = {name: raw.get(name) for name in _WHOLE}
    return _Digests(_sha256(whole), _sha256(images), {hop: _sha256(each) for hop, each in tests.items()})


def _sha256(content: Any) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
