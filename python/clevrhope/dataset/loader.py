"""Loads a split's questions and images for a training loop.

If torch is installed, the result is a map-style `torch.utils.data.Dataset`; otherwise it is a sequence with
the same items, length and order.
"""

import json
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, overload

import numpy as np

from clevrhope.dataset.card import Card, make_card
from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.contents import choose_suite, find_hop, find_split
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.image_source import Images, ImageSource, find_images
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.item_sequence import ItemSequence
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.memory_split import MemorySplit
from clevrhope.dataset.pair_loader import Pairs
from clevrhope.dataset.pairs_h5 import check_pairs, read_pairs
from clevrhope.dataset.passes_h5 import PassesFile, find_passes
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.set_loader import SetQuestions
from clevrhope.dataset.split_reader import SetReader, SplitReader, open_split
from clevrhope.dataset.torch_dataset import restored, torch_class
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.atomic import record
from clevrhope.splits.covr.kinds import is_covr

Item = dict[str, Any]

Transform = Callable[[ImageArray], Any]
"""Turns an image, (height, width, 3) uint8 RGB, into a model's input; torchvision's transforms work."""


class SceneSource(Protocol):
    """Provides scenes as JSON, by index."""

    def __getitem__(self, index: int, /) -> str: ...


class Split(ItemSequence):
    """The questions of a split, by number, as returned by `load`.

    Item k is a dictionary. Q and P are the widths of the folder's rows of tokens:

    | key            | value                                                                            |
    |----------------|----------------------------------------------------------------------------------|
    | image          | (height, width, 3) uint8 RGB, or what `transform` made of it                   |
    | question       | (Q,) int32 tokens: <START>, words, <END>, then 0                                 |
    | program        | (P,) int32 tokens: <START>, functions in prefix order, <END>, then 0             |
    | answer         | int, a number of vocab.json                                                      |
    | image_index    | int, the scene's index in its pool                                               |
    | question_index | int, the question's place in its file: k itself, unless this is a slice          |
    | family         | int, CLEVR's question_family_index                                               |

    With `passes`, an item also has the arrays of its image that `passes` names, and one row for each object,
    in the order of the scene's list:

    | key              | value                                                                          |
    |------------------|--------------------------------------------------------------------------------|
    | mask             | (height, width) uint8: the object that the pixel shows, 255 for none            |
    | depth            | (height, width) float32: Blender units along the camera's axis                  |
    | normal           | (height, width, 3) float16: of objects, in the world's axes; 0 elsewhere        |
    | boxes            | (objects, 4) int32: x, y, width, height in pixels; 0 where nothing is seen      |
    | visible_fraction | (objects,) float32: share of the pixels that it would have alone on the ground  |

    With `text=True`, an item also has `question_text`, `program_text` (functions in prefix order, separated
    by blanks) and `answer_text`; with `scenes=True` it also has `scene`, as in the scene file. There is no
    `image` with `images=False`, nor in a folder without images.

    A slice, such as `[10:20]`, is again a `Split`.

    A `Split` pickles without open files and can be forked, so a DataLoader can use it in worker processes.
    """

    _unit = "question"

    def __init__(
        self,
        reader: SplitReader | MemorySplit,
        vocab: Vocab,
        source: ImageSource | None,
        *,
        text: bool,
        transform: Transform | None,
        annotations: PassesFile | None = None,
        passes: Sequence[str] = (),
        scenes: SceneSource | None = None,
    ) -> None:
        """Takes a reader and the sources of images and scenes; a source of None means that items have none.

        `scenes` provides the split's scenes as JSON, by index. Both sources are asked only for what an item
        is about, when the item is accessed.
        """
        self.hop, self.split, self.pool = reader.hop, reader.split, reader.pool
        """The names of the HOP, of the split, and of the pool in which `image_index` counts."""
        self.vocab = vocab
        """The meaning of the numbers in the items."""
        self.rendered = source is not None
        """Whether items have images."""
        self._reader = reader
        self._rows = range(len(reader))
        self._source = source
        self._spoken = Detokenizer(vocab) if text else None
        self._transform = transform
        self._annotations, self._passes = annotations, tuple(passes)
        self._scenes = scenes

    def _item(self, k: int) -> Item:
        reader = self._reader
        questions, programs = reader.tokens(k)
        item: Item = {
            "question": questions[0],
            "program": programs[0],
            "answer": int(reader.answers[k]),
            "image_index": int(reader.image_idxs[k]),
            "question_index": k,
            "family": int(reader.question_families[k]),
        }
        if self._source is not None:
            image = self._source.pixels(item["image_index"])
            item["image"] = image if self._transform is None else self._transform(image)
        if self._annotations is not None:
            item |= self._annotated(self._annotations, item["image_index"])
        if self._scenes is not None:
            item["scene"] = json.loads(self._scenes[item["image_index"]])
        if self._spoken:
            lengths = int(reader.question_lengths[k]), int(reader.program_lengths[k])
            item |= self._spoken.texts(questions[0], programs[0], item["answer"], lengths)
        return item

    def show(self, number: int) -> Card:
        """A question with its unchanged image, text, program and answer, for a notebook.

        Raises:
            IndexError: there is no question with this number.
        """
        k = self._row(number)
        return make_card(self._reader, k, self.vocab, self._source, [int(self._reader.image_idxs[k])])

    def __repr__(self) -> str:
        images = "with" if self.rendered else "without"
        return f"<{len(self):,} questions of {self.hop}/{self.split}, {images} images>"

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (Split, self.__dict__)

    def _annotated(self, annotations: PassesFile, index: int) -> Item:
        row = annotations.row(index, self._passes)
        visible, alone = row.pop("visible_px"), row.pop("alone_px")
        return {**row, "visible_fraction": (visible / np.maximum(alone, 1)).astype(np.float32)}


@overload
def load(
    folder: str | PathLike[str],
    hop: str,
    split: str,
    *,
    suite: None = None,
    limit: int | None = None,
    images: bool | None = None,
    text: bool = False,
    transform: Transform | None = None,
    passes: Sequence[str] = (),
    scenes: bool = False,
) -> Split | SetQuestions: ...


@overload
def load(
    folder: str | PathLike[str],
    hop: str,
    split: str,
    *,
    suite: str,
    limit: int | None = None,
    images: bool | None = None,
    text: bool = False,
    transform: Transform | None = None,
    passes: Sequence[str] = (),
    scenes: bool = False,
) -> Pairs: ...


def load(
    folder: str | PathLike[str],
    hop: str,
    split: str,
    *,
    suite: str | None = None,
    limit: int | None = None,
    images: bool | None = None,
    text: bool = False,
    transform: Transform | None = None,
    passes: Sequence[str] = (),
    scenes: bool = False,
) -> Split | SetQuestions | Pairs:
    """Loads a split's questions as a sequence of dictionaries (see `Split`), if possible a torch Dataset.

    Questions of a split about sets of images, such as covr_train, have lists of images (see `SetQuestions`).
    With a suite of paired tests, the items are the suite's pairs on the split (see `Pairs`).

    Args:
        folder: a dataset made by `clevrhope build`.
        hop: such as "rubber_cylinder", with its values in either order, "prelim_cyan", or "none".
        split: such as "train" or "complex_ood".
        suite: a suite made by `clevrhope suite`, such as "carets".
        limit: load only the first `limit` questions, or pairs if a suite is given; 25_000 and 200_000 of
            `train` are the paper's smaller train sets.
        images: False leaves images out, and True requires them; by default, items have images if the folder
            has.
        text: add question, program and answer in words.
        transform: applied to each image, (height, width, 3) uint8 RGB.
        passes: some of "mask", "depth" and "normal", if the folder was built with them; not supported for a
            split about sets of images.
        scenes: add the scenes, as in the dataset's files.

    Raises:
        ConfigError: the folder lacks the HOP, split, suite, pass or number of questions; says what it has.
        DatasetError: the folder is not a dataset, a file is cut off, some of the images are missing, or all
            of them are missing with `images=True`.
    """
    layout = Layout(Path(folder))
    hop = find_hop(layout, hop)
    if suite is None and is_covr(split):
        if passes:
            raise ConfigError(
                f"passes: {', '.join(passes)}, which questions about sets of images do not give"
            )
        return _set_questions(
            layout, hop, split, limit=limit, images=images, text=text, transform=transform, scenes=scenes
        )
    if suite is None:
        split = find_split(layout, hop, split)
        vocab = read_vocab(layout.vocab)
        reader = open_split(layout, hop, split, limit=limit, vocab=vocab)
    else:
        ((_, split),) = choose_suite(layout, suite, [hop], [split])
        path, vocab = layout.suite_h5(hop, suite, split), read_vocab(layout.suite_vocab(hop, suite))
        pairs = read_pairs(path)
        check_pairs(path, pairs, n_answers=len(vocab.answers()))
        if limit is not None and not 1 <= limit <= len(pairs):
            raise ConfigError(f"{path}: it has {len(pairs):,} pairs, but the first {limit:,} were asked for")
        reader = SplitReader(path, limit=None if limit is None else 2 * limit, vocab=vocab)
    source = _source(layout, reader, images=images)
    annotations = find_passes(layout, reader.pool, reader.image_idxs, passes) if passes else None
    questions: Split = torch_class(Split)(
        reader,
        vocab,
        source,
        text=text,
        transform=transform,
        annotations=annotations,
        passes=passes,
        scenes=_scenes(layout, reader.pool, reader.image_idxs) if scenes else None,
    )
    if suite is None:
        return questions
    made: Pairs = torch_class(Pairs)(questions, pairs, sha256=record(path).sha256)
    return made


def _set_questions(
    layout: Layout,
    hop: str,
    split: str,
    *,
    limit: int | None,
    images: bool | None,
    scenes: bool,
    **choices: Any,
) -> SetQuestions:
    split = find_split(layout, hop, split)
    vocab = read_vocab(layout.vocab_of(split))
    reader = open_split(layout, hop, split, limit=limit, vocab=vocab)
    wanted = reader.image_idxs[reader.image_idxs >= 0]
    made: SetQuestions = torch_class(SetQuestions)(
        reader,
        vocab,
        _source(layout, reader, images=images),
        scenes=_scenes(layout, reader.pool, wanted) if scenes else None,
        **choices,
    )
    return made


def _source(layout: Layout, reader: SplitReader | SetReader, *, images: bool | None) -> Images | None:
    """The images of a split; None if they are not wanted, or if they are missing but not required."""
    if images is False:
        return None
    wanted = reader.image_idxs[reader.image_idxs >= 0]
    found = find_images(layout, reader.pool, wanted, prefer="h5")
    if found is None and images:
        raise DatasetError(
            f"{layout.images(reader.pool)}: images=True, but the images of {reader.hop}/{reader.split} are "
            "not rendered; run the dataset's build again without --no-render, or leave images=True out"
        )
    return found


def _scenes(layout: Layout, pool: str, indices: Ints) -> dict[int, str]:
    """The scenes of a pool with these indices as JSON, which takes less memory than parsed scenes."""
    return {scene["image_index"]: json.dumps(scene) for scene in scenes_of(layout, pool, np.unique(indices))}
