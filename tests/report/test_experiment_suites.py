"""Experiments with suites of paired tests, and with models that dropped types of train questions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from building import request

from clevrhope.__main__ import run_command
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.errors import ConfigError
from clevrhope.experiments.build_files import Places, subset_suite, write_settings
from clevrhope.experiments.checks import check_plan
from clevrhope.experiments.config import DatasetConfig, read_experiment
from clevrhope.experiments.inputs import DatasetInputs
from clevrhope.experiments.plan import Plan, make_plan
from clevrhope.pipeline import build
from clevrhope.pipeline.suites import make_suite
from wording import refused

GRID = """
[[dataset]]
name = "d"
seed = 3
splits = ["train", "complex_iid", "complex_ood"]
templates = ["zero_hop"]
suites = { rad = ["any", "is_there_color"], carets = [] }
render = false
config.sizes = { train = 300 }
[[dataset.build]]
hops = ["rubber_cylinder", "cyan_cylinder"]
[[dataset.features]]
kind = "attributes"
[[model]]
name = "object_transformer"
hops = ["cyan_cylinder"]
sizes = [300]
seeds = [1]
drops = ["", "color=0.5", "size=0.9,shape=0.9"]
[model.set]
features = "attributes"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pytest.importorskip("torch", reason="torch is not installed: pip install clevrhope[train]")
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    return path


def plan_of(file: Path) -> Plan:
    return make_plan(read_experiment(file, out=file.parent / "out"))


def test_suites_follow_the_features_and_every_run_answers_them(file: Path) -> None:
    plan = plan_of(file)
    check_plan(plan)
    out = file.parent / "out"
    steps = [step.arguments for step in plan.datasets["d"].steps]
    assert [each[0] for each in steps] == ["build", "features", "suite", "suite"]
    assert "--no-render" in steps[0]
    own = str(out / "config/d_templates/suites/rad_d")
    assert steps[2] == ("suite", "rad_d", str(out / "data/d"), "--templates", own, "--quiet")
    for run in plan.runs:
        train, evaluate, suites = (step.arguments for step in run.steps)
        assert evaluate == ("evaluate", train[train.index("--out") + 1], "--quiet")
        assert suites == (*evaluate[:-1], "--suite", "rad_d", "--suite", "carets_d", "--quiet")


def test_each_drop_is_a_run_of_its_own(file: Path) -> None:
    runs = {run.name: run for run in plan_of(file).runs}
    plain = "object_transformer-cyan_cylinder-300-1"
    assert [*runs] == [plain, f"{plain}-without-color0.5", f"{plain}-without-size0.9-shape0.9"]
    dropped = [run.steps[0].arguments for run in runs.values()]
    assert "--drop-type" not in dropped[0]
    assert [each[each.index("--drop-type") + 1] for each in dropped[1:]] == [
        "color=0.5",
        "size=0.9,shape=0.9",
    ]


def test_a_whole_suite_of_a_whole_world_is_the_packages_own(file: Path) -> None:
    text = GRID.replace('templates = ["zero_hop"]\n', "").replace('["any", "is_there_color"]', "[]")
    file.write_text(text)
    steps = [step.arguments for step in plan_of(file).datasets["d"].steps]
    assert [each[1] for each in steps if each[0] == "suite"] == ["rad", "carets"]
    assert not any("--templates" in each for each in steps)


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
def test_what_is_wrong_is_named(file: Path, change: tuple[str, str]) -> None:
    assert change[0] in GRID
    file.write_text(GRID.replace(*change))
    with refused(ConfigError):
        check_plan(plan_of(file))


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
def test_the_pairs_of_a_part_of_a_suite_pass_the_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = Places(tmp_path, settings("rubber_cylinder"))
    write_settings(places, "here")
    sizes = {"train": 60, "complex_iid": 120, "complex_ood": 60}
    build(request(places.data, sizes=sizes, render=False, templates=places.templates))
    own = places.templates / "suites/rad_d"
    assert run_command(["suite", "rad_d", str(places.data), "--templates", str(own), "--quiet"]) == 0
    made = read_table(Layout(places.data).suite_h5("rubber_cylinder", "rad_d", "complex_iid"), PAIRS)
    assert set(made.tests) == {"is_there_color", "any"}
    assert len(made) > 20
    audit: Sequence[str] = ["audit", str(places.data), "--templates", str(places.templates)]
    assert run_command([*audit]) == 0, capsys.readouterr().out


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
