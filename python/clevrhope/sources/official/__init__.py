"""The official CLEVR-HOPE as its authors published it.

| form    | files                                                                                | how sure |
|---------|--------------------------------------------------------------------------------------|----------|
| Parquet | `HOP00/test_complex_ood-*.parquet`                                                   | read     |
| HDF5    | `no_text_no_vis_<values>_v1.0_ques/{train,val,test}_*.h5`, `vocab.json`               | inferred |
|         | `val_atom_ho_exist_match_ho<n>.h5`, `val_atom_ho_exist_mismatch_ho<n>_filtered.h5`    | inferred |
| JSON    | `CLEVR_ho_{train,val_iid}_<values>_no_text_no_vis_questions.json`                     | inferred |
|         | `CLEVR_held_out_questions_test_<values>.json`                                        | inferred |
| images  | HDF5 with `features` (N, 3, 320, 480) uint8; folders of PNG files                     | inferred |
| scenes  | JSON with `_train_scenes`, `_val_iid_scenes` or `_test_scenes` in its name            | inferred |

"Read" columns are those that readers of the files use; "inferred" ones follow from the code that writes and
loads them. `<values>` is a Python tuple of size, color, shape and material.
"""

from itertools import groupby
from pathlib import Path
from typing import Any, get_args

from clevrhope._core import Vocabulary
from clevrhope.config.question_settings import QuestionSettings, Strictness
from clevrhope.dataset.hdf5 import reading_hdf5
from clevrhope.dataset.source_images import CHANNELS_FIRST
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import DatasetError, listed
from clevrhope.runtime.forms import Fields, check_form, one_of
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.threads import map_in_threads
from clevrhope.sources.official.names import BEGINS, OfficialFile, about, official_file
from clevrhope.sources.official.readers import hdf5_split, json_split, parquet_split, scenes_of
from clevrhope.sources.parquet_files import check_parts
from clevrhope.sources.source import Source, SourceSplit, files_below

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
    paths = [path for path in files_below(root) if root.is_file() or path.suffix in _FORMS]
    files = sorted(file for path in paths if (file := official_file(path)) is not None)
    if not files:
        return None
    one_run = len({file.run for file in files}) == 1
    of_scenes = [path for path in paths if path.suffix == ".json" and "scenes" in path.name]
    of_features = [path for path in paths if path.name.endswith("_vg_frcnn.h5")]
    of_images = []
    notes = []
    read = {file.path for file in files}
    beside = {path.parent for path in read}
    others = [p.name for p in paths if p.suffix == ".parquet" and p not in read and p.parent in beside]
    if others:
        notes.append(f"left out, since their names say no split: {listed(others, most=5)}")
    forms = {path.suffix for path in read}
    for path in paths:
        if path.suffix == ".h5" and ".h5" in forms:
            try:
                with reading_hdf5(path, CHANNELS_FIRST):
                    of_images.append(path)
            except DatasetError as error:
                notes += [f"left out: {str(error).partition('; ')[0]}"] if "_ims" in path.name else []

    def opened(of_split: list[OfficialFile]) -> SourceSplit:
        form = max((file.path.suffix for file in of_split), key=_FORMS.index)
        chosen = [file for file in of_split if file.path.suffix == form]
        first, chosen_paths = chosen[0], [file.path for file in chosen]
        if root.is_dir():
            check_parts(chosen_paths)
        if form == ".parquet":
            return parquet_split(first, chosen_paths)
        if form == ".json":
            return json_split(first, vocabulary, _png_folder(root, first))
        vocab = read_vocab(_vocab_of(first.path, root))
        images, features = (about(first, each, one_run=one_run) for each in (of_images, of_features))
        return hdf5_split(first, vocab, images, features)

    groups = [list(group) for _, group in groupby(files, lambda file: (file.number, file.split))]
    # Footers of Parquet take long to parse; HDF5 is read by one thread alone.
    splits = list((map_in_threads if forms == {".parquet"} else map)(opened, groups))
    scenes = {}
    for split, (file, *_) in zip(splits, groups, strict=True):
        place = about(file, of_scenes, one_run=one_run)
        if place is not None and split.file.suffix != ".parquet":  # whose rows do not name their scenes
            scenes[split.pool] = scenes_of(place)
    if scenes:
        notes.insert(0, "rotations in published scenes are radians; they are imported as degrees")
    has_programs = not any(split.file.suffix == ".parquet" for split in splits)
    said = (root, tuple(splits), scenes, tuple(notes))
    return Source("official", *said, has_programs=has_programs, about=_settings(root))


def _settings(root: Path) -> dict[str, Any]:
    """The settings of questions that an export of this program says in source.json; none if it says none."""
    paths = [folder / "source.json" for folder in (root, *root.parents)[:3]]
    path = next((path for path in paths if path.is_file()), None)
    said = read_object(path, "what an export is of") if path else {}
    if path is None or said.get("format") != "official" or "strictness" not in said:
        return {}
    check_form(said, Fields({"strictness": one_of(get_args(Strictness))}), path)
    return {"settings": QuestionSettings.from_json(said).changed_settings()}


def _vocab_of(path: Path, root: Path) -> Path:
    """The vocabulary of a question file: vocab.json beside it, or in a folder above."""
    for folder in path.parents:
        if (folder / "vocab.json").is_file():
            return folder / "vocab.json"
        if folder == root:
            break
    raise DatasetError(f"{path}: no vocab.json beside it or above, which says what its numbers mean")


def _png_folder(root: Path, file: OfficialFile) -> Path | None:
    """The folder with a split's PNG files; None if there is none."""
    for name in BEGINS.get(file.split, ("atom", "minimal")):
        for above in (file.path.parent, file.path.parent.parent, root):
            folder = above / "images" / name
            if folder.is_dir() and any(folder.glob("*.png")):
                return folder
    return None
