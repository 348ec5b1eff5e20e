"""Measures how fast each stage of the models' recipes trains at full size on this machine.

Updates use one synthetic batch of the recipe's size that is already on the device: forward and backward pass,
clipping and the optimiser's step, but no reading of features. The share of the peak compares them with matrix
products in the same run and precision; torch counts the operations.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.synthetic_batch import clevr_vocab, part_of, synthetic_batch
from clevrhope.features.device import chosen_device
from clevrhope.models.names import find_model
from clevrhope.models.recipe import Stage
from clevrhope.training.device import chosen_precision, computing
from clevrhope.training.gradients import WARM_UP, Gradients, compiled
from clevrhope.training.optimisers import make_optimiser
from clevrhope.training.recipe_settings import check_stage
from clevrhope.training.request import Precision

PAPER_HOURS: Mapping[str, float] = {"lxmert_p": 92, "lxmert_s": 123, "tensor_nmn": 524}
"""The most GPU hours of a run according to the CLEVR-HOPE paper (T4 or RTX 2070)."""

MODELS = ("lxmert_s", "tensor_nmn")
"""The models to measure: LXMERT-p makes the same updates as LXMERT-s, only fewer of them."""

_PEAK_SIDE = {"cuda": 8192, "cpu": 2048}
_PEAK_ROUNDS = 5


@dataclass(frozen=True)
class StageSpeed:
    """The speed of a stage of a model's recipe.

    Attributes:
        model: name of the model.
        stage: name of the stage.
        batch_size: questions per update.
        updates_a_second: the rate over all timed updates.
        teraflop: operations of an update, in units of 1e12, forward and backward.
        share_of_peak: the speed as a share of that of large matrix products.
        hours: the time for all updates of the stage in the recipe.
    """

    model: str
    stage: str
    batch_size: int
    updates_a_second: float
    teraflop: float
    share_of_peak: float
    hours: float


@dataclass(frozen=True)
class Speeds:
    """The measurements.

    Attributes:
        device: name of the device.
        precision: model -> its precision.
        peak: precision -> teraflop per second of large matrix products.
        stages: of all models, in order.
        hours: model -> hours of a run with all stages.
    """

    device: str
    precision: Mapping[str, str]
    peak: Mapping[str, float]
    stages: Sequence[StageSpeed]
    hours: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """Name -> value, for `--json`; the paper's hours are included."""
        return {**asdict(self), "paper_hours": {name: PAPER_HOURS.get(name) for name in self.hours}}


def measure_models(
    models: Sequence[str] = MODELS,
    *,
    device: str = "auto",
    precision: Precision | None = None,
    updates: int = 20,
    settings: Mapping[str, Any] | None = None,
    compiles: bool = False,
    advance: Callable[[str], None] | None = None,
) -> Speeds:
    """Times updates of each stage of each model.

    Args:
        models: names, or "package.module:Class".
        device: as torch spells it; "auto" for a GPU if there is one.
        precision: by default the recipe's, or float32 if the device has no instructions for that.
        updates: number of timed updates of each stage.
        settings: settings of the models, by name, as for `--set`; by default the full size.
        compiles: whether losses are compiled, as `recipe.compile` does.
        advance: called with the name of the next stage.

    Raises:
        ConfigError: there is no such model, setting or device.
    """
    where = chosen_device(device)
    peak: dict[str, float] = {}
    stages: list[StageSpeed] = []
    used: dict[str, str] = {}
    for name in models:
        torch.manual_seed(0)
        model = find_model(name).build(dict(settings or {}), clevr_vocab())
        recipe = model.recipe  # type: ignore[attr-defined]
        used[name] = how = chosen_precision(precision, recipe.precision, where)
        with computing(where, precision=how, deterministic=False):
            if how not in peak:
                peak[how] = _peak(where, how)
            for stage in recipe.stages:
                if advance is not None:
                    advance(f"{name}, {stage.name}")
                stages.append(_timed(name, model, stage, where, how, updates, peak[how], compiles))
    hours = {name: sum(each.hours for each in stages if each.model == name) for name in used}
    name = f"CPU, {torch.get_num_threads()} threads"
    if where.type == "cuda":
        name = torch.cuda.get_device_name(where)
    return Speeds(name, used, peak, stages, hours)


@contextmanager
def counted_rnns(model: nn.Module) -> Iterator[list[float]]:
    """Yields a list of the floating-point operations in calls of LSTMs and GRUs that torch does not count.

    Only matrix products count, as in torch; the gradients of weights and of inputs each cost as much again.
    For packed sequences on a CPU, torch runs single products, which it counts itself.
    """
    found: list[float] = []

    def count(module: nn.Module, inputs: tuple[Any, ...], output: object) -> None:
        assert isinstance(module, nn.RNNBase)
        given = inputs[0]
        is_packed = isinstance(given, PackedSequence)
        if is_packed and given.data.device.type == "cpu":
            return
        n_words = len(given.data) if is_packed else given.shape[0] * given.shape[1]
        n_weights = sum(each.numel() for each in module.parameters() if each.ndim == 2)
        ways = 3 if torch.is_grad_enabled() and module.weight_ih_l0.requires_grad else 1
        found.append(2.0 * n_words * n_weights * ways)

    hooks = [each.register_forward_hook(count) for each in model.modules() if isinstance(each, nn.RNNBase)]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def _timed(
    name: str,
    model: Any,
    stage: Stage,
    where: torch.device,
    how: Precision,
    updates: int,
    peak: float,
    compiles: bool,
) -> StageSpeed:
    if compiles:
        check_stage(model, replace(stage, compile=True), stage.batch_size)
    config = getattr(model, "config", None)
    more = synthetic_batch(
        math.ceil(1.2 * stage.batch_size),  # some scenes have no question
        1,
        kind=getattr(model, "feature_kind", "pixels"),
        height=getattr(config, "image_height", 224),
        width=getattr(config, "image_width", 224),
    )
    batch = part_of(more, slice(stage.batch_size))
    model.to(where).train()
    plan = getattr(model, "plan", None)
    batch = replace(batch.to(where), plan=plan(batch) if plan else None)  # as it is loaded in training
    weights = [each for each in model.parameters() if each.requires_grad]
    optimiser = make_optimiser(replace(stage.optimiser, rate=0.0), weights)  # nothing is learned from noise
    loss = getattr(model, stage.loss)
    is_static = getattr(model, "is_static", False)
    gradients = Gradients(lambda batch: loss(batch).reshape(1), weights, where, how, is_static=is_static)

    def update() -> None:
        gradients(batch)
        if stage.optimiser.clip_norm is not None:
            nn.utils.clip_grad_norm_(weights, stage.optimiser.clip_norm)
        optimiser.step()

    with FlopCounterMode(display=False) as counted, counted_rnns(model) as of_rnns:
        update()
    if compiles:
        loss = compiled(model, stage.loss)
    for _ in range(WARM_UP if where.type == "cuda" else min(WARM_UP, updates)):  # the last one is recorded
        update()
    began = now(where)
    for _ in range(updates):
        update()
    rate = updates / (now(where) - began)
    teraflop = (counted.get_total_flops() + sum(of_rnns)) / 1e12
    return StageSpeed(
        model=name,
        stage=stage.name,
        batch_size=len(batch),
        updates_a_second=rate,
        teraflop=teraflop,
        share_of_peak=teraflop * rate / peak,
        hours=stage.updates / rate / 3600,
    )


def _peak(where: torch.device, how: Precision) -> float:
    """Teraflop per second of a product of two large matrices: the best of several rounds."""
    side = _PEAK_SIDE[where.type]
    dtype = torch.bfloat16 if how == "bf16" else torch.float32
    a, b = (torch.rand(side, side, device=where, dtype=dtype) for _ in range(2))
    seconds = []
    for _ in range(_PEAK_ROUNDS + 1):
        began = now(where)
        a @ b
        seconds.append(now(where) - began)
    return 2 * side**3 / min(seconds[1:]) / 1e12


def now(where: torch.device) -> float:
    """The time in seconds when the device has finished all its work."""
    if where.type == "cuda":
        torch.cuda.synchronize(where)
    return perf_counter()


def text_lines(speeds: Speeds) -> list[str]:
    """One line for each stage, and one for each model."""
    lines = [speeds.device]
    lines += [f"matrix products in {how}: {each:,.2f} TFLOP/s" for how, each in speeds.peak.items()]
    for each in speeds.stages:
        lines.append(
            f"{f'{each.model}, {each.stage}':<26} {each.updates_a_second:>10,.2f} updates per second"
            f"{each.teraflop:>9.3f} TFLOP each {each.share_of_peak:>6.1%} of the peak {each.hours:>9,.2f} h"
        )
    for name, hours in speeds.hours.items():
        paper = PAPER_HOURS.get(name)
        beside = f"; the paper: at most {paper:,.0f}" if paper else ""
        lines.append(f"{name}: {hours:,.2f} hours per run, {1 / hours:,.2f} runs per hour{beside}")
    return lines
