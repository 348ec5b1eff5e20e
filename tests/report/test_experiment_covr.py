"""Experiments on questions about sets of images: their steps, what is refused, a tiny one from end to end."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from building import Cli, build_demo
from experiment_grid import FILES, check_steps, plan_of, run_here

from clevrhope.errors import ConfigError
from clevrhope.experiments.checks import check_plan
from clevrhope.experiments.config import ModelConfig
from clevrhope.experiments.plan import make_plan
from clevrhope.experiments.reading import read_experiment
from clevrhope.experiments.run import run_experiment
from wording import refused

TINY = (FILES / "covr.toml").read_text("utf-8")


def test_the_steps_of_runs_on_sets(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "tiny.toml", text=TINY)
    check_steps(plan)
    single, *rest = plan.runs
    assert [run.source for run in rest] == [single] * 3 + [None]
    check_plan(plan)


def test_each_predicate_is_run_with_each_number_of_shots() -> None:
    texts = {"covr_splits": ("", "has-count", "num-2"), "iid_size_of": ("has-count",)}
    model = ModelConfig("film", sizes=(1000,), seeds=(1,), shots=(0, 50), **texts)
    assert [(each.covr_split, each.iid_size_of, each.shots) for each in model.variants] == [
        (None, None, None),
        *(("has-count", None, shots) for shots in (0, 50)),
        *(("num-2", None, shots) for shots in (0, 50)),
        *((None, "has-count", shots) for shots in (0, 50)),
    ]
    (whole,) = ModelConfig("film", sizes=(1000,), seeds=(1,), covr_splits=("num-2",)).variants
    assert (whole.covr_split, whole.shots) == ("num-2", None)


@pytest.mark.slow
def test_a_plan_on_an_existing_folder_says_what_is_held_out(tmp_path: Path, cli: Cli) -> None:
    data, file = tmp_path / "data", tmp_path / "own.toml"
    sizes = {"covr_train": 600, "covr_dev": 100, "covr_test": 100}
    build_demo(data, hops=("none",), sizes=sizes, covr=True, render=False, question_json=False)
    own = f'''[[dataset]]
name = "own"
folder = "{data}"
[[dataset.build]]
hops = ["none"]
[[model]]
name = "question_only"
sizes = [600]
seeds = [1, 2]
covr_splits = ["", "uses:{{some,none}}"]
shots = [0, 4]
'''
    file.write_text(own)
    told = cli("experiment", file, "--plan").out
    (counted, *_), *rest = re.findall(
        r"(\d+) of 600 questions of covr_train have uses:{some,none}; .* (\d) shots", told
    )
    assert 0 < int(counted) < 100
    assert [shots for _, shots in rest] == ["4"]
    assert "6 runs, 0 of them done" in told
    for wrong in ("ans-num & has-quant", "uses:scene", "program-1 | uses:filter_colr"):
        file.write_text(own.replace("uses:{some,none}", wrong))
        with refused(ConfigError):
            check_plan(make_plan(read_experiment(file)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["has-count & has-attr"]\nshots', '["has-count & has-atr"]\nshots'),
        ("covr = true", ""),
        ('sizes = ["1k"]', 'sizes = ["2k"]'),
        ('iid_size_of = ["', 'iid_size_of = ["", "'),
        ('covr_splits = ["", ', 'covr_splits = ["", "", '),
        ("shots = 4", "shots = [0, -1]"),
        ("shots = 4", "shots = [4, 4]"),
        ("shots = 4", 'shots = ["four"]'),
        ('init_from = "single"', 'init_from = "sngle"'),
        ("sizes = [90]", "sizes = [90, 45]"),
        ("seeds = [1]\nupdates = 2\nset", "seeds = [2]\nupdates = 2\nset"),
        ("hidden = 8, heads = 2", "hidden = 8, heads = 4"),
        ('label = "single"', 'label = "single"\ninit_from = "single"'),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in TINY
    with refused(ConfigError):
        check_plan(plan_of(tmp_path / "tiny.toml", text=TINY.replace(old, new, 1)))


@pytest.mark.slow
def test_a_tiny_experiment_from_end_to_end(tmp_path: Path, cli: Cli) -> None:
    command = ["experiment", tmp_path / "tiny.toml", "--out", tmp_path / "out"]
    plan = plan_of(tmp_path / "tiny.toml", text=TINY)
    run_here(plan)
    assert run_experiment(plan).failures == ()
    page = (tmp_path / "out/report/report.md").read_text()
    assert "Questions about sets of images (COVR)" in page
    assert "Splits by predicates, on the questions that have the property" in page
    rows = [line for line in page.splitlines() if line.startswith("| (has-count & has-attr)")]
    assert len(rows) == 3
    assert all("transformer (split=covr\\_train) | 4 |" in row for row in rows)
    # Runs that started from other weights are not those that the file asks for.
    (tmp_path / "tiny.toml").write_text(TINY.replace("updates = 2", "updates = 3", 1))
    assert "5 runs, 1 of them done" in cli(*command, "--plan").out
    (tmp_path / "tiny.toml").write_text(TINY)
    # Nothing is left to do.
    assert "5 runs, 5 of them done" in cli(*command, "--plan").out


@pytest.mark.slow
def test_runs_are_left_out_where_their_source_failed(
    tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FAILS", "runs/single-rubber_cylinder-90-1")
    told: list[str] = []
    made = run_experiment(plan_of(tmp_path / "tiny.toml", text=TINY), tell=told.append)
    assert [each.step for each in made.failures] == ["train-single-rubber_cylinder-90-1"]
    assert "Left out, as what they start from failed: 3 of 3 runs" in told
    assert [path.parent.name for path in (tmp_path / "out/runs").glob("*/finished.json")] == [
        "question_only-rubber_cylinder-1k-1-without-has-count-has-attr-0c1b2a-4"
    ]
