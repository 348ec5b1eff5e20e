"""Train sets with added questions of a suite: `clevrhope suite --train`."""

from typing import Any

import numpy as np

from clevrhope._core import Pairs, QuestionBatch
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import ADDED
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.suite_questions import EVERY, augmented_split, n_augmented, rows_of_added, rows_of_own
from clevrhope.pipeline.suite_maker import SuiteMaker, SuiteSplit
from clevrhope.splits.hops import Hop

ROWS_A_BLOCK = 65_536
"""Rows that are written at once, about 70 MB of JSON."""


class TrainMaker(SuiteMaker):
    """Makes, beside each train set, one with added questions of a suite, such as train_carets.

    Each `EVERY` questions of the train set are followed by a partner of one of the questions so far. The
    suite's tests take turns, so that each adds the same number of questions where it can. A larger train set
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
        some = slice(first, min(first + ROWS_A_BLOCK, len(columns["test"])))
        batch = pairs.questions.take(some.start, some.stop)
        of_block = {name: column[some] for name, column in columns.items()}
        of_block["clevr_programs"] = self.clevr_programs(batch, widths)
        return batch, self.writer.table(ADDED, batch, widths, of_block)
