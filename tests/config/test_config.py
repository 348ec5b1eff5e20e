"""Presets, TOML and command-line choices: who wins, and what bad settings are told."""

from pathlib import Path
from typing import Any

import pytest

from clevrhope.config.presets import PRESETS, check_splits
from clevrhope.config.sources import resolve_config
from clevrhope.errors import ConfigError
from clevrhope.images.renderers import rendering_as_json
from clevrhope.images.settings import BlenderSettings, NativeSettings
from clevrhope.runtime.assets import blender_assets
from wording import check_refused


def toml(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_the_paper_preset_has_the_papers_sizes() -> None:
    sizes = PRESETS["paper"].sizes
    assert (sizes.train, sizes.complex_iid, sizes.complex_ood) == (560_000, 120_000, 15_000)


def test_later_sources_win(tmp_path: Path) -> None:
    file = toml(
        tmp_path, 'preset = "small"\n[sizes]\ntrain = 25\ncomplex_ood = 7\n[world]\nmax_objects = 8\n'
    )
    config = resolve_config(file=file, train_questions=30)
    assert (config.preset, config.sizes.train, config.sizes.complex_ood) == ("small", 30, 7)
    assert config.sizes.complex_iid == PRESETS["small"].sizes.complex_iid
    assert config.world == {"max_objects": 8}
    assert resolve_config(preset="paper", file=file).sizes.complex_iid == 120_000
    assert resolve_config() == PRESETS["demo"]


def test_paths_in_a_file_are_meant_from_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "questions").mkdir()
    config = resolve_config(file=toml(tmp_path, 'templates = "questions"\nproperties = "p.json"\n'))
    assert config.templates == tmp_path / "questions"
    assert config.properties == tmp_path / "p.json"


def test_a_world_of_the_package_has_a_name_in_a_file_as_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = toml(tmp_path, 'properties = "unnamed"\n')
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "unnamed").touch()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert resolve_config(file=file).properties == blender_assets() / "worlds" / "unnamed.json"
    (tmp_path / "unnamed").touch()
    assert resolve_config(file=file).properties == tmp_path / "unnamed"


@pytest.mark.parametrize(
    "text",
    [
        "[sizes]\ntrian = 3",
        "sizes = 3",
        "[sizes]\ntrain = 0",
        "[sizes]\ntrain = true",
        "images = 'jpg'",
        "[rendering]\nsamples = 0",
        "[rendering]\nsample = 1",
        "[rendering]\nrenderer = 'nativ'",
        "[rendering]\nrenderer = 1",
        "[rendering]\nquality = 'high'",
        "[rendering]\nquality = 'draft'\nsamples = 9",
        "[rendering]\nrenderer = 'native'\ndenoise = false",
        "[rendering]\nrenderer = 'native'\nwidth = 0",
        "preset = 'huge'",
        "preset = { a = 1 }",
        "preset = 'smal'",
        "clevr = 'c'\nclevr_share = true",
        "[sizes]\ntrain = 9999999999999999999",
        "[world]\nmargin = nan",
        "[world]\nmax_objects = 'x'",
        "images = 1979-05-27",
        "a = " + "[" * 10_000,
        'templates = "a\\u0000"',
        "a = ",
        "templates = 'nowhere'",
        "[rendering]\nwidth = 100",
        "[rendering]\nheight = 100",
    ],
)
def test_bad_settings_get_a_sentence(tmp_path: Path, text: str) -> None:
    check_refused(ConfigError, resolve_config, file=toml(tmp_path, text))


def test_effort_is_said_once_in_words_or_in_samples(tmp_path: Path) -> None:
    assert resolve_config(quality="standard").rendering == BlenderSettings()
    assert resolve_config(quality="draft").rendering == resolve_config(samples=4).rendering
    assert resolve_config(quality="original").rendering == resolve_config(samples=512).rendering
    assert resolve_config(renderer="native").rendering == NativeSettings(quality="standard")
    file = toml(tmp_path, '[rendering]\nrenderer = "native"\nquality = "high"\nwidth = 240\nheight = 160\n')
    assert resolve_config(file=file).rendering == NativeSettings(240, 160, "high")
    assert resolve_config(file=file, quality="draft").rendering == NativeSettings(240, 160, "draft")
    file = toml(tmp_path, '[rendering]\nsamples = 99\ndenoise = false\ndevice = "cpu"\n')
    assert resolve_config(file=file, quality="draft").rendering == BlenderSettings(samples=4, device="cpu")
    # The command line wins, so a file's quality is no matter where it gives another.
    file = toml(tmp_path, '[rendering]\nquality = "original"\n')
    assert resolve_config(file=file, renderer="native", quality="high").rendering == NativeSettings(
        quality="high"
    )


@pytest.mark.parametrize(
    "choices",
    [
        {"renderer": "blender", "quality": "high"},
        {"renderer": "native", "quality": "original"},
        {"samples": 8, "quality": "draft"},
        {"samples": 8, "renderer": "native"},
    ],
)
def test_effort_that_a_renderer_does_not_have_gets_a_sentence(choices: dict[str, Any]) -> None:
    check_refused(ConfigError, resolve_config, **choices)


def test_bad_choices_get_a_sentence(tmp_path: Path) -> None:
    check_refused(ConfigError, resolve_config, file=tmp_path / "none.toml")
    check_refused(ConfigError, resolve_config, train_questions=0)
    check_refused(ConfigError, check_splits, ["complex_odd"])
    check_refused(ConfigError, check_splits, ["train", "covr_train"])
    assert check_splits(["minimal_ood", "train", "train"]) == ("train", "minimal_ood")


def test_a_side_alone_keeps_the_shape() -> None:
    square = rendering_as_json(NativeSettings(width=96, height=96))
    assert resolve_config(width=480).rendering == BlenderSettings()
    assert resolve_config(before={"rendering": square}, height=96).rendering.width == 96
    for before in ({}, {"rendering": square}):
        check_refused(ConfigError, resolve_config, before=before, width=200)


def test_a_quality_alone_is_one_of_the_renderer_that_is_there() -> None:
    before = {"rendering": rendering_as_json(NativeSettings(width=96, height=64))}
    config = resolve_config(before=before, quality="high")
    assert config.rendering == NativeSettings(width=96, height=64, quality="high")
    check_refused(ConfigError, resolve_config, before=before, quality="original")
