"""Copies published detector features into a store, for models that read features of kind `frcnn`.

The official files, `user_<split>_vg_frcnn.h5`, have `roi_features` (N, 36, 2048) and `normalized_boxes`
(N, 36, 4) float32, a row an image: the vectors and the boxes x1, y1, x2, y2 as shares of width and height.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.hdf5 import Array, Schema, reading_hdf5
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.features.dataset_folder import BuiltDataset
from clevrhope.features.extractor import ArraySpec
from clevrhope.features.store import FOLDER, StoreInfo
from clevrhope.pipeline.import_files import tables_of
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.progress import Progress
from clevrhope.sources.source import SourceSplit

STORE = "frcnn-official"
"""The name of the store."""

BOXES, WIDTH = 36, 2048

ARRAYS = {
    "vectors": ArraySpec("float16", (BOXES, WIDTH)),
    "boxes": ArraySpec("float32", (BOXES, 4)),
    "n_boxes": ArraySpec("int64", ()),
}

SCHEMA = Schema(
    "a file of the official detector features",
    {
        "roi_features": Array("f", (BOXES, WIDTH), in_blocks=True),
        "normalized_boxes": Array("f", (BOXES, 4), in_blocks=True),
    },
    remedy="download it again",
)

ROWS_AT_ONCE = 256


def import_features(
    layout: Layout, manifest: Manifest, splits: Sequence[SourceSplit], progress: Progress
) -> None:
    """Copies the features of the images that questions are about into a store, for the pools of splits.

    Raises:
        ConfigError: no split has features.
        DatasetError: a file is broken, or lacks an image.
    """
    files = {split.pool: split.features for split in splits if split.features is not None}
    if not files:
        raise ConfigError("no detector features were found beside the questions (user_<split>_vg_frcnn.h5)")
    used: dict[str, Ints] = {}
    for table in tables_of(layout, manifest):
        if table.pool in files:
            used[table.pool] = np.union1d(used.get(table.pool, table.scenes), table.scenes)
    out = layout.root
    dataset = BuiltDataset(out)
    store = out / FOLDER / STORE
    note = "the official release's features"
    info = StoreInfo(
        "frcnn", ("image",), {"boxes": BOXES}, ARRAYS, "official", 2, note, dataset.described(images=True)
    )
    for pool, path in files.items():
        folder, indices = store / pool, used[pool]
        folder.mkdir(parents=True, exist_ok=True)
        with reading_hdf5(path, SCHEMA) as file:
            n = len(file["roi_features"])
            if len(indices) and indices[-1] >= n:
                raise DatasetError(
                    f"{path}: it has features of {n:,} images, but a question is about {indices[-1]}"
                )
            made = {
                name: _new_array(folder / f"{name}.npy", spec, len(indices)) for name, spec in ARRAYS.items()
            }
            with progress.stage(f"Copying features of {pool}", total=len(indices), unit="images") as advance:
                for first in range(0, len(indices), ROWS_AT_ONCE):
                    rows = indices[first : first + ROWS_AT_ONCE]
                    here = slice(first, first + len(rows))
                    made["vectors"][here] = file["roi_features"][rows]
                    made["boxes"][here] = file["normalized_boxes"][rows]
                    made["n_boxes"][here] = BOXES
                    advance(len(rows))
        for array in made.values():
            array.flush()
        np.save(folder / "indices.npy", indices)
        record = {"source": dataset.digest(pool, images=True, scenes=False)}
        write_whole(folder / "pool.json", (json.dumps(record) + "\n").encode())
    write_whole(store / "store.json", (json.dumps(info.as_json(), indent=1) + "\n").encode())


def _new_array(path: Path, spec: ArraySpec, n: int) -> Any:
    return np.lib.format.open_memmap(  # type: ignore[no-untyped-call]
        path, mode="w+", dtype=np.dtype(spec.dtype), shape=(n, *spec.shape)
    )
