"""Exports of this program as sources: Parquet and WebDataset, as a folder, or single files of one.

A file says what it holds in its metadata (Parquet), or the folder in shards.json (WebDataset). Files that
have lost this, as other libraries write them, are read by their columns and their path, `<HOP>/<split>-*`;
their dataset is then taken to have CLEVR's values.
"""

import re
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrhope._core import Vocabulary
from clevrhope.dataset.source_images import ImageRecord
from clevrhope.errors import DatasetError
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.forms import ANY, INDEX, TEXT, Fields, ListOf, check_form
from clevrhope.runtime.json_text import parse_json, read_object
from clevrhope.runtime.reading import reading
from clevrhope.sources.source import Columns, Numbering, Source, SourceSplit
from clevrhope.splits.kinds import SPLITS

if TYPE_CHECKING:
    import pyarrow.parquet as pq

METADATA = "clevrhope"
"""The key of a Parquet file's metadata, and of a split in shards.json, that says what it holds."""

ROWS_AT_ONCE = 16_384

COLUMNS = {
    "question": "string",
    "answer": "string",
    "program": "list<element: string>",
    "question_family_index": "int32",
    "question_index": "int32",
    "image_index": "int32",
}
"""Column of Parquet -> its type."""

_NAME = re.compile(r"([A-Za-z0-9_]+)-(\d{5})-of-(\d{5})\.parquet")
_SHARD = re.compile(r"([A-Za-z0-9_]+)-(\d{6})\.tar")


def find_parquet(root: Path, vocabulary: Vocabulary) -> Source | None:
    """The splits in Parquet files of an export; None if there are none.

    Raises:
        DatasetError: a file has other columns, or a shard is missing.
    """
    paths = [root] if root.is_file() else sorted(root.rglob("*.parquet"))
    files = [(found, path) for path in paths if (found := _NAME.fullmatch(path.name)) and _is_ours(path)]
    if not files:
        return None
    by_split: dict[tuple[str, str], list[Path]] = {}
    for found, path in files:
        about = _metadata(path)
        hop, split = about.get("hop", path.parent.name), about.get("split", found[1])
        if split in SPLITS and about.get("kind", "single") == "single":
            by_split.setdefault((str(hop), str(split)), []).append(path)
        _check_shards(path, int(found[3]), whole=root.is_dir())
    first = _metadata(files[0][1])
    splits: list[SourceSplit] = []
    scenes: dict[str, list[_ParquetSplit]] = {}
    for (hop, split), of_split in by_split.items():
        made = _ParquetSplit(hop, split, of_split)
        splits.append(made.split_source())
        if made.has_scenes:
            scenes.setdefault(made.pool, []).append(made)
    return Source("parquet", root, tuple(splits), scenes=_joined(scenes), about=first)


def _is_ours(path: Path) -> bool:
    """Whether a Parquet file has the columns of our exports; that of the official data has others."""
    names = _opened(path).schema_arrow.names
    return "question" in names and "question_index" in names


def _opened(path: Path) -> "pq.ParquetFile":
    check_extra("Parquet files need", "pyarrow", "export")
    import pyarrow.parquet as pq

    with reading(path, "a Parquet file"):
        return pq.ParquetFile(path)


def _metadata(path: Path) -> dict[str, Any]:
    """What a Parquet file says of its split; empty if it lost that."""
    raw = (_opened(path).schema_arrow.metadata or {}).get(METADATA.encode())
    found = parse_json(raw, path) if raw else {}
    return found if isinstance(found, dict) else {}


def _check_shards(path: Path, n: int, *, whole: bool) -> None:
    """Checks that the other files of a split are beside one of them, if a whole folder is read."""
    if not whole:
        return
    begin = path.name.partition("-")[0]
    for number in range(n):
        other = path.with_name(f"{begin}-{number:05}-of-{n:05}.parquet")
        if not other.is_file():
            raise DatasetError(f"{other}: no such file, though {path.name} says that there are {n}")


@dataclass
class _ParquetSplit:
    """The Parquet files of a split."""

    hop: str
    split: str
    files: Sequence[Path]
    _images: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Index of an image -> a file and a row that have it."""

    def __post_init__(self) -> None:
        about = _metadata(self.files[0])
        self.pool = str(about.get("pool", f"{self.split}_{self.hop}"))
        self.rows = []
        for path in self.files:
            schema = _opened(path).schema_arrow
            names = {name: str(schema.field(name).type) for name in schema.names}
            self.has_scenes, self.has_images = "scene" in names, "image" in names
            for name, kind in COLUMNS.items():
                found = names.get(name, "missing")
                if not _is_kind(found, kind):
                    there = ", ".join(f"{each} {of}" for each, of in names.items())
                    raise DatasetError(f"{path}: column {name} is {found}; expected {kind}; it has {there}")
            self.rows.append(_opened(path).metadata.num_rows)

    def split_source(self) -> SourceSplit:
        """The split as a source."""
        return SourceSplit(
            self.hop,
            self.split,
            self.pool,
            sum(self.rows),
            self.files[0],
            self.blocks,
            images=self.images,
        )

    def blocks(self, numbering: Numbering) -> Iterator[Columns]:
        """The columns of some thousand questions at a time."""
        for number, path in enumerate(self.files):
            at = 0
            for batch in _batches(path, list(COLUMNS)):
                columns = {name: batch.column(name).to_pylist() for name in COLUMNS}
                for name, values in columns.items():
                    if None in values:
                        raise DatasetError(f"{path}: row {at + values.index(None)}: {name} is empty")
                yield _columns(columns, numbering, partial(_place, path, at))
                for k, index in enumerate(columns["image_index"]):
                    self._images.setdefault(index, (number, at + k))
                at += len(batch)

    def images(self) -> ImageRecord | None:
        """Where the images are."""
        if not self.has_images or not self._images:
            return None
        places = [list(self._images.get(index, ())) for index in range(max(self._images) + 1)]
        paths = tuple(path.absolute() for path in self.files)
        return ImageRecord("parquet", paths, tuple(self.rows), places)

    def scenes(self) -> Iterator[dict[str, Any]]:
        """The scenes of the images, some of them again."""
        last = None
        for path in self.files:
            for batch in _batches(path, ["scene"]):
                for text in batch.column("scene").to_pylist():
                    if text and text != last:
                        yield parse_json(text.encode(), path)
                    last = text


def _place(path: Path, first: int, k: int) -> str:
    return f"{path}: row {first + k}"


def _batches(path: Path, names: list[str]) -> Iterator[Any]:
    with reading(path, "a Parquet file that can be read to its end"):
        yield from _opened(path).iter_batches(ROWS_AT_ONCE, columns=names)


def _is_kind(found: str, wanted: str) -> bool:
    plain = found.replace("large_", "").replace("item:", "element:")
    return plain == wanted or (wanted == "int32" and plain in ("int64", "uint32", "int16"))


def _columns(rows: Mapping[str, list[Any]], numbering: Numbering, place: Callable[[int], str]) -> Columns:
    """The columns of questions from lists of texts, answers, programs and numbers."""
    return {
        **numbering.texts(rows["question"]),
        **numbering.programs(rows["program"], place),
        "answers": numbering.answers(rows["answer"], place),
        "image_idxs": np.asarray(rows["image_index"], dtype=np.int32),
        "question_families": np.asarray(rows["question_family_index"], dtype=np.int32),
    }


def _joined(
    parts: Mapping[str, Sequence[Any]],
) -> dict[str, Callable[[], Iterator[dict[str, Any]]]]:
    """Pool -> the scenes of all its splits."""

    def scenes(of_pool: Sequence[Any]) -> Callable[[], Iterator[dict[str, Any]]]:
        return lambda: (scene for part in of_pool for scene in part.scenes())

    return {pool: scenes(of_pool) for pool, of_pool in parts.items()}


def find_webdataset(root: Path, vocabulary: Vocabulary) -> Source | None:
    """The splits in the tar shards of an export; None if there are none.

    Raises:
        DatasetError: a shard is broken, or holds something else.
    """
    paths = [root] if root.is_file() else sorted(root.rglob("*.tar"))
    files = [(found[1], path) for path in paths if (found := _SHARD.fullmatch(path.name))]
    if not files:
        return None
    listed = next((path for path in (root, *root.parents)[:3] if (path / "shards.json").is_file()), None)
    shards = read_object(listed / "shards.json", "a list of shards") if listed else {}
    splits: list[SourceSplit] = []
    scenes: dict[str, list[_TarSplit]] = {}
    about: dict[str, Any] = {}
    for (hop, split), group in groupby(files, lambda each: (each[1].parent.name, each[0])):
        if split not in SPLITS:
            continue
        entry = shards.get(hop, {}).get(split, {})
        about = about or entry.get(METADATA, {})
        of_split = [path for _, path in group]
        made = _TarSplit(hop, split, of_split, str(entry.get(METADATA, {}).get("pool", f"{split}_{hop}")))
        if root.is_dir() and entry and made.n_questions != entry["questions"]:
            raise DatasetError(
                f"{of_split[0].parent}: the shards of {split} have {made.n_questions:,} questions, where "
                f"shards.json says {entry['questions']:,}; a shard is missing"
            )
        splits.append(made.split_source())
        scenes.setdefault(made.pool, []).append(made)
    return Source("webdataset", root, tuple(splits), scenes=_joined(scenes), about=about)


_SAMPLE = Fields(
    {
        "image_index": INDEX,
        "questions": ListOf(
            Fields(
                {
                    **dict.fromkeys(("question", "answer"), TEXT),
                    **dict.fromkeys(("question_index", "question_family_index"), INDEX),
                    "program": ListOf(TEXT),
                }
            )
        ),
    },
    {"scene": ANY},
)


class _TarSplit:
    """The shards of a split."""

    def __init__(self, hop: str, split: str, files: Sequence[Path], pool: str) -> None:
        self.hop, self.split, self.files, self.pool = hop, split, files, pool
        self._places: dict[int, list[int]] = {}
        self.n_questions = sum(len(sample["questions"]) for sample in self._samples())

    def _samples(self) -> Iterator[dict[str, Any]]:
        """The JSON of each sample; notes where the images are."""
        for number, path in enumerate(self.files):
            places: dict[str, list[int]] = {}
            with reading(path, "a tar archive that can be read to its end"), tarfile.open(path) as tar:
                for entry in tar:
                    key, _, suffix = entry.name.partition(".")
                    if suffix == "png":
                        places[key] = [number, entry.offset_data, entry.size]
                    file = tar.extractfile(entry) if suffix == "json" else None
                    if file is not None:
                        sample = parse_json(file.read(), path)
                        check_form(sample, _SAMPLE, f"{path}: {entry.name}")
                        if key in places:
                            self._places[sample["image_index"]] = places[key]
                        yield sample

    def split_source(self) -> SourceSplit:
        """The split as a source."""
        return SourceSplit(
            self.hop, self.split, self.pool, self.n_questions, self.files[0], self.blocks, self.images
        )

    def blocks(self, numbering: Numbering) -> Iterator[Columns]:
        """The columns of all questions, in the order of their indices."""
        rows = [
            {**question, "image_index": sample["image_index"]}
            for sample in self._samples()
            for question in sample["questions"]
        ]
        rows.sort(key=lambda row: row["question_index"])
        columns = {name: [row[name] for row in rows] for name in COLUMNS}
        yield _columns(columns, numbering, lambda k: f"{self.files[0].parent}: question {k} of {self.split}")

    def images(self) -> ImageRecord | None:
        """Where the images are."""
        if not self._places:
            return None
        places = [self._places.get(index, []) for index in range(max(self._places) + 1)]
        return ImageRecord("tar", tuple(path.absolute() for path in self.files), (), places)

    def scenes(self) -> Iterator[dict[str, Any]]:
        """The scenes of the images."""
        return (sample["scene"] for sample in self._samples() if sample.get("scene"))
