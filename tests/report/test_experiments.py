"""Experiments: what is planned, resumed, survived, with a command line that trains nothing; and all of it."""

import csv
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from building import Cli
from experiment_grid import SMALL, check_steps, plan_of

import clevrhope.report
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.experiments.run import Outcome, run_experiment
from wording import check_refused


def test_a_plan_has_every_pair_size_and_seed(grid: Path, tmp_path: Path) -> None:
    plan = plan_of(grid)
    check_steps(plan)
    assert all(run.folder.name == run.name for run in plan.runs)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_what_is_done_is_not_done_again(grid: Path, tmp_path: Path, asked: Any) -> None:
    plan = plan_of(grid)
    made = run_experiment(plan)
    assert (made.n_done, made.n_new, made.failures, made.report) == (12, 12, (), None)
    assert len(asked()) == 3 + 12 * 2
    assert run_experiment(plan).n_new == 0
    assert asked() == []

    # What is missing of a run is made again.
    (tmp_path / "out" / "runs" / "film-rubber_cylinder-300-1" / "finished.json").unlink()
    assert run_experiment(plan).n_new == 1
    assert [each[0] for each in asked()] == ["train", "evaluate"]


@pytest.mark.parametrize("place", ["config", "data", "runs", "done", "logs", "report"])
def test_an_experiment_writes_through_no_link(place: str, grid: Path, tmp_path: Path, asked: Any) -> None:
    plan = plan_of(grid)
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / place).symlink_to(tmp_path / "elsewhere")
    check_refused(DatasetError, run_experiment, plan)
    assert asked() == []
    assert not any((tmp_path / "elsewhere").iterdir())


def run_changed(grid: Path, *changes: tuple[str, str]) -> Outcome:
    """Of three runs, unless the changes make more."""
    return run_experiment(plan_of(grid, *changes, text=SMALL.replace("seeds = [1, 2]", "seeds = [1]")))


SIZES = "sizes = [300]"


@pytest.mark.slow
def test_a_folder_with_a_run_of_other_settings_is_left_as_it_is(
    grid: Path, tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []

    def report(folders: Sequence[Path], *_: Any, **__: Any) -> Any:
        reported.extend(folder.name for folder in folders)
        return SimpleNamespace(html=tmp_path)

    assert run_changed(grid).n_new == 3
    before = sorted((tmp_path / "out/runs").iterdir())
    monkeypatch.setattr(clevrhope.report, "report", report)
    added = f'{SIZES}\nlabel = "longer"\nupdates = 5'
    made = run_changed(grid, (SIZES, f"{SIZES}\nupdates = 5"))
    assert (len(made.failures), made.n_done, reported) == (3, 0, [])
    assert "another run is in it" in str(made.failures[0])
    assert sorted((tmp_path / "out/runs").iterdir()) == before
    assert run_changed(grid, (SIZES, added)).n_new == 3
    assert len(reported) == 3
    assert all(name.startswith("longer-") for name in reported)
    assert run_changed(grid).n_done == 3


@pytest.mark.slow
def test_options_that_bind_nothing_are_no_other_runs(grid: Path, tmp_path: Path, asked: Any) -> None:
    out = tmp_path / "out"
    run_changed(grid)
    before = sorted((out / "runs").iterdir())
    assert run_changed(grid, (SIZES, f'{SIZES}\noptions = ["--device", "cpu"]')).failures == ()
    assert sorted((out / "runs").iterdir()) == before


def test_two_settings_of_one_model_stand_side_by_side(grid: Path) -> None:
    wide = '[[model]]\nname = "film"\nlabel = "film-wide"\nsizes = [300]\nseeds = [1]\n'
    wide += 'set = { channels = 64, features = "pixels" }\n'
    plan = plan_of(grid, text=f"{SMALL}\n{wide}")
    trained = {run.name: " ".join(run.steps[0].arguments) for run in plan.runs}
    assert len(trained) == 6 + 3
    assert trained["film-wide-rubber_cylinder-300-1"].startswith("train film ")
    assert "channels=64" in trained["film-wide-rubber_cylinder-300-1"]
    unnamed = wide.replace('label = "film-wide"\n', "")
    check_refused(ConfigError, plan_of, grid, text=f"{SMALL}\n{unnamed}")


@pytest.mark.slow
def test_a_dataset_that_is_added_leaves_the_runs_on_the_first(grid: Path, tmp_path: Path, asked: Any) -> None:
    run_changed(grid)
    asked()
    second = '[[dataset]]\nname = "e"\nseed = 4\nconfig.sizes.train = 300\n[[dataset.build]]\n'
    second += 'hops = ["gray_cube"]\n[[dataset.features]]\nkind = "pixels"\n[[model]]'
    made = run_changed(grid, ("[[model]]", second))
    assert (made.n_done, made.n_new) == (3 + 1, 1)
    assert sum(each[0] == "train" for each in asked()) == 1
    assert (tmp_path / "out/runs/film-e-gray_cube-300-1").is_dir()


def kinds(asked: list[list[str]]) -> dict[str, int]:
    return {kind: sum(each[0] == kind for each in asked) for kind in sorted({each[0] for each in asked})}


def with_sizes(**sizes: int) -> tuple[str, str]:
    said = ", ".join(f"{name} = {n}" for name, n in sizes.items())
    return "{ train = 25000 }", f"{{ {said} }}"


@pytest.mark.slow
def test_what_a_larger_dataset_makes_stale_is_made_again_and_nothing_else(grid: Path, asked: Any) -> None:
    run_changed(grid, with_sizes(train=300, complex_ood=10))
    asked()
    # Its test set is answered anew, its train set, which is the same, not learned from again.
    made = run_changed(grid, with_sizes(train=300, complex_ood=20))
    assert (made.n_done, made.n_new) == (3, 3)
    assert kinds(asked()) == {"build": 2, "evaluate": 3, "features": 1}
    # Of a larger train set, runs are on the first so many questions, as before.
    assert run_changed(grid, with_sizes(train=600, complex_ood=20)).n_new == 0
    assert kinds(asked()) == {"build": 2, "features": 1}
    # Another pair is no matter of the pairs that are there.
    more = ('hops = ["rubber_cylinder"]', 'hops = ["rubber_cylinder", "gray_cube"]')
    assert run_changed(grid, with_sizes(train=600, complex_ood=20), more).n_new == 1
    assert kinds(asked()) == {"build": 2, "evaluate": 1, "features": 1, "train": 1}
    assert run_changed(grid, with_sizes(train=600, complex_ood=20), more).n_new == 0
    assert asked() == []


@pytest.mark.slow
def test_features_of_a_dataset_that_grew_are_made_even_if_it_was_stopped_between(
    grid: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_changed(grid)
    monkeypatch.setenv("FAKE_FAILS", "pixels")
    larger = with_sizes(train=25_000, complex_ood=20)
    assert [each.step for each in run_changed(grid, larger).failures] == ["features-d-pixels-0"]
    monkeypatch.delenv("FAKE_FAILS")
    asked()
    run_changed(grid, larger)
    assert kinds(asked()) == {"evaluate": 3, "features": 1}


@pytest.mark.slow
def test_two_stores_of_one_kind_are_two_steps(grid: Path, tmp_path: Path, asked: Any) -> None:
    both = ('kind = "pixels"', 'kind = "pixels"\n[[dataset.features]]\nkind = "pixels"\nsize = "96x64"')
    which = (SIZES, f'{SIZES}\nfeatures = "pixels-96x64"')
    assert run_changed(grid, both, which).n_new == 3
    assert kinds(asked())["features"] == 2
    run_changed(grid, both, which)
    assert asked() == []
    (tmp_path / "out/data/d/features").rmdir()
    run_changed(grid, both, which)
    assert kinds(asked()) == {"features": 2}


@pytest.mark.slow
def test_another_dataset_in_the_folders_place_is_no_dataset_that_runs_were_on(
    grid: Path, tmp_path: Path, asked: Any
) -> None:
    """`train` is asked again then, which is bound to its dataset and refuses."""
    out = tmp_path / "out"
    run_changed(grid)
    (out / "data/d/manifest.json").unlink()
    asked()
    run_changed(grid, ("seed = 3", "seed = 4"))
    assert kinds(asked())["train"] == 3


@pytest.mark.slow
def test_a_run_that_fails_stops_no_other(
    grid: Path, tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FAILS", "film-cyan_cylinder-d4-grid-300-2")
    told: list[str] = []
    reported: list[str] = []

    def report(*_: Any, failures: Sequence[str], **__: Any) -> Any:
        reported.extend(failures)
        return SimpleNamespace(html=tmp_path)

    monkeypatch.setattr(clevrhope.report, "report", report)
    plan = plan_of(grid)
    made = run_experiment(plan, tell=told.append)
    assert (made.n_done, len(made.failures)) == (11, 1)
    assert told[0].startswith(
        "failed: train-film-cyan_cylinder-d4-grid-300-2: the loss is NaN at update 7 (exit code 1; "
    )
    assert reported == [told[0].removeprefix("failed: ")]
    monkeypatch.delenv("FAKE_FAILS")
    asked()
    assert run_experiment(plan).n_new == 1
    assert [each[0] for each in asked()] == ["train", "evaluate"]


def test_without_its_dataset_no_run_begins(grid: Path, asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAILS", "--diversity")
    made = run_experiment(plan_of(grid))
    assert (made.n_done, [each.step for each in made.failures]) == (0, ["build-d-1"])
    assert [each[0] for each in asked()] == ["build", "build"]


def test_a_build_is_told_of_its_simpler_world_and_is_another_when_that_changes(
    grid: Path, tmp_path: Path
) -> None:
    def build(added: str) -> Any:
        return plan_of(grid, ("seed = 3", f"seed = 3\n{added}")).datasets["d"].steps[0]

    plain, simple = build(""), build('asks = ["count"]\nvalues = { sizes = ["large"] }')
    config = tmp_path / "out" / "config"
    assert "--templates" not in plain.arguments
    assert "--properties" not in plain.arguments
    assert simple.arguments[simple.arguments.index("--templates") + 1] == str(config / "d_templates")
    assert simple.arguments[simple.arguments.index("--properties") + 1] == str(config / "d_properties.json")
    simple.made.parent.mkdir(parents=True)
    simple.made.touch()
    simple.set_done()
    assert build('asks = ["count"]\nvalues = { sizes = ["large"] }').done
    assert not build('asks = ["exist"]\nvalues = { sizes = ["large"] }').done
    assert not build('asks = ["count"]\nvalues = { sizes = ["small"] }').done


NO_NETWORK = """
import os, socket, sys
def refuse(event, arguments):
    if event == "socket.getaddrinfo" or (event == "socket.connect" and arguments[0].family != socket.AF_UNIX):
        open(os.environ["TRIED_THE_NETWORK"], "a").write(f"{sys.argv} {arguments}\\n")
        raise OSError("there is no network")
sys.addaudithook(refuse)
"""


@pytest.mark.slow
def test_from_build_to_a_report_with_figures_in_one_command_without_network(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install clevrhope[train]")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install clevrhope[plots]")
    # Every process of the experiment begins with it.
    (tmp_path / "sitecustomize.py").write_text(NO_NETWORK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    monkeypatch.setenv("TRIED_THE_NETWORK", str(tmp_path / "tried"))
    look = "import socket; socket.create_connection(('127.0.0.1', 9))"
    tried = subprocess.run([sys.executable, "-c", look], stderr=subprocess.DEVNULL, check=False)
    assert tried.returncode == 1
    assert (tmp_path / "tried").exists(), "who tries is noticed"
    (tmp_path / "tried").unlink()
    cli("experiment", "smoke", "--out", tmp_path / "smoke", "--quiet")
    page = (tmp_path / "smoke" / "report" / "report.html").read_text()
    assert page.count("<figure aria-label=") >= 2
    assert "Controlled diversity" in page
    with (tmp_path / "smoke/report/results.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "complex_iid"]
    learned = [float(row["mean_percent"]) for row in rows if row["model"] == "object_transformer"]
    assert min(learned) > 60, "a newcomer sees a model that learned something"
    assert not (tmp_path / "tried").exists()
