"""Starts LXMERT from its published weights, read from a local file. Nothing is downloaded.

The file is one of `unc-nlp/lxmert-base-uncased`, in the format of safetensors or of torch, or the original
`model_LXRT.pth`, whose names begin with "bert." instead of "lxmert."; only tensors are read. Its head scores
9,500 answers without naming them; `ANSWERS` has the positions of CLEVR's answers in the public list of
labels.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import nn

from clevrhope.errors import ConfigError
from clevrhope.features.weights import check_file_exists, load_into, read_weights
from clevrhope.models.image_sets import SET_LAYERS

ANSWERS: Mapping[str, int] = {
    "yes": 9471, "no": 5291,
    "0": 1, "1": 3, "2": 94, "3": 140, "4": 169, "5": 197, "6": 223, "7": 241, "8": 254, "9": 266, "10": 16,
    "gray": 3204, "red": 6906, "blue": 1285, "green": 3231, "brown": 1525, "purple": 6821, "yellow": 9433,
    "sphere": 7727, "cylinder": 2315,
    "rubber": 7174, "metal": 4942,
    "large": 4474, "small": 7603,
}  # fmt: skip
"""Answer -> its row in the published head; "cyan" and "cube" have none."""

N_PUBLISHED = 9500

_HEAD = "answer_head.logit_fc.3."
_WHAT = (
    "a file of unc-nlp/lxmert-base-uncased, model.safetensors or pytorch_model.bin, or the original "
    "model_LXRT.pth; none is downloaded"
)


def load_pretrained(model: nn.Module, path: str, answers: Sequence[str]) -> None:
    """Loads published weights into a model; answers that the published head lacks start from zeros.

    Layers for sets of images, which were never published, are left unchanged.

    Args:
        model: the model, whose weights have the published names.
        path: the file of weights.
        answers: the answers of the model's head, in order.

    Raises:
        ConfigError: there is no such file, or a weight is missing or has another shape.
    """
    check_file(path)
    weights = {_name(name): value for name, value in read_weights(Path(path), what=_WHAT).items()}
    for name in ("weight", "bias"):
        rows = weights.get(_HEAD + name)
        if rows is None:
            continue  # `load_into` reports it
        if rows.shape[:1] != (N_PUBLISHED,):
            found = tuple(rows.shape)
            raise ConfigError(f"{path}: weight {_HEAD}{name} has shape {found}; expected {N_PUBLISHED} rows")
        zero = torch.zeros_like(rows[0])
        chosen = [rows[ANSWERS[answer]] if answer in ANSWERS else zero for answer in answers]
        weights[_HEAD + name] = torch.stack(chosen)
    weights |= {name: value for name, value in model.state_dict().items() if name.startswith(SET_LAYERS)}
    load_into(model, weights, path=Path(path), what=_WHAT)


def _name(published: str) -> str:
    """A weight's name here; the original file names the body "bert", perhaps within a parallel module."""
    name = published.removeprefix("module.")
    return f"lxmert.{name.removeprefix('bert.')}" if name.startswith("bert.") else name


def check_file(path: str) -> None:
    """Checks that a file of weights is given and exists; raises ConfigError if not."""
    if not path:
        raise ConfigError(f"lxmert_p: no pretrained weights; set weights to {_WHAT}")
    check_file_exists(Path(path), what=_WHAT)
