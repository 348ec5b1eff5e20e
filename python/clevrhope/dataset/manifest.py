"""What a folder is bound to and what it holds, as manifest.json: read, compared, written whole.

A folder is bound to what decides its content: seed, world, templates, and (once there are images) how they
are rendered. Pairs, sizes and kinds of images may grow. Nothing in here depends on when or in how many runs
the folder was made.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clevrhope.errors import DatasetError, shown
from clevrhope.images.settings import other_revision, rendering_in_words, rendering_of_folder
from clevrhope.runtime.atomic import FileRecord, write_whole
from clevrhope.runtime.forms import (
    BOOLEAN,
    COUNT,
    FILE_NAME,
    NAME,
    OBJECT,
    PATH,
    SEED,
    SHA256,
    SHARE,
    TEXT,
    Fields,
    Kind,
    ListOf,
    MapOf,
    Nullable,
    check_form,
)
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import read_bytes
from clevrhope.splits.hops import NAME_ORDER
from clevrhope.splits.kinds import SPLITS

MAX_MANIFEST_BYTES = 1 << 28
"""Of a manifest; the one of all pairs at the paper's size lists a million files and has half as many."""

FORMAT = 1
"""Version of the folder's layout and streams; other numbers are other datasets."""

_BOUND = ("version", "seed", "world", "templates", "questions")
_LEFT_OUT = {"strictness": "description"}
"""What a setting is where a manifest leaves it out; "none" for others."""
_NAMES = {
    "version": "another dataset version",
    "seed": "another seed",
    "world": "another world",
    "templates": "another set of templates",
    "questions": "other question settings",
    "rendering": "other rendering settings",
}


@dataclass(frozen=True)
class Manifest:
    """A folder's manifest. JSON objects stay plain dictionaries: they are what users' tools read."""

    version: str
    """Version of the dataset's definition: moves when a stream moves."""
    seed: int
    world: Mapping[str, Any]
    """Fingerprint, properties and resolved constraints of the world, as the core gives them."""
    templates: Mapping[str, Any]
    """Fingerprint and files of the question templates."""
    questions: Mapping[str, Any]
    """Questions an image, window."""
    rendering: Mapping[str, Any] | None = None
    """Renderer, its effort and so on; nothing before the first image is asked for."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The resolved configuration of the largest thing asked for so far."""
    splits: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """HOP -> split -> pool, questions, images, finished or not."""
    pools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Pool -> number of scenes in use, size so far, kinds of image files."""
    palettes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Palette -> its types, rows of combinations, and the values held out; written where there are any."""
    checked: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """HOP -> what the check for leaks found in order, since its questions last changed."""
    files: Mapping[str, FileRecord] = field(default_factory=dict)
    """Path below the folder -> size and checksum, of every finished file but this one."""
    complete: bool = False
    """True when all that was asked for is there and checked."""
    shard: Mapping[str, Any] | None = None
    """Of one machine's part: which of how many it is, and the whole request; else nothing."""

    def with_files(self, files: Mapping[str, FileRecord]) -> "Manifest":
        """The manifest with these files added or replaced."""
        return replace(self, files={**self.files, **files})

    def without_file(self, name: str) -> "Manifest":
        """The manifest without a file that is about to be written anew."""
        return replace(self, files={each: record for each, record in self.files.items() if each != name})


def choices_of(manifest: Manifest) -> dict[str, Any]:
    """What a request that does not say takes from its folder: its sizes, and the options that bind it."""
    clevr = manifest.world.get("clevr", {})
    return {
        **{name: manifest.config[name] for name in ("preset", "sizes", "images") if name in manifest.config},
        **{name: each for name, each in manifest.questions.items() if name in ("match", "strictness")},
        **{f"clevr_{name}": each for name, each in clevr.items() if name == "share"},
        **({"rendering": manifest.rendering} if manifest.rendering else {}),
    }


_FILES = b'\n  "files": {'
"""Ends a manifest's head; nothing else in it stands so far to the left."""


def read_manifest(path: Path) -> Manifest | None:
    """The manifest at `path`, or None where there is none.

    Raises:
        DatasetError: not a manifest of this layout.
    """
    with suppress(OSError):  # whoever makes the folder says what is wrong with its name
        if path.parent.exists() and not path.parent.is_dir():
            raise DatasetError(f"{path.parent}: a file; expected the folder of a dataset")
    if not os.path.lexists(path):
        return None
    content = read_bytes(path, "a manifest of clevrhope", max_bytes=MAX_MANIFEST_BYTES)
    try:
        raw = parse_json(content, path)
    except DatasetError as error:
        if isinstance(error.__cause__, json.JSONDecodeError):
            _check_whole(content.decode(), error.__cause__, path)
        raise
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        found = shown(raw.get("format") if isinstance(raw, dict) else type(raw).__name__)
        raise DatasetError(
            f"{path}: format {found}, but this version of clevrhope reads and writes format {FORMAT}"
        )
    check_form(raw, MANIFEST, path)
    for hop, splits in raw["splits"].items():
        for split in splits:
            if split not in SPLITS:
                raise DatasetError(f"{path}: splits.{hop}.{split} is no split; known: {', '.join(SPLITS)}")
    part_of(raw.get("shard"), path)
    return Manifest(
        version=raw["version"],
        seed=raw["seed"],
        world=raw["world"],
        templates=raw["templates"],
        questions=raw["questions"],
        rendering=raw["rendering"],
        config=raw["config"],
        splits=raw["splits"],
        pools=raw["pools"],
        palettes=raw.get("palettes", {}),
        checked=raw["checked"],
        files={name: FileRecord(each["bytes"], each["sha256"]) for name, each in raw["files"].items()},
        complete=raw["complete"],
        shard=raw.get("shard"),
    )


def _check_whole(text: str, error: json.JSONDecodeError, path: Path) -> None:
    """Passes unless a manifest is empty or was cut off.

    Raises:
        DatasetError: it is; says in which line it ends.
    """
    remedy = "put a whole copy there, or build into another folder"
    if not text.strip():
        raise DatasetError(f"{path}: empty; {remedy}") from error
    if _ends_too_soon(text, error):
        raise DatasetError(f"{path}: cut off in line {len(text.splitlines())}; {remedy}") from error


_BEGUN = re.compile(r"|-|\.|[eE][+-]?|tr?u?|fa?l?s?|nu?l?|u[0-9a-fA-F]{0,4}\"?")
"""What a parser stumbles over where the text ends within a value: of a number its sign, point or exponent, of
true, false and null their first letters, of a character's number its digits; otherwise nothing at all."""


def _ends_too_soon(text: str, error: json.JSONDecodeError) -> bool:
    """Whether all that is wrong is that the text ends where it does."""
    if error.msg.startswith("Extra data"):
        return False
    # A string without an end is told by where it begins; a line break within it would be told as that.
    return error.msg.startswith("Unterminated") or _BEGUN.fullmatch(text[error.pos :].strip()) is not None


def read_shard(path: Path) -> str | None:
    """Which part of a dataset a folder is, "3/16"; None for a whole one, or where there is no manifest.

    Looks at the manifest's head alone: what follows can be a line for each of 400,000 files.

    Raises:
        DatasetError: not a manifest.
    """
    return part_of(_read_head(path).get("shard"), path)


def read_n_questions(path: Path, hop: str, split: str) -> int | None:
    """How many questions a split has, by the manifest's head; None where it does not list the split.

    Raises:
        DatasetError: not a manifest.
    """
    entry = _read_head(path).get("splits", {}).get(hop, {}).get(split)
    return None if entry is None else int(entry["questions"])


def _read_head(path: Path) -> dict[str, Any]:
    """All but the list of files, which can have 400,000 lines; empty where there is no manifest."""
    if not os.path.lexists(path):
        return {}
    content = read_bytes(path, "a manifest of clevrhope", max_bytes=MAX_MANIFEST_BYTES)
    head, mark, _ = content.partition(_FILES)
    raw: dict[str, Any] = parse_json(head.rstrip(b",\n ") + b"}" if mark else head, path)
    check_form(raw, Fields({}, {"shard": Nullable(_PART), "splits": _SPLITS}), path)
    return raw


def part_of(shard: Mapping[str, Any] | None, path: Path) -> str | None:
    """Which part of a dataset a manifest's `shard` says that a folder is, "3/16"; None for a whole one.

    Raises:
        DatasetError: its number is not one of so many.
    """
    if shard is None:
        return None
    number, of = shard["number"], shard["of"]
    if not 1 <= number <= of:
        raise DatasetError(
            f"{path}: shard is {number} of {of}; expected a part's number and how many there are"
        )
    return f"{number}/{of}"


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Writes it whole, keys and files in an order of their own, so equal folders have equal manifests."""
    raw = {
        "format": FORMAT,
        "version": manifest.version,
        "complete": manifest.complete,
        "seed": manifest.seed,
        "world": manifest.world,
        "templates": manifest.templates,
        "questions": manifest.questions,
        "rendering": manifest.rendering,
        "config": manifest.config,
        "splits": manifest.splits,
        "pools": {name: manifest.pools[name] for name in sorted(manifest.pools)},
        **({"palettes": dict(sorted(manifest.palettes.items()))} if manifest.palettes else {}),
        "checked": manifest.checked,
    }
    if manifest.shard is not None:
        raw["shard"] = manifest.shard
    head = json.dumps(raw, indent=2, ensure_ascii=False)
    # A line a file: a paper-sized folder has 400,000 of them, and a diff should be readable.
    rows = ",\n".join(
        f'    {json.dumps(name, ensure_ascii=False)}: {{"bytes": {each.bytes}, "sha256": "{each.sha256}"}}'
        for name, each in sorted(manifest.files.items())
    )
    files = f"{{\n{rows}\n  }}" if rows else "{}"
    content = f'{head[:-2]},\n  "files": {files}\n}}\n'.encode()
    if len(content) > MAX_MANIFEST_BYTES:
        raise DatasetError(f"{path}: over {MAX_MANIFEST_BYTES >> 20} MiB; --images h5 lists a file a pool")
    write_whole(path, content)


_CONSTRAINTS = ("min_objects", "max_objects", "height", "width", "min_pixels")
_PART = Fields({"number": COUNT, "of": COUNT}, {"asked": Fields({}, {"splits": MapOf(COUNT)})})
_ATTRIBUTE = Kind(" or ".join(NAME_ORDER), lambda value: value in NAME_ORDER)
_SPLITS = MapOf(
    MapOf(
        Fields({"pool": NAME, "questions": COUNT, "pictures": COUNT}, {"places": COUNT, "sets": COUNT}),
        keys=NAME,
    ),
    keys=NAME,
)
MANIFEST = Fields(
    {
        "version": TEXT,
        "seed": SEED,
        "world": Fields(
            {
                "fingerprint": TEXT,
                "constraints": Fields(dict.fromkeys(_CONSTRAINTS, COUNT)),
                "attributes": MapOf(ListOf(TEXT), keys=_ATTRIBUTE),
            },
            {"clevr": Fields({"fingerprint": TEXT, "scenes": COUNT, "share": SHARE})},
        ),
        "templates": Fields({"fingerprint": TEXT, "files": ListOf(FILE_NAME)}),
        "questions": Fields(
            {"window": COUNT, "a_picture": MapOf(COUNT)}, {"match": TEXT, "strictness": TEXT}
        ),
        "rendering": Nullable(OBJECT),
        "config": Fields({}, {"preset": TEXT, "sizes": MapOf(COUNT), "images": TEXT, "passes": ListOf(TEXT)}),
        "splits": _SPLITS,
        "pools": MapOf(
            Fields({"pictures": COUNT}, {"size": COUNT, "files": ListOf(TEXT), "passes": ListOf(TEXT)}),
            keys=NAME,
        ),
        "checked": MapOf(ListOf(TEXT)),
        "files": MapOf(Fields({"bytes": COUNT, "sha256": SHA256}), keys=PATH),
        "complete": BOOLEAN,
    },
    {
        "palettes": MapOf(
            Fields(
                {"types": ListOf(TEXT), "rows": ListOf(ListOf(ListOf(TEXT), least=1), least=1)},
                {"held_out": Nullable(ListOf(TEXT))},
            ),
            keys=NAME,
        ),
        "shard": Nullable(Fields({**_PART.needed, "asked": Fields({}, {"splits": MapOf(COUNT)})})),
    },
)
"""The form of manifest.json. Every name in it that becomes part of a path is checked here."""


class BindingError(DatasetError, ValueError):
    """A folder that was made with other settings than those asked for."""


def check_binding(existing: Manifest, wanted: Manifest, root: Path) -> None:
    """Passes when `wanted` extends the folder that `existing` describes.

    Raises:
        BindingError: they differ in something that decides content; says in what, with both values.
    """
    keys = list(_BOUND)
    if existing.rendering is not None and wanted.rendering is not None:
        keys.append("rendering")
        existing, wanted = _naming_renderer(existing), _naming_renderer(wanted)
        wanted = replace(wanted, rendering=rendering_of_folder(existing.rendering, wanted.rendering or {}))
    for key in keys:
        there, here = getattr(existing, key), getattr(wanted, key)
        if key == "rendering" and there["renderer"] != here["renderer"]:
            raise BindingError(
                f"{root}: its images are made with {rendering_in_words(there)}, not with "
                f"{rendering_in_words(here)}; choose another --out, or ask for what the folder was made with"
            )
        if key == "rendering" and (reason := other_revision(there, here)):
            raise BindingError(f"{root}: {reason}")
        if there != here:
            raise BindingError(
                f"{root}: made with {_NAMES[key]} ({difference(there, here)}); "
                "choose another --out, or ask for what the folder was made with"
            )


def _naming_renderer(manifest: Manifest) -> Manifest:
    """A manifest with images whose rendering says what made them; before there was a choice, none did."""
    return replace(manifest, rendering={"renderer": "blender", **(manifest.rendering or {})})


def difference(there: Any, here: Any, *, sides: tuple[str, str] = ("there", "asked for")) -> str:
    """The first few settings in which two values differ; fingerprints only when nothing else tells.

    `sides` are the words that tell whose each value is.
    """
    if not (isinstance(there, Mapping) and isinstance(here, Mapping)):
        return f"{_short(there)} {sides[0]}, {_short(here)} {sides[1]}"
    found = list(_leaves_that_differ(there, here, ""))
    telling = [each for each in found if not each[0].endswith("fingerprint")] or found
    shown = "; ".join(f"{place} is {a} {sides[0]}, {b} {sides[1]}" for place, a, b in telling[:3])
    return shown + (f"; and {len(telling) - 3} more" if len(telling) > 3 else "")


def _leaves_that_differ(
    there: Mapping[str, Any], here: Mapping[str, Any], prefix: str
) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for key in dict.fromkeys([*there, *here]):
        default = _LEFT_OUT.get(key, "none")
        a, b = there.get(key, default), here.get(key, default)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += _leaves_that_differ(a, b, f"{prefix}{key}.")
        elif _are_named(a) and _are_named(b):
            named = [{str(each["name"]): each for each in several} for several in (a, b)]
            found += _leaves_that_differ(named[0], named[1], f"{prefix}{key}.")
        elif isinstance(a, list) and isinstance(b, list) and set(map(str, a)) != set(map(str, b)):
            # Long lists differ in few places.
            only_a, only_b = [x for x in a if x not in b], [x for x in b if x not in a]
            with_a = f"with {_short(only_a)}" if only_a else f"without {_short(only_b)}"
            with_b = f"with {_short(only_b)}" if only_b else f"without {_short(only_a)}"
            found.append((f"{prefix}{key}", with_a, with_b))
        elif a != b:
            found.append((f"{prefix}{key}", _short(a), _short(b)))
    return found


def _are_named(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, Mapping) and "name" in each for each in value)
    )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=not str(value).isprintable(), default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
