"""Export as a folder for Hugging Face's `datasets.load_dataset(folder, hop)`.

    README.md                                     the dataset card; its head names all configs
    <hop>/<split>-00000-of-00012.parquet          a row a question, its image in it
    <hop>.covr/<split>-00000-of-00001.parquet     the same of questions about sets of images
    <hop>.<suite>/<split>-00000-of-00001.parquet  the same of a suite, with what makes the questions pairs

An image with nine questions is in nine rows, but only once in the file: the column is encoded by a dictionary
for each group of rows, and a group holds all questions of its images. An image of several sets is once in
each group that has one of them.
"""

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrhope.dataset.pairs_h5 import RELATIONS, ROLES, TIERS
from clevrhope.export.card import dataset_card
from clevrhope.export.source import Sample, SetSource, Source, SplitSource, SuiteSource
from clevrhope.runtime.progress import Advance

if TYPE_CHECKING:
    import pyarrow as pa

    _Column = tuple[pa.DataType, dict[str, Any]]  # its type, and what `datasets` makes of it

IMAGES_A_FILE = 5_000
"""Approximately; some 500 MB, the size that the Hub recommends."""

IMAGES_A_GROUP = 32
"""A reader unpacks a group's rows at once; with nine questions an image that is some 30 MB."""

SETS_A_GROUP = 64
"""The same of sets of images."""

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

_OF_SETS = {"template": "string", "structure": "string", "source": "int32"}
"""The columns of questions about sets of images alone."""

_REPEATED = [
    *(f"{image}.{part}" for image in ("image", "images.list.element") for part in ("bytes", "path")),
    "answer",
    "program.list.element",
    *(name for name, dtype in (_OF_SETS | _OF_PAIRS).items() if dtype == "string"),
]
"""Columns that are encoded by a dictionary, as far as a table has them."""

_DICTIONARY_BYTES = 1 << 28
"""The most bytes of a group's images; above it they would be written once a row."""


def write(source: Source, out: Path, advance: Advance) -> None:
    """Writes all splits and the card."""
    for split in (*source.splits, *source.suites):
        _write_split(split, out / split.config, advance)
    (out / "README.md").write_text(dataset_card(source), "utf-8")


def _write_split(split: SplitSource, folder: Path, advance: Advance) -> None:
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    schema = _schema(split)
    samples = split.samples(whole=False)
    a_group = SETS_A_GROUP if isinstance(split, SetSource) else IMAGES_A_GROUP
    n_files = -(-split.n_copies // IMAGES_A_FILE)
    n_rows = 0
    for number in range(n_files):
        path = folder / f"{split.split}-{number:05d}-of-{n_files:05d}.parquet"
        # Counted over all files: files end with a group, and a goal for each would leave the last ones empty.
        goal = (number + 1) * len(split.reader) // n_files
        # Through a file of Python's, so that a full disk is Python's error too.
        with (
            path.open("wb") as file,
            pq.ParquetWriter(
                file, schema, use_dictionary=_REPEATED, dictionary_pagesize_limit=_DICTIONARY_BYTES
            ) as writer,
        ):
            while n_rows < goal and (group := list(islice(samples, a_group))):
                table = _table(split, group, schema)
                writer.write_table(table, row_group_size=len(table))
                n_rows += len(table)
                advance(len(table))


def _schema(split: SplitSource) -> "pa.Schema":
    """The columns, and in the metadata what `datasets` makes of them."""
    import pyarrow as pa

    text, number = _value("string"), _value("int32")
    image: _Column = (pa.struct([("bytes", pa.binary()), ("path", pa.string())]), {"_type": "Image"})
    columns = {"image": image, "question": text, "answer": text, "program": _list_of(text)}
    if isinstance(split, SetSource):
        columns = {"images": _list_of(image), **columns}
        del columns["image"]
        columns |= {name: _value(dtype) for name, dtype in _OF_SETS.items()}
        columns |= {"question_index": number, "image_indices": _list_of(number)}
    else:
        columns |= dict.fromkeys(("question_family_index", "question_index", "image_index"), number)
    if isinstance(split, SuiteSource):
        columns |= {name: _value(dtype) for name, dtype in _OF_PAIRS.items()}
    if split.images is None:
        del columns[next(iter(columns))]
    features = {name: feature for name, (_, feature) in columns.items()}
    return pa.schema(
        [(name, kind) for name, (kind, _) in columns.items()],
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )


def _value(dtype: str) -> "_Column":
    import pyarrow as pa

    return pa.type_for_alias(dtype), {"dtype": dtype, "_type": "Value"}


def _list_of(column: "_Column") -> "_Column":
    import pyarrow as pa

    kind, feature = column
    return pa.list_(kind), {"feature": feature, "_type": "Sequence"}


def _table(split: SplitSource, group: Sequence[Sample], schema: "pa.Schema") -> "pa.Table":
    import pyarrow as pa

    rows = [(sample, question) for sample in group for question in sample.questions]
    images = [[{"bytes": image.png, "path": image.filename} for image in sample.images] for sample, _ in rows]
    indices = [[image.index for image in sample.images] for sample, _ in rows]
    columns: dict[str, list[Any]] = {
        "question": [question.text for _, question in rows],
        "answer": [question.answer for _, question in rows],
        "program": [question.program for _, question in rows],
        "question_index": [question.index for _, question in rows],
    }
    columns |= {name: [question.kind[name] for _, question in rows] for name in rows[0][1].kind}
    if isinstance(split, SetSource):
        columns |= {"images": images, "image_indices": indices}
    else:
        columns |= {"image": [image for (image,) in images], "image_index": [index for (index,) in indices]}
    if isinstance(split, SuiteSource):
        columns |= _columns_of_pairs(split, columns["question_index"])
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
