"""Paths in: run folders, folders of them, files of predictions; what each file of predictions is of out."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clevrhope.errors import PredictionsError
from clevrhope.metrics.predictions import read_origin
from clevrhope.report.setups import Setup, names_apart, setup_of, told_of_dataset, unlike_paper
from clevrhope.runtime.forms import COUNT, NAME, SEED, TEXT, Fields, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.splits.palettes import MARK

RUN_FILE = "run.json"
"""What makes a folder one of a run."""

LAST = "last"
"""The weights that are reported: those at a run's end."""

OWN_WAYS = ("predict", "predicted_programs")
"""Ways in which a model answers by itself, from question and image; others have names of their own."""

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
        of: the run's folder, or the file itself.
        group: what tells the model's runs that were trained in this way from its others; "" where all are.
        way: how the model answered, of one that can in several ways, such as on true programs; "" for one.
        checkpoint: the weights that answered: `LAST`, or the name of late ones, kept shortly before the end.
        after: the stage at whose end they were kept, or "best"; "" of the last and late ones.
        train_size: questions trained on, where rows do not say; None for not known.
        run: what tells it from others of its kind where rows do not say, such as the seed; None for nothing.
        note: what has to be said with all that is made from it.
        hop: of a run, the sub-dataset that it was trained on.
        setup: of a run, what else decides what it learned, its dataset only where runs of the model on
            several meet; nothing of a file.
        trained_on: of a run, what it says of its dataset, as `clevrhope.dataset.identity` gives it.
        known: of that, what all runs that are looked at say.
        unlike_paper: how it was trained in another way than the paper's model of that name; "" for in none.
    """

    path: Path
    dataset: Path
    model: str
    of: Path
    group: str = ""
    way: str = ""
    checkpoint: str = LAST
    after: str = ""
    train_size: int | None = None
    run: str | None = None
    note: str = ""
    hop: str = ""
    setup: Setup = field(default_factory=dict)
    trained_on: Mapping[str, Any] = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)
    unlike_paper: str = ""

    @property
    def name(self) -> str:
        """The model's name, with what tells its runs apart where they differ."""
        return f"{self.model} ({self.group})" if self.group else self.model

    @property
    def paper_model(self) -> str:
        """The model whose numbers in the paper, if there are some, are those to compare with; "" for none."""
        return "" if self.way or self.after else self.model


def find_sources(
    paths: Sequence[str | Path], *, model: str | None = None, dataset: Path | None = None
) -> tuple[list[Source], list[str]]:
    """The files of predictions below some paths, and for each run that cannot be used a sentence why.

    A path is a run's folder; a folder with runs below it; or a file of predictions, `NAME=FILE` to say whose.
    Runs of a model that were trained in different ways get a name for each way; a file comes once.

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
    once = {(each.path.resolve(), each.model): each for each in found}
    return _told_apart([*once.values()]), skipped


def _told_apart(sources: Sequence[Source]) -> list[Source]:
    """Runs of one model that were trained in different ways as groups with names; the order stays."""
    sources = _comparable(sources)
    meet = {model: _datasets_meet(sources, model) for model in {each.model for each in sources}}
    runs = [
        replace(each, setup={**each.setup, **_dataset_told(each)}) if each.hop and meet[each.model] else each
        for each in sources
    ]
    setups: dict[str, dict[str, Setup]] = {}
    for each in runs:
        if each.hop:
            setups.setdefault(each.model, {})[_text(each.setup)] = each.setup
    names = {
        (model, text): name
        for model, found in setups.items()
        for text, name in zip(found, names_apart([*found.values()]), strict=True)
    }
    return [replace(each, group=names[each.model, _text(each.setup)]) if each.hop else each for each in runs]


def _comparable(sources: Sequence[Source]) -> list[Source]:
    """The sources, of their datasets only what all runs say: those of earlier versions say less."""
    said = [set(each.trained_on) for each in sources if each.trained_on]
    names = set.intersection(*said) if said else set()
    return [
        replace(each, known={name: value for name, value in each.trained_on.items() if name in names})
        for each in sources
    ]


def _datasets_meet(sources: Sequence[Source], model: str) -> bool:
    """Whether runs of a model on different datasets would come into one cell.

    That is so where they are on one sub-dataset; and of plain pairs, whose gaps are averaged over pairs,
    where their worlds or templates differ.
    """
    found: dict[str, set[str]] = {}
    for each in sources:
        if each.model == model and each.hop:
            found.setdefault(each.hop, set()).add(_text(_dataset_told(each)))
            if MARK not in each.hop:
                world = [each.known.get(name) for name in ("world", "templates")]
                found.setdefault("", set()).add(json.dumps(world))
    return any(len(several) > 1 for several in found.values())


def _text(setup: Setup) -> str:
    return json.dumps(setup, sort_keys=True, default=str)


def _dataset_told(source: Source) -> Setup:
    folder = source.dataset.resolve()
    return {"dataset": folder.name, **told_of_dataset(source.known), "dataset.folder": str(folder)}


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
    name = model or origin.model or path.stem
    return Source(path, dataset, name, path, note=origin.note, unlike_paper=unlike_paper(name, None))


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
    model = name or str(run["model"]).rpartition(":")[2]
    try:
        setup, trained_on, unlike = setup_of(run), dict(run.get("dataset") or {}), unlike_paper(model, run)
    except (AttributeError, TypeError, ValueError) as error:
        raise PredictionsError(
            f"{folder / RUN_FILE}: settings, recipe, features or dataset are not as clevrhope train writes "
            f"them ({error}); train the run again"
        ) from error
    for path in files:
        checkpoint, _, way = path.name.removesuffix(path.suffix).partition(".")
        known = checkpoint == LAST or _LATE.fullmatch(checkpoint)
        yield Source(
            path=path,
            dataset=dataset or _dataset(folder, run["places"]["dataset"]),
            model=model,
            of=folder.resolve(),
            way="" if way in OWN_WAYS else way,
            checkpoint=checkpoint if known else LAST,
            after="" if known else checkpoint,
            train_size=run["size"],
            run=str(run["seed"]),
            note=read_origin(path).note,
            hop=str(run["hop"]),
            setup=setup,
            trained_on=trained_on,
            unlike_paper=unlike,
        )


_RUN = Fields({"model": TEXT, "hop": NAME, "size": COUNT, "seed": SEED, "places": Fields({"dataset": TEXT})})
"""What is read of a run.json."""


def _read_run(path: Path) -> dict[str, Any]:
    run = read_object(path, "a run of clevrhope train", error=PredictionsError, remedy="train the run again")
    check_form(run, _RUN, path, error=PredictionsError, remedy="train the run again")
    return run


def _dataset(folder: Path, said: str) -> Path:
    """The dataset's folder, as the run says; where that is not there, from where the run's folder lies."""
    path = Path(said)
    return path if path.is_absolute() or path.exists() else folder / path
