"""What tests of training share: a demo with images that need no renderer, its pixels, short runs on it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from building import add_sets, build_demo

from clevrhope.features.extraction import make_features
from clevrhope.pipeline.suites import make_suite
from clevrhope.runtime.progress import Advance
from clevrhope.training.request import TrainRequest, TrainSummary
from clevrhope.training.run import train

HOP = "rubber_cylinder"

OBJECTS = {"features": "attributes", "hidden": 16, "heads": 2, "layers": 1, "recipe.batch_size": 16}
"""Settings of a small object transformer."""

PIXELS = {
    **{"features": "pixels", "image_width": 24, "image_height": 16, "halvings": 2, "channels": 8},
    **{"classifier_channels": 8, "classifier_hidden": 16},
}
"""Settings of a small FiLM, or of the engine of a small Tensor-NMN."""

NMN = {**PIXELS, "generator_words": 8, "generator_hidden": 8, "recipe.batch_size": 16}
"""Settings of a small Tensor-NMN."""

Train = Callable[..., TrainSummary]

CLOCKED = ("time", "updates_a_second")


def rows(path: Path) -> list[dict[str, Any]]:
    """The JSON lines of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def info(folder: Path) -> dict[str, Any]:
    """The run.json of a run."""
    content: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return content


def weights(folder: Path, name: str = "last") -> bytes:
    """A checkpoint of a run."""
    return (folder / "weights" / f"{name}.safetensors").read_bytes()


def log(folder: Path) -> list[dict[str, Any]]:
    """The log of a run, without times."""
    return [
        {name: value for name, value in line.items() if name not in CLOCKED}
        for line in rows(folder / "log.jsonl")
    ]


def start_command(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Starts a command in a process of its own, which can import the models of these tests."""
    code = "import sys; from clevrhope.__main__ import run_command; sys.exit(run_command(sys.argv[1:]))"
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths, **environment}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)


class StopsAt:
    """A display that raises a signal when so many updates are made."""

    def __init__(self, update: int, number: int = signal.SIGTERM) -> None:
        self._left, self._number = update, number

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str) -> Iterator[Advance]:
        def advance(n: int, /, *, there: bool = False) -> None:
            if there:
                return
            self._left -= n
            if self._left == 0:
                signal.raise_signal(self._number)

        yield advance


def stopped_states(
    run: Train, out: Path, stops: Sequence[int], number: int = signal.SIGTERM, **request: Any
) -> list[str]:
    """Stops a run after so many more updates each time; gives the names of the states that it left."""
    states = []
    for left in stops:
        with pytest.raises(KeyboardInterrupt):
            run(out.name, progress=StopsAt(left, number), **request)
        (state,) = (out / "state").iterdir()
        states.append(state.name)
    return states


def check_resumes(run: Train, home: Path, *stops: int, **request: Any) -> TrainSummary:
    """Checks that a run that is stopped and resumed is the same as one that nobody stopped, `whole`."""
    if not (home / "whole").exists():
        run("whole", **request)
    states = stopped_states(run, home / "stopped", stops, **request)
    made = run("stopped", **request)
    assert made.resumed_at == int(states[-1])
    for name in made.checkpoints:
        assert weights(home / "stopped", name) == weights(home / "whole", name), name
    assert log(home / "stopped") == log(home / "whole")
    return made


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """rubber_cylinder and none, with features of kind pixels."""
    folder = build_demo(
        tmp_path_factory.mktemp("trained_on") / "demo", hops=(HOP, "none"), images="h5"
    ).folder
    make_features(folder, kind="pixels", size=(24, 16))
    return folder


@pytest.fixture(scope="session")
def folder(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the dataset with questions about sets, and the true attributes of its images."""
    copy = shutil.copytree(dataset, tmp_path_factory.mktemp("sets") / "data")
    add_sets(Path(copy))
    make_features(copy, kind="pixels", size=(24, 16))
    make_features(copy, kind="attributes")
    return copy


@pytest.fixture(scope="session")
def paired(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the dataset with both suites, not to be changed."""
    copy = Path(shutil.copytree(dataset, tmp_path_factory.mktemp("paired") / "data"))
    for suite in ("carets", "rad"):
        make_suite(copy, suite, hops=[HOP])
    return copy


@pytest.fixture
def run(dataset: Path, tmp_path: Path) -> Train:
    """Trains `Tiny`, or what is asked for instead, into the test's folder, on one thread."""

    def go(
        name: str = "run",
        *,
        progress: Any = None,
        tell: Any = lambda _: None,
        on_log: Any = None,
        **changes: Any,
    ) -> TrainSummary:
        wanted = {
            "model": "tiny_models:Tiny",
            "dataset": dataset,
            "hop": HOP,
            "size": 100,
            "seed": 3,
            "out": tmp_path / name,
            "device": "cpu",
            **changes,
        }
        return train(TrainRequest(**wanted), progress, tell=tell, on_log=on_log)

    return go


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def models_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
