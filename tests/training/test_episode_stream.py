"""Episodes with nonce words as a stream: those of a build, with their supports, in any order and process."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import request

import clevrhope
from clevrhope.errors import ConfigError
from clevrhope.images.settings import NativeSettings
from clevrhope.pipeline import build
from clevrhope.splits.nonce.episodes import Episode, EpisodeStream
from clevrhope.splits.nonce.kinds import NONCE_SPLITS
from clevrhope.training.stream import Stream
from wording import refused

N = 5
"""Two groups, and a row of the third."""


def made(split: str = "nonce_seen", hop: str = "none", **changes: Any) -> Stream:
    size = {"size": (60, 40), "seed": 5, "limit": N, "quality": "draft", "text": True}
    return clevrhope.stream(hop, split, **{**size, **changes})


def check_same(items: Any, wanted: Any) -> None:
    for one, other in zip(items, wanted, strict=True):
        assert one.keys() == other.keys()
        for name, value in other.items():
            np.testing.assert_array_equal(one[name], value, name)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("episodes") / "data"
    look = NativeSettings(width=60, height=40, quality="draft")
    build(request(out, hops=("none",), splits=(), nonce=N, images="h5", rendering=look))
    return out


@pytest.mark.parametrize("split", NONCE_SPLITS)
def test_episodes_are_those_of_a_build(built: Path, split: str, tmp_path: Path) -> None:
    loaded = clevrhope.load(built, "none", split, text=True)
    stream = made(split, cache=tmp_path / "cache")
    for items in (stream, made(split, cache=tmp_path / "cache"), pickle.loads(pickle.dumps(stream))):
        check_same(items, loaded)
    assert "support_images" not in next(iter(made(split, images=False)))


def test_they_are_drawn_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    episodes = EpisodeStream.episodes

    def counted(stream: EpisodeStream, first: int, n: int) -> list[Episode]:
        drawn.append(n)
        return episodes(stream, first, n)

    monkeypatch.setattr(EpisodeStream, "episodes", counted)
    stream = made()
    sent = pickle.dumps(stream)
    assert "support_images" in next(iter(stream))
    assert drawn == [N]
    next(iter(pickle.loads(sent)))
    assert drawn == [N, N]


def test_their_order_follows_from_seed_and_epoch() -> None:
    stream = made(images=False, limit=40, shuffle=7)
    epochs = [[item["question_index"] for item in stream] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == [*range(40)]
    assert epochs[0] != epochs[1]
    stream.set_epoch(0)
    assert [item["question_index"] for item in stream] == epochs[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"limit": None},
        {"limit": 100_001},
        {"hop": "rubber_cylinder"},
        {"diversity": 4},
        {"split": "nonce_unsen"},
    ],
)
def test_what_episodes_do_not_have_is_refused(changes: dict[str, Any]) -> None:
    with refused(ConfigError):
        made(**changes)
