"""Train sets with added questions of a suite: `clevrhope suite --train`."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clevrhope._core import Pairs
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import ADDED
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.suite_questions import EVERY, augmented_split, n_augmented, rows_of_added, rows_of_own
from clevrhope.pipeline.engine import encoded
from clevrhope.pipeline.suites import SuiteMaker, SuiteSplit, make_with
from clevrhope.runtime.progress import Progress
from clevrhope.splits.hops import Hop

ROWS_A_BLOCK = 65_536
"""Rows that are written at once, about 70 MB of JSON."""


def make_train_sets(
    folder: Path,
    name: str,
    *,
    hops: Sequence[str] | None = None,
    suite_files: Path | None = None,
    progress: Progress | None = None,
) -> tuple[SuiteSplit, ...]:
    """Writes, beside each train set, one with added questions of a suite, such as train_carets.

    Each `EVERY` questions of the train set are followed by a partner of one of the questions so far. The
    suite's tests take turns, so that each adds the same number of questions where it can. A larger train set
    only extends a smaller one. If values are held out, no added question mentions them.

    Source: Jimenez et al., "CARETS", appendix on data augmentation: 9.9% more questions of the suite's types.

    Args and errors are those of `make_suite`, and TemplateError if no test has a partner where one is due.
    """
    return make_with(_TrainMaker, folder, name, hops=hops, suite_files=suite_files, progress=progress)


class _TrainMaker(SuiteMaker):
    """Makes the train sets with added questions of one suite."""

    role, every = "train", EVERY

    def write(
        self, manifest: Manifest, hop: Hop, split: str, rows: QuestionTable, pairs: Pairs
    ) -> tuple[Manifest, SuiteSplit]:
        """Writes a train set's own and added questions; returns what `SuiteMaker.write` returns."""
        name = augmented_split(self._name)
        firsts = range(0, max(1, n_augmented(len(rows))), ROWS_A_BLOCK)
        blocks = (self._block(pairs, self._arrays(pairs, rows, first), first, name) for first in firsts)
        entry = {"pairs": len(pairs), "originals": len(rows)}
        manifest = self._written(manifest, hop, name, blocks, entry, source=split)
        return manifest, self._made(hop, name, len(rows), pairs)

    def _arrays(self, pairs: Pairs, own: QuestionTable, first: int) -> QuestionTable:
        """The rows of one block, whose first row is `first`."""
        n, n_all = len(own), n_augmented(len(own))
        some = slice(first, min(first + ROWS_A_BLOCK, n_all))
        batch = pairs.questions.take(some.start, some.stop)
        test, tier, relation, value, source = (
            np.full(n_all, -1, each) for each in ("i2", "i1", "i1", "i4", "i4")
        )
        added = rows_of_added(n)
        test[added], tier[added] = pairs.tests, self._tiers()[pairs.tests]
        relation[added], value[added] = pairs.relations, self._values(pairs)
        source[rows_of_own(n)], source[added] = np.arange(n), pairs.rows
        columns = {
            **encoded(batch, self._vocab.questions(), self._tokens, self._answers, self._widths(own)),
            "test": test[some],
            "tier": tier[some],
            "relation": relation[some],
            "value": value[some],
            "source_idxs": source[some],
            "clevr_programs": batch.clevr_program_tokens(self._tokens, self._widths(own)[1] + 1)[0],
        }
        return QuestionTable(ADDED, columns)

    def _block(
        self, pairs: Pairs, arrays: QuestionTable, first: int, name: str
    ) -> tuple[QuestionTable, list[bytes]]:
        """Arrays with their rows of JSON, in which an added question has its test and its original."""
        batch = pairs.questions.take(first, first + len(arrays))
        columns = zip(
            batch.json_rows(split=name, start_index=first),
            arrays.test.tolist(),
            arrays.source_idxs.tolist(),
            strict=True,
        )
        tests = [json.dumps(test) for test, _, _ in self._suite.tests]
        rows = [
            row[:-1]
            + (
                f', "suite": "{self._name}", "test": {"null" if test < 0 else tests[test]}, '
                f'"original_index": {"null" if test < 0 else source}}}'
            ).encode()
            for row, test, source in columns
        ]
        return arrays, rows
