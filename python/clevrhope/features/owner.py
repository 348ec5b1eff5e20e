"""A folder in, what its feature stores are bound to out: a dataset of ours, or CLEVR as it was published."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from clevrhope.dataset.clevr_folder import clevr_splits, images_folder
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, read_manifest
from clevrhope.errors import DatasetError
from clevrhope.runtime.json_text import as_json_values

OF_SCENES = ("attributes", "scene-boxes")
"""Kinds that are made from scene files, too."""


class Owner(Protocol):
    """Whose features a store holds."""

    @property
    def root(self) -> Path:
        """Its folder."""
        ...

    def described(self, *, images: bool) -> dict[str, Any]:
        """What its scenes depend on, and with `pictures` its images, too; as JSON gives it back.

        Raises:
            DatasetError: it is not finished.
        """
        ...

    def digest(self, pool: str, *, kind: str, images: bool) -> str:
        """SHA-256 of what a pool's features of a kind are made from; with `pictures`, of those too."""
        ...


class BuiltDataset:
    """A dataset that `clevrhope build` wrote."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    @property
    def root(self) -> Path:
        """As `Owner`."""
        return self.layout.root

    @cached_property
    def manifest(self) -> Manifest:
        """Of the dataset; errors as `dataset_manifest`."""
        return dataset_manifest(self.layout)

    def described(self, *, images: bool) -> dict[str, Any]:
        """As `Owner`."""
        manifest = self.manifest
        described: dict[str, Any] = {
            "version": manifest.version,
            "seed": manifest.seed,
            "world": manifest.world["fingerprint"],
        }
        if images:
            described["rendering"] = manifest.rendering
        # By way of JSON, as the other side of every comparison has gone.
        return dict(as_json_values(described))

    def digest(self, pool: str, *, kind: str, images: bool) -> str:
        """As `Owner`, from the manifest's checksums.

        Images of one pool are stored up to twice; the HDF5 file counts where there is one.
        """
        files = self.manifest.files
        chosen: list[str] = []
        if images:
            h5, prefix = f"images/{pool}.h5", f"images/{pool}/"
            chosen += [h5] if h5 in files else [each for each in files if each.startswith(prefix)]
        if kind in OF_SCENES:
            chosen += [each for each in files if each.startswith(f"scenes/{pool}/")]
        return _digest({name: files[name].sha256 for name in chosen})


class ClevrFolder:
    """CLEVR v1.0 as it was published, or a folder laid out like it; its splits are its pools."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def root(self) -> Path:
        """As `Owner`."""
        return self._root

    def pools(self) -> list[str]:
        """The splits whose questions are there, and images."""
        return [split for split in clevr_splits(self.root) if images_folder(self.root, split).is_dir()]

    def described(self, *, images: bool) -> dict[str, Any]:
        """As `Owner`: no more than whose they are, as the folder says nothing of itself."""
        return {"rendering": "CLEVR's own"} if images else {"world": "CLEVR's own"}

    def digest(self, pool: str, *, kind: str, images: bool) -> str:
        """As `Owner`, from the images' names and sizes."""
        folder = images_folder(self.root, pool)
        try:
            return _digest({path.name: str(path.stat().st_size) for path in folder.glob("*.png")})
        except OSError as error:
            raise DatasetError(f"{folder}: cannot be read ({error})") from error


def owner_of(root: Path) -> Owner:
    """Whose folder it is; one that is neither is taken for a dataset, whose errors tell what is missing."""
    if not Layout(root).manifest.exists() and clevr_splits(root):
        return ClevrFolder(root)
    return BuiltDataset(Layout(root))


def dataset_manifest(layout: Layout) -> Manifest:
    """The manifest of a finished dataset.

    Raises:
        DatasetError: there is none, or the dataset is not finished, or a part of one.
    """
    manifest = read_manifest(layout.manifest)
    if manifest is None:
        raise DatasetError(f"{layout.root}: no dataset of clevrhope (no {layout.manifest.name})")
    if manifest.shard is not None:
        raise DatasetError(f"{layout.root}: part of a dataset; join the parts with clevrhope merge first")
    if not manifest.complete:
        raise DatasetError(f"{layout.root}: not finished yet; run its build again first")
    return manifest


def _digest(files: Mapping[str, str]) -> str:
    rows = [f"{name} {files[name]}" for name in sorted(files)]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()
