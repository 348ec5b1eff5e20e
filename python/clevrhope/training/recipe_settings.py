"""The recipe of a run: that of its model, with the run's settings."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar

from clevrhope.errors import ConfigError, listed
from clevrhope.models.recipe import (
    OF_REWARDS,
    Objective,
    Optimiser,
    OptimiserKind,
    Precision,
    Recipe,
    ScheduleKind,
    Stage,
    WeightGroup,
)
from clevrhope.runtime.settings import check_at_least, check_known, read_settings
from clevrhope.splits.kinds import TRAIN
from clevrhope.training.request import TrainRequest

if TYPE_CHECKING:
    from torch.nn import Module

Read = TypeVar("Read")

PREFIX = "recipe."
"""Prefix of the settings of the recipe; those of the model have none."""

MOST = 1 << 53
"""Whole numbers must be smaller than this, so that floats represent them exactly."""

DEFAULT_RECIPE = Recipe((Stage("train", updates=20_000, batch_size=64, optimiser=Optimiser(rate=1e-4)),))
"""The recipe of a model that has none: a choice of this project."""

_PATHS = {
    "optimiser": "optimiser.kind",
    **{name: f"optimiser.{name}" for name in ("rate", "epsilon", "decay", "clip_norm")},
    "schedule": "schedule.kind",
    "warmup": "schedule.warmup",
}
"""Setting -> the field of a `Stage` that it sets, if that has another name."""


@dataclass(frozen=True)
class _StageSettings:
    """The settings of a stage, each of which is read by itself; the defaults are not used."""

    updates: int = 1
    batch_size: int = 1
    optimiser: OptimiserKind = "adam"
    rate: float = 1.0
    epsilon: float = 1.0
    decay: float = 0.0
    clip_norm: float | None = None
    schedule: ScheduleKind = "constant"
    warmup: float = 0.0
    averaging: float = 0.0
    objective: Objective = "labels"
    samples: int = 2
    entropy: float = 0.0
    accumulation: int = 1
    groups: tuple[WeightGroup, ...] = ()
    compile: bool = False

    def __post_init__(self) -> None:
        check_at_least(1, updates=self.updates, batch_size=self.batch_size, accumulation=self.accumulation)
        for group in self.groups:
            if group.rate < 0 or (group.decay or 0) < 0:
                raise ConfigError(f'groups: rate and decay of "{group.weights}" should be numbers from 0')
        check_at_least(2, samples=self.samples)  # an answer's reward is compared with those of the others
        for name in ("rate", "epsilon", "clip_norm"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError(f"{name} is {value:g}; expected a number above 0")
        for name in ("decay", "entropy"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name):g}; expected a number from 0")
        if not 0 <= self.averaging < 1:
            raise ConfigError(f"averaging is {self.averaging:g}; expected a decay from 0 and below 1")
        if not 0 <= self.warmup < 1:
            raise ConfigError(
                f"warmup is {self.warmup:g}; expected a share of the updates, from 0 and below 1"
            )


@dataclass(frozen=True)
class _RecipeSettings:
    """The settings of a recipe as a whole."""

    stages: str = ""
    precision: Precision = "float32"
    stop_at: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        check_at_least(1, patience=self.patience)
        if self.stop_at is not None and not 0 < self.stop_at <= 100:
            raise ConfigError(
                f"stop_at is {self.stop_at:g}; expected an accuracy above 0 and at most 100 per cent"
            )


_OF_RECIPE = tuple(each.name for each in fields(_RecipeSettings))


def split_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of the model, and those of its recipe without their prefix."""
    model = {name: value for name, value in settings.items() if not name.startswith(PREFIX)}
    recipe = {name[len(PREFIX) :]: value for name, value in settings.items() if name not in model}
    return model, recipe


def recipe_of(model: "Module", request: TrainRequest) -> Recipe:
    """The recipe of a request's model, with the request's settings and updates.

    Raises:
        ConfigError: the model's recipe is not a recipe, or the settings do not fit it.
    """
    recipe = getattr(model, "recipe", DEFAULT_RECIPE)
    if not isinstance(recipe, Recipe) or not recipe.stages:
        raise ConfigError(f'model "{request.model}": its recipe is not a Recipe with at least one stage')
    names = [stage.name for stage in recipe.stages]
    if len(set(names)) < len(names) or {"last", "best"} & set(names):
        raise ConfigError(
            f'model "{request.model}": its stages are called {", ".join(names)}; expected unique names other '
            "than last and best"
        )
    _, settings = split_settings(request.settings)
    recipe = apply_settings(recipe, settings, request.updates)
    for name, value in (("stop_at", recipe.stop_at), ("patience", recipe.patience)):
        if value is not None and request.tune_on is None:
            raise ConfigError(
                f"{PREFIX}{name} is {value:g}, which is about accuracy on the set of --tune-on, and that is "
                "missing; add it"
            )
    if recipe.learns_from_rewards and request.split != TRAIN.name:
        raise ConfigError(
            f'{PREFIX}objective is "rewards", but the split is {request.split}; rewards are for answers to '
            f"the questions of {TRAIN.name}"
        )
    return recipe


def apply_settings(recipe: Recipe, settings: Mapping[str, Any], updates: int | None) -> Recipe:
    """The recipe with these settings, its updates scaled to `updates` in all.

    Args:
        recipe: the model's recipe.
        settings: "stages" (the names of the stages to run, separated by commas), "precision", "stop_at",
            "patience", and "batch_size", "rate", "schedule" and so on, for all stages or, as "stage.rate",
            for one.
        updates: updates in all stages together; None for the recipe's.

    Raises:
        ConfigError: an unknown name, an invalid value, a decay for muon, or fewer updates than stages.
    """
    stages = list(recipe.stages)
    names = [stage.name for stage in stages]
    of_recipe = {name: value for name, value in settings.items() if name in _OF_RECIPE}
    whole = _read(_RecipeSettings, of_recipe)
    if "stages" in settings:
        chosen = [name.strip() for name in whole.stages.split(",")]
        stages = [stage for stage in stages if stage.name in chosen]
        check_known(chosen, names, f"{PREFIX}stages: no stage")
    if "precision" in settings:
        recipe = replace(recipe, precision=whole.precision)
    recipe = replace(recipe, **{e: getattr(whole, e) for e in ("stop_at", "patience") if e in settings})
    for name, value in settings.items():
        stage_name, dot, field = name.rpartition(".")
        if name in of_recipe:
            continue
        if dot:
            check_known([stage_name], [stage.name for stage in stages], f"{PREFIX}{name[:80]}: no stage")
        if field == "clip_norm" and value == "none":
            value = None
        value = getattr(_read(_StageSettings, {field: value}, stage_name + dot), field)
        stages = [
            _changed(stage, _PATHS.get(field, field), value) if not dot or stage.name == stage_name else stage
            for stage in stages
        ]
    of_rewards = [name for name in settings if name.rpartition(".")[2] in OF_REWARDS]
    if of_rewards and all(stage.objective == "labels" for stage in stages):
        raise ConfigError(
            f"{PREFIX}{of_rewards[0]} has no effect on learning from labels; leave it out, or set "
            f"{PREFIX}objective to rewards"
        )
    for stage in stages:
        if stage.batch_size % stage.accumulation:
            raise ConfigError(
                f"{PREFIX}accumulation is {stage.accumulation}, but a batch of stage {stage.name} has "
                f"{stage.batch_size} questions; expected a divisor of that"
            )
        if stage.optimiser.kind == "muon" and any(group.decay for group in stage.groups):
            raise ConfigError(f"{PREFIX}groups: muon has no decay; set it to 0")
        if stage.optimiser.kind == "muon" and stage.optimiser.decay:
            raise ConfigError(
                f"{PREFIX}{stage.name}.decay is {stage.optimiser.decay:g}, but muon has none; set it to 0"
            )
    if updates is not None:
        stages = _scaled(stages, updates)
    return replace(recipe, stages=tuple(stages))


def _read(kind: type[Read], given: Mapping[str, Any], path: str = "") -> Read:
    return read_settings(kind, given, where="settings", path=PREFIX + path, most=MOST)


def _scaled(stages: list[Stage], updates: int) -> list[Stage]:
    """The stages with `updates` in all; each keeps its share, but has at least one update."""
    if updates < len(stages):
        raise ConfigError(
            f"updates is {updates}, but there are {len(stages)} stages; expected at least one for each"
        )
    total = sum(stage.updates for stage in stages)
    done, given, scaled = 0, 0, []
    for k, stage in enumerate(stages):
        done += stage.updates
        upto = min(max(round(updates * done / total), given + 1), updates - (len(stages) - 1 - k))
        scaled.append(_changed(stage, "updates", upto - given))
        given = upto
    return scaled


def _changed(stage: Stage, path: str, value: Any) -> Stage:
    """The stage with a value at "field" or "field.field"."""
    part, _, name = path.partition(".")
    if name:
        value = replace(getattr(stage, part), **{name: value})
    return replace(stage, **{part: value})


def check_stage(model: "Module", stage: Stage, n_questions: int) -> None:
    """Checks that a model can be trained in a stage.

    Raises:
        ConfigError: the model lacks a method or submodule, or there are fewer questions than in a batch.
    """
    kind = type(model).__name__
    if not callable(getattr(model, stage.loss, None)):
        raise ConfigError(f"{kind}: no method {stage.loss}, which stage {stage.name} of its recipe names")
    answers = stage.loss == "loss" and callable(getattr(model, "predict", None))
    if stage.objective == "rewards" and not answers:
        raise ConfigError(
            f'{kind}: {PREFIX}objective is "rewards", but stage {stage.name} of its recipe does not learn to '
            "answer with the methods loss and predict"
        )
    if stage.compile and (stage.objective == "rewards" or not getattr(model, "is_static", False)):
        raise ConfigError(
            f"{PREFIX}compile: stage {stage.name} of {kind} cannot be compiled, but only losses from labels "
            "of models whose batches all need the same operations on the same shapes (is_static), as those "
            "of LXMERT about single images do; leave it out"
        )
    for name in stage.trains:
        try:
            model.get_submodule(name)
        except AttributeError as error:
            raise ConfigError(
                f"{kind}: no submodule {name}, which stage {stage.name} of its recipe names"
            ) from error
    for group in stage.groups:
        if not any(fnmatchcase(name, group.weights) for name, _ in model.named_parameters()):
            raise ConfigError(
                f'{PREFIX}groups: no weights "{group.weights}" in {kind}; its weights are called '
                f"{listed([name for name, _ in model.named_parameters()], most=5)}"
            )
    if stage.batch_size > n_questions:
        raise ConfigError(
            f"--size: {n_questions:,} questions, but a batch of stage {stage.name} has {stage.batch_size:,}; "
            "use more questions, or set recipe.batch_size"
        )
