"""Makes pairs of a suite on the splits of a finished dataset, and train sets with questions of a suite."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clevrhope._core import Pairs, QuestionBatch, SceneGraphs, Suite
from clevrhope.dataset.clevr_json import read_scene_indices
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import ADDED, PAIRS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_questions import EVERY, augmented_split, n_augmented, rows_of_added, rows_of_own
from clevrhope.dataset.vocab import read_vocab
from clevrhope.describe.suites import CELLS
from clevrhope.errors import ConfigError, DatasetError, SceneError, TemplateError, command_line
from clevrhope.pipeline.engine import Encoder
from clevrhope.pipeline.suite_writer import SuiteWriter, palette_data, used_templates
from clevrhope.questions.suites import read_suite, suite_fingerprint
from clevrhope.runtime.atomic import record
from clevrhope.runtime.reading import read_utf8
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS, TRAIN

PAIRS_A_BLOCK = 32_768
"""Pairs that are written at once, about 70 MB of JSON rows."""

ROWS_A_BLOCK = 65_536
"""Rows of a train set with added questions that are written at once, about 70 MB of JSON."""

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
        return sum(counts.n_pairs for counts in self.tests)


class SuiteMaker:
    """Makes the pairs of one suite on a folder's splits; errors as for `make_suite`."""

    role = "test"
    """The role of the splits for which it makes pairs."""

    every: int | None = None
    """For train sets: the number of their questions before each pair."""

    def __init__(
        self,
        folder: Folder,
        name: str,
        suite_files: Path,
        *,
        origin: Origin = "questions",
        per_cell: int | None = None,
    ) -> None:
        self.folder, self.origin = folder, origin
        preset = str(folder.manifest.config.get("preset", "demo"))
        self.per_cell = PER_CELL.get(preset, PER_CELL["demo"]) if per_cell is None else per_cell
        templates, template_folder = used_templates(folder.manifest, folder.vocabulary, suite_files)
        self.suite = read_suite(
            name, templates, folder.vocabulary, folder=suite_files, template_folder=template_folder
        )
        encoder = Encoder(
            folder.vocabulary,
            folder.vocab,
            folder.vocabulary.answers,
            words=self.suite.templates.words,
            functions=self.suite.templates.functions,
        )
        about = {"controls": self.suite.controls, "fingerprint": suite_fingerprint(suite_files)}
        self.writer = SuiteWriter(folder, name, encoder, self.suite.tests, about)
        self._scenes: dict[str, tuple[SceneGraphs, Ints]] = {}

    def make(self, hop: Hop, split: str) -> tuple[QuestionTable, Pairs]:
        """Makes the questions of a split, and the pairs from them, without writing anything."""
        layout, manifest = self.folder.layout, self.folder.manifest
        self._check_vocabulary(hop)
        path = layout.questions_h5(hop.name, split)
        if record(path) != manifest.files.get(layout.relative(path)):
            raise DatasetError(
                f"{path}: not the file that the manifest lists; restore it, or run the dataset's build again"
            )
        rows, encoder = read_table(path).load(), self.writer.encoder
        pool = str(manifest.splits[hop.name][split]["pool"])
        graphs, places = self._graphs(pool, rows.image_idxs)
        rule = SPLITS[split].rule if hop.held_out else "any"
        if rule == "with":
            rule = "any"  # the pair is in every question, so a partner may leave it out
        implied = rule == "without" and manifest.settings.strictness == "implied"
        try:
            return rows, self.suite.pairs(
                rows.questions,
                rows.programs,
                rows.question_families,
                rows.answers,
                rows.image_idxs,
                graphs,
                places,
                words=encoder.words,
                tokens=encoder.tokens,
                answer_names=encoder.vocab.answers(),
                seed=manifest.seed,
                hop=hop.name,
                split=split,
                pool=pool,
                held_out=list(hop.held_out) if hop.held_out else None,
                palette=palette_data(manifest, pool),
                rule="unimplied" if implied else rule,
                per_cell=self.per_cell,
                search=self.origin == "search",
                every=self.every,
            )
        except TemplateError as error:
            raise TemplateError(f"{path}: {error}") from error

    def write(
        self, manifest: Manifest, hop: Hop, split: str, rows: QuestionTable, pairs: Pairs
    ) -> tuple[Manifest, SuiteSplit]:
        """Writes the result of `make` for a split; returns the manifest that lists it, and the counts."""
        manifest = self.writer.write(
            manifest,
            hop.name,
            split,
            self._blocks(pairs, rows),
            {"pairs": len(pairs), "originals": len(rows)},
            pool=str(manifest.splits[hop.name][split]["pool"]),
            n_originals=len(rows),
            origin=self.origin,
            per_cell=self.per_cell,
        )
        return manifest, self.counts(hop, split, len(rows), pairs)

    def counts(self, hop: Hop, split: str, n_originals: int, pairs: Pairs) -> SuiteSplit:
        """The number of pairs by test."""
        tests = tuple(_counts(self.suite, pairs))
        return SuiteSplit(hop.name, split, n_originals, tests, self.per_cell, self.origin)

    def widths(self, rows: QuestionTable) -> tuple[int, int]:
        """Tokens in a row of questions and of programs, of a split and of the suite."""
        templates = self.suite.templates
        return (max(rows.widths[0], templates.question_width), max(rows.widths[1], templates.program_width))

    def values(self, pairs: Pairs) -> Ints:
        """(K,) the number of the answer that a relation refers to; -1 for none."""
        return np.where(pairs.values >= 0, self.writer.encoder.answers[pairs.values], -1).astype(np.int32)

    def clevr_programs(self, batch: QuestionBatch, widths: tuple[int, int]) -> Ints:
        """Programs of CLEVR's functions, one token longer: a verified relation becomes two functions."""
        return batch.clevr_program_tokens(self.writer.encoder.tokens, widths[1] + 1)[0]

    def _blocks(self, pairs: Pairs, rows: QuestionTable) -> Iterator[tuple[QuestionBatch, QuestionTable]]:
        """The pairs in blocks; one empty block if there are no pairs."""
        widths = self.widths(rows)
        originals = np.where(np.stack([~pairs.swapped, pairs.swapped], axis=1), pairs.rows[:, None], -1)
        for first in range(0, max(1, len(pairs)), PAIRS_A_BLOCK):
            block = slice(first, min(first + PAIRS_A_BLOCK, len(pairs)))
            batch = pairs.questions.take(2 * first, 2 * block.stop)
            columns = self.writer.pair_columns(
                first,
                pairs.tests[block],
                cells=pairs.cells[block],
                touches=pairs.touches[block],
                relations=pairs.relations[block],
                values=self.values(pairs)[block],
                originals=originals[block],
            )
            columns["clevr_programs"] = self.clevr_programs(batch, widths)
            yield batch, self.writer.table(PAIRS, batch, widths, columns)

    def _check_vocabulary(self, hop: Hop) -> None:
        """Checks that the suite's other files have the vocabulary that this run writes.

        Raises:
            ConfigError: they have another one, because the suite's own files have changed.
        """
        layout, name = self.folder.layout, self.writer.suite
        of_suite = self.folder.manifest.suites.get(hop.name, {}).get(name, {})
        # Names that are not those of splits belong to train sets with added questions.
        kinds = {split: SPLITS.get(split, TRAIN) for split in of_suite}
        kept = [split for split, kind in kinds.items() if (kind.role, kind.drawn) != (self.role, "stream")]
        path = layout.suite_vocab(hop.name, name)
        if kept and path.is_file() and read_vocab(path) != self.writer.encoder.vocab:
            remove = command_line("suite", name, layout.root, "--hop", hop.name, "--remove")
            raise ConfigError(
                f"{path}: {kept[0]} was made with this vocabulary, and {name} now has another one; "
                f"remove the suite first: {remove}"
            )

    def _graphs(self, pool: str, image_idxs: Ints) -> tuple[SceneGraphs, Any]:
        """The scenes of a pool, and the place among them of each of these.

        Raises:
            DatasetError: a scene or its file is missing or damaged.
        """
        layout = self.folder.layout
        if pool not in self._scenes:
            files = layout.scene_files(pool)
            if not files:
                raise DatasetError(f"{layout.scenes(pool)}: no scene files; restore them")
            contents = [read_utf8(path, "a scene file", max_bytes=MAX_SCENE_FILE_BYTES) for path in files]
            vocabulary = self.folder.vocabulary
            try:
                graphs = [
                    SceneGraphs.from_json(vocabulary, content, file=str(path))
                    for path, content in zip(files, contents, strict=True)
                ]
            except SceneError as error:
                raise DatasetError(str(error)) from error
            indices = np.concatenate([read_scene_indices(path) for path in files])
            self._scenes[pool] = SceneGraphs.joined(vocabulary, graphs), indices
        scenes, indices = self._scenes[pool]
        places = np.minimum(np.searchsorted(indices, image_idxs), len(indices) - 1)
        missing = image_idxs[indices[places] != image_idxs]
        if len(missing):
            raise DatasetError(f"{layout.scenes(pool)}: scene {missing[0]} is not there; restore its file")
        return scenes, places.astype(np.int64)


class TrainMaker(SuiteMaker):
    """Makes, beside each train set, one with added questions of a suite, such as train_carets.

    Each `EVERY` questions of the train set are followed by a partner of one of the questions so far, or by a
    question of a pair whose original was searched for on one of their images. The suite's tests take
    turns, so that each adds the same number of questions where it can. A larger train set
    only extends a smaller one. If values are held out, no added question mentions them.

    Source: Jimenez et al., "CARETS", appendix on data augmentation: 9.9% more questions of the suite's types.

    Raises:
        TemplateError: no test has a partner where one is due.
    """

    role, every = "train", EVERY

    def write(
        self, manifest: Manifest, hop: Hop, split: str, rows: QuestionTable, pairs: Pairs
    ) -> tuple[Manifest, SuiteSplit]:
        """Writes a train set's own and added questions; returns what `SuiteMaker.write` returns."""
        name = augmented_split(self.writer.suite)
        columns = self._columns(pairs, len(rows))
        firsts = range(0, max(1, n_augmented(len(rows))), ROWS_A_BLOCK)
        blocks = (self._block(pairs, columns, first, self.widths(rows)) for first in firsts)
        entry = {"pairs": len(pairs), "originals": len(rows)}
        pool = str(manifest.splits[hop.name][split]["pool"])
        manifest = self.writer.write(manifest, hop.name, name, blocks, entry, pool=pool)
        return manifest, self.counts(hop, name, len(rows), pairs)

    def _columns(self, pairs: Pairs, n: int) -> dict[str, Any]:
        """The columns of added questions, over all rows; -1 for the n questions of the train set."""
        dtypes = {"test": "i2", "tier": "i1", "relation": "i1", "value": "i4", "source_idxs": "i4"}
        columns = {name: np.full(n_augmented(n), -1, dtype) for name, dtype in dtypes.items()}
        added = rows_of_added(n)
        columns["test"][added], columns["tier"][added] = pairs.tests, self.writer.tiers[pairs.tests]
        columns["relation"][added], columns["value"][added] = pairs.relations, self.values(pairs)
        columns["source_idxs"][rows_of_own(n)] = np.arange(n)
        columns["source_idxs"][added] = pairs.rows
        return columns

    def _block(
        self, pairs: Pairs, columns: dict[str, Any], first: int, widths: tuple[int, int]
    ) -> tuple[QuestionBatch, QuestionTable]:
        block = slice(first, min(first + ROWS_A_BLOCK, len(columns["test"])))
        batch = pairs.questions.take(block.start, block.stop)
        of_block = {name: column[block] for name, column in columns.items()}
        of_block["clevr_programs"] = self.clevr_programs(batch, widths)
        return batch, self.writer.table(ADDED, batch, widths, of_block)


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
