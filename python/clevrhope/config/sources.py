"""A dataset's configuration, from a preset, its folder, a design, a TOML file and options; later ones win."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, make_dataclass, replace
from pathlib import Path
from typing import Any

from clevrhope.config.presets import PRESETS, Config, Directions, Sizes
from clevrhope.errors import ConfigError, shown
from clevrhope.images.renderers import (
    DEFAULT_RENDERER,
    on_device,
    renderer_of,
    rendering_from_json,
    row_named,
    row_of,
)
from clevrhope.images.settings import BlenderSettings, Rendering
from clevrhope.look.changes import read_changes
from clevrhope.runtime.assets import blender_assets, properties_file
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.settings import join_or, naming, read_settings, suggestion
from clevrhope.runtime.toml import read_toml
from clevrhope.splits.kinds import SPLITS, VALUE_SPLITS

DESIGNS: Mapping[str, Path] = {
    path.stem: path for path in sorted(Path(__file__).parent.glob("designs/*.toml"))
}
"""The designs by name: settings that together follow somebody else's rules. docs/official.md explains
them."""

_SHARES = {"clevr_share", "clevr_order"}
"""Settings that say which of CLEVR's scenes are used."""

SIZES_OF_TESTS = {row.size for row in SPLITS.values() if row.drawn == "stream" and row.role != "train"}
"""The sizes that --test-questions sets together."""


def resolve_config(
    *,
    preset: str | None = None,
    design: str | None = None,
    file: Path | None = None,
    before: Mapping[str, Any] | None = None,
    train_questions: int | None = None,
    test_questions: int | None = None,
    prelim_sets: int | None = None,
    renderer: str | None = None,
    quality: str | None = None,
    samples: int | None = None,
    device: str | None = None,
    width: int | None = None,
    height: int | None = None,
    **chosen: Any,
) -> Config:
    """Combines the sources into a configuration; None means not chosen.

    Args:
        preset: its name.
        design: its name, see `DESIGNS`.
        file: a TOML file.
        before: settings of the existing folder, or of the parts to be merged: fields of `Config`, to be used
            if not chosen otherwise (`preset`, `sizes` and `images` only if no preset is named), with
            `rendering` as in a manifest.
        train_questions: size of train.
        test_questions: size of the tuning split and of each complex test set, or of val and of test.
        prelim_sets: groups and sets for each value of a preliminary set.
        renderer: its name in `RENDERERS`.
        quality: a quality of the renderer.
        samples: Blender's samples per pixel.
        device: where Blender renders.
        width: image width in pixels.
        height: image height in pixels.
        chosen: fields of `Config`, by name.

    Raises:
        ConfigError: a preset, key or value is unknown; names the file and the place in it.
    """
    raw = dict(read_toml(file, "settings of a dataset")) if file else {}
    named = preset or raw.get("preset")
    if named is not None:
        _check_one_of(named, PRESETS, "--preset" if preset else f"{file}: preset")
    config = _with_folder(named, before or {})
    start = config.rendering
    if design is not None:
        config = _with_design(config, design)
        if isinstance(world := raw.get("world", {}), dict):
            raw["world"] = {**config.world, **world}
    table = raw.pop("rendering", {})
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: rendering is {shown(table)}; expected a table [rendering]")
    if file:
        config = _with_file(config, raw, file)
    asks = table or any(each is not None for each in (renderer, quality, samples))
    if asks or "rendering" not in (before or {}):
        there = config.rendering if "rendering" in (before or {}) else None
        config = replace(config, rendering=_rendering(table, file, renderer, quality, samples, there))
    size = {name: n for name, n in (("width", width), ("height", height)) if n is not None}
    config = replace(config, rendering=replace(config.rendering, **size))
    place = "--" if size else f"{file}: rendering."
    _check_shape(config.rendering, start, {*size, *table}, place)
    if device is not None:
        with naming("--device"):
            config = replace(config, rendering=on_device(config.rendering, device))
    sizes = {
        "train": train_questions,
        **dict.fromkeys(SIZES_OF_TESTS, test_questions),
        **dict.fromkeys((SPLITS[name].size for name in VALUE_SPLITS), prelim_sets),
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    of_clevr = sorted(_SHARES & given.keys())
    if of_clevr and (given.get("clevr") or config.clevr) is None:
        raise ConfigError(f"--{of_clevr[0].replace('_', '-')} is about CLEVR's scenes; give --clevr too")
    config = _without_the_other(config, given)
    sizes_given = {name: n for name, n in sizes.items() if n is not None}
    try:
        return replace(config, sizes=replace(config.sizes, **sizes_given), **given)
    except ConfigError as error:  # begins with the field's name, which is an option here
        name = max((each for each in given if str(error).startswith(each)), key=len, default="")
        option = f"--{name.replace('_', '-')}" if name else ""
        raise ConfigError(f"{option}{str(error)[len(name) :]}") from error


def _check_one_of(name: object, known: Collection[str], place: str) -> None:
    if not isinstance(name, str) or name not in known:
        near = suggestion(name, known) if isinstance(name, str) else ""
        quoted = join_or([f'"{each}"' for each in known])
        raise ConfigError(f"{place} is {shown(name)}{near}; expected {quoted}")


def _with_folder(named: str | None, before: Mapping[str, Any]) -> Config:
    """The configuration before file and command line: a preset, or that of the folder."""
    there = dict(before)
    rendering = there.pop("rendering", None)
    if named is not None:
        there = {name: each for name, each in there.items() if name not in ("preset", "sizes", "images")}
    elif "sizes" in there:
        known = {each.name for each in fields(Sizes)}  # another version may have had other sizes
        there["sizes"] = {name: n for name, n in there["sizes"].items() if name in known}
    _check_one_of(there.get("preset", "demo"), PRESETS, "manifest.json: config.preset")
    start = PRESETS[named or there.get("preset", "demo")]
    config = read_settings(Config, there, where="manifest.json", start=start)
    if rendering is not None:
        config = replace(config, rendering=rendering_from_json(rendering, where="manifest.json: rendering"))
    return config


def _with_design(config: Config, name: str) -> Config:
    """Applies a design's settings; its sizes are those of preset paper, and replace no others."""
    _check_one_of(name, DESIGNS, "--design")
    raw = dict(read_toml(DESIGNS[name], "a design"))
    if config.sizes != PRESETS["paper"].sizes:
        raw.pop("sizes", None)
    start = replace(config, clevr_share=None) if "clevr_order" in raw else config
    return read_settings(Config, raw, where=DESIGNS[name], start=start)


def _without_the_other(config: Config, given: Mapping[str, Any]) -> Config:
    """A given share or order of CLEVR's scenes replaces what a design or the folder says of the other."""
    chosen = _SHARES & given.keys()
    other: dict[str, Any] = dict.fromkeys(_SHARES - chosen if len(chosen) == 1 else ())
    return replace(config, **other)


def _with_file(config: Config, raw: Mapping[str, Any], file: Path) -> Config:
    """Applies the file's settings to a configuration; paths in it are relative to the file's folder."""
    config = _without_the_other(config, raw)
    config = read_settings(Config, raw, where=file, start=config, base=file.parent)
    if "properties" in raw:
        config = replace(config, properties=properties_file(Path(raw["properties"]), file.parent))
    of_clevr = sorted(_SHARES & raw.keys())
    if of_clevr and "clevr" not in raw:
        raise ConfigError(f"{file}: {of_clevr[0]} is about CLEVR's scenes; give their folder, clevr, too")
    _check_world(raw.get("world", {}), file)
    package = read_object(blender_assets() / "look.json", "a look", error=ConfigError)
    return replace(config, look=read_changes(raw.get("look", {}), package, where=file))


def _rendering(
    table: Mapping[str, Any],
    file: Path | None,
    renderer: str | None,
    quality: str | None,
    samples: int | None,
    there: Rendering | None,
) -> Rendering:
    """The renderer's settings: those of the file's [rendering], overridden by the command line's choices.

    If neither names a renderer, the existing settings are the basis.
    """
    own = {name: each for name, each in table.items() if name not in ("renderer", "quality")}
    effort = read_settings(
        _Effort, {k: table[k] for k in table.keys() - own.keys()}, where=file, path="rendering."
    )
    if renderer is not None:
        with naming("--renderer"):
            settings = row_named(renderer).settings()
    elif there is not None and "renderer" not in table:
        settings = there
    else:
        with naming(f"{file}: rendering.renderer"):
            settings = row_named(effort.renderer).settings()
    if samples is not None and not isinstance(settings, BlenderSettings):
        raise ConfigError(
            f"--samples: only Blender takes samples per pixel ({samples}); the renderer "
            f"{renderer_of(settings)} takes --quality {'|'.join(row_of(settings).qualities)}"
        )
    if samples is not None and quality is not None:
        raise ConfigError(
            f"--samples {samples} and --quality {quality} both set the rendering effort; give one of them"
        )
    if effort.quality is not None and quality is None:
        if "samples" in own:
            raise ConfigError(
                f"{file}: rendering.samples and rendering.quality both set the rendering effort; "
                "give one of them"
            )
        with naming(f"{file}: rendering.quality"):
            settings = settings.with_quality(effort.quality)
    if file is not None:
        settings = read_settings(type(settings), own, where=file, path="rendering.", start=settings)
    if quality is not None:
        with naming("--quality"):
            settings = settings.with_quality(quality)
    if samples is not None and isinstance(settings, BlenderSettings):
        settings = settings.with_samples(samples)
    return settings


def _check_shape(now: Rendering, before: Rendering, given: Collection[str], place: str) -> None:
    """Checks that images are not given another shape, and so another world, by one side alone."""
    is_same = now.width * before.height == now.height * before.width
    for side, other in (("width", "height"), ("height", "width")):
        if side in given and other not in given and not is_same:
            raise ConfigError(
                f"{place}{side} is {getattr(now, side)}, but {other} is not given: images of {now.width} x "
                f"{now.height} pixels have another shape than {before.width} x {before.height}; give both"
            )


@dataclass(frozen=True)
class _Effort:
    renderer: str = DEFAULT_RENDERER
    quality: str | None = None


def _check_world(table: Mapping[str, Any], file: Path) -> None:
    """Checks that a [world] table has only known settings, so that errors name the file and the key."""
    from clevrhope.scenes import read_world

    defaults = json.loads(read_world().config_json)
    for key in ("width", "height"):
        del defaults[key]
    types = {name: Directions if name == "directions" else type(value) for name, value in defaults.items()}
    kind = make_dataclass("World", [(name, each, None) for name, each in types.items()], frozen=True)
    read_settings(kind, table, where=file, path="world.")
    for key, value in table.items():
        if type(value) is int and value < 0:
            raise ConfigError(f"{file}: world.{key} is {value}; expected a number that is not negative")
