"""The official CLEVR-HOPE as its authors published it; docs/import.md says how sure each form is."""

from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

from clevrhope._core import Vocabulary
from clevrhope.config.question_settings import QuestionSettings, Strictness
from clevrhope.dataset.hdf5 import reading_hdf5
from clevrhope.dataset.manifest import digest_of
from clevrhope.dataset.source_images import CHANNELS_FIRST
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import DatasetError, listed
from clevrhope.runtime.forms import Fields, check_form, one_of
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.threads import map_in_threads
from clevrhope.sources.official.names import OfficialFile, about, official_file
from clevrhope.sources.official.readers import hdf5_split, json_split, parquet_split, scenes_of
from clevrhope.sources.parquet_files import check_parts
from clevrhope.sources.source import IN_RADIANS, Source, SourceSplit, files_below

_FORMS = (".parquet", ".h5", ".json")
"""If a folder has a split in several forms, the last of these is read, which says most."""


def find_official(root: Path, vocabulary: Vocabulary) -> Source | None:
    """The official data in a folder and those below it; None if there are no question files.

    Args:
        root: the folder, or one file.
        vocabulary: the values of programs.

    Raises:
        DatasetError: a question file has another form than the official one.
    """
    paths = files_below(root)
    files = sorted(file for path in paths if path.suffix in _FORMS and (file := official_file(path)))
    if not files:
        return None
    known, notes = {file.path for file in files}, []
    forms = {path.suffix for path in known}
    of_features = [path for path in paths if path.name.endswith("_vg_frcnn.h5")]
    of_images = []
    for path in [each for each in paths if each.suffix == ".h5"] if ".h5" in forms else ():
        try:
            with reading_hdf5(path, CHANNELS_FIRST):
                of_images.append(path)
        except DatasetError as error:
            if "_ims" in path.name:
                notes.append(f"left out: {str(error).partition('; ')[0]}")
                known.add(path)
    of_scenes = [path for path in paths if path.suffix == ".json" and "scenes" in path.name]
    # Images are beside a file that is read alone, or below the folder above.
    near = paths if root.is_dir() or ".json" not in forms else files_below(root.parent)
    of_png = sorted({path.parent for path in near if path.suffix == ".png"})
    find = partial(about, one_run=len({file.run for file in files}) == 1)

    def opened(of_split: list[OfficialFile]) -> SourceSplit:
        form = max((file.path.suffix for file in of_split), key=_FORMS.index)
        first, *_ = chosen = [file for file in of_split if file.path.suffix == form]
        if root.is_dir():
            check_parts([file.path for file in chosen])
        if form == ".parquet":
            return parquet_split(first, [file.path for file in chosen])
        if form == ".json":
            split = json_split(first, vocabulary, find(first, of_png))
        else:
            vocab, features = read_vocab(_vocab_of(first.path, root)), find(first, of_features)
            split = hdf5_split(first, vocabulary, vocab, find(first, of_images), features)
        place = find(first, of_scenes)  # which rows of Parquet do not name
        return replace(split, scenes=scenes_of(place)) if place else split

    groups = [list(group) for _, group in groupby(files, lambda file: (file.number, file.split))]
    # Footers of Parquet take long to parse; HDF5 is read by one thread alone.
    splits = tuple((map_in_threads if forms == {".parquet"} else map)(opened, groups))
    if any(split.scenes for split in splits):
        notes.insert(0, IN_RADIANS)
    keys = {form: [split.key for split in splits if split.file.suffix == form] for form in _FORMS}
    read = [f"{listed(of_form, most=4)} from {form}" for form, of_form in keys.items() if of_form]
    if len(read) > 1:
        notes.append(f"read from several forms, whose images are not compared by name: {'; '.join(read)}")
    return Source(
        "official",
        root,
        splits,
        notes=tuple(notes),
        has_programs=not keys[".parquet"],
        about=_about(root),
        files=known | {*of_images, *of_features},
    )


def _about(root: Path) -> dict[str, Any]:
    """What an export of this program says in source.json: its settings, and the dataset's digest."""
    paths = [folder / "source.json" for folder in (root, *root.parents)[:3]]
    path = next((path for path in paths if path.is_file()), None)
    said = read_object(path, "what an export is of") if path else {}
    if path is None or said.get("format") != "official" or "strictness" not in said:
        return {}
    check_form(said, Fields({"strictness": one_of(get_args(Strictness))}), path)
    found: dict[str, Any] = {"settings": QuestionSettings.from_json(said).changed_settings()}
    decided = [said.get(name) for name in ("dataset_version", "seed", "world", "templates")]
    if root.is_dir() and None not in decided:  # one file may be a part, with questions numbered anew
        found["dataset"] = digest_of(decided)
    return found


def _vocab_of(path: Path, root: Path) -> Path:
    """The vocabulary of a question file: vocab.json beside it, or in a folder above."""
    for folder in path.parents:
        if (folder / "vocab.json").is_file():
            return folder / "vocab.json"
        if folder == root:
            break
    raise DatasetError(f"{path}: no vocab.json beside it or above, which says what its numbers mean")
