"""Paths in: run folders, folders of them, files of predictions; what each file of predictions is of out."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.errors import PredictionsError
from clevrhope.metrics.write import read_origin

RUN_FILE = "run.json"
"""What makes a folder one of a run."""

LAST = "last"
"""The weights that are reported: those at a run's end."""

OWN_WAYS = ("predict", "predicted_programs")
"""Ways in which a model answers by itself, from question and picture; others have names of their own."""

_LATE = re.compile(r".+-\d{7}")
"""Names of weights that were kept shortly before a run's end."""

_SUFFIXES = (".jsonl", ".parquet", ".json")


@dataclass(frozen=True, slots=True)
class Source:
    """A file of predictions and what is known of it.

    Attributes:
        path: the file, in `score`'s columns.
        dataset: the folder that its questions are from.
        model: the model's name.
        way: how the model answered, of one that can in several ways, such as on true programs; "" for one.
        checkpoint: the weights that answered: `LAST`, or the name of late ones, kept shortly before the end.
        after: the stage at whose end they were kept, or "best"; "" of the last and late ones.
        train_size: questions trained on, where rows do not say; None for not known.
        run: what tells it from others of its kind where rows do not say, such as the seed; None for nothing.
        note: what has to be said with all that is made from it.
    """

    path: Path
    dataset: Path
    model: str
    way: str = ""
    checkpoint: str = LAST
    after: str = ""
    train_size: int | None = None
    run: str | None = None
    note: str = ""


def find_sources(
    paths: Sequence[str | Path], *, model: str | None = None, dataset: Path | None = None
) -> tuple[list[Source], list[str]]:
    """The files of predictions below some paths, and for each run that cannot be used a sentence why.

    A path is a run's folder; a folder with runs below it; or a file of predictions, `NAME=FILE` to say whose.

    Args:
        paths: one or more.
        model: the name of files' models, where neither `NAME=` nor their rows' column `model` says it.
        dataset: the dataset's folder; needed for files, and taken for runs in place of what they say.

    Raises:
        PredictionsError: a path that is none of these, or a file without a dataset.
    """
    found: list[Source] = []
    skipped: list[str] = []
    for path in paths:
        name, given = _named(path)
        if given.is_dir():
            folders = [given] if (given / RUN_FILE).is_file() else _run_folders(given)
            if not folders:
                raise PredictionsError(
                    f"{given}: no run there (no {RUN_FILE}, nor one in a folder below); give folders of "
                    "clevrhope train, or files of predictions"
                )
            for folder in folders:
                try:
                    found += _sources_of_run(folder, dataset, name)
                except PredictionsError as error:
                    skipped.append(str(error))
        elif given.is_file():
            found.append(_source_of_file(given, name or model, dataset))
        else:
            raise PredictionsError(f"{given}: no such file or folder; give runs, or files of predictions")
    return found, skipped


def _named(path: str | Path) -> tuple[str | None, Path]:
    """`NAME=FILE` apart; a path that is there as it is has no name."""
    name, equals, rest = str(path).partition("=")
    if isinstance(path, Path) or not equals or not name or "/" in name or Path(path).exists():
        return None, Path(path)
    return name, Path(rest)


def _run_folders(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.rglob(RUN_FILE))


def _source_of_file(path: Path, model: str | None, dataset: Path | None) -> Source:
    if dataset is None:
        raise PredictionsError(f"{path}: predictions do not say of which dataset; name it with --dataset DIR")
    origin = read_origin(path)
    return Source(path, dataset, model or origin.model or path.stem, note=origin.note)


def _sources_of_run(folder: Path, dataset: Path | None, name: str | None) -> Iterator[Source]:
    """The predictions of a run, as `clevrhope train` and `evaluate` leave it.

    That is `run.json`, and `predictions/<checkpoint>.<way>.jsonl` in `score`'s columns.

    Raises:
        PredictionsError: half-written, or not evaluated yet.
    """
    run = _read_run(folder / RUN_FILE)
    files = sorted(
        path for path in (folder / "predictions").glob("[!.]*") if path.suffix in _SUFFIXES and path.is_file()
    )
    if not files:
        raise PredictionsError(f"{folder}: no predictions yet; clevrhope evaluate {folder}")
    for path in files:
        checkpoint, _, way = path.name.removesuffix(path.suffix).partition(".")
        known = checkpoint == LAST or _LATE.fullmatch(checkpoint)
        yield Source(
            path=path,
            dataset=dataset or _dataset(folder, run["places"]["dataset"]),
            model=name or str(run["model"]).rpartition(":")[2],
            way="" if way in OWN_WAYS else way,
            checkpoint=checkpoint if known else LAST,
            after="" if known else checkpoint,
            train_size=run["size"],
            run=str(run["seed"]),
            note=read_origin(path).note,
        )


def _read_run(path: Path) -> dict[str, Any]:
    try:
        run = json.loads(path.read_bytes())
        lacking = [key for key in ("model", "hop", "size", "seed", "places") if key not in run]
    except (OSError, ValueError, TypeError) as error:
        raise PredictionsError(f"{path}: cannot be read ({error}); train the run again") from error
    if lacking:
        raise PredictionsError(f'{path}: no "{lacking[0]}"; train the run again')
    return dict(run)


def _dataset(folder: Path, said: str) -> Path:
    """The dataset's folder, as the run says; where that is not there, from where the run's folder lies."""
    path = Path(said)
    return path if path.is_absolute() or path.exists() else folder / path
