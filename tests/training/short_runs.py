"""What tests of training share: a demo with images that need no renderer, its pixels, short runs on it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from building import request as asked
from fake_renderer import FakeRenderer
from made_sets import make_sets

from clevrhope.features.extraction import make_features
from clevrhope.pipeline import build
from clevrhope.training.request import TrainRequest, TrainSummary
from clevrhope.training.run import train

HOP = "rubber_cylinder"

Train = Callable[..., TrainSummary]


def build_demo(out: Path, **changes: Any) -> Path:
    """A demo of rubber_cylinder, with 48 x 32 images."""
    build(
        asked(out, **changes),
        make_renderer=lambda settings, workers: FakeRenderer(settings=settings, workers=workers),
    )
    return out


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """rubber_cylinder and none, with features of kind pixels."""
    folder = build_demo(tmp_path_factory.mktemp("trained_on") / "demo", hops=(HOP, "none"), images="h5")
    make_features(folder, kind="pixels", size=(24, 16))
    return folder


@pytest.fixture(scope="session")
def folder(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the dataset with questions about sets, and the true attributes of its images."""
    copy = shutil.copytree(dataset, tmp_path_factory.mktemp("sets") / "data")
    make_sets(copy, HOP)
    make_features(copy, kind="attributes")
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
