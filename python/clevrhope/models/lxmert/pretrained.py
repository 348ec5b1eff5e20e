"""A local file of LXMERT's published weights in, a model that starts from them out. Nothing is downloaded.

The file is what `unc-nlp/lxmert-base-uncased` holds: safetensors, or torch's format, of which nothing but
tensors is read. Its head has 9,500 answers, whose names are not in it; `ANSWERS` says where in the public
list of labels those of CLEVR stand.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from clevrhope.errors import ConfigError
from clevrhope.features.weights import check_there, read_weights

ANSWERS: Mapping[str, int] = {
    "yes": 9471, "no": 5291,
    "0": 1, "1": 3, "2": 94, "3": 140, "4": 169, "5": 197, "6": 223, "7": 241, "8": 254, "9": 266, "10": 16,
    "gray": 3204, "red": 6906, "blue": 1285, "green": 3231, "brown": 1525, "purple": 6821, "yellow": 9433,
    "sphere": 7727, "cylinder": 2315,
    "rubber": 7174, "metal": 4942,
    "large": 4474, "small": 7603,
}  # fmt: skip
"""Answer -> its place among the published head's; "cyan" and "cube" are not there."""

N_PUBLISHED = 9500
_HEAD = "answer_head.logit_fc.3."
_WHAT = "a file of unc-nlp/lxmert-base-uncased, model.safetensors or pytorch_model.bin; none is downloaded"


def load_pretrained(model: nn.Module, path: str, answers: Sequence[str]) -> None:
    """Starts a model from published weights; answers that these do not know start from zeros.

    Args:
        model: with the published names.
        path: of the file.
        answers: of the model's head, in its order.

    Raises:
        ConfigError: no such file, not such weights, or weights of other shapes; says which and what is right.
    """
    check_file(path)
    published = read_weights(Path(path), what=_WHAT)
    own = model.state_dict()
    for name, weight in own.items():
        if name not in published:
            raise ConfigError(f'{path}: no weights "{name}"; expected {_WHAT}')
        expected = [N_PUBLISHED, *weight.shape[1:]] if name.startswith(_HEAD) else list(weight.shape)
        if list(published[name].shape) != expected:
            found = list(published[name].shape)
            raise ConfigError(f'{path}: weights "{name}" have the shape {found}; expected {expected}')
    taken = {
        name: _chosen(published[name], answers) if name.startswith(_HEAD) else published[name] for name in own
    }
    model.load_state_dict(taken)


def check_file(path: str) -> None:
    """Passes where a file of weights is named, and is there.

    Raises:
        ConfigError: it is not.
    """
    if not path:
        raise ConfigError(f"lxmert_p: no pretrained weights; set weights to {_WHAT}")
    check_there(Path(path), what=_WHAT)


def _chosen(rows: Tensor, answers: Sequence[str]) -> Tensor:
    """The rows of some answers."""
    zero = torch.zeros_like(rows[0])
    return torch.stack([rows[ANSWERS[name]] if name in ANSWERS else zero for name in answers])
