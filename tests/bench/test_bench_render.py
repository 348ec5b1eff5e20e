"""`clevrhope bench render` with few images: what it says, not how fast this machine is."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrhope.__main__ import run_command
from clevrhope.bench import render as bench_render
from clevrhope.bench.render_images import difference
from clevrhope.images.native import NativeRenderer
from clevrhope.images.png import read_png
from clevrhope.images.quality import reference_image, ssim

NUMBERS = {"psnr_db_mean", "psnr_db_min", "ssim_mean", "seconds_per_picture", "pictures", "qualities"}


class _InBlendersPlace(NativeRenderer):
    """Images without Blender, where only what is said of them matters."""

    devices = frozenset({"CPU"})
    worker_pids = (os.getpid(),)


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    def cycles(studio: Any, name: str) -> NativeRenderer:
        return _InBlendersPlace(quality="draft")

    monkeypatch.setattr(bench_render._Studio, "cycles", cycles)
    monkeypatch.setattr(bench_render, "QUALITIES", {"native": ("draft", "standard")})


@pytest.mark.usefixtures("_quick")
def test_json_has_both_renderers_and_each_quality(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet, curve = tmp_path / "sheet.png", tmp_path / "curve.png"
    arguments = ["bench", "render", "--images", "1", "--json", "--sheet", str(sheet), "--curve", str(curve)]
    assert run_command(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    for renderer in ("cycles", "native"):
        assert set(found[renderer]) > NUMBERS
        standard = found[renderer]["qualities"]["standard"]
        assert all(found[renderer][name] == standard[name] for name in standard)
        assert all(each["seconds_per_picture"] > 0 for each in found[renderer]["qualities"].values())
    assert list(found["cycles"]["qualities"]) == ["1", "2", "draft", "8", "standard", "32"]
    assert found["cycles"]["workers"] >= 1
    assert found["cycles"]["worker_bytes"] > 1 << 20
    assert found["native"]["psnr_db_min"] >= 38
    assert found["native"]["ssim_mean"] >= 0.98
    seconds = [found[renderer]["seconds_per_picture"] for renderer in ("cycles", "native")]
    assert found["ratio"] == pytest.approx(seconds[0] / seconds[1])
    assert 0 < found["native"]["png_share"] < 0.1
    assert set(found["native"]["png_shares"]) == {"draft", "standard"}
    assert found["native"]["seconds_to_start"] > 0
    assert read_png(sheet).shape[1] > 3 * 480
    assert read_png(curve).shape[0] > 300


@pytest.mark.usefixtures("_quick")
def test_without_blender_the_native_renderer_is_measured_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["bench", "render", "--images", "1", "--no-cycles", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cycles"] is None
    assert found["ratio"] is None
    assert found["native"]["psnr_db_mean"] >= 38


def test_bench_alone_keeps_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["bench", "--full", "render"]) == 2
    assert "put options of render after it" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-1", "four"])
def test_a_number_of_images_that_is_none_is_told(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["bench", "render", f"--images={number}"]) == 2
    assert f'--images: "{number}" should be a whole number from 1' in capsys.readouterr().err


def test_ssim_is_one_for_the_same_and_falls_with_noise() -> None:
    image = read_png(reference_image(0))
    noise = np.random.default_rng(1).integers(-20, 21, image.shape)
    noisy = np.clip(image.astype(int) + noise, 0, 255).astype(np.uint8)
    assert ssim(image, image) == pytest.approx(1.0)
    assert 0.1 < ssim(image, noisy) < 0.8


def test_differences_are_enlarged_and_black_where_there_are_none() -> None:
    a = np.full((2, 2, 3), 100, dtype=np.uint8)
    b = a.copy()
    b[0, 0] = (103, 97, 200)
    assert difference(a, b)[0, 0].tolist() == [24, 24, 255]
    assert not difference(a, b)[1].any()
