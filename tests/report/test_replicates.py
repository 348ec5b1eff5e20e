"""Replicates of a dataset in experiments, and the questions that all diversities of one answer."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install clevrhope[train]")

from experiment_grid import FILES, check_steps, plan_of

from clevrhope.errors import ConfigError
from clevrhope.experiments.checks import check_plan
from clevrhope.experiments.plan import Plan
from wording import check_refused, refused

PALETTES = (FILES / "replicates.toml").read_text("utf-8")
MODEL = 'name = "question_only"'
REACHING = 'reaching = 90\nkeep_last = 3\nkeep_every = 10\noptions = ["--tune-on", "val"]'


@pytest.fixture
def plan(tmp_path: Path) -> Any:
    """Plans the experiment with some changes of its file."""
    return partial(plan_of, tmp_path / "palettes.toml", text=PALETTES)


def commands(plan: Plan, run: str) -> list[str]:
    """The command lines of a run, without what is the same in all."""
    (chain,) = [each for each in plan.runs if each.folder.name == run]
    return [" ".join(step.arguments[2:-1]) for step in chain.steps if step.arguments[0] == "evaluate"]


@pytest.mark.slow
def test_a_dataset_of_several_seeds_is_several_datasets(plan: Any) -> None:
    """The runs of the first one leave its name out; those of larger diversities answer the smallest, too."""
    made = plan()
    assert list(made.datasets) == ["hour-7", "hour-2", "plain"]
    check_steps(made)
    assert made.experiment.tables == (0, 0, 1), "messages name the table in the file"
    check_plan(made)


def test_a_run_can_have_the_seed_of_its_dataset(plan: Any) -> None:
    made = plan(("seeds = [1]", 'seeds = "dataset"'))
    assert {(run.dataset, run.folder.name.rpartition("-")[2]) for run in made.runs} == {
        ("hour-7", "7"),
        ("hour-2", "2"),
        ("plain", "1"),
    }


@pytest.mark.parametrize(
    ("named", "datasets"),
    [
        ('["hour"]', {"hour-7", "hour-2"}),
        ('["hour-2"]', {"hour-2"}),
        ('["plain", "hour-7"]', {"hour-7", "plain"}),
        ('["hour", "hour-2"]', {"hour-7", "hour-2"}),
    ],
)
def test_models_name_a_dataset_or_one_of_its_replicates(named: str, datasets: set[str], plan: Any) -> None:
    made = plan((MODEL, f"{MODEL}\ndatasets = {named}"))
    assert {run.dataset for run in made.runs} == datasets


@pytest.mark.parametrize(
    "change",
    [
        ("seeds = [7, 2]", "seeds = [7, 2]\nseed = 1"),
        ("seeds = [7, 2]", 'seeds = [7]\nfolder = "there"'),
        ("seeds = [7, 2]", "seeds = [7, 7]"),
        ("seeds = [7, 2]", "seeds = [-7]"),
        ("seeds = [7, 2]", "seeds = []"),
        ('name = "plain"', 'name = "hour-2"'),
        ('name = "plain"', 'name = "hour"'),
        (MODEL, f'{MODEL}\ndatasets = ["hour-3"]'),
        (MODEL, f"{MODEL}\nreaching = 90"),
    ],
)
def test_what_does_not_go_together_is_named(change: tuple[str, str], plan: Any) -> None:
    check_refused(ConfigError, plan, change)


@pytest.mark.parametrize(
    "change",
    [
        (REACHING, "reaching = 90\nkeep_last = 3\nkeep_every = 10"),
        ("reaching = 90", "reaching = 101"),
        (REACHING, f'{REACHING}\nevaluate = ["--checkpoint", "last"]'),
        (REACHING, f'{REACHING}\nevaluate = ["--hop", "cyan_cylinder-d4"]'),
    ],
)
@pytest.mark.slow
def test_what_no_run_can_do_is_refused_before_the_first_step(change: tuple[str, str], plan: Any) -> None:
    check_plan(plan((MODEL, f"{MODEL}\n{REACHING}")))
    with refused(ConfigError) as error:
        check_plan(plan((MODEL, f"{MODEL}\n{REACHING}"), change))
    assert "\n" not in str(error.value)


def test_tuning_on_a_split_that_is_not_built_is_refused(plan: Any) -> None:
    without = ("[dataset.config.sizes]", 'splits = ["train", "complex_iid"]\n[dataset.config.sizes]')
    with refused(ConfigError):
        check_plan(plan((MODEL, f"{MODEL}\n{REACHING}"), without))


def test_options_of_evaluate_hold_for_the_smallest_ones_test_set_as_well_but_for_splits(plan: Any) -> None:
    made = plan((MODEL, f'{MODEL}\n{REACHING}\nevaluate = ["--splits", "complex_iid", "--device", "cpu"]'))
    assert commands(made, "question_only-hour-2-gray_cube-d8-100-1") == [
        "--reaching 90 --splits complex_iid --device cpu",
        "--reaching 90 --device cpu --hop gray_cube-d4 --splits complex_ood",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        [("diversity = [16, 4, 8]", 'diversity = [16, 4, 8]\nmode = "grid"')],
        [("seeds = [7, 2]", 'seeds = [7, 2]\nsplits = ["train", "complex_iid"]')],
        [
            ("seeds = [7, 2]", "seeds = [7, 2]\ncovr = true"),
            (MODEL, f'{MODEL}\ndatasets = ["hour"]\ncovr_splits = [""]'),
        ],
    ],
    ids=["grids do not contain each other", "no such test set", "runs on sets of images"],
)
def test_there_is_nothing_for_all_diversities_to_answer(changes: list[tuple[str, str]], plan: Any) -> None:
    runs = plan(*changes).runs
    assert len(runs) >= 12
    assert all(len([step for step in run.steps if step.arguments[0] == "evaluate"]) == 1 for run in runs)


def test_the_smallest_diversity_may_be_of_another_build(plan: Any) -> None:
    first = 'hops = ["cyan_cylinder", "gray_cube"]\ndiversity = [16, 4, 8]'
    pair = 'hops = ["cyan_cylinder"]\ndiversity = '
    two = f"{pair}[16]\n[[dataset.build]]\n{pair}[8]"
    assert commands(plan((first, two)), "question_only-cyan_cylinder-d16-100-1") == [
        "",
        "--hop cyan_cylinder-d8 --splits complex_ood",
    ]


def test_the_smallest_ones_test_set_is_answered_again_where_it_changed(plan: Any) -> None:
    made = plan()
    (run,) = [each for each in made.runs if each.folder.name == "question_only-cyan_cylinder-d16-100-1"]
    data = made.experiment.out / "data/hour-7"
    hops = ("cyan_cylinder-d4", "cyan_cylinder-d8", "cyan_cylinder-d16")

    def write(**digests: str) -> None:
        files = {
            f"hops/{hop}/{split}.h5": {"sha256": digests.get(hop[-2:], "first") if split != "train" else "t"}
            for hop in hops
            for split in ("train", "complex_ood")
        }
        data.mkdir(parents=True, exist_ok=True)
        (data / "manifest.json").write_text(json.dumps({"seed": 7, "files": files, "n": len(str(digests))}))

    write()
    for step in run.steps:
        step.made.parent.mkdir(parents=True, exist_ok=True)
        step.made.mkdir(exist_ok=True)
        step.set_done()
    assert run.done

    def left() -> list[str]:
        return [step.name.partition("-")[0] for step in run.steps if not step.done]

    write(d4="grown")
    assert left() == ["smallest"]
    write(d8="grown")
    assert left() == []
    write(**{"16": "grown"})
    assert left() == ["evaluate"]
