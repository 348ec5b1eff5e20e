"""Preset, TOML file and command-line choices in, one resolved configuration out.

What decides a dataset's content is here and in the world's own settings, which the core checks. Later sources
win: preset, then file, then command line.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar

from clevrhope.errors import ConfigError
from clevrhope.hops import Hop
from clevrhope.images.settings import (
    QUALITIES,
    NativeSettings,
    Rendering,
    RenderSettings,
    default_settings,
    renderer_of,
    rendering_from_json,
)

_Table = TypeVar("_Table", bound="Sizes | RenderSettings | NativeSettings")

WINDOW = 250
"""Eligible scenes over which the questions of a split are balanced."""

IMAGE_KINDS = ("png", "h5", "both")
"""How pictures can be stored: a file each, one HDF5 file a pool, or both."""

MATCH_KINDS = ("none", "objects")
"""objects: scenes are thinned until 3, 4, ... 10 objects are equally frequent in every split."""

STRICTNESS_KINDS = ("description", "implied")
"""description: no description in a train or IID question holds all of the pair's values; implied: nor does
such a question ask for the pair by way of likenesses (docs/configuration.md says what that means)."""

CLEVR_SHARE = 0.21
"""Of a train pool with CLEVR's scenes: its 70,000 among the 330,000 that all of the paper's pairs look at."""

TRAIN_PREFIXES = (25_000, 200_000)
"""The paper's smaller train sets are the first so many questions of the largest."""

PAIR_SPLITS = ("train", "complex_iid", "complex_ood", "minimal_iid", "minimal_ood")
"""Splits of a held-out pair."""

PLAIN_SPLITS = ("train", "val", "test")
"""Splits of `none`, the dataset that holds nothing out."""

PRELIM_SPLITS = ("existence", "counting")
"""Splits of a value that is asked for alone."""

PICTURES_OF_A_SET: Mapping[str, int] = {"existence": 2, "counting": 6}
"""Split of a value alone -> pictures, and so questions, of a group or a set: the next so many of its pool."""


@dataclass(frozen=True)
class StreamSplit:
    """A split that is the first questions on the scenes of a pool that satisfy a predicate."""

    pool: str
    predicate: Literal["any", "without", "with"]
    """On scenes and questions: without the pair, with it, or any."""
    questions_per_scene: int


PAIR_STREAMS: Mapping[str, StreamSplit] = {
    "train": StreamSplit("train", "without", 9),
    "complex_iid": StreamSplit("test_iid", "without", 9),
    "complex_ood": StreamSplit("test_ood", "with", 1),
}
"""The streamed splits of a held-out pair; its minimal splits are grids instead."""

PLAIN_STREAMS: Mapping[str, StreamSplit] = {
    "train": StreamSplit("train", "any", 9),
    "val": StreamSplit("val", "any", 9),
    "test": StreamSplit("test_iid", "any", 9),
}
"""The splits of `none`, on the pools that the pairs use."""


SECOND_STREAMS: Mapping[str, StreamSplit] = {
    "val_b": PLAIN_STREAMS["val"],
    "test_b": PLAIN_STREAMS["test"],
}
"""Splits of `none` on the pools of a second palette, as large as those of the first: CoGenT's condition B."""


ZERO_IS_ALL = ("minimal_copies", "minimal_places", "prelim_existence")
"""Sizes of sets that have an end, of which 0 means the whole."""


@dataclass(frozen=True)
class Sizes:
    """Questions a split; minimal splits are counted in places (position, rotation, camera, lights)."""

    train: int
    complex_iid: int
    complex_ood: int
    val: int
    test: int
    minimal_copies: int
    """Places of each grid and combination; 0 for as many as the paper has (40, 20, 5 or 2)."""
    minimal_places: int = 0
    """The first so many places only; 0 for all of them."""
    prelim_existence: int = 0
    """Groups of two one-object pictures for each value that is asked for alone; 0 for all that there are."""
    prelim_counting: int = 100
    """Sets of six five-object pictures for each such value. The paper does not say how many it has."""

    def __post_init__(self) -> None:
        for each in fields(self):
            least = 0 if each.name in ZERO_IS_ALL else 1
            number = getattr(self, each.name)
            if number < least:
                raise ConfigError(f"sizes.{each.name} is {number}; expected a whole number from {least}")


@dataclass(frozen=True)
class Config:
    """Everything that can be chosen for a dataset but its seed, its folder and its pairs."""

    preset: str
    sizes: Sizes
    images: str = "both"
    """How pictures are stored: one of `IMAGE_KINDS`."""
    question_json: bool = True
    """Whether each HDF5 file of questions has a question file of CLEVR's kind beside it."""
    match: str = "none"
    """What all splits are made to have in the same numbers: one of `MATCH_KINDS`."""
    strictness: str = "description"
    """How a pair is held out of questions: one of `STRICTNESS_KINDS`."""
    rendering: Rendering = field(default_factory=RenderSettings)
    """What makes the pictures, and with how much effort."""
    world: Mapping[str, Any] = field(default_factory=dict)
    """Constraints on scenes that differ from the defaults, as the core names them."""
    properties: Path | None = None
    """Vocabulary and sizes, colours, materials, meshes; None for the package's own."""
    templates: Path | None = None
    """Folder of question templates; None for the package's own."""
    clevr: Path | None = None
    """A CLEVR_v1.0 folder whose train scenes are part of the train pool; None for none."""
    clevr_share: float | None = None
    """The part of the train pool's scenes that are CLEVR's, above 0, up to 1; None for the folder's own, or
    `CLEVR_SHARE` for a new folder."""

    @property
    def png(self) -> bool:
        """Whether a PNG file a picture stays."""
        return self.images in ("png", "both")

    @property
    def h5(self) -> bool:
        """Whether there is an HDF5 file a pool."""
        return self.images in ("h5", "both")


PRESETS: Mapping[str, Config] = {
    "demo": Config(
        "demo",
        Sizes(
            train=162,
            complex_iid=72,
            complex_ood=12,
            val=72,
            test=72,
            minimal_copies=1,
            minimal_places=6,
            prelim_existence=3,
            prelim_counting=2,
        ),
    ),
    "small": Config(
        "small",
        Sizes(
            train=5_600,
            complex_iid=1_200,
            complex_ood=150,
            val=1_200,
            test=1_200,
            minimal_copies=1,
            prelim_existence=20,
            prelim_counting=10,
        ),
    ),
    "paper": Config(
        "paper",
        Sizes(
            train=560_000,
            complex_iid=120_000,
            complex_ood=15_000,
            val=120_000,
            test=120_000,
            minimal_copies=0,
        ),
        images="png",
    ),
}
"""demo: about 60 pictures; small: about a hundredth of the paper; paper: the paper's sizes."""


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
    images: str | None = None,
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
    `clevr_share`, and `rendering` as a manifest has it.

    `test_questions` is the number of questions of each complex (or val and test) split, `prelim_sets` that of
    groups and of sets for each value that is asked for alone.

    Raises:
        ConfigError: an unknown preset, key or value; names the file and the place in it.
    """
    raw = _read_toml(file) if file else {}
    named = preset or (_typed(raw, "preset", str, "", file) if "preset" in raw else None)
    config = _begun(named, before or {})
    if file:
        config = _overlaid(config, raw, file)
    chosen = "rendering" in raw or any(each is not None for each in (renderer, quality, samples))
    if chosen or "rendering" not in (before or {}):
        config = replace(config, rendering=_rendering(raw, file, renderer, quality, samples))
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
        images=config.images if images is None else _image_kind("--images", images),
        question_json=config.question_json if question_json is None else question_json,
        match=config.match if match is None else _match_kind("--match", match),
        strictness=config.strictness if strictness is None else _strictness("--strictness", strictness),
        templates=_folder("--templates", templates) if templates else config.templates,
        properties=properties or config.properties,
    )


def splits_of(hop: Hop) -> tuple[str, ...]:
    """The splits of a pair, of `none`, or of a value that is asked for alone."""
    if hop.value is not None:
        return PRELIM_SPLITS
    return PLAIN_SPLITS if hop.pair is None else PAIR_SPLITS


def check_splits(names: Sequence[str]) -> tuple[str, ...]:
    """Names of splits, each once, in the canonical order.

    Raises:
        ConfigError: no such split.
    """
    known = tuple(dict.fromkeys((*PAIR_SPLITS, *PLAIN_SPLITS, *PRELIM_SPLITS)))
    for name in names:
        if name not in known:
            raise ConfigError(
                f'--splits: unknown split "{name}"{_suggestion(name, known)}; known: {", ".join(known)}'
            )
    return tuple(name for name in known if name in names)


def _preset(name: str) -> Config:
    if name not in PRESETS:
        raise ConfigError(f'unknown preset "{name}"{_suggestion(name, PRESETS)}; known: {", ".join(PRESETS)}')
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
            images=_image_kind("manifest.json: config.images", before.get("images", config.images)),
        )
    if "rendering" in before:
        config = replace(config, rendering=rendering_from_json(before["rendering"]))
    kept = ("match", "strictness", "question_json", "clevr_share")
    return replace(config, **{name: before[name] for name in kept if name in before})


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"{file}: no such file (--config)") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read ({error})") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: broken TOML: {error}") from error


def _overlaid(config: Config, raw: Mapping[str, Any], file: Path) -> Config:
    """A configuration with the file's settings over it."""
    tables = {"sizes", "rendering", "world"}
    plain = {
        "preset",
        "images",
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
            raise ConfigError(f"{file}: {table} is {raw[table]!r}; expected a table [{table}]")
    config = replace(
        config,
        sizes=_replaced(config.sizes, raw.get("sizes", {}), file, "sizes"),
        images=_image_kind(f"{file}: images", _typed(raw, "images", str, config.images, file)),
        question_json=_typed(raw, "question_json", bool, config.question_json, file),
        match=_match_kind(f"{file}: match", _typed(raw, "match", str, config.match, file)),
        strictness=_strictness(
            f"{file}: strictness", _typed(raw, "strictness", str, config.strictness, file)
        ),
        world={**config.world, **raw.get("world", {})},
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
    old = asdict(settings)
    _check_keys(table, old.keys(), file, f"{name}.")
    for key, value in table.items():
        expected = type(old[key])
        if type(value) is not expected and not (expected is float and type(value) is int):
            raise ConfigError(f"{file}: {name}.{key} is {value!r}; expected {_TYPE_WORDS[expected]}")
    try:
        return replace(settings, **table)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error


_TYPE_WORDS: Mapping[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
}


def _check_keys(table: Mapping[str, Any], known: Sequence[str] | Any, file: Path, prefix: str) -> None:
    for key in table:
        if key not in known:
            hint = f"{_suggestion(key, known)}; known: {', '.join(sorted(known))}"
            raise ConfigError(f'{file}: unknown setting "{prefix}{key}"{hint}')


def _typed(
    raw: Mapping[str, Any], key: str, kind: type | tuple[type, ...], default: Any, file: Path | None
) -> Any:
    value = raw.get(key, default)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds):
        raise ConfigError(f"{file}: {key} is {value!r}; expected {_TYPE_WORDS[kinds[0]]}")
    return value


def _image_kind(place: str, kind: str) -> str:
    if kind not in IMAGE_KINDS:
        raise ConfigError(f'{place}: unknown kind "{kind}"; known: {", ".join(IMAGE_KINDS)}')
    return kind


def _match_kind(place: str, kind: str) -> str:
    if kind not in MATCH_KINDS:
        raise ConfigError(f'{place}: unknown kind "{kind}"; known: {", ".join(MATCH_KINDS)}')
    return kind


def _strictness(place: str, kind: str) -> str:
    if kind not in STRICTNESS_KINDS:
        known = ", ".join(STRICTNESS_KINDS)
        raise ConfigError(
            f'{place}: unknown kind "{kind}"{_suggestion(kind, STRICTNESS_KINDS)}; known: {known}'
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


def _suggestion(name: str, known: Any) -> str:
    near = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f' (did you mean "{near[0]}"?)' if near else ""
