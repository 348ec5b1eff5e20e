"""How a model is trained, as data: its stages, each with a loss, an optimiser and a schedule. No torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Origin = Literal["paper", "public code", "model's paper", "choice", "setting"]
"""Where a value is from: the CLEVR-HOPE paper, the public code that it followed, the paper that the model is
from (of models that CLEVR-HOPE has not), this project, or what was set for a run."""


@dataclass(frozen=True)
class Optimiser:
    """An optimiser and its numbers.

    Attributes:
        kind: "adam"; "bert_adam", Adam without bias correction, whose decay is decoupled; or "muon", which
            moves convolutions by orthogonal matrices and all else by Adam.
        rate: the learning rate, before the schedule.
        betas: decay of the first and second moments.
        epsilon: added to the root of the second moment.
        decay: weight decay.
        clip_norm: the norm that gradients are clipped to, over all of a stage's weights; None for not at all.
    """

    kind: Literal["adam", "bert_adam", "muon"] = "adam"
    rate: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    decay: float = 0.0
    clip_norm: float | None = None


@dataclass(frozen=True)
class Schedule:
    """What the rate is multiplied with at each update.

    Attributes:
        kind: "constant"; "linear", from 1 at the first update to 0 just behind the last one; or
            "warmup_linear", from 0 to 1 over the first updates and then linearly to 0. The first update of a
            warm-up has the rate 0.
        warmup: share of the updates that warm up.
    """

    kind: Literal["constant", "linear", "warmup_linear"] = "constant"
    warmup: float = 0.0


@dataclass(frozen=True)
class Stage:
    """A number of updates of some of a model's weights.

    Attributes:
        name: of the stage, unique in its recipe.
        updates: how many, whatever the size of the train set.
        batch_size: questions an update. The last, partial batch of an epoch is left out.
        loss: the model's method that gives the loss.
        trains: the model's submodules whose weights are updated; all where none is named.
        optimiser: with which numbers; its state starts anew with the stage.
        schedule: of the rate.
        origins: for the fields above, where their value is from; "optimiser.rate" names a field's field.
        evaluated: whether the weights at the stage's end are kept and evaluated, the last stage's always.
    """

    name: str
    updates: int
    batch_size: int
    loss: str = "loss"
    trains: tuple[str, ...] = ()
    optimiser: Optimiser = field(default_factory=Optimiser)
    schedule: Schedule = field(default_factory=Schedule)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    evaluated: bool = False


@dataclass(frozen=True)
class Recipe:
    """A model's training from beginning to end.

    Attributes:
        stages: one after the other.
        precision: "bf16" computes in bfloat16 under autocast where the device has instructions for it;
            weights stay float32.
    """

    stages: tuple[Stage, ...]
    precision: Literal["float32", "bf16"] = "float32"
