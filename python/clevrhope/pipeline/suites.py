"""Makes suites of paired tests in a finished dataset, removes them, and lists them: `clevrhope suite`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from textwrap import wrap

from clevrhope.dataset.contents import find_hop, suites_in
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.layout import Layout, changed_layout
from clevrhope.dataset.manifest import Manifest, write_manifest
from clevrhope.dataset.measured import read_measured, write_measured
from clevrhope.dataset.suite_files import without_suites
from clevrhope.describe.datasheets import write_datasheet
from clevrhope.describe.suites import CELLS, measure_suites
from clevrhope.errors import ConfigError, counted
from clevrhope.pages import render_lines
from clevrhope.pipeline.suite_maker import Origin, SuiteMaker, SuiteSplit, TrainMaker
from clevrhope.questions.suites import suite_folder
from clevrhope.runtime.atomic import sweep
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.covr.kinds import COVR_SPLITS
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS

_NAME_WIDTH, _COUNT_WIDTH = 28, 8

_LEGEND = (
    "Columns 00 to 11 are pairs by who mentions the held-out pair: the first digit is 1 if the original",
    "does, the second if the partner does. A dash: no pair of the test can be there.",
)


def make_suite(
    root: Path,
    name: str,
    *,
    hops: Sequence[str] | None = None,
    suite_files: Path | None = None,
    train: bool = False,
    origin: Origin = "questions",
    per_cell: int | None = None,
    progress: Progress | None = None,
) -> tuple[SuiteSplit, ...]:
    """Writes the pairs of a suite for the test sets of whole scenes in a finished dataset.

    Args:
        root: the dataset's folder.
        name: the suite's name.
        hops: the sub-datasets; by default all in the folder.
        suite_files: a folder with a custom suite; by default, the suite is one of the package's. If the
            folder is in `suites/` of a folder of templates that the dataset was made with, these are used.
        train: make train sets with added questions of the suite instead; see `TrainMaker`.
        origin: "search" also looks for originals of the dataset's families on the images of each split, if a
            cell of a test has too few pairs from the dataset's questions. Originals of the suite's own
            families are searched for in any case.
        per_cell: how many pairs each cell of a test should have after such a search; by default as in the
            dataset's preset.
        progress: shows how far the work is.

    Raises:
        DatasetError: the folder is not a finished dataset, or a file in it is incomplete.
        ConfigError: a sub-dataset does not exist.
        TemplateError: there is no such suite, an entry is wrong, or the questions were made from other
            templates.
    """
    kind = TrainMaker if train else SuiteMaker
    with locked_dataset(root) as folder:
        layout, manifest = folder.layout, folder.manifest
        maker = kind(folder, name, suite_folder(name, suite_files), origin=origin, per_cell=per_cell)
        wanted = stream_splits(folder, hops, kind.role)
        sweep(layout.folders())
        made = []
        stage = (progress or Silent()).stage(f"Making pairs of {name}", total=len(wanted), unit="splits")
        with stage as advance:
            for hop, splits in groupby(wanted, key=itemgetter(0)):
                # An entry that fails on one split should leave the files of all splits unchanged.
                of_hop = [(split, *maker.make(hop, split)) for _, split in splits]
                before = manifest.suites.get(hop.name, {}).get(name, {})
                for split, rows, pairs in of_hop:
                    manifest, counts = maker.write(manifest, hop, split, rows, pairs)
                    made.append(replace(counts, n_before=before.get(counts.split, {}).get("pairs", 0)))
                    advance(1)
                manifest = with_datasheet(layout, manifest, hop.name)
                write_manifest(layout.manifest, manifest)
    return tuple(made)


@contextmanager
def locked_dataset(root: Path) -> Iterator[Folder]:
    """Yields a finished dataset, which no other run can change meanwhile; errors as for `Folder.open`."""
    Folder.open(root, finished=False)  # a folder that is not a dataset must not be locked
    with changed_layout(root):
        yield Folder.open(root)


def remove_suite(root: Path, name: str, *, hops: Sequence[str] | None = None) -> tuple[str, ...]:
    """Removes a suite from a dataset, with its section in the datasheets.

    Args:
        root: the dataset's folder.
        name: the suite's name.
        hops: the sub-datasets; by default all that have the suite.

    Returns:
        The sub-datasets from which it was removed.

    Raises:
        DatasetError: the folder is not a dataset, or a file may not be removed or written.
        ConfigError: a sub-dataset does not exist or lacks the suite, or none has it.
    """
    layout = Folder.open(root, finished=False).layout  # a folder that is not a dataset must not be locked
    with changed_layout(root):
        manifest = Folder.open(root, finished=False).manifest
        having = {hop: {*manifest.suites.get(hop, {}), *suites_in(layout, hop)} for hop in manifest.splits}
        chosen = [find_hop(layout, hop) for hop in hops or ()]
        chosen = chosen or [hop for hop, suites in having.items() if name in suites]
        lacking = [hop for hop in chosen if name not in having[hop]]
        if lacking or not chosen:
            known = sorted(set().union(*(having[hop] for hop in lacking or having)))
            of = f" of {lacking[0]}" if lacking else ""
            choice = f"there are: {', '.join(known)}" if known else "there is none"
            raise ConfigError(f'{root}: no suite "{name}"{of}{suggestion(name, known)}; {choice}')
        for hop in dict.fromkeys(chosen):
            has_measured = layout.hop_measured(hop).is_file()
            if has_measured:
                read_measured(layout.hop_measured(hop))  # broken, it should fail before files are removed
            manifest = without_suites(layout, manifest, hop, suite=name)
            if has_measured:
                manifest = with_datasheet(layout, manifest, hop)
            write_manifest(layout.manifest, manifest)
    return tuple(dict.fromkeys(chosen))


def with_datasheet(layout: Layout, manifest: Manifest, hop: str) -> Manifest:
    """Measures a sub-dataset's suites again, for its datasheet; returns the manifest with the new checksums.

    Raises:
        DatasetError: the sub-dataset's measurements are missing or cannot be read.
    """
    path = layout.hop_measured(hop)
    suites = measure_suites(layout, manifest, hop)
    write_measured(path, {**read_measured(path), "suites": suites})
    return manifest.with_files(write_datasheet(layout, manifest, hop))


def stream_splits(folder: Folder, hops: Sequence[str] | None, role: str) -> list[tuple[Hop, str]]:
    """The test sets of whole scenes of these sub-datasets, or their train sets.

    Raises:
        ConfigError: there is none, or a sub-dataset does not exist.
    """
    of_folder = folder.manifest.splits
    wanted = of_folder if hops is None else {find_hop(folder.layout, hop) for hop in hops}
    splits = [
        (folder.hop(hop), split)
        for hop in of_folder
        if hop in wanted
        for split in of_folder[hop]
        if SPLITS[split].drawn == "stream" and SPLITS[split].role == role
    ]
    if not splits:
        what = "train set" if role == "train" else "test set of whole scenes"
        raise ConfigError(f"there is no {what}, on which paired tests are made")
    return splits


def suite_lines(splits: Sequence[SuiteSplit]) -> Iterator[str]:
    """For each split, a table of its pairs by test and cell; for a test without pairs, the reason."""
    for split in splits:
        questions = counted(split.n_originals, "question")
        # Train sets with added questions are not in SPLITS.
        made = f"{questions} and {split.n_pairs:,} added"
        if split.split in (*SPLITS, *COVR_SPLITS):
            made = f"{counted(split.n_pairs, 'pair')} on the images of {questions}"
        if split.n_before not in (0, split.n_pairs):
            made += f"; they replace the {split.n_before:,} that were there"
        yield f"{split.hop} {split.split}: {made}"
        has_cells = _has_cells(split)
        never = {test.test: test.impossible if has_cells else () for test in split.tests}
        cells = [cell for cell in CELLS if any(test.cells.get(cell) for test in split.tests)]
        if any(never.values()):
            cells = list(CELLS)
        cells = cells if has_cells else []
        heads = "".join(f"{head:>{_COUNT_WIDTH}}" for head in ("pairs", *cells))
        yield f"  {'':<{_NAME_WIDTH}}{'':<7}{heads}"
        for test in split.tests:
            counts = ["-" if cell in never[test.test] else f"{test.cells.get(cell, 0):,}" for cell in cells]
            row = "".join(f"{n:>{_COUNT_WIDTH}}" for n in (f"{test.n_pairs:,}", *counts))
            yield f"  {test.test:<{_NAME_WIDTH}}{test.tier:<7}{row}"
        short = [
            f"{test.test}{f' {cell}' if has_cells else ''} ({n:,} too few)"
            for test in split.tests
            for cell, n in test.short.items()
        ]
        without_pairs = _without_pairs(split)
        for remark in render_lines(
            "suite.md", split=split, short=short, without_pairs=without_pairs, has_cells=has_cells
        ):
            yield from wrap(remark, 100, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
    if any(map(_has_cells, splits)):
        yield from _LEGEND


def _has_cells(split: SuiteSplit) -> bool:
    """Whether pairs can be in several cells: on other splits, the split's rule allows only one cell."""
    return split.split in SPLITS and SPLITS[split.split].rule == "with"


def _without_pairs(split: SuiteSplit) -> dict[str, list[str]]:
    """The most common reasons why tests have no pairs, each with all tests to which it applies."""
    tests: dict[str, list[str]] = {}
    for test in split.tests:
        if test.n_pairs:
            continue
        reason = "no question of its families"
        if test.skipped:
            reason, n = max(test.skipped.items(), key=lambda item: item[1])
            reason += f" ({n:,} of {counted(sum(test.skipped.values()), 'question')})"
        tests.setdefault(reason, []).append(test.test)
    return tests
