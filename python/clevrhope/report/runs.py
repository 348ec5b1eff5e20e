"""The files of predictions below some paths, and what is known of each."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clevrhope.dataset.folder_check import check_in_place
from clevrhope.errors import PredictionsError, command_line, printable
from clevrhope.metrics.predictions import said_of_all
from clevrhope.report.setups import (
    Setup,
    dataset_setup,
    differences_from_paper,
    distinct_names,
    json_text,
    setup_of,
)
from clevrhope.runtime.forms import COUNT, NAME, SEED, TEXT, Fields, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.splits.hops import name_order
from clevrhope.splits.palettes import MARK

RUN_FILE = "run.json"
"""The file that every run's folder has."""
REACHED_FILE = "reached.json"
"""In a run's folder: the checkpoints that `evaluate --reaching` chose."""
OTHER_HOPS = "other_hops"
"""Below it: predictions about other sub-datasets of its pair."""

LAST = "last"
"""Name of the weights at a run's end, which are reported."""

OWN_WAYS = ("predict", "predicted_programs")
"""Ways of answering from question and image alone, which reports do not name."""

_LATE = re.compile(r".+-\d{7}")
"""Names of weights from shortly before a run's end."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of predictions, and what is known of it.

    Attributes:
        path: The file, with `score`'s columns.
        dataset: The folder of its questions.
        model: Name of the model.
        origin: The run's folder, or the file itself.
        group: Short name of the way in which this run of the model was trained; "" if all runs agree.
        way: The way of answering, such as on true programs, for models with several; else "".
        checkpoint: The weights that answered: `LAST`, or the name of late ones from shortly before the end.
        after: The stage at whose end the weights were kept, or "best"; "" for last and late ones.
        train_size: Number of questions trained on, if the rows do not say; None if unknown.
        run: Name among other runs of its kind, such as the seed, if the rows do not say; None for none.
        note: What must be said wherever its results are shown.
        hop: The sub-dataset that a run was trained on; "" for a file.
        setup: Everything else that decides what a run learned, including its dataset if runs of the model on
            several datasets would share a cell; of a file, the instruction that the model was asked with.
        trained_on: What a run says about its dataset, as `clevrhope.dataset.folder.identity` gives it.
        paper_differences: How its training differs from that of the paper's model; "" if it does not.
    """

    path: Path
    dataset: Path
    model: str
    origin: Path
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
    paper_differences: str = ""

    @property
    def name(self) -> str:
        """The model's name, with its group if there are several."""
        return f"{self.model} ({self.group})" if self.group else self.model

    @property
    def is_last(self) -> bool:
        """Whether the weights are those at the run's end."""
        return self.checkpoint == LAST and not self.after

    @property
    def paper_model(self) -> str:
        """The model of the paper to compare with, if it is in the paper; "" for none."""
        return "" if self.way or self.after else self.model


def find_sources(
    paths: Sequence[str | Path], *, model: str | None = None, dataset: Path | None = None
) -> tuple[list[Source], list[str]]:
    """The files of predictions below some paths, and a sentence for each run that cannot be used.

    A path is a run's folder, a folder with runs below it, or a file of predictions (`NAME=FILE` names its
    model). Runs of a model that were trained in different ways get different names. Each file occurs once.

    Args:
        paths: At least one path.
        model: Name of a file's model, if `NAME=` does not give it.
        dataset: Folder of the dataset; needed for files, and replaces what runs say.

    Raises:
        PredictionsError: a path is none of these, or a file has no dataset.
    """
    found: list[Source] = []
    skipped: list[str] = []
    for path in paths:
        name, given = _named(path)
        if given.is_dir():
            is_run = (given / RUN_FILE).is_file()
            folders = [given] if is_run else sorted(path.parent for path in given.rglob(RUN_FILE))
            if not folders:
                raise PredictionsError(
                    f"{given}: no run there (no {RUN_FILE} in it or in a folder below); give folders of "
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
    return _grouped_by_setup([*once.values()]), skipped


def _grouped_by_setup(sources: Sequence[Source]) -> list[Source]:
    """The sources with names for a model's groups: runs trained, or files asked for, in the same way."""
    mixed = {model: _datasets_mix(sources, model) for model in {each.model for each in sources}}
    setups: dict[tuple[str, bool], dict[str, Setup]] = {}
    keys = []
    for each in sources:
        setup = {**each.setup}
        if each.hop and mixed[each.model]:
            setup |= dataset_setup(each.dataset.resolve(), each.trained_on)
        keys.append(json_text(setup))
        setups.setdefault((each.model, bool(each.hop)), {})[keys[-1]] = setup
    names = {
        (of, key): name
        for of, found in setups.items()
        for key, name in zip(found, distinct_names([*found.values()]), strict=True)
    }
    return [
        replace(each, setup=setups[of][key], group=names[of, key])
        for each, key in zip(sources, keys, strict=True)
        for of in [(each.model, bool(each.hop))]
    ]


def _datasets_mix(sources: Sequence[Source], model: str) -> bool:
    """Whether runs of a model on different datasets would share a cell.

    Runs on one sub-dataset do. So do runs on plain pairs, whose gaps are averaged over pairs, so their worlds
    and templates must not differ. Datasets that differ in their seed alone, or in their palette with it, are
    replicates, of which means are taken.
    """
    found: dict[tuple[str, ...], set[str]] = {}
    for each in sources:
        if each.model == model and each.hop:
            about = {**each.trained_on}
            seed, palette = about.pop("seed", None), about.pop("palette", None)
            found.setdefault((each.hop,), set()).add(json_text(about))
            found.setdefault((each.hop, str(seed)), set()).add(json_text(palette))
            if MARK not in each.hop:
                world = [each.trained_on.get(name) for name in ("world", "templates")]
                found.setdefault((), set()).add(json.dumps(world))
    return any(len(several) > 1 for several in found.values())


def _named(path: str | Path) -> tuple[str | None, Path]:
    """The name and file of `NAME=FILE`; an existing path has no name."""
    name, equals, rest = str(path).partition("=")
    if isinstance(path, Path) or not equals or not name or "/" in name or Path(path).exists():
        return None, Path(path)
    return printable(name), Path(rest)  # fonts draw no halves of surrogate pairs


def _source_of_file(path: Path, model: str | None, dataset: Path | None) -> Source:
    if dataset is None:
        raise PredictionsError(f"{path}: predictions do not name their dataset; name it with --dataset DIR")
    name = model or said_of_all(path, "model") or printable(path.stem)
    differences, instruction = differences_from_paper(name, None), said_of_all(path, "instruction")
    asked = {"instruction": instruction} if instruction else {}
    note = said_of_all(path, "note")
    return Source(path, dataset, name, path, note=note, setup=asked, paper_differences=differences)


def _sources_of_run(folder: Path, dataset: Path | None, name: str | None) -> Iterator[Source]:
    """The predictions of a run, in `predictions/<checkpoint>.<way>.jsonl`; `run.json` describes it.

    Raises:
        PredictionsError: the run is incomplete, or not evaluated yet.
    """
    remedy = "train the run again"
    run = read_object(folder / RUN_FILE, "a run of clevrhope train", error=PredictionsError, remedy=remedy)
    check_form(run, _RUN, folder / RUN_FILE, error=PredictionsError, remedy=remedy)
    places = (folder, *sorted((folder / OTHER_HOPS).glob("*/"), key=lambda each: name_order(each.name)))
    found = (path for place in places for path in sorted((place / "predictions").glob("[!.]*")))
    files = [path for path in found if path.suffix in (".jsonl", ".parquet", ".json") and path.is_file()]
    if not files:
        raise PredictionsError(
            f"{folder}: no predictions yet; make them with {command_line('evaluate', folder)}"
        )
    model = name or str(run["model"]).rpartition(":")[2]
    try:
        setup, trained_on = setup_of(run), dict(run["dataset"])
        paper_differences = differences_from_paper(model, run)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise PredictionsError(
            f"{folder / RUN_FILE}: settings, recipe, features or dataset are not as clevrhope train writes "
            f"them ({error}); {remedy}"
        ) from error
    stated = Path(run["places"]["dataset"])
    if not (stated.is_absolute() or stated.exists()):
        stated = folder / stated
    if dataset is None:
        check_in_place(stated, folder)
    for path in files:
        checkpoint, _, way = path.name.removesuffix(path.suffix).partition(".")
        known = checkpoint == LAST or _LATE.fullmatch(checkpoint)
        yield Source(
            path=path,
            dataset=dataset or stated,
            model=model,
            origin=folder.resolve(),
            way="" if way in OWN_WAYS else way,
            checkpoint=checkpoint if known else LAST,
            after="" if known else checkpoint,
            train_size=run["size"],
            run=str(run["seed"]),
            note=said_of_all(path, "note"),
            hop=str(run["hop"]),
            setup=setup,
            trained_on=trained_on,
            paper_differences=paper_differences,
        )


_RUN = Fields({"model": TEXT, "hop": NAME, "size": COUNT, "seed": SEED, "places": Fields({"dataset": TEXT})})
"""The part of a run.json that is read."""
