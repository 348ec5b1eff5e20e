"""Experiments: what is planned, resumed, survived, with a command line that needs no torch; and all of it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import clevrhope.report
from clevrhope import assets
from clevrhope.cli import run_command
from clevrhope.errors import ConfigError
from clevrhope.experiments import make_plan, processes, read_experiment, run_experiment
from clevrhope.experiments.shipped import find_file, shipped_experiments
from clevrhope.experiments.some import some_templates, some_values
from clevrhope.experiments.toml import toml

GRID = """
jobs = 2
[[dataset]]
name = "d"
seed = 3
[[dataset.build]]
hops = ["rubber_cylinder"]
[[dataset.build]]
hops = ["cyan_cylinder"]
diversity = [4, 8]
mode = "grid"
[[dataset.features]]
kind = "pixels"
[[model]]
name = "film"
sizes = ["25k", 300]
seeds = [1, 2]
[model.set]
channels = 8
"recipe.rate" = 1e-3
"""

FAKE = '''
"""Stands in for the command line: notes what it was asked for, and makes what would be there after."""
import json, os, sys, time
from pathlib import Path

arguments = sys.argv[1:]
here = Path(os.environ["FAKE_FOLDER"])
with (here / "asked.jsonl").open("a") as file:
    file.write(json.dumps(arguments) + "\\n")
if any(word in " ".join(arguments) for word in os.environ.get("FAKE_FAILS", "").split()):
    print("some lines before")
    print("clevrhope: the loss is NaN at update 7", file=sys.stderr)
    sys.exit(1)
time.sleep(float(os.environ.get("FAKE_DELAY_S", "0")))
if arguments[0] == "build":
    out = Path(arguments[arguments.index("--out") + 1])
    out.mkdir(parents=True, exist_ok=True)
    (out / "manifest.json").write_text("{}")
elif arguments[0] == "train":
    out = Path(arguments[arguments.index("--out") + 1])
    out.mkdir(parents=True, exist_ok=True)
    (out / "finished.json").write_text("{}")
elif arguments[0] == "evaluate":
    (Path(arguments[1]) / "predictions").mkdir(exist_ok=True)
'''


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path / "grid.toml"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Takes the place of the command line; gives what it was asked for so far."""
    (tmp_path / "fake.py").write_text(FAKE)
    code = f"import runpy, sys; sys.argv[0] = 'fake'; runpy.run_path({str(tmp_path / 'fake.py')!r})"
    monkeypatch.setattr(processes, "_SNIPPET", code)
    monkeypatch.setenv("FAKE_FOLDER", str(tmp_path))

    def read() -> list[list[str]]:
        path = tmp_path / "asked.jsonl"
        found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        path.unlink(missing_ok=True)
        return found

    return read


def start(grid: Path, out: Path) -> "subprocess.Popen[str]":
    """The experiment in a process of its own, with the command line that takes the real one's place."""
    code = (
        "import sys\nfrom clevrhope.experiments import processes\n"
        f"processes._SNIPPET = {processes._SNIPPET!r}\n"
        "from clevrhope.cli import run_command\nsys.exit(run_command(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "experiment", str(grid), "--out", str(out), "--quiet"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for(there: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not there():
        assert time.monotonic() - began < 100
        time.sleep(0.05)


def environments() -> Iterator[bytes]:
    """Those of all processes but this one, as they began."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        if path.parent.name != str(os.getpid()):
            with suppress(OSError):
                yield path.read_bytes()


def test_a_plan_has_every_pair_size_and_seed(grid: Path, tmp_path: Path) -> None:
    plan = make_plan(read_experiment(grid, out=tmp_path / "out"))
    names = [run.chain.name for run in plan.runs]
    hops = ["rubber_cylinder", "cyan_cylinder-d4-grid", "cyan_cylinder-d8-grid"]
    assert names == [
        f"film-{hop}-{size}-{seed}" for hop in hops for size in ("25k", "300") for seed in (1, 2)
    ]
    builds = [step.arguments for step in plan.datasets["d"].steps]
    assert [each[0] for each in builds] == ["build", "build", "features"]
    assert "--diversity 4,8 --diversity-mode grid" in " ".join(builds[1])
    train = " ".join(plan.runs[0].chain.steps[0].arguments)
    assert "--set channels=8 --set recipe.rate=0.001" in train
    assert not (tmp_path / "out").exists()


def test_what_is_done_is_not_done_again(grid: Path, tmp_path: Path, asked: Any) -> None:
    plan = make_plan(read_experiment(grid, out=tmp_path / "out"))
    made = run_experiment(plan)
    assert (made.n_done, made.n_new, made.failures, made.report) == (12, 12, (), None)
    assert len(asked()) == 3 + 12 * 2
    assert run_experiment(plan).n_new == 0
    assert asked() == []

    # More updates are other runs; a run's folder that was removed is made again.
    (tmp_path / "out" / "runs" / "film-rubber_cylinder-300-1" / "finished.json").unlink()
    assert run_experiment(plan).n_new == 1
    assert [each[0] for each in asked()] == ["train", "evaluate"]
    grid.write_text(GRID.replace('sizes = ["25k", 300]', 'sizes = ["25k", 300]\nupdates = 5'))
    assert run_experiment(make_plan(read_experiment(grid, out=tmp_path / "out"))).n_new == 12


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
    plan = make_plan(read_experiment(grid, out=tmp_path / "out"))
    made = run_experiment(plan, tell=told.append)
    assert (made.n_done, len(made.failures)) == (11, 1)
    assert told[0].startswith(
        "train-film-cyan_cylinder-d4-grid-300-2: the loss is NaN at update 7 (exit code 1; "
    )
    assert reported == told
    monkeypatch.delenv("FAKE_FAILS")
    asked()
    assert run_experiment(plan).n_new == 1
    assert [each[0] for each in asked()] == ["train", "evaluate"]


def test_without_its_dataset_no_run_begins(
    grid: Path, tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FAILS", "--diversity")
    made = run_experiment(make_plan(read_experiment(grid, out=tmp_path / "out")))
    assert (made.n_done, [each.step for each in made.failures]) == (0, ["build-d-1"])
    assert [each[0] for each in asked()] == ["build", "build"]


def test_a_stop_goes_through_to_the_processes_and_leaves_what_is_done(
    grid: Path, tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DELAY_S", "0.3")
    out = tmp_path / "out"
    process = start(grid, out)
    try:
        wait_for(lambda: any((out / "done").glob("evaluate-*")))
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "run the same command to resume" in said
    n_before = make_plan(read_experiment(grid, out=out)).n_done
    assert 0 < n_before < 12
    monkeypatch.setenv("FAKE_DELAY_S", "0")
    asked()
    made = run_experiment(make_plan(read_experiment(grid, out=out)))
    assert (made.n_done, made.n_new) == (12, 12 - n_before)
    assert not any(each[0] == "build" for each in asked())


def test_no_process_goes_on_when_the_experiment_is_killed(
    grid: Path, tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DELAY_S", "60")
    process = start(grid, tmp_path / "out")
    try:
        wait_for(lambda: (tmp_path / "asked.jsonl").exists())
    finally:
        process.kill()
        process.communicate()
    asked()
    monkeypatch.setenv("FAKE_DELAY_S", "0")
    own = f"FAKE_FOLDER={tmp_path}".encode()
    wait_for(lambda: not any(own in environment for environment in environments()))
    assert run_experiment(make_plan(read_experiment(grid, out=tmp_path / "out"))).n_done == 12


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("jobs = 2", "job = 2"), 'unknown key "job" (did you mean "jobs"?)'),
        (("jobs = 2", 'jobs = "all"'), "expected a whole number from 1, or"),
        (("seed = 3", ""), "dataset[0]: no seed"),
        (('kind = "pixels"', ""), 'dataset[0].features[0]: no "kind"'),
        (("seeds = [1, 2]", "seeds = [1, 1]"), 'seeds "1" is there twice'),
        (("seeds = [1, 2]", "seeds = [-1]"), "expected whole numbers from 0"),
        (("seeds = [1, 2]", 'seeds = [1]\nhops = ["rubber_cylindre"]'), 'did you mean "rubber_cylinder"?'),
        (("seeds = [1, 2]", 'seeds = [1]\ndatasets = ["e"]'), 'model[0].datasets: no dataset "e"'),
        (('mode = "grid"', 'mode = "gird"'), 'mode: "gird"; expected "nested" or "grid"'),
        (("[[model]]", "[[model"), "no TOML"),
        (('sizes = ["25k", 300]', ""), 'a model needs "sizes" and "seeds"'),
    ],
)
def test_what_is_wrong_in_a_file_is_named(grid: Path, change: tuple[str, str], told: str) -> None:
    assert change[0] in GRID
    grid.write_text(GRID.replace(*change))
    with pytest.raises(ConfigError) as error:
        make_plan(read_experiment(grid))
    assert told in str(error.value)
    assert str(grid) in str(error.value)


def test_templates_that_there_are_none_of_are_named(grid: Path, tmp_path: Path) -> None:
    grid.write_text(GRID.replace("seed = 3", 'seed = 3\ntemplates = ["zero_hops"]'))
    with pytest.raises(ConfigError, match=r"zero_hops. \(did you mean .zero_hop.\?\)"):
        run_experiment(make_plan(read_experiment(grid, out=tmp_path / "out")))


@pytest.mark.parametrize(
    ("added", "told"),
    [
        (
            'templates = ["zero_hop"]\nasks = ["cuont"]',
            'no question that asks "cuont" (did you mean "count"?); there are: count, exist,',
        ),
        ('mentions = ["colour"]', 'no type that is mentioned "colour" (did you mean "color"?)'),
        ('values = { sizes = ["large", "lage"] }', 'no sizes "lage" (did you mean "large"?)'),
        ('values = { size = ["large"] }', 'no values "size" (did you mean "sizes"?)'),
    ],
)
def test_questions_and_values_that_there_are_none_of_are_named(
    grid: Path, tmp_path: Path, added: str, told: str
) -> None:
    grid.write_text(GRID.replace("seed = 3", f"seed = 3\n{added}"))
    with pytest.raises(ConfigError) as error:
        run_experiment(make_plan(read_experiment(grid, out=tmp_path / "out")))
    assert told in str(error.value)


def test_a_build_is_told_of_its_simpler_world_and_is_another_when_that_changes(
    grid: Path, tmp_path: Path
) -> None:
    def build(added: str) -> Any:
        grid.write_text(GRID.replace("seed = 3", f"seed = 3\n{added}"))
        return make_plan(read_experiment(grid, out=tmp_path / "out")).datasets["d"].steps[0]

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


def test_a_simpler_world_has_some_of_the_values_and_questions(tmp_path: Path) -> None:
    coloured = json.loads(some_templates(["zero_hop"], ["query_shape"], ["color"], "here")["zero_hop.json"])
    empty = {each["params"][0] for each in coloured[0]["constraints"] if each["type"] == "NULL"}
    assert empty == {"<Z>", "<M>", "<S>"}
    every = some_templates([], ["equal_integer"], [], "here")
    assert set(every) == {"compare_integer.json", "synonyms.json"}
    assert some_values({"sizes": []}, "here")["sizes"] == {"small": 0.35, "large": 0.7}
    files = some_templates(["zero_hop", "one_hop"], ["exist", "query_color"], [], "here")
    assert set(files) == {"zero_hop.json", "one_hop.json", "synonyms.json"}
    for name in ("zero_hop.json", "one_hop.json"):
        ends = [template["nodes"][-1]["type"] for template in json.loads(files[name])]
        assert [end.rpartition("_exist")[1] or end for end in ends] == ["_exist", "query_color"]
    package = json.loads((assets.blender_assets() / "properties.json").read_bytes())
    properties = some_values({"sizes": ["large"], "colors": ["red", "blue"]}, "here")
    assert properties == {
        **package,
        "sizes": {"large": 0.7},
        "colors": {name: package["colors"][name] for name in ("red", "blue")},
    }


def test_the_packages_experiments_can_be_planned(tmp_path: Path, capfd: Any) -> None:
    assert set(shipped_experiments()) == {"diversity", "first6", "hour", "paper", "smoke"}
    for name in shipped_experiments():
        assert run_command(["experiment", name, "--out", str(tmp_path / name), "--plan"]) == 0
        assert not (tmp_path / name).exists()
    capfd.readouterr()
    plan = make_plan(read_experiment(find_file(Path("paper")), out=tmp_path))
    models = [run.chain.steps[0].arguments[1] for run in plan.runs]
    assert models.count("lxmert_p") == 29 * 3 * 3
    assert models.count("lxmert_s") == (29 + 4) * 3 * 3
    assert models.count("tensor_nmn") == 6 * 7 * 3
    hour = make_plan(read_experiment(find_file(Path("experiments/hour.toml")), out=tmp_path))
    assert len(hour.runs) == 7 * 3
    assert run_command(["experiment", "our", "--plan"]) == 2
    assert 'did you mean "hour"?' in capfd.readouterr().err


def test_tables_are_written_as_toml_and_read_back() -> None:
    import tomllib

    table = {"a": 1, "b": 'x"y', "c": [1.5, 2.0], "d": True, "t": {"k": "v", "deep er": {"z": [1]}}}
    assert tomllib.loads(toml(table)) == table


def test_from_build_to_a_report_with_figures_in_one_command(tmp_path: Path, capfd: Any) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install clevrhope[train]")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install clevrhope[plots]")
    code = run_command(["experiment", "smoke", "--out", str(tmp_path / "smoke"), "--quiet"])
    assert code == 0, capfd.readouterr().err
    page = (tmp_path / "smoke" / "report" / "report.html").read_text()
    assert page.count("data:image/png;base64,") >= 2
    assert "Controlled diversity" in page
    assert "tensor_nmn, true programs" in page
