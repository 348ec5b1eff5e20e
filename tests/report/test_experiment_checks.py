"""Experiments that cannot run are refused before the first step, by the plan and the run alike."""

import os
from pathlib import Path

import pytest
from building import Cli
from experiment_grid import GRID, plan_of

from clevrhope.errors import ConfigError
from clevrhope.experiments.checks import check_plan
from clevrhope.experiments.reading import read_experiment
from clevrhope.experiments.run import run_experiment
from wording import check_refused, refused

SEED = "seed = 3"
SEEDS = "seeds = [1, 2]"
CONFIG = "config.sizes = { train = 25000 }"
KIND = 'kind = "pixels"'
HOPS = 'hops = ["rubber_cylinder"]'
CHANNELS = "channels = 8"
LAST = '"recipe.rate" = 1e-3\n'

OF_DATASETS = {
    "preset": (CONFIG, "config.preset = { a = 1 }"),
    "unknown preset": (CONFIG, 'config.preset = "dem"'),
    "world": (CONFIG, 'config.world.max_objects = "x"'),
    "world that cannot be": (CONFIG, "config.world = { min_objects = 9, max_objects = 3 }"),
    "unknown key": (CONFIG, "config.prest = 1"),
    "date": (CONFIG, "config.images = 1979-05-27"),
    "sizes": (CONFIG, "config.sizes.train = 1.5"),
    "renderer": (CONFIG, 'config.rendering.renderer = "x"'),
    "seed": (SEED, "seed = 18446744073709551616"),
    "negative seed": (SEED, "seed = -1"),
    "hop": (HOPS, 'hops = ["rubber_cylindre"]'),
    "split": (SEED, f'{SEED}\nsplits = ["train", "tset"]'),
    "no train": (SEED, f'{SEED}\nsplits = ["complex_iid"]'),
    "diversity": ("diversity = [4, 8]", "diversity = [25]"),
    "diversity of 0": ("diversity = [4, 8]", "diversity = [0]"),
    "palette": (HOPS, f'{HOPS}\npalette = "no.json"'),
    "unknown value": (SEED, f'{SEED}\nvalues.sizes = ["large", "lage"]'),
    "kind of values": (SEED, f'{SEED}\nvalues.size = ["large"]'),
    "templates": (SEED, f'{SEED}\ntemplates = ["zero_hops"]'),
    "asks": (SEED, f'{SEED}\ntemplates = ["zero_hop"]\nasks = ["cuont"]'),
    "mentions": (SEED, f'{SEED}\nmentions = ["colour"]'),
    "kind": (KIND, 'kind = "pixel"'),
    "size": (KIND, f'{KIND}\nsize = "1x0"'),
    "weights": (KIND, 'kind = "frcnn"\nweights = "no"'),
    "no weights": (KIND, 'kind = "resnet101"'),
    "own kind": (KIND, 'kind = "nowhere:Dino"'),
    "needless weights": (KIND, f'{KIND}\nweights = "random"'),
    "name": ('name = "d"', 'name = "../d"'),
    "NUL": ('name = "d"', 'name = "d\\u0000"'),
}
OF_MODELS = {
    "setting": (CHANNELS, "chanels = 8"),
    "halvings": (CHANNELS, "halvings = 0.5"),
    "truth": (CHANNELS, "channels = true"),
    "range": (CHANNELS, "channels = 0"),
    "images": (CHANNELS, "halvings = 40"),
    "recipe": (CHANNELS, '"recipe.halvings" = 0.5'),
    "recipe's type": (CHANNELS, '"recipe.batch_size" = 0.5'),
    "recipe's stage": (CHANNELS, '"recipe.x.rate" = 0.5'),
    "batch": (CHANNELS, '"recipe.batch_size" = 500'),
    "features": ('features = "pixels"\n', ""),
    "updates": (SEEDS, f"{SEEDS}\nupdates = 0"),
    "keep_last": (SEEDS, f"{SEEDS}\nkeep_last = 'x'"),
    "keep_every": (SEEDS, f"{SEEDS}\nkeep_last = 2"),
    "sizes": ("300]", "30000]"),
    "type of sizes": ("300]", "true]"),
    "digits of sizes": ("300]", f'"{"9" * 5_000}"]'),
    "seeds": (SEEDS, "seeds = [1.5]"),
    "options": (SEEDS, f'{SEEDS}\noptions = ["--detreministic"]'),
    "value of an option": (SEEDS, f'{SEEDS}\noptions = ["--tune-every", "0"]'),
    "help": (SEEDS, f'{SEEDS}\noptions = ["--help"]'),
    "own option": (SEEDS, f'{SEEDS}\noptions = ["--out", "x"]'),
    "tune": (SEEDS, f'{SEEDS}\noptions = ["--tune-on", "none:val"]'),
    "tune on a test": (SEEDS, f'{SEEDS}\noptions = ["--tune-on", "test"]'),
    "evaluate": (SEEDS, f'{SEEDS}\nevaluate = ["--btch"]'),
    "tests": (SEEDS, f'{SEEDS}\nevaluate = ["--splits", "complex_oood"]'),
    "kind": ('name = "film"', 'name = "lxmert_p"'),
}
OF_ALL = {
    "title": ("jobs = 2", "jobs = 2\ntitle = 3"),
    "out": ("jobs = 2", "jobs = 2\nout = []"),
    "jobs": ("jobs = 2", "jobs = 2.5"),
    "threads": ("jobs = 2", "jobs = 2\nthreads = 0"),
    "report's title": (LAST, f"{LAST}[report]\ntitle = 'x'"),
    "question": (LAST, f"{LAST}[report]\nquestion = 1979-05-27"),
    "digits": ("jobs = 2", f"jobs = {'9' * 5_000}"),
    "depth": ("jobs = 2", f"jobs = {'[' * 5_000}"),
}
WRONG = {
    f"{of}: {name}": each
    for of, table in (("dataset", OF_DATASETS), ("model", OF_MODELS), ("all", OF_ALL))
    for name, each in table.items()
}


@pytest.mark.parametrize(("old", "new"), WRONG.values(), ids=WRONG)
@pytest.mark.slow
def test_what_cannot_run_is_refused_before_the_first_step(
    old: str, new: str, grid: Path, tmp_path: Path
) -> None:
    with refused(ConfigError) as error:
        check_plan(plan_of(grid, (old, new)))
    said = str(error.value)
    assert "\n" not in said
    assert "/clevrhope-" not in said
    with pytest.raises(ConfigError) as error:
        run_experiment(plan_of(grid, (old, new)))
    assert str(error.value) == said
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_command_refuses_what_cannot_run(grid: Path, tmp_path: Path, cli: Cli) -> None:
    command = ["experiment", grid, "--out", tmp_path / "out"]
    cli(*command, "--plan")
    grid.write_text(GRID.replace(CHANNELS, "halvings = 0.5"))
    for more in (["--plan"], []):
        shown = cli(*command, *more, code=2)
        assert ("to do" in shown.out) == bool(more)
        assert shown.err == f"clevrhope: {grid}: model[0]: film: halvings is 0.5; expected a whole number\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_model_too_large_for_any_memory_is_refused(grid: Path) -> None:
    # What follows in brackets are torch's own words.
    with pytest.raises(ConfigError, match=r"model\[0\]: film: cannot be made with these settings \("):
        check_plan(plan_of(grid, (CHANNELS, "hidden = 2147483647")))


@pytest.mark.slow
def test_pretrained_weights_have_to_be_there(grid: Path, tmp_path: Path) -> None:
    (tmp_path / "resnet101").touch()
    text = GRID.replace(KIND, 'kind = "scene-boxes"\nweights = "resnet101"').replace('"film"', '"lxmert_p"')
    settings = text.index("[model.set]")
    text = f'{text[:settings]}set = {{ features = "scene-boxes", weights = "w" }}\n'
    with refused(ConfigError):
        check_plan(plan_of(grid, text=text))
    (tmp_path / "w").touch()
    check_plan(plan_of(grid, text=text))


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop", "bytes", "huge"])
def test_what_is_no_experiments_file_is_said(kind: str, tmp_path: Path) -> None:
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
    check_refused(ConfigError, read_experiment, path)
