"""The folders whose splits have statistics: datasets of clevrhope, and folders laid out like CLEVR.

The numbers of a dataset are those of its measured.json; a CLEVR folder is measured. A dataset has a group of
splits for each HOP; a CLEVR folder has one group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clevrhope.dataset.clevr_folder import FAMILIES, clevr_splits
from clevrhope.dataset.contents import no_hop
from clevrhope.dataset.folder_check import no_dataset
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, check_no_part, read_manifest
from clevrhope.dataset.measured import read_fitting
from clevrhope.describe.clevr import measure_clevr_split
from clevrhope.describe.measure import Value
from clevrhope.describe.measured import Measured, split_from_json
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.splits.hops import parse_hop

CLEVR = "CLEVR"
"""Name of the only group of a CLEVR folder."""


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

    def held_out(self, group: str) -> Sequence[Value]:
        """The values that a group never shows together; CLEVR has none."""
        return ()

    def measure(self, group: str, split: str) -> Measured:
        """Measures a split; raises a DatasetError if its files are broken."""
        stats = measure_clevr_split(self.root, split)
        return Measured(stats, dict(enumerate(FAMILIES)), group)

    def suites(self, group: str, splits: Sequence[str]) -> Mapping[str, Any]:
        """The suites of paired tests; CLEVR has none."""
        return {}

    def covr_splits(self, group: str) -> Sequence[str]:
        """The splits of questions over several images; CLEVR has none."""
        return ()

    def covr(self, group: str, splits: Sequence[str]) -> Mapping[str, Any]:
        """The measurements of splits of questions over several images; CLEVR has none."""
        return {}


@dataclass(frozen=True)
class DatasetSource:
    """A dataset of clevrhope, whose numbers are those of its measured.json."""

    root: Path
    manifest: Manifest
    _measured: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.root.resolve().name

    @property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """HOP -> its splits."""
        return {hop: list(splits) for hop, splits in self.manifest.splits.items()}

    def group(self, name: str) -> str:
        """The HOP with this name, whose values may be in any order; raises a ConfigError if there is none."""
        if name in self.manifest.splits:
            return name
        known = parse_hop(name, self._attributes()).name
        if known not in self.manifest.splits:
            raise no_hop(self.root, known, list(self.manifest.splits))
        return known

    def held_out(self, group: str) -> Sequence[Value]:
        """The values of a HOP: two, or more if a wider conjunction is held out."""
        return tuple(sorted(parse_hop(group, self._attributes()).held_out or ()))

    def measure(self, group: str, split: str) -> Measured:
        """The measurements of a split; raises as `read_fitting` does."""
        return replace(split_from_json(split, self._of(group)["splits"][split]), group=group)

    def suites(self, group: str, splits: Sequence[str]) -> Mapping[str, Any]:
        """Suite -> split -> the pairs of its tests, on these splits."""
        return {
            suite: chosen
            for suite, of_suite in self._of(group)["suites"].items()
            if (chosen := {split: each for split, each in of_suite.items() if split in splits})
        }

    def covr_splits(self, group: str) -> Sequence[str]:
        """The splits of a HOP whose questions are over several images."""
        return list(self.manifest.covr.get(group, {}))

    def covr(self, group: str, splits: Sequence[str]) -> Mapping[str, Any]:
        """The measurements of splits of questions over several images."""
        return {split: each for split, each in self._of(group)["covr"].items() if split in splits}

    def _of(self, group: str) -> dict[str, Any]:
        if group not in self._measured:
            self._measured[group] = read_fitting(Layout(self.root), self.manifest, group)
        return self._measured[group]

    def _attributes(self) -> list[tuple[str, list[str]]]:
        return [(kind, list(values)) for kind, values in self.manifest.world["attributes"].items()]


Source = ClevrSource | DatasetSource
"""A folder whose splits can be measured."""


def open_source(root: Path) -> Source:
    """The dataset in a folder.

    Raises:
        WrongFolderError: there is no dataset.
        DatasetError: the folder has only a part of a dataset, or its manifest is broken.
    """
    manifest = read_manifest(Layout(root).manifest)
    if manifest is not None:
        check_no_part(manifest, root)
        if not manifest.splits:
            raise DatasetError(
                f"{root}: the dataset has no finished split; run the dataset's build again to continue"
            )
        return DatasetSource(root, manifest)
    splits = clevr_splits(root)
    if splits:
        return ClevrSource(root, splits)
    raise no_dataset(root, clevr=True)
