"""Export in the forms of the official CLEVR-HOPE, which its readers and loaders take.

    HOP00/test_complex_ood-00000-of-00001.parquet    idx, query, answer, image
    held_out_CLEVR/                                  pairs 00 to 05 as HDF5; 06 to 28 in held_out_CLEVR_add/

The HDF5 files are those of `QUESTIONS` and `IMAGES` in `names`, with a vocab.json beside each question file.
Images of a file of features, (N, 3, height, width), are numbered from 0, in the order of their scenes. Those
of minimal sets, whose scenes are in pools of each two attributes, are in one file.
"""

import zlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import program_arities
from clevrhope.dataset.clevr_folder import FAMILIES
from clevrhope.dataset.hdf5_writer import writing_hdf5
from clevrhope.dataset.image_source import Images
from clevrhope.dataset.images_h5 import DEFLATE_LEVEL, ImageArray, create_images
from clevrhope.dataset.question_kinds import IMAGE, Field
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import CHUNK_ROWS, Ints
from clevrhope.dataset.vocab import Vocab, vocab_json
from clevrhope.errors import ConfigError, listed
from clevrhope.export.parquet import schema_of, write_tables
from clevrhope.export.readme import write_readme
from clevrhope.export.source import ExportSource, Sample, SplitSource
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.threads import map_in_threads
from clevrhope.sources.official.names import FIRST_RUN, IMAGES, PARQUET, QUESTIONS, SECOND_RUN
from clevrhope.sources.official.readers import ARRAYS
from clevrhope.splits.hops import OFFICIAL_NUMBERS, official_values, paper_hops

ROWS_A_FILE = 45_000
"""Questions of a Parquet file; nine about an image are some 5,000 images, about 500 MB."""


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes both forms; of questions without programs, which HDF5 has, the Parquet form alone.

    Raises:
        ConfigError: a chosen sub-dataset is not one of the 29 pairs.
    """
    others = [hop for hop in source.by_hop() if hop not in OFFICIAL_NUMBERS]
    if others:
        raise ConfigError(
            f"--format official has places for the paper's 29 pairs, but not for {listed(others, most=3)}; "
            "name pairs with --hop"
        )
    of_files: dict[Path, list[SplitSource]] = {}
    for split in source.splits:
        number = OFFICIAL_NUMBERS[split.hop]
        _write_parquet(split, out / f"HOP{number:02}", advance)
        if split.n_programs:
            run = out / ("held_out_CLEVR" if number in FIRST_RUN else SECOND_RUN)
            of_files.setdefault(run / IMAGES[split.split], []).append(split)
            path = _questions_file(run, split)
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / "vocab.json").write_bytes(_vocab_json(split.vocab))
    for path, splits in of_files.items():
        _write_hdf5(splits, path, path.parents[2])
    in_clevrs_words = "" in source.splits[0].vocab.questions()
    write_readme(source, out, "official", in_clevrs_words=in_clevrs_words, has_hdf5=bool(of_files))


_VALUES = {hop.name: official_values(hop) for hop in paper_hops()}
"""Pair -> its values as the names of official files have them."""


def _questions_file(run: Path, split: SplitSource) -> Path:
    values, number = _VALUES[split.hop], OFFICIAL_NUMBERS[split.hop]
    return run / QUESTIONS[split.split].format(values=values, number=number)


def _write_parquet(split: SplitSource, folder: Path, advance: Advance) -> None:
    import pyarrow as pa

    folder.mkdir(exist_ok=True)
    kinds = {"idx": "int64", "query": "string", "answer": "string", "image": IMAGE}
    schema = schema_of([Field(name, "", "", kind) for name, kind in kinds.items()], {})

    def table(group: Sequence[Sample]) -> Any:
        rows = [
            {
                "idx": question.index,
                "query": question.text,
                "answer": question.answer,
                "image": {"bytes": sample.images[0].png, "path": sample.images[0].filename},
            }
            for sample in group
            for question in sample.questions
        ]
        return pa.Table.from_pylist(rows, schema=schema)

    n_files = -(-len(split.reader) // ROWS_A_FILE)
    repeated = ("image.bytes", "image.path", "answer")
    write_tables(split, folder / PARQUET[split.split], n_files, schema, table, advance, repeated=repeated)


def _write_hdf5(splits: Sequence[SplitSource], path: Path, run: Path) -> None:
    """Writes the question files of splits whose images are in one file, and this file."""
    used: dict[str, Ints] = {}
    for split in splits:
        pool = split.reader.pool
        used[pool] = np.union1d(used.get(pool, split.indices), split.indices)
    firsts = dict(zip(used, np.cumsum([0, *map(len, used.values())]).tolist(), strict=False))
    for split in splits:
        pool = split.reader.pool
        numbers = firsts[pool] + np.searchsorted(used[pool], split.reader.image_idxs)
        _write_questions(_questions_file(run, split), split.reader, numbers)
    sources = {split.reader.pool: split.images for split in splits if split.images is not None}
    if sources:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_features(path, [(sources[pool], each) for pool in used for each in used[pool].tolist()])


def _write_questions(path: Path, reader: QuestionTable, numbers: Ints) -> None:
    """Writes the arrays of a question file; `numbers` (N,) are those of the images."""
    places = np.asarray([*(place for _, place in FAMILIES), -1])
    families = reader.question_families
    is_known = (families >= 0) & (families < len(FAMILIES))
    columns = {name: getattr(reader, column).astype(kind) for name, (column, kind) in ARRAYS.items()}
    columns |= {
        "image_idxs": numbers.astype(np.int64),
        "orig_idxs": np.arange(len(reader), dtype=np.int64),
        "question_families": places[np.where(is_known, families, -1)],
        "types": families.astype(np.int64),
    }
    with writing_hdf5(path) as (file, check):
        for name, values in columns.items():
            how = {}
            if values.ndim > 1:
                values = values[:, : columns[f"{name}_len"].max(initial=2)]
                chunks = max(1, min(CHUNK_ROWS, len(reader))), values.shape[1]
                how = {"chunks": chunks, "compression": "gzip", "shuffle": True}
            file.create_dataset(name, data=values, track_times=False, **how)
            check()


def _write_features(path: Path, images: Sequence[tuple[Images, int]]) -> None:
    """Writes `features`, (N, 3, height, width) uint8, with a chunk an image; images are given by index."""
    pixels = (source.pixels(index).transpose(2, 0, 1) for source, index in images)
    first = next(pixels)

    def packed(image: ImageArray) -> bytes:
        return zlib.compress(image.tobytes(), DEFLATE_LEVEL)

    with writing_hdf5(path) as (file, check):
        features = create_images(file, "features", (len(images), *first.shape))
        for row, chunk in enumerate(map_in_threads(packed, chain([first], pixels), threads=None)):
            features.id.write_direct_chunk((row, 0, 0, 0), chunk)
            check()


def _vocab_json(vocab: Vocab) -> bytes:
    """vocab.json as the official loaders read it, with the number of inputs of each function."""
    names = vocab.programs()
    arities = {name: int(n) for name, n in zip(names, program_arities(names), strict=True)}
    return vocab_json(vocab, program_token_arity=arities)
