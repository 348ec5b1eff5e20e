"""The measurements of a dataset's splits, compared with each other and with those of another dataset."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clevrhope.dataset.contents import no_hop
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.measured import read_fitting
from clevrhope.describe.measure import Value
from clevrhope.describe.measured import Measured, distance_json, distances_json, with_baselines
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.hops import NONE
from clevrhope.splits.kinds import PLAIN_SPLITS, SPLITS, TRAIN

_OF_EPISODES_ALONE: Mapping[str, Any] = {"held_out": {}, "suites": {}, "covr": {}}
"""What a group without other questions has of the keys of measured.json."""


class StatsFolder:
    """A dataset whose splits have statistics, a group of them for each HOP; measured.json is read once.

    Attributes:
        groups: HOP -> its splits of questions about one image.
        episodes: HOP -> its splits of episodes with nonce words; a group can have these alone.
        name: the folder's name in tables.
    """

    def __init__(self, root: Path) -> None:
        """Opens the dataset in a folder.

        Raises:
            WrongFolderError: there is no dataset.
            DatasetError: the folder has only a part of a dataset, or its manifest is broken.
        """
        self.root = root
        self._dataset = Folder.open(root, finished=False)
        self.name = Path(self._dataset.title).resolve().name
        manifest = self._dataset.manifest
        self.episodes = {hop: list(splits) for hop, splits in manifest.nonce.items()}
        self.groups = {hop: list(manifest.splits.get(hop, ())) for hop in (*manifest.splits, *self.episodes)}
        if not self.groups:
            raise DatasetError(
                f"{root}: the dataset has no finished split; run the dataset's build again to continue"
            )
        self.of_group = cache(self._of_group)

    def group(self, name: str) -> str:
        """The HOP with this name, whose values may be in any order; raises a ConfigError if there is none."""
        known = name if name in self.groups else self._dataset.hop(name).name
        if known not in self.groups:
            raise no_hop(self.root, known, list(self.groups))
        return known

    def splits(self, group: str) -> list[str]:
        """The splits of a group with questions of any kind; raises a DatasetError as `of_group` does."""
        return [*self.groups[group], *self.of_group(group)["covr"], *self.episodes.get(group, ())]

    def _of_group(self, group: str) -> Mapping[str, Any]:
        """The measurements of a group, as in measured.json; raises a DatasetError as `read_fitting` does."""
        if not self.groups[group]:
            return _OF_EPISODES_ALONE
        return read_fitting(self._dataset.layout, self._dataset.manifest, group)

    def measured(self, group: str, split: str) -> Measured:
        """The measurements of a split; raises a DatasetError as `of_group` does."""
        measured: Measured = self.of_group(group)["splits"][split]
        return measured


def _in_none(split: str) -> Sequence[str]:
    """The splits, with nothing held out, to which a split can be compared, best first.

    Sets of one object and those of a second palette have none.
    """
    kind = SPLITS.get(split)
    if kind is None or kind.drawn != "stream" or "second" in kind.of:
        return ()
    roles = ("train",) if kind.role == "train" else ("test", "tune")
    return [name for role in roles for name in PLAIN_SPLITS if SPLITS[name].role == role]


@dataclass(frozen=True)
class SplitColumn:
    """A split with its label in tables and plots."""

    label: str
    split: str
    measured: Measured
    other: bool = False
    """Whether it is from the other folder."""


@dataclass(frozen=True)
class StatsSheet:
    """The measurements that tables and plots show for a group."""

    group: str
    held_out: Sequence[Value]
    columns: Sequence[SplitColumn]
    """Its own splits first, then the other folder's."""
    comparisons: Sequence[Mapping[str, Any]]
    """The distances between its splits, and from the other folder's, as in measured.json."""
    suites: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """Suite -> split -> the pairs of its tests on these splits, as in measured.json."""
    covr: Mapping[str, Mapping[str, Any]]
    """Its splits of questions over several images, as in measured.json."""
    episodes: Sequence[str]
    """Its splits of episodes with nonce words."""

    @property
    def train(self) -> Measured | None:
        """The group's own train set."""
        own = (column for column in self.columns if not column.other)
        return next((column.measured for column in own if column.split == TRAIN.name), None)

    @property
    def splits(self) -> list[Measured]:
        """The measurements of the columns."""
        return [column.measured for column in self.columns]


def measure_folder(
    root: Path,
    *,
    hops: Sequence[str] = (),
    splits: Sequence[str] = (),
    against: Path | None = None,
) -> list[StatsSheet]:
    """Measures a folder, or some of its HOPs and splits, and compares it with another folder if given.

    If no HOP is named, HOPs that have none of the splits are left out.

    Raises:
        ConfigError: a HOP or split does not exist, or the other folder has nothing to compare with.
        DatasetError: a folder has no dataset, or a file is broken.
    """
    source = StatsFolder(root)
    groups = [source.group(hop) for hop in dict.fromkeys(hops)]
    if not groups:
        having = [group for group in source.groups if {*source.splits(group)} & {*splits}] if splits else []
        groups = having or list(source.groups)
    chosen = {group: _chosen(source, group, splits) for group in dict.fromkeys(groups)}
    other = None if against is None else StatsFolder(against)
    sheets = []
    for group, names in chosen.items():
        columns = [SplitColumn(split, split, source.measured(group, split)) for split in names]
        beside = {} if other is None else _beside(source, other, group, names)
        others = {each.label: each for each in beside.values()}.values()
        comparisons = list(_comparisons(columns, beside))
        measured = source.of_group(group)
        suites = {suite: _only(of_suite, names) for suite, of_suite in measured["suites"].items()}
        suites = {suite: of_splits for suite, of_splits in suites.items() if of_splits}
        covr = _only(measured["covr"], splits or list(measured["covr"]))
        held_out = tuple(measured["held_out"].items())
        episodes = [name for name in source.episodes.get(group, ()) if not splits or name in splits]
        both = [*columns, *others]
        sheets.append(StatsSheet(group, held_out, both, comparisons, suites, covr, episodes))
    if other is not None and not any(each.other for sheet in sheets for each in sheet.columns):
        raise ConfigError(f"{against}: it has no split to compare with {', '.join(chosen)} of {root}")
    return sheets


def _beside(
    source: StatsFolder, other: StatsFolder, group: str, splits: Sequence[str]
) -> dict[str, SplitColumn]:
    """Split -> its counterpart in the other folder; splits without one are left out."""
    counterparts = {split: _counterpart(other, group, split) for split in splits}
    return {
        split: SplitColumn(_label(source, other, group, *place), place[1], other.measured(*place), other=True)
        for split, place in counterparts.items()
        if place is not None
    }


def _counterpart(other: StatsFolder, group: str, split: str) -> tuple[str, str] | None:
    groups = other.groups
    wanted = [(group, split), *((NONE, name) for name in _in_none(split))]
    if len(groups) == 1:
        wanted.append((next(iter(groups)), split))
    return next((each for each in wanted if each[1] in groups.get(each[0], ())), None)


def _label(source: StatsFolder, other: StatsFolder, group: str, other_group: str, split: str) -> str:
    name = other.name
    if name == source.name:
        name = "other" if other.root.resolve() != source.root.resolve() else "same"
    return f"{name} {split}" if other_group == group else f"{name} {other_group} {split}"


def _chosen(source: StatsFolder, group: str, splits: Sequence[str]) -> list[str]:
    own = source.groups[group]
    for split in splits:
        if split not in (known := source.splits(group)):
            near, there = suggestion(split, known), ", ".join(known)
            raise ConfigError(f'{source.root}: no split "{split}" of {group}{near}; there are: {there}')
    return [split for split in own if not splits or split in splits]


def _only(measured: Mapping[str, Any], splits: Sequence[str]) -> dict[str, Any]:
    return {split: of_split for split, of_split in measured.items() if split in splits}


def _comparisons(
    columns: Sequence[SplitColumn], beside: Mapping[str, SplitColumn]
) -> Iterator[dict[str, Any]]:
    yield from distances_json({column.split: column.measured for column in columns})
    for column in columns:
        if other := beside.get(column.split):
            yield distance_json(column.label, other.label, column.measured, other.measured)


def as_json(
    root: Path, other_root: Path | None, sheets: Sequence[StatsSheet], plots: Sequence[Path]
) -> dict[str, Any]:
    """The object that `clevrhope stats --json` prints, in which shares are from 0 to 1."""
    return {
        "folder": str(root),
        "against": None if other_root is None else str(other_root),
        "hops": {each.group: _sheet(each) for each in sheets},
        "plots": [str(path) for path in plots],
    }


def _sheet(sheet: StatsSheet) -> dict[str, Any]:
    splits: dict[bool, dict[str, Any]] = {False: {}, True: {}}
    for column in sheet.columns:
        measured = with_baselines(column.measured, sheet.train)
        splits[column.other][column.label] = {"split": column.split, **measured}
    return {
        "held_out": dict(sheet.held_out),
        "splits": splits[False],
        "against": splits[True],
        "distances": list(sheet.comparisons),
        "suites": sheet.suites,
        "covr": sheet.covr,
    }
