"""Programs that a model wrote in, the executor's answers on the true scenes of a dataset out."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.layout import SCENES_A_SHARD, Layout
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.vocab import Vocab
from clevrhope.models.symbolic import execute_programs
from clevrhope.programs import read_scenes
from clevrhope.training.predicting import NO_ANSWER


def executed(
    programs: npt.NDArray[np.int64],
    image_idxs: npt.NDArray[np.int32],
    *,
    layout: Layout,
    pool: str,
    vocab: Vocab,
    attributes: Mapping[str, Sequence[str]],
) -> npt.NDArray[np.int64]:
    """(N,) the number of each program's answer on its question's scene, or `NO_ANSWER`.

    Args:
        programs: (N, P) prefix tokens.
        image_idxs: (N,) scenes of the pool.
        layout: of the dataset.
        pool: of the split's images.
        vocab: the dataset's.
        attributes: the world's types and their values.

    Raises:
        SceneError: a scene file without one of the scenes.
    """
    vocabulary = vocabulary_with(attributes)
    answers = np.full(len(programs), NO_ANSWER, dtype=np.int64)
    shards = image_idxs // SCENES_A_SHARD
    for shard in np.unique(shards).tolist():
        some = np.flatnonzero(shards == shard)
        scenes = read_scenes(layout.scene_shard(pool, shard), vocabulary=vocabulary)
        answers[some] = execute_programs(
            programs[some], image_idxs[some], scenes, vocab=vocab, vocabulary=vocabulary
        )
    # The executor tells a program without an answer from one that is ill-formed; a prediction does not.
    return np.where(answers < 0, NO_ANSWER, answers)
