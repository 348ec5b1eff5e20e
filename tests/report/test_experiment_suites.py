"""Experiments with suites of paired tests, and with models that dropped types of train questions."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from building import Cli, request
from experiment_grid import FILES, check_steps, plan_of

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.errors import ConfigError
from clevrhope.experiments.build_files import Places, subset_suite, write_settings
from clevrhope.experiments.checks import check_plan
from clevrhope.experiments.config import DatasetConfig
from clevrhope.experiments.inputs import DatasetInputs
from clevrhope.pipeline import build
from clevrhope.pipeline.suites import make_suite
from wording import refused

GRID = (FILES / "suites.toml").read_text("utf-8")


@pytest.fixture
def plan(grid: Path) -> Any:
    """Plans the experiment with some changes of its file."""
    return partial(plan_of, grid, text=GRID)


def test_suites_follow_the_features_and_every_run_of_each_drop_answers_them(plan: Any) -> None:
    made = plan()
    check_plan(made)
    check_steps(made)


def test_a_whole_suite_of_a_whole_world_is_the_packages_own(plan: Any) -> None:
    check_steps(plan(('templates = ["zero_hop"]\n', ""), ('["any", "is_there_color"]', "[]")))


@pytest.mark.parametrize(
    "change",
    [
        ("rad = [", "radd = ["),
        ("is_there_color", "is_there_colour"),
        ("carets = []", 'carets = ["order"]'),
        ('templates = ["zero_hop"]', 'asks = ["count"]'),
        ('templates = ["zero_hop"]', 'mentions = ["color"]'),
        ("color=0.5", "color=5"),
        ('"color=0.5"', '""'),
    ],
)
def test_what_is_wrong_is_named(change: tuple[str, str], plan: Any) -> None:
    with refused(ConfigError):
        check_plan(plan(change))


def entries_of(files: dict[str, bytes]) -> list[dict[str, Any]]:
    return [
        entry
        for name, content in files.items()
        if name not in ("subjects.json", "originals.json")
        for entry in json.loads(content)
    ]


def test_a_part_of_a_suite_has_the_chosen_tests_of_the_chosen_templates() -> None:
    entries = entries_of(subset_suite("rad", ["zero_hop", "one_hop"], ["any", "exactly"], "here"))
    assert {entry["test"] for entry in entries} == {"any", "exactly"}
    sources = [family for entry in entries for family in entry["source"]]
    assert {family.split()[0] for family in sources} == {"zero_hop", "one_hop"}
    every = entries_of(subset_suite("carets", ["zero_hop"], (), "here"))
    assert {"rephrase", "negation"} <= {entry["test"] for entry in every}
    assert "order" not in {entry["test"] for entry in every}


def settings(*names: str) -> DatasetConfig:
    return DatasetConfig(
        name="d",
        builds=({"hops": names},),  # type: ignore[arg-type]
        seed=3,
        templates=("zero_hop",),
        suites={"rad": ("is_there_color", "any"), "carets": ("rephrase",)},
    )


@pytest.mark.slow
def test_the_pairs_of_a_part_of_a_suite_pass_the_audit(tmp_path: Path, cli: Cli) -> None:
    places = Places(tmp_path, settings("rubber_cylinder"))
    write_settings(places, "here")
    sizes = {"train": 60, "complex_iid": 120, "complex_ood": 60}
    build(request(places.data, sizes=sizes, render=False, templates=places.templates))
    own = places.templates / "suites/rad_d"
    cli("suite", "rad_d", places.data, "--templates", own, "--quiet")
    made = read_table(Layout(places.data).suite_h5("rubber_cylinder", "rad_d", "complex_iid"), PAIRS)
    assert set(made.tests) == {"is_there_color", "any"}
    assert len(made) > 20
    cli("audit", places.data, "--templates", places.templates)


@pytest.mark.slow
def test_pairs_are_made_again_if_the_questions_change_and_answered_if_the_pairs_do(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    build(request(folder, sizes={"train": 60, "complex_iid": 60}, render=False))

    def digests() -> tuple[str, str]:
        sources = DatasetInputs(folder, "sources")
        return sources.digest, DatasetInputs(folder, "tests/rubber_cylinder").digest

    before = digests()
    make_suite(folder, "rad")
    paired = digests()
    assert paired[0] == before[0]
    assert paired[1] != before[1]
    build(request(folder, sizes={"train": 60, "complex_iid": 90}, render=False))
    assert digests()[0] != before[0]
