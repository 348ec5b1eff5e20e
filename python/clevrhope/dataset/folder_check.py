"""Explains what a folder is if it is not the expected dataset, and which folder to give instead."""

import os
from pathlib import Path

from clevrhope.errors import ConfigError, WrongFolderError, command_line, listed
from clevrhope.runtime.atomic import disk_errors

MANIFEST = "manifest.json"
"""The file that makes a folder a dataset."""

MAX_NAMED = 6
"""The most folders that a message names."""

_PUBLISHED = (
    *("*.parquet", "*/*.parquet", "*/*/*.parquet", "shards.json", "*-000000.tar"),
    *("held_out_CLEVR*/", "hdf5_held_out_CLEVR/", "hdf5_atom_ho_exist*/", "no_text_no_vis_*/"),
    *("CLEVR_ho_*.json", "val_atom_ho_exist_*"),
    *("questions/CLEVR_train_questions.json", "questions/CLEVR_val_questions.json"),
)
"""What a folder of published files has near its top, so that no other folder is searched through."""


def is_published(path: Path) -> bool:
    """Whether a path is a published file, or a folder that seems to hold some."""
    if path.is_file():
        return path.suffix in (".parquet", ".tar")
    return not is_dataset(path) and any(next(path.glob(pattern), None) for pattern in _PUBLISHED)


def is_dataset(folder: Path) -> bool:
    """Whether a folder is a dataset, finished or not."""
    return (folder / MANIFEST).is_file() and (folder / "vocab.json").is_file()


def check_outside(path: Path, *, option: str = "--out") -> None:
    """Checks that what a command writes is within no dataset.

    Raises:
        ConfigError: it is; names the dataset.
        DatasetError: a folder on the way there cannot be read.
    """
    with disk_errors(path, option=option):  # the current folder may not exist
        places = (path.resolve(), path.absolute())
    within = next((each for place in places for each in (place, *place.parents) if is_dataset(each)), None)
    if within is not None:
        raise ConfigError(
            f"{path}: is within the dataset {within}, whose manifest lists all of its files; choose "
            f"another place with {option}"
        )


def no_dataset(folder: Path) -> WrongFolderError:
    """The error for a folder without a manifest.

    Its sentence depends on what is at the path: nothing, a file, a run of `train`, an experiment, a folder
    that contains datasets, or anything else.
    """
    what, remedy = "a dataset of clevrhope", "give the folder that clevrhope build --out wrote"
    if not os.path.lexists(folder):
        return WrongFolderError(f"{folder}: no such folder; {remedy}")
    if not folder.is_dir():
        found = "a file" if folder.is_file() else "not a folder"
        if folder.is_symlink() and not folder.exists():
            found = "a link to nothing"
        return WrongFolderError(f"{folder}: {found}; expected the folder of a dataset")
    if (folder / "run.json").is_file():
        return WrongFolderError(
            f"{folder}: a run of clevrhope train, not {what}; clevrhope evaluate and report read runs"
        )
    if (folder / "done").is_dir() and (folder / "runs").is_dir():
        its = datasets_below(folder / "data")
        reading = command_line("report", folder / "runs")
        return WrongFolderError(
            f"{folder}: an experiment, not {what}; {reading} reads its results"
            + (f", and its datasets are {listed(its, most=MAX_NAMED)}" if its else "")
        )
    if (folder / "captions.json").is_file():
        return WrongFolderError(
            f"{folder}: captions, not {what}; only audit and score take it, and it was made from a dataset"
        )
    if is_published(folder):
        return WrongFolderError(
            f"{folder}: published files, not {what}; import them first: "
            + command_line("import", folder, "--out", "DIR")
        )
    if inside := datasets_below(folder):
        return WrongFolderError(
            f"{folder}: not {what}, but a folder that holds datasets; give one of them: "
            + listed(inside, most=MAX_NAMED)
        )
    return WrongFolderError(f"{folder}: not {what} (it has no {MANIFEST}); {remedy}")


def datasets_below(folder: Path) -> list[Path]:
    """The datasets one level below a folder, by name."""
    return sorted(path.parent for path in folder.glob(f"*/{MANIFEST}") if path.is_file())


def check_in_place(dataset: Path, run: Path) -> None:
    """Checks that the dataset is still where a run was trained on it.

    Raises:
        WrongFolderError: nothing is there; says which option names its new place.
    """
    if not os.path.lexists(dataset):
        raise WrongFolderError(
            f"{dataset}: no such folder, but {run} was trained on it; if it was moved, say where it is with "
            "--dataset DIR"
        )
