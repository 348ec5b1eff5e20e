"""Presets, TOML and command-line choices: who wins, and what bad settings are told."""

from pathlib import Path
from typing import Any

import pytest

from clevrhope.config.presets import PRESETS, check_splits
from clevrhope.config.sources import resolve_config
from clevrhope.errors import ConfigError
from clevrhope.images.renderers import rendering_as_json
from clevrhope.images.settings import NativeSettings, RenderSettings


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sizes]\ntrian = 3", r'mine\.toml: unknown setting "sizes\.trian" \(did you mean "train"\?\)'),
        ("sizes = 3", r"mine\.toml: sizes is 3; expected a table \[sizes\]"),
        ("[sizes]\ntrain = 0", "sizes.train is 0; expected a whole number from 1"),
        ("[sizes]\ntrain = true", "sizes.train is true; expected a whole number"),
        ("images = 'jpg'", r'images is "jpg" \(did you mean "png"\?\); expected "png", "h5" or "both"$'),
        ("[rendering]\nsamples = 0", r"mine\.toml: rendering\.samples is 0; expected from 1 to 65536"),
        ("[rendering]\nsample = 1", r'unknown setting "rendering\.sample" \(did you mean "samples"\?\)'),
        (
            "[rendering]\nrenderer = 'nativ'",
            r'rendering\.renderer: unknown renderer "nativ" .did you mean "native".*known: blender, native',
        ),
        ("[rendering]\nrenderer = 1", "renderer is 1; expected a string"),
        (
            "[rendering]\nquality = 'high'",
            'rendering.quality: renderer blender has no quality "high"; it has dra',
        ),
        (
            "[rendering]\nquality = 'draft'\nsamples = 9",
            "samples and rendering.quality both set the rendering effort",
        ),
        (
            "[rendering]\nrenderer = 'native'\ndenoise = false",
            r"mine\.toml: rendering\.denoise is a setting of the renderer blender, but native is chosen",
        ),
        ("[rendering]\nrenderer = 'native'\nwidth = 0", "rendering.width is 0; expected from 1 to 8192"),
        ("preset = 'huge'", 'preset is "huge"; expected "demo", "small" or "paper"'),
        ("preset = { a = 1 }", r'mine\.toml: preset is \{"a": 1\}; expected "demo"'),
        ("preset = 'smal'", r'mine\.toml: preset is "smal" \(did you mean "small"\?\)'),
        ("clevr = 'c'\nclevr_share = true", "clevr_share is true; expected a number"),
        (
            "[sizes]\ntrain = 9999999999999999999",
            "sizes.train is 9999999999999999999; expected a whole number",
        ),
        ("[world]\nmargin = nan", "world.margin is nan; expected a number"),
        ("[world]\nmax_objects = 'x'", 'world.max_objects is "x"; expected a whole number'),
        ("images = 1979-05-27", "images is 1979-05-27; expected .png"),
        ("a = " + "[" * 10_000, r"mine\.toml: broken TOML: nested more than 50 deep"),
        ('templates = "a\\u0000"', "has a NUL character"),
        ("a = ", r"mine\.toml: broken TOML"),
        ("templates = 'nowhere'", "templates: .*nowhere is not a folder"),
    ],
)
def test_bad_settings_get_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve_config(file=toml(tmp_path, text))


def test_effort_is_said_once_in_words_or_in_samples(tmp_path: Path) -> None:
    assert resolve_config(quality="standard").rendering == RenderSettings()
    assert resolve_config(quality="draft").rendering == resolve_config(samples=4).rendering
    assert resolve_config(quality="original").rendering == resolve_config(samples=512).rendering
    assert resolve_config(renderer="native").rendering == NativeSettings(quality="standard")
    file = toml(tmp_path, '[rendering]\nrenderer = "native"\nquality = "high"\nwidth = 240\n')
    assert resolve_config(file=file).rendering == NativeSettings(240, 320, "high")
    assert resolve_config(file=file, quality="draft").rendering == NativeSettings(240, 320, "draft")
    file = toml(tmp_path, '[rendering]\nsamples = 99\ndenoise = false\ndevice = "cpu"\n')
    assert resolve_config(file=file, quality="draft").rendering == RenderSettings(samples=4, device="cpu")
    # The command line wins, so a file's quality is no matter where it gives another.
    file = toml(tmp_path, '[rendering]\nquality = "original"\n')
    assert resolve_config(file=file, renderer="native", quality="high").rendering == NativeSettings(
        quality="high"
    )


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            {"renderer": "blender", "quality": "high"},
            '--quality: renderer blender has no quality "high"; it has',
        ),
        (
            {"renderer": "native", "quality": "original"},
            "renderer native has no .* it has draft, standard, high",
        ),
        ({"samples": 8, "quality": "draft"}, "--samples 8 and --quality draft both set the rendering effort"),
        (
            {"samples": 8, "renderer": "native"},
            r"--samples: only Blender takes samples per pixel .8.; .* --quality draft\|standard",
        ),
    ],
)
def test_effort_that_a_renderer_does_not_have_gets_a_sentence(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve_config(**choices)


def test_bad_choices_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        resolve_config(file=tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="train is 0; expected a whole number from 1"):
        resolve_config(train_questions=0)
    with pytest.raises(ConfigError, match=r'unknown split "complex_odd" \(did you mean "complex_ood"\?\)'):
        check_splits(["complex_odd"])
    with pytest.raises(ConfigError, match=r"covr_train is a split of questions over .* with --covr"):
        check_splits(["train", "covr_train"])
    assert check_splits(["minimal_ood", "train", "train"]) == ("train", "minimal_ood")


def test_a_quality_alone_is_one_of_the_renderer_that_is_there() -> None:
    before = {"rendering": rendering_as_json(NativeSettings(width=96, height=64))}
    config = resolve_config(before=before, quality="high")
    assert config.rendering == NativeSettings(width=96, height=64, quality="high")
    with pytest.raises(ConfigError, match="native has no quality"):
        resolve_config(before=before, quality="original")
