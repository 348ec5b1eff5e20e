"""The symbolic oracle: runs programs on the true scenes behind a split's images."""

import numpy as np

from clevrhope.dataset.layout import SCENES_A_SHARD, Layout
from clevrhope.dataset.native_reader import vocabulary_of
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.split_files import read_vocab as read_finished_vocab
from clevrhope.dataset.split_reader import SplitReader
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import DatasetError
from clevrhope.programs import execute_batch, read_scenes


def run_programs(layout: Layout, vocab: Vocab, reader: SplitReader) -> Ints:
    """(N,) int32 answers of a file's programs on its scenes, as numbers of vocab.json.

    An answer is below 0 where the program is malformed, or has no answer on its scene.

    Args:
        layout: the dataset's folder.
        vocab: the vocabulary of the file, that of a suite if it is one of pairs.
        reader: the file.

    Raises:
        DatasetError: a file is missing or not whole.
    """
    vocabulary = vocabulary_of(read_finished_vocab(layout.vocab))
    names = {
        "program_token_to_idx": vocab.program_token_to_idx,
        "answer_token_to_idx": vocab.answer_token_to_idx,
    }
    _, programs = reader.tokens(0, len(reader))
    answers = np.full(len(reader), -1, dtype=np.int32)
    shards = reader.image_idxs // SCENES_A_SHARD
    for shard in np.unique(shards).tolist():
        path = layout.scene_shard(reader.pool, shard)
        if not path.is_file():
            raise DatasetError(f"{path}: no such file, but programs run on its scenes; restore it")
        here = np.flatnonzero(shards == shard)
        answers[here] = execute_batch(
            programs[here],
            read_scenes(path, vocabulary=vocabulary),
            image_idxs=reader.image_idxs[here],
            vocab=names,
            vocabulary=vocabulary,
            mark_ill_formed=True,
        )
    return answers
