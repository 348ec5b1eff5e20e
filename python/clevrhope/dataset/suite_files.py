"""The suites of paired tests in a folder, when the questions that they were made from change."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from clevrhope.dataset.augmented_h5 import augmented_split
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.runtime.atomic import disk_errors
from clevrhope.splits.kinds import TRAIN


def without_suites(layout: Layout, manifest: Manifest, hop: str, split: str) -> Manifest:
    """Removes what all suites made of a split; returns the manifest without it.

    Raises:
        DatasetError: there is no permission.
    """
    kept: dict[str, Mapping[str, Any]] = {}
    removed = []
    for suite, of_suite in manifest.suites.get(hop, {}).items():
        made = augmented_split(suite) if split == TRAIN.name else split
        left = {name: entry for name, entry in of_suite.items() if name != made}
        if len(left) < len(of_suite):
            removed += [layout.suite_h5(hop, suite, made), layout.suite_json(hop, suite, made)]
            removed += [] if left else [layout.suite_vocab(hop, suite)]
        if left:
            kept[suite] = left
    if not removed:
        return manifest
    for path in removed:
        with disk_errors(path):
            path.unlink(missing_ok=True)
    for folder in {path.parent for path in removed}:
        with suppress(OSError):  # pairs of another split are in it, or something of a user's
            folder.rmdir()
            folder.parent.rmdir()
    names = {layout.relative(path) for path in removed}
    suites = {
        **{name: each for name, each in manifest.suites.items() if name != hop},
        **({hop: kept} if kept else {}),
    }
    files = {name: each for name, each in manifest.files.items() if name not in names}
    return replace(manifest, suites=suites, files=files)


def removed_suites(before: Manifest, after: Manifest) -> dict[str, list[str]]:
    """Suite -> sub-datasets on a split of which the first manifest has pairs, and the second has none."""
    found: dict[str, list[str]] = {}
    for hop, of_hop in sorted(before.suites.items()):
        for suite, splits in sorted(of_hop.items()):
            if splits.keys() - after.suites.get(hop, {}).get(suite, {}).keys():
                found.setdefault(suite, []).append(hop)
    return found
