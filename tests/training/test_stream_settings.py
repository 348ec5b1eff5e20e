"""`stream`: its cache of images, and arguments that are wrong."""

import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from test_stream import HOP, SIZE, assert_same, made, texts

import clevrhope
from clevrhope import ConfigError, DatasetError
from clevrhope.images.native import NativeRenderer
from clevrhope.images.pixel_cache import SUFFIX
from clevrhope.training.stream import Stream
from waiting import HANG_S
from wording import check_refused, refused


def no_rendering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NativeRenderer, "render", lambda *_: pytest.fail("it was rendered again"))


@pytest.mark.slow
def test_a_cache_has_the_images_of_later_epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = made(cache=tmp_path / "kept", shuffle=1)
    first = {each["question_index"]: each["image"] for each in stream}
    assert len(list((tmp_path / "kept").iterdir())) == 2
    no_rendering(monkeypatch)
    for again in (stream, made(cache=tmp_path / "kept")):
        for item in again:
            np.testing.assert_array_equal(item["image"], first[item["question_index"]])
            item["image"][:] = 0  # an array of the caller's own


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "longer", "of other images"])
def test_a_damaged_file_of_the_cache_is_made_again(tmp_path: Path, damage: str) -> None:
    list(made(limit=18, cache=tmp_path / "other"))
    (other,) = (tmp_path / "other").iterdir()
    stream = made(limit=36, cache=tmp_path)
    wanted = list(stream)
    (path,) = tmp_path.glob(f"*{SUFFIX}")
    whole = path.read_bytes()
    spoilt = {
        "cut": whole[:-1],
        "empty": b"",
        "changed": whole[:999] + bytes([whole[999] ^ 1]) + whole[1000:],
        "longer": whole + b"x",
        "of other images": other.read_bytes(),
    }
    path.write_bytes(spoilt[damage])
    assert_same(iter(stream), wanted)
    assert path.read_bytes() == whole


def test_a_cache_is_bound_to_all_that_decides_an_image(tmp_path: Path) -> None:
    def files(**changes: Any) -> int:
        list(made(limit=9, cache=tmp_path, **changes))
        return len(list(tmp_path.glob(f"*{SUFFIX}")))

    assert files() == 1
    assert files(text=True) == files(shuffle=1) == 1
    changes = ({"seed": 6}, {"size": (96, 65)}, {"quality": "standard"}, {"split": "val_iid"})
    for n, change in enumerate((*changes, {"diversity": 4}), 2):
        assert files(**change) == n


def test_a_cache_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    check_refused(DatasetError, made, limit=9, cache=tmp_path / "file")
    stream = made(limit=9, cache=tmp_path / "kept")
    (tmp_path / "kept").rmdir()
    check_refused(DatasetError, list, stream)


def _pass(stream: Stream, results: Any) -> None:
    results.put([each["image"] for each in stream])


@pytest.mark.slow
def test_several_processes_fill_a_cache_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = made(cache=tmp_path)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=_pass, args=(stream, results)) for _ in range(3)]
    for each in processes:
        each.start()
    given = [results.get(timeout=HANG_S) for _ in processes]
    for each in processes:
        each.join()
    assert sorted(each.suffix for each in tmp_path.iterdir()) == [SUFFIX] * 2
    no_rendering(monkeypatch)
    for images in given:
        for item, image in zip(stream, images, strict=True):
            np.testing.assert_array_equal(item["image"], image)


@pytest.mark.parametrize(
    "change",
    [
        {"hop": "rubber_cilinder"},
        {"split": "trian"},
        {"split": "val"},
        {"split": "covr_train"},
        {"size": (0, 64)},
        {"size": (96, -1)},
        {"size": 96},
        {"size": (96.0, 64)},
        {"seed": None},
        {"seed": -1},
        {"seed": 1 << 64},
        {"shuffle": True},
        {"limit": 0},
        {"buffer": 0},
        {"quality": "best"},
        {"rank": 1},
        {"rank": 2, "world_size": 2},
        {"diversity": 99},
        {"diversity": "8"},
        {"diversity_mode": "grid"},
        {"diversity": 8, "palette": "x"},
        {"palette": "nowhere.json"},
        {"config": "nowhere.toml"},
        {"split": "minimal_ood", "limit": 10**6},
    ],
)
@pytest.mark.slow
def test_arguments_that_are_wrong_get_a_sentence(change: dict[str, Any]) -> None:
    with refused(clevrhope.ClevrhopeError) as caught:
        made(**{"limit": 10, **change})
    assert "--" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_seed_has_to_be_given() -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'seed'"):
        clevrhope.stream(HOP, "train", size=SIZE)  # type: ignore[call-arg]


@pytest.mark.slow
def test_settings_that_need_a_build(tmp_path: Path) -> None:
    for line in ('passes = ["mask"]', "clevr = '.'"):
        (tmp_path / "own.toml").write_text(f"{line}\n")
        check_refused(ConfigError, texts, config=tmp_path / "own.toml")
