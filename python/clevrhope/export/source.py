"""The splits to be exported in, their questions in a stream out, those of an image together with it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any

import numpy as np

from clevrhope.dataset.image_source import Images, prefetch
from clevrhope.dataset.layout import Layout, image_filename
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.split_reader import SplitReader
from clevrhope.dataset.spoken import Spoken
from clevrhope.dataset.vocab import Vocab


@dataclass(frozen=True, slots=True)
class Question:
    """A question in words."""

    index: int
    """Its place in the split."""
    text: str
    program: list[str]
    """Functions in prefix order, such as `filter_color[red]`."""
    answer: str
    family: int


@dataclass(frozen=True, slots=True)
class Sample:
    """An image with questions about it, of which there is one at least."""

    image_index: int
    """The scene's index in its pool."""
    image_filename: str
    png: bytes | None
    """None where there are no images."""
    questions: list[Question]


@dataclass(frozen=True)
class SplitSource:
    """A split to be exported."""

    reader: SplitReader
    images: Images | None
    """None where there are none, or none are wanted."""
    indices: Ints
    """(images,) the scenes that are asked about, sorted, each once."""
    counts: Ints
    """(images,) questions about each."""

    @property
    def hop(self) -> str:
        """The HOP's name."""
        return self.reader.hop

    @property
    def split(self) -> str:
        """The split's name."""
        return self.reader.split

    def numbers(self) -> Ints:
        """(questions,) each question's image as a place in `indices`."""
        return np.searchsorted(self.indices, self.reader.image_idxs).astype(np.int32)

    def samples(self, spoken: Spoken, *, whole: bool) -> Iterator[Sample]:
        """All questions with their images, of which some dozen are in memory.

        With `whole` a sample has all questions of its image, in the order of the images' first questions.
        Without, questions keep their order, and a sample has those that follow each other about one image;
        in a minimal_iid split, whose questions are grouped by sentence, an image comes several times.

        Raises:
            DatasetError: a file that is broken or missing.
        """
        images = self.reader.image_idxs
        order = _by_first_question(images) if whole else None
        if order is not None:
            images = images[order]
        starts = np.flatnonzero(np.diff(images, prepend=-1))
        counts = np.diff(starts, append=len(images)).tolist()
        indices: list[int] = images[starts].tolist()
        files: Iterator[bytes | None] = repeat(None, len(indices))
        if self.images is not None:
            png = self.images.png
            files = prefetch(png(index) for index in indices)
        questions = self._questions(spoken, order)
        for index, n, image in zip(indices, counts, files, strict=True):
            asked = list(islice(questions, n))
            yield Sample(index, image_filename(self.reader.pool, index), image, asked)

    def _questions(self, spoken: Spoken, order: Ints | None) -> Iterator[Question]:
        reader = self.reader
        for numbers, questions, programs in _rows(reader, order):
            for k, question, program in zip(numbers.tolist(), questions, programs, strict=True):
                yield Question(
                    index=k,
                    text=spoken.question(question, int(reader.question_lengths[k])),
                    program=spoken.program(program, int(reader.program_lengths[k])),
                    answer=spoken.answer(int(reader.answers[k])),
                    family=int(reader.question_families[k]),
                )


def _by_first_question(images: Ints) -> Ints | None:
    """The order that brings each image's questions together; None where they are."""
    _, first, inverse = np.unique(images, return_index=True, return_inverse=True)
    order = np.argsort(first[inverse], kind="stable").astype(np.int32)
    return None if (order[:-1] < order[1:]).all() else order


def _rows(reader: SplitReader, order: Ints | None) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Questions' numbers, words and programs, block by block; all at once for the few that are reordered."""
    if order is not None:
        questions, programs = reader.tokens(0, len(reader))
        yield order, questions[order], programs[order]
        return
    for first, questions, programs in reader.blocks():
        yield np.arange(first, first + len(questions), dtype=np.int32), questions, programs


@dataclass(frozen=True)
class Source:
    """All that a format's module gets."""

    layout: Layout
    manifest: Manifest
    vocab: Vocab
    splits: tuple[SplitSource, ...]
    """Split by split, those of a HOP next to each other."""

    @property
    def rendered(self) -> bool:
        """Whether images are exported; of all splits, or of none."""
        return any(split.images is not None for split in self.splits)

    def by_hop(self) -> dict[str, list[SplitSource]]:
        """HOP -> its splits, in order."""
        found: dict[str, list[SplitSource]] = {}
        for split in self.splits:
            found.setdefault(split.hop, []).append(split)
        return found


def described(source: Source, format_name: str) -> bytes:
    """What `source.json` of every export says: where its content comes from, and how much there is."""
    manifest = source.manifest
    content: dict[str, Any] = {
        "format": format_name,
        "dataset_version": manifest.version,
        "seed": manifest.seed,
        "world": manifest.world["fingerprint"],
        "templates": manifest.templates["fingerprint"],
        "pictures": source.rendered,
        "splits": {
            hop: {each.split: {"questions": len(each.reader), "scenes": len(each.indices)} for each in splits}
            for hop, splits in source.by_hop().items()
        },
    }
    return (json.dumps(content, indent=1) + "\n").encode()
