"""Export as a folder for Hugging Face's `datasets.load_dataset(folder, hop)`.

    README.md                                     the dataset card; its head names all configs
    <hop>/<split>-00000-of-00012.parquet          a row a question, its image in it
    <hop>.<suite>/<split>-00000-of-00001.parquet  the same of a suite, with what makes the questions pairs

An image with nine questions is in nine rows, but only once in the file: the column is encoded by a dictionary
for each group of rows, and a group holds all questions of its images.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.pairs_h5 import RELATIONS, ROLES, TIERS
from clevrhope.export.card import dataset_card
from clevrhope.export.source import Sample, Source, SplitSource, SuiteSource
from clevrhope.runtime.progress import Advance

if TYPE_CHECKING:
    import pyarrow as pa

IMAGES_A_FILE = 5_000
"""Approximately; some 500 MB, the size that the Hub recommends."""

IMAGES_A_GROUP = 32
"""A reader unpacks a group's rows at once; with nine questions an image that is some 30 MB."""

_OF_PAIRS = {
    "suite": "string",
    "test": "string",
    "type": "string",
    "tier": "string",
    "cell": "string",
    "role": "string",
    "pair_index": "int32",
    "original_index": "int32",
    "relation": "string",
    "value": "string",
}
"""The columns that a suite has besides those of a split, and their types."""

_REPEATED = ["image.bytes", "image.path", "answer", "program.list.element"]
"""Columns that are encoded by a dictionary."""

_REPEATED_OF_PAIRS = [*_REPEATED, *(name for name, dtype in _OF_PAIRS.items() if dtype == "string")]
"""The same of a suite."""

_DICTIONARY_BYTES = 1 << 28
"""The most bytes of a group's images; above it they would be written once a row."""


def write(source: Source, out: Path, advance: Advance) -> None:
    """Writes all splits and the card."""
    detokenizer = Detokenizer(source.vocab)
    for split in source.splits:
        _write_split(split, split.samples(detokenizer, whole=False), out / split.hop, advance)
    for suite in source.suites:
        samples = suite.samples(Detokenizer(suite.vocab), whole=False)
        _write_split(suite, samples, out / suite.config, advance)
    (out / "README.md").write_text(dataset_card(source), "utf-8")


def _write_split(split: SplitSource, samples: Iterator[Sample], folder: Path, advance: Advance) -> None:
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    suite = split if isinstance(split, SuiteSource) else None
    repeated = _REPEATED_OF_PAIRS if suite else _REPEATED
    schema = _schema(with_images=split.images is not None, of_pairs=suite is not None)
    n_files = -(-len(split.indices) // IMAGES_A_FILE)
    goal = -(-len(split.reader) // n_files)
    for number in range(n_files):
        path = folder / f"{split.split}-{number:05d}-of-{n_files:05d}.parquet"
        n_rows = 0
        # Through a file of Python's, so that a full disk is Python's error too.
        with (
            path.open("wb") as file,
            pq.ParquetWriter(
                file, schema, use_dictionary=repeated, dictionary_pagesize_limit=_DICTIONARY_BYTES
            ) as writer,
        ):
            while n_rows < goal and (group := list(islice(samples, IMAGES_A_GROUP))):
                table = _table(group, schema, suite)
                writer.write_table(table, row_group_size=len(table))
                n_rows += len(table)
                advance(len(table))


def _schema(*, with_images: bool, of_pairs: bool) -> "pa.Schema":
    """The columns, and in the metadata what `datasets` makes of them."""
    import pyarrow as pa

    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns: dict[str, tuple[Any, dict[str, Any]]] = {
        "image": (image, {"_type": "Image"}),
        "question": (pa.string(), _value("string")),
        "answer": (pa.string(), _value("string")),
        "program": (pa.list_(pa.string()), {"feature": _value("string"), "_type": "Sequence"}),
        "question_family_index": (pa.int32(), _value("int32")),
        "question_index": (pa.int32(), _value("int32")),
        "image_index": (pa.int32(), _value("int32")),
    }
    if not with_images:
        del columns["image"]
    if of_pairs:
        columns |= {name: (pa.type_for_alias(dtype), _value(dtype)) for name, dtype in _OF_PAIRS.items()}
    features = {name: feature for name, (_, feature) in columns.items()}
    return pa.schema(
        [(name, kind) for name, (kind, _) in columns.items()],
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )


def _value(dtype: str) -> dict[str, Any]:
    return {"dtype": dtype, "_type": "Value"}


def _table(group: Sequence[Sample], schema: "pa.Schema", suite: SuiteSource | None) -> "pa.Table":
    import pyarrow as pa

    rows = [(sample, question) for sample in group for question in sample.questions]
    columns: dict[str, list[Any]] = {
        "image": [{"bytes": sample.png, "path": sample.image_filename} for sample, _ in rows],
        "question": [question.text for _, question in rows],
        "answer": [question.answer for _, question in rows],
        "program": [question.program for _, question in rows],
        "question_family_index": [question.family for _, question in rows],
        "question_index": [question.index for _, question in rows],
        "image_index": [sample.image_index for sample, _ in rows],
    }
    if suite is not None:
        columns |= _columns_of_pairs(suite, columns["question_index"])
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def _columns_of_pairs(suite: SuiteSource, index: Sequence[int]) -> dict[str, list[Any]]:
    """The columns of `_OF_PAIRS` of some rows of a suite's file."""
    pairs, answers = suite.pairs, suite.vocab.answers()
    rows = {name: getattr(pairs.rows, name)[index].tolist() for name in _COLUMNS_OF_PAIRS}
    return {
        "suite": [pairs.suite] * len(index),
        "test": [pairs.tests[test] for test in rows["test"]],
        "type": [pairs.types[test] for test in rows["test"]],
        "tier": [TIERS[tier] for tier in rows["tier"]],
        "cell": [f"{cell:02b}" for cell in rows["cell"]],
        "role": [ROLES[role] for role in rows["role"]],
        "pair_index": rows["pair_idxs"],
        "original_index": [None if place < 0 else place for place in rows["orig_idxs"]],
        "relation": [RELATIONS[relation] for relation in rows["relation"]],
        "value": [None if value < 0 else answers[value] for value in rows["value"]],
    }


_COLUMNS_OF_PAIRS = ("test", "tier", "cell", "role", "pair_idxs", "orig_idxs", "relation", "value")
"""The columns of a suite's HDF5 file that they are made of."""
