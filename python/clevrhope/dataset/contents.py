"""A dataset's folder in, the HOPs and splits that it holds out; a name that is not there is told apart.

What is there is found by its files, not in the manifest: a file that is there is whole, and a paper-sized
manifest lists 400,000 files.
"""

from collections.abc import Sequence
from difflib import get_close_matches

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import read_shard
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.splits.kinds import SPLITS
from clevrhope.splits.palettes import MARK


def hops_in(layout: Layout) -> tuple[str, ...]:
    """The HOPs of a folder that have a split, by name.

    Raises:
        DatasetError: no dataset there, or a part of one.
    """
    if not layout.manifest.exists():
        raise DatasetError(f"{layout.root}: no dataset of clevrhope (no {layout.manifest.name})")
    check_whole(layout)
    folder = layout.root / "hops"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    found = tuple(name for name in names if splits_in(layout, name))
    if not found:
        raise DatasetError(f"{layout.root}: no questions yet; run its build again")
    return found


def check_whole(layout: Layout) -> None:
    """Passes for a folder that is no machine's part of a dataset, which lacks splits, scenes and images.

    Raises:
        DatasetError: it is one.
    """
    shard = read_shard(layout.manifest)
    if shard is not None:
        raise DatasetError(
            f"{layout.root}: part {shard} of a dataset, made by build --shard; join the parts first: "
            "clevrhope merge"
        )


def splits_in(layout: Layout, hop: str) -> tuple[str, ...]:
    """The finished splits of a HOP: the paper's in its order, then others by name."""
    names = {path.stem for path in layout.hop(hop).glob("[!.]*.h5")}
    return (*(name for name in SPLITS if name in names), *sorted(names.difference(SPLITS)))


def find_hop(layout: Layout, name: str) -> str:
    """The HOP of that name; the order of its values is free.

    Raises:
        ConfigError: it is not in the folder; says what is.
        DatasetError: no dataset there.
    """
    known = hops_in(layout)
    for hop in known:
        if same_hop(name, hop):
            return hop
    raise ConfigError(f'{layout.root}: no HOP "{name}"{_nearest(name, known)}; there: {_listed(known)}')


def same_hop(name: str, other: str) -> bool:
    """Whether two names are of the same HOP."""
    return name == other or _parts(name) == _parts(other)


def _parts(hop: str) -> tuple[list[str], str]:
    """The parts of a HOP's name in an order of their own, and its palette."""
    values, _, palette = hop.partition(MARK)
    return sorted(values.split("_")), palette


def find_split(layout: Layout, hop: str, name: str) -> str:
    """The split of that name.

    Raises:
        ConfigError: the HOP has none such in this folder; says what it has.
    """
    known = splits_in(layout, hop)
    if name in known:
        return name
    raise _no_split(layout, name, hop, known)


def choose(
    layout: Layout, hops: Sequence[str] | None, splits: Sequence[str] | None
) -> tuple[tuple[str, str], ...]:
    """(HOP, split) of all that is asked for, None for all there is; a split may be some of the HOPs' only.

    Where no HOP is named, those with none of the splits are passed over.

    Raises:
        ConfigError: a HOP that is not there, a split that none of them has, or a HOP that was named with none
            of the splits.
        DatasetError: no dataset there.
    """
    chosen = dict.fromkeys(find_hop(layout, name) for name in hops) if hops else hops_in(layout)
    if splits is None:
        return tuple((hop, split) for hop in chosen for split in splits_in(layout, hop))
    for name in splits:
        known = tuple(dict.fromkeys(split for hop in chosen for split in splits_in(layout, hop)))
        if name not in known:
            raise _no_split(layout, name, _listed(tuple(chosen)), known)
    found = tuple((hop, split) for hop in chosen for split in splits_in(layout, hop) if split in splits)
    for hop in chosen if hops else ():
        if hop not in {each for each, _ in found}:
            find_split(layout, hop, splits[0])
    return found


def _no_split(layout: Layout, name: str, hop: str, known: Sequence[str]) -> ConfigError:
    near = _nearest(name, known)
    return ConfigError(f'{layout.root}: no split "{name}" of {hop}{near}; there: {_listed(known)}')


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.6)
    return f' (did you mean "{near[0]}"?)' if near else ""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown
