"""Starts a run from the last weights of a finished run of the same model, whatever that was trained on."""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from clevrhope.dataset.vocab import Vocab, read_vocab, vocab_digest
from clevrhope.errors import ConfigError, DatasetError, shown
from clevrhope.features.weights import file_digest, read_weights
from clevrhope.models.base import SET_LAYERS
from clevrhope.splits.kinds import TRAIN
from clevrhope.training.checkpoints import check_weights
from clevrhope.training.recipe_settings import split_settings
from clevrhope.training.request import TrainRequest
from clevrhope.training.run_folder import RunFolder


def initial_binding(
    request: TrainRequest, folder: RunFolder, features: Mapping[str, Any]
) -> Mapping[str, Any]:
    """What run.json says of the run that a request starts from; nothing without `init_from`.

    Once the new run, in `folder`, has started, the other run need no longer exist.

    Raises:
        ConfigError: there is no finished run with the same model, settings and `features`.
    """
    if request.init_from is None:
        return {}
    source = RunFolder(request.init_from)
    if not (source.finished.exists() and source.checkpoint("last").exists()):
        if folder.is_started and "init" in folder.read():
            return {"init": folder.read()["init"]}
        raise ConfigError(f"--init-from: {request.init_from} is not the folder of a finished run")
    try:
        run = source.read()
    except DatasetError as error:
        raise ConfigError(f"--init-from: {error}") from error
    _check_same(request, run, features)
    learned = {
        name: run[name]
        for name in ("recipe", "covr", "drop_types", "init", "train_sha256")
        if run.get(name) is not None
    }
    return {
        "init": {
            "hop": run["hop"],
            "size": run["size"],
            "split": run.get("split", TRAIN.name),
            **({"covr": run["covr"]["predicate"]} if "covr" in run else {}),
            "learned": sha256(json.dumps(learned, sort_keys=True).encode()).hexdigest(),
            "sha256": file_digest(source.checkpoint("last")),
        }
    }


def initial_warnings(request: TrainRequest, init: Mapping[str, Any]) -> Iterator[str]:
    """Warnings that a run starts from one that may have seen what it holds out."""
    if not init:
        return
    source = init["init"]
    if source["hop"] != request.hop:
        yield (
            f"--init-from: {request.init_from} was trained on {source['hop']}, so it may know what "
            f"{request.hop} holds out"
        )
    if request.covr_split and source["split"] == request.split:
        part = (
            f"on {request.split} without {source['covr']}"
            if "covr" in source
            else f"on all of {request.split}"
        )
        yield (
            f"--init-from: {request.init_from} was trained {part}, and this run holds out "
            f"{request.covr_split}"
        )


def load_initial(model: nn.Module, root: Path, vocab: Vocab) -> None:
    """Gives a new model the last weights of a run, whose folder `initial_binding` has checked.

    Rows of words and answers are matched by name, as the two vocabularies may differ. Rows that the other run
    does not have keep their random values, and so do the layers for sets of images.

    Raises:
        ConfigError: the other model has weights of other names or shapes, or it has another vocabulary and
            the model does not say which words its rows stand for.
    """
    folder = RunFolder(root)
    weights = read_weights(folder.checkpoint("last"), what="the weights of a finished run")
    their_vocab = read_vocab(folder.vocab)
    their_rows = _rows(model, their_vocab)
    if not their_rows and vocab_digest(vocab) != vocab_digest(their_vocab):
        raise ConfigError(
            f"--init-from: {root} has another vocabulary, and the model has no vocab_rows, which say what "
            "the rows of its weights stand for"
        )
    new = model.state_dict()
    layers = {name: value for name, value in new.items() if name.startswith(SET_LAYERS)}
    same = {name: value for name, value in weights.items() if name in new or not name.startswith(SET_LAYERS)}
    weights = {**layers, **same}
    for name, rows in _rows(model, vocab).items():
        if name not in new:
            raise ConfigError(f"vocab_rows: the model has no weight {shown(name)}")
        if name in weights:
            weights[name] = _matched(new[name], rows, weights[name], their_rows[name])
    try:
        check_weights(folder.checkpoint("last"), weights, model)
    except DatasetError as error:
        raise ConfigError(f"--init-from: {error}; give both the same settings") from error
    model.load_state_dict(weights)


def _check_same(request: TrainRequest, run: Mapping[str, Any], features: Mapping[str, Any]) -> None:
    """Checks that two runs have the same model, with the same settings, on features of the same kind."""
    if run["model"] != request.model:
        raise ConfigError(
            f"--init-from: {request.init_from} is a run of {run['model']}, not of {request.model}"
        )
    own, _ = split_settings(request.settings)
    theirs, _ = split_settings(run["settings"])
    for name in sorted({*own, *theirs}):
        if own.get(name) != theirs.get(name):
            raise ConfigError(
                f"--init-from: {request.init_from} has {name} = {theirs.get(name, 'its default')}, and this "
                f"run {own.get(name, 'its default')}; give both the same settings"
            )
    for name in ("kind", "options", "weights"):
        if features.get(name) != run["features"].get(name):
            raise ConfigError(
                f"--init-from: {request.init_from} reads other features (their {name} differ); give both "
                "runs the same features"
            )


def _rows(model: nn.Module, vocab: Vocab) -> Mapping[str, Sequence[str]]:
    """Names of the weights with a row for each word or answer, and these; empty if the model does not say."""
    vocab_rows = getattr(model, "vocab_rows", None)
    return vocab_rows(vocab) if callable(vocab_rows) else {}


def _matched(own: Tensor, names: Sequence[str], other: Tensor, other_names: Sequence[str]) -> Tensor:
    """The rows of `other` in the order of `names`; those of `own` for names that `other` does not have."""
    places = {name: place for place, name in enumerate(other_names)}
    if other.shape[1:] != own.shape[1:] or len(other) != len(other_names):
        return other  # of another shape, which the caller reports
    rows = own.clone()
    for place, name in enumerate(names):
        if name in places:
            rows[place] = other[places[name]]
    return rows
