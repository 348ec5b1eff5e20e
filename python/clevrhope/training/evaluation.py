"""A trained run in, its predictions on the test sets out, with the columns that `clevrhope score` reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from clevrhope.dataset.contents import find_hop, splits_in
from clevrhope.dataset.identity import identity, vocab_digest
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import difference, read_manifest
from clevrhope.dataset.split_reader import open_split
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError, DatasetError, shown
from clevrhope.features.device import chosen_device
from clevrhope.features.owner import dataset_manifest
from clevrhope.features.store import NOTHING, FeatureStore, open_store
from clevrhope.models.names import build_model, find_model
from clevrhope.runtime.json_text import as_json_values
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.settings import suggestion
from clevrhope.splits.hops import NONE
from clevrhope.splits.kinds import SPLITS
from clevrhope.training import recipes
from clevrhope.training.checkpoints import load_weights, read_about
from clevrhope.training.data import Questions, Split
from clevrhope.training.device import chosen_precision, computing
from clevrhope.training.executing import executed
from clevrhope.training.predicting import BATCH, NO_ANSWER, accuracy, predicted, written
from clevrhope.training.prediction_files import kept_lines, made_by_digest, write_answers
from clevrhope.training.renumbered import Renumbered
from clevrhope.training.run import described_features
from clevrhope.training.run_folder import RunFolder


@dataclass(frozen=True)
class Predicted:
    """One file of predictions.

    Attributes:
        path: of the file.
        checkpoint: "last", "best", a stage's name, or a late checkpoint's.
        way: how the model answered; "predict" where it knows one way only.
        percent: split -> accuracy, over all of its questions.
        unanswered: split -> questions that got no answer.
    """

    path: Path
    checkpoint: str
    way: str
    percent: Mapping[str, float]
    unanswered: Mapping[str, int]


def evaluate(
    run: Path | str,
    *,
    dataset: Path | None = None,
    features: str | None = None,
    checkpoints: Sequence[str] | None = None,
    splits: Sequence[str] | None = None,
    out: Path | None = None,
    device: str = "auto",
    batch_size: int = BATCH,
    progress: Progress | None = None,
) -> tuple[Predicted, ...]:
    """Answers the test sets with each checkpoint of a run, in each of its model's ways.

    Args:
        run: a folder that `train` wrote.
        dataset: a folder of the same world in place of the one trained on, which needs `out`; or that one
            where it lies now. Its templates may be others, CLOSURE's for one; words that the model does not
            know become <UNK>.
        features: a store, as in `TrainRequest`.
        checkpoints: names; None for all that are kept.
        splits: of the run's HOP; None for all but what was trained or tuned on. Predictions for its other
            splits stay in files that are there.
        out: a folder for the files; None for the run's own.
        device: as in `TrainRequest`.
        batch_size: questions at once.
        progress: shows how far it is.

    Raises:
        ConfigError: a checkpoint, split or device that there is not; another dataset whose predictions would
            pass for the run's own; or some splits, and a file of other weights that has the rest.
        DatasetError: no such run, or a dataset, features or vocabulary that it was not trained with.
    """
    folder = RunFolder(Path(run))
    said = folder.read()
    names = _chosen(folder, checkpoints)
    root = dataset or Path(said["places"]["dataset"])
    layout = Layout(root)
    store = _store(root, said, features)
    there = read_vocab(layout.vocab)
    vocab = read_vocab(folder.vocab) if folder.vocab.exists() else there
    for name in names:
        _check_own(folder.checkpoint(name), said, vocab)
    hop = find_hop(layout, said["hop"])
    every = _splits(layout, hop, None)
    chosen = _splits(layout, hop, splits)
    about = identity(dataset_manifest(layout), there, hop=hop, images=store.info.of_images)
    if about != said["dataset"]:
        _check_elsewhere(
            folder, layout, out, difference(said["dataset"], about, sides=("in training", "here"))
        )
    elif not _has_own_tests(said, layout, hop, every, images=store.info.of_images):
        _check_elsewhere(folder, layout, out, "other questions in its test sets")
    where = chosen_device(device)
    found = find_model(said["model"])
    config, _ = recipes.split_settings(said["settings"])
    with torch.random.fork_rng(devices=[]):
        model = build_model(said["model"], found, config, vocab)
    model.to(where)
    ways: Mapping[str, str] = getattr(model, "ways", {"predict": "predict"})
    program_ways: Mapping[str, str] = getattr(model, "program_ways", {})
    readers = [_reader(layout, hop, split, there, vocab) for split in chosen]
    sets = [Questions(reader, store, where) for reader in readers]
    notes = [said["features"]["note"], _unknown_words(readers)]
    rows = {
        "model": said["model"],
        "seed": said["seed"],
        "features": said["features"]["kind"],
        **({"note": "; ".join(filter(None, notes))} if any(notes) else {}),
    }
    precision = chosen_precision(None, said["precision"], where) if where.type == "cuda" else "float32"
    into = RunFolder(out) if out else folder
    made_by = {name: made_by_digest(folder.checkpoint(name), about) for name in names}
    # Before the first answer, as all of them take hours.
    kept = {
        (name, way): kept_lines(into.prediction(name, way), chosen, made_by[name])
        for name in names
        for way in (*ways, *program_ways)
        if set(chosen) < set(every)
    }
    made = []
    total = len(names) * (len(ways) + len(program_ways)) * sum(len(each) for each in sets)
    with (
        (progress or Silent()).stage("Predicting", total=total, unit="questions") as advance,
        computing(where, precision=precision, deterministic=said["deterministic"]),
    ):
        for name in names:
            load_weights(folder.checkpoint(name), model)
            for way, method in (*ways.items(), *program_ways.items()):
                answers = {
                    each.split: _answers(
                        model,
                        method,
                        each,
                        layout,
                        vocab,
                        executes=way in program_ways,
                        precision=precision,
                        batch_size=batch_size,
                        advance=advance,
                    )
                    for each in sets
                }
                path = into.prediction(name, way)
                columns = {"hop": hop, "run": said["seed"], "train_size": said["size"]}
                more = {**rows, "checkpoint": name, "way": way, "made_by": made_by[name]}
                write_answers(path, answers, vocab, columns, more, kept.get((name, way), ()))
                made.append(
                    Predicted(
                        path=path,
                        checkpoint=name,
                        way=way,
                        percent={each.split: accuracy(answers[each.split], each) for each in sets},
                        unanswered={split: int((each == NO_ANSWER).sum()) for split, each in answers.items()},
                    )
                )
    return tuple(made)


def _answers(
    model: nn.Module,
    method: str,
    questions: Questions,
    layout: Layout,
    vocab: Vocab,
    *,
    executes: bool,
    **how: Any,
) -> npt.NDArray[np.int64]:
    """(N,) a model's answers to a split: by its scores, or by executing the programs that it writes."""
    if not executes:
        return predicted(model, method, questions, n_answers=len(vocab.answers()), **how)
    return executed(
        written(model, method, questions, **how),
        questions.image_idxs,
        layout=layout,
        pool=questions.pool,
        vocab=vocab,
        attributes=dataset_manifest(layout).world["attributes"],
    )


_WITHOUT_WEIGHTS = "put back a copy, or train into another folder"


def _chosen(folder: RunFolder, wanted: Sequence[str] | None) -> tuple[str, ...]:
    known = folder.checkpoints()
    if not known:
        if folder.finished.exists():
            raise DatasetError(f"{folder.root}: its weights are gone; {_WITHOUT_WEIGHTS}")
        raise ConfigError(f"{folder.root}: no weights yet; run its clevrhope train again to go on")
    for name in wanted or ():
        if name not in known:
            raise ConfigError(
                f'{folder.root}: no checkpoint "{name}"{suggestion(name, known)}; there: {", ".join(known)}'
            )
    if wanted is None and "last" not in known:
        is_gone = folder.finished.exists()
        what = "its last weights are gone" if is_gone else "not finished, so there are no last weights"
        remedy = _WITHOUT_WEIGHTS if is_gone else "run its clevrhope train again"
        raise ConfigError(
            f"{folder.root}: {what}; {remedy}, or choose of these with --checkpoint: {', '.join(known)}"
        )
    return tuple(wanted or known)


def _splits(layout: Layout, hop: str, wanted: Sequence[str] | None) -> tuple[str, ...]:
    there = splits_in(layout, hop)
    try:
        return chosen_splits(there, hop, wanted)
    except ConfigError as error:
        raise ConfigError(f"{layout.root}: {error}") from error


def chosen_splits(there: Sequence[str], hop: str, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Those of a pair's splits that answers are asked for, or all that nothing was learned or chosen by.

    Raises:
        ConfigError: one that there is not, or that was learned from.
    """
    # Of `none`, val is one that `score` asks for.
    left_out = ("train",) if hop == NONE else ("train", "tune")
    known = tuple(split for split in there if SPLITS[split].role not in left_out)
    for name in wanted or ():
        if name not in known:
            raise ConfigError(
                f"no test set {shown(name)} of {hop}{suggestion(name, known)}; there: {', '.join(known)}"
            )
    return tuple(wanted or known)


def _store(root: Path, said: Mapping[str, Any], name: str | None) -> FeatureStore:
    trained_on = said["features"]
    is_read = trained_on["kind"] != NOTHING
    if name is None and is_read and root.resolve() == Path(said["places"]["dataset"]):
        name = said["places"]["features"]
    store = open_store(root, kind=trained_on["kind"], name=name)
    here = as_json_values(described_features(store))
    if here != trained_on:
        raise DatasetError(
            f"{store.folder}: other features than the run was trained on ({difference(trained_on, here)}); "
            "make those, or say which with --features"
        )
    return store


def _reader(layout: Layout, hop: str, split: str, there: Vocab, vocab: Vocab) -> Split:
    path = layout.questions_h5(hop, split)
    reader = open_split(layout, hop, split, vocab=there)
    return reader if there == vocab else Renumbered(reader, there=there, here=vocab, place=str(path))


def _unknown_words(readers: Sequence[Split]) -> str:
    """What is to be said of words that the model's vocabulary lacks; "" where it has them all."""
    found = [reader.unknown for reader in readers if isinstance(reader, Renumbered)]
    words = sorted({word for each in found for word in each})
    if not words:
        return ""
    return f"{len(words)} words of the questions were read as <UNK>: {', '.join(words)}"


def _check_own(path: Path, said: Mapping[str, Any], vocab: Vocab) -> None:
    about = read_about(path)
    wanted = {**{name: said[name] for name in ("model", "hop", "size", "seed")}, "vocab": vocab_digest(vocab)}
    for name, value in wanted.items():
        if about.get(name, value) != value:
            raise DatasetError(
                f"{path}: a checkpoint of another run ({name} is {shown(about[name])}, not {shown(value)}); "
                "move it elsewhere, or put the run's own back"
            )


def _has_own_tests(
    said: Mapping[str, Any], layout: Layout, hop: str, splits: Sequence[str], *, images: bool
) -> bool:
    """Whether test sets of the dataset that a run was trained on, or of a copy of it, are that one's.

    Where that one is no longer in its place, the copy is all that there is.
    """
    trained_on = Layout(Path(said["places"]["dataset"]))
    there = read_manifest(trained_on.manifest)
    if there is None or not trained_on.vocab.exists() or layout.root.resolve() == trained_on.root:
        return True
    if identity(there, read_vocab(trained_on.vocab), hop=hop, images=images) != said["dataset"]:
        return True
    here = dataset_manifest(layout)
    names = [layout.relative(layout.questions_h5(hop, split)) for split in splits]
    return all(name in here.files and here.files[name] == there.files.get(name) for name in names)


def _check_elsewhere(folder: RunFolder, layout: Layout, out: Path | None, differs: str) -> None:
    """Passes where predictions for another dataset go to a folder that reports do not take for a run's."""
    if out is None or RunFolder(out).run.exists():
        raise ConfigError(
            f"{layout.root}: another dataset than {folder.root} was trained on ({differs}), so its "
            f"predictions are none of {out or folder.root}; choose a folder of their own with --out"
        )
