"""The steps of answers in sentences: what each step of a question's program finds in the images."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from clevrhope._core import Programs, ProgramTokens, SceneBatch, write_steps
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab


class StepWriter:
    """Writes the steps of questions about a pool's images.

    A question's steps are a JSON list with an object for each sentence:

    | key      | value                                                                                      |
    |----------|--------------------------------------------------------------------------------------------|
    | text     | the sentence, such as "There are 2 objects left of it: the cube and the gray sphere."       |
    | function | the function of the program that it stands for, such as "relate[left]"                     |
    | node     | the function's number, as in `clevrhope.trace`                                              |
    | objects  | the objects that it lists by number; of several images, each as [image, object]            |
    | value    | what the function gives, unless these are objects or images: a value, a number, or a truth |

    The last value is the answer. There are no steps where a program is missing or has no answer.
    """

    def __init__(
        self,
        vocab: Vocab,
        attributes: Mapping[str, Sequence[str]],
        scene_of: Callable[[int], str],
        size: tuple[int, int],
    ) -> None:
        """Takes the program tokens, the world's values, and what gives a scene as JSON by index.

        `size` is the width and height of the image in whose pixels scenes give positions.
        """
        self._arguments = (vocab, attributes, scene_of, size)
        self._scene_of, self._size = scene_of, size

    def __reduce__(self) -> tuple[Any, ...]:
        return StepWriter, self._arguments

    @cached_property
    def _tokens(self) -> ProgramTokens:
        vocab, attributes, *_ = self._arguments
        self._vocabulary = vocabulary_with(attributes)
        return ProgramTokens(self._vocabulary, vocab.programs())

    def write(self, programs: Ints, image_idxs: Ints) -> list[str]:
        """The steps of N questions, as JSON.

        Args:
            programs: (N, P) int32 prefix tokens.
            image_idxs: (N,) indices of scenes in the pool; (N, W), padded with -1, for sets of images.
        """
        tokens, rows = self._tokens, image_idxs.reshape(len(programs), -1)
        is_given = (programs >= len(SPECIAL_TOKENS)).any(axis=1)
        rows = np.where(is_given[:, np.newaxis], rows, -1)
        indices = np.unique(rows[rows >= 0])
        content = ",".join(self._scene_of(index) for index in indices.tolist())
        scenes = SceneBatch.from_json(self._vocabulary, f"[{content}]".encode(), file="scenes")
        places = np.where(rows < 0, -1, np.searchsorted(indices, rows)).astype(np.int32)[is_given]
        parsed = Programs.from_tokens(tokens, np.ascontiguousarray(programs[is_given]))
        width, height = self._size
        written = iter(write_steps(parsed, scenes, places, width=width, height=height))
        return [next(written).decode() if given else "[]" for given in is_given.tolist()]
