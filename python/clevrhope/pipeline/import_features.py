"""Copies published detector features into a store, for models that read features of kind `frcnn`.

The official files, `user_<split>_vg_frcnn.h5`, have `roi_features` (N, 36, 2048) and `normalized_boxes`
(N, 36, 4) float32, a row an image: the vectors and the boxes x1, y1, x2, y2 as shares of width and height.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.hdf5 import Array, Schema, reading_hdf5
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError
from clevrhope.features.dataset_folder import BuiltDataset
from clevrhope.features.extractor import ArraySpec
from clevrhope.features.store import FOLDER, StoreInfo
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.progress import Progress

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
    out: Path, files: Mapping[str, Path], used: Mapping[str, Ints], progress: Progress
) -> None:
    """Copies the features of pools into a store.

    Args:
        out: the imported folder.
        files: pool -> its file of features.
        used: pool -> the indices of its images in use, sorted.
        progress: shows the progress.

    Raises:
        DatasetError: a file is broken, or lacks an image.
    """
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
