"""Export in the forms of the official CLEVR-HOPE, which its readers and loaders take.

    HOP00/test_complex_ood-00000-of-00001.parquet    idx, query, answer, image
    held_out_CLEVR/                                  pairs 00 to 05 as HDF5; 06 to 28 in held_out_CLEVR_add/
      hdf5_held_out_CLEVR/no_text_no_vis_<values>_v1.0_ques/{train,val,test}_<question file>.h5, vocab.json
      hdf5_held_out_CLEVR_ims/{train,val_iid,test}_v1.0_img/{train,val,test}_ims.h5
      hdf5_atom_ho_exist_CLEVR_val_v1.0/val_v1.0_ques_dir/val_atom_ho_exist_match_ho<n>.h5, vocab.json
      hdf5_atom_ho_exist_CLEVR_val_v1.0/val_v1.0_ques_dir/val_atom_ho_exist_mismatch_ho<n>_filtered.h5
      hdf5_atom_CLEVR_val_v1.0/val_v1.0_img_dir/val_ims.h5

Images of a file of features, (N, 3, height, width), are numbered from 0, in the order of their scenes. Those
of minimal sets, whose scenes are in pools of each two attributes, are in one file.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import call
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import program_arities
from clevrhope.dataset.clevr_folder import FAMILIES
from clevrhope.dataset.hdf5_writer import writing_hdf5
from clevrhope.dataset.image_source import Images
from clevrhope.dataset.images_h5 import DEFLATE_LEVEL
from clevrhope.dataset.questions_h5 import CHUNK_ROWS, Ints
from clevrhope.dataset.vocab import Vocab, vocab_json
from clevrhope.errors import ConfigError, listed
from clevrhope.export.parquet import write_tables
from clevrhope.export.readme import write_readme
from clevrhope.export.source import ExportSource, Sample, SplitSource
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.threads import map_in_threads
from clevrhope.sources.official.names import FIRST_RUN, HDF5, PARQUET, SECOND_RUN
from clevrhope.splits.hops import OFFICIAL_NUMBERS, official_values, paper_hops
from clevrhope.splits.kinds import MINIMAL_OOD

IMAGES_OF_MINIMAL = "hdf5_atom_CLEVR_val_v1.0/val_v1.0_img_dir/val_ims.h5"
"""The file of the minimal sets' images."""

ROWS_A_FILE = 45_000
"""Questions of a Parquet file; nine about an image are some 5,000 images, about 500 MB."""


def write(source: ExportSource, out: Path, advance: Advance) -> None:
    """Writes both forms.

    Raises:
        ConfigError: a chosen sub-dataset is not one of the 29 pairs.
    """
    others = [hop for hop in source.by_hop() if hop not in OFFICIAL_NUMBERS]
    if others:
        raise ConfigError(
            f"--format official has places for the paper's 29 pairs, but not for {listed(others, most=3)}; "
            "name pairs with --hop"
        )
    splits = source.splits
    for split in splits:
        _write_parquet(split, out / f"HOP{OFFICIAL_NUMBERS[split.hop]:02}", advance)
    for is_first, folder in ((True, out / "held_out_CLEVR"), (False, out / SECOND_RUN)):
        of_run = [each for each in splits if (OFFICIAL_NUMBERS[each.hop] in FIRST_RUN) == is_first]
        if of_run:
            _write_run(of_run, folder)
    left_out = sorted({split.split for split in source.splits} - PARQUET.keys())
    write_readme(
        source, out, "official", left_out=left_out, in_clevrs_words="" in splits[0].vocab.questions()
    )


def _write_parquet(split: SplitSource, folder: Path, advance: Advance) -> None:
    import pyarrow as pa

    folder.mkdir(exist_ok=True)
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema(
        [("idx", pa.int64()), ("query", pa.string()), ("answer", pa.string()), ("image", image)],
        metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
    )

    def table(group: Sequence[Sample]) -> Any:
        rows = [(sample.images[0], question) for sample in group for question in sample.questions]
        columns = {
            "idx": [question.index for _, question in rows],
            "query": [question.text for _, question in rows],
            "answer": [question.answer for _, question in rows],
            "image": [{"bytes": shown.png, "path": shown.filename} for shown, _ in rows],
        }
        return pa.table(columns, schema=schema)

    n_files = -(-len(split.reader) // ROWS_A_FILE)
    repeated = ("image.bytes", "image.path", "answer")
    write_tables(split, folder / PARQUET[split.split], n_files, schema, table, advance, repeated=repeated)


_FEATURES = {
    "idx": {"dtype": "int64", "_type": "Value"},
    "query": {"dtype": "string", "_type": "Value"},
    "answer": {"dtype": "string", "_type": "Value"},
    "image": {"_type": "Image"},
}


@dataclass
class _ImageFile:
    """A file of features: images of some pools, numbered from 0."""

    sources: dict[str, Images | None] = field(default_factory=dict)
    used: dict[str, Ints] = field(default_factory=dict)
    """Pool -> the indices of its images in the file, sorted."""

    def add(self, split: SplitSource) -> None:
        pool = split.reader.pool
        self.sources[pool] = split.images
        self.used[pool] = np.union1d(self.used.get(pool, split.indices), split.indices)

    def numbers(self, split: SplitSource) -> Ints:
        """(N,) the number of each question's image."""
        pools = list(self.used)
        first = sum(len(self.used[pool]) for pool in pools[: pools.index(split.reader.pool)])
        return first + np.searchsorted(self.used[split.reader.pool], split.reader.image_idxs)

    def pixels(self) -> Iterator[Any]:
        """(height, width, 3) of each image."""
        for pool, indices in self.used.items():
            source = self.sources[pool]
            if source is not None:
                yield from map(source.pixels, indices.tolist())

    @property
    def n_images(self) -> int:
        return sum(len(self.used[pool]) for pool, source in self.sources.items() if source is not None)


def _write_run(splits: Sequence[SplitSource], folder: Path) -> None:
    """Writes the HDF5 files of the pairs of a run."""
    images: dict[str, _ImageFile] = {}
    for split in splits:
        images.setdefault(_image_file(split), _ImageFile()).add(split)
    for split in splits:
        path = folder / _question_file(split)
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "vocab.json").write_bytes(_vocab_json(split.vocab))
        _write_questions(path, split, images[_image_file(split)].numbers(split))
    for name, file in images.items():
        if file.n_images:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            _write_features(folder / name, file)


def _image_file(split: SplitSource) -> str:
    """The path of the file with a split's images below the folder of its run."""
    if split.split not in HDF5:
        return IMAGES_OF_MINIMAL
    begin, _, folder = HDF5[split.split]
    return f"hdf5_held_out_CLEVR_ims/{folder}/{begin}_ims.h5"


def _question_file(split: SplitSource) -> str:
    """The path of a question file below the folder of its run."""
    number = OFFICIAL_NUMBERS[split.hop]
    if split.split in HDF5:
        hop = next(hop for hop in paper_hops() if hop.name == split.hop)
        named = official_values(hop)
        begin, name, _ = HDF5[split.split]
        return f"hdf5_held_out_CLEVR/no_text_no_vis_{named}_v1.0_ques/{begin}_{name.format(named)}.h5"
    name = f"match_ho{number}" if split.split == MINIMAL_OOD else f"mismatch_ho{number}_filtered"
    return f"hdf5_atom_ho_exist_CLEVR_val_v1.0/val_v1.0_ques_dir/val_atom_ho_exist_{name}.h5"


def _write_questions(path: Path, split: SplitSource, numbers: Ints) -> None:
    reader = split.reader
    places = np.asarray([place for _, place in FAMILIES], dtype=np.int64)
    families = reader.question_families
    is_known = (families >= 0) & (families < len(places))
    columns: dict[str, Any] = {
        "questions_len": reader.question_lengths.astype(np.int32),
        "programs_len": reader.program_lengths.astype(np.int32),
        "image_idxs": numbers.astype(np.int64),
        "orig_idxs": np.arange(len(reader), dtype=np.int64),
        "question_families": np.where(is_known, places[np.where(is_known, families, 0)], -1),
        "answers": reader.answers.astype(np.int64),
        "types": families.astype(np.int64),
    }
    widths = [int(columns[f"{name}_len"].max(initial=2)) for name in ("questions", "programs")]
    with writing_hdf5(path) as (file, check):
        for name, values in columns.items():
            file.create_dataset(name, data=values, track_times=False)
        wide = [
            file.create_dataset(
                name,
                shape=(len(reader), width),
                dtype=np.int32,
                chunks=(max(1, min(CHUNK_ROWS, len(reader))), width),
                compression="gzip",
                shuffle=True,
                track_times=False,
            )
            for name, width in zip(("questions", "programs"), widths, strict=True)
        ]
        for first, *blocks in reader.blocks():
            for dataset, block, width in zip(wide, blocks, widths, strict=True):
                dataset[first : first + len(block)] = block[:, :width]
            check()


def _write_features(path: Path, images: _ImageFile) -> None:
    """Writes `features`, (N, 3, height, width) uint8, with a chunk an image."""
    pixels = images.pixels()
    first = next(pixels)
    shape = (3, *first.shape[:2])

    def packing(image: Any) -> Callable[[], bytes]:
        return lambda: zlib.compress(image.transpose(2, 0, 1).tobytes(), DEFLATE_LEVEL)

    def all_of_them() -> Iterable[Any]:
        yield first
        yield from pixels

    with writing_hdf5(path) as (file, check):
        features = file.create_dataset(
            "features",
            shape=(images.n_images, *shape),
            chunks=(1, *shape),
            dtype=np.uint8,
            compression="gzip",
            compression_opts=DEFLATE_LEVEL,
            track_times=False,
        )
        chunks = map_in_threads(call, map(packing, all_of_them()), threads=None)
        for row, chunk in enumerate(chunks):
            features.id.write_direct_chunk((row, 0, 0, 0), chunk)
            check()


def _vocab_json(vocab: Vocab) -> bytes:
    """vocab.json as the official loaders read it, with the number of inputs of each function."""
    names = vocab.programs()
    arities = {name: int(n) for name, n in zip(names, program_arities(names), strict=True)}
    return vocab_json(vocab, program_token_arity=arities)
