"""Train sets of several runs as one, behind each other, so that one batch holds questions of all runs."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError
from clevrhope.features.store import FeatureStore, PoolFeatures
from clevrhope.training.data import Numbers, Questions, Split


class TrainSetPart(NamedTuple):
    """The train set of a run, and the features of its images."""

    reader: Split
    store: FeatureStore


class JoinedSplit:
    """The questions of several splits, whose images are rows of one array of features."""

    hop, split, pool = "several", "train", "several"

    def __init__(self, readers: Sequence[Split], images: Sequence[Numbers]) -> None:
        """`images` has the row of each question's image, for each split."""
        self._readers = readers
        self.answers: Ints = np.concatenate([each.answers for each in readers])
        self.question_families: Ints = np.concatenate([each.question_families for each in readers])
        self.question_lengths: Ints = np.concatenate([each.question_lengths for each in readers])
        self.program_lengths: Ints = np.concatenate([each.program_lengths for each in readers])
        self.image_idxs: Ints = np.concatenate(images)

    def blocks(self) -> Iterator[tuple[int, Ints, Ints]]:
        """As of `Split`; rows are as wide as the widest."""
        blocks = [block for reader in self._readers for block in reader.blocks()]
        n_words = max(questions.shape[1] for _, questions, _ in blocks)
        n_tokens = max(programs.shape[1] for _, _, programs in blocks)
        first = 0
        for _, questions, programs in blocks:
            yield first, _padded(questions, n_words), _padded(programs, n_tokens)
            first += len(questions)

    def sentences(self) -> Sequence[str]:
        """As of `Split`."""
        return [sentence for reader in self._readers for sentence in reader.sentences()]


class _JoinedFeatures:
    """Features of the images of several splits, each image once; stands for a store with one pool."""

    def __init__(self, parts: Sequence[TrainSetPart]) -> None:
        self.rows: list[Numbers] = []
        """For each split, the row of each question's image."""
        pools, used, n_rows = [], [], 0
        for reader, store in parts:
            pool = store.pool(reader.pool)
            own, rows = np.unique(pool.rows(reader.image_idxs), return_inverse=True)
            self.rows.append((n_rows + rows).astype(np.int64))
            pools.append(pool)
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
        self._pool = PoolFeatures(np.arange(n_rows, dtype=np.int32), arrays, "features of several datasets")

    def pool(self, pool: str) -> PoolFeatures:
        return self._pool


def join_train_sets(parts: Sequence[TrainSetPart], device: torch.device) -> tuple[Questions, list[int]]:
    """The questions of several train sets, and the first row of each.

    Train sets that are there several times, for runs of several seeds, are held once.

    Raises:
        ConfigError: features of different sizes.
    """
    keys = [(str(store.folder), reader.hop, len(reader.answers)) for reader, store in parts]
    different = dict(zip(keys, parts, strict=True))
    features = _JoinedFeatures(list(different.values()))
    joined = JoinedSplit([part.reader for part in different.values()], features.rows)
    starts: dict[tuple[str, str, int], int] = {}
    for key in different:
        starts[key] = sum(other[2] for other in starts)
    return Questions(joined, features, device), [starts[key] for key in keys]


def _padded(rows: Ints, width: int) -> Ints:
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
