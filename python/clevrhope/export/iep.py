"""Export of one HOP as the HDF5 files that the public CLEVR models load.

    vocab.json               the dataset's own
    <split>_questions.h5     questions, programs, answers, image_idxs, orig_idxs, question_families
    <split>_images.h5        images (images, height, width, 3) uint8 RGB: pixels, no features

`images[image_idxs[k]]` is the image of question k. The loaders index the rows of a feature file by the same
numbers, so the images of each split are renumbered from 0, in the order of their scenes.
"""

import shutil
from operator import call
from pathlib import Path

import numpy as np

from clevrhope.dataset.hdf5_writer import writing_hdf5
from clevrhope.dataset.images_h5 import create_images
from clevrhope.dataset.questions_h5 import CHUNK_ROWS
from clevrhope.export.readme import write_readme
from clevrhope.export.source import ExportSource, SplitSource
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.threads import map_in_threads


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes two files for each split (one if there are no images), and the vocabulary."""
    shutil.copyfile(source.layout.vocab, out / "vocab.json")
    for split in source.splits:
        _write_questions(out / f"{split.split}_questions.h5", split)
        if split.images is None:
            advance(len(split.reader))
        else:
            _write_images(out / f"{split.split}_images.h5", split, advance)
    write_readme(source, out, "iep")


def _write_questions(path: Path, split: SplitSource) -> None:
    reader = split.reader
    columns = {
        "image_idxs": split.numbers(),
        "orig_idxs": np.arange(len(reader), dtype=np.int32),
        "answers": reader.answers,
        "question_families": reader.question_families,
    }
    with writing_hdf5(path) as (file, check):
        for name, values in columns.items():
            file.create_dataset(name, data=values, track_times=False)
        wide = [
            file.create_dataset(
                name,
                shape=(len(reader), width),
                dtype=np.int32,
                chunks=(min(CHUNK_ROWS, len(reader)), width),
                compression="gzip",
                shuffle=True,
                track_times=False,
            )
            for name, width in zip(("questions", "programs"), reader.widths, strict=True)
        ]
        for first, *blocks in reader.blocks():
            for dataset, block in zip(wide, blocks, strict=True):
                dataset[first : first + len(block)] = block
            check()


def _write_images(path: Path, split: SplitSource, advance: Advance) -> None:
    assert split.images is not None
    source, indices = split.images, split.indices
    height, width = source.pixels(int(indices[0])).shape[:2]
    with writing_hdf5(path) as (file, check):
        images = create_images(file, len(indices), (height, width))
        packed = map_in_threads(call, map(source.deflated, indices.tolist()), threads=None)
        for row, (chunk, count) in enumerate(zip(packed, split.counts.tolist(), strict=True)):
            images.id.write_direct_chunk((row, 0, 0, 0), chunk)
            check()
            advance(count)
