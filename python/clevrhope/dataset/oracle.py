"""The symbolic oracle, which runs programs on the true scenes of a split's images."""

from dataclasses import asdict

import numpy as np

from clevrhope.dataset.layout import SCENES_A_SHARD, Layout
from clevrhope.dataset.native_reader import vocabulary_of
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.split_files import read_vocab as read_finished_vocab
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import DatasetError, SceneError
from clevrhope.programs import execute_batch, read_scenes


def execute_programs(programs: Ints, image_idxs: Ints, *, layout: Layout, pool: str, vocab: Vocab) -> Ints:
    """(N,) int32 answers of programs on true scenes, as numbers of a vocabulary.

    An answer is negative if the program is malformed or has no answer on its scene. A program whose functions
    do not match in type has no answer here, even if a model's modules, which all map feature maps to feature
    maps, can run it.

    Args:
        programs: (N, P) int32 prefix tokens.
        image_idxs: (N,) scene indices in the pool.
        layout: the dataset's folder.
        pool: the pool of the split's images.
        vocab: the vocabulary of tokens and answers: the dataset's, a suite's, or a model's own.

    Raises:
        DatasetError: a file is missing or incomplete, or lacks a scene.
    """
    vocabulary = vocabulary_of(read_finished_vocab(layout.vocab))
    answers = np.full(len(programs), -1, dtype=np.int32)
    shards = image_idxs // SCENES_A_SHARD
    for shard in np.unique(shards).tolist():
        path = layout.scene_shard(pool, shard)
        if not path.is_file():
            raise DatasetError(f"{path}: no such file, but programs run on its scenes; restore it")
        here = np.flatnonzero(shards == shard)
        scenes = read_scenes(path, vocabulary=vocabulary)
        try:
            answers[here] = execute_batch(
                programs[here],
                scenes,
                image_idxs=image_idxs[here],
                vocab=asdict(vocab),
                vocabulary=vocabulary,
                mark_ill_formed=True,
            )
        except SceneError as error:
            raise DatasetError(f"{path}: {error}; run the dataset's build again") from error
    return answers
