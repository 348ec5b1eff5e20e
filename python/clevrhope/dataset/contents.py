"""Finds the HOPs and splits of a dataset's folder, all of them or by name.

It looks for their files instead of reading the manifest: a file that exists is whole, and the manifest of a
paper-sized dataset lists 400,000 files.
"""

from collections.abc import Sequence
from pathlib import Path

from clevrhope.dataset.folder_check import no_dataset
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, check_no_part, existing_manifest, read_manifest
from clevrhope.dataset.question_kinds import KINDS, PAIRS, SINGLE, QuestionKind, kind_of
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.suite_questions import augmented_split
from clevrhope.errors import ConfigError, DatasetError, command_line, listed
from clevrhope.runtime.paths import is_name
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.covr.kinds import COVR_SPLITS
from clevrhope.splits.hops import NONE, name_order
from clevrhope.splits.kinds import SPLITS, TRAIN
from clevrhope.splits.palettes import MARK

MAX_LISTED = 12
"""The most names that a message lists."""


def hops_in(layout: Layout) -> tuple[str, ...]:
    """The HOPs in a folder that have a split or a suite, sorted by name.

    Raises:
        WrongFolderError: the folder is not a dataset.
        DatasetError: it is only one machine's part of a dataset, or has no questions yet.
    """
    manifest = read_manifest(layout.manifest, files=False)
    if manifest is None:
        raise no_dataset(layout.root)
    check_no_part(manifest, layout.root)
    # An import may have questions about sets alone.
    folders = (layout.root / "hops", layout.covr_vocab.parent)
    names = {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
    names |= {NONE} if layout.nonce_vocab.is_file() else set()
    in_order = sorted(names, key=name_order)
    found = tuple(name for name in in_order if all_splits_in(layout, name) or suites_in(layout, name))
    if not found:
        raise DatasetError(f"{layout.root}: it has no questions yet; run the dataset's build again")
    return found


def splits_in(layout: Layout, hop: str, kind: QuestionKind = SINGLE) -> tuple[str, ...]:
    """The finished splits of a HOP with questions of a kind: those known in order, then others by name."""
    known = tuple(name for name in kind.splits if kind.h5(layout, hop, name).is_file())
    names = {path.stem for path in layout.hop(hop).glob("[!.]*.h5")} if kind is SINGLE else set()
    return (*known, *sorted(names.difference(known)))


def all_splits_in(layout: Layout, hop: str) -> tuple[str, ...]:
    """The finished splits of a HOP with questions of any kind, by kind."""
    return tuple(split for kind in KINDS.values() for split in splits_in(layout, hop, kind))


def suites_in(layout: Layout, hop: str) -> tuple[str, ...]:
    """The suites of paired tests that were made on a HOP, sorted by name."""
    folders = sorted((layout.hop(hop) / "suites").glob("[!.]*"))
    return tuple(path.name for path in folders if suite_splits_in(layout, hop, path.name))


def suite_splits_in(layout: Layout, hop: str, suite: str) -> tuple[str, ...]:
    """The splits of a HOP that have pairs of a suite, in order; empty if the suite was not made."""
    names = {path.stem for path in layout.suite(hop, suite).glob("[!.]*.h5")} if is_name(suite) else set()
    return tuple(name for name in (*SPLITS, *COVR_SPLITS) if name in names)


def suite_splits(layout: Layout, hop: str, suite: str) -> tuple[str, ...]:
    """The splits of a HOP that have pairs of a suite; at least one must.

    Raises:
        ConfigError: no split has; the message contains the command that makes the suite.
        DatasetError: as for `check_suite`.
    """
    check_suite(layout, existing_manifest(layout.manifest), hop, suite)
    found = suite_splits_in(layout, hop, suite)
    if not found:
        raise no_suite(layout.root, suite, hop)
    return found


def check_suite(layout: Layout, manifest: Manifest, hop: str, suite: str) -> None:
    """Checks that a HOP has all files of a suite that the manifest lists.

    Raises:
        DatasetError: a file is missing; the message contains the command that makes the suite again.
    """
    splits = manifest.suites.get(hop, {}).get(suite, {})
    paths = [layout.suite_h5(hop, suite, split) for split in splits]
    for path in [*paths, *([layout.suite_vocab(hop, suite)] if splits else [])]:
        if not path.is_file():
            raise DatasetError(
                f"{path}: no such file, though {layout.manifest.name} lists it; restore it, or make the "
                f"suite again: {suite_command(layout.root, suite, hop)}"
            )


def choose_suite(
    layout: Layout, suite: str, hops: Sequence[str], splits: Sequence[str] = ()
) -> tuple[tuple[str, str], ...]:
    """The (HOP, split) pairs that have a suite, among the named HOPs and splits; no names mean all.

    Raises:
        ConfigError: a named HOP does not exist or lacks the suite, no HOP has it, or a split does not have
            it.
        DatasetError: as for `hops_in` and `check_suite`.
    """
    chosen = [find_hop(layout, name) for name in hops]
    if not chosen:
        there, made = hops_in(layout), existing_manifest(layout.manifest).suites
        chosen = [hop for hop in there if suite in made.get(hop, {}) or suite_splits_in(layout, hop, suite)]
    if not chosen:
        raise no_suite(layout.root, suite)
    found = [(hop, split) for hop in dict.fromkeys(chosen) for split in suite_splits(layout, hop, suite)]
    known = tuple(dict.fromkeys(split for _, split in found))
    for name in splits:
        if name not in known:
            raise _no_split(layout, name, f"the suite {suite}", known)
    return tuple(each for each in found if not splits or each[1] in splits)


def no_suite(folder: Path, suite: str, hop: str | None = None) -> ConfigError:
    """The error for a HOP, or a whole folder, that has a suite on no test set, or not at all."""
    of = f" of {hop}" if hop else ""
    command = suite_command(folder, suite, hop)
    if there := {path.stem for path in _pairs_of(folder, suite, hop or "*")}:
        return ConfigError(
            f'{folder}: the suite "{suite}"{of} has texts about {", ".join(sorted(there))} alone, and '
            f"about no test set; make it again with some, too: {command}"
        )
    made = sorted({path.name for path in folder.glob("hops/*/suites/*")})
    near = "" if suite in made else suggestion(suite, made)
    return ConfigError(f'{folder}: no suite "{suite}"{of}{near}; to make it: {command}')


def no_train_set(layout: Layout, hop: str, suite: str) -> ConfigError:
    """The error for a HOP without the train set that has questions of a suite."""
    wanted = augmented_split(suite)
    if _is_of_texts(layout.root, suite):
        return ConfigError(
            f'{layout.root}: the suite "{suite}" has no texts about {TRAIN.name} of {hop}; make it again '
            f"with some, too: {suite_command(layout.root, suite)}"
        )
    made = sorted(path.stem for path in layout.hop(hop).glob(f"suites/*/{augmented_split('*')}.h5"))
    of_texts = layout.hop(hop).glob(f"suites/*/{TRAIN.name}.h5")
    made += [augmented_split(path.parent.name) for path in of_texts]
    command = command_line("suite", suite, layout.root, "--hop", hop, "--train")
    return ConfigError(
        f'{layout.root}: no train set "{wanted}" of {hop}{suggestion(wanted, made)}; to make it: {command}'
    )


def suite_command(folder: Path, suite: str, hop: str | None = None) -> str:
    """The command that makes a suite, for one HOP or for all; one of texts is made for all HOPs at once."""
    if _is_of_texts(folder, suite):
        return command_line("suite", suite, folder, "--texts", "FILE")
    return command_line("suite", suite, folder, *(["--hop", hop] if hop else []))


def _is_of_texts(folder: Path, suite: str) -> bool:
    """Whether a suite has paraphrases from elsewhere, not pairs by templates."""
    return any("texts" in read_table(path, PAIRS) for path in _pairs_of(folder, suite)[:1])


def _pairs_of(folder: Path, suite: str, hop: str = "*") -> list[Path]:
    """The files of a suite's pairs, of one HOP or of all."""
    layout = Layout(folder)
    hops = sorted(path.name for path in folder.glob(f"hops/{hop}"))
    return [
        layout.suite_h5(each, suite, split) for each in hops for split in suite_splits_in(layout, each, suite)
    ]


def find_hop(layout: Layout, name: str) -> str:
    """Finds the HOP with this name, whose values may be in any order.

    Raises:
        ConfigError: the folder does not have it; the message lists the HOPs that it has.
        DatasetError: as for `hops_in`.
    """
    known = hops_in(layout)
    for hop in known:
        if same_hop(name, hop):
            return hop
    raise no_hop(layout.root, name, known)


def no_hop(folder: Path, name: str, known: Sequence[str]) -> ConfigError:
    """The error for a folder without a HOP; its message lists the HOPs that the folder has."""
    near, there = suggestion(name, known), hop_names(folder, known)
    return ConfigError(f'{folder}: no HOP "{name}"{near}; there are: {there}')


def same_hop(name: str, other: str) -> bool:
    """Whether two names mean the same HOP: the same palette, and the same values in any order."""
    (values, _, palette), (others, _, other_palette) = name.partition(MARK), other.partition(MARK)
    return palette == other_palette and sorted(values.split("_")) == sorted(others.split("_"))


def find_split(layout: Layout, hop: str, name: str) -> str:
    """Finds the split with this name, including splits of questions about sets of images.

    Raises:
        ConfigError: the HOP has no such split in this folder; the message lists the splits that it has.
    """
    known = splits_in(layout, hop, kind_of(name))
    if name in known:
        return name
    raise _no_split(layout, name, hop, known)


def choose(
    layout: Layout, hops: Sequence[str] | None, splits: Sequence[str] | None, kind: QuestionKind = SINGLE
) -> tuple[tuple[str, str], ...]:
    """The (HOP, split) pairs of the named HOPs and splits of a kind; no names mean all that exist.

    A split may exist in some of the HOPs only. If no HOP is named, HOPs without the splits are left out.

    Raises:
        ConfigError: a HOP does not exist, no HOP has a split, or a named HOP has none of the splits.
        DatasetError: as for `hops_in`.
    """
    chosen = dict.fromkeys(find_hop(layout, name) for name in hops) if hops else hops_in(layout)
    there = {hop: splits_in(layout, hop, kind) for hop in chosen}
    known = tuple(dict.fromkeys(split for of_hop in there.values() for split in of_hop))
    for name in splits or ():
        if name not in known:
            raise _no_split(layout, name, listed(tuple(chosen), most=MAX_LISTED), known)
    found = {
        hop: [split for split in of_hop if splits is None or split in splits] for hop, of_hop in there.items()
    }
    if hops and splits:
        for hop in chosen:
            if not found[hop]:
                find_split(layout, hop, splits[0])
    return tuple((hop, split) for hop, of_hop in found.items() for split in of_hop)


def of_episodes_alone(layout: Layout) -> str:
    """What serves a folder of episodes with nonce words alone, as a clause; "" for other folders."""
    manifest = read_manifest(layout.manifest, files=False)
    if manifest is None or manifest.splits or manifest.covr or not manifest.nonce:
        return ""
    asks = command_line("ask", layout.root, "--nonce")
    shows = command_line("show", layout.root, "--hop", "none", "--split", "nonce_unseen")
    return f"it has episodes with nonce words alone: {asks} asks models about them, and {shows} shows them"


def _no_split(layout: Layout, name: str, hop: str, known: Sequence[str]) -> ConfigError:
    near = suggestion(name, known)
    if said := of_episodes_alone(layout):
        return ConfigError(f'{layout.root}: no split "{name}" of {hop}; {said}')
    there = f"there are: {listed(known, most=MAX_LISTED)}" if known else "there is none of that kind"
    return ConfigError(f'{layout.root}: no split "{name}" of {hop}{near}; {there}')


def hop_names(folder: Path, names: Sequence[str]) -> str:
    """The HOPs of a folder, separated by commas; if many, the first ones and the command that lists all."""
    rest = f" ({command_line('info', folder)} lists all)" if len(names) > MAX_LISTED else ""
    return listed(names, most=MAX_LISTED) + rest
