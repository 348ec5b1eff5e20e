"""CLEVR as published, or a folder that is laid out like it, as `none` with the splits train, val and test.

    questions/CLEVR_<split>_questions.json, scenes/CLEVR_<split>_scenes.json, images/<split>/*.png

CLEVR's own test set was published without answers, so it is left out. Scenes and images may be missing.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import Vocabulary
from clevrhope.dataset.clevr_folder import FAMILIES, images_folder, questions_file, scenes_file
from clevrhope.dataset.json_rows import read_list
from clevrhope.errors import DatasetError, listed
from clevrhope.runtime.forms import INDEX, Fields, one_of
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.reading import reading
from clevrhope.sources.official.readers import ROW, json_questions, scenes_of
from clevrhope.sources.source import NO_FAMILY, Columns, Numbering, Source, SourceSplit
from clevrhope.splits.hops import NONE
from clevrhope.splits.kinds import PLAIN_SPLITS, SPLITS

_INDEX = re.compile(rb'"question_index"\s*:\s*(\d{0,18})')


def find_clevr(root: Path, vocabulary: Vocabulary) -> Source | None:
    """The splits in a folder that is laid out like CLEVR_v1.0; None if there are no question files.

    None, too, for a pair's splits in this form, as they do not say which pair they hold out.

    Raises:
        DatasetError: a question file is broken or of another form.
    """
    names = [path.name for path in (root / "questions").glob("CLEVR_*_questions.json")]
    found = [name.removeprefix("CLEVR_").removesuffix("_questions.json") for name in names]
    there = [name for name in PLAIN_SPLITS if name in found and _has_answers(questions_file(root, name))]
    of_pair = [name for name in found if name in SPLITS and name not in PLAIN_SPLITS]
    if not there or of_pair:
        return None
    left_out = sorted({*found} - {*there})
    notes = [f"left out, as they have no answers or are no split of CLEVR: {listed(left_out, most=5)}"]
    about = root / "source.json"
    is_ours = about.is_file() and read_object(about, "what an export is of").get("format") == "clevr"
    files = {SPLITS[name].pool: scenes_file(root, name) for name in there}
    scenes = {pool: scenes_of(file, in_degrees=is_ours) for pool, file in files.items() if file.is_file()}
    if scenes and not is_ours:
        notes.append("rotations in published scenes are radians; they are imported as degrees")
    splits = tuple(_split(root, name, vocabulary) for name in there)
    return Source("clevr", root, splits, scenes=scenes, notes=tuple(notes[not left_out :]))


def _has_answers(path: Path) -> bool:
    """Whether the first question has an answer."""
    return all("answer" in row for row in islice(read_list(path, "questions"), 1))


def _split(root: Path, name: str, vocabulary: Vocabulary) -> SourceSplit:
    path, images = questions_file(root, name), images_folder(root, name)
    shown = images if images.is_dir() else None
    n, form = _n_questions(path), Fields({**ROW.needed, "question_index": INDEX}, {"split": one_of([name])})
    read, record = json_questions(path, vocabulary, shown, family=_family, form=form)

    def blocks(numbering: Numbering) -> Iterator[Columns]:
        n_read = 0
        for columns in read(numbering):
            n_read += len(columns["answers"])
            yield columns
        if n_read != n:
            raise DatasetError(
                f"{path}: {n_read:,} questions, but {n:,} times a question_index; each has one"
            )

    note = "" if shown else f"no images: {images.relative_to(root)} is not there"
    return SourceSplit(NONE, name, SPLITS[name].pool, n, path, blocks, record, note=note)


def _n_questions(path: Path) -> int:
    """The number of questions, by the key that each has: to parse CLEVR's 700,000 takes a minute or more.

    Raises:
        DatasetError: a question's number occurs twice, as in files that were joined.
    """
    with (
        reading(path, "JSON"),
        path.open("rb") as file,
        mmap(file.fileno(), 0, access=ACCESS_READ) as content,
    ):
        found = (int(match[1] or -1) for match in _INDEX.finditer(content))
        numbers = np.fromiter(found, dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    is_again = (np.diff(numbers[order]) == 0) & (numbers[order][1:] >= 0)  # what is no number is said later
    for k in np.flatnonzero(is_again).tolist()[:1]:
        first, second = order[k : k + 2].tolist()
        raise DatasetError(
            f"{path}: questions[{first}] and questions[{second}] have the question_index {numbers[first]}; "
            "each question has its own"
        )
    return len(numbers)


def _family(row: Mapping[str, Any]) -> int:
    """The family of a question; CLEVR numbers them through all template files."""
    number = row.get("question_family_index")
    return number if type(number) is int and 0 <= number < len(FAMILIES) else NO_FAMILY
