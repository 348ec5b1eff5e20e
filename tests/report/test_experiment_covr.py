"""Experiments on questions about sets of images: their steps, what is refused, a tiny one from end to end."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from clevrhope.__main__ import run_command
from clevrhope.errors import ConfigError
from clevrhope.experiments.checks import check_plan
from clevrhope.experiments.config import read_experiment
from clevrhope.experiments.plan import Plan, make_plan
from wording import refused

TINY = """
jobs = 2
[[dataset]]
name = "d"
seed = 3
splits = ["train", "complex_iid", "complex_ood"]
render = false
covr = true
config.preset = "demo"
config.question_json = false
config.sizes = { covr_train = 1000, covr_dev = 200, covr_test = 200 }
[[dataset.build]]
hops = ["rubber_cylinder"]
[[dataset.features]]
kind = "attributes"
[[model]]
name = "object_transformer"
label = "single"
sizes = [90]
seeds = [1]
updates = 2
set = { features = "attributes", hidden = 8, heads = 2, layers = 1, "recipe.batch_size" = 16 }
[[model]]
name = "object_transformer"
init_from = "single"
sizes = ["1k"]
seeds = [1]
updates = 2
covr_splits = ["", "has-count & has-attr"]
iid_size_of = ["has-count & has-attr"]
shots = 4
set = { features = "attributes", hidden = 8, heads = 2, layers = 1, "recipe.batch_size" = 16 }
[[model]]
name = "question_only"
sizes = ["1k"]
seeds = [1]
updates = 2
covr_splits = ["has-count & has-attr"]
shots = 4
set = { hidden = 8, words = 8, "recipe.batch_size" = 16 }
"""


def planned(folder: Path, text: str = TINY) -> Plan:
    file = folder / "tiny.toml"
    file.write_text(text)
    return make_plan(read_experiment(file, out=folder / "out"))


def test_the_steps_of_runs_on_sets(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    assert "--covr" in plan.datasets["d"].steps[0].arguments
    names = [run.folder.name for run in plan.runs]
    end = "has-count-has-attr-4"
    assert names == [
        "single-rubber_cylinder-90-1",
        "object_transformer-rubber_cylinder-1k-1-covr",
        f"object_transformer-rubber_cylinder-1k-1-without-{end}",
        f"object_transformer-rubber_cylinder-1k-1-size-of-{end}",
        f"question_only-rubber_cylinder-1k-1-without-{end}",
    ]
    single, *rest = plan.runs
    assert [run.source for run in rest] == [single] * 3 + [None]
    assert all(str(single.folder) in run.steps[0].arguments for run in rest[:3])
    options = [
        " ".join(run.steps[0].arguments).partition("--split ")[2].removesuffix(" --quiet") for run in rest
    ]
    assert options[:3] == [
        "covr_train",
        "covr_train --covr-split has-count & has-attr --shots 4",
        "covr_train --iid-size-of has-count & has-attr --shots 4",
    ]
    bound = [run.bound["variant"] for run in rest]
    assert bound[0]["split"] == "covr_train"
    assert bound[1] != bound[2]
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
        check_plan(planned(tmp_path, TINY.replace(old, new, 1)))


@pytest.mark.slow
def test_a_tiny_experiment_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    command = ["experiment", str(tmp_path / "tiny.toml"), "--out", str(tmp_path / "out"), "--quiet"]
    assert run_command(command) == 0, capsys.readouterr().err
    page = (tmp_path / "out/report/report.md").read_text()
    assert "Questions about sets of images (COVR)" in page
    assert "Splits by predicates, on the questions that have the property" in page
    rows = [line for line in page.splitlines() if line.startswith("| (has-count & has-attr)")]
    assert len(rows) == 3
    assert all("transformer (split=covr\\_train) | 4 |" in row for row in rows)
    # Other weights to start from make other runs, which do not take the place of the first ones.
    (tmp_path / "tiny.toml").write_text(TINY.replace("updates = 2", "updates = 3", 1))
    assert run_command([*command[:2], "--out", str(tmp_path / "out"), "--plan"]) == 0
    assert "5 runs, 1 of them done" in capsys.readouterr().out
    (tmp_path / "tiny.toml").write_text(TINY)
    # Nothing is left to do.
    assert run_command([*command[:2], "--out", str(tmp_path / "out"), "--plan"]) == 0
    assert "5 runs, 5 of them done" in capsys.readouterr().out


@pytest.mark.slow
def test_runs_are_left_out_where_their_source_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    out = tmp_path / "out"
    (out / "runs/single-rubber_cylinder-90-1").mkdir(parents=True)
    (out / "runs/single-rubber_cylinder-90-1/notes.txt").touch()
    assert run_command(["experiment", str(tmp_path / "tiny.toml"), "--out", str(out), "--quiet"]) == 1
    error = capsys.readouterr().err
    assert "Left out, as what they start from failed: 3 of 3 runs" in error
    assert sorted(each.name for each in (out / "runs").iterdir() if (each / "finished.json").exists()) == [
        "question_only-rubber_cylinder-1k-1-without-has-count-has-attr-4"
    ]
