"""Programs that a model wrote and true scenes in, answers out: what parsing alone would give. No torch."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope import _core
from clevrhope.dataset.vocab import Vocab
from clevrhope.programs import execute_batch

Ints = npt.NDArray[np.integer[Any]]


def execute_programs(
    programs: Ints,
    image_idxs: Ints,
    scenes: _core.SceneBatch,
    *,
    vocab: Vocab,
    vocabulary: _core.Vocabulary | None = None,
) -> npt.NDArray[np.int32]:
    """The answers of programs on their images' true scenes, by the native executor.

    Args:
        programs: (B, P) rows of prefix tokens, numbered as in vocab.json.
        image_idxs: (B,) each question's scene, by its `image_index` among `scenes`.
        scenes: of the split's pool, from `clevrhope.programs.read_scenes` or `_core.sample_scenes`.
        vocab: the folder's.
        vocabulary: whose values the scenes name; CLEVR's if not given.

    Returns:
        (B,) numbers of vocab.json; `executor.INVALID` (-1) where the program has no answer on the scene, such
        as `unique` of two objects, `executor.ILL_FORMED` (-2) where the row is no program. Types count here:
        a tree whose functions do not fit together is a program to modules, which take and give maps alike,
        and none to the executor.

    Raises:
        SceneError: an image_index that no scene has.
    """
    content: Mapping[str, Any] = asdict(vocab)
    return execute_batch(
        np.ascontiguousarray(programs, dtype=np.int32),
        scenes,
        image_idxs=image_idxs,
        vocab=content,
        vocabulary=vocabulary,
        mark_ill_formed=True,
    )
