"""Suites of paired tests on the questions of a finished dataset: `clevrhope suite`."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clevrhope._core import Pairs, ProgramTokens, QuestionBatch, SceneGraphs, Suite, Vocabulary
from clevrhope.dataset.clevr_json import question_info, read_scene_indices, rows_file
from clevrhope.dataset.contents import find_hop, suites_in
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, existing_manifest, write_manifest
from clevrhope.dataset.measured import read_measured, write_measured
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.question_kinds import PAIRS, RELATIONS, ROLES, TIERS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import Ints, QuestionWriter
from clevrhope.dataset.suite_files import without_suites
from clevrhope.dataset.vocab import Vocab, extended_vocab, read_vocab, write_vocab
from clevrhope.describe.datasheets import write_datasheet
from clevrhope.describe.measured import suites_json
from clevrhope.describe.suites import CELLS, measure_readable_suites
from clevrhope.errors import ConfigError, DatasetError, SceneError, TemplateError
from clevrhope.pipeline.engine import encoded
from clevrhope.questions import Templates, read_templates
from clevrhope.questions.suites import read_suite, suite_fingerprint, suite_folder
from clevrhope.runtime import assets
from clevrhope.runtime.atomic import FileRecord, record, sweep
from clevrhope.runtime.lock import locked
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.reading import read_bytes
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.hops import Hop, parse_hop
from clevrhope.splits.kinds import SPLITS, TRAIN
from clevrhope.splits.palettes import palette_from_json, parse_pool_name

PAIRS_A_BLOCK = 32_768
"""Pairs that are written at once, about 70 MB of JSON rows."""

PER_CELL: Mapping[str, int] = {"demo": 10, "small": 50, "paper": 2500}
"""How many pairs each cell of a test should have, by the dataset's preset."""

Origin = Literal["questions", "search"]
"""Where originals of the dataset's families come from: only its own questions, or also a search."""

MAX_SCENE_FILE_BYTES = 1 << 30
"""The most bytes of a scene file; 10,000 scenes of 32 objects take a quarter of that."""


@dataclass(frozen=True)
class TestCounts:
    """The result of a test on one split."""

    __test__ = False  # otherwise pytest would collect a class of this name

    test: str
    tier: str
    n_pairs: int
    cells: Mapping[str, int]
    """Number of pairs by which question mentions the held-out pair: "10" if only the original does."""
    skipped: Mapping[str, int]
    """Number of questions without a partner, by reason."""
    short: Mapping[str, int] = field(default_factory=dict)
    """The cells that are not full, and how many pairs they lack."""
    impossible: tuple[str, ...] = ()
    """The cells in which the test can have no pairs, because of its nature or the split's rule."""


@dataclass(frozen=True)
class SuiteSplit:
    """The pairs on one split."""

    hop: str
    split: str
    n_originals: int
    tests: tuple[TestCounts, ...]
    per_cell: int
    """How many pairs each cell of a test should have."""
    origin: Origin
    """Where originals of the dataset's families came from."""
    n_before: int = field(default=0, kw_only=True)
    """Number of earlier pairs that these replace."""

    @property
    def n_pairs(self) -> int:
        """Number of pairs of all tests."""
        return sum(each.n_pairs for each in self.tests)


def make_suite(
    folder: Path,
    name: str,
    *,
    hops: Sequence[str] | None = None,
    suite_files: Path | None = None,
    origin: Origin = "questions",
    per_cell: int | None = None,
    progress: Progress | None = None,
) -> tuple[SuiteSplit, ...]:
    """Writes the pairs of a suite for the test sets of whole scenes in a finished dataset.

    Args:
        folder: the dataset's folder.
        name: the suite's name.
        hops: the sub-datasets; by default all in the folder.
        suite_files: a folder with a custom suite; by default, the suite is one of the package's. If the
            folder is in `suites/` of a folder of templates that the dataset was made with, these are used.
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
    return make_with(
        SuiteMaker,
        folder,
        name,
        hops=hops,
        suite_files=suite_files,
        progress=progress,
        origin=origin,
        per_cell=per_cell,
    )


@contextmanager
def locked_dataset(folder: Path) -> Iterator[tuple[Layout, Manifest]]:
    """Yields the layout and manifest of a finished dataset, which no other run can change meanwhile.

    Raises:
        DatasetError: the folder is not a finished dataset, or a file in it is incomplete.
    """
    Folder.open(folder, finished=False)  # a folder that is not a dataset must not be locked
    with locked(folder):
        opened = Folder.open(folder)
        yield opened.layout, opened.manifest


def make_with(
    kind: type["SuiteMaker"],
    folder: Path,
    name: str,
    *,
    hops: Sequence[str] | None,
    suite_files: Path | None,
    progress: Progress | None,
    **choices: Any,
) -> tuple[SuiteSplit, ...]:
    """Writes what one kind of maker makes of a suite; arguments and errors as for `make_suite`."""
    progress = progress or Silent()
    with locked_dataset(folder) as (layout, manifest):
        maker = kind(layout, manifest, name, suite_folder(name, suite_files), **choices)
        wanted = stream_splits(layout, manifest, hops, kind.role)
        sweep(layout.folders())
        made = []
        with progress.stage(f"Making pairs of {name}", total=len(wanted), unit="splits") as advance:
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


def remove_suite(folder: Path, name: str, *, hops: Sequence[str] | None = None) -> tuple[str, ...]:
    """Removes a suite from a dataset, with its section in the datasheets.

    Args:
        folder: the dataset's folder.
        name: the suite's name.
        hops: the sub-datasets; by default all that have the suite.

    Returns:
        The sub-datasets from which it was removed.

    Raises:
        DatasetError: the folder is not a dataset, or a file may not be removed or written.
        ConfigError: a sub-dataset does not exist or lacks the suite, or none has it.
    """
    layout = Folder.open(folder, finished=False).layout  # a folder that is not a dataset must not be locked
    with locked(folder):
        manifest = existing_manifest(layout.manifest)
        having = {hop: {*manifest.suites.get(hop, {}), *suites_in(layout, hop)} for hop in manifest.splits}
        chosen = [find_hop(layout, hop) for hop in hops or ()]
        chosen = chosen or [hop for hop, suites in having.items() if name in suites]
        lacking = [hop for hop in chosen if name not in having[hop]]
        if lacking or not chosen:
            known = sorted(set().union(*(having[hop] for hop in lacking or having)))
            of = f" of {lacking[0]}" if lacking else ""
            there = f"there are: {', '.join(known)}" if known else "there is none"
            raise ConfigError(f'{folder}: no suite "{name}"{of}{suggestion(name, known)}; {there}')
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
    suites = suites_json(measure_readable_suites(layout, manifest, hop))
    write_measured(path, {**read_measured(path), "suites": suites})
    return manifest.with_files(write_datasheet(layout, manifest, hop))


def test_splits(layout: Layout, manifest: Manifest, hops: Sequence[str] | None) -> list[tuple[Hop, str]]:
    """The test sets of whole scenes of these sub-datasets; errors as for `stream_splits`."""
    return stream_splits(layout, manifest, hops, "test")


def stream_splits(
    layout: Layout, manifest: Manifest, hops: Sequence[str] | None, role: str
) -> list[tuple[Hop, str]]:
    """The test sets of whole scenes of these sub-datasets, or their train sets.

    Raises:
        ConfigError: there is none, or a sub-dataset does not exist.
    """
    types = [(kind, list(values)) for kind, values in manifest.world["attributes"].items()]
    wanted = manifest.splits if hops is None else {find_hop(layout, hop) for hop in hops}
    found = [
        (parse_hop(hop, types), split)
        for hop in manifest.splits
        if hop in wanted
        for split in manifest.splits[hop]
        if SPLITS[split].drawn == "stream" and SPLITS[split].role == role
    ]
    if not found:
        what = "train set" if role == "train" else "test set of whole scenes"
        raise ConfigError(f"there is no {what}, on which paired tests are made")
    return found


class SuiteMaker:
    """Makes the pairs of one suite on a folder's splits; errors as for `make_suite`."""

    role = "test"
    """The role of the splits for which it makes pairs."""

    every: int | None = None
    """For train sets: the number of their questions before each pair."""

    def __init__(
        self,
        layout: Layout,
        manifest: Manifest,
        name: str,
        folder: Path,
        *,
        origin: Origin = "questions",
        per_cell: int | None = None,
    ) -> None:
        self._layout, self._name, self._manifest = layout, name, manifest
        self._origin = origin
        preset = str(manifest.config.get("preset", "demo"))
        self._per_cell = PER_CELL.get(preset, PER_CELL["demo"]) if per_cell is None else per_cell
        self._vocab = read_vocab(layout.vocab)
        self._vocabulary = vocabulary_with(
            manifest.world["attributes"], largest_count=manifest.world["constraints"]["max_objects"]
        )
        templates, template_folder = used_templates(manifest, self._vocabulary, folder)
        self._suite = read_suite(name, templates, folder=folder, template_folder=template_folder)
        self._fingerprint = suite_fingerprint(folder)
        tokens = ProgramTokens(self._vocabulary, self._vocab.programs())
        self._tokens = tokens.extended(self._suite.templates.functions)
        self._vocab = extended_vocab(
            self._vocab, words=self._suite.templates.words, program_tokens=self._tokens.names
        )
        numbers = self._vocab.answer_token_to_idx
        self._answers = np.asarray([numbers[text] for text in self._vocabulary.answers], dtype=np.int32)
        self._scenes: dict[str, tuple[SceneGraphs, Ints]] = {}

    def write(
        self, manifest: Manifest, hop: Hop, split: str, rows: QuestionTable, pairs: Pairs
    ) -> tuple[Manifest, SuiteSplit]:
        """Writes the result of `make` for a split; returns the manifest that lists it, and the counts."""
        manifest = self._written(
            manifest,
            hop,
            split,
            self._blocks(pairs, rows, split),
            {"pairs": len(pairs), "originals": len(rows)},
            n_originals=len(rows),
            origin=self._origin,
            per_cell=self._per_cell,
        )
        return manifest, self._made(hop, split, len(rows), pairs)

    def _written(
        self,
        manifest: Manifest,
        hop: Hop,
        split: str,
        blocks: "Blocks",
        entry: Mapping[str, int],
        *,
        source: str | None = None,
        **attributes: object,
    ) -> Manifest:
        """Writes a file of the suite; returns the manifest that lists it.

        `source` is the split whose questions it is about, if that has another name.
        """
        files = write_suite_files(
            self._layout,
            hop.name,
            split,
            blocks,
            self._vocab,
            pool=str(manifest.splits[hop.name][source or split]["pool"]),
            suite=self._name,
            tests=self._suite.tests,
            controls=self._suite.controls,
            fingerprint=self._fingerprint,
            **attributes,
        )
        return with_suite(manifest.with_files(files), hop.name, self._name, split, entry)

    def _check_vocabulary(self, manifest: Manifest, hop: Hop) -> None:
        """Checks that the suite's other files have the vocabulary that this run writes.

        Raises:
            ConfigError: they have another one, because the suite's own files have changed.
        """
        of_suite = manifest.suites.get(hop.name, {}).get(self._name, {})
        # Names that are not those of splits belong to train sets with added questions.
        kept = [split for split in of_suite if SPLITS.get(split, TRAIN).role != self.role]
        path = self._layout.suite_vocab(hop.name, self._name)
        if kept and path.is_file() and read_vocab(path) != self._vocab:
            remove = f"clevrhope suite {self._name} {self._layout.root} --hop {hop.name} --remove"
            raise ConfigError(
                f"{path}: {kept[0]} was made with this vocabulary, and {self._name} now has another one; "
                f"remove the suite first: {remove}"
            )

    def _made(self, hop: Hop, split: str, n_originals: int, pairs: Pairs) -> SuiteSplit:
        counts = tuple(_counts(self._suite, pairs))
        return SuiteSplit(hop.name, split, n_originals, counts, self._per_cell, self._origin)

    def make(self, hop: Hop, split: str) -> tuple[QuestionTable, Pairs]:
        """Makes the questions of a split, and the pairs from them, without writing anything."""
        self._check_vocabulary(self._manifest, hop)
        path = self._layout.questions_h5(hop.name, split)
        name = self._layout.relative(path)
        if record(path) != self._manifest.files.get(name):
            raise DatasetError(
                f"{path}: not the file that the manifest lists; restore it, or run the dataset's build again"
            )
        rows = read_table(path)
        pool = str(self._manifest.splits[hop.name][split]["pool"])
        return rows, self._pairs(rows, hop, split, pool)

    def _pairs(self, rows: QuestionTable, hop: Hop, split: str, pool: str) -> Pairs:
        graphs, indices = self._pool(pool)
        places = np.searchsorted(indices, rows.image_idxs)
        places = np.minimum(places, len(indices) - 1)
        missing = indices[places] != rows.image_idxs
        if missing.any():
            index = int(rows.image_idxs[missing][0])
            raise DatasetError(f"{self._layout.scenes(pool)}: scene {index} is not there; restore its file")
        rule = SPLITS[split].rule if hop.held_out else "any"
        implied = self._manifest.settings.strictness == "implied"
        try:
            return self._suite.pairs(
                rows.questions,
                rows.programs,
                rows.question_families,
                rows.answers,
                rows.image_idxs,
                graphs,
                places.astype(np.int64),
                words=self._vocab.questions(),
                tokens=self._tokens,
                answer_names=self._vocab.answers(),
                seed=self._manifest.seed,
                hop=hop.name,
                split=split,
                pool=pool,
                held_out=list(hop.held_out) if hop.held_out else None,
                palette=self._palette(pool),
                # If the pair is in every question, a partner may leave it out.
                rule="any" if rule == "with" else "unimplied" if rule == "without" and implied else rule,
                per_cell=self._per_cell,
                search=self._origin == "search",
                every=self.every,
            )
        except TemplateError as error:
            raise TemplateError(f"{self._layout.questions_h5(hop.name, split)}: {error}") from error

    def _pool(self, pool: str) -> tuple[SceneGraphs, Ints]:
        """The scenes of a pool, and their indices in order."""
        if pool not in self._scenes:
            files = self._layout.scene_files(pool)
            try:
                handles = [self._graphs(path) for path in files]
            except SceneError as error:
                raise DatasetError(str(error)) from error
            if not handles:
                raise DatasetError(f"{self._layout.scenes(pool)}: no scene files; restore them")
            indices = np.concatenate([read_scene_indices(path) for path in files])
            self._scenes[pool] = SceneGraphs.joined(self._vocabulary, handles), indices
        return self._scenes[pool]

    def _graphs(self, path: Path) -> SceneGraphs:
        content = read_bytes(path, "a scene file", max_bytes=MAX_SCENE_FILE_BYTES)
        return SceneGraphs.from_json(self._vocabulary, content, file=str(path))

    def _tiers(self) -> npt.NDArray[np.int8]:
        """The tier of each test."""
        return np.asarray([TIERS.index(tier) for _, tier, _ in self._suite.tests], dtype=np.int8)

    def _values(self, pairs: Pairs) -> Ints:
        """(K,) the number of the answer that a relation refers to; -1 for none."""
        return np.where(pairs.values >= 0, self._answers[pairs.values], -1).astype(np.int32)

    def _widths(self, rows: QuestionTable) -> tuple[int, int]:
        """Tokens in a row of questions and of programs, of a split and of the suite."""
        templates = self._suite.templates
        return (
            max(rows.widths[0], templates.question_width),
            max(rows.widths[1], templates.program_width),
        )

    def _palette(self, pool: str) -> bytes | None:
        _, name = parse_pool_name(pool)
        return palette_from_json(self._manifest.palettes[name]).data(pool) if name else None

    def _blocks(self, pairs: Pairs, rows: QuestionTable, split: str) -> "Blocks":
        """The pairs in the form of the files, in blocks; one empty block if there are no pairs."""
        widths = self._widths(rows)
        tiers = self._tiers()
        touches, swapped, tests = pairs.touches, pairs.swapped, pairs.tests
        of_pairs: dict[str, npt.NDArray[Any]] = {
            "pair_idxs": np.arange(len(pairs), dtype=np.int32),
            "test": tests.astype(np.int16),
            "tier": tiers[tests],
            "cell": pairs.cells,
            "touches": (touches >> 2).astype(np.int8),
            "relation": pairs.relations,
            "value": self._values(pairs),
        }
        originals = np.stack([np.where(swapped, -1, pairs.rows), np.where(swapped, pairs.rows, -1)], axis=1)
        for first in range(0, max(1, len(pairs)), PAIRS_A_BLOCK):
            some = slice(first, first + PAIRS_A_BLOCK)
            n = len(tests[some])
            batch = pairs.questions.take(2 * first, 2 * (first + n))
            columns = {
                **encoded(batch, self._vocab.questions(), self._tokens, self._answers, widths),
                # One more than the program can have: a verified relation becomes two functions.
                "clevr_programs": batch.clevr_program_tokens(self._tokens, widths[1] + 1)[0],
                "role": np.tile(np.asarray([0, 1], dtype=np.int8), n),
                "orig_idxs": originals[some].reshape(-1).astype(np.int32),
                **{name: np.repeat(column[some], 2) for name, column in of_pairs.items()},
            }
            arrays = QuestionTable(PAIRS, columns)
            answers = self._vocab.answers()
            yield (
                arrays,
                pair_rows(
                    batch,
                    arrays,
                    self._suite.tests,
                    answers,
                    suite=self._name,
                    split=split,
                    first_row=2 * first,
                ),
            )


Blocks = Iterator[tuple[QuestionTable, list[bytes]]]
"""Questions of a suite's file, as arrays and as rows of JSON."""


def write_suite_files(
    layout: Layout,
    hop: str,
    split: str,
    blocks: Blocks,
    vocab: Vocab,
    *,
    pool: str,
    suite: str,
    tests: Sequence[tuple[str, str, str]],
    **attributes: object,
) -> dict[str, FileRecord]:
    """Writes the questions of a suite on one split, with its vocabulary; returns the files' records.

    Args:
        layout: the dataset's folder.
        hop: the sub-dataset.
        split: the name of the file, a split or a train set with added questions.
        blocks: the questions.
        vocab: the suite's vocabulary.
        pool: the pool of their images.
        suite: the suite's name.
        tests: name, tier and type of each test.
        attributes: other attributes of the HDF5 file.
    """
    h5, questions = layout.suite_h5(hop, suite, split), layout.suite_json(hop, suite, split)
    h5.parent.mkdir(parents=True, exist_ok=True)
    about = {
        "suite": suite,
        "tests": [test for test, _, _ in tests],
        "types": [kind for _, _, kind in tests],
        **attributes,
    }
    with (
        QuestionWriter(h5, hop=hop, split=split, pool=pool, attributes=about) as writer,
        rows_file(questions, key="questions", info=question_info(split)) as add_rows,
    ):
        for arrays, rows in blocks:
            writer.append(arrays)
            add_rows(rows)
    write_vocab(layout.suite_vocab(hop, suite), vocab)
    return {layout.relative(path): record(path) for path in (h5, questions, layout.suite_vocab(hop, suite))}


def with_suite(manifest: Manifest, hop: str, suite: str, split: str, entry: Mapping[str, int]) -> Manifest:
    """The manifest with the entry of a suite's file."""
    of_hop = manifest.suites.get(hop, {})
    of_suite = {**of_hop.get(suite, {}), split: dict(entry)}
    return replace(manifest, suites={**manifest.suites, hop: {**of_hop, suite: of_suite}})


def pair_rows(
    questions: QuestionBatch,
    arrays: QuestionTable,
    tests: Sequence[tuple[str, str, str]],
    answers: Sequence[str],
    *,
    suite: str,
    split: str,
    first_row: int,
) -> list[bytes]:
    """The questions of pairs as rows of a question file, including the fields about their pairs.

    Args:
        questions: both questions of each pair.
        arrays: their columns.
        tests: name, tier and type of each test.
        answers: the answers by number.
        suite: the suite's name.
        split: the split of the questions.
        first_row: the first question's row in the file.
    """
    columns = zip(
        questions.json_rows(split=split, start_index=first_row),
        arrays.pair_idxs.tolist(),
        arrays.role.tolist(),
        arrays.test.tolist(),
        arrays.cell.tolist(),
        arrays.orig_idxs.tolist(),
        arrays.relation.tolist(),
        arrays.value.tolist(),
        strict=True,
    )
    return [
        row[:-1]
        + (
            f', "suite": "{suite}", "pair_index": {pair}, "role": "{ROLES[role]}", '
            f'"test": {json.dumps(tests[test][0])}, "tier": "{tests[test][1]}", '
            f'"cell": "{cell >> 1}{cell & 1}", "original_index": {"null" if row_of < 0 else row_of}, '
            f'"relation": "{RELATIONS[relation]}", '
            f'"value": {"null" if value < 0 else json.dumps(answers[value])}}}'
        ).encode()
        for row, pair, role, test, cell, row_of, relation, value in columns
    ]


def _counts(suite: Suite, pairs: Pairs) -> Iterator[TestCounts]:
    """The result of each test."""
    skipped: dict[int, Counter[str]] = {}
    for test, reason, n in pairs.skipped:
        skipped.setdefault(test, Counter())[reason] += n
    tests, cells = pairs.tests, pairs.cells
    searches = {test: (possible, lacks) for test, possible, lacks in pairs.searches}
    for number, (name, tier, _) in enumerate(suite.tests):
        counts = np.bincount(cells[tests == number], minlength=len(CELLS)).tolist()
        possible, lacks = searches.get(number, ([True] * len(CELLS), [0] * len(CELLS)))
        yield TestCounts(
            name,
            tier,
            sum(counts),
            {cell: n for cell, n in zip(CELLS, counts, strict=True) if n},
            dict(skipped.get(number, Counter())),
            {cell: n for cell, n in zip(CELLS, lacks, strict=True) if n},
            tuple(cell for cell, can_be in zip(CELLS, possible, strict=True) if not can_be),
        )


def used_templates(manifest: Manifest, vocabulary: Vocabulary, suite: Path) -> tuple[Templates, Path]:
    """The templates that the dataset was made with: the package's, or those that contain the suite's folder.

    Raises:
        TemplateError: it was made with others.
    """
    beside = suite.resolve().parent.parent
    for folder in dict.fromkeys((assets.question_templates(), beside)):
        if not any(folder.glob("*.json")):
            continue
        templates = read_templates(vocabulary, folder)
        if templates.fingerprint == manifest.templates["fingerprint"]:
            return templates, folder
    name = manifest.config.get("templates", "question_templates")
    raise TemplateError(
        f"the dataset was made with other templates ({name}, fingerprint "
        f"{manifest.templates['fingerprint'][:12]}...); give the suite's folder with --templates, such as "
        f"{name}/suites/{suite.name}"
    )
