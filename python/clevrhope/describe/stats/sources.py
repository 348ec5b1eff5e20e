"""The folders whose splits have statistics: datasets of clevrhope, and folders laid out like CLEVR.

The numbers of a dataset are those of its measured.json; a CLEVR folder is measured. A dataset has a group of
splits for each HOP; a CLEVR folder has one group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clevrhope.dataset.clevr_folder import clevr_splits
from clevrhope.dataset.contents import no_hop
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.folder_check import no_dataset
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.measured import read_fitting
from clevrhope.describe.clevr import measure_clevr_split
from clevrhope.describe.measured import Measured
from clevrhope.errors import ConfigError, DatasetError

CLEVR = "CLEVR"
"""Name of the only group of a CLEVR folder."""

NOTHING: Mapping[str, Any] = {"held_out": {}, "suites": {}, "covr": {}}
"""What CLEVR has of the keys of measured.json."""


@dataclass(frozen=True)
class ClevrSource:
    """CLEVR, or a folder laid out like it."""

    root: Path
    splits: Sequence[str]

    name = CLEVR
    """Name of the folder in tables."""

    @property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """Group -> its splits."""
        return {CLEVR: self.splits}

    def group(self, name: str) -> str:
        """The group with this name, which must be CLEVR; raises a ConfigError for another."""
        if name != CLEVR:
            raise ConfigError(
                f'{self.root}: a CLEVR folder has no sub-datasets, so no "{name}"; leave out --hop'
            )
        return name

    def of_group(self, group: str) -> Mapping[str, Any]:
        """The measurements of a group, as in measured.json, but for its splits."""
        return NOTHING

    def measure(self, group: str, split: str) -> Measured:
        """Measures a split; raises a DatasetError if its files are broken."""
        return measure_clevr_split(self.root, split)


@dataclass(frozen=True)
class DatasetSource:
    """A dataset of clevrhope, whose numbers are those of its measured.json."""

    folder: Folder
    _measured: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The dataset's folder."""
        return self.folder.root

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.root.resolve().name

    @property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """HOP -> its splits."""
        return {hop: list(splits) for hop, splits in self.folder.manifest.splits.items()}

    def group(self, name: str) -> str:
        """The HOP with this name, whose values may be in any order; raises a ConfigError if there is none."""
        if name in self.groups:
            return name
        known = self.folder.hop(name).name
        if known not in self.groups:
            raise no_hop(self.root, known, list(self.groups))
        return known

    def of_group(self, group: str) -> Mapping[str, Any]:
        """The measurements of a HOP, as in measured.json; raises as `read_fitting` does."""
        if group not in self._measured:
            self._measured[group] = read_fitting(self.folder.layout, self.folder.manifest, group)
        return self._measured[group]

    def measure(self, group: str, split: str) -> Measured:
        """The measurements of a split; raises as `of_group` does."""
        measured: Measured = self.of_group(group)["splits"][split]
        return measured


Source = ClevrSource | DatasetSource
"""A folder whose splits can be measured."""


def open_source(root: Path) -> Source:
    """The dataset in a folder.

    Raises:
        WrongFolderError: there is no dataset.
        DatasetError: the folder has only a part of a dataset, or its manifest is broken.
    """
    if Layout(root).manifest.exists():
        folder = Folder.open(root, finished=False)
        if not folder.manifest.splits:
            raise DatasetError(
                f"{root}: the dataset has no finished split; run the dataset's build again to continue"
            )
        return DatasetSource(folder)
    splits = clevr_splits(root)
    if splits:
        return ClevrSource(root, splits)
    raise no_dataset(root, clevr=True)
