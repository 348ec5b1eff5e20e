"""Experiments whose runs are trained in one process: their steps are done, and other steps run as ever."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from clevrhope.experiments import engines
from clevrhope.experiments import run as running
from clevrhope.experiments.plan import Chain, Plan, make_plan
from clevrhope.experiments.reading import read_experiment
from clevrhope.experiments.run import run_experiment
from clevrhope.training.checkpoints import states_in
from clevrhope.training.evaluation import evaluate
from clevrhope.training.loop import Loop
from clevrhope.training.member import Member

GRID = Path(__file__).with_name("together.toml").read_text("utf-8")


def planned(text: str, dataset: Path, out: Path) -> Plan:
    file = out / "grid.toml"
    file.write_text(text.replace("DATASET", str(dataset)))
    return make_plan(read_experiment(file, out=out / "out"))


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Evaluates in this process in place of others; gives the names of the steps that were left to them."""
    names: list[str] = []

    def run_chain(chain: Chain, **_: Any) -> None:
        for step in chain.steps:
            if not step.done:
                names.append(step.name)
                if (Path(step.arguments[1]) / "finished.json").exists():
                    evaluate(Path(step.arguments[1]), device="cpu")
                    step.set_done()

    for module in (engines, running):
        monkeypatch.setattr(module, "run_chain", run_chain)
    return names


@pytest.mark.slow
def test_runs_are_trained_here_and_evaluated_as_ever(dataset: Path, tmp_path: Path, steps: list[str]) -> None:
    plan = planned(GRID, dataset, tmp_path)
    made = run_experiment(plan, engine="together")
    assert not made.failures
    assert (made.n_runs, made.n_done, made.n_new) == (4, 4, 4)
    assert made.report is not None
    runs = [f"tensor_nmn-{hop}-60-{seed}" for hop in ("rubber_cylinder", "none") for seed in (1, 2)]
    assert sorted(steps) == sorted(f"evaluate-{run}" for run in runs)
    steps.clear()
    plan = planned(GRID.replace("[1, 2]", "[1, 2, 3]"), dataset, tmp_path)
    assert run_experiment(plan, engine="together").n_new == 2
    assert sorted(steps) == ["evaluate-tensor_nmn-none-60-3", "evaluate-tensor_nmn-rubber_cylinder-60-3"]


@pytest.mark.slow
def test_tables_that_cannot_be_trained_together_are_left_to_processes(
    dataset: Path, tmp_path: Path, steps: list[str]
) -> None:
    other = '[[model]]\nname = "question_only"\nsizes = [60]\nseeds = [1]\n'
    other += 'set = { "recipe.batch_size" = 20 }\n'
    plan = planned(GRID + other, dataset, tmp_path)
    told: list[str] = []
    run_experiment(plan, engine="together", tell=told.append)
    assert "2 runs are not trained together, each has a process of its own: question_only cannot" in told[0]
    assert [name for name in steps if name.startswith("train-")] == [
        f"train-question_only-{hop}-60-1" for hop in ("rubber_cylinder", "none")
    ]


@pytest.mark.slow
def test_a_stopped_experiment_resumes(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(GRID, dataset, tmp_path)
    log_loss = Loop._log_loss

    def log_and_stop(loop: Loop, member: Member, *arguments: Any, **options: Any) -> None:
        log_loss(loop, member, *arguments, **options)
        if member.done.update == 3 and member.run.folder.root == plan.runs[1].folder:
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(Loop, "_log_loss", log_and_stop)
        with pytest.raises(KeyboardInterrupt):
            run_experiment(plan, engine="together")
    assert {states_in(run.folder / "state")[-1].name for run in plan.runs} == {"000000004"}
    assert run_experiment(plan, engine="together").n_done == 4


@pytest.mark.slow
def test_a_run_that_fails_stops_no_other(dataset: Path, tmp_path: Path, steps: list[str]) -> None:
    plan = planned(GRID, dataset, tmp_path)
    folder = plan.runs[1].folder
    folder.mkdir(parents=True)
    (folder / "vocab.json").touch()
    made = run_experiment(plan, engine="together")
    assert [each.step for each in made.failures] == [f"train-{folder.name}"]
    assert "vocab.json is in it, but no run.json" in made.failures[0].message
    assert made.n_done == 3
    assert len(steps) == 3


@pytest.mark.slow
def test_an_experiment_of_runs_that_cannot_be_trained_together_is_as_ever(
    dataset: Path, tmp_path: Path, steps: list[str]
) -> None:
    plan = planned(GRID.replace("[model.set]", 'drops = ["count=0.5"]\n[model.set]'), dataset, tmp_path)
    told: list[str] = []
    assert run_experiment(plan, engine="together", tell=told.append).n_done == 0  # the fixture trains nothing
    assert len(told) == 1
    assert [name.partition("-")[0] for name in steps] == ["train", "evaluate"] * 4
