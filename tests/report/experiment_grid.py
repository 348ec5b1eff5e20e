"""A small experiment's file, and a command line that trains nothing, for tests of experiments."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clevrhope.__main__ import run_command
from clevrhope.experiments import engines
from clevrhope.experiments.build_files import Places, write_settings
from clevrhope.experiments.plan import Plan, make_plan
from clevrhope.experiments.reading import read_experiment
from wording import check_words

FILES = Path(__file__).parent / "experiments"
GRID = (FILES / "grid.toml").read_text("utf-8")

SMALL = GRID.replace('sizes = ["25k", 300]', "sizes = [300]")
"""Six runs."""


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    pytest.importorskip("torch", reason="torch is not installed: pip install clevrhope[train]")
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path / "grid.toml"


def plan_of(grid: Path, *changes: tuple[str, str], text: str = GRID) -> Plan:
    """The plan of an experiment whose file has this text with some changes; it goes into out/ beside it."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    grid.write_text(text)
    return make_plan(read_experiment(grid, out=grid.parent / "out"))


def check_steps(plan: Plan) -> None:
    """Asserts that the command lines of a plan's steps are those of the snapshot, a chain after the other."""
    chains = (*plan.datasets.values(), *plan.runs)
    check_words("\n".join(" ".join(step.arguments) for chain in chains for step in chain.steps))


def run_here(plan: Plan) -> None:
    """Runs all steps but the report in this process; processes of their own would start torch 24 times."""
    for dataset in plan.experiment.datasets:
        write_settings(Places(plan.experiment.out, dataset), "the experiment's file")
    for chain in (*plan.datasets.values(), *plan.runs):
        for step in chain.steps:
            assert run_command(step.arguments) == 0, step.name
            step.set_done()


FAKE = '''
"""Stands in for the command line: notes what it was asked for, and makes what would be there after.

As in truth, a manifest tells files apart, and a run's folder is bound to what was asked for.
"""
import json, os, sys, time, tomllib
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

def after(option):
    return arguments[arguments.index(option) + 1]

if arguments[0] == "build":
    manifest = Path(after("--out")) / "manifest.json"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    files = json.loads(manifest.read_text())["files"] if manifest.exists() else {}
    sizes = tomllib.loads(Path(after("--config")).read_text()).get("sizes", {})
    hops = [word for before, word in zip(arguments, arguments[1:]) if before == "--hop"]
    if "--diversity" in arguments:
        hops = [f"{hop}-d{k}-grid" for hop in hops for k in after("--diversity").split(",")]
    for hop in hops:
        for split in ("train", "complex_ood"):
            files[f"hops/{hop}/{split}.h5"] = {"sha256": f"{hop} {split} {sizes.get(split)}"}
            files[f"images/{split}.h5"] = {"sha256": f"{split} {sizes.get(split)}"}
    manifest.write_text(json.dumps({"seed": after("--seed"), "files": files}))
elif arguments[0] == "features":
    (Path(arguments[1]) / "features").mkdir(exist_ok=True)
elif arguments[0] == "train":
    out = Path(after("--out"))
    out.mkdir(parents=True, exist_ok=True)
    free = {str(out), *(after(each) for each in ("--device",) if each in arguments), "--device"}
    asked = [word for word in arguments if word not in free]
    run = out / "run.json"
    if run.exists() and json.loads(run.read_text()) != asked:
        sys.exit("clevrhope: another run is in it")
    run.write_text(json.dumps(asked))
    (out / "finished.json").write_text("{}")
elif arguments[0] == "import":
    manifest = Path(after("--out")) / "manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text('{"files": {}}')
elif arguments[0] == "evaluate" and "--labels" in arguments:
    (Path(after("--out")) / "predictions").mkdir(parents=True)
    (Path(after("--out")) / "predictions/last.predict.jsonl").touch()
elif arguments[0] == "evaluate":
    (Path(arguments[1]) / "predictions").mkdir(exist_ok=True)
'''


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Takes the place of the command line; gives what it was asked for so far."""
    (tmp_path / "fake.py").write_text(FAKE)
    code = (
        "import runpy, sys\nfrom clevrhope.experiments.engines import work\n"
        f"def run(arguments):\n sys.argv = ['fake', *arguments]\n"
        f" runpy.run_path({str(tmp_path / 'fake.py')!r})\n return 0\n"
        "work(run)"
    )
    monkeypatch.setattr(engines, "_SNIPPET", code)
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
        "import sys\nfrom clevrhope.experiments import engines\n"
        f"engines._SNIPPET = {engines._SNIPPET!r}\n"
        "from clevrhope.__main__ import run_command\nsys.exit(run_command(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "experiment", str(grid), "--out", str(out), "--quiet"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
