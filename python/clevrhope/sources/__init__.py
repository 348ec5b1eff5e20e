"""Published files as sources of a dataset: each form is a row that finds its files in a folder.

`pipeline.importing` writes what a source gives as a folder that every command takes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from clevrhope._core import Vocabulary
from clevrhope.errors import DatasetError, WrongFolderError, listed
from clevrhope.runtime.json_text import read_object
from clevrhope.sources.clevr import find_clevr
from clevrhope.sources.exports import find_parquet, find_webdataset
from clevrhope.sources.official import find_official
from clevrhope.sources.source import Source, files_below


@dataclass(frozen=True)
class SourceForm:
    """A published form of files.

    Attributes:
        what: what it is, for messages.
        find: the source in a folder or file; None if nothing there is of this form. Takes the values of
            programs, too.
    """

    what: str
    find: Callable[[Path, Vocabulary], Source | None]


FORMS: dict[str, SourceForm] = {
    "official": SourceForm(
        "the official CLEVR-HOPE (HOP00/train-*.parquet, no_text_no_vis_*_ques/train_*.h5 or "
        "CLEVR_ho_train_*.json)",
        find_official,
    ),
    "clevr": SourceForm("CLEVR (questions/CLEVR_train_questions.json)", find_clevr),
    "parquet": SourceForm("an export of clevrhope (HOP/train-*-of-*.parquet)", find_parquet),
    "webdataset": SourceForm("an export of clevrhope in tar shards (HOP/train-*.tar)", find_webdataset),
}
"""The forms by name. A new form is a module and a row."""


def find_source(path: Path, vocabulary: Vocabulary, form: str | None = None) -> Source:
    """The source in a folder or file, of the first form that finds something.

    Raises:
        WrongFolderError: there is nothing of any form.
        DatasetError: a file has another form than it should, a split is there twice, or exports have several
            forms.
    """
    if not path.exists():
        raise WrongFolderError(f"{path}: no such file or folder")
    below = files_below(path) if path.is_dir() else []
    said = [read_object(each, "what an export is of") for each in below if each.name == "source.json"]
    forms = {str(each.get("format")) for each in said} & FORMS.keys()
    if form is None and len(forms) > 1:
        raise DatasetError(
            f"{path}: exports in the forms {listed(sorted(forms), most=3)}; give the folder of one"
        )
    rows = {name: row for name, row in FORMS.items() if form in (None, name)}
    source = next(filter(None, (row.find(path, vocabulary) for row in rows.values())), None)
    if source is not None:
        first: dict[str, Path] = {}
        for split in source.splits:
            if first.setdefault(split.key, split.file) != split.file:
                raise DatasetError(
                    f"{split.file}: questions of {split.table} {split.split}, as {first[split.key]} has; "
                    "give the folder of one of them"
                )
        suffixes = (".parquet", ".tar", ".h5", "questions.json")
        others = sorted({each for each in below if each.name.endswith(suffixes)} - {*source.files})
        if not source.files or not others:
            return source
        left_out = listed([each.relative_to(path) for each in others], most=5)
        note = (
            f"the form {source.form} is read; left out, since they are of another form or their names say no "
            f"split: {left_out}"
        )
        return replace(source, notes=(*source.notes, note))
    known = "; ".join(f"{name}: {row.what}" for name, row in rows.items())
    there = listed([each.relative_to(path).as_posix() for each in below], most=4)
    holds = f", which holds {there}" if there else ""
    raise WrongFolderError(f"{path}: no published questions were found there{holds}; forms are {known}")
