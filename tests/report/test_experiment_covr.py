"""Experiments on questions about sets of images: their steps, what is refused, a tiny one from end to end."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from building import Cli
from experiment_grid import FILES, check_steps, plan_of

from clevrhope.errors import ConfigError
from clevrhope.experiments.checks import check_plan
from wording import refused

TINY = (FILES / "covr.toml").read_text("utf-8")


def test_the_steps_of_runs_on_sets(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "tiny.toml", text=TINY)
    check_steps(plan)
    single, *rest = plan.runs
    assert [run.source for run in rest] == [single] * 3 + [None]
    check_plan(plan)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["has-count & has-attr"]\nshots', '["has-count & has-atr"]\nshots'),
        ("covr = true", ""),
        ('sizes = ["1k"]', 'sizes = ["2k"]'),
        ('iid_size_of = ["', 'iid_size_of = ["", "'),
        ('covr_splits = ["", ', 'covr_splits = ["", "", '),
        ("shots = 4", "shots = -1"),
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
    (tmp_path / "tiny.toml").write_text(TINY)
    command = ["experiment", tmp_path / "tiny.toml", "--out", tmp_path / "out"]
    cli(*command, "--quiet")
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
def test_runs_are_left_out_where_their_source_failed(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    out = tmp_path / "out"
    (out / "runs/single-rubber_cylinder-90-1").mkdir(parents=True)
    (out / "runs/single-rubber_cylinder-90-1/notes.txt").touch()
    made = cli("experiment", tmp_path / "tiny.toml", "--out", out, "--quiet", code=1)
    assert "Left out, as what they start from failed: 3 of 3 runs" in made.err
    assert sorted(each.name for each in (out / "runs").iterdir() if (each / "finished.json").exists()) == [
        "question_only-rubber_cylinder-1k-1-without-has-count-has-attr-4"
    ]
