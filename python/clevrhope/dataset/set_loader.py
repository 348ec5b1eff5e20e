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
    """The questions of a split about sets of one to five images, by number, as returned by `load`.

    Item k is a dictionary; lists have one element for each image, in the order of the question's row, which
    is random and has no meaning:

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
    | source         | int, the position in the lists of the image that the question was made on         |

    With `scenes=True`, an item also has `scenes`, a list of the scenes as in their files; with `text=True` it
    also has `question_text`, `program_text` and `answer_text`. There is no `images` with `images=False`, nor
    in a folder without images.

    A slice, such as `[10:20]`, is again a `SetQuestions`.

    A `SetQuestions` pickles without open files and can be forked. A torch DataLoader needs a `collate_fn`,
    because the lists differ in length.
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
        """Takes a reader and the sources of images and scenes; a source of None means that items have none.

        `scenes` provides the split's scenes as JSON, by index.
        """
        self.hop, self.split, self.pool = reader.hop, reader.split, reader.pool
        """The names of the HOP, of the split, and of the pool in which `image_indices` count."""
        self.vocab = vocab
        """The meaning of the numbers in the items."""
        self.rendered = source is not None
        """Whether items have images."""
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
        """A question with its unchanged images, text, program and answer, for a notebook.

        Raises:
            IndexError: there is no question with this number.
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
