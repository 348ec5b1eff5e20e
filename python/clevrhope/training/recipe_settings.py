"""Applies a run's settings to its model's recipe."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any, get_args

from clevrhope.errors import ConfigError, shown
from clevrhope.models.recipe import Optimiser, Recipe, Schedule, Stage
from clevrhope.runtime.settings import suggestion

PREFIX = "recipe."
"""Prefix of the settings of the recipe; those of the model have none."""

MOST = 1 << 53
"""Whole numbers must be smaller, so that shares of them are exact as floats."""

DEFAULT_RECIPE = Recipe((Stage("train", updates=20_000, batch_size=64, optimiser=Optimiser(rate=1e-4)),))
"""The recipe of a model without one: a choice of this project."""

_SCHEDULES = get_args(Schedule.__annotations__["kind"])
_OPTIMISERS = get_args(Optimiser.__annotations__["kind"])
_PRECISIONS = get_args(Recipe.__annotations__["precision"])


def split_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of the model, and those of its recipe without their prefix."""
    model = {name: value for name, value in settings.items() if not name.startswith(PREFIX)}
    recipe = {name[len(PREFIX) :]: value for name, value in settings.items() if name not in model}
    return model, recipe


def apply_settings(recipe: Recipe, settings: Mapping[str, Any], updates: int | None) -> Recipe:
    """The recipe with these settings, its updates scaled to `updates` in all.

    Args:
        recipe: the model's recipe.
        settings: "stages" (the names of the only stages to run, with commas between them), "precision", and
            "batch_size", "rate", "schedule" and so on, for all stages or after a stage's name and a dot.
        updates: updates in all stages together; None for the recipe's.

    Raises:
        ConfigError: an unknown name, an invalid value, a decay for muon, or fewer updates than stages.
    """
    settings = dict(settings)
    stages = list(recipe.stages)
    names = [stage.name for stage in stages]
    if "stages" in settings:
        given = settings.pop("stages")
        if not isinstance(given, str):
            raise ConfigError(f"{PREFIX}stages is {shown(given)}; expected names with commas between them")
        chosen = [name.strip() for name in given.split(",")]
        for name in chosen:
            if name not in names:
                known = ", ".join(names)
                raise ConfigError(
                    f"{PREFIX}stages: no stage {shown(name)}{suggestion(name, names)}; there are: {known}"
                )
        stages = [stage for stage in stages if stage.name in chosen]
    if "precision" in settings:
        precision = _name(settings.pop("precision"), f"{PREFIX}precision", _PRECISIONS)
        recipe = replace(recipe, precision=precision)
    for name, value in settings.items():
        stage_name, dot, field = name.rpartition(".")
        if dot and stage_name not in [stage.name for stage in stages]:
            known = ", ".join(stage.name for stage in stages)
            raise ConfigError(f"{PREFIX}{name[:80]}: no stage {shown(stage_name)}; there are: {known}")
        if field not in _FIELDS:
            raise ConfigError(
                f"{PREFIX}{name[:80]}: unknown setting {shown(field)}{suggestion(field, _FIELDS)}; "
                f"there are: stages, precision, {', '.join(_FIELDS)}"
            )
        path, read = _FIELDS[field]
        value = read(value, f"{PREFIX}{name}")
        stages = [
            _changed(stage, path, value) if not dot or stage.name == stage_name else stage for stage in stages
        ]
    for stage in stages:
        if stage.optimiser.kind == "muon" and stage.optimiser.decay:
            raise ConfigError(
                f"{PREFIX}{stage.name}.decay is {stage.optimiser.decay:g}, but muon has none; set it to 0"
            )
    if updates is not None:
        stages = _scaled(stages, updates)
    return replace(recipe, stages=tuple(stages))


def _scaled(stages: list[Stage], updates: int) -> list[Stage]:
    """The stages with `updates` in all: each keeps its share, and has at least one."""
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
    """The stage with a value at "field" or "field.field"; a value that differs gets the origin "setting"."""
    part, _, name = path.partition(".")
    if name:
        value = replace(getattr(stage, part), **{name: value})
    changed = replace(stage, **{part: value})
    if changed == stage:
        return stage
    return replace(changed, origins={**stage.origins, part if part == "schedule" else path: "setting"})


def _whole(value: Any, place: str) -> int:
    if type(value) is not int or not 1 <= value < MOST:
        raise ConfigError(f"{place} is {shown(value)}; expected a whole number from 1")
    return value


def _number(value: Any, place: str, *, positive: bool = False) -> float:
    is_finite = (type(value) is int and abs(value) < MOST) or (type(value) is float and isfinite(value))
    if not is_finite or not (value > 0 if positive else value >= 0):
        raise ConfigError(
            f"{place} is {shown(value)}; expected a number {'above 0' if positive else 'from 0'}"
        )
    return float(value)


def _name(value: Any, place: str, known: tuple[str, ...]) -> Any:
    if value not in known:
        raise ConfigError(
            f"{place} is {shown(value)}{suggestion(str(value)[:80], known)}; expected {', '.join(known)}"
        )
    return value


def _clip(value: Any, place: str) -> float | None:
    return None if value in ("none", None) else _number(value, place, positive=True)


def _share(value: Any, place: str) -> float:
    share = _number(value, place)
    if share >= 1:
        raise ConfigError(f"{place} is {shown(value)}; expected a share of the updates, below 1")
    return share


_FIELDS: Mapping[str, tuple[str, Callable[[Any, str], Any]]] = {
    "updates": ("updates", _whole),
    "batch_size": ("batch_size", _whole),
    "optimiser": ("optimiser.kind", partial(_name, known=_OPTIMISERS)),
    "rate": ("optimiser.rate", partial(_number, positive=True)),
    "epsilon": ("optimiser.epsilon", partial(_number, positive=True)),
    "decay": ("optimiser.decay", _number),
    "clip_norm": ("optimiser.clip_norm", _clip),
    "schedule": ("schedule.kind", partial(_name, known=_SCHEDULES)),
    "warmup": ("schedule.warmup", _share),
}
"""Name of a setting -> the field of a `Stage` that it sets, and what checks its value."""
