"""A local file of weights in, tensors by name out; nothing is ever fetched, and no pickled code is run."""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors.torch import load_file
from torch import Tensor

from clevrhope.errors import ConfigError
from clevrhope.runtime.reading import reading


def read_weights(path: Path, *, what: str) -> dict[str, Tensor]:
    """The tensors of a safetensors file, or of one that torch saved, on the CPU.

    Args:
        path: of the file.
        what: says in errors which file belongs there.

    Raises:
        ConfigError: no such file, or none with tensors.
    """
    check_there(path, what=what)
    with reading(path, "a file of weights", error=ConfigError, remedy=f"expected {what}"):
        if path.suffix == ".safetensors":
            return load_file(path)
        _check_zip(path)
        try:
            raw = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
        except UnpicklingError as error:
            # What torch says of it is on how to run the code in the file all the same.
            raise ConfigError(
                f"{path}: not a file of tensors alone that torch saved; expected {what}"
            ) from error
    found = raw.get("state_dict", raw.get("model", raw)) if isinstance(raw, dict) else raw
    if not isinstance(found, dict) or not all(isinstance(each, Tensor) for each in found.values()):
        raise ConfigError(f"{path}: no mapping from names to tensors; expected {what}")
    return dict(found)


def check_there(path: Path, *, what: str) -> None:
    """Passes where a file is.

    Raises:
        ConfigError: there is none; says which file, `what`, belongs there.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; put {what} there (weights are never downloaded here)")


def _check_zip(path: Path) -> None:
    """Passes unless a zip file would take more memory than it has bytes; torch writes its own uncompressed.

    Raises:
        ConfigError: it would.
    """
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(each.file_size for each in archive.infolist())
        if n_bytes > path.stat().st_size:
            raise ConfigError(f"{path}: a compressed zip file, which torch does not write; expected tensors")


def load_into(module: torch.nn.Module, weights: Mapping[str, Tensor], *, path: Path, what: str) -> None:
    """Gives a module its weights; what the file has beyond them is left aside.

    Raises:
        ConfigError: one is missing, or of another shape.
    """
    wanted = module.state_dict()
    for name, there in wanted.items():
        if name.endswith("num_batches_tracked"):
            continue
        if name not in weights:
            raise ConfigError(f"{path}: no weight {name}; expected {what}")
        if weights[name].shape != there.shape:
            shapes = f"{tuple(weights[name].shape)}, not {tuple(there.shape)}"
            raise ConfigError(f"{path}: weight {name} has shape {shapes}; expected {what}")
    module.load_state_dict({name: weights.get(name, there) for name, there in wanted.items()})


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
