"""Reads weights from local files. Nothing is ever downloaded, and no pickled code is run."""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors.torch import load_file
from torch import Tensor

from clevrhope.errors import ConfigError, MissingFileError
from clevrhope.runtime.reading import reading


def read_weights(path: Path, *, what: str) -> dict[str, Tensor]:
    """Reads the tensors, by name, of a safetensors file or one that torch saved, to the CPU.

    Args:
        path: the file.
        what: names the expected file in messages.

    Raises:
        ConfigError: there is no such file, or it does not hold tensors.
    """
    check_file_exists(path, what=what)
    with reading(path, "a file of weights", error=ConfigError, remedy=f"expected {what}"):
        if path.suffix == ".safetensors":
            return load_file(path)
        is_zip = zipfile.is_zipfile(path)
        if is_zip:
            # torch writes zip files uncompressed; a compressed one could expand to any amount of memory.
            with zipfile.ZipFile(path) as archive:
                n_bytes = sum(each.file_size for each in archive.infolist())
            if n_bytes > path.stat().st_size:
                raise ConfigError(
                    f"{path}: a compressed zip file, which torch does not write; expected tensors"
                )
        try:
            raw = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zip)
        except UnpicklingError as error:
            # torch's own message explains how to run the code in the file anyway.
            raise ConfigError(f"{path}: not a torch file that holds only tensors; expected {what}") from error
    found = raw.get("state_dict", raw.get("model", raw)) if isinstance(raw, dict) else raw
    if not isinstance(found, dict) or not all(isinstance(each, Tensor) for each in found.values()):
        raise ConfigError(f"{path}: not a mapping from names to tensors; expected {what}")
    return dict(found)


def check_file_exists(path: Path, *, what: str) -> None:
    """Checks that a file of weights exists; if not, raises a MissingFileError that says which one, `what`."""
    if not path.is_file():
        raise MissingFileError(f"{path}: no such file; put {what} there (weights are never downloaded here)")


def load_into(module: torch.nn.Module, weights: Mapping[str, Tensor], *, path: Path, what: str) -> None:
    """Loads weights into a module; ignores weights that the module does not have.

    Raises:
        ConfigError: a weight is missing or has another shape.
    """
    own = module.state_dict()
    for name, value in own.items():
        if name.endswith("num_batches_tracked"):
            continue
        if name not in weights:
            raise ConfigError(f"{path}: no weight {name}; expected {what}")
        if weights[name].shape != value.shape:
            shapes = f"{tuple(weights[name].shape)}, not {tuple(value.shape)}"
            raise ConfigError(f"{path}: weight {name} has shape {shapes}; expected {what}")
    module.load_state_dict({name: weights.get(name, value) for name, value in own.items()})


def weights_digest(module: torch.nn.Module) -> str:
    """The SHA-256 of a module's weights, in hexadecimal: of the name, dtype, shape and bytes of each."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
