"""The dataset from which features are made."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from clevrhope.dataset.folder import Folder
from clevrhope.dataset.image_source import Images, find_images, png_indices
from clevrhope.dataset.images_h5 import images_in
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.source_images import source_images
from clevrhope.dataset.suite_pools import SuitePool
from clevrhope.runtime.json_text import as_json_values


class BuiltDataset:
    """A dataset that `clevrhope build` wrote."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.layout = Layout(root)

    @cached_property
    def manifest(self) -> Manifest:
        """The dataset's manifest; raises the errors of `Folder.open`."""
        return Folder.open(self.root).manifest

    def described(self, *, images: bool) -> dict[str, Any]:
        """Everything on which the scenes and, with `images`, the images depend, as JSON values.

        Raises:
            DatasetError: the dataset is not finished.
        """
        manifest = self.manifest
        described: dict[str, Any] = {
            "version": manifest.version,
            "seed": manifest.seed,
            "world": manifest.world["fingerprint"],
        }
        if images:
            described["rendering"] = manifest.rendering
        # Converted through JSON, like the other side of every comparison.
        return dict(as_json_values(described))

    def digest(self, pool: str, *, images: bool, scenes: bool) -> str:
        """SHA-256 of the manifest's checksums of all images, scene files or both of a pool.

        If a pool's images are stored both as HDF5 and as PNG, only the HDF5 file counts.
        """
        files = self.manifest.files
        chosen: list[str] = []
        layout = self.layout
        if images:
            h5 = layout.relative(layout.images_h5(pool))
            prefix = f"{layout.relative(layout.images(pool))}/"
            packed = [each for each in (h5, layout.relative(layout.image_record(pool))) if each in files]
            chosen += packed or [each for each in files if each.startswith(prefix)]
        if scenes:
            prefix = f"{layout.relative(layout.scenes(pool))}/"
            chosen += [each for each in files if each.startswith(prefix)]
        return _digest({name: files[name].sha256 for name in chosen})

    def pools(self) -> list[str]:
        """The pools with scenes or images, including those of suites."""
        # A manifest lists only pools that have images; all pools have scenes.
        with_scenes = (path.parent.name for path in (self.root / "scenes").glob("*/[!.]*.json"))
        of_suites = (
            SuitePool(hop, suite, split).name
            for hop, suites in self.manifest.suites.items()
            for suite, splits in suites.items()
            for split, entry in splits.items()
            if entry.get("images")
        )
        return sorted({*self.manifest.pools, *with_scenes, *of_suites})

    def image_indices(self, pool: str) -> Ints:
        """(n,) int32: the scenes of a pool that have an image, sorted."""
        if (imported := source_images(self.layout, pool)) is not None:
            return imported.record.indices
        h5 = images_in(self.layout.images_h5(pool))
        return h5 if len(h5) else png_indices(self.layout.images(pool), pool)

    def images(self, pool: str, indices: Ints) -> Images | None:
        """The images of these scenes; None if there are none."""
        return find_images(self.layout, pool, indices, prefer="h5")


def _digest(files: Mapping[str, str]) -> str:
    rows = [f"{name} {files[name]}" for name in sorted(files)]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()
