"""The suites of paired tests in a folder, when the questions that they were made from change."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from clevrhope.dataset.contents import suite_splits_in, suites_in
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.runtime.atomic import disk_errors, record


def without_suites(
    layout: Layout, manifest: Manifest, hop: str, split: str | None = None, *, suite: str | None = None
) -> Manifest:
    """Removes pairs, of all splits and suites or of those named; returns the manifest without them.

    The file of the pairs goes last, so that one that is there is with its others. A run that is killed before
    it writes the manifest leaves a folder for which the same call removes what is left.

    Raises:
        DatasetError: there is no permission.
    """
    listed = manifest.suites.get(hop, {})
    kept: dict[str, Mapping[str, Any]] = {}
    removed: list[Path] = []
    for name in sorted({*listed, *suites_in(layout, hop)}):
        # A run that was killed may have written pairs that it did not list.
        there = {**dict.fromkeys(suite_splits_in(layout, hop, name)), **listed.get(name, {})}
        gone = [each for each in there if suite in (None, name) and split in (None, each)]
        left = {each: entry for each, entry in there.items() if each not in gone}
        if gone and not left:
            begin = f"{layout.relative(layout.suite(hop, name))}/"
            removed += [layout.root / each for each in manifest.files if each.startswith(begin)]
            removed.append(layout.suite_vocab(hop, name))
        for each in gone:
            removed += [layout.suite_json(hop, name, each), layout.suite_h5(hop, name, each)]
        if any(left.values()):
            kept[name] = {each: entry for each, entry in left.items() if entry is not None}
    if not removed:
        return manifest
    removed.sort(key=lambda path: path.suffix == ".h5")
    for path in removed:
        with disk_errors(path):
            path.unlink(missing_ok=True)
    for folder in sorted({path.parent for path in removed}, key=lambda folder: -len(folder.parts)):
        with suppress(OSError):  # pairs of another split are in it, or something of a user's
            folder.rmdir()
            folder.parent.rmdir()
            folder.parent.parent.rmdir()
    names = {layout.relative(path) for path in removed}
    suites = {
        **{name: each for name, each in manifest.suites.items() if name != hop},
        **({hop: kept} if kept else {}),
    }
    files = {name: each for name, each in manifest.files.items() if name not in names}
    return replace(manifest, suites=suites, files=files)


def without_damaged_suites(layout: Layout, manifest: Manifest) -> Manifest:
    """Removes the pairs of which a file is missing or not as the manifest lists it; returns the manifest.

    Raises:
        DatasetError: there is no permission.
    """

    def is_whole(path: Path) -> bool:
        known = manifest.files.get(layout.relative(path))
        return path.is_file() and (known is None or record(path) == known)

    for hop, of_hop in manifest.suites.items():
        for suite, of_suite in of_hop.items():
            vocab = is_whole(layout.suite_vocab(hop, suite))
            for split in of_suite:
                files = [layout.suite_h5(hop, suite, split), layout.suite_json(hop, suite, split)]
                if not (vocab and all(map(is_whole, files))):
                    manifest = without_suites(layout, manifest, hop, split, suite=suite)
    return manifest


def removed_suites(before: Manifest, after: Manifest) -> dict[str, list[str]]:
    """Suite -> sub-datasets on a split of which the first manifest has pairs, and the second has none."""
    found: dict[str, list[str]] = {}
    for hop, of_hop in sorted(before.suites.items()):
        for suite, splits in sorted(of_hop.items()):
            if splits.keys() - after.suites.get(hop, {}).get(suite, {}).keys():
                found.setdefault(suite, []).append(hop)
    return found
