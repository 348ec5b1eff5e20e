"""Copies published detector features into a store, for models that read features of kind `frcnn`.

The official files, `user_<split>_vg_frcnn.h5`, have `roi_features` (N, 36, 2048) and `normalized_boxes`
(N, 36, 4) float32, a row an image: the vectors and the boxes x1, y1, x2, y2 as shares of width and height.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from clevrhope.dataset.hdf5 import Array, Schema, reading_hdf5
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.features.dataset_folder import BuiltDataset
from clevrhope.features.extractor import ArraySpec
from clevrhope.features.store import FOLDER, StoreInfo
from clevrhope.pipeline.import_files import ImportedFolder
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

PUBLISHED = {"vectors": "roi_features", "boxes": "normalized_boxes"}
"""Array of the store -> the published one."""

SCHEMA = Schema(
    "a file of the official detector features",
    {other: Array("f", ARRAYS[name].shape, in_blocks=True) for name, other in PUBLISHED.items()},
    remedy="download it again",
)

ROWS_AT_ONCE = 256


def import_features(folder: ImportedFolder, splits: Sequence[SourceSplit], progress: Progress) -> None:
    """Copies the features of the images that questions are about into a store, for the pools of splits.

    Raises:
        ConfigError: no split has features.
        DatasetError: a file is broken, or lacks an image.
    """
    files = {split.pool: split.features for split in splits if split.features is not None}
    if not files:
        raise ConfigError("no detector features were found beside the questions (user_<split>_vg_frcnn.h5)")
    used, root = folder.scenes(), folder.layout.root
    dataset, store = BuiltDataset(root), root / FOLDER / STORE
    note, described = "the official release's features", dataset.described(images=True)
    info = StoreInfo("frcnn", ("image",), {"boxes": BOXES}, ARRAYS, "official", 2, note, described)
    for pool, path in files.items():
        of_pool, indices = store / pool, used[pool]
        of_pool.mkdir(parents=True, exist_ok=True)
        made: dict[str, Any] = {
            name: np.lib.format.open_memmap(  # type: ignore[no-untyped-call]
                of_pool / f"{name}.npy", mode="w+", dtype=spec.dtype, shape=(len(indices), *spec.shape)
            )
            for name, spec in ARRAYS.items()
        }
        made["n_boxes"][:] = BOXES
        title = f"Copying features of {pool}"
        with (
            reading_hdf5(path, SCHEMA) as file,
            progress.stage(title, total=len(indices), unit="images") as advance,
        ):
            n = len(file["roi_features"])
            if len(indices) and indices[-1] >= n:
                raise DatasetError(
                    f"{path}: it has features of {n:,} images, but a question is about {indices[-1]}"
                )
            for first in range(0, len(indices), ROWS_AT_ONCE):
                rows = indices[first : first + ROWS_AT_ONCE]
                for name, published in PUBLISHED.items():
                    made[name][first : first + len(rows)] = file[published][rows]
                advance(len(rows))
        for array in made.values():
            array.flush()
        np.save(of_pool / "indices.npy", indices)
        record = {"source": dataset.digest(pool, images=True, scenes=False)}
        write_whole(of_pool / "pool.json", (json.dumps(record) + "\n").encode())
    write_whole(store / "store.json", (json.dumps(info.as_json(), indent=1) + "\n").encode())
