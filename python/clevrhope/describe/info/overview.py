"""An overview of a dataset's folder, read only from the manifest and the sizes of files."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.folder import Folder
from clevrhope.dataset.image_source import png_indices
from clevrhope.dataset.image_store import stored_images
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, existing_manifest
from clevrhope.describe.info.reproduction import reproduction
from clevrhope.features.store import read_info, stores_in
from clevrhope.version import DATASET_VERSION, software_version

KINDS: Mapping[str, str] = {
    "images": "images",
    "passes": "passes",
    "scenes": "scenes",
    "questions": "hops",
    "questions about several images": "covr",
    "episodes with nonce words": "nonce",
    "suites": "suites",
    "other files": "",
}
"""Kinds of files, each with its key in `Manifest.bytes_by_folder`."""


@dataclass(frozen=True)
class Store:
    """A store of features: its name, what it holds, its images and bytes."""

    name: str
    kind: str
    pools: tuple[str, ...]
    bytes: int


class Overview:
    """The information that `info` shows on a dataset."""

    def __init__(self, folder: Path) -> None:
        """Reads the manifest of a dataset's folder, and the sizes of files.

        Raises:
            WrongFolderError: the folder is not a dataset; the message says what it is.
            DatasetError: its manifest is damaged.
        """
        layout = Layout(folder)
        self.manifest = manifest = existing_manifest(layout.manifest)
        self.folder = Path(Folder(layout, manifest).title)
        """The folder, as the user gave it, or see `Folder.title`."""
        self.part = manifest.part
        """Such as "3/16" for one machine's part; None for a whole dataset."""
        self.n_waiting = 0 if manifest.complete else _n_waiting(layout, manifest)
        """Images that an interrupted build rendered but did not yet list in the manifest."""
        self.stores = tuple(_store(path) for path in stores_in(folder))
        """The feature stores."""
        sums = manifest.bytes_by_folder()
        n_bytes = {kind: sums.get(key, 0) for kind, key in KINDS.items()}
        n_bytes["other files"] += layout.manifest.stat().st_size
        n_bytes["features"] = sum(store.bytes for store in self.stores)
        self.bytes = {kind: n for kind, n in n_bytes.items() if n}
        """Kind of files -> bytes, for kinds that exist."""
        is_of_this_version = manifest.version == DATASET_VERSION
        is_made = is_of_this_version and self.part is None and bool(manifest.splits or manifest.nonce)
        self.reproduction = reproduction(folder, manifest) if is_made else None
        """How to make the dataset again; None for a part, and for another dataset version."""

    @property
    def n_questions(self) -> int:
        """Number of questions of all kinds, without those of suites."""
        return self.manifest.n_questions

    @property
    def n_images(self) -> int:
        """Number of rendered images."""
        return sum(entry["images"] for entry in self.manifest.pools.values())

    def as_json(self) -> dict[str, Any]:
        """The whole overview, for `--json`."""
        manifest, made = self.manifest, self.reproduction
        return {
            "folder": str(self.folder),
            "complete": manifest.complete,
            "part": self.part,
            "dataset_version": manifest.version,
            "clevrhope": software_version(),
            "edition": manifest.edition,
            "seed": None if manifest.source else manifest.seed,
            "world": manifest.world,
            "templates": manifest.templates,
            "settings": manifest.settings.changed_settings(),
            "rendering": manifest.rendering,
            "config": manifest.config,
            "questions": self.n_questions,
            "images": self.n_images,
            "images_waiting": self.n_waiting,
            "splits": manifest.splits,
            "covr": manifest.covr,
            "nonce": manifest.nonce,
            "suites": manifest.suites,
            "pools": manifest.pools,
            "features": [asdict(store) for store in self.stores],
            "bytes": self.bytes,
            "reproduction": None if made is None else asdict(made),
        }


def _n_waiting(layout: Layout, manifest: Manifest) -> int:
    """The number of images of pools without images in the manifest, as PNG files or in unfinished HDF5."""
    pools = {str(entry["pool"]) for _, _, entry in manifest.all_splits() if "pool" in entry}
    n_waiting = 0
    for pool in pools - manifest.pools.keys():
        stored = stored_images(layout.image_store(pool), checks=False)
        n_waiting += len(np.union1d(png_indices(layout.images(pool), pool), stored))
    return n_waiting


def _store(folder: Path) -> Store:
    pools = tuple(sorted(path.parent.name for path in folder.glob("*/pool.json")))
    return Store(folder.name, read_info(folder).kind, pools, _bytes_below(folder))


def _bytes_below(folder: Path) -> int:
    n_bytes = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # a temporary file that is gone, or a dangling link
                n_bytes += (Path(parent) / name).stat().st_size
    return n_bytes
