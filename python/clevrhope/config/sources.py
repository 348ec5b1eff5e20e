"""Preset, TOML file and command-line choices in, one resolved configuration out.

Later sources win: preset, then what is there before, then file, then command line.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from clevrhope.config.presets import (
    CLEVR_SHARE,
    DIRECTIONS,
    IMAGE_KINDS,
    MATCH_KINDS,
    PRESETS,
    STRICTNESS_KINDS,
    Config,
    Sizes,
    suggestion,
)
from clevrhope.errors import ConfigError, shown
from clevrhope.images.passes import parse_passes
from clevrhope.images.settings import (
    QUALITIES,
    NativeSettings,
    Rendering,
    RenderSettings,
    default_settings,
    on_device,
    renderer_of,
    rendering_from_json,
)
from clevrhope.runtime.toml import read_toml

MOST = 1 << 53
"""What a whole number is below."""

_Table = TypeVar("_Table", bound="Sizes | RenderSettings | NativeSettings")


def resolve_config(
    *,
    preset: str | None = None,
    file: Path | None = None,
    train_questions: int | None = None,
    test_questions: int | None = None,
    prelim_sets: int | None = None,
    renderer: str | None = None,
    quality: str | None = None,
    samples: int | None = None,
    device: str | None = None,
    images: str | None = None,
    passes: Sequence[str] | None = None,
    question_json: bool | None = None,
    match: str | None = None,
    strictness: str | None = None,
    templates: Path | None = None,
    properties: Path | None = None,
    clevr: Path | None = None,
    clevr_share: float | None = None,
    before: Mapping[str, Any] | None = None,
) -> Config:
    """Puts preset, file and command-line choices together; None means not chosen.

    `before` is what the folder has already, or the parts that are to be joined: `preset`, `sizes` and
    `images`, which hold where no preset is named, and any of `match`, `strictness`, `question_json`,
    `clevr_share`, `passes`, and `rendering` as a manifest has it, which hold where they are not chosen.

    `test_questions` is the number of questions of each complex (or val and test) split, `prelim_sets` that of
    groups and of sets for each value that is asked for alone.

    Raises:
        ConfigError: an unknown preset, key or value; names the file and the place in it.
    """
    raw = read_toml(file, "settings of a dataset") if file else {}
    of_file = _typed(raw, "preset", str, "", file) if "preset" in raw else None
    for name, place in ((preset, "--preset"), (of_file, f"{file}: preset")):
        if name is not None:
            with _naming(place):
                _preset(name)
    named = preset or of_file
    config = _begun(named, before or {})
    if file:
        config = _overlaid(config, raw, file)
    chosen = "rendering" in raw or any(each is not None for each in (renderer, quality, samples))
    if chosen or "rendering" not in (before or {}):
        config = replace(config, rendering=_rendering(raw, file, renderer, quality, samples))
    if device is not None:
        with _naming("--device"):
            config = replace(config, rendering=on_device(config.rendering, device))
    sizes = config.sizes
    if train_questions is not None:
        sizes = replace(sizes, train=_positive("--train-questions", train_questions))
    if test_questions is not None:
        n = _positive("--test-questions", test_questions)
        sizes = replace(sizes, complex_iid=n, complex_ood=n, val=n, test=n)
    if prelim_sets is not None:
        n = _positive("--prelim-sets", prelim_sets)
        sizes = replace(sizes, prelim_existence=n, prelim_counting=n)
    clevr = clevr or config.clevr
    if clevr_share is not None and clevr is None:
        raise ConfigError("--clevr-share: the share of what --clevr names; give that too")
    return replace(
        config,
        sizes=sizes,
        clevr=clevr,
        clevr_share=config.clevr_share if clevr_share is None else _share("--clevr-share", clevr_share),
        images=config.images if images is None else _one_of(IMAGE_KINDS, "--images", images),
        passes=parse_passes(passes, "--passes") if passes else config.passes,
        question_json=config.question_json if question_json is None else question_json,
        match=config.match if match is None else _one_of(MATCH_KINDS, "--match", match),
        strictness=config.strictness
        if strictness is None
        else _one_of(STRICTNESS_KINDS, "--strictness", strictness),
        templates=_folder("--templates", templates) if templates else config.templates,
        properties=properties or config.properties,
    )


def _preset(name: str) -> Config:
    if name not in PRESETS:
        raise ConfigError(
            f"unknown preset {shown(name)}{suggestion(name, PRESETS)}; known: {', '.join(PRESETS)}"
        )
    return PRESETS[name]


def _begun(named: str | None, before: Mapping[str, Any]) -> Config:
    """What file and command line are laid over: a preset, or what there is before."""
    config = _preset(named or before.get("preset", "demo"))
    if named is None:
        known = {each.name for each in fields(Sizes)}
        sizes = {name: n for name, n in before.get("sizes", {}).items() if name in known}
        config = replace(
            config,
            sizes=replace(config.sizes, **sizes),
            images=_one_of(IMAGE_KINDS, "manifest.json: config.images", before.get("images", config.images)),
        )
    if "rendering" in before:
        with _naming("manifest.json: rendering"):
            config = replace(config, rendering=rendering_from_json(before["rendering"]))
    if "passes" in before:
        config = replace(config, passes=parse_passes(before["passes"], "manifest.json: config.passes"))
    kept = ("match", "strictness", "question_json", "clevr_share")
    config = replace(config, **{name: before[name] for name in kept if name in before})
    _one_of(MATCH_KINDS, "manifest.json: questions.match", config.match)
    _one_of(STRICTNESS_KINDS, "manifest.json: questions.strictness", config.strictness)
    return config


def _overlaid(config: Config, raw: Mapping[str, Any], file: Path) -> Config:
    """A configuration with the file's settings over it."""
    tables = {"sizes", "rendering", "world"}
    plain = {
        "preset",
        "images",
        "passes",
        "question_json",
        "match",
        "strictness",
        "properties",
        "templates",
        "clevr",
        "clevr_share",
    }
    _check_keys(raw, tables | plain, file, "")
    for table in tables & raw.keys():
        if not isinstance(raw[table], dict):
            raise ConfigError(f"{file}: {table} is {shown(raw[table])}; expected a table [{table}]")
    config = replace(
        config,
        sizes=_replaced(config.sizes, raw.get("sizes", {}), file, "sizes"),
        images=_one_of(IMAGE_KINDS, f"{file}: images", _typed(raw, "images", str, config.images, file)),
        passes=parse_passes(_typed(raw, "passes", list, [], file), f"{file}: passes")
        if "passes" in raw
        else config.passes,
        question_json=_typed(raw, "question_json", bool, config.question_json, file),
        match=_one_of(MATCH_KINDS, f"{file}: match", _typed(raw, "match", str, config.match, file)),
        strictness=_one_of(
            STRICTNESS_KINDS, f"{file}: strictness", _typed(raw, "strictness", str, config.strictness, file)
        ),
        world={**config.world, **_world(raw.get("world", {}), file)},
        clevr_share=_share(
            f"{file}: clevr_share", _typed(raw, "clevr_share", (float, int), CLEVR_SHARE, file)
        )
        if "clevr_share" in raw
        else config.clevr_share,
    )
    beside = file.parent  # paths in a file are meant from where the file lies
    if "properties" in raw:
        config = replace(config, properties=beside / _typed(raw, "properties", str, "", file))
    if "clevr" in raw:
        config = replace(config, clevr=beside / _typed(raw, "clevr", str, "", file))
    elif "clevr_share" in raw:
        raise ConfigError(f"{file}: clevr_share is the share of what clevr names; give that too")
    if "templates" in raw:
        folder = beside / _typed(raw, "templates", str, "", file)
        config = replace(config, templates=_folder(f"{file}: templates", folder))
    return config


def _rendering(
    raw: Mapping[str, Any], file: Path | None, renderer: str | None, quality: str | None, samples: int | None
) -> Rendering:
    """The renderer and its settings: a file's [rendering], and the command line's choices over it."""
    table = dict(raw.get("rendering", {}))
    files_renderer = _typed(table, "renderer", str, "blender", file)
    if renderer is not None:
        settings = default_settings(renderer)
    else:
        with _naming(f"{file}: rendering.renderer"):
            settings = default_settings(files_renderer)
    chosen = renderer_of(settings)
    if samples is not None and chosen != "blender":
        raise ConfigError(
            f"--samples: {samples} samples a pixel are for Blender; the renderer {chosen} takes "
            f"--quality {'|'.join(QUALITIES[chosen])}"
        )
    if samples is not None and quality is not None:
        raise ConfigError(
            f"--samples {samples} and --quality {quality} both say how much effort; take one of them"
        )
    table.pop("renderer", None)
    files_quality = _typed(table, "quality", str, None, file) if "quality" in table else None
    table.pop("quality", None)
    if files_quality is not None and quality is None:
        if "samples" in table:
            raise ConfigError(
                f"{file}: rendering.samples and rendering.quality both say how much effort; take one of them"
            )
        with _naming(f"{file}: rendering.quality"):
            settings = settings.with_quality(files_quality)
    if file is not None:
        _check_of_renderer(table, chosen, file)
        settings = _replaced(settings, table, file, "rendering")
    if quality is not None:
        with _naming("--quality"):
            settings = settings.with_quality(quality)
    if samples is not None and isinstance(settings, RenderSettings):
        settings = settings.with_samples(_positive("--samples", samples))
    return settings


def _check_of_renderer(table: Mapping[str, Any], chosen: str, file: Path) -> None:
    """Passes where no setting in a [rendering] table is another renderer's."""
    if chosen == "native":
        own = asdict(NativeSettings())
        for key in table:
            if key not in own and key in asdict(RenderSettings()):
                raise ConfigError(
                    f"{file}: rendering.{key} is a setting of the renderer blender, and native is chosen; "
                    "leave it out, or choose blender"
                )


@contextmanager
def _naming(place: str) -> Iterator[None]:
    """Puts where a setting stands before what is wrong with it."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from error


def _replaced(settings: _Table, table: Mapping[str, Any], file: Path, name: str) -> _Table:
    """Settings with a table's values over them, each checked against the type of what it replaces."""
    _check_table(table, asdict(settings), file, name)
    try:
        return replace(settings, **table)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error


def _check_table(table: Mapping[str, Any], old: Mapping[str, Any], file: Path, name: str) -> None:
    """Passes for a table whose keys are those of `old`, and its values of the same types."""
    _check_keys(table, old.keys(), file, f"{name}.")
    for key, value in table.items():
        expected = type(old[key])
        if not _is_of(value, (expected,)):
            raise ConfigError(f"{file}: {name}.{key} is {shown(value)}; expected {_TYPE_WORDS[expected]}")


def _world(table: Mapping[str, Any], file: Path) -> Mapping[str, Any]:
    """A file's [world], checked against what the engine knows, so that errors are in the file's words."""
    from clevrhope.scenes import read_world

    _check_table(table, json.loads(read_world().config_json), file, "world")
    for key, value in table.items():
        if type(value) is int and value < 0:
            raise ConfigError(f"{file}: world.{key} is {value}; expected a number that is not negative")
    if "directions" in table:
        _one_of(DIRECTIONS, f"{file}: world.directions", table["directions"])
    return table


_TYPE_WORDS: Mapping[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a string",
    list: "a list",
}


def _check_keys(table: Mapping[str, Any], known: Sequence[str] | Any, file: Path, prefix: str) -> None:
    for key in table:
        if key not in known:
            hint = f"{suggestion(key, known)}; known: {', '.join(sorted(known))}"
            raise ConfigError(f"{file}: unknown setting {shown(f'{prefix}{key}')}{hint}")


def _typed(
    raw: Mapping[str, Any], key: str, kind: type | tuple[type, ...], default: Any, file: Path | None
) -> Any:
    value = raw.get(key, default)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if key in raw and not _is_of(value, kinds):
        raise ConfigError(f"{file}: {key} is {shown(value)}; expected {_TYPE_WORDS[kinds[0]]}")
    return value


def _is_of(value: Any, kinds: Sequence[type]) -> bool:
    """Whether a value is of one of these types; a number is one that both languages have."""
    if type(value) is int:
        return (int in kinds or float in kinds) and abs(value) < MOST
    if type(value) is float:
        return float in kinds and math.isfinite(value)
    return type(value) in kinds


def _one_of(known: Sequence[str], place: str, kind: str) -> str:
    if kind not in known:
        raise ConfigError(
            f"{place}: unknown kind {shown(kind)}{suggestion(kind, known)}; known: {', '.join(known)}"
        )
    return kind


def _share(place: str, share: float) -> float:
    if not 1e-6 <= share <= 1:
        raise ConfigError(f"{place} is {share}; expected a number above 0, up to 1, such as {CLEVR_SHARE}")
    return round(float(share), 6)


def _positive(place: str, number: int) -> int:
    if number < 1:
        raise ConfigError(f"{place} is {number}; expected a whole number above 0")
    return number


def _folder(place: str, folder: Path) -> Path:
    if not folder.is_dir():
        raise ConfigError(
            f"{place}: {folder} is no folder; expected one with question templates as JSON files"
        )
    return folder
