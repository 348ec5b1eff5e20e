"""The comparison of a folder's splits with each other and with those of another folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.describe.measure import Value
from clevrhope.describe.measured import Measured, distance_json, distances_json, with_baselines
from clevrhope.describe.stats.sources import CLEVR, StatsFolder
from clevrhope.errors import ConfigError
from clevrhope.runtime.progress import Progress
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.hops import NONE
from clevrhope.splits.kinds import PLAIN_SPLITS, SPLITS, TRAIN

_IN_CLEVR: Mapping[str, Sequence[str]] = {
    "train": ("train", "val"),
    "tune": ("val", "train"),
    "test": ("val", "train"),
}
"""Role of a split -> the published splits of CLEVR to compare it with, best first."""


def _in_clevr(split: str) -> Sequence[str]:
    """The splits of CLEVR to compare with; none for one-object sets and those of a second palette."""
    kind = SPLITS.get(split)
    is_like_clevr = kind is not None and kind.drawn == "stream" and "second" not in kind.of
    return _IN_CLEVR[kind.role] if kind and is_like_clevr else ()


def _in_none(split: str) -> Sequence[str]:
    """The splits, with nothing held out, to which a pair's split can be compared, best first."""
    kind = SPLITS.get(split)
    if kind is None or "pair" not in kind.of or kind.drawn != "stream":
        return ()
    roles = ("train",) if kind.role == "train" else ("test", "tune")
    return [name for role in roles for name in PLAIN_SPLITS if SPLITS[name].role == role]


@dataclass(frozen=True)
class SplitColumn:
    """A split with its label in tables and plots."""

    label: str
    split: str
    measured: Measured
    of_clevr: bool = False
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
    progress: Progress,
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
    with progress.stage("Measuring", total=sum(map(len, chosen.values())), unit="splits") as advance:
        for group, names in chosen.items():
            columns = []
            for split in names:
                columns.append(
                    SplitColumn(split, split, source.measure(group, split), of_clevr=group == CLEVR)
                )
                advance(1)
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
        split: SplitColumn(
            *(_label(source, other, group, *place), place[1], other.measure(*place)),
            of_clevr=place[0] == CLEVR,
            other=True,
        )
        for split, place in counterparts.items()
        if place is not None
    }


def _counterpart(other: StatsFolder, group: str, split: str) -> tuple[str, str] | None:
    groups = other.groups
    if CLEVR in groups and group != CLEVR:
        wanted = [(CLEVR, name) for name in _in_clevr(split)]
    else:
        wanted = [(group, split), *((NONE, name) for name in _in_none(split))]
        if len(groups) == 1:
            wanted.append((next(iter(groups)), split))
    return next((each for each in wanted if each[1] in groups.get(each[0], ())), None)


def _label(source: StatsFolder, other: StatsFolder, group: str, other_group: str, split: str) -> str:
    name = other.name
    if name == source.name:
        name = "other" if other.root.resolve() != source.root.resolve() else "same"
    return f"{name} {split}" if other_group in (group, CLEVR) else f"{name} {other_group} {split}"


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
