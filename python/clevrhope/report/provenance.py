"""Where the numbers of results.csv come from: datasets, versions and machines, as provenance.json."""

import json
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import ClevrhopeError, PredictionsError
from clevrhope.report.runs import RUN_FILE, Source
from clevrhope.runtime.atomic import record
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.made_with import made_with

_OF_RUNS = ("made_with", "threads", "precision")
"""What is said of a run, as run.json has it; runs before these were recorded lack some."""


def provenance(sources: Sequence[Source], results: bytes) -> bytes:
    """The content of provenance.json for a report's sources and its results.csv.

    `results_sha256` is the digest of results.csv, and `report` says what wrote it. `datasets` has version,
    seed and the manifest's digest of each folder, and `runs` counts the runs by what made them. Files of
    predictions that are no run's have their digests in `files`, as nothing else is known of them.
    """
    datasets = dict.fromkeys(each.dataset.resolve() for each in sources)
    runs = Counter(
        json.dumps(_of_run(origin)) for origin in dict.fromkeys(each.origin for each in sources if each.hop)
    )
    content = {
        "results_sha256": sha256(results).hexdigest(),
        "report": made_with(),
        "datasets": [_of_dataset(Layout(folder)) for folder in datasets],
        "runs": [{"n": n, **json.loads(text)} for text, n in runs.items()],
        "files": {each.path.name: record(each.path).sha256 for each in sources if not each.hop},
    }
    return (json.dumps(content, indent=2) + "\n").encode()


def _of_run(origin: Path) -> dict[str, Any]:
    run = read_object(origin / RUN_FILE, "a run of clevrhope train", error=PredictionsError, remedy="")
    return {name: run[name] for name in _OF_RUNS if name in run}


def _of_dataset(layout: Layout) -> dict[str, Any]:
    """A dataset's folder by its manifest; the name alone where that cannot be read."""
    try:
        manifest = existing_manifest(layout.manifest)
    except ClevrhopeError:
        return {"folder": layout.root.name}
    return {
        "folder": layout.root.name,
        "version": manifest.version,
        "seed": manifest.seed,
        "manifest_sha256": record(layout.manifest).sha256,
    }
