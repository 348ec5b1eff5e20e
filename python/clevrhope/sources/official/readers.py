"""Readers of the official data in each of their forms, which give a split as a source.

docs/import.md says what the files hold, and what is read differently from what they say.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import Programs, ProgramTokens, Vocabulary
from clevrhope.dataset.clevr_folder import FAMILIES
from clevrhope.dataset.hdf5 import Array, Schema, reading_hdf5
from clevrhope.dataset.json_rows import read_list
from clevrhope.dataset.questions_h5 import check_numbers
from clevrhope.dataset.source_images import CHANNELS_FIRST
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import ClevrhopeError, DatasetError, shown
from clevrhope.runtime.forms import ANY, FILE_NAME, INDEX, TEXT, Fields, ListOf, check_form
from clevrhope.sources.official.names import POOLS, OfficialFile, places_of
from clevrhope.sources.parquet_files import ROWS_AT_ONCE, ParquetFiles
from clevrhope.sources.source import (
    END,
    MAX_IMAGES,
    MOST_PROGRAM_TOKENS,
    NO_FAMILY,
    SCENE,
    START,
    Columns,
    Numbering,
    SourceSplit,
    check_filled,
    image_numbers,
)
from clevrhope.splits.kinds import MINIMAL_OOD

JSON_ROWS_AT_ONCE = 10_000

# Parquet

TEXTS = ("query", "answer")

COLUMNS = {
    **dict.fromkeys(TEXTS, ("string",)),
    "idx": ("int64", "missing"),
    "image": (
        "struct<bytes: binary, path: string>",
        "struct<path: string, bytes: binary>",
        "struct<bytes: binary, path: null>",
        "struct<bytes: binary>",
        "binary",
        "missing",
    ),
}
"""Column -> its types, the usual one first, which is that of exports; "missing" if it need not be there."""

NAMES = "image.path"

GROUP = 4
"""Images of a group of a minimal out-of-distribution set: the match, one value changed, the other, both."""


def parquet_split(file: OfficialFile, paths: Sequence[Path]) -> SourceSplit:
    """The split in these files, in order, of which `file` is the first.

    Rows of a minimal set that do not name their images are by target, then by place.

    Raises:
        DatasetError: a file is not Parquet, or has other columns; says what was found and expected.
    """
    files, notes, names = ParquetFiles(paths), list[str](), dict[int, str]()
    files.check(COLUMNS)
    n, has_names = len(files), _has_names(files)
    n_places = places_of(file.hop) if file.split == MINIMAL_OOD and not has_names else 0
    unit = n // n_places if n_places and not n % n_places else 0

    def sort() -> None:
        """Reads the rows in the order of `idx`, and notes what the columns do not say."""
        found = [] if has_names else ["no column says which rows share an image: one each"]
        numbers = files.sort("idx") if "idx" in files.types else np.arange(n)
        if n and (numbers[0], numbers[-1]) != (0, n - 1):
            found.append(
                f"idx runs from {numbers[0]:,} to {numbers[-1]:,} for {n:,} rows: some are missing; "
                "questions are numbered from 0, in the order of idx"
            )
        notes.extend(note for note in found if note not in notes)

    def by_place(rows: Any) -> Any:
        """The numbers of images that have no names: those of a place follow each other, if it is known."""
        n_targets, rest = divmod(unit, GROUP)
        if not n_targets or rest:
            return rows
        targets, places, of_group = np.unravel_index(rows, (n_targets, n_places, GROUP))
        return (places * n_targets + targets) * GROUP + of_group

    def blocks(numbering: Numbering) -> Iterator[Columns]:
        numbers: dict[str, int] = {}
        sort()
        for first, batch in files.batches([*TEXTS, *([NAMES] * has_names)], ROWS_AT_ONCE):
            cells, images = {name: batch.column(name).to_pylist() for name in TEXTS}, np.arange(len(batch))
            images = by_place(first + images)
            if has_names:
                cells[NAMES] = batch.column("image").field("path").to_pylist()
                images = np.asarray([numbers.setdefault(name, len(numbers)) for name in cells[NAMES]])
                names.update(zip(images.tolist(), cells[NAMES], strict=True))
            where = files.where(first)
            check_filled(cells, where)
            yield {
                **numbering.texts(cells["query"], where),
                "answers": numbering.answers(cells["answer"], where),
                "image_idxs": images.astype(np.int32),
                **({"image_places": files.places(first, len(batch))} if "image" in files.types else {}),
            }

    images = {"image_form": "parquet", "image_files": paths, "image_names": names}
    pool = f"{POOLS.get(file.split, file.split)}_{file.hop}"
    return file.split_source(n, blocks, notes, pool=pool, unit=unit, **images)


def _has_names(files: ParquetFiles) -> bool:
    """Whether rows name their images."""
    if "path" not in files.types.get("image", ""):
        return False
    _, first = next(files.batches([NAMES], 1), (0, None))
    return first is not None and not first.column("image").field("path").null_count


# HDF5

ARRAYS = {
    "questions": ("questions", "int32"),
    "questions_len": ("question_lengths", "int32"),
    "programs": ("programs", "int32"),
    "programs_len": ("program_lengths", "int32"),
    "image_idxs": ("image_idxs", "int64"),
    "answers": ("answers", "int64"),
}
"""Array that is read -> its column here, and its type where it is written; any integers are read."""

REMEDY = "download it again"

QUESTIONS = Schema(
    "a question file of the official CLEVR-HOPE",
    {
        name: Array("iu", (None,) if name in ("questions", "programs") else (), in_blocks=True)
        for name in ARRAYS
    },
    remedy=REMEDY,
)


def hdf5_split(
    file: OfficialFile, vocabulary: Vocabulary, vocab: Vocab, of_images: Path | None, features: Path | None
) -> SourceSplit:
    """The split in a question file.

    Args:
        file: the question file.
        vocabulary: the values of programs.
        vocab: the numbers of its words, functions and answers.
        of_images: the file with its images, as the array `features`.
        features: the file of detector features of its images.

    Raises:
        DatasetError: the file is not one of the official data; says what was found and expected.
    """
    with reading_hdf5(file.path, QUESTIONS) as opened:
        n, notes = file.plain(opened["image_idxs"][:])
    n_images = MAX_IMAGES
    if of_images is not None:
        with reading_hdf5(of_images, CHANNELS_FIRST) as opened:
            n_images = len(opened["features"])

    tokens = {name: len(getattr(vocab, name)()) for name in ("questions", "programs", "answers")}
    functions = ProgramTokens(vocabulary, vocab.programs())

    def blocks(numbering: Numbering) -> Iterator[Columns]:
        with reading_hdf5(file.path, QUESTIONS) as opened:
            widths = {f"{name}_len": opened[name].shape[1] + 1 for name in ("questions", "programs")}
            limits = {**tokens, **widths, "image_idxs": n_images}
            least = {"answers": len(SPECIAL_TOKENS)}
            for first in range(0, n, ROWS_AT_ONCE):
                stop = min(first + ROWS_AT_ONCE, n)
                columns: Columns = {"question_families": np.full(stop - first, NO_FAMILY, dtype=np.int32)}
                for name, (column, _) in ARRAYS.items():
                    numbers = opened[name][first:stop]
                    bounds = {"least": least.get(name, 0), "first": first}
                    check_numbers(file.path, name, numbers, limits[name], **bounds, remedy=REMEDY)
                    columns[column] = numbers.astype(np.int32)
                _check_rows(file, functions, columns, first)
                if of_images is not None:
                    rows = columns["image_idxs"]
                    columns["image_places"] = np.stack([np.zeros_like(rows), rows, ~np.zeros_like(rows)], -1)
                yield columns

    images = {"image_form": "features", "image_files": [of_images] if of_images else []}
    return file.split_source(n, blocks, notes, features=features, vocab=vocab, **images)


def _check_rows(file: OfficialFile, functions: ProgramTokens, columns: Columns, first: int) -> None:
    """Checks that lengths are numbers of tokens, and programs trees in prefix order; some have none."""
    for name in ("questions", "programs"):
        lengths, is_filled = columns[f"{name[:-1]}_lengths"], columns[name] != 0  # (N,) and (N, W)
        is_token = np.arange(is_filled.shape[1]) < lengths[:, np.newaxis]
        for row in np.flatnonzero((is_filled != is_token).any(axis=1)).tolist()[:1]:
            raise DatasetError(
                f"{file.path}: {name}_len[{first + row}] is {lengths[row]}, which is not the number of "
                f"tokens in its row of {name}; {REMEDY}"
            )
    numbers = np.flatnonzero(columns["program_lengths"] > len((START, END)))
    try:
        Programs.from_tokens(functions, columns["programs"][numbers])
    except ClevrhopeError as error:
        place, _, problem = str(error).removeprefix("programs[").partition("]")
        raise DatasetError(
            f"{file.path}: programs[{first + numbers[int(place)]}]{problem}; {REMEDY}"
        ) from error


# JSON

ROW = Fields(
    {
        "question": TEXT,
        "answer": TEXT,
        "image_index": INDEX,
        "image_filename": FILE_NAME,
        "program": ListOf(ANY),
    }
)
"""The form of a question."""
_FAMILIES: Mapping[tuple[str, int], int] = {place: number for number, place in enumerate(FAMILIES)}


def _official_family(row: Mapping[str, Any]) -> int:
    """The family of a question, which the official files number anew in each template file."""
    return _FAMILIES.get((row.get("template_filename", ""), row.get("question_family_index", -1)), NO_FAMILY)


def json_split(file: OfficialFile, vocabulary: Vocabulary, images: Path | None) -> SourceSplit:
    """The split in a question file; arguments and errors as of `json_questions`."""
    found: Iterator[Any] = (row.get("image_index") for row in read_list(file.path, "questions"))
    n, notes = file.plain([index if INDEX.test(index) else 0 for index in found])
    blocks, of_images = json_questions(file.path, vocabulary, images, n)
    return file.split_source(n, blocks, notes, **of_images)


def json_questions(
    path: Path,
    vocabulary: Vocabulary,
    images: Path | None,
    n: int | None = None,
    family: Callable[[Mapping[str, Any]], int] = _official_family,
    form: Fields = ROW,
) -> tuple[Callable[[Numbering], Iterator[Columns]], dict[str, Any]]:
    """The `blocks` of the first n questions of a file in CLEVR's form, and what `SourceSplit` says of images.

    Args:
        path: the question file.
        vocabulary: the values of programs.
        images: the folder of its images; None if they are not there.
        n: number of questions; None for all.
        family: takes a row, gives its family.
        form: the form of each question.

    Raises:
        DatasetError: the file is not a question file.
    """
    names: dict[int, str] = {}

    def blocks(numbering: Numbering) -> Iterator[Columns]:
        rows, at, seen = islice(read_list(path, "questions"), n), 0, dict[int, int]()
        functions = ProgramTokens(vocabulary, numbering.vocab().programs())
        while block := list(islice(rows, JSON_ROWS_AT_ONCE)):

            def where(k: int, first: int = at) -> str:
                return f"{path}: questions[{first + k}]"

            for k, row in enumerate(block):
                check_form(row, form, where(k))
                index, name = row["image_index"], row["image_filename"]
                if names.setdefault(index, name) != name:
                    raise DatasetError(
                        f"{where(k)}: image_filename is {shown(name)}; expected one name for image {index}"
                    )
                number = row["question_index"] if "question_index" in form.needed else None
                if number is not None and (first := seen.setdefault(number, at + k)) != at + k:
                    raise DatasetError(
                        f"{path}: questions[{first}] and questions[{at + k}] have the question_index "
                        f"{number}; each question has its own"
                    )
            texts = [row["question"] for row in block]
            plain = [{"question": "", "image_index": 0, "program": row["program"]} for row in block]
            try:
                data = json.dumps({"questions": plain}).encode()
                programs, _ = Programs.from_questions(vocabulary, data, file="")
                tokens = programs.to_tokens(functions, MOST_PROGRAM_TOKENS)
            except ClevrhopeError as error:
                place = re.compile(r"^(?:\.questions|programs)\[(\d+)\]")
                raise DatasetError(place.sub(lambda k: where(int(k[1])), str(error))) from error
            yield {
                **numbering.texts(texts, where),
                "programs": tokens,
                "program_lengths": (tokens != 0).sum(axis=1).astype(np.int32),
                "question_families": np.asarray([*map(family, block)], dtype=np.int32),
                "answers": numbering.answers([row["answer"] for row in block], where),
                "image_idxs": image_numbers([[row["image_index"]] for row in block], where)[:, 0],
                **({"image_places": np.tile([0, -1, -1], (len(block), 1))} if images else {}),
            }
            at += len(block)

    files = [images] if images else []
    return blocks, {"image_form": "png", "image_files": files, "image_names": names}


def scenes_of(path: Path, *, in_degrees: bool = False) -> Callable[[], Iterator[dict[str, Any]]]:
    """A function that yields the scenes of a file, with rotations in degrees.

    CLEVR's code takes a number from 0 to 360 as radians, so that is what images show. With `in_degrees`, the
    file has degrees, as exports of this program have.
    """

    def scenes() -> Iterator[dict[str, Any]]:
        for n, scene in enumerate(read_list(path, "scenes")):
            check_form(scene, SCENE, path, place=f"scenes[{n}]")
            for thing in () if in_degrees else scene["objects"]:
                if isinstance(thing, dict) and isinstance(thing.get("rotation"), int | float):
                    thing["rotation"] = math.degrees(thing["rotation"]) % 360.0
            yield scene

    return scenes
