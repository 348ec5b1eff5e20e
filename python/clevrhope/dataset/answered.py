"""A split's programs in, what they give on the scenes of their images out: the symbolic oracle."""

import numpy as np

from clevrhope.dataset.layout import SCENES_A_SHARD, Layout
from clevrhope.dataset.native_reader import vocabulary_of
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.split_files import read_vocab as read_finished_vocab
from clevrhope.dataset.split_reader import open_split
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import DatasetError
from clevrhope.programs import execute_batch, read_scenes


def run_programs(layout: Layout, vocab: Vocab, hop: str, split: str, *, programs: Ints | None = None) -> Ints:
    """(N,) numbers of answers; below 0 where a program has none on its scene, or is none.

    Args:
        layout: the folder.
        vocab: its vocabulary.
        hop: a sub-dataset.
        split: one of its splits, of N questions.
        programs: (N, P) other programs for the same questions, in tokens of vocab.json, such as a model's;
            the split's own if not given.

    Raises:
        DatasetError: a file that is missing or not whole.
    """
    reader = open_split(layout, hop, split, vocab=vocab)
    vocabulary = vocabulary_of(read_finished_vocab(layout.vocab))
    names = {
        "program_token_to_idx": vocab.program_token_to_idx,
        "answer_token_to_idx": vocab.answer_token_to_idx,
    }
    rows = reader.tokens(0, len(reader))[1] if programs is None else programs
    answers = np.full(len(reader), -1, dtype=np.int32)
    shards = reader.image_idxs // SCENES_A_SHARD
    for shard in np.unique(shards).tolist():
        path = layout.scene_shard(reader.pool, shard)
        if not path.is_file():
            raise DatasetError(f"{path}: no such file, and programs run on its scenes; restore it")
        here = np.flatnonzero(shards == shard)
        answers[here] = execute_batch(
            rows[here],
            read_scenes(path, vocabulary=vocabulary),
            image_idxs=reader.image_idxs[here],
            vocab=names,
            vocabulary=vocabulary,
            mark_ill_formed=True,
        )
    return answers
