"""The table of docs/models.md has every setting of every model, with the default that the code has."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from clevrhope.models.names import MODELS, find_model
from clevrhope.models.recipe import Recipe, Stage

PAGE = (Path(__file__).parents[2] / "docs/models.md").read_text("utf-8")
NOT_SET = ("name", "loss", "trains", "evaluated")
"""Fields of a stage that say what it does."""


@pytest.mark.parametrize("name", MODELS)
def test_the_table_has_every_default_of_a_model(name: str) -> None:
    model: Any = find_model(name)
    config = {each.name: each.default for each in fields(model.settings)}
    assert documented(name, model.recipe) == {**config, **recipe_defaults(model.recipe)}


def recipe_defaults(recipe: Recipe) -> dict[str, Any]:
    """What a recipe has, by the names of `train --set`, each of each stage."""
    found: dict[str, Any] = {"recipe.precision": recipe.precision}
    for stage in recipe.stages:
        values = {each.name: getattr(stage, each.name) for each in fields(Stage) if each.name not in NOT_SET}
        values["groups"] = values["groups"] or None
        optimiser, schedule = vars(values.pop("optimiser")), vars(values.pop("schedule"))
        values |= {"optimiser" if name == "kind" else name: value for name, value in optimiser.items()}
        values |= {"schedule" if name == "kind" else name: value for name, value in schedule.items()}
        found |= {f"recipe.{stage.name}.{name}": value for name, value in values.items()}
    return found


def documented(model: str, recipe: Recipe) -> dict[str, Any]:
    """What the table says of a model; a setting of all stages is one of each of them."""
    told: dict[str, Any] = {}
    table = PAGE.split("| model | setting | default | source |")[1]
    for models, names, values, source in re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", table, re.M):
        assert source.strip()
        if f"`{model}`" not in models.split(", "):
            continue
        for name, value in zip(re.findall(r"`([\w.]+)`", names), values.split(", "), strict=True):
            _, _, field = name.rpartition("recipe.")
            stages = [name]
            if name.startswith("recipe.") and name != "recipe.precision" and "." not in field:
                stages = [f"recipe.{stage.name}.{field}" for stage in recipe.stages]
            for each in stages:
                assert each not in told, f"{model}: {each} is in two rows"
                told[each] = read(value, empty="" if name == "weights" else None)
    return told


def read(text: str, *, empty: Any) -> Any:
    """A value as the table has it: 218,750 or 1e-8, none, false, a word, or two numbers joined by "and"."""
    if text == "none":
        return empty
    if text == "false":
        return False
    if " and " in text:
        return tuple(float(each) for each in text.split(" and "))
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text
