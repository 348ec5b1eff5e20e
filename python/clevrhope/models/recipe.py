"""How a model is trained, as data: stages, each with a loss, an optimiser and a schedule. No torch.

The tables of docs/models.md give the sources of the numbers in the package's recipes.
"""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

OptimiserKind = Literal["adam", "bert_adam", "muon"]
ScheduleKind = Literal["constant", "linear", "warmup_linear", "cosine"]
Precision = Literal["float32", "bf16"]
Objective = Literal["labels", "rewards"]


@dataclass(frozen=True)
class Optimiser:
    """An optimiser and its hyperparameters.

    Attributes:
        kind: "adam"; "bert_adam", Adam without bias correction and with decoupled decay; or "muon", which
            updates convolutions by orthogonal matrices and all other weights by Adam.
        rate: the learning rate, before the schedule.
        betas: decay rates of the first and second moments.
        epsilon: added to the square root of the second moment.
        decay: weight decay.
        clip_norm: the norm to which gradients are clipped, over all weights of a stage; None for no clipping.
    """

    kind: OptimiserKind = "adam"
    rate: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    decay: float = 0.0
    clip_norm: float | None = None


@dataclass(frozen=True)
class Schedule:
    """The factor on the learning rate at each update.

    Attributes:
        kind: "constant", after a warm-up if there is one; "linear", from 1 at the first update to 0 just
            after the last one; "warmup_linear", from 0 to 1 over the first updates and then linearly to 0; or
            "cosine", after a warm-up if there is one, from 1 to 0 along half a cosine. The first update of a
            warm-up has the learning rate 0.
        warmup: the fraction of updates in the warm-up.
    """

    kind: ScheduleKind = "constant"
    warmup: float = 0.0

    def factor(self, update: int, updates: int) -> float:
        """The factor at update number `update`, counted from 0, of `updates`.

        Public LXMERT code evaluates its schedule before it counts the update, so a warm-up starts at a
        learning rate of 0, and "linear" would reach 0 only at the update after the last one.
        """
        done = update / updates
        if self.kind == "linear":
            return 1 - done
        if done < self.warmup:
            return done / self.warmup
        left = (1 - done) / (1 - self.warmup)
        return {"constant": 1.0, "cosine": (1 - math.cos(math.pi * left)) / 2}.get(self.kind, left)


@dataclass(frozen=True)
class WeightGroup:
    """Weights with a rate or a decay of their own.

    Attributes:
        weights: pattern of their names, such as "*.bias" or "words.*"; the first group that fits counts.
        rate: factor on the stage's rate; 0 leaves them as they are.
        decay: weight decay; None for the stage's.
    """

    weights: str
    rate: float = 1.0
    decay: float | None = None


@dataclass(frozen=True)
class Stage:
    """A number of updates of all or some of a model's weights.

    Attributes:
        name: the stage's name, unique in its recipe.
        updates: the number of updates, whatever the size of the train set.
        batch_size: questions per update. The last, partial batch of an epoch is dropped.
        accumulation: number of equal parts in which a batch is computed, to need less memory; the gradients
            are those of the mean loss over the parts.
        loss: the model's method that returns the loss.
        trains: the model's submodules whose weights are updated; empty for all.
        optimiser: the optimiser, whose state is reset at the start of the stage.
        groups: weights with a rate or a decay of their own.
        compile: whether torch compiles the loss, which has to be that of a static model (`is_static`).
        schedule: the schedule of the learning rate.
        averaging: the decay of an exponential moving average of the weights, which is tuned, kept and
            evaluated instead of the weights themselves; 0 for none. 0.99 averages about 100 updates.
        evaluated: whether the weights at the stage's end are kept and evaluated; the last stage's always are.
        objective: "labels", or "rewards" of answers that are drawn from the model, in place of its loss
            (`clevrhope.training.policy`).
        samples: answers drawn for each question; for rewards alone.
        entropy: the weight of the answers' entropy, in nats, which is added to the rewards.
    """

    name: str
    updates: int
    batch_size: int
    loss: str = "loss"
    trains: tuple[str, ...] = ()
    optimiser: Optimiser = field(default_factory=Optimiser)
    schedule: Schedule = field(default_factory=Schedule)
    averaging: float = 0.0
    evaluated: bool = False
    objective: Objective = "labels"
    samples: int = 16
    entropy: float = 0.1
    accumulation: int = 1
    groups: tuple[WeightGroup, ...] = ()
    compile: bool = False


OF_REWARDS = ("samples", "entropy")
"""The fields of a stage that only matter if it learns from rewards."""


@dataclass(frozen=True)
class Recipe:
    """A model's training from start to finish.

    Attributes:
        stages: run in this order.
        precision: "bf16" computes in bfloat16 under autocast if the device has instructions for it; weights
            stay float32.
        stop_at: accuracy on the tune set, in per cent, at which the last stage ends before its last update;
            None for none.
        patience: number of evaluations on the tune set in a row, without a new best accuracy, at which the
            last stage ends before its last update; None for none.
    """

    stages: tuple[Stage, ...]
    precision: Precision = "float32"
    stop_at: float | None = None
    patience: int | None = None

    @property
    def learns_from_rewards(self) -> bool:
        """Whether any stage does."""
        return any(stage.objective == "rewards" for stage in self.stages)

    def record(self) -> dict[str, Any]:
        """The recipe as run.json and reports hold it: without settings that decide nothing."""
        content = asdict(self)
        for name in ("stop_at", "patience"):
            if content[name] is None:
                del content[name]
        for stage in content["stages"]:
            if stage["accumulation"] == 1:
                del stage["accumulation"]
            for name in ("groups", "compile"):
                if not stage[name]:
                    del stage[name]
            if stage["objective"] == "labels":
                for name in ("objective", *OF_REWARDS):
                    del stage[name]
        return content


def single_stage(
    *, updates: int, optimiser: Optimiser, batch_size: int = 64, schedule: Schedule | None = None
) -> Recipe:
    """A recipe of one stage, called "train"."""
    stage = Stage("train", updates, batch_size, optimiser=optimiser, schedule=schedule or Schedule())
    return Recipe((stage,))
