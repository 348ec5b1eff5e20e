"""The suites of paired tests in a folder, when the questions that they were made from change."""

from contextlib import suppress
from dataclasses import replace

from clevrhope.dataset.augmented_h5 import augmented_split
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.suite_pools import SuitePool
from clevrhope.runtime.atomic import disk_errors
from clevrhope.splits.kinds import TRAIN


def without_suites(layout: Layout, manifest: Manifest, hop: str, split: str) -> Manifest:
    """Removes what all suites made of a split, and images of their own; returns the manifest without it.

    Raises:
        DatasetError: there is no permission.
    """
    for suite in list(manifest.suites.get(hop, {})):
        made = augmented_split(suite) if split == TRAIN.name else split
        manifest = without_pairs(layout, manifest, hop, suite, made, images=True)
    return manifest


def without_pairs(
    layout: Layout, manifest: Manifest, hop: str, suite: str, split: str, *, images: bool = False
) -> Manifest:
    """Removes the pairs of a suite on a split, with `images` also images and scenes that the suite made.

    The manifest that is returned lists none of all these. Errors as `without_suites`.
    """
    of_hop = manifest.suites.get(hop, {})
    if split not in of_hop.get(suite, {}):
        return manifest
    pool = SuitePool(hop, suite, split).name
    left = {name: entry for name, entry in of_hop[suite].items() if name != split}
    removed = [layout.suite_h5(hop, suite, split), layout.suite_json(hop, suite, split)]
    removed += [] if left else [layout.suite_vocab(hop, suite)]
    prefixes = tuple(f"{layout.relative(folder)}/" for folder in (layout.images(pool), layout.scenes(pool)))
    of_pool = [name for name in manifest.files if name.startswith(prefixes)]
    of_pool.append(layout.relative(layout.images_h5(pool)))
    removed += [layout.root / name for name in of_pool] if images else []
    for path in removed:
        with disk_errors(path):
            path.unlink(missing_ok=True)
    for folder in sorted({path.parent for path in removed}, key=lambda each: len(each.parts), reverse=True):
        with suppress(OSError):  # pairs of another split are in it, or something of a user's
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


def removed_suites(before: Manifest, after: Manifest) -> dict[str, list[str]]:
    """Suite -> sub-datasets on a split of which the first manifest has pairs, and the second has none."""
    found: dict[str, list[str]] = {}
    for hop, of_hop in sorted(before.suites.items()):
        for suite, splits in sorted(of_hop.items()):
            if splits.keys() - after.suites.get(hop, {}).get(suite, {}).keys():
                found.setdefault(suite, []).append(hop)
    return found
