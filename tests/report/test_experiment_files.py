"""Experiments' files: what is wrong in one is named; paths, simpler worlds, and the package's own files."""

import json
from collections import Counter
from pathlib import Path

import pytest
from building import Cli, request
from experiment_grid import FILES, GRID, check_steps, plan_of

from clevrhope.errors import ConfigError, DatasetError
from clevrhope.experiments.build_files import subset_templates, subset_values
from clevrhope.experiments.plan import make_plan
from clevrhope.experiments.reading import find_file, read_experiment, shipped_experiments
from clevrhope.models.names import MODELS
from clevrhope.pipeline import build
from clevrhope.runtime import assets
from wording import check_refused, check_words


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
        ("seeds = [1, 2]", 'seeds = "dataset+a"'),
        ("seed = 3", 'seed = 3\nshared_test = "rubber_cylindre"'),
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
    check_refused(ConfigError, plan_of, grid, change)


def test_a_folder_that_is_used_as_it_is_has_to_have_what_is_asked_of_it(grid: Path, tmp_path: Path) -> None:
    build(request(tmp_path / "there", render=False))
    check_refused(ConfigError, plan_of, grid, ("seed = 3", 'folder = "there"'))
    second = GRID.rindex("[[dataset.build]]")
    first_alone = GRID[:second] + GRID[GRID.index("[[dataset.features]]") :]
    assert len(plan_of(grid, ("seed = 3", 'folder = "there"'), text=first_alone).runs) == 4
    check_refused(DatasetError, plan_of, grid, ("seed = 3", 'folder = "nowhere"'))


def test_replicates_have_palettes_and_seeds_of_their_own_and_share_a_test(tmp_path: Path) -> None:
    partners = make_plan(read_experiment(find_file(Path("partners")), out=tmp_path))
    assert len(partners.runs) == 8 * 4 * 2
    (run,) = (
        each
        for each in partners.runs
        if each.name.startswith("object_transformer-partners-3-cyan_cylinder-k8_one")
    )
    train, evaluate, shared = run.steps
    assert "--hop cyan_cylinder-k8_one --size 192k --seed 3" in " ".join(train.arguments)
    assert "--hop" not in evaluate.arguments
    assert "--hop cyan_cylinder-base --splits complex_ood" in " ".join(shared.arguments)
    builds = [
        each.arguments for each in partners.datasets["partners-3"].steps if each.arguments[0] == "build"
    ]
    palettes = [Path(each[each.index("--palette") + 1]) for each in builds]
    assert [each.parts[-3:] for each in palettes] == [
        ("partners", "3", f"{name}.json") for name in ("base", "k8_one", "k8_five", "k16_one", "k16_five")
    ]
    assert all(each.is_file() for each in palettes)
    hour = make_plan(read_experiment(find_file(Path("hour")), out=tmp_path))
    seeds = Counter(run.name.rpartition("-")[2] for run in hour.runs if run.name.startswith("object"))
    assert seeds["3"] == seeds["1003"] == seeds["9"] == seeds["101"] == 3
    assert "1009" not in seeds
    assert hour.cpu_minutes_left == pytest.approx(67 * 2.8)


PATHS = (FILES / "paths.toml").read_text("utf-8")


def test_paths_are_meant_from_where_the_file_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/mine.toml").write_text(PATHS)
    monkeypatch.chdir(tmp_path)
    experiment = read_experiment(Path("papers/mine.toml"))
    assert experiment.datasets[0].config["clevr"] == str(tmp_path / "papers/clevr/CLEVR_v1.0")
    check_steps(make_plan(experiment))


def test_a_folder_in_place_of_a_file_is_called_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "first"):
        (tmp_path / name).mkdir()
    with pytest.raises(ConfigError, match="mine: a folder; expected a file"):
        read_experiment(find_file(Path("mine")))
    assert find_file(Path("first")) == shipped_experiments()["first"], "a name of the package goes first"


def test_paths_in_the_packages_files_are_meant_from_the_working_directory(tmp_path: Path) -> None:
    paper = find_file(Path("paper"))
    (weights,) = {each.weights for each in read_experiment(paper).datasets[1].features}
    assert weights == "weights/frcnn-vg-finetuned"
    mine = tmp_path / "paper.toml"
    mine.write_bytes(paper.read_bytes())
    assert read_experiment(mine).datasets[1].features[0].weights == str(tmp_path / weights)


def test_a_simpler_world_has_some_of_the_values_and_questions() -> None:
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
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # All that is missing is listed, not the first file alone.
    missing = cli("experiment", "paper", "--plan")
    assert "clevrhope train lxmert_s" in missing.out
    files = ("frcnn-vg-finetuned/config.yaml", "resnet101.pth", "lxmert-base-uncased/model.safetensors")
    for file in (*files, "lxmert-vqa/model.safetensors"):
        weights = tmp_path / "weights" / file
        weights.parent.mkdir(parents=True, exist_ok=True)
        weights.touch()
        assert f"weights/{file.removesuffix('/config.yaml')}: no such file" in missing.out
    assert "CLEVR_v1.0: no published files are there" in missing.out
    counted = (*MODELS, "--drop-type", "--covr-split", "--iid-size-of", "--init-from")
    lines = []
    for name, path in shipped_experiments().items():
        out = tmp_path / name
        if name != "paper":  # its files are not here
            cli("experiment", name, "--out", out, "--plan")
        assert not out.exists()
        runs = make_plan(read_experiment(path, out=out)).runs
        words = Counter(word for run in runs for word in run.steps[0].arguments if word in counted)
        lines.append(f"{name}: {len(runs)} runs, {dict(sorted(words.items()))}")
    check_words("\n".join(lines))
    assert find_file(Path("experiments/hour.toml")) == shipped_experiments()["hour"]
    assert 'did you mean "hour"?' in cli("experiment", "our", "--plan", code=2).err
