"""Train sets of several runs as one, behind each other, so that one batch holds questions of all runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.split_reader import COLUMNS
from clevrhope.errors import ConfigError
from clevrhope.features.store import PoolFeatures
from clevrhope.training.data import Numbers, Questions, SplitRows
from clevrhope.training.prepared_run import PreparedRun


def join_train_sets(runs: Sequence[PreparedRun]) -> tuple[Questions, list[int]]:
    """The questions of the train sets of several runs, and the first row of each.

    Train sets that are there several times, for runs of several seeds, are held once.

    Raises:
        ConfigError: features of different sizes.
        DatasetError: an incomplete file, or images without features.
    """
    keys = [(str(run.store.folder), run.reader.hop, run.n_questions) for run in runs]
    different = dict(zip(keys, runs, strict=True))
    starts: dict[tuple[str, str, int], int] = {}
    for key in different:
        starts[key] = sum(n for _, _, n in starts)
    parts = [SplitRows.of(run.reader) for run in different.values()]
    pools = [run.store.pool(run.reader.pool) for run in different.values()]
    images, features = _joined_features(parts, pools)
    return Questions(_joined_rows(parts, images), features, runs[0].device), [starts[key] for key in keys]


def _joined_rows(parts: Sequence[SplitRows], images: Sequence[Numbers]) -> SplitRows:
    """The questions of all parts, with these images; their tokens are as wide as the widest."""
    sentences = [part.sentences for part in parts]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS
    }
    return SplitRows(
        hop="several",
        split="train",
        pool="several",
        questions=_padded([part.questions for part in parts]),
        programs=_padded([part.programs for part in parts]),
        **{**columns, "image_idxs": np.concatenate(images)},
        sentences=lambda: [sentence for of_part in sentences for sentence in of_part()],
    )


def _padded(tokens: Sequence[Ints]) -> Ints:
    width = max(rows.shape[1] for rows in tokens)
    return np.concatenate([np.pad(rows, ((0, 0), (0, width - rows.shape[1]))) for rows in tokens])


def _joined_features(
    parts: Sequence[SplitRows], pools: Sequence[PoolFeatures]
) -> tuple[list[Numbers], PoolFeatures]:
    """For each part, the row of each question's image; and the features, which have each image once."""
    images, used, n_rows = [], [], 0
    for part, pool in zip(parts, pools, strict=True):
        own, rows = np.unique(pool.rows(part.image_idxs), return_inverse=True)
        images.append((n_rows + rows).astype(np.int64))
        used.append(own)
        n_rows += len(own)
    arrays: dict[str, Any] = {}
    for name, like in pools[0].arrays.items():
        for pool in pools:
            shape = pool.arrays[name].shape[1:]
            if shape != like.shape[1:]:
                raise ConfigError(
                    f"{pool.place}: {name} are {shape}, but those of {pools[0].place} are "
                    f"{like.shape[1:]}; train these runs apart, or make features of one size"
                )
        arrays[name] = np.empty((n_rows, *like.shape[1:]), like.dtype)
        first = 0
        for pool, own in zip(pools, used, strict=True):
            arrays[name][first : first + len(own)] = pool.arrays[name][own]
            first += len(own)
    return images, PoolFeatures(np.arange(n_rows, dtype=np.int32), arrays, "features of several datasets")
