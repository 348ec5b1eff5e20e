"""Experiments' files: what is wrong in one is named; paths, simpler worlds, and the package's own files."""

import json
from pathlib import Path
from typing import Any

import pytest
from building import request
from experiment_grid import GRID

from clevrhope.__main__ import run_command
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.experiments.build_files import subset_templates, subset_values
from clevrhope.experiments.checks import check_plan
from clevrhope.experiments.config import find_file, read_experiment, shipped_experiments
from clevrhope.experiments.plan import make_plan
from clevrhope.pipeline import build
from clevrhope.runtime import assets
from wording import refused


@pytest.mark.parametrize(
    "change",
    [
        ("jobs = 2", "job = 2"),
        ("jobs = 2", 'jobs = "all"'),
        ("seed = 3", ""),
        ('kind = "pixels"', ""),
        ("seeds = [1, 2]", "seeds = [1, 1]"),
        ("seeds = [1, 2]", "seeds = [-1]"),
        ("seeds = [1, 2]", 'seeds = [1]\nhops = ["rubber_cylindre"]'),
        ("seeds = [1, 2]", 'seeds = [1]\ndatasets = ["e"]'),
        ('mode = "grid"', 'mode = "gird"'),
        ("[[model]]", "[[model"),
        ('sizes = ["25k", 300]', ""),
        ('sizes = ["25k", 300]', 'sizes = ["25k", 25000]'),
        ('sizes = ["25k", 300]', 'sizes = ["lots"]'),
        ('name = "film"', 'name = "flim"'),
        ("seeds = [1, 2]", 'seeds = [1]\nlabel = "a/b"'),
    ],
)
def test_what_is_wrong_in_a_file_is_named(grid: Path, change: tuple[str, str]) -> None:
    assert change[0] in GRID
    grid.write_text(GRID.replace(*change))
    with refused(ConfigError):
        make_plan(read_experiment(grid))


def test_a_folder_that_is_used_as_it_is_has_to_have_what_is_asked_of_it(grid: Path, tmp_path: Path) -> None:
    build(request(tmp_path / "there", render=False))
    text = GRID.replace("seed = 3", 'folder = "there"')
    grid.write_text(text)
    with refused(ConfigError):
        make_plan(read_experiment(grid))
    extended = text.index("[[dataset.build]]", text.index("[[dataset.build]]") + 1)
    grid.write_text(text[:extended] + text[text.index("[[dataset.features]]") :])
    assert len(make_plan(read_experiment(grid)).runs) == 4
    grid.write_text(text.replace('"there"', '"nowhere"'))
    with refused(DatasetError):
        make_plan(read_experiment(grid))


PATHS = """
[[dataset]]
name = "d"
seed = 3
[dataset.config]
clevr = "clevr/CLEVR_v1.0"
[[dataset.build]]
hops = ["rubber_cylinder"]
palette = "mine.json"
[[dataset.features]]
kind = "frcnn"
weights = "weights/frcnn"
[[dataset.features]]
kind = "scene-boxes"
weights = "random"
[[dataset.features]]
kind = "resnet101"
weights = "/elsewhere/resnet101.pth"
[[dataset.features]]
kind = "mine:Dino"
weights = "small"
[[model]]
name = "lxmert_p"
sizes = [10]
seeds = [1]
set = { weights = "weights/lxmert.safetensors" }
[[model]]
name = "mine:Model"
sizes = [10]
seeds = [1]
set = { weights = "imagenet" }
"""


def test_paths_are_meant_from_where_the_file_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/mine.toml").write_text(PATHS)
    monkeypatch.chdir(tmp_path)
    experiment = read_experiment(Path("papers/mine.toml"))
    assert experiment.datasets[0].config["clevr"] == str(tmp_path / "papers/clevr/CLEVR_v1.0")
    plan = make_plan(experiment)
    build, *features = (" ".join(step.arguments) for step in plan.datasets["d"].steps)
    assert "--palette papers/mine.json " in build
    weights = ["papers/weights/frcnn", "random", "/elsewhere/resnet101.pth", "small"]
    assert [each.partition("--weights ")[2].split()[0] for each in features] == weights
    ours, theirs = (run.steps[0].arguments for run in plan.runs)
    assert 'weights="papers/weights/lxmert.safetensors"' in ours
    assert 'weights="imagenet"' in theirs
    assert experiment.out == Path("out/mine")


def test_paths_in_the_packages_files_are_meant_from_the_working_directory(tmp_path: Path) -> None:
    paper = find_file(Path("paper"))
    (weights,) = {each.weights for each in read_experiment(paper).datasets[1].features}
    assert weights == "weights/frcnn-vg-finetuned"
    mine = tmp_path / "paper.toml"
    mine.write_bytes(paper.read_bytes())
    assert read_experiment(mine).datasets[1].features[0].weights == str(tmp_path / weights)


def test_a_simpler_world_has_some_of_the_values_and_questions(tmp_path: Path) -> None:
    coloured = json.loads(subset_templates(["zero_hop"], ["query_shape"], ["color"], "here")["zero_hop.json"])
    empty = {each["params"][0] for each in coloured[0]["constraints"] if each["type"] == "NULL"}
    assert empty == {"<Z>", "<M>", "<S>"}
    every = subset_templates([], ["equal_integer"], [], "here")
    assert set(every) == {"compare_integer.json", "synonyms.json"}
    assert subset_values({"sizes": []}, "here")["sizes"] == {"small": 0.35, "large": 0.7}
    files = subset_templates(["zero_hop", "one_hop"], ["exist", "query_color"], [], "here")
    assert set(files) == {"zero_hop.json", "one_hop.json", "synonyms.json"}
    for name in ("zero_hop.json", "one_hop.json"):
        ends = [template["nodes"][-1]["type"] for template in json.loads(files[name])]
        assert [end.rpartition("_exist")[1] or end for end in ends] == ["_exist", "query_color"]
    package = json.loads((assets.blender_assets() / "properties.json").read_bytes())
    properties = subset_values({"sizes": ["large"], "colors": ["red", "blue"]}, "here")
    assert properties == {
        **package,
        "sizes": {"large": 0.7},
        "colors": {name: package["colors"][name] for name in ("red", "blue")},
    }


@pytest.mark.slow
def test_the_packages_experiments_can_be_planned(
    tmp_path: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(shipped_experiments()) == {
        "covr",
        "diversity",
        "first6",
        "hour",
        "hour-gpu",
        "hour-pixels",
        "paper",
        "smoke",
        "suites",
    }
    monkeypatch.chdir(tmp_path)
    assert run_command(["experiment", "paper", "--plan"]) == 2
    assert "weights/frcnn-vg-finetuned: no such file" in capfd.readouterr().err
    for weights in (
        "frcnn-vg-finetuned/config.yaml",
        "resnet101.pth",
        "lxmert-base-uncased/model.safetensors",
    ):
        (tmp_path / "weights" / weights).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "weights" / weights).touch()
    for name in shipped_experiments():
        assert run_command(["experiment", name, "--out", str(tmp_path / name), "--plan"]) == 0
        assert not (tmp_path / name).exists()
    capfd.readouterr()
    plan = make_plan(read_experiment(find_file(Path("paper")), out=tmp_path))
    models = [run.steps[0].arguments[1] for run in plan.runs]
    assert models.count("lxmert_p") == 29 * 3 * 3
    assert models.count("lxmert_s") == (29 + 4) * 3 * 3
    assert models.count("tensor_nmn") == 6 * 7 * 3
    hour = make_plan(read_experiment(find_file(Path("experiments/hour.toml")), out=tmp_path))
    assert len(hour.runs) == (8 * 3 + 1) * 2
    on_gpu = make_plan(read_experiment(find_file(Path("hour-gpu")), out=tmp_path / "hour-gpu"))
    assert len(on_gpu.runs) == 5 * 5 * (2 + 2 + 1)
    check_plan(on_gpu, together=True)
    suites = make_plan(read_experiment(find_file(Path("suites")), out=tmp_path))
    assert sum("--drop-type" in run.steps[0].arguments for run in suites.runs) == 3 * 15
    assert len(suites.runs) == 3 * 15 + 6 * 3
    covr = make_plan(read_experiment(find_file(Path("covr")), out=tmp_path))
    assert sum("--iid-size-of" in run.steps[0].arguments for run in covr.runs) == 4
    assert len(covr.runs) == 16
    assert sum(run.source is not None for run in covr.runs) == 10
    assert run_command(["experiment", "our", "--plan"]) == 2
    assert 'did you mean "hour"?' in capfd.readouterr().err
