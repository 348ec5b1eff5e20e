"""Grids of settings: a list in a [[model]] table is a run for each of its values."""

from pathlib import Path

import pytest
from experiment_grid import GRID, plan_of

from clevrhope.errors import ConfigError
from clevrhope.experiments.plan import Plan
from wording import check_refused

ALONE = GRID[: GRID.index("[[model]]")]
SET = 'set = { features = "pixels", channels = 8, "recipe.rate" = [5e-5, 1e-4] }'
HEAD = '[[model]]\nname = "film"\nsizes = [300]\nseeds = [1]\nhops = ["rubber_cylinder"]\n'


def runs(plan: Plan) -> list[str]:
    return [run.name for run in plan.runs]


def test_lists_are_multiplied_and_runs_are_named_by_their_settings(grid: Path) -> None:
    plan = plan_of(grid, text=f"{ALONE}{HEAD}updates = [100, 200]\n{SET}\n")
    assert runs(plan) == [
        "film-updates100-rate5e-05-rubber_cylinder-300-1",
        "film-updates100-rate0.0001-rubber_cylinder-300-1",
        "film-updates200-rate5e-05-rubber_cylinder-300-1",
        "film-updates200-rate0.0001-rubber_cylinder-300-1",
    ]
    trained = [run.steps[0].arguments for run in plan.runs]
    given = [(each[each.index("--updates") + 1], "recipe.rate=0.0001" in each) for each in trained]
    assert given == [("100", False), ("100", True), ("200", False), ("200", True)]
    assert all("channels=8" in each for each in trained)
    # Settings differ, so each is a stack of its own for --engine together.
    assert [run.model for run in plan.runs] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ('name = ["film", "tensor_nmn"]', ["film", "tensor_nmn"]),
        ('name = ["film", "tensor_nmn"]\nlabel = "mine"', ["mine-film", "mine-tensor_nmn"]),
        ('name = "film"\nlabel = "mine"\nset = { channels = [8] }', ["mine-channels8"]),
        (
            'name = "film"\nset = { "recipe.a.rate" = [0.5], "recipe.b.rate" = [1.0, 2.0] }',
            ["film-recipe.a.rate0.5-recipe.b.rate1.0", "film-recipe.a.rate0.5-recipe.b.rate2.0"],
        ),
        ('name = "film"\nfeatures = ["a/b", "a-b"]', ["film-features1", "film-features2"]),
        # An own model's setting that is a list itself is given as an element of a list.
        ('name = "own:M"\nset = { sizes = [[1, 2], [3]] }', ["M-sizes1-2", "M-sizes3"]),
    ],
)
def test_labels_can_be_read(text: str, labels: list[str], grid: Path) -> None:
    rest = 'sizes = [300]\nseeds = [1]\nhops = ["rubber_cylinder"]\n'
    plan = plan_of(grid, text=f"{ALONE}[[model]]\n{rest}{text}\n")
    assert runs(plan) == [f"{label}-rubber_cylinder-300-1" for label in labels]


def test_a_run_of_a_grid_can_be_what_another_model_starts_from(grid: Path) -> None:
    second = (
        HEAD.replace("[300]", "[25]") + 'label = "late"\ninit_from = ["film-rate5e-05", "film-rate0.0001"]'
    )
    plan = plan_of(
        grid, text=f"{ALONE}{HEAD}{SET}\n{second}\nset = {{ features = 'pixels', channels = 8 }}\n"
    )
    sources = [run.source.name for run in plan.runs if run.source is not None]
    assert sources == [f"film-rate{rate}-rubber_cylinder-300-1" for rate in ("5e-05", "0.0001")]


MANY = ", ".join(map(str, range(1, 41)))


@pytest.mark.parametrize(
    "text",
    [
        f"updates = [{MANY}]\nkeep_every = [{MANY}]",  # more settings than runs are allowed
        f"updates = [{MANY}]\nseeds = [{MANY.replace('40', '41')}]",  # more with seeds
        "updates = []",
        "set = { channels = [] }",
        "updates = [100, 100]",
        'updates = [100, "x"]',
        "updates = [100, 0]",
        'label = ["a", "b"]',
        'set = { a = ["x", "y"], b = 1 }\nlabel = "' + "m" * 100 + '"',
    ],
)
def test_what_is_no_grid_is_refused(text: str, grid: Path) -> None:
    head = HEAD.replace("seeds = [1]\n", "") if "seeds" in text else HEAD
    check_refused(ConfigError, plan_of, grid, text=f"{ALONE}{head}{text}\n")


def test_1_000_runs_are_no_grid_too_many(grid: Path) -> None:
    seeds = ", ".join(map(str, range(25)))
    head = HEAD.replace("seeds = [1]", f"seeds = [{seeds}]")
    assert len(plan_of(grid, text=f"{ALONE}{head}updates = [{MANY}]\n").runs) == 1_000
