"""Experiments that cannot run are refused before the first step, by the plan and the run alike."""

import os
from pathlib import Path

import pytest
from experiment_grid import GRID, grid

from clevrhope.__main__ import run_command
from clevrhope.errors import ConfigError
from clevrhope.experiments.checks import check_plan
from clevrhope.experiments.config import read_experiment
from clevrhope.experiments.plan import make_plan
from clevrhope.experiments.run import run_experiment
from wording import refused

__all__ = ["grid"]

SEED = "seed = 3"
SEEDS = "seeds = [1, 2]"
CONFIG = "config.sizes = { train = 25000 }"
KIND = 'kind = "pixels"'
HOPS = 'hops = ["rubber_cylinder"]'
CHANNELS = "channels = 8"
LAST = '"recipe.rate" = 1e-3\n'

OF_DATASETS = {
    "preset": (
        CONFIG,
        "config.preset = { a = 1 }",
        'dataset[0].config.preset is {"a": 1}; expected "demo"',
    ),
    "unknown preset": (CONFIG, 'config.preset = "dem"', 'config.preset is "dem" (did you mean "demo"?)'),
    "world": (
        CONFIG,
        'config.world.max_objects = "x"',
        'dataset[0].config.world.max_objects is "x"; expected a whole number',
    ),
    "world that cannot be": (CONFIG, "config.world = { min_objects = 9, max_objects = 3 }", "dataset[0]"),
    "unknown key": (CONFIG, "config.prest = 1", 'dataset[0].config: unknown setting "prest" (did you mean'),
    "date": (CONFIG, "config.images = 1979-05-27", "dataset[0].config.images is 1979-05-27; expected"),
    "sizes": (CONFIG, "config.sizes.train = 1.5", "dataset[0].config.sizes.train is 1.5; expected a whole"),
    "renderer": (CONFIG, 'config.rendering.renderer = "x"', "dataset[0].config.rendering.renderer: unknown"),
    "seed": (SEED, "seed = 18446744073709551616", "expected a number of 64 bits"),
    "negative seed": (SEED, "seed = -1", "dataset[0].seed is -1; expected a whole number from 0"),
    "hop": (HOPS, 'hops = ["rubber_cylindre"]', 'dataset[0].build[0]: HOP "rubber_cylindre"'),
    "split": (
        SEED,
        f'{SEED}\nsplits = ["train", "tset"]',
        'dataset[0].build[0]: --splits: unknown split "tset"',
    ),
    "no train": (
        SEED,
        f'{SEED}\nsplits = ["complex_iid"]',
        "model[0]: rubber_cylinder in dataset d has no split",
    ),
    "diversity": ("diversity = [4, 8]", "diversity = [25]", "dataset[0].build[1]: "),
    "diversity of 0": ("diversity = [4, 8]", "diversity = [0]", "dataset[0].build[1]: "),
    "palette": (HOPS, f'{HOPS}\npalette = "no.json"', "dataset[0].build[0]: "),
    "values": (SEED, f'{SEED}\nvalues.sizes = ["x"]', 'dataset[0]: no sizes "x"'),
    "templates": (SEED, f'{SEED}\ntemplates = ["x"]', 'dataset[0]: no templates "x"'),
    "kind": (
        KIND,
        'kind = "pixel"',
        'dataset[0].features[0]: --kind: no kind "pixel" (did you mean "pixels"?)',
    ),
    "size": (
        KIND,
        f'{KIND}\nsize = "1x0"',
        'dataset[0].features[0]: --size: "1x0" should be width and height',
    ),
    "weights": (KIND, 'kind = "frcnn"\nweights = "no"', "/no: no such file; put the Visual Genome"),
    "no weights": (
        KIND,
        'kind = "resnet101"',
        "dataset[0].features[0]: features of kind resnet101 need weights",
    ),
    "own kind": (
        KIND,
        'kind = "nowhere:Dino"',
        'dataset[0].features[0]: features "nowhere:Dino": no module nowhere, neither installed nor in the',
    ),
    "needless weights": (KIND, f'{KIND}\nweights = "random"', "features of kind pixels take no --weights"),
    "name": ('name = "d"', 'name = "../d"', 'dataset[0].name is "../d"; expected the name of a folder'),
    "NUL": ('name = "d"', 'name = "d\\u0000"', "has a NUL character"),
}
OF_MODELS = {
    "setting": (
        CHANNELS,
        "chanels = 8",
        'model[0]: film: unknown setting "chanels" (did you mean "channels"?)',
    ),
    "halvings": (CHANNELS, "halvings = 0.5", "model[0]: film: halvings is 0.5; expected a whole number"),
    "truth": (CHANNELS, "channels = true", "model[0]: film: channels is true; expected a whole number"),
    "range": (CHANNELS, "channels = 0", "model[0]: film: channels is 0; expected a whole number from 1"),
    "images": (CHANNELS, "halvings = 40", "are too small for 40 halvings"),
    "memory": (CHANNELS, "hidden = 2147483647", "model[0]: film: cannot be made with these settings"),
    "recipe": (CHANNELS, '"recipe.halvings" = 0.5', 'unknown setting "recipe.halvings"'),
    "recipe's type": (CHANNELS, '"recipe.batch_size" = 0.5', "recipe.batch_size is 0.5; expected a whole"),
    "recipe's stage": (CHANNELS, '"recipe.x.rate" = 0.5', 'recipe.x.rate: no stage "x"'),
    "batch": (
        CHANNELS,
        '"recipe.batch_size" = 500',
        "--size: 300 questions, but a batch of stage train has 500",
    ),
    "features": (
        'features = "pixels"\n',
        "",
        "film reads features of kind resnet101, which dataset d has none",
    ),
    "updates": (SEEDS, f"{SEEDS}\nupdates = 0", "model[0].updates is 0; expected a whole number from 1"),
    "keep_last": (SEEDS, f"{SEEDS}\nkeep_last = 'x'", 'model[0].keep_last is "x"; expected a whole number'),
    "keep_every": (SEEDS, f"{SEEDS}\nkeep_last = 2", "--keep-last: 2 checkpoints, but --keep-every does"),
    "sizes": ("300]", "30000]", "model[0]: sizes: 30,000 questions, but the train set of rubber_cylinder"),
    "type of sizes": ("300]", "true]", 'model[0].sizes is ["25k", true]; expected a whole number'),
    "digits of sizes": ("300]", f'"{"9" * 5_000}"]', "model[0].sizes: --size: "),
    "seeds": (SEEDS, "seeds = [1.5]", "model[0].seeds is [1.5]; expected a whole number or a list of such"),
    "options": (SEEDS, f'{SEEDS}\noptions = ["--detreministic"]', "model[0]: No such option"),
    "value of an option": (SEEDS, f'{SEEDS}\noptions = ["--tune-every", "0"]', "model[0]: --tune-every"),
    "help": (SEEDS, f'{SEEDS}\noptions = ["--help"]', "model[0]: --help is not an option of a step"),
    "own option": (SEEDS, f'{SEEDS}\noptions = ["--out", "x"]', "model[0]: options: --out is set by"),
    "tune": (
        SEEDS,
        f'{SEEDS}\noptions = ["--tune-on", "none:val"]',
        "--tune-on none:val is the split val of none, which dataset d does not build",
    ),
    "tune on a test": (SEEDS, f'{SEEDS}\noptions = ["--tune-on", "test"]', '"test" is a test set'),
    "evaluate": (SEEDS, f'{SEEDS}\nevaluate = ["--btch"]', "model[0]: evaluate: No such option"),
    "tests": (
        SEEDS,
        f'{SEEDS}\nevaluate = ["--splits", "complex_oood"]',
        'model[0]: evaluate: no test set "complex_oood" of rubber_cylinder (did you mean "complex_ood"?)',
    ),
    "kind": ('name = "film"', 'name = "lxmert_p"', 'lxmert_p: features is "pixels"; expected "frcnn"'),
    "label": (
        LAST,
        f'{LAST}\n[[model]]\nname = "vector_nmn"\nlabel = "film"\nsizes = [10]\nseeds = [1]\n',
        'model[1].label: "film" is also the label of model[0], which has other settings',
    ),
}
OF_ALL = {
    "title": ("jobs = 2", "jobs = 2\ntitle = 3", "title is 3; expected a string"),
    "out": ("jobs = 2", "jobs = 2\nout = []", "out is []; expected a string"),
    "jobs": ("jobs = 2", "jobs = 2.5", 'jobs is 2.5; expected a whole number or "cores"'),
    "threads": ("jobs = 2", "jobs = 2\nthreads = 0", "threads is 0; expected a whole number from 1"),
    "ways": (LAST, f"{LAST}[report]\nways = ['x']", 'report.ways: no model answers in the way "x"'),
    "report's title": (LAST, f"{LAST}[report]\ntitle = 'x'", 'unknown setting "report.title"'),
    "question": (LAST, f"{LAST}[report]\nquestion = 1979-05-27", "report.question is 1979-05-27; expected"),
    "digits": ("jobs = 2", f"jobs = {'9' * 5_000}", "broken TOML: a number of thousands of digits"),
    "depth": ("jobs = 2", f"jobs = {'[' * 5_000}", "broken TOML: nested more than 50 deep"),
}
WRONG = {
    f"{of}: {name}": each
    for of, table in (("dataset", OF_DATASETS), ("model", OF_MODELS), ("all", OF_ALL))
    for name, each in table.items()
}


@pytest.mark.parametrize(("old", "new", "told"), WRONG.values(), ids=WRONG)
@pytest.mark.slow
def test_what_cannot_run_is_refused_before_the_first_step(
    old: str, new: str, told: str, grid: Path, tmp_path: Path
) -> None:
    assert old in GRID
    grid.write_text(GRID.replace(old, new))
    out = tmp_path / "out"
    for check in (check_plan, run_experiment):
        with pytest.raises(ConfigError) as error:
            check(make_plan(read_experiment(grid, out=out)))
        said = str(error.value)
        assert said.startswith(f"{grid}: ")
        assert told in said
        assert "\n" not in said
        assert "/clevrhope-" not in said
    assert not out.exists()


@pytest.mark.slow
def test_the_command_refuses_what_cannot_run(
    grid: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run_command(["experiment", str(grid), "--out", str(out), "--plan"]) == 0
    grid.write_text(GRID.replace(CHANNELS, "halvings = 0.5"))
    capfd.readouterr()
    for more in (["--plan"], []):
        assert run_command(["experiment", str(grid), "--out", str(out), *more]) == 2
        shown = capfd.readouterr()
        assert shown.out == ""
        assert shown.err == (f"clevrhope: {grid}: model[0]: film: halvings is 0.5; expected a whole number\n")
    assert not out.exists()


@pytest.mark.slow
def test_pretrained_weights_have_to_be_there(grid: Path, tmp_path: Path) -> None:
    (tmp_path / "resnet101").touch()
    text = GRID.replace(KIND, 'kind = "scene-boxes"\nweights = "resnet101"').replace('"film"', '"lxmert_p"')
    settings = text.index("[model.set]")
    grid.write_text(f'{text[:settings]}set = {{ features = "scene-boxes", weights = "w" }}\n')
    with refused(ConfigError):
        check_plan(make_plan(read_experiment(grid)))
    (tmp_path / "w").touch()
    check_plan(make_plan(read_experiment(grid)))


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("folder", "a folder; expected a file"),
        ("pipe", "a pipe, socket or device; expected a file"),
        ("loop", "a link that leads back to itself"),
        ("bytes", "not text in UTF-8"),
        ("huge", "over 1 MiB, too large for an experiment"),
    ],
)
def test_what_is_no_experiments_file_is_said(kind: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "bytes":
        path.write_bytes(b"\xff")
    else:
        with path.open("wb") as file:
            file.truncate(300 << 20)
    with pytest.raises(ConfigError) as error:
        read_experiment(path)
    assert str(error.value).startswith(f"{path}: ")
    assert told in str(error.value)
