"""Exports of this program as sources: Parquet and WebDataset, as a folder, or single files of one.

A file says what it holds in its metadata (Parquet), or the folder in shards.json (WebDataset). Files that
have lost this, as other libraries write them, are read by their columns and their path, `<HOP>/<split>-*`;
their dataset is then taken to have CLEVR's values, and their questions to be about one image.
"""

import re
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from clevrhope._core import Vocabulary
from clevrhope.dataset.question_kinds import KINDS, MAX_IMAGES, NONCE, SINGLE, QuestionKind
from clevrhope.dataset.vocab import VOCAB, vocab_from_json
from clevrhope.errors import DatasetError
from clevrhope.errors import listed as listing
from clevrhope.runtime import forms
from clevrhope.runtime.forms import Fields, ListOf, MapOf
from clevrhope.runtime.json_text import parse_json, read_object
from clevrhope.runtime.reading import reading
from clevrhope.sources.episodes import CELLS, episode_columns
from clevrhope.sources.parquet_files import ParquetFiles, check_parts
from clevrhope.sources.source import (
    SCENE,
    Columns,
    Numbering,
    Source,
    SourceSplit,
    check_filled,
    files_below,
    image_numbers,
)
from clevrhope.splits.covr.kinds import COVR_SPLITS
from clevrhope.splits.kinds import SPLITS

METADATA = "clevrhope"
"""The key of a Parquet file's metadata, and of a split in shards.json, that says what it holds."""

_OF_SPLIT = Fields({"questions": forms.INDEX}, {METADATA: MapOf(forms.ANY)})
_LISTED = MapOf(MapOf(_OF_SPLIT, keys=forms.NAME), keys=forms.NAME)
"""The form of shards.json, whose keys are the names of folders and splits."""

PART = "a part of the split, whose questions are numbered from 0 anew: predictions of the whole do not fit"
"""The note about one file of several that is read by itself."""

ROWS_AT_ONCE = 16_384

_TEXTS = ("question", "program", "answer")

_TABLE = re.compile(r"([A-Za-z0-9_]+)-\d{5}-of-\d{5}\.parquet")
_SHARD = re.compile(r"([A-Za-z0-9_]+)-\d{6}\.tar")


def _about_form(kind: QuestionKind) -> Fields:
    """The form of what is said of questions of a kind; names in it become parts of paths."""
    names = dict.fromkeys(("hop", "split", "pool", *kind.names), forms.NAME)
    lists = {name: ListOf(forms.ANY) for name in kind.lists if name not in kind.optional}
    counts = dict.fromkeys(("questions", "unit", "programs"), forms.INDEX)
    return Fields(
        {
            "dataset": forms.TEXT,
            "kind": forms.one_of(tuple(KINDS)),
            "attributes": MapOf(ListOf(forms.TEXT), keys=forms.NAME),
            "constraints": Fields({"max_objects": forms.INDEX}),
            "file": Fields({**names, **lists}, {"n_originals": forms.INDEX}),
            "vocab": VOCAB,
            "widths": ListOf(forms.INDEX, 2),
            "sha256": forms.SHA256,
        },
        {**counts, "notes": ListOf(forms.TEXT)},
    )


_Rows = tuple[dict[str, list[Any]], npt.NDArray[np.int64], Callable[[int], str]]
"""N consecutive questions: the cells of each column, (N, K, 3) places of their images, what names a row."""


class _ExportedSplit(ABC):
    """The files of a split; a form of files is a subclass that reads their rows."""

    form: ClassVar[str]
    """The form of their images, as in `ImageRecord`."""
    n_questions: int
    is_part: bool
    """Whether the split has more files than these."""

    def __init__(self, files: Sequence[Path], split: str, about: Mapping[str, Any]) -> None:
        self.files, self.about = files, about
        self.kind = KINDS.get(str(about.get("kind")), SINGLE)
        if about != {}:
            forms.check_form(about, _about_form(self.kind), files[0], place=METADATA)
        self.attributes = about.get("file", {"hop": files[0].parent.name, "split": split})
        self.has_programs = about.get("programs") != 0
        self.pool = self.attributes.get("pool", "{split}_{hop}".format(**self.attributes))
        self.index, self.scene = self.kind.of_images("image_index"), self.kind.of_images("scene")
        self.most = MAX_IMAGES if self.kind.of_sets else 1
        self.cells = CELLS if self.kind is NONCE else {}

    @abstractmethod
    def rows(self, names: Sequence[str]) -> Iterator[_Rows]:
        """The cells of these columns for all questions, in the order of the split."""

    def check_whole(self, numbers: npt.NDArray[np.int64]) -> None:
        """Checks that no question is missing; if the last ones are, only what the files say can tell it.

        Args:
            numbers: (N,) the `question_index` of the questions that are there, sorted.

        Raises:
            DatasetError: one is missing, or there twice.
        """
        n, split = self.about.get("questions", len(numbers)), self.attributes["split"]
        if not self.is_part and not np.array_equal(numbers, np.arange(n)):
            raise DatasetError(
                f"{self.files[0].parent}: the {len(numbers):,} questions of {split} are not numbers 0 to "
                f"{n - 1:,}; some are missing, or of other files, so predictions would be of other questions"
            )

    def source_split(self) -> SourceSplit:
        """The split as a source."""
        about, of_file = self.about, self.attributes
        place = (of_file["hop"], of_file["split"], self.pool, self.n_questions, self.files[0])
        return SourceSplit(
            *place,
            self.blocks,
            self.form,
            self.files,
            scenes=self.scenes,
            notes=[PART] * self.is_part,
            unit=about.get("unit", 0),
            kind=self.kind,
            attributes=of_file,
            vocab=vocab_from_json(about["vocab"]) if about else None,
            widths=tuple(about.get("widths", SourceSplit.widths)),
            sha256=about.get("sha256", ""),
        )

    def blocks(self, numbering: Numbering) -> Iterator[Columns]:
        """The columns of some thousand questions at a time."""
        columns, exported = self.kind.columns, self.kind.exported
        for cells, places, where in self.rows((*_TEXTS, self.index, *exported.values(), *self.cells)):
            for column, name in exported.items():
                if not columns[column].needed and cells[name][:1] == [None]:
                    del cells[name]
            check_filled(cells, where)
            indices = image_numbers(self._lists(cells[self.index]), where, self.most)
            indices = indices.reshape(-1, *columns["image_idxs"].row)
            made: Columns = {"image_places": places, "image_idxs": indices}
            if self.cells:
                made |= episode_columns(cells, self.attributes, numbering, where)
                made["support_places"] = _in_lists(places, made["support_idxs"].shape[1])
            else:
                made |= numbering.texts(cells["question"], where)
            made |= numbering.programs(cells["program"], where) if self.has_programs else {}
            made["answers"] = numbering.answers(cells["answer"], where)
            for column, name in exported.items():
                if name in cells:
                    with reading(f"{where(0)}, or one after it", f"{name}, {columns[column].holds}"):
                        made[column] = np.asarray(cells[name], dtype=columns[column].dtype)
            yield made

    def _lists(self, cells: list[Any]) -> list[Any]:
        """What is said of each image of each question, in lists."""
        return cells if self.kind.of_sets else [[cell] for cell in cells]

    def scenes(self) -> Iterator[dict[str, Any]]:
        """The scenes of the images, each once."""
        seen: set[int] = set()
        for cells, _, _ in self.rows((self.index, self.scene)):
            of_rows = (self._lists(cells[name]) for name in (self.index, self.scene))
            for indices, scenes in zip(*of_rows, strict=True):
                for index, scene in zip(indices, scenes or (), strict=False):
                    if scene and index not in seen:
                        seen.add(index)
                        place = f"{self.files[0]}: the scene of image {index}"
                        found = parse_json(scene, place) if isinstance(scene, str) else scene
                        forms.check_form(found, SCENE, place)
                        yield found


def _in_lists(places: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    """(N, n, 3) the places of the images in lists of at most n, each of which is in a place (N, 1, 3)."""
    found = np.repeat(places, n, axis=1)
    found[..., 2] = np.arange(n)
    return found


def _found(
    form: str,
    root: Path,
    name: re.Pattern[str],
    opened: Callable[[list[Path], str], _ExportedSplit | None],
) -> Source | None:
    """The splits in the files with such names, `<folder>/<split>-*`; None if there are none."""
    named = [(path, match[1]) for path in files_below(root) if (match := name.fullmatch(path.name))]
    splits: list[_ExportedSplit] = []
    for (_, split), group in groupby(named, lambda each: (each[0].parent, each[1])):
        found = opened([path for path, _ in group], split)
        if found is not None and found.attributes["split"] in (found.kind.splits or (*SPLITS, *COVR_SPLITS)):
            splits.append(found)
    if not splits:
        return None
    for other in splits:
        if other.about.get("dataset") != splits[0].about.get("dataset"):
            raise DatasetError(
                f"{root}: {splits[0].files[0]} and {other.files[0]} are of different datasets; import each "
                "dataset into a folder of its own"
            )
    about = splits[0].about
    return Source(
        form,
        root,
        tuple(each.source_split() for each in splits),
        notes=tuple(about.get("notes", ())),
        has_programs=all(each.has_programs for each in splits),
        # Questions of a part are numbered anew, so they are not those of the dataset.
        about={**about, "dataset": ""} if any(each.is_part for each in splits) else about,
        files=[path for each in splits for path in each.files],
    )


# Parquet

_SEVERAL = "list<element: {}>"


class _Table(_ExportedSplit):
    """The Parquet files of a split, a row a question."""

    form = "parquet"

    def __init__(self, paths: Sequence[Path], split: str, table: ParquetFiles) -> None:
        raw = table.metadata.get(METADATA.encode())
        super().__init__(paths, split, parse_json(raw, paths[0]) if raw else {})
        self.table, self.n_questions = table, len(table)
        self.is_part = len(paths) < int(paths[0].stem.rpartition("-")[2])
        wanted = {"question": "string", "answer": "string", "program": _SEVERAL.format("string")}
        wanted |= {"question_index": "int32", **self.cells}
        wanted[self.index] = _SEVERAL.format("int32") if self.kind.of_sets else "int32"
        for column, name in self.kind.exported.items():
            kind = self.kind.columns[column]
            if kind.needed:
                wanted[name] = _SEVERAL.format(kind.dtype) if kind.row else kind.dtype
        table.check({name: (kind,) for name, kind in wanted.items()})

    def rows(self, names: Sequence[str]) -> Iterator[_Rows]:
        there = [name for name in names if name in self.table.types]
        has_images = self.kind.of_images("image") in self.table.types
        self.check_whole(self.table.sort("question_index"))
        for first, batch in self.table.batches(there, ROWS_AT_ONCE):
            cells = {name: [None] * len(batch) for name in names}
            cells |= {name: batch.column(name).to_pylist() for name in there}
            places = self.table.places(first, len(batch))[:, np.newaxis]
            places = _in_lists(places, self.most) if self.kind.of_sets else places
            yield cells, places if has_images else np.full_like(places, -1), self.table.where(first)


def find_parquet(root: Path, vocabulary: Vocabulary) -> Source | None:
    """The splits in Parquet files of an export; None if there are none.

    Raises:
        DatasetError: a file has other columns, or a shard is missing.
    """

    def opened(paths: list[Path], split: str) -> _ExportedSplit | None:
        table = ParquetFiles(paths)
        if not {"question", "question_index"} <= table.types.keys():
            return None  # the official data have other columns
        if split in NONCE.splits and METADATA.encode() not in table.metadata:
            return None  # which names the values that words stand for
        if root.is_dir():
            check_parts(paths)
        return _Table(paths, split, table)

    return _found("parquet", root, _TABLE, opened)


# WebDataset


class _Shards(_ExportedSplit):
    """The tar shards of a split: JSON files, an image's questions or one question in each, and images."""

    form = "tar"

    def __init__(self, files: Sequence[Path], split: str, about: Mapping[str, Any], *, alone: bool) -> None:
        super().__init__(files, split, about)
        self.is_part = alone
        texts: dict[str, forms.Form] = dict.fromkeys(("question", "answer"), forms.TEXT)
        texts |= {"program": ListOf(forms.TEXT), "question_index": forms.INDEX}
        needed: dict[str, forms.Form] = {"image_index": forms.INDEX, "questions": ListOf(Fields(texts))}
        if self.kind.of_sets:
            needed = {**texts, "image_indices": ListOf(forms.INDEX)}
        self._sample = Fields(needed, {"scene": forms.ANY, "scenes": ListOf(forms.ANY)})
        n_said = self.about.get("questions", 0)
        self.n_questions = (0 if alone else n_said) or sum(len(places) for _, places, _ in self.rows(()))
        self.is_part = alone and self.n_questions != n_said

    def rows(self, names: Sequence[str]) -> Iterator[_Rows]:
        rows: list[tuple[int, dict[str, Any], list[list[int]]]] = []
        for number, path in enumerate(self.files):
            of_key: dict[str, list[list[int]]] = {}
            with reading(path, "a tar archive that can be read to its end"), tarfile.open(path) as tar:
                for entry in tar:
                    key, _, suffix = entry.name.partition(".")
                    if suffix.endswith("png"):
                        of_key.setdefault(key, []).append([number, entry.offset_data, entry.size])
                    file = tar.extractfile(entry) if suffix == "json" else None
                    if file is None:
                        continue
                    sample = parse_json(file.read(), path)
                    forms.check_form(sample, self._sample, f"{path}: {entry.name}")
                    for question in sample.get("questions", (sample,)):
                        cells = {name: question.get(name, sample.get(name)) for name in names}
                        rows.append((question["question_index"], cells, of_key.get(key, [])))
        rows.sort(key=lambda row: row[0])
        self.check_whole(np.asarray([number for number, *_ in rows], dtype=np.int64))
        folder, split = self.files[0].parent, self.attributes["split"]
        columns = {name: [cells[name] for _, cells, _ in rows] for name in names}
        places = np.full((len(rows), self.most, 3), -1)
        for at, (*_, found) in zip(places, rows, strict=True):
            at[: len(found)] = np.reshape(found[: self.most], (-1, 3))
        yield columns, places, lambda k: f"{folder}: question {k} of {split}"


def find_webdataset(root: Path, vocabulary: Vocabulary) -> Source | None:
    """The splits in the tar shards of an export; None if there are none.

    Raises:
        DatasetError: a shard is broken, or holds something else.
    """
    listed: dict[Path, dict[str, Any]] = {}

    def opened(files: list[Path], split: str) -> _ExportedSplit:
        folder = files[0].parent.absolute()
        path = folder.parent / "shards.json"
        if path not in listed:
            listed[path] = read_object(path, "a list of shards") if path.is_file() else {}
            forms.check_form(listed[path], _LISTED, path)
        entry = listed[path].get(folder.name, {}).get(split, {})
        return _Shards(files, split, entry.get(METADATA, {}), alone=root.is_file())

    source = _found("webdataset", root, _SHARD, opened)
    missing = [
        f"{folder}/{name}"
        for path, shards in listed.items()
        if path.is_relative_to(root.absolute())
        for folder, names in shards.items()
        for name in names
        if not any((path.parent / folder).glob(f"{name}-*.tar"))
    ]
    if source is None or not missing:
        return source
    note = f"listed in shards.json, but not there: {listing(missing, most=5)}"
    return replace(source, notes=(*source.notes, note))
