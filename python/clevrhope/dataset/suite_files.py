"""Removes suites of paired tests from a folder when the questions that they were made from change."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from clevrhope.dataset.contents import suite_splits_in, suites_in
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.suite_pools import SuitePool
from clevrhope.dataset.suite_questions import augmented_split
from clevrhope.runtime.atomic import disk_errors, record
from clevrhope.splits.kinds import TRAIN


def without_suites(
    layout: Layout, manifest: Manifest, hop: str, split: str | None = None, *, suite: str | None = None
) -> Manifest:
    """Removes the files and images that suites made, for all splits and suites or for those named.

    Returns the manifest without them. If a run is killed before it writes the manifest, the same call removes
    what is left.

    Raises:
        DatasetError: a file may not be removed.
    """
    listed = manifest.suites.get(hop, {})
    for name in sorted({*listed, *suites_in(layout, hop)}):
        made = (split, augmented_split(name)) if split == TRAIN.name else (split,)
        # A run that was killed may have written pairs that it did not list.
        for each in dict.fromkeys((*listed.get(name, ()), *suite_splits_in(layout, hop, name))):
            if suite in (None, name) and (split is None or each in made):
                manifest = without_pairs(layout, manifest, hop, name, each, images=True)
    return manifest


def without_pairs(
    layout: Layout, manifest: Manifest, hop: str, suite: str, split: str, *, images: bool = False
) -> Manifest:
    """Removes the pairs of a suite on a split and, with `images`, the images and scenes that the suite made.

    The returned manifest lists none of these. The file of pairs is removed last, so that the other files
    exist as long as it does. Errors as for `without_suites`.
    """
    of_hop = manifest.suites.get(hop, {})
    there = {*of_hop.get(suite, ()), *suite_splits_in(layout, hop, suite)}
    if split not in there:
        return manifest
    pool = SuitePool(hop, suite, split).name
    left = {name: entry for name, entry in of_hop.get(suite, {}).items() if name != split}
    prefixes = tuple(f"{layout.relative(folder)}/" for folder in (layout.images(pool), layout.scenes(pool)))
    of_pool = [name for name in manifest.files if name.startswith(prefixes)]
    of_pool.append(layout.relative(layout.images_h5(pool)))
    removed = [layout.root / name for name in of_pool] if images else []
    removed.append(layout.suite_json(hop, suite, split))
    removed += [layout.suite_vocab(hop, suite)] if there == {split} else []
    removed.append(layout.suite_h5(hop, suite, split))
    for path in removed:
        with disk_errors(path):
            path.unlink(missing_ok=True)
    for folder in sorted({path.parent for path in removed}, key=lambda each: len(each.parts), reverse=True):
        with suppress(OSError):  # the folder has pairs of another split, or a user's files
            folder.rmdir()
            folder.parent.rmdir()
            folder.parent.parent.rmdir()
    names = {*map(layout.relative, removed), *of_pool}
    kept = {name: each for name, each in of_hop.items() if name != suite} | ({suite: left} if left else {})
    suites = {
        **{name: each for name, each in manifest.suites.items() if name != hop},
        **({hop: kept} if kept else {}),
    }
    files = {name: each for name, each in manifest.files.items() if name not in names}
    return replace(manifest, suites=suites, files=files)


def without_damaged_suites(layout: Layout, manifest: Manifest) -> Manifest:
    """Removes pairs if one of their files is missing or differs from the manifest; returns the manifest.

    Raises:
        DatasetError: a file may not be removed.
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
    """Suite -> sub-datasets with a split for which `before` lists pairs and `after` does not."""
    found: dict[str, list[str]] = {}
    for hop, of_hop in sorted(before.suites.items()):
        for suite, splits in sorted(of_hop.items()):
            if splits.keys() - after.suites.get(hop, {}).get(suite, {}).keys():
                found.setdefault(suite, []).append(hop)
    return found
