"""A renderer that is one module and one row, used wherever the package renders or reads what was rendered."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from building import Cli
from discs import DISCS

import clevrhope
from clevrhope.audit import audit
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.errors import ConfigError
from clevrhope.images.png import read_png
from clevrhope.images.renderers import RENDERERS
from clevrhope.scenes import sample_scenes
from wording import check_words, refused

ASKED = ("--hop", "rubber_cylinder", "--splits", "train", "--seed", "3", "--renderer", "discs")
SIZE = (96, 64)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RENDERERS, "discs", DISCS)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "settings.toml"
    path.write_text('[rendering]\nrenderer = "discs"\nwidth = 96\nheight = 64\n[sizes]\ntrain = 27\n')
    return path


@pytest.mark.slow
def test_a_folder_is_built_streamed_audited_and_bound(
    tmp_path: Path, settings: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    build = ["build", *ASKED, "--config", settings, "--quiet", "--out", out]
    cli(*build)
    rendering = existing_manifest(out / "manifest.json").rendering
    assert rendering == {"renderer": "discs", "width": 96, "height": 64, "quality": "large", "revision": 1}
    assert "by discs (quality large)" in (out / "DATASHEET.md").read_text()

    streamed = clevrhope.stream("rubber_cylinder", "train", size=SIZE, seed=3, limit=27, renderer="discs")
    built = clevrhope.load(out, "rubber_cylinder", "train")
    for item, there in zip(streamed, built, strict=True):
        assert np.array_equal(item["image"], there["image"])

    assert [check.name for check in audit(out).checks if check.n_faults] == []

    assert 'quality is "large" there, "small" asked for' in cli(*build, "--quality", "small", code=2).err
    monkeypatch.setitem(RENDERERS, "discs", replace(DISCS, revision=2))
    assert "revision 1 of the renderer of discs" in cli(*build, code=2).err


def test_plan_times_it(settings: Path, tmp_path: Path, cli: Cli) -> None:
    planned = json.loads(cli("plan", *ASKED, "--config", settings, "--out", tmp_path / "o", "--json").out)
    assert planned["rendering"]["renderer"] == "discs"
    assert planned["seconds_per_image"] > 0


def test_scene_files_are_rendered_up_to_its_number_of_objects(tmp_path: Path, cli: Cli) -> None:
    scenes = json.loads(sample_scenes(2, seed=3).to_json())
    file = tmp_path / "scenes.json"
    file.write_text(json.dumps({"scenes": scenes}))
    command = ["render", file, "--renderer", "discs", "--quiet", "--out"]
    cli(*command, tmp_path / "out")
    assert len(np.unique(read_png(min((tmp_path / "out").glob("*.png"))).reshape(-1, 3), axis=0)) > 2

    scenes[1]["objects"] *= 21
    file.write_text(json.dumps({"scenes": scenes}))
    assert "the renderer of discs takes up to 20" in cli(*command, tmp_path / "full", code=2).err


@pytest.mark.parametrize(
    "options",
    [
        "--renderer disc",
        "--renderer discs --quality huge",
        "--renderer discs --samples 4",
        "--renderer discs --device cuda",
    ],
)
def test_wrong_options_are_refused(options: str, tmp_path: Path, cli: Cli) -> None:
    made = ["build", "--hop", "none", "--seed", "3", *options.split(), "--out", tmp_path / "out"]
    check_words(cli(*made, code=2).err)


def test_a_stream_takes_no_renderer_with_processes_of_its_own() -> None:
    with refused(ConfigError):
        clevrhope.stream("rubber_cylinder", "train", size=SIZE, seed=3, renderer="blender")
