"""The comparison of definitions of levels: known answers, and the page's tables from the published counts."""

import csv
import re
import tomllib
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.levels import ALONE, COUNTS, MODEL, Run, definitions, levels, score

REPOSITORY = Path(__file__).parents[2]
SHIPPED = "length_four"
SIMPLE = {
    "points": [1, 2],
    "relation_functions": ["relate", "with_relation"],
    "single": {"functions": [8], "relations": [1], "objects": []},
}
N = 400


def made_run(percents: tuple[int, int, int], n_images: int = 200) -> Run:
    """A run with N questions on each of the three levels of `SIMPLE`, a part of which is right."""
    rng = np.random.default_rng(7)
    level = np.repeat([0, 1, 2], N)
    counts = {
        "functions": np.where(level > 0, 8, 7),
        "by_place": np.where(level > 1, 2, 0),
        "by_value": np.full(len(level), 3),
        "objects": np.full(len(level), 9),
    }
    right = np.concatenate([rng.permutation(N) < N * percent // 100 for percent in percents])
    table: Any = SimpleNamespace(image_idxs=np.tile(np.arange(N) % n_images, 3))
    return Run(1, table, counts, ["count"] * len(right), {MODEL: right, ALONE: right})


def test_levels_by_points() -> None:
    given = ([7, 8, 8], [0, 0, 1], [5, 5, 5], [3, 3, 3])
    counts = {name: np.array(values) for name, values in zip(COUNTS, given, strict=True)}
    assert levels(SIMPLE, counts).tolist() == [1, 2, 3]
    by_both = SIMPLE | {"relation_functions": ["relate", "with_relation", "same_", "with_same_"]}
    assert levels(by_both, counts).tolist() == [2, 3, 3]


@pytest.mark.parametrize(
    ("percents", "holds"), [((80, 60, 40), True), ((80, 60, 59), False), ((80, 50, 60), False)]
)
def test_a_definition_holds_if_every_step_is_down_by_its_interval(
    percents: tuple[int, int, int], holds: bool
) -> None:
    found = score([made_run(percents), made_run(percents)], SIMPLE, MODEL)
    assert found.questions.tolist() == [2 * N] * 3
    assert found.percent.tolist() == list(percents)
    assert found.of_runs.tolist() == [list(percents)] * 2
    assert found.steps[:, 0].tolist() == [b - a for a, b in pairwise(percents)]
    assert (found.steps[:, 1] < found.steps[:, 0]).all()
    assert (found.steps[:, 0] < found.steps[:, 2]).all()
    assert found.holds == holds


def test_an_interval_is_as_wide_as_images_differ() -> None:
    """All answers about an image are right, or all wrong: the interval is that of so many images."""
    right = np.tile(np.arange(N) % 50 < 25, 3)
    run = made_run((50, 50, 50), n_images=50)
    found = score([Run(1, run.table, run.counts, run.asks, {MODEL: right})], SIMPLE, MODEL)
    width = 2 * 1.96 * 100 * (0.25 / 50) ** 0.5
    assert found.high - found.low == pytest.approx([width] * 3, rel=0.1)
    assert np.abs(found.steps).max() < 1e-9, "of each image, all levels are equally right"


@cache
def published(name: str, seed: int | None = None, **of: str) -> dict[str, list[float]]:
    """Questions on each level of a definition, and how many are right by model, of one run or of both.

    `of` takes the rows with these cells alone.
    """
    with (REPOSITORY / "docs" / "results_levels.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if seed is None or int(row["seed"]) == seed]
    rows = [row for row in rows if of.items() <= row.items()]
    counts = {each: np.array([int(row[each]) for row in rows]) for each in COUNTS}
    on = levels(definitions()[name], counts)
    columns = ("questions", *(f"right_{model}" for model in (MODEL, ALONE)))
    return {each: np.bincount(on, weights=[int(row[each]) for row in rows])[1:].tolist() for each in columns}


def percents(name: str, model: str, seed: int | None = None, **of: str) -> list[float]:
    found = published(name, seed, **of)
    return [100 * right / n for right, n in zip(found[f"right_{model}"], found["questions"], strict=True)]


def test_the_page_has_the_numbers_of_the_published_counts() -> None:
    page = (REPOSITORY / "docs" / "training_vlms.md").read_text("utf-8")
    page = re.sub(r" \[[^\]|]*\](?!\()", "", page)  # intervals need draws
    for name in definitions():
        falls = ", ".join(f"{value:.1f}" for value in percents(name, MODEL))
        assert re.search(rf"^\| `{name}` \|.*\| {re.escape(falls)} \|", page, re.MULTILINE), (name, falls)
    assert sum(published(SHIPPED)["questions"]) == 24_000
    model, alone = (percents(SHIPPED, each) for each in (MODEL, ALONE))
    for k, n in enumerate(published(SHIPPED)["questions"]):
        step = "" if k == 0 else f"{model[k] - model[k - 1]:+.1f}".replace("-", "\N{MINUS SIGN}")
        each = ", ".join(f"{percents(SHIPPED, MODEL, seed)[k]:.1f}" for seed in (2, 3))
        row = f"\n| {k + 1} | {n:,.0f} | {model[k]:.1f} | {step} | {each} | {alone[k]:.1f} |\n"
        assert row.replace("|  |", "| |") in page


def test_the_page_has_the_breakdown_of_the_published_counts() -> None:
    page = " ".join((REPOSITORY / "docs" / "training_vlms.md").read_text("utf-8").split())
    of_kind = {kind: percents(SHIPPED, MODEL, asks=kind) for kind in ("value", "comparison", "count")}
    falls = ", ".join(f"{value:.1f}" for value in of_kind["value"][:-1])
    assert f"ask for a value, {falls} and {of_kind['value'][-1]:.1f}% are right" in page
    of_comparisons, of_counts = (
        sorted(round(value) for value in of) for of in (of_kind["comparison"][1:], of_kind["count"])
    )
    assert f"comparisons it is {of_comparisons[0]} to {of_comparisons[-1]}% on levels 2 to 4" in page
    assert f"of counts {of_counts[0]} to {of_counts[-1]}% on all" in page


def test_the_package_has_the_definition_that_was_chosen() -> None:
    there = tomllib.loads((files("clevrhope.dataset") / "levels.toml").read_text("utf-8"))
    chosen = definitions()[SHIPPED]
    assert there["points"] == chosen["points"]
    for kind in ("single", "sets"):
        assert there[kind] | {"relations": []} == chosen[kind]
    assert all(below < above for above, below in pairwise(percents(SHIPPED, MODEL)))
