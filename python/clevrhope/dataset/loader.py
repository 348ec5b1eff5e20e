"""Loads a split's questions and images for a training loop.

If torch is installed, the result is a map-style `torch.utils.data.Dataset`; otherwise it is a sequence with
the same items, length and order.
"""

import json
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from clevrhope.dataset.card import Card, Cards, make_card
from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.contents import choose_suite, find_hop, find_split
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.image_source import Images, ImageSource, find_images
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.levels import check_levels, read_levels, rows_on
from clevrhope.dataset.nonce_text import statements_of
from clevrhope.dataset.passes_h5 import PassesFile, find_passes
from clevrhope.dataset.question_kinds import ABSENT, NONCE, PAIRS, kind_of
from clevrhope.dataset.question_table import QuestionTable, open_split, read_table
from clevrhope.dataset.steps import StepWriter
from clevrhope.dataset.torch_dataset import ItemSequence, restored, torch_class
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.atomic import record

Item = dict[str, Any]

Transform = Callable[[ImageArray], Any]
"""Turns an image, (height, width, 3) uint8 RGB, into a model's input; torchvision's transforms work."""


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

    With `passes`, an item also has the arrays of its image that `passes` names, and a row for each object, in
    the order of the scene's list, filled up with zeros to as many as any image of the pool has:

    | key              | value                                                                          |
    |------------------|--------------------------------------------------------------------------------|
    | mask             | (height, width) uint8: the object that the pixel shows, 255 for none            |
    | depth            | (height, width) float32: Blender units along the camera's axis                  |
    | normal           | (height, width, 3) float16: of objects, in the world's axes; 0 elsewhere        |
    | boxes            | (most, 4) int32: x, y, width, height in pixels; 0 where nothing is seen         |
    | visible_fraction | (most,) float32: share of the pixels that it would have alone on the ground     |
    | n_objects        | int, the number of objects                                                      |

    Where a question is about a set of images, such as in covr_train, there are lists of one to five elements,
    one for each image in the order of the question's row, which is random and has no meaning. `image` and
    `image_index` become `images` and `image_indices`, `family` becomes three other keys, and a torch
    DataLoader needs `collate_fn=clevrhope.collate`, because the lists differ in length:

    | key       | value                                                                                 |
    |-----------|---------------------------------------------------------------------------------------|
    | template  | name of the template, such as "verify_count"                                          |
    | structure | form of the subgraph: "single", "edge", "chain" or "v"                                |
    | source    | int, the position in the lists of the image that the question was made on             |

    In an episode with nonce words, such as in nonce_unseen, there are further keys. Texts are in nonce words,
    while tokens, program and answer have real values:

    | key             | value                                                                           |
    |-----------------|---------------------------------------------------------------------------------|
    | support_indices | list of int, the scenes of the support's images in their pool                    |
    | support_images  | list of images as `image`, if the folder has images                             |
    | statements      | list of str, with `text=True`: a true sentence about each of them                |
    | form, grid      | form of the question, and the attributes with nonce words: "color_shape"        |
    | partner         | int, the row with a matched scene, in which the answer differs; -1 for none      |

    With `text=True`, an item also has `question_text`, `program_text` (functions in prefix order, separated
    by blanks) and `answer_text`; with `scenes=True` it also has `scene`, or the list `scenes`, as in the
    scene file. With `steps=True`, it has `steps`, the sentences that lead to the answer: for each, a
    dictionary with its `text`, the `function` of the program that it stands for and the function's number
    `node`, the `objects` that it lists, and the `value` that it states, in the last one the answer. There is
    no image with `images=False`, nor in a folder without images.

    A slice, such as `[10:20]`, is again a `Split`.

    A `Split` pickles without open files and can be forked, so a DataLoader can use it in worker processes.
    """

    _unit = "question"

    def __init__(
        self,
        table: QuestionTable,
        source: ImageSource | None,
        *,
        text: bool,
        transform: Transform | None,
        annotations: PassesFile | None = None,
        passes: Sequence[str] = (),
        scenes: Callable[[int], str] | None = None,
        rows: list[int] | None = None,
        steps: StepWriter | None = None,
        support: ImageSource | None = None,
    ) -> None:
        """Takes a table with a vocabulary, and the sources of images and scenes; None leaves these out.

        `rows` are the rows of the items; None for all. `scenes` gives a scene as JSON, by its index. Both
        sources are asked only for what an item is about, when the item is accessed.
        """
        assert table.vocab is not None
        self.hop, self.split, self.pool = table.hop, table.split, table.pool
        """The names of the HOP, of the split, and of the pool in which `image_index` counts."""
        self.vocab = table.vocab
        """The meaning of the numbers in the items."""
        self.rendered = source is not None
        """Whether items have images."""
        self.table = table
        self._rows = range(len(table)) if rows is None else rows
        self._source = source
        self._spoken, self._text, self._transform = Detokenizer(table.vocab), text, transform
        self._annotations, self._passes = annotations, tuple(passes)
        self._scenes, self._steps, self._support = scenes, steps, support

    def _item(self, k: int) -> Item:
        table, kind = self.table, self.table.kind
        questions, programs = table.tokens(k)
        indices, said = table.images_of(k), table.said(kind.fields, k)
        item: Item = {
            "question": questions[0],
            "program": programs[0],
            "answer": int(table.answers[k]),
            "question_index": k,
            **{field.item or field.name: said[field.name] for field in kind.fields},
        }
        of_images: dict[str, list[Any]] = {"image_index": indices}
        if self._source is not None:
            of_images["image"] = self._transformed(self._source, indices)
        if self._scenes is not None:
            of_images["scene"] = [json.loads(self._scenes(index)) for index in indices]
        if self._steps is not None:
            item["steps"] = json.loads(self._steps.write(programs, np.asarray([indices]))[0])
        for name, values in of_images.items():
            item[kind.of_images(name)] = values if kind.of_sets else values[0]
        if self._annotations is not None:
            item |= self._annotated(self._annotations, item["image_index"])
        if self._text:
            item |= self._spoken.texts(questions[0], programs[0], item["answer"])
            item["question_text"] = table.sentence(k, questions[0])
        if kind is NONCE:
            shown = [index for index in table.support_idxs[k].tolist() if index != ABSENT]
            item["support_indices"] = shown
            if self._support is not None:
                item["support_images"] = self._transformed(self._support, shown)
            if self._text:
                tokens = table.in_nonce_words(k, table.statements[k])
                item["statements"] = statements_of(tokens, self.vocab)
        return item

    def _transformed(self, source: ImageSource, indices: list[int]) -> list[Any]:
        images = [source.pixels(index) for index in indices]
        return images if self._transform is None else [*map(self._transform, images)]

    def show(self, number: int) -> Card:
        """A question with its unchanged images, text, program and answer, for a notebook.

        Raises:
            IndexError: there is no question with this number.
        """
        return make_card(self.table, self._row(number), self._spoken, self._source)

    def __repr__(self) -> str:
        images = "with" if self.rendered else "without"
        return f"<{len(self):,} questions of {self.hop}/{self.split}, {images} images>"

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (Split, self.__dict__)

    def _annotated(self, annotations: PassesFile, index: int) -> Item:
        row = annotations.row(index, self._passes)
        visible, alone = row.pop("visible_px"), row.pop("alone_px")
        missing = annotations.most - len(visible)
        fraction = (visible / np.maximum(alone, 1)).astype(np.float32)
        return {
            **row,
            "boxes": np.pad(row["boxes"], ((0, missing), (0, 0))),
            "visible_fraction": np.pad(fraction, (0, missing)),
            "n_objects": len(visible),
        }


class Pairs(ItemSequence):
    """The K pairs of a suite on a split, by number, as returned by `load(..., suite=...)`.

    Item k is a dictionary:

    | key        | value                                                                             |
    |------------|-----------------------------------------------------------------------------------|
    | original   | a dictionary as in `Split`; its question_index is the row in the suite's file     |
    | partner    | a dictionary of the same form for the partner                                     |
    | relation   | "same", "flip", "is" or "positive": how the partner's answer follows              |
    | value      | int, of "is": the number of the original's answer that makes it yes; otherwise -1 |
    | test       | name of the test                                                                  |
    | type       | the type of question, by which scores are grouped; "" for none                    |
    | tier       | "in" or "beyond" the dataset's own words and functions                            |
    | cell       | "10" if the original mentions the held-out pair and the partner does not          |
    | pair_index | int, the pair's place in the suite's file: k itself, unless this is a slice       |

    `original` and `partner` also have `original_index`, the question's row in the split's own file, or -1 for
    a question that the suite made.

    A slice, such as `[10:20]`, is again a `Pairs`.

    A `Pairs` pickles without open files and can be forked. It is a torch Dataset if torch is installed.
    """

    _unit = "pair"

    def __init__(self, questions: Split, *, sha256: str) -> None:
        table = questions.table
        self.suite, self.hop, self.split, self.pool = table.suite, table.hop, table.split, table.pool
        """The names of the suite, of the HOP, of the split, and of the pool in which `image_index` counts."""
        self.vocab = questions.vocab
        """The meaning of the numbers in the items; a suite's vocabulary keeps the dataset's numbers."""
        self.sha256 = sha256
        """SHA-256 of the suite's file, for the column `suite_sha256` of predictions."""
        self._questions = questions
        self._rows = range(len(questions) // 2)

    def _item(self, k: int) -> Item:
        table = self._questions.table
        original, partner = (
            {**self._questions[row], "original_index": int(table.orig_idxs[row])}
            for row in (2 * k, 2 * k + 1)
        )
        said = table.said(table.kind.pair_fields, 2 * k)
        of_pair = {name: said[name] for name in ("relation", "test", "type", "tier", "cell")}
        value = int(table.value[2 * k])
        return {"original": original, "partner": partner, **of_pair, "value": value, "pair_index": k}

    def show(self, number: int) -> Cards:
        """Both questions of a pair with image, text, program and answer, for a notebook.

        Raises:
            IndexError: there is no pair with this number.
        """
        k = self._row(number)
        return Cards(self._questions.show(row) for row in (2 * k, 2 * k + 1))

    def __repr__(self) -> str:
        images = "with" if self._questions.rendered else "without"
        return f"<{len(self):,} pairs of {self.suite} on {self.hop}/{self.split}, {images} images>"

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (Pairs, self.__dict__)


class _Choices(TypedDict, total=False):
    """The keywords of `load` besides `suite`, for type checkers."""

    limit: int | None
    images: bool | None
    text: bool
    transform: Transform | None
    passes: Sequence[str]
    scenes: bool
    levels: Sequence[int]
    steps: bool


@overload
def load(
    folder: str | PathLike[str], hop: str, split: str, *, suite: None = None, **choices: Unpack[_Choices]
) -> Split: ...


@overload
def load(
    folder: str | PathLike[str], hop: str, split: str, *, suite: str, **choices: Unpack[_Choices]
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
    levels: Sequence[int] = (),
    steps: bool = False,
) -> Split | Pairs:
    """Loads a split's questions as a sequence of dictionaries (see `Split`), if possible a torch Dataset.

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
        levels: load only questions on these levels of difficulty, 1 to 4, of the first `limit`; all if empty.
        steps: add the steps of each answer in sentences, and what they find.

    Raises:
        ConfigError: the folder lacks the HOP, split, suite, pass, level or number of questions; says what it
            has.
        DatasetError: the folder is not a dataset, a file is cut off, some of the images are missing, or all
            of them are missing with `images=True`.
    """
    layout = Layout(Path(folder))
    hop = find_hop(layout, hop)
    check_levels(levels, suite)
    if suite is None:
        if kind_of(split).of_sets and passes:
            raise ConfigError(
                f"passes: {', '.join(passes)}, which questions about sets of images do not give"
            )
        split = find_split(layout, hop, split)
        vocab = read_vocab(kind_of(split).vocab(layout, split))
        table = open_split(layout, hop, split, limit=limit, vocab=vocab)
    else:
        ((_, split),) = choose_suite(layout, suite, [hop], [split])
        path, vocab = layout.suite_h5(hop, suite, split), read_vocab(layout.suite_vocab(hop, suite))
        table = read_table(path, PAIRS, vocab=vocab).check()
        if limit is not None:
            if not 1 <= limit <= len(table) // 2:
                raise ConfigError(
                    f"{path}: it has {len(table) // 2:,} pairs, but the first {limit:,} were asked for"
                )
            table = table.part(0, 2 * limit)
    rows = scenes_of(layout, table.pool, table.scenes) if scenes or steps else ()
    # As JSON, which takes less memory than parsed scenes.
    scene_of = {scene["image_index"]: json.dumps(scene) for scene in rows}.__getitem__
    writer = None
    if steps:
        manifest = Folder.open(layout.root, finished=False).manifest
        writer = StepWriter(vocab, manifest.world["attributes"], scene_of, manifest.raster_px)
    questions: Split = torch_class(Split)(
        table,
        _source(layout, table, images=images),
        text=text,
        transform=transform,
        annotations=find_passes(layout, table.pool, table.scenes, passes) if passes else None,
        passes=passes,
        scenes=scene_of if scenes else None,
        rows=rows_on(read_levels(layout, table), levels, f"{hop}/{split}") if levels else None,
        steps=writer,
        support=_support(layout, table, images=images),
    )
    if suite is None:
        return questions
    made: Pairs = torch_class(Pairs)(questions, sha256=record(path).sha256)
    return made


def _source(layout: Layout, table: QuestionTable, *, images: bool | None) -> Images | None:
    """The images of a split; None if they are not wanted, or if they are missing but not required."""
    if images is False:
        return None
    found = find_images(layout, table.pool, table.scenes, prefer="h5")
    if found is None and images:
        raise DatasetError(
            f"{layout.images(table.pool)}: images=True, but the images of {table.hop}/{table.split} are "
            "not rendered; run the dataset's build again without --no-render, or leave images=True out"
        )
    return found


def _support(layout: Layout, table: QuestionTable, *, images: bool | None) -> Images | None:
    """The images of the supports of episodes; None for other questions, and as for `_source`."""
    if table.kind is not NONCE or images is False:
        return None
    return find_images(layout, table.support_pool, np.setdiff1d(table.support_idxs, [ABSENT]), prefer="h5")
