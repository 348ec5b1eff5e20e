"""Loads questions about sets of images for a training loop."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from clevrhope.dataset.card import Card, make_card
from clevrhope.dataset.covr_h5 import STRUCTURES
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.image_source import Images
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.item_sequence import ItemSequence
from clevrhope.dataset.split_reader import SetReader
from clevrhope.dataset.torch_dataset import restored
from clevrhope.dataset.vocab import Vocab


class SetQuestions(ItemSequence):
    """The questions of a split about sets of one to five images, by number; made by `load`.

    Item k is a dictionary; lists have an element for each image, in the order of the question's row, which is
    random and means nothing:

    | key            | value                                                                             |
    |----------------|-----------------------------------------------------------------------------------|
    | images         | list of images as in an item of `Split`                                           |
    | question       | (Q,) int32 tokens: <START>, words, <END>, then 0                                  |
    | program        | (P,) int32 tokens: <START>, functions in prefix order, <END>, then 0              |
    | answer         | int, a number of covr/vocab.json                                                  |
    | image_indices  | list of int, the scenes' indices in their pool                                    |
    | question_index | int, the question's place in its file: k itself, unless this is a slice           |
    | template       | name of the template, such as "verify_count"                                      |
    | structure      | form of the subgraph: "single", "edge", "chain" or "v"                            |
    | source         | int, the place in the lists of the image that the question was made on            |

    With `scenes=True` also `scenes`, a list of the scenes as their files have them, and with `text=True`
    `question_text`, `program_text` and `answer_text`. There is no `images` with `images=False`,
    nor in a folder that has none.

    A slice, such as `[10:20]`, is a `SetQuestions` of these questions.

    It pickles without open files and can be forked. A torch DataLoader needs a `collate_fn` for the lists,
    whose lengths differ.
    """

    _unit = "question"

    def __init__(
        self,
        reader: SetReader,
        vocab: Vocab,
        source: Images | None,
        *,
        text: bool,
        transform: Callable[[ImageArray], Any] | None,
        scenes: Mapping[int, str] | None,
    ) -> None:
        """`source` is None where no images are given.

        `scenes` has those of the split as JSON, by index; None where they are not given.
        """
        self.hop, self.split, self.pool = reader.hop, reader.split, reader.pool
        """The names of the HOP, of the split, and of the pool in which `image_indices` count."""
        self.vocab = vocab
        """What the numbers in the items mean."""
        self.rendered = source is not None
        """Whether there are images to give."""
        self._reader = reader
        self._rows = range(len(reader))
        self._source = source
        self._spoken = Detokenizer(vocab) if text else None
        self._transform = transform
        self._scenes = scenes

    def _item(self, k: int) -> dict[str, Any]:
        reader = self._reader
        questions, programs = reader.tokens(k)
        indices = [index for index in reader.image_idxs[k].tolist() if index >= 0]
        item: dict[str, Any] = {
            "question": questions[0],
            "program": programs[0],
            "answer": int(reader.answers[k]),
            "image_indices": indices,
            "question_index": k,
            "template": reader.templates[int(reader.question_families[k])],
            "structure": STRUCTURES[int(reader.structures[k])],
            "source": int(reader.sources[k]),
        }
        if self._source is not None:
            item["images"] = self._pixels(self._source, indices)
        if self._scenes is not None:
            item["scenes"] = [json.loads(self._scenes[index]) for index in indices]
        if self._spoken is not None:
            lengths = int(reader.question_lengths[k]), int(reader.program_lengths[k])
            item |= self._spoken.texts(questions[0], programs[0], item["answer"], lengths)
        return item

    def show(self, number: int) -> Card:
        """A question with its images as they are in the dataset, text, program and answer, for a notebook.

        Raises:
            IndexError: there is no question of this number.
        """
        k = self._row(number)
        indices = [index for index in self._reader.image_idxs[k].tolist() if index >= 0]
        return make_card(self._reader, k, self.vocab, self._source, indices)

    def __repr__(self) -> str:
        images = "with" if self.rendered else "without"
        return f"<{len(self):,} questions of {self.hop}/{self.split}, {images} images>"

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (SetQuestions, self.__dict__)

    def _pixels(self, source: Images, indices: list[int]) -> list[Any]:
        images = map(source.pixels, indices)
        return list(images if self._transform is None else map(self._transform, images))
