"""Weights, optimiser and generators in, whole files out, and back: safetensors and JSON, never pickles."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from clevrhope.atomic import disk_errors, sync_folder, whole_file, write_whole
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.training.order import Position

_METADATA = "clevrhope"
_DIGITS = 9


@dataclass(frozen=True)
class Progressed:
    """The scalars of a run's state.

    Attributes:
        stage: number of the stage that is under way; as many as there are stages when all is done.
        update: updates of that stage that are made.
        position: of the next batch.
        log_bytes: length of the log.
        best: accuracy of the best weights on the tune set so far, per cent; None before there are some.
    """

    stage: int = 0
    update: int = 0
    position: Position = field(default_factory=Position)
    log_bytes: int = 0
    best: float | None = None
    losses: float = 0.0
    """Sum since the last line of the log,"""
    n_losses: int = 0
    """of so many updates."""


def save_state(
    folder: Path, done: Progressed, total: int, model: nn.Module, optimiser: torch.optim.Optimizer | None
) -> None:
    """Writes a state under the number of updates made in all, and then removes the older ones.

    Raises:
        DatasetError: no space left, or no permission.
    """
    name = f"{total:0{_DIGITS}d}"
    tensors = {f"model.{key}": value for key, value in _tensors_of(model).items()}
    if optimiser is not None:
        for number, state in optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{key}": value for key, value in state.items()}
    tensors["generator.cpu"] = torch.get_rng_state()
    gpu = _gpu_of(model)
    if gpu is not None:
        tensors["generator.cuda"] = torch.cuda.get_rng_state(gpu)
    work = folder / f".{name}.work"
    with disk_errors(work):
        if work.exists():
            shutil.rmtree(work)
        work.mkdir(parents=True)
        with whole_file(work / "tensors.safetensors") as temporary:
            save_file(_apart(tensors), temporary)
        write_whole(work / "state.json", (json.dumps(asdict(done), indent=2) + "\n").encode())
        if (folder / name).exists():
            # A state of the same update is the same but for the log's length, which a stage's end may add to.
            shutil.rmtree(folder / name)
        work.rename(folder / name)
        sync_folder(folder)
        for path in _others(folder, name):
            shutil.rmtree(path)


def read_state(folder: Path) -> tuple[Progressed, dict[str, Tensor]] | None:
    """The newest state, or None where there is none.

    Raises:
        DatasetError: it is damaged.
    """
    names = sorted(path.name for path in folder.glob("[!.]*")) if folder.is_dir() else []
    if not names:
        return None
    path = folder / names[-1]
    try:
        raw = json.loads((path / "state.json").read_text("utf-8"))
        done = Progressed(**{**raw, "position": Position(**raw["position"])})
        return done, load_file(path / "tensors.safetensors")
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise DatasetError(
            f"{path}: no whole state of a run ({error}); remove {folder} to begin the run anew"
        ) from error


def load_state(
    tensors: Mapping[str, Tensor], model: nn.Module, optimiser: torch.optim.Optimizer | None
) -> None:
    """Gives model, optimiser and generators what they had."""
    model.load_state_dict(_below("model", tensors))
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in _below("optimiser", tensors).items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = value
    if optimiser is not None:
        optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
    torch.set_rng_state(tensors["generator.cpu"])
    gpu = _gpu_of(model)
    if "generator.cuda" in tensors and gpu is not None:
        torch.cuda.set_rng_state(tensors["generator.cuda"], gpu)


def save_weights(path: Path, model: nn.Module, about: Mapping[str, Any]) -> None:
    """Writes a checkpoint for evaluation, what it is of in its metadata; errors as `save_state`."""
    with whole_file(path) as temporary:
        save_file(_apart(_tensors_of(model)), temporary, metadata={_METADATA: json.dumps(about)})


def read_about(path: Path) -> dict[str, Any]:
    """What a checkpoint is of.

    Raises:
        DatasetError: no checkpoint.
    """
    try:
        with safe_open(path, framework="pt") as file:
            return dict(json.loads((file.metadata() or {})[_METADATA]))
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise DatasetError(f"{path}: no checkpoint of clevrhope train ({error})") from error


def load_weights(path: Path, model: nn.Module) -> None:
    """Gives a model the weights of a checkpoint.

    Raises:
        DatasetError: no checkpoint, or one of another model.
    """
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise DatasetError(f"{path}: no whole checkpoint ({error})") from error
    wanted = model.state_dict()
    for name in (*wanted, *tensors):
        if name not in tensors or name not in wanted:
            where = "the model has, and the checkpoint not" if name in wanted else "the model does not have"
            raise DatasetError(f"{path}: of another model: {name} is what {where}")
        if tensors[name].shape != wanted[name].shape:
            shapes = f"{tuple(tensors[name].shape)} there, {tuple(wanted[name].shape)} in the model"
            raise DatasetError(f"{path}: of another model: {name} is {shapes}")
    model.load_state_dict(tensors)


def _gpu_of(model: nn.Module) -> torch.device | None:
    """The GPU that the model is on, which need not be the one that torch takes first."""
    return next((each.device for each in model.parameters() if each.is_cuda), None)


def _tensors_of(model: nn.Module) -> dict[str, Tensor]:
    found = model.state_dict()
    for name, value in found.items():
        if not isinstance(value, Tensor):
            raise ConfigError(f"the model's state {name} is no tensor, so that no checkpoint can hold it")
    return found


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors that share no memory, as safetensors wants them: tied weights are written twice."""
    seen: set[int] = set()
    made = {}
    for name, value in tensors.items():
        value = value.detach().contiguous()
        place = value.untyped_storage().data_ptr()
        made[name] = value.clone() if place in seen else value
        seen.add(place)
    return made


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name[len(prefix) + 1 :]: value for name, value in tensors.items() if name.startswith(f"{prefix}.")
    }


def _others(folder: Path, name: str) -> list[Path]:
    return [path for path in folder.iterdir() if path.name != name]
