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
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from clevrhope._core import Vocabulary
from clevrhope.dataset.question_kinds import ABSENT, KINDS, QuestionKind
from clevrhope.dataset.source_images import ImageRecord
from clevrhope.dataset.vocab import VOCAB, vocab_from_json
from clevrhope.errors import DatasetError, listed
from clevrhope.runtime.forms import (
    ANY,
    COUNT,
    INDEX,
    NAME,
    OBJECT,
    SHA256,
    TEXT,
    Fields,
    ListOf,
    MapOf,
    check_form,
)
from clevrhope.runtime.json_text import parse_json, read_object
from clevrhope.runtime.reading import reading
from clevrhope.sources.parquet_files import batches, check_columns, read_footer, row_of
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
from clevrhope.splits.kinds import SPLITS

METADATA = "clevrhope"
"""The key of a Parquet file's metadata, and of a split in shards.json, that says what it holds."""

_LISTED = MapOf(MapOf(Fields({"questions": COUNT}, {METADATA: OBJECT})))
"""The form of shards.json."""

ROWS_AT_ONCE = 16_384

_TEXTS = ("question", "program", "answer")

_TABLE = re.compile(r"([A-Za-z0-9_]+)-(\d{5})-of-(\d{5})\.parquet")
_SHARD = re.compile(r"([A-Za-z0-9_]+)-(\d{6})\.tar")

_ABOUT = Fields(
    {
        "dataset": TEXT,
        "kind": TEXT,
        "attributes": MapOf(ListOf(TEXT), keys=NAME),
        "constraints": Fields({"max_objects": COUNT}),
        "file": Fields(dict.fromkeys(("hop", "split", "pool"), NAME), {"n_originals": COUNT}),
        "vocab": VOCAB,
        "widths": ListOf(INDEX, 2),
        "sha256": SHA256,
    }
)
"""The form of what is said there; names in it become parts of paths."""


class _Rows(NamedTuple):
    """Consecutive questions: the cells of each column, the places of their images, and what names a row."""

    cells: Mapping[str, list[Any]]
    places: Sequence[Sequence[Sequence[int]]]
    where: Callable[[int], str]


class _ExportedSplit(ABC):
    """The files of a split; a form of files is a subclass that reads their rows."""

    form: ClassVar[str]
    """The form of their images, as in `ImageRecord`."""
    n_questions: int
    n_rows: tuple[int, ...] = ()
    """Number of rows of each file, if places of images are rows."""

    def __init__(self, files: Sequence[Path], split: str, about: Mapping[str, Any]) -> None:
        self.files, self.about = files, about
        if about != {}:
            check_form(about, _ABOUT, files[0], place=METADATA)
        self.attributes = about.get("file", {"hop": files[0].parent.name, "split": split})
        kind = KINDS.get(about.get("kind", "single"))
        if kind is None:
            raise DatasetError(
                f"{files[0]}: questions of kind {about['kind']}, which this version cannot read"
            )
        check_form(self.attributes, Fields(dict.fromkeys(kind.names, NAME)), files[0], place="clevrhope.file")
        self.kind: QuestionKind = kind
        self.pool = self.attributes.get("pool", "{split}_{hop}".format(**self.attributes))
        self.index, self.scene = kind.of_images("image_index"), kind.of_images("scene")
        self._images: dict[int, Sequence[int]] = {}

    @abstractmethod
    def rows(self, names: Sequence[str]) -> Iterator[_Rows]:
        """The cells of these columns for all questions, in the order of the split."""

    def source_split(self) -> SourceSplit:
        """The split as a source."""
        hop, split = self.attributes["hop"], self.attributes["split"]
        said: dict[str, Any] = {"kind": self.kind, "attributes": self.attributes}
        if self.about:
            said |= {"widths": tuple(self.about["widths"]), "sha256": self.about["sha256"]}
            said["vocab"] = vocab_from_json(self.about["vocab"])
        place = (hop, split, self.pool, self.n_questions, self.files[0])
        return SourceSplit(*place, self.blocks, self.images, **said)

    def blocks(self, numbering: Numbering) -> Iterator[Columns]:
        """The columns of some thousand questions at a time."""
        exported = self.kind.exported
        for all_cells, places, where in self.rows((*_TEXTS, self.index, *exported.values())):
            absent = {
                name
                for column, name in exported.items()
                if not self.kind.columns[column].needed and all_cells[name][:1] == [None]
            }
            cells = {name: values for name, values in all_cells.items() if name not in absent}
            check_filled(cells, where)
            indices = cells[self.index]
            each = indices if self.kind.of_sets else [[index] for index in indices]
            row_of_each = [row for row, of_row in enumerate(each) for _ in of_row]
            image_numbers([index for of_row in each for index in of_row], _at(where, row_of_each))
            for of_row, of_images in zip(each, places, strict=True):
                for index, place in zip(of_row, of_images, strict=False):
                    self._images.setdefault(index, place)
            if self.kind.of_sets:
                width = self.kind.columns["image_idxs"].row[0] or 0
                indices = [[*row, *[ABSENT] * (width - len(row))] for row in indices]
            columns = {
                **numbering.texts(cells["question"], where),
                **numbering.programs(cells["program"], where),
                "answers": numbering.answers(cells["answer"], where),
            }
            numbers = {column: cells[name] for column, name in exported.items() if name in cells}
            for column, values in {"image_idxs": indices, **numbers}.items():
                kind = self.kind.columns[column]
                try:
                    columns[column] = np.asarray(values, dtype=kind.dtype)
                except (ValueError, OverflowError, TypeError) as error:
                    name = exported.get(column, self.index)
                    raise DatasetError(f"{where(0)}, or one after it: {name} is not {kind.holds}") from error
            yield columns

    def images(self) -> ImageRecord | None:
        """Where the images are."""
        if not self._images:
            return None
        places = [list(self._images.get(index, ())) for index in range(max(self._images) + 1)]
        paths = tuple(path.absolute() for path in self.files)
        return ImageRecord(self.form, paths, self.n_rows, places)

    def scenes(self) -> Iterator[dict[str, Any]]:
        """The scenes of the images, each once."""
        seen: set[int] = set()
        for cells, _, _ in self.rows((self.index, self.scene)):
            for indices, scenes in zip(cells[self.index], cells[self.scene], strict=True):
                pairs = zip(indices, scenes, strict=False) if self.kind.of_sets else ((indices, scenes),)
                for index, scene in pairs:
                    if scene and index not in seen:
                        seen.add(index)
                        place = f"{self.files[0]}: the scene of image {index}"
                        found = parse_json(scene, place) if isinstance(scene, str) else scene
                        check_form(found, SCENE, place)
                        yield found


def _at(where: Callable[[int], str], rows: Sequence[int]) -> Callable[[int], str]:
    return lambda k: where(rows[k])


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
        if found is not None and found.attributes["split"] in (found.kind.splits or SPLITS):
            splits.append(found)
    if not splits:
        return None
    for other in splits:
        if other.about.get("dataset") != splits[0].about.get("dataset"):
            raise DatasetError(
                f"{root}: {splits[0].files[0]} and {other.files[0]} are of different datasets; import each "
                "dataset into a folder of its own"
            )
    scenes = {each.pool: _scenes([other for other in splits if other.pool == each.pool]) for each in splits}
    about = splits[0].about
    return Source(form, root, tuple(each.source_split() for each in splits), scenes=scenes, about=about)


def _scenes(splits: Sequence[_ExportedSplit]) -> Callable[[], Iterator[dict[str, Any]]]:
    return lambda: (scene for split in splits for scene in split.scenes())


# Parquet


class _Table(_ExportedSplit):
    """The Parquet files of a split, a row a question."""

    form = "parquet"

    def __init__(self, files: Sequence[Path], split: str) -> None:
        footers = [read_footer(path) for path in files]
        raw = (footers[0].metadata or {}).get(METADATA.encode())
        about = parse_json(raw, files[0]) if raw else {}
        super().__init__(files, split, about)
        several = {True: "list<element: {}>", False: "{}"}
        wanted = {"question": "string", "answer": "string", "program": several[True].format("string")}
        wanted["question_index"] = "int32"
        wanted[self.index] = several[self.kind.of_sets].format("int32")
        for column, name in self.kind.exported.items():
            kind = self.kind.columns[column]
            if kind.needed:
                wanted[name] = several[bool(kind.row)].format(kind.dtype)
        for path, footer in zip(files, footers, strict=True):
            self._types = check_columns(path, footer, wanted)
        self.n_rows = tuple(footer.num_rows for footer in footers)
        self.n_questions = sum(self.n_rows)

    @cached_property
    def _order(self) -> list[int] | None:
        """The rows in the order of their questions; None if that is the order in the files."""
        parts = []
        for path in self.files:
            for first, batch in batches(path, ["question_index"], ROWS_AT_ONCE):
                cells = {"question_index": batch.column("question_index").to_pylist()}
                check_filled(cells, row_of(path, first))
                parts.append(np.asarray(cells["question_index"], dtype=np.int64))
        numbers = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        if (np.diff(numbers) > 0).all():
            return None
        order = np.argsort(numbers, kind="stable")
        for row in order[1:][np.diff(numbers[order]) == 0].tolist():
            raise DatasetError(
                f"{self._place(row)}: question_index {numbers[row]} is that of another row, too"
            )
        return [int(row) for row in order]

    def _place(self, row: int) -> str:
        """Names a row of all files."""
        ends = np.cumsum(self.n_rows)
        number = int(np.searchsorted(ends, row, side="right"))
        return f"{self.files[number]}: row {row - int(ends[number]) + self.n_rows[number]}"

    def rows(self, names: Sequence[str]) -> Iterator[_Rows]:
        if (order := self._order) is None:
            yield from self._blocks(names)
            return
        parts = list(self._blocks(names))
        cells = {name: [cell for part in parts for cell in part.cells[name]] for name in names}
        places = [of for part in parts for of in part.places]
        yield _Rows(
            {name: [values[row] for row in order] for name, values in cells.items()},
            [places[row] for row in order],
            lambda k: self._place(order[k]),
        )

    def _blocks(self, names: Sequence[str]) -> Iterator[_Rows]:
        """The rows in the order of the files, some thousand at a time."""
        there = [name for name in names if name in self._types]
        has_images = self.kind.of_images("image") in self._types
        for number, path in enumerate(self.files):
            for first, batch in batches(path, there, ROWS_AT_ONCE):
                nothing = [None] * len(batch)
                cells = {name: batch.column(name).to_pylist() if name in there else nothing for name in names}
                rows = range(first, first + len(batch))
                places: list[list[list[int]]] = [[] for _ in rows]
                if has_images and self.kind.of_sets:
                    sets = zip(rows, cells[self.index], strict=True)
                    places = [[[number, row, k] for k in range(len(of or ()))] for row, of in sets]
                elif has_images:
                    places = [[[number, row]] for row in rows]
                yield _Rows(cells, places, row_of(path, first))


def find_parquet(root: Path, vocabulary: Vocabulary) -> Source | None:
    """The splits in Parquet files of an export; None if there are none.

    Raises:
        DatasetError: a file has other columns, or a shard is missing.
    """

    def opened(files: list[Path], split: str) -> _ExportedSplit | None:
        if not {"question", "question_index"} <= {*read_footer(files[0]).schema.to_arrow_schema().names}:
            return None  # the official data have other columns
        begin, _, n = files[0].stem.rpartition("-of-")
        for number in range(int(n) if root.is_dir() else 0):
            other = files[0].with_name(f"{begin.rpartition('-')[0]}-{number:05}-of-{n}.parquet")
            if not other.is_file():
                raise DatasetError(
                    f"{other}: no such file, though {files[0].name} says that there are {int(n)}"
                )
        return _Table(files, split)

    return _found("parquet", root, _TABLE, opened)


# WebDataset


class _Shards(_ExportedSplit):
    """The tar shards of a split: JSON files, an image's questions or one question in each, and images."""

    form = "tar"

    def __init__(self, files: Sequence[Path], split: str, listed: Mapping[str, Any]) -> None:
        super().__init__(files, split, listed.get(METADATA, {}))
        self._n_listed: int | None = listed.get("questions")
        question = Fields({**dict.fromkeys(_TEXTS, TEXT), "program": ListOf(TEXT), "question_index": INDEX})
        self._sample = Fields({"image_index": INDEX, "questions": ListOf(question)}, {"scene": ANY})
        if self.kind.of_sets:
            fields = {**question.needed, "image_indices": ListOf(INDEX)}
            self._sample = Fields(fields, {"scenes": ListOf(ANY)})
        self.n_questions = self._n_listed or sum(len(rows.places) for rows in self.rows(()))

    def rows(self, names: Sequence[str]) -> Iterator[_Rows]:
        rows: list[tuple[int, dict[str, Any], list[list[int]]]] = []
        for number, path in enumerate(self.files):
            places: dict[str, list[list[int]]] = {}
            with reading(path, "a tar archive that can be read to its end"), tarfile.open(path) as tar:
                for entry in tar:
                    key, _, suffix = entry.name.partition(".")
                    if suffix.endswith("png"):
                        places.setdefault(key, []).append([number, entry.offset_data, entry.size])
                    file = tar.extractfile(entry) if suffix == "json" else None
                    if file is None:
                        continue
                    sample = parse_json(file.read(), path)
                    check_form(sample, self._sample, f"{path}: {entry.name}")
                    for question in sample.get("questions", (sample,)):
                        cells = {name: question.get(name, sample.get(name)) for name in names}
                        rows.append((question["question_index"], cells, places.get(key, [])))
        if len(rows) != (self._n_listed or len(rows)):
            raise DatasetError(
                f"{self.files[0].parent}: the shards of {self.attributes['split']} have {len(rows):,} "
                f"questions, where shards.json says {self._n_listed:,}; a shard is missing"
            )
        rows.sort(key=lambda row: row[0])
        for one, other in pairwise(number for number, *_ in rows):
            if one == other:
                raise DatasetError(f"{self.files[0].parent}: question_index {one} is there twice")
        folder, split = self.files[0].parent, self.attributes["split"]
        columns = {name: [cells[name] for _, cells, _ in rows] for name in names}
        yield _Rows(columns, [of for *_, of in rows], lambda k: f"{folder}: question {k} of {split}")


def find_webdataset(root: Path, vocabulary: Vocabulary) -> Source | None:
    """The splits in the tar shards of an export; None if there are none.

    Raises:
        DatasetError: a shard is broken, or holds something else.
    """
    at = next((path for path in (root, *root.parents)[:3] if (path / "shards.json").is_file()), None)
    shards = read_object(at / "shards.json", "a list of shards") if at else {}
    check_form(shards, _LISTED, f"{root}: shards.json")

    there: set[tuple[str, str]] = set()

    def opened(files: list[Path], split: str) -> _ExportedSplit:
        there.add((files[0].parent.name, split))
        entry = shards.get(files[0].parent.name, {}).get(split, {})
        if root.is_file():
            entry = {name: value for name, value in entry.items() if name != "questions"}
        return _Shards(files, split, entry)

    source = _found("webdataset", root, _SHARD, opened)
    if source is None or root.is_file() or at != root:
        return source
    missing = [f"{hop}/{name}" for hop, of in shards.items() for name in of if (hop, name) not in there]
    notes = [f"listed in shards.json, but not there: {listed(missing, most=5)}"] if missing else []
    return replace(source, notes=(*source.notes, *notes))
