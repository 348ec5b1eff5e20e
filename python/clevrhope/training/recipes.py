"""A model's recipe and what was set about it in, the recipe that is followed out."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from math import isfinite
from typing import Any, get_args

from clevrhope.errors import ConfigError, shown
from clevrhope.models.recipe import Optimiser, Recipe, Schedule, Stage
from clevrhope.runtime.settings import suggestion

PREFIX = "recipe."
"""What the names of settings begin with that are about the recipe, not about the model."""

MOST = 1 << 53
"""What a whole number is below: what a share of it is can be told exactly."""

DEFAULT = Recipe((Stage("train", updates=20_000, batch_size=64, optimiser=Optimiser(rate=1e-4)),))
"""Of a model without a recipe: a choice of this project."""

_SCHEDULES = get_args(Schedule.__annotations__["kind"])
_OPTIMISERS = get_args(Optimiser.__annotations__["kind"])
_PRECISIONS = get_args(Recipe.__annotations__["precision"])


def split_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings about the model, and those about its recipe without their prefix."""
    model = {name: value for name, value in settings.items() if not name.startswith(PREFIX)}
    recipe = {name[len(PREFIX) :]: value for name, value in settings.items() if name not in model}
    return model, recipe


def followed(recipe: Recipe, settings: Mapping[str, Any], updates: int | None) -> Recipe:
    """The recipe with these settings, and its updates scaled to `updates` in all.

    Args:
        recipe: the model's.
        settings: "stages" (names with commas, those alone), "batch_size", "rate", "schedule" and so on for
            all stages, or with a stage's name and a dot in front for one; "precision" for all alone.
        updates: of all stages together; None to leave them.

    Raises:
        ConfigError: a name or value that does not exist, a decay for muon, or fewer updates than stages.
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
                f"{PREFIX}{name[:80]}: nothing is called {shown(field)}{suggestion(field, _FIELDS)}; "
                f"there are: stages, precision, {', '.join(_FIELDS)}"
            )
        place = f"{PREFIX}{name}"
        stages = [
            _told(stage, _FIELDS[field](stage, value, place), _ORIGINS.get(field, f"optimiser.{field}"))
            if not dot or stage.name == stage_name
            else stage
            for stage in stages
        ]
    for stage in stages:
        if stage.optimiser.kind == "muon" and stage.optimiser.decay:
            raise ConfigError(
                f"{PREFIX}{stage.name}.decay is {stage.optimiser.decay:g}, but muon has none; set it to 0"
            )
    if updates is not None:
        stages = _scaled(stages, updates)
    return replace(recipe, stages=tuple(stages))


def as_json(recipe: Recipe) -> dict[str, Any]:
    """The recipe as run.json has it."""
    return asdict(recipe)


def _scaled(stages: list[Stage], updates: int) -> list[Stage]:
    """Stages with these updates in all, each with its share, and one at least."""
    if updates < len(stages):
        raise ConfigError(
            f"updates is {updates}, but there are {len(stages)} stages; expected one each at least"
        )
    total = sum(stage.updates for stage in stages)
    done, given, scaled = 0, 0, []
    for k, stage in enumerate(stages):
        done += stage.updates
        upto = min(max(round(updates * done / total), given + 1), updates - (len(stages) - 1 - k))
        scaled.append(_told(stage, replace(stage, updates=upto - given), "updates"))
        given = upto
    return scaled


def _told(before: Stage, after: Stage, name: str) -> Stage:
    """The stage that came of a setting; where it changed a value, that has this origin from now on."""
    if before == after:
        return before
    return replace(after, origins={**after.origins, name: "setting"})


def _whole(value: Any, place: str) -> int:
    if type(value) is not int or not 1 <= value < MOST:
        raise ConfigError(f"{place} is {shown(value)}; expected a whole number from 1")
    return value


def _number(value: Any, place: str, *, positive: bool = False) -> float:
    if not _is_finite(value) or not (value > 0 if positive else value >= 0):
        raise ConfigError(
            f"{place} is {shown(value)}; expected a number {'above 0' if positive else 'from 0'}"
        )
    return float(value)


def _is_finite(value: Any) -> bool:
    if type(value) is int:
        return abs(value) < MOST
    return type(value) is float and isfinite(value)


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


def _optimiser(stage: Stage, **changes: Any) -> Stage:
    return replace(stage, optimiser=replace(stage.optimiser, **changes))


def _schedule(stage: Stage, **changes: Any) -> Stage:
    return replace(stage, schedule=replace(stage.schedule, **changes))


_FIELDS: Mapping[str, Callable[[Stage, Any, str], Stage]] = {
    "updates": lambda stage, value, at: replace(stage, updates=_whole(value, at)),
    "batch_size": lambda stage, value, at: replace(stage, batch_size=_whole(value, at)),
    "optimiser": lambda stage, value, at: _optimiser(stage, kind=_name(value, at, _OPTIMISERS)),
    "rate": lambda stage, value, at: _optimiser(stage, rate=_number(value, at, positive=True)),
    "epsilon": lambda stage, value, at: _optimiser(stage, epsilon=_number(value, at, positive=True)),
    "decay": lambda stage, value, at: _optimiser(stage, decay=_number(value, at)),
    "clip_norm": lambda stage, value, at: _optimiser(stage, clip_norm=_clip(value, at)),
    "schedule": lambda stage, value, at: _schedule(stage, kind=_name(value, at, _SCHEDULES)),
    "warmup": lambda stage, value, at: _schedule(stage, warmup=_share(value, at)),
}
"""Name -> a stage with this value."""

_ORIGINS: Mapping[str, str] = {
    "updates": "updates",
    "batch_size": "batch_size",
    "optimiser": "optimiser.kind",
    "schedule": "schedule",
    "warmup": "schedule",
}
"""Name -> what `Stage.origins` calls it, of those that are no number of the optimiser."""
