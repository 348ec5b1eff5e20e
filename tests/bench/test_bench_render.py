"""`python -m benchmarks render` with few images: what it measures and says, not how fast this machine is."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import render as bench_render
from benchmarks.__main__ import run_benchmark
from benchmarks.reference_images import psnr, reference_image, reference_scenes
from benchmarks.render import measure_cycles
from benchmarks.render_images import difference
from benchmarks.render_measures import excess_light, features, grain, grown, ssim
from clevrhope.images.native import NativeRenderer
from clevrhope.images.png import read_png

NUMBERS = {"psnr_db_mean", "psnr_db_min", "ssim_mean", "seconds_per_image", "images", "qualities"}


class _InBlendersPlace(NativeRenderer):
    """Images without Blender, where only what is said of them matters."""

    pool = SimpleNamespace(devices={"CPU"}, pids=[os.getpid()])


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    def cycles(studio: Any, name: str) -> NativeRenderer:
        return _InBlendersPlace(quality="draft")

    monkeypatch.setattr(bench_render._Studio, "cycles", cycles)
    monkeypatch.setattr(bench_render, "NATIVE", ("draft", "standard"))


@pytest.mark.slow
@pytest.mark.usefixtures("_quick")
def test_json_has_both_renderers_and_each_quality(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet, curve = tmp_path / "sheet.png", tmp_path / "curve.png"
    arguments = ["render", "--images", "1", "--json", "--sheet", str(sheet), "--curve", str(curve)]
    assert run_benchmark(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    for renderer in ("cycles", "native"):
        assert set(found[renderer]) > NUMBERS
        standard = found[renderer]["qualities"]["standard"]
        assert all(found[renderer][name] == standard[name] for name in standard)
        assert all(each["seconds_per_image"] > 0 for each in found[renderer]["qualities"].values())
    assert list(found["cycles"]["qualities"]) == ["1", "2", "draft", "8", "standard", "32"]
    assert found["cycles"]["workers"] >= 1
    assert found["cycles"]["worker_bytes"] > 1 << 20
    assert found["native"]["psnr_db_min"] >= 38
    assert found["native"]["ssim_mean"] >= 0.98
    seconds = [found[renderer]["seconds_per_image"] for renderer in ("cycles", "native")]
    assert found["ratio"] == pytest.approx(seconds[0] / seconds[1])
    assert 0 < found["native"]["png_share"] < 0.1
    assert set(found["native"]["png_shares"]) == {"draft", "standard"}
    assert found["native"]["seconds_to_start"] > 0
    for each in found["native"]["qualities"].values():
        assert all(0.1 < value < 20 for value in each["grain"].values())
        assert set(each["grain"]) <= {"metal", "rubber"}
        for light in each["foot_light"].values():
            assert light["min"] - 1e-9 <= light["mean"] <= light["max"] + 1e-9
    assert found["native"]["foot_light"]
    assert read_png(sheet).shape[1] > 3 * 480
    assert read_png(curve).shape[0] > 300


def test_a_device_without_blender_is_noted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_render, "NATIVE", ("draft", "standard"))
    monkeypatch.setattr("clevrhope.runtime.blender.find_blender", lambda: None)
    assert run_benchmark(["render", "--images", "1", "--device", "cpu", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cycles"] is None
    assert "no Cycles: " in "; ".join(found["notes"])
    assert found["native"]["psnr_db_mean"] >= 38


@pytest.mark.usefixtures("_quick")
def test_the_table_has_grain_and_the_light_at_feet(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_benchmark(["render", "--images", "1", "--no-cycles"]) == 0
    seen = capsys.readouterr()
    assert re.search(r"^Starting native standard: \d+ images?, ", seen.err, re.M), "a display while it starts"
    assert "rendering native standard, 1 of 1 ..." in seen.err
    lines = seen.out.splitlines()
    (heading,) = [number for number, line in enumerate(lines) if line.startswith("grain of materials")]
    standard = lines[heading + 2]
    assert re.fullmatch(r"native +standard +(metal|rubber) \d\.\d\d.*; .* \([-+].*% to [-+].*%\)", standard)


def test_grain_is_none_on_a_slope_and_grows_with_noise() -> None:
    inside = np.zeros((40, 40), dtype=bool)
    inside[5:35, 5:35] = True
    even = np.full((40, 40, 3), 128, dtype=np.uint8)
    assert grain(even, inside) < 1e-9  # zero, but for the rounding of sums
    ramp = np.repeat(np.arange(100, 140, dtype=np.uint8)[:, None, None], 40, axis=1).repeat(3, axis=2)
    assert grain(ramp, inside) < 0.1 < np.diff(ramp[:, 0, 0]).min()
    noise = np.random.default_rng(1).normal(size=even.shape[:2])[:, :, None]
    little, much = (grain((even + amount * noise).astype(np.uint8), inside) for amount in (4, 16))
    assert 0.0 < 3 * little < much


def test_a_ring_lies_on_the_ground_at_the_foot() -> None:
    scene = reference_scenes()[0]
    ((_, passes),) = NativeRenderer(width=240, height=160).passes([(0, scene)])
    rings = [each.ring for each in features(scene, passes) if each.ring is not None]
    assert len(rings) >= 3
    for ring in rings:
        assert np.all(passes.mask[ring] == 255)
        assert np.all(grown(passes.mask != 255, 2)[ring])
    dim = np.full((160, 240, 3), 100, dtype=np.uint8)
    assert excess_light(dim, dim, rings[0]) == 0.0
    assert excess_light(dim + np.uint8(20), dim, rings[0]) > 0.3


def test_bench_alone_keeps_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_benchmark(["--full", "render"]) == 2
    assert "put options of render after it" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-1", "four"])
def test_a_number_of_images_that_is_none_is_told(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_benchmark(["render", f"--images={number}"]) == 2
    assert f'--images: "{number}" should be a whole number from 1' in capsys.readouterr().err


def test_ssim_is_one_for_the_same_and_falls_with_noise() -> None:
    image = read_png(reference_image(0))
    noise = np.random.default_rng(1).integers(-20, 21, image.shape)
    noisy = np.clip(image.astype(int) + noise, 0, 255).astype(np.uint8)
    assert ssim(image, image) == pytest.approx(1.0)
    assert 0.1 < ssim(image, noisy) < 0.8


def test_a_sheet_shows_differences_times_eight() -> None:
    """As docs/rendering.md says of its image."""
    a = np.array([[[0, 100, 200]]], np.uint8)
    b = np.array([[[3, 96, 10]]], np.uint8)
    assert difference(a, b).tolist() == difference(b, a).tolist() == [[[24, 32, 255]]]


def test_psnr_is_that_of_the_definition() -> None:
    black = np.zeros((2, 3, 3), dtype=np.uint8)
    grey = np.full((2, 3, 3), 10, dtype=np.uint8)
    assert psnr(black, black) == float("inf")
    assert psnr(black, grey) == pytest.approx(20 * np.log10(25.5))
    with pytest.raises(ValueError, match="different shapes"):
        psnr(black, grey[:1])


def test_reference_scenes_cover_the_world_and_have_their_images() -> None:
    scenes = reference_scenes()
    assert sorted(len(scene["objects"]) for scene in scenes) == sorted([3, 4, 5, 6, 7, 8, 9, 10] * 2)
    kinds = {(o["shape"], o["material"], o["size"]) for scene in scenes for o in scene["objects"]}
    assert len(kinds) == 12
    there = [path for i in range(len(scenes)) if (path := reference_image(i)).exists()]
    assert len(there) == 16
    assert all(read_png(path).shape == (320, 480, 3) for path in there)


@pytest.mark.slow
def test_a_default_image_comes_within_43_db_of_512_samples() -> None:
    (effort,), device = measure_cycles(2, ["standard"], device="cpu")
    assert effort.psnr_db_mean >= 43.0
    assert effort.seconds_per_image > 0.0
    assert device == "CPU"
