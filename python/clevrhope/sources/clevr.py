"""CLEVR as published, or a folder that is laid out like it, as `none` with the splits train, val and test.

    questions/CLEVR_<split>_questions.json, scenes/CLEVR_<split>_scenes.json, images/<split>/*.png

CLEVR's own test set was published without answers, so it is left out. Scenes and images may be missing.
"""

import re
from collections.abc import Mapping
from itertools import islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from clevrhope._core import Vocabulary
from clevrhope.dataset.clevr_folder import FAMILIES, images_folder, questions_file, scenes_file
from clevrhope.dataset.json_rows import read_list
from clevrhope.errors import listed
from clevrhope.runtime.forms import INDEX, Fields, one_of
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.reading import reading
from clevrhope.sources.official.readers import ROW, json_questions, scenes_of
from clevrhope.sources.source import IN_RADIANS, NO_FAMILY, Source, SourceSplit
from clevrhope.splits.hops import NONE
from clevrhope.splits.kinds import PLAIN_SPLITS, SPLITS


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
    splits = tuple(_split(root, name, vocabulary, in_degrees=is_ours) for name in there)
    if not is_ours and any(split.scenes for split in splits):
        notes.append(IN_RADIANS)
    return Source("clevr", root, splits, notes=tuple(notes[not left_out :]))


def _has_answers(path: Path) -> bool:
    """Whether the first question has an answer."""
    return all("answer" in row for row in islice(read_list(path, "questions"), 1))


def _split(root: Path, name: str, vocabulary: Vocabulary, *, in_degrees: bool) -> SourceSplit:
    path, images, scenes = questions_file(root, name), images_folder(root, name), scenes_file(root, name)
    notes = [] if images.is_dir() else [f"no images: {images.relative_to(root)} is not there"]
    form = Fields({**ROW.needed, "question_index": INDEX}, {"split": one_of([name])})
    folder = None if notes else images
    blocks, of_images = json_questions(path, vocabulary, folder, family=_family, form=form)
    # By the key that each question has, since to parse CLEVR's 700,000 takes a minute or more.
    with (
        reading(path, "JSON"),
        path.open("rb") as file,
        mmap(file.fileno(), 0, access=ACCESS_READ) as content,
    ):
        n = sum(1 for _ in re.finditer(rb'"question_index"\s*:', content))
    about = {**of_images, "scenes": scenes_of(scenes, in_degrees=in_degrees) if scenes.is_file() else None}
    return SourceSplit(NONE, name, SPLITS[name].pool, n, path, blocks, notes=notes, **about)


def _family(row: Mapping[str, Any]) -> int:
    """The family of a question; CLEVR numbers them through all template files."""
    number = row.get("question_family_index")
    return number if type(number) is int and 0 <= number < len(FAMILIES) else NO_FAMILY
