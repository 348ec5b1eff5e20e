"""The input of a format's module: the splits to export, with streams of questions, images and scenes."""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property, lru_cache
from itertools import groupby, islice, repeat
from operator import call
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image

from clevrhope.dataset.clevr_json import SceneLines
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.image_source import Images
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout, image_filename
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.nonce_text import statements_of
from clevrhope.dataset.passes_h5 import PassesFile
from clevrhope.dataset.question_kinds import ABSENT, MARKS, NONCE, OF_EPISODES, Field, QuestionKind
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.scene_reader import in_image_pixels, size_px
from clevrhope.dataset.steps import StepWriter
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.replies.instructions import Instruction
from clevrhope.runtime.atomic import record
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.threads import map_in_threads
from clevrhope.splits.nonce.kinds import nonce_file


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question as text."""

    index: int
    """Its index in the split."""
    text: str
    program: list[str]
    """Functions in prefix order, such as `filter_color[red]`."""
    answer: str
    about: Mapping[str, Any]
    """What the `fields` of its split say."""
    steps: str
    """The steps of the answer as JSON, see `StepWriter`; "" if they are not exported."""


@dataclass(frozen=True, slots=True)
class SampleImage:
    """An image of a sample."""

    index: int
    """The scene's index in its pool."""
    filename: str
    png: bytes | None
    """The PNG file; None if there are no images."""
    mask: bytes | None = None
    """The 8-bit PNG file of its mask, with each pixel's object or 255; None if masks are not exported."""


@dataclass(frozen=True, slots=True)
class Sample:
    """An image with one or more questions about it, or a set of images with one question."""

    images: list[SampleImage]
    """One image, or those of the set in the question's order."""
    questions: list[SampleQuestion]


@dataclass(frozen=True)
class SplitSource:
    """Questions to be exported: those of a split, or the pairs of a suite on it.

    The vocabulary of a suite has the dataset's numbers, followed by its own.
    """

    reader: QuestionTable
    images: Images | None
    """None in an export of text only."""
    indices: Ints
    """(images,) the distinct scenes that are asked about, sorted."""
    counts: Ints
    """(images,) the number of questions about each scene; of sets, whose sets contain it."""
    masks: PassesFile | None = field(default=None, kw_only=True)
    """The masks; None if they are not exported."""
    levels: Ints | None = field(default=None, kw_only=True)
    """(questions,) the level of each question, if the format has levels."""
    rows: Ints | None = field(default=None, kw_only=True)
    """(questions,) the place of each question in its split, if only some levels were chosen."""
    steps: StepWriter | None = field(default=None, kw_only=True)
    """Writes the steps of answers; None if they are not exported."""
    support: Images | None = field(default=None, kw_only=True)
    """The images of episodes' supports; None for other questions, and in an export of text only."""

    @property
    def kind(self) -> QuestionKind:
        """The kind of its questions."""
        return self.reader.kind

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What is said of a question and its pair, followed by columns of its file as they are."""
        said, columns = (*self.kind.fields, *self.kind.pair_fields), self.kind.columns
        if self.kind is NONCE:  # numbers of its columns would tell what words mean
            return (*said, *OF_EPISODES)
        names = {field.name for field in said}
        raw = (
            Field(name, own, columns[own].holds, columns[own].dtype, several=bool(columns[own].row))
            for own, name in self.kind.exported.items()
            if name not in names and own in self.reader
        )
        return (*said, *raw)

    @property
    def vocab(self) -> Vocab:
        """The vocabulary of the reader's numbers."""
        assert self.reader.vocab is not None
        return self.reader.vocab

    @property
    def answer_names(self) -> list[str]:
        """The answers that questions can have, in the order of their numbers."""
        return [name for name in self.vocab.answers() if name and name not in SPECIAL_TOKENS]

    @property
    def hop(self) -> str:
        """The HOP's name."""
        return self.reader.hop

    @property
    def split(self) -> str:
        """The split's name."""
        return self.reader.split

    @property
    def config(self) -> str:
        """The name of the table that this split is part of, such as `rubber_cylinder.covr`.

        Splits with other columns are in other tables.
        """
        return self.kind.table.format(**self.reader.attributes)

    @property
    def n_samples(self) -> int:
        """Number of samples: of images with all questions about each, or of sets with one question each."""
        return len(self.reader) if self.kind.of_sets else len(self.indices)

    @property
    def n_copies(self) -> int:
        """Number of images in all of these samples."""
        n_shown = len(self.support_idxs) if self.support else 0
        return n_shown + (int(self.counts.sum()) if self.kind.of_sets else len(self.indices))

    @property
    def support_idxs(self) -> Ints:
        """The scenes of the images of all supports, one after the other."""
        found: Ints = self.reader.support_idxs[self.reader.support_idxs != ABSENT]
        return found

    @property
    def n_programs(self) -> int:
        """Number of questions with a program; those of an import may not be published."""
        return int((self.reader.program_lengths > len(MARKS)).sum())

    def write_images(self, folder: Path, names: Iterable[str], advance: Advance) -> None:
        """Writes the images as PNG files into a new folder, under names in the order of `indices`."""
        assert self.images is not None
        folder.mkdir(parents=True)
        contents = map_in_threads(call, map(self.images.png, self.indices.tolist()), threads=None)
        for name, content, count in zip(names, contents, self.counts.tolist(), strict=True):
            (folder / name).write_bytes(content)
            advance(count)

    def samples(self, *, whole: bool) -> Iterator[Sample]:
        """All questions with their images, of which only a few dozen are in memory.

        With `whole`, a sample has all questions about its image, in the order of the images' first questions.
        Without it, questions keep their order, and a sample has consecutive questions about one image; if
        questions are grouped by sentence, an image occurs in several samples. A set of images is a sample
        with one question.

        Raises:
            DatasetError: a file is broken or missing.
        """
        images = self.reader.image_idxs
        if self.kind.of_sets:
            return self._samples(images, np.ones(len(images), dtype=np.int32), None)
        order = _by_first_question(images) if whole else None
        if order is not None:
            images = images[order]
        starts = np.flatnonzero(np.diff(images, prepend=-1))
        counts = np.diff(starts, append=len(images))
        return self._samples(images[starts, np.newaxis], counts, order)

    def shards(self, n_shards: int, *, whole: bool) -> Iterator[Iterator[Sample]]:
        """The samples of each of so many files, in order; numbers of samples differ by one at most.

        `whole` and errors are those of `samples`; there are at least `n_samples` of them either way.
        """
        samples, images = self.samples(whole=whole), self.reader.image_idxs
        in_runs = not whole and not self.kind.of_sets
        n = int(np.count_nonzero(np.diff(images, prepend=-1))) if in_runs else self.n_samples
        for k in range(n_shards):
            yield islice(samples, (k + 1) * n // n_shards - k * n // n_shards)

    def _samples(self, image_idxs: Ints, counts: Ints, order: Ints | None) -> Iterator[Sample]:
        """Samples with the images of each row of `image_idxs`, and `counts` questions each, in `order`."""
        sizes = (image_idxs >= 0).sum(axis=1).tolist()
        images = self._images(image_idxs[image_idxs >= 0].tolist())
        questions = self._questions(order)
        for size, n in zip(sizes, counts.tolist(), strict=True):
            yield Sample(list(islice(images, size)), list(islice(questions, n)))

    def _images(self, indices: list[int]) -> Iterator[SampleImage]:
        files: Iterator[bytes | None] = repeat(None, len(indices))
        if self.images is not None:
            files = map_in_threads(call, map(self.images.png, indices), threads=None)
        masks: Iterator[bytes | None] = repeat(None, len(indices))
        if (read := self.masks) is not None:
            arrays = (read.row(index, ("mask",))["mask"] for index in indices)
            masks = map_in_threads(_png_of_mask, arrays, threads=None)
        for index, content, mask in zip(indices, files, masks, strict=True):
            yield SampleImage(index, image_filename(self.reader.pool, index), content, mask)

    def _questions(self, order: Ints | None) -> Iterator[SampleQuestion]:
        reader, detokenizer = self.reader, Detokenizer(self.vocab)
        # A reordered split is small, and forms one block.
        blocks = reader.blocks() if order is None else [(0, *reader.tokens(0, len(reader)))]
        for first, questions, programs in blocks:
            rows = np.arange(len(questions)) if order is None else order
            steps: Iterable[str] = repeat("", len(rows))
            if self.steps is not None:
                steps = self.steps.write(programs[rows], reader.image_idxs[first + rows])
            of_rows = zip((first + rows).tolist(), questions[rows], programs[rows], steps, strict=True)
            for k, question, program, said in of_rows:
                yield SampleQuestion(
                    index=k,
                    text=reader.sentence(k, question),
                    program=detokenizer.program(program),
                    answer=detokenizer.answer(int(reader.answers[k])),
                    about=self._about(k, question),
                    steps=said,
                )

    def _about(self, k: int, question: Ints) -> dict[str, Any]:
        """What the fields say of a question."""
        table = self.reader
        said = table.said([field for field in self.fields if field.column], k)
        if self.kind is not NONCE:
            return said
        pool, support = table.support_pool, self.support
        indices = [index for index in table.support_idxs[k].tolist() if index != ABSENT]
        names, meanings = self.vocab.questions(), zip(table.words[k], table.value_names, strict=True)
        images = [
            {"bytes": support.png(index)(), "path": image_filename(pool, index)}
            for index in indices
            if support
        ]
        return {
            **said,
            "condition": nonce_file(self.split),
            "group": self._groups[k],
            "support_images": images,
            "support_indices": indices,
            "statements": statements_of(table.in_nonce_words(k, table.statements[k]), self.vocab),
            "real_question": Detokenizer(self.vocab).question(question).capitalize(),
            "real_words": [f"{names[word]}: {value}" for word, value in meanings if word],
        }

    @cached_property
    def _groups(self) -> list[int]:
        """(questions,) the number of each episode's group: whose partner is the next row, is in its group."""
        partners = self.reader.partners
        found: list[int] = np.cumsum(np.append(0, partners[:-1] != np.arange(1, len(partners)))).tolist()
        return found


def _png_of_mask(mask: npt.NDArray[np.uint8]) -> bytes:
    memory = io.BytesIO()
    PIL.Image.fromarray(mask).save(memory, "PNG")
    return memory.getvalue()


def _by_first_question(images: Ints) -> Ints | None:
    """The order that makes each image's questions consecutive; None if they already are."""
    _, first, inverse = np.unique(images, return_index=True, return_inverse=True)
    order = np.argsort(first[inverse], kind="stable").astype(np.int32)
    return None if (order[:-1] < order[1:]).all() else order


@dataclass(frozen=True)
class ExportSource:
    """Everything that a format's module receives."""

    layout: Layout
    manifest: Manifest
    splits: tuple[SplitSource, ...]
    """The splits, grouped by HOP."""
    suites: tuple[SplitSource, ...] = ()
    """Suites that have pairs on these splits, grouped by HOP and suite; none if the format does not support
    them."""
    shard_size: int | None = None
    """Images of a file; None for a size by which eight loaders have a file each."""
    instruction: Instruction | None = None
    """What follows each question, if the format has prompts."""

    def with_steps(self) -> "ExportSource":
        """The same with the steps of answers."""

        def spoken(split: SplitSource) -> SplitSource:
            scene_of, attributes = self.scene_of(split.reader.pool), self.manifest.world["attributes"]
            return replace(split, steps=StepWriter(split.vocab, attributes, scene_of, size_px(self.manifest)))

        return replace(self, splits=(*map(spoken, self.splits),), suites=(*map(spoken, self.suites),))

    def scene_of(self, pool: str) -> Callable[[int], str]:
        """A function that gives the scene of an image of a pool as JSON, "" if the scenes are not known."""
        lines = cache(lambda shard: SceneLines(self.layout.scene_shard(pool, shard)))
        converted = in_image_pixels(self.manifest)
        if self.manifest.source and not self.layout.scene_files(pool):
            return lambda index: ""

        @lru_cache(maxsize=256)
        def scene(index: int) -> str:
            found = converted(lines(index // SCENES_A_SHARD).read(index))
            return json.dumps(found, ensure_ascii=False)

        return scene

    @property
    def rendered(self) -> bool:
        """Whether images are exported: those of all splits, or none."""
        return any(split.images is not None for split in self.splits)

    def n_shards(self, split: SplitSource, most: int) -> int:
        """How many files hold a split, none of them empty, if `most` is the number of images that fit."""
        size, n = self.shard_size, split.n_copies
        n_shards = -(-n // size) if size else max(-(-n // most), min(LOADERS, n // LEAST_A_SHARD))
        return max(1, min(n_shards, split.n_samples))

    def by_hop(self) -> dict[str, list[SplitSource]]:
        """HOP -> its splits, in order."""
        return {hop: [*splits] for hop, splits in groupby(self.splits, lambda each: each.hop)}

    def by_config(self) -> dict[str, list[SplitSource]]:
        """Name of a table -> its splits and suites, in order."""
        tables = groupby((*self.splits, *self.suites), lambda each: each.config)
        return {name: [*splits] for name, splits in tables}


LOADERS = 8
"""Processes that read an export at once, for which there is a file each."""

LEAST_A_SHARD = 16
"""The least images of a file, if there are more files than needed for their sizes."""


def split_json(source: ExportSource, split: SplitSource) -> dict[str, Any]:
    """What an exported file says of its split, for those who read it without the dataset."""
    manifest, reader = source.manifest, split.reader
    suites, suite = manifest.suites.get(split.hop, {}), str(reader.attributes.get("suite"))
    pairs = suites.get(suite, {}).get(split.split, {})
    about = {
        "dataset": manifest.digest,
        "attributes": manifest.world["attributes"],
        "constraints": manifest.world["constraints"],
        "settings": manifest.settings.changed_settings(),
        "kind": split.kind.name,
        "questions": len(reader),
        "file": dict(reader.attributes),
        "vocab": asdict(split.vocab),
        "widths": reader.widths,
        "sha256": pairs.get("sha256") or record(reader.path).sha256,
    }
    if manifest.source:
        about |= {"notes": manifest.source["notes"], "programs": split.n_programs}
        if not manifest.source["is_placed"]:
            about["unit"] = manifest.pools.get(reader.pool, {}).get("unit", 0)
    return about
