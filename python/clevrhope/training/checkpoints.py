"""Checkpoints and resumable states of a run, as safetensors and JSON; never pickles."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime import atomic
from clevrhope.runtime.forms import COUNT, NAME, NUMBER, SEED, SHA256, TEXT, Fields, Nullable, check_form
from clevrhope.runtime.json_text import parse_json, read_object
from clevrhope.runtime.reading import check_regular, reading

_METADATA = "clevrhope"
_DIGITS = 9
_NAME = "[0-9]" * _DIGITS

OptimiserState = Mapping[int, Mapping[str, Tensor]]
"""Index of a weight -> name -> tensor, as in the state_dict of torch's optimisers."""


@dataclass
class RunProgress:
    """The progress of a run: the scalars of its state.

    Attributes:
        stage: index of the current stage; the number of stages when all are done.
        update: updates made in that stage.
        epoch: the epoch at which that stage began; every stage begins a new one.
        log_bytes: length of the log in bytes.
        best: accuracy in per cent of the best weights on the tune set so far; None before the first.
        losses: sum of the losses since the last line of the log.
        n_losses: number of these losses.
        stale: evaluations on the tune set since the best one.
    """

    stage: int = 0
    update: int = 0
    epoch: int = 0
    log_bytes: int = 0
    best: float | None = None
    losses: float = 0.0
    n_losses: int = 0
    stale: int = 0


def save_state(
    folder: Path,
    done: RunProgress,
    total: int,
    model: nn.Module,
    optimiser: OptimiserState | None,
    averaged: nn.Module | None = None,
    generator: torch.Generator | None = None,
) -> None:
    """Writes a state, named by the total number of updates, into the folder of a run's states.

    Args:
        folder: the folder; its other states are left as they are.
        done: the scalars of the state.
        total: updates made in all stages.
        model: the model.
        optimiser: the optimiser's state; None between stages.
        averaged: the moving average of the model's weights, if there is one.
        generator: the run's random numbers on the model's device; None for torch's own.

    Raises:
        DatasetError: no space left, or no permission.
    """
    name = state_name(total)
    tensors = {f"model.{key}": value for key, value in _tensors_of(model).items()}
    if averaged is not None:
        tensors |= {f"averaged.{key}": value for key, value in _tensors_of(averaged).items()}
    if optimiser is not None:
        for number, state in optimiser.items():
            tensors |= {f"optimiser.{number}.{key}": value for key, value in state.items()}
    tensors["generator.cpu"] = torch.get_rng_state()
    gpu = _gpu_of(model)
    if gpu is not None:
        tensors["generator.cuda"] = torch.cuda.get_rng_state(gpu)
    if generator is not None:
        tensors[f"generator.{generator.device.type}"] = generator.get_state()
    work = folder / f"{atomic.OWN_PREFIX}{name}.work"
    with atomic.disk_errors(work):
        _state_folder(work).remove()
        work.mkdir(parents=True)
        with atomic.whole_file(work / "tensors.safetensors") as temporary:
            _write_tensors(temporary, tensors)
        content = {**asdict(done), "sha256": atomic.record(work / "tensors.safetensors").sha256}
        atomic.write_whole(work / "state.json", (json.dumps(content, indent=2) + "\n").encode())
        # An existing state of the same update differs only in the log's length: a stage's end may add lines.
        _state_folder(folder / name).remove()
        work.rename(folder / name)
        atomic.sync_folder(folder)


def state_name(total: int) -> str:
    """The name of a state after a number of updates in all stages."""
    return f"{total:0{_DIGITS}d}"


_STATE_FILES = re.compile(r"tensors\.safetensors|state\.json")


def _state_folder(path: Path) -> atomic.WorkingFolder:
    return atomic.WorkingFolder(path, _STATE_FILES)


def states_in(folder: Path) -> list[Path]:
    """The folders of a run's states, the newest last."""
    return [path for path in sorted(folder.glob(_NAME)) if path.is_dir()]


def _all_states(folder: Path) -> list[Path]:
    """Every path with the name of a state, complete or partly written, whatever it is."""
    return [*sorted(folder.glob(_NAME)), *sorted(folder.glob(f"{atomic.OWN_PREFIX}{_NAME}.work"))]


def check_states(folder: Path) -> None:
    """Checks that the states hold no files that removing them would delete by mistake.

    Raises:
        DatasetError: there is such a file; the message names it.
    """
    for path in _all_states(folder):
        _state_folder(path).check()


def remove_states(folder: Path, *, but: str = "") -> None:
    """Removes all states of a run but one; without `but` it removes the folder too, if it is then empty."""
    for path in _all_states(folder):
        if path.name != but:
            _state_folder(path).remove()
    if not but:
        with suppress(OSError):
            folder.rmdir()


def read_state(folder: Path, name: str | None = None) -> tuple[RunProgress, dict[str, Tensor]] | None:
    """The state with this name, by default the newest; None if there are no states.

    Raises:
        DatasetError: the state is damaged.
    """
    states = states_in(folder)
    if not states:
        return None
    path = states[-1] if name is None else folder / name
    what, remedy = "a whole state of a run", f"remove {folder} to start the run again"
    raw = read_object(path / "state.json", what, remedy=remedy)
    check_form(raw, _STATE, path / "state.json")
    done = RunProgress(**{each.name: raw[each.name] for each in fields(RunProgress) if each.name in raw})
    tensors = path / "tensors.safetensors"
    with reading(tensors, what, remedy=remedy):
        check_regular(tensors)
        if atomic.record(tensors).sha256 != raw["sha256"]:
            raise DatasetError(f"{tensors}: not {what} (not the bytes that state.json names); {remedy}")
    return done, read_tensors(tensors, what, remedy=remedy)


_STATE = Fields(
    {
        **dict.fromkeys(("stage", "update", "epoch", "log_bytes", "n_losses"), COUNT),
        "best": Nullable(NUMBER),
        "losses": NUMBER,
        "sha256": SHA256,
    },
    {"stale": COUNT},
)
"""The form of state.json."""


def load_state(
    folder: Path,
    tensors: Mapping[str, Tensor],
    model: nn.Module,
    averaged: nn.Module | None = None,
    generator: torch.Generator | None = None,
) -> OptimiserState:
    """Restores the model, its average and random numbers from a state; arguments as of `save_state`.

    Returns:
        The optimiser's state; empty between stages.

    Raises:
        DatasetError: the names or shapes of the state's weights are not the model's.
    """
    weights = _below("model", tensors)
    check_weights(folder, weights, model)
    model.load_state_dict(weights)
    if averaged is not None:
        averaged.load_state_dict(_below("averaged", tensors))
    torch.set_rng_state(tensors["generator.cpu"])
    gpu = _gpu_of(model)
    if "generator.cuda" in tensors and gpu is not None:
        torch.cuda.set_rng_state(tensors["generator.cuda"], gpu)
    if generator is not None and (name := f"generator.{generator.device.type}") in tensors:
        generator.set_state(tensors[name])
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in _below("optimiser", tensors).items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = value
    return state


def state_part(state: OptimiserState, number: int) -> dict[int, dict[str, Tensor]]:
    """A run's part of the state of a stack's optimiser; step counts, which are scalars, are shared."""
    return {
        weight: {name: value if value.ndim == 0 else value[number] for name, value in values.items()}
        for weight, values in state.items()
    }


def joined_states(states: Sequence[OptimiserState]) -> dict[int, dict[str, Tensor]]:
    """The state of a stack's optimiser, joined from the runs' parts."""
    return {
        weight: {
            name: value if value.ndim == 0 else torch.stack([state[weight][name] for state in states])
            for name, value in values.items()
        }
        for weight, values in states[0].items()
    }


def save_weights(path: Path, model: nn.Module, about: Mapping[str, Any]) -> None:
    """Writes a checkpoint for evaluation, with `about` as its metadata; errors as of `save_state`."""
    with atomic.whole_file(path) as temporary:
        _write_tensors(temporary, _tensors_of(model), {_METADATA: json.dumps(about)})


def _write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Writes tensors; an error of the disk is an OSError again, as safetensors only has words for it."""
    try:
        save_file(_unshared(tensors), path, metadata=metadata)
    except SafetensorError as error:
        if number := re.search(r"\(os error (\d+)\)", str(error)):
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
        raise


def read_about(path: Path) -> dict[str, Any]:
    """The metadata of a checkpoint: its model, HOP and so on; raises DatasetError for another file."""
    with reading(path, "a checkpoint of clevrhope train"):
        check_regular(path)
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {})[_METADATA]
    about = parse_json(text, path)
    check_form(about, _ABOUT, path, place=_METADATA)
    return dict(about)


_ABOUT = Fields(
    {"model": TEXT, "hop": NAME, "size": COUNT, "seed": SEED, "vocab": TEXT},
    {"stage": TEXT, "update": COUNT},
)
"""The form of a checkpoint's metadata."""


def load_weights(path: Path, model: nn.Module) -> None:
    """Loads the weights of a checkpoint; raises DatasetError if it is none, or one of another model."""
    tensors = read_tensors(path, "a whole checkpoint")
    check_weights(path, tensors, model)
    model.load_state_dict(tensors)


def check_weights(path: Path, weights: Mapping[str, Tensor], model: nn.Module) -> None:
    """Checks that the names and shapes of weights are the model's; errors as of `load_weights`."""
    own = model.state_dict()
    what = "of another model, or of this one in another version of clevrhope"
    for name in (*own, *weights):
        if name not in weights or name not in own:
            lacking = "the checkpoint" if name in own else "the model"
            raise DatasetError(f"{path}: {what}: {lacking} has no {name}")
        if weights[name].shape != own[name].shape:
            shapes = f"{tuple(weights[name].shape)} there, {tuple(own[name].shape)} in the model"
            raise DatasetError(f"{path}: {what}: {name} is {shapes}")


def read_tensors(path: Path, what: str, *, remedy: str = "") -> dict[str, Tensor]:
    """The tensors of a safetensors file; arguments and errors as of `reading`."""
    with reading(path, what, remedy=remedy):
        check_regular(path)
        return load_file(path)


def _gpu_of(model: nn.Module) -> torch.device | None:
    """The GPU that the model is on, which may not be torch's default GPU."""
    return next((each.device for each in model.parameters() if each.is_cuda), None)


def _tensors_of(model: nn.Module) -> dict[str, Tensor]:
    found = model.state_dict()
    for name, value in found.items():
        if not isinstance(value, Tensor):
            raise ConfigError(f"the model's state {name} is not a tensor, so no checkpoint can hold it")
    return found


def _unshared(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies of tensors that share memory, as safetensors requires: tied weights are written twice."""
    seen: set[int] = set()
    unshared = {}
    for name, value in tensors.items():
        value = value.detach().contiguous()
        place = value.untyped_storage().data_ptr()
        unshared[name] = value.clone() if place in seen else value
        seen.add(place)
    return unshared


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}
