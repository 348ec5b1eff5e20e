"""The setups of runs: how runs of a model differ from each other and from the paper's.

Runs that were trained in different ways are not seeds of one another, so they get different names.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from clevrhope.models.lxmert.config import PRETRAINED, SCRATCH, LxmertConfig
from clevrhope.models.recipe import Recipe
from clevrhope.models.tensor_nmn.config import THREE_STAGES, TensorNmnConfig
from clevrhope.runtime.json_text import as_json_values

Setup = Mapping[str, Any]
"""Name -> value of everything that decides what a run learns; names are those of `train --set`."""

_PAPER: Mapping[str, tuple[LxmertConfig | TensorNmnConfig, Recipe]] = {
    "lxmert_p": (LxmertConfig(), PRETRAINED),
    "lxmert_s": (LxmertConfig(), SCRATCH),
    "tensor_nmn": (TensorNmnConfig(), THREE_STAGES),
}
"""The paper's models: configuration, which names the features, and recipe."""

_OF_RECIPE = "recipe."
_DROPPED = "dropped "
"""Begins the name of a setting: the share of a type of train questions that a run left out."""
_SHORT_DIGEST = 8


def setup_of(run: Mapping[str, Any]) -> Setup:
    """Everything that decides what a run learns, except its pair, size, seed and dataset."""
    found = {name: value for name, value in run["settings"].items() if not name.startswith(_OF_RECIPE)}
    found.pop("features", None)
    if run.get("split"):  # train itself is not named
        found["split"] = run["split"]
    if ":" in str(run.get("model")):  # two modules may have a class of one name
        found["model"] = run["model"]
    if init := run.get("init"):
        of = "" if init["hop"] == run.get("hop") else f" of {init['hop']}"
        without = f" without {init['covr']}" if "covr" in init else ""
        found["init"] = f"{init['size']:,} of {init['split']}{of}{without}"
        found["init.learned"] = _shortened(init["learned"])
    found |= {f"{_DROPPED}{name}": share for name, share in (run.get("drop_types") or {}).items()}
    features = run["features"]
    found["features"] = features["kind"]
    found |= {f"features.{name}": value for name, value in features["options"].items()}
    found["features.weights"] = _shortened(features["weights"])
    found["features.code"] = features["code"]
    return found | _of_recipe(run["recipe"])


def dropped(setup: Setup) -> tuple[str, ...]:
    """The types of train questions of which a run left out some."""
    return tuple(name.removeprefix(_DROPPED) for name in setup if name.startswith(_DROPPED))


def dataset_setup(folder: Path, known: Mapping[str, Any]) -> Setup:
    """A dataset's folder, and what a run says of it, with digests instead of dictionaries."""
    found = {"dataset": folder.name}
    for name, value in known.items():
        digest = sha256(json_text(value).encode()).hexdigest() if isinstance(value, dict) else value
        found[f"dataset.{name}"] = _shortened(digest)
    return {**found, "dataset.folder": str(folder)}


def distinct_names(setups: Sequence[Setup]) -> list[str]:
    """A different short name for each of some different setups; one may be "".

    It consists of those settings, in their order, that separate setups which the ones before them do not.
    """
    chosen: list[str] = []
    for name in _names(setups):
        if _n_distinct(setups, [*chosen, name]) > _n_distinct(setups, chosen):
            chosen.append(name)
    return [", ".join(_described(each, chosen)) for each in setups]


def differences(setups: Sequence[Setup]) -> list[str]:
    """The settings of each setup that are not the same in all of them.

    Settings of a stage are left out unless all setups have that stage.
    """
    shared = {None, *set.intersection(*(set(_stages(each)) for each in setups))}
    differ = [n for n in _names(setups) if _n_distinct(setups, [n]) > 1 and _stage_of(n) in shared]
    return [", ".join(_described(each, differ)) for each in setups]


def differences_from_paper(model: str, run: Mapping[str, Any] | None) -> str:
    """How the training of one of the paper's models differs from the package's default for it.

    The default follows the paper, or the public code that the paper followed (docs/models.md). Returns "" if
    nothing differs, and for other models. `run` is None if there are only predictions.
    """
    if model not in _PAPER:
        return ""
    if run is None:
        return "how it was trained is not known"
    config, recipe = _PAPER[model]
    own = {name: value for name, value in setup_of(run).items() if not name.startswith("features.")}
    of_recipe = _of_recipe(as_json_values(recipe.record()))
    paper = {**asdict(config), **of_recipe}
    shared = {None, *_stages(own)} & {None, *_stages(paper)}
    irrelevant = {"form", "weights"}  # how it is computed, and where a file is
    if len(_stages(own)) == len(_stages(paper)) == 1:  # then these are the same as updates
        irrelevant |= {f"{_OF_RECIPE}{stage}.updates" for stage in shared}
    found = []
    for name in _names([own, of_recipe]):
        here, there = own.get(name), paper.get(name)
        is_relevant = name not in irrelevant and _stage_of(name) in shared
        if is_relevant and json_text(here) != json_text(there):
            found.append(f"{name} {_value(here)}, not {_value(there)}")
    return "; ".join(found)


def _of_recipe(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe as flat settings, by the names of `train --set`."""
    stages = recipe["stages"]
    found: dict[str, Any] = {
        "updates": sum(stage["updates"] for stage in stages),
        "recipe.stages": [stage["name"] for stage in stages],
    }
    found |= {f"{_OF_RECIPE}{name}": recipe[name] for name in ("stop_at", "patience") if name in recipe}
    for stage in stages:
        for name, value in stage.items():
            start = f"{_OF_RECIPE}{stage['name']}."
            if name in ("optimiser", "schedule"):
                found |= {start + (name if key == "kind" else key): each for key, each in value.items()}
            elif name not in ("name", "evaluated"):  # which do not decide what a run learns
                found[start + name] = value
    return found


def _stages(setup: Setup) -> Sequence[str]:
    return setup.get("recipe.stages") or ()


def _stage_of(name: str) -> str | None:
    """The stage that a setting belongs to; None for none."""
    stage, dot, _ = name.removeprefix(_OF_RECIPE).rpartition(".")
    return stage if name.startswith(_OF_RECIPE) and dot else None


def _names(setups: Sequence[Setup]) -> list[str]:
    """The settings of some setups: features, the model's, updates, recipe, details of features, dataset."""

    def rank(name: str) -> int:
        if name in ("features", "updates"):
            return 0 if name == "features" else 2
        starts = {_OF_RECIPE: 3, "features.": 4, "dataset": 5}
        return next((number for start, number in starts.items() if name.startswith(start)), 1)

    return sorted(dict.fromkeys(name for each in setups for name in each), key=rank)


def _n_distinct(setups: Sequence[Setup], names: Sequence[str]) -> int:
    return len({tuple(json_text(each.get(name)) for name in names) for each in setups})


def _described(setup: Setup, names: Sequence[str]) -> Iterator[str]:
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


def json_text(value: Any) -> str:
    """A value as JSON with sorted keys, for comparison."""
    return json.dumps(value, sort_keys=True, default=str)


def _shortened(value: Any) -> Any:
    """A digest cut to a length that a person can compare; other values as they are."""
    is_digest = isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")
    return value[:_SHORT_DIGEST] if is_digest else value
