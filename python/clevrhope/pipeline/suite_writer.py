"""What all makers of suites share: the files of a suite on a split, and what a dataset was made with."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from clevrhope._core import QuestionBatch, Templates, Vocabulary
from clevrhope.dataset.clevr_json import question_info, rows_file
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import TIERS, QuestionKind
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import QuestionWriter
from clevrhope.dataset.vocab import write_vocab
from clevrhope.errors import TemplateError
from clevrhope.pipeline.engine import Encoder
from clevrhope.questions import read_templates
from clevrhope.runtime import assets
from clevrhope.runtime.atomic import record
from clevrhope.splits.palettes import palette_from_json, parse_pool_name


class JsonRows(Protocol):
    """Questions as rows of a question file: a `QuestionBatch` or others."""

    def __len__(self) -> int:
        """Number of questions."""

    def json_rows(self, *, split: str, start_index: int = 0) -> list[bytes]:
        """The rows, of which the first has this number."""


@dataclass(frozen=True)
class SuiteWriter:
    """Writes the questions of one suite.

    Attributes:
        folder: the dataset.
        suite: the suite's name.
        encoder: encodes its questions with its vocabulary.
        tests: name, tier and type of each test.
        attributes: other attributes of its HDF5 files.
    """

    folder: Folder
    suite: str
    encoder: Encoder
    tests: Sequence[tuple[str, str, str]]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tiers(self) -> Any:
        """(T,) int8 the tier of each test."""
        return np.asarray([TIERS.index(tier) for _, tier, _ in self.tests], dtype=np.int8)

    def write(
        self,
        manifest: Manifest,
        hop: str,
        split: str,
        blocks: Iterable[tuple[JsonRows, QuestionTable]],
        entry: Mapping[str, int],
        *,
        pool: str,
        **attributes: Any,
    ) -> Manifest:
        """Writes the questions on one split; returns the manifest that lists them.

        Args:
            manifest: the folder's manifest.
            hop: the sub-dataset.
            split: the name of the file: a split, or a train set with added questions.
            blocks: questions, and the same as a table of `table`.
            entry: what the manifest says of them.
            pool: the pool of their images.
            attributes: attributes of this file beside those of the suite.
        """
        layout, done = self.folder.layout, 0
        h5, questions = layout.suite_h5(hop, self.suite, split), layout.suite_json(hop, self.suite, split)
        attributes = {**self._names, **self.attributes, **attributes}
        with (
            QuestionWriter(h5, hop=hop, split=split, pool=pool, attributes=attributes) as writer,
            rows_file(questions, key="questions", info=question_info(split)) as add_rows,
        ):
            for batch, table in blocks:
                writer.append(table.arrays())
                add_rows(_rows_with(batch.json_rows(split=split, start_index=done), table))
                done += len(batch)
        vocab = layout.suite_vocab(hop, self.suite)
        write_vocab(vocab, self.encoder.vocab)
        files = {layout.relative(path): record(path) for path in (h5, questions, vocab)}
        return manifest.with_files(files).with_pairs(hop, self.suite, split, entry)

    def table(
        self, kind: QuestionKind, batch: QuestionBatch, widths: tuple[int, int], columns: Mapping[str, Any]
    ) -> QuestionTable:
        """The table of a batch, with columns of its kind besides those of all questions."""
        return self.table_of(kind, {**self.encoder.columns(batch, widths), **columns})

    def table_of(self, kind: QuestionKind, columns: Mapping[str, Any]) -> QuestionTable:
        """A table with these columns."""
        return QuestionTable(kind, columns, vocab=self.encoder.vocab, **self._names)

    def pair_columns(
        self, first: int, tests: Any, *, cells: Any, touches: Any, relations: Any, values: Any, originals: Any
    ) -> dict[str, Any]:
        """The columns of both questions of K pairs, (2 K,), from those with one number for each pair.

        `first` is the number of the first pair, `touches` has the bits of the native module, and `originals`
        the rows (K, 2) of the questions in the split's own file, or -1.
        """
        of_pairs = {
            "pair_idxs": np.arange(first, first + len(tests), dtype=np.int32),
            "test": tests.astype(np.int16),
            "tier": self.tiers[tests],
            "cell": cells,
            "touches": (touches >> 2).astype(np.int8),
            "relation": relations,
            "value": values,
        }
        return {
            **{name: np.repeat(column, 2) for name, column in of_pairs.items()},
            "role": np.tile(np.asarray([0, 1], dtype=np.int8), len(tests)),
            "orig_idxs": originals.reshape(-1).astype(np.int32),
        }

    @property
    def _names(self) -> dict[str, Any]:
        names, _, types = zip(*self.tests, strict=True) if self.tests else ((), (), ())
        return {"suite": self.suite, "tests": list(names), "types": list(types)}


def palette_data(manifest: Manifest, pool: str) -> bytes | None:
    """The palette of a pool as JSON, as the native module reads it; None for none."""
    _, name = parse_pool_name(pool)
    return palette_from_json(manifest.palettes[name]).data(pool) if name else None


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


def _rows_with(rows: Sequence[bytes], table: QuestionTable) -> list[bytes]:
    """Rows of a JSON question file, each with the `row_fields` of its question at the end."""
    fields = table.kind.row_fields
    columns = zip(*(table.values(field) for field in fields), strict=True)
    names = [field.name for field in fields]
    return [
        row[:-1] + f", {json.dumps(dict(zip(names, values, strict=True)))[1:]}".encode()
        for row, values in zip(rows, columns, strict=True)
    ]
