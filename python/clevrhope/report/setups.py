"""The content of run.json in; what tells runs of one model apart, and from the paper's own runs, out.

Runs that were trained in different ways are no seeds of one another, so they get names of their own.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from clevrhope.models.lxmert.config import LxmertConfig
from clevrhope.models.lxmert.recipe import PRETRAINED, SCRATCH
from clevrhope.models.recipe import Recipe
from clevrhope.models.tensor_nmn.config import TensorNmnConfig
from clevrhope.models.tensor_nmn.recipe import THREE_STAGES
from clevrhope.runtime.json_text import as_json_values

Setup = Mapping[str, Any]
"""Name -> value of all that decides what a run learns, its dataset apart; names as `train` takes them."""

_PAPER: Mapping[str, tuple[LxmertConfig | TensorNmnConfig, Recipe]] = {
    "lxmert_p": (LxmertConfig(), PRETRAINED),
    "lxmert_s": (LxmertConfig(), SCRATCH),
    "tensor_nmn": (TensorNmnConfig(), THREE_STAGES),
}
"""The paper's models as the package has them: configuration, which names the features, and recipe."""

_NO_MATTER = ("form", "weights")
"""Settings that do not tell a run from the paper's: how it is computed, and where a file lies."""

_OF_RECIPE = "recipe."
_LEFT_OUT = ("name", "origins", "evaluated")
_SHORT_DIGEST = 8


def setup_of(run: Mapping[str, Any]) -> Setup:
    """All that decides what a run learns, but its pair, size, seed and dataset."""
    features = run.get("features") or {}
    settings = run.get("settings") or {}
    found = {name: value for name, value in settings.items() if not name.startswith(_OF_RECIPE)}
    found.pop("features", None)
    if ":" in str(run.get("model")):  # two modules may have a class of one name
        found["model"] = run["model"]
    if features:
        found["features"] = features.get("kind")
        found |= {f"features.{name}": value for name, value in (features.get("options") or {}).items()}
        found["features.weights"] = _shortened(features.get("weights"))
        found["features.code"] = features.get("code")
    recipe = run.get("recipe")
    found |= _of_recipe(recipe) if recipe else {n: v for n, v in settings.items() if n not in found}
    return found


def told_of_dataset(said: Mapping[str, Any]) -> Setup:
    """What a run says of the dataset that it was trained on, what is not a word or number as a digest."""
    found = {
        name: sha256(_text(value).encode()).hexdigest() if isinstance(value, dict) else value
        for name, value in said.items()
    }
    return {f"dataset.{name}": _shortened(value) for name, value in found.items()}


def names_apart(setups: Sequence[Setup]) -> list[str]:
    """For each of some different setups a short name that tells it from the others; "" may be one of them.

    Of what they differ in, that which tells most of them apart is taken, until all are.
    """
    setups = [{name: value for name, value in each.items() if value is not None} for each in setups]
    names = sorted(dict.fromkeys(name for each in setups for name in each), key=_rank)
    chosen: list[str] = []
    n_apart = min(1, len(setups))
    while n_apart < len(setups):
        counts = {name: _n_apart(setups, [*chosen, name]) for name in names}
        best = max(names, key=lambda name: counts[name], default="")
        if not best or counts[best] <= n_apart:
            break
        chosen.append(best)
        n_apart = counts[best]
    return [", ".join(_told(each, sorted(chosen, key=_rank))) for each in setups]


def differences(setups: Sequence[Setup]) -> list[str]:
    """For each of some setups all that is not the same in all of them.

    Of stages that only some of them have, their names alone are told.
    """
    common = [set(_stages(each)) for each in setups]
    shared = set.intersection(*common) if common else set()
    names = sorted(dict.fromkeys(name for each in setups for name in each), key=_rank)
    differ = [
        name
        for name in names
        if _n_apart(setups, [name]) > 1 and (_stage_of(name) is None or _stage_of(name) in shared)
    ]
    return [", ".join(_told(each, differ)) for each in setups]


def unlike_paper(model: str, run: Mapping[str, Any] | None) -> str:
    """How a run of one of the paper's models was trained in another way than the package's default for it.

    That default follows the paper (docs/models.md); "" where it is the same, and of other models. `run` is
    None where there are predictions alone.
    """
    if model not in _PAPER:
        return ""
    if run is None or not run.get("recipe") or not run.get("features"):
        return "how it was trained is not known"
    config, recipe = _PAPER[model]
    defaults = asdict(config)
    own = {name: value for name, value in setup_of(run).items() if not name.startswith("features.")}
    paper = {**defaults, **_of_recipe(as_json_values(asdict(recipe)))}
    shared = set(_stages(own)) & set(_stages(paper))
    one_stage = len(_stages(own)) == len(_stages(paper)) == 1
    told = []
    for name in sorted(dict.fromkeys([*own, *(each for each in paper if each not in defaults)]), key=_rank):
        stage = _stage_of(name)
        if name in _NO_MATTER or (stage is not None and stage not in shared):
            continue
        if one_stage and name == f"{_OF_RECIPE}{stage}.updates":  # told as updates
            continue
        here, there = own.get(name), paper.get(name)
        if _text(here) != _text(there):
            told.append(f"{name} {_value(here)}, not {_value(there)}")
    return "; ".join(told)


def _of_recipe(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe flat, by the names that `train --set` has for its parts."""
    stages = recipe.get("stages") or []
    found: dict[str, Any] = {
        "updates": sum(stage.get("updates", 0) for stage in stages),
        "recipe.stages": [stage.get("name") for stage in stages],
    }
    for stage in stages:
        for name, value in _parts(stage):
            found[f"{_OF_RECIPE}{stage.get('name')}.{name}"] = value
    return found


def _parts(stage: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in stage.items():
        if name in ("optimiser", "schedule") and isinstance(value, Mapping):
            yield from ((name if key == "kind" else key, each) for key, each in value.items())
        elif name not in _LEFT_OUT:
            yield name, value


def _stages(setup: Setup) -> Sequence[str]:
    names: Sequence[str] = setup.get("recipe.stages") or ()
    return names


def _stage_of(name: str) -> str | None:
    """The stage that a name is about; None for none."""
    stage, dot, _ = name.removeprefix(_OF_RECIPE).rpartition(".")
    return stage if name.startswith(_OF_RECIPE) and dot else None


def _rank(name: str) -> int:
    """What is told first: features, settings, updates, recipe, more of the features, dataset."""
    if name == "features":
        return 0
    if name == "updates":
        return 2
    for rank, start in ((3, _OF_RECIPE), (4, "features."), (5, "dataset")):
        if name.startswith(start):
            return rank
    return 1


def _n_apart(setups: Sequence[Setup], names: Sequence[str]) -> int:
    return len({tuple(_text(each.get(name)) for name in names) for each in setups})


def _told(setup: Setup, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if setup.get(name) is not None:
            yield _value(setup[name]) if name == "features" else f"{name}={_value(setup[name])}"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(_value, value)) or "none"
    if value is None:
        return "none"
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _shortened(value: Any) -> Any:
    """A digest cut to what a person can compare; all else as it is."""
    is_digest = isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")
    return value[:_SHORT_DIGEST] if is_digest else value
