"""Weights that a new run starts from: those of a finished run of the same model, on whatever questions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from clevrhope.dataset.identity import vocab_digest
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError
from clevrhope.features.weights import file_digest, read_weights
from clevrhope.models.image_sets import SET_LAYERS
from clevrhope.splits.kinds import TRAIN
from clevrhope.training.request import TrainRequest
from clevrhope.training.run_folder import RunFolder

_CHECKPOINT = "last"


def initial_binding(request: TrainRequest) -> Mapping[str, Any]:
    """What run.json says of the run that a request starts from; nothing without one.

    Raises:
        ConfigError: there is no finished run of the same model.
    """
    if request.init_from is None:
        return {}
    folder = RunFolder(request.init_from)
    if not (folder.finished.exists() and folder.checkpoint(_CHECKPOINT).exists()):
        raise ConfigError(f"--init-from: {request.init_from} is not the folder of a finished run")
    run = folder.read()
    if run["model"] != request.model:
        raise ConfigError(
            f"--init-from: {request.init_from} is a run of {run['model']}, not of {request.model}"
        )
    return {
        "init": {
            "hop": run["hop"],
            "size": run["size"],
            "split": run.get("split", TRAIN.name),
            "sha256": file_digest(folder.checkpoint(_CHECKPOINT)),
        }
    }


def load_initial(model: nn.Module, root: Path, vocab: Vocab) -> None:
    """Gives a new model the last weights of a run.

    Rows of words and answers are matched by name, as the two vocabularies may differ. Those that the other
    run does not have keep the values that they were drawn with, and so do layers that join several images.

    Args:
        model: just built, with random weights.
        root: the other run's folder, which `initial_binding` has checked.
        vocab: of the new model.

    Raises:
        ConfigError: the other model has weights of other names or shapes, or another vocabulary, and the
            model does not say which rows belong to what.
    """
    folder = RunFolder(root)
    found = read_weights(folder.checkpoint(_CHECKPOINT), what="the weights of a finished run")
    their_vocab = read_vocab(folder.vocab)
    theirs = _rows(model, their_vocab)
    if not theirs and vocab_digest(vocab) != vocab_digest(their_vocab):
        raise ConfigError(
            f"--init-from: {root} has another vocabulary, and the model has no vocab_rows, which say what "
            "the rows of its weights stand for"
        )
    own = model.state_dict()
    lacking = [name for name in own if name not in found and not name.startswith(SET_LAYERS)]
    unknown = [name for name in found if name not in own]
    for name in (*lacking, *unknown):
        raise ConfigError(
            f"--init-from: {root} has other weights than the model, such as {name}; give both the same "
            "settings"
        )
    for name, rows in _rows(model, vocab).items():
        found[name] = _matched(own[name], rows, found[name], theirs[name])
    for name, value in found.items():
        if value.shape != own[name].shape:
            raise ConfigError(
                f"--init-from: {root} has the weight {name} in the shape {tuple(value.shape)}, and the model "
                f"in {tuple(own[name].shape)}; give both the same settings"
            )
    model.load_state_dict({**own, **found})


def _rows(model: nn.Module, vocab: Vocab) -> Mapping[str, Sequence[str]]:
    """The weights that have a row for each word or answer, with these; none of a model that does not say."""
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
