"""The manifest of a dataset, manifest.json: what a folder is bound to and what it holds.

A folder is bound to everything that decides its content: seed, world, templates, and (once there are images)
how they are rendered. Pairs, sizes and image formats may grow. Nothing in a manifest depends on when the
folder was made or in how many runs.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.folder_check import no_dataset
from clevrhope.dataset.question_kinds import KINDS
from clevrhope.errors import DatasetError, shown
from clevrhope.images.renderers import DEFAULT_RENDERER
from clevrhope.images.rendering_record import other_revision, rendering_in_words, rendering_of_folder
from clevrhope.runtime.atomic import FileRecord, write_whole
from clevrhope.runtime.forms import (
    BOOLEAN,
    COUNT,
    FILE_NAME,
    NAME,
    NUMBER,
    OBJECT,
    PATH,
    SEED,
    SHA256,
    SHARE,
    TEXT,
    Fields,
    ListOf,
    MapOf,
    Nullable,
    check_form,
    one_of,
)
from clevrhope.runtime.json_text import parse_json, read_object
from clevrhope.runtime.reading import read_bytes
from clevrhope.splits.hops import NAME_ORDER, name_order

MAX_MANIFEST_BYTES = 1 << 28
"""The most bytes of a manifest or its table; all pairs at the paper's sizes need half of it."""

FILES_TABLE = "files.csv"
"""The table of files beside a manifest that does not list them itself: name, bytes and SHA-256 of each."""

MOST_LISTED = 1_000
"""The most files that a manifest lists itself, so that it can be read and written quickly."""

FORMAT = 2
"""Version of the folder's layout and of this file. Folders of format 1 do not record their requests."""

_BOUND = {
    "version": "another dataset version",
    "seed": "another seed",
    "world": "another world",
    "templates": "another set of templates",
    "questions": "other question settings",
}
"""The fields that always bind a folder, and how a message names a difference in them."""


@dataclass(frozen=True)
class Manifest:
    """A folder's manifest. JSON objects stay plain dictionaries, because users' tools read them."""

    version: str
    """Version of the dataset's definition, which changes when a stream changes."""
    seed: int
    world: Mapping[str, Any]
    """Fingerprint, properties and resolved constraints of the world, as the core returns them."""
    templates: Mapping[str, Any]
    """Fingerprint and files of the question templates."""
    questions: Mapping[str, Any]
    """Questions per image, window, and the settings that differ from their defaults."""
    rendering: Mapping[str, Any] | None = None
    """Renderer, its quality and other settings; None before the first image is requested."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The resolved configuration of the largest request so far."""
    requests: Sequence[Mapping[str, Any]] = field(default_factory=list)
    """The different requests so far that came from the command line, in their order: the options that decide
    content, by name without dashes. Files are named by their last part, and `config` is the settings file's
    content."""
    splits: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """HOP -> split -> pool, questions, images, finished or not."""
    pools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Pool -> number of scenes in use, size so far, kinds of image files."""
    palettes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Palette -> its types, rows of combinations, and the held-out values; written if there are any."""
    suites: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]] = field(default_factory=dict)
    """HOP -> suite of paired tests -> split -> pairs, and questions that they were made from; for a suite
    with images of its own also their number, and the most questions that get visual tests."""
    covr: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """HOP -> split of questions over several images -> pool, questions, images."""
    checked: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """HOP -> what has passed the check for leaks since its questions last changed."""
    files: Mapping[str, FileRecord] = field(default_factory=dict)
    """Path below the folder -> size and checksum, for every finished file except the manifest."""
    complete: bool = False
    """True when everything requested exists and has been checked."""
    shard: Mapping[str, Any] | None = None
    """For one machine's part: its number, the number of parts and whole request; None for a whole dataset."""
    edition: Mapping[str, Any] | None = None
    """For an edition: its name, and whether it is private, with a seed that only its owner knows."""

    @property
    def settings(self) -> QuestionSettings:
        """The settings of scenes and questions to which the folder is bound."""
        return QuestionSettings.from_json(self.questions)

    @property
    def public_seed(self) -> int | None:
        """The seed to publish; None for a private edition, whose owner keeps it secret."""
        return None if self.edition and self.edition["private"] else self.seed

    @property
    def seed_in_words(self) -> str:
        """The seed as documents for readers show it."""
        return "kept by its owner" if self.public_seed is None else str(self.public_seed)

    @property
    def edition_in_words(self) -> str:
        """The edition, such as "hope-1" or "a private edition of hope-1"; "" for other datasets."""
        return edition_in_words(self.edition) if self.edition else ""

    def __repr__(self) -> str:
        size = f"{len(self.splits)} HOPs, {len(self.files):,} files"
        return f"<manifest of a dataset {self.version}, seed {self.seed}: {size}>"

    def with_files(self, files: Mapping[str, FileRecord]) -> "Manifest":
        """The manifest with these file records added or replaced."""
        return replace(self, files={**self.files, **files})

    def without_file(self, name: str) -> "Manifest":
        """The manifest without the record of a file that is about to be rewritten."""
        return replace(self, files={each: record for each, record in self.files.items() if each != name})


def edition_in_words(edition: Mapping[str, Any] | None) -> str:
    """The edition that a manifest records, as a noun."""
    if edition is None:
        return "a dataset that is no edition"
    return f"a private edition of {edition['name']}" if edition["private"] else str(edition["name"])


def choices_of(manifest: Manifest) -> dict[str, Any]:
    """The defaults that a request takes from its folder: its sizes, and the options that bind it."""
    clevr = manifest.world.get("clevr", {})
    return {
        **{name: manifest.config[name] for name in ("preset", "sizes", "images") if name in manifest.config},
        **manifest.settings.changed_settings(),
        **{f"clevr_{name}": each for name, each in clevr.items() if name == "share"},
        **({"rendering": manifest.rendering} if manifest.rendering else {}),
    }


def read_manifest(path: Path, *, repairs: bool = False) -> Manifest | None:
    """Reads the manifest at `path`; None if there is no file.

    A run that was stopped can leave a table of files that is newer than the manifest; with `repairs`, such a
    manifest lists no files, so that a build compares or writes all of them again.

    Raises:
        DatasetError: the file is not a manifest of this layout, or is incomplete; or its table of files is
            missing or another.
    """
    with suppress(OSError):  # an impossible folder name is reported where the folder is made
        if path.parent.exists() and not path.parent.is_dir():
            raise no_dataset(path.parent)
    if not os.path.lexists(path):
        return None
    raw = _raw(path)
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        found = raw.get("format") if isinstance(raw, dict) else type(raw).__name__
        remedy = "; build the dataset again, into another folder" if found in range(FORMAT) else ""
        raise DatasetError(
            f"{path}: format {shown(found)}, but this version of clevrhope reads and writes format {FORMAT}"
            f"{remedy}"
        )
    check_form(raw, MANIFEST, path)
    for key in ("splits", "covr"):
        known = [name for kind in KINDS.values() if kind.listed == key for name in kind.splits]
        for hop, splits in raw.get(key, {}).items():
            for split in splits:
                if split not in known:
                    raise DatasetError(
                        f"{path}: {key}.{hop}.{split} is not a split; known: {', '.join(known)}"
                    )
    part_of(raw.get("shard"), path)
    fields_there = {each.name: raw[each.name] for each in fields(Manifest) if each.name in raw}
    listed = raw["files"]
    if "files_table" in raw:
        listed = _listed_in_table(path, raw["files_table"]["sha256"])
        if listed is None and not repairs:
            raise DatasetError(
                f"{path.with_name(FILES_TABLE)}: missing, or not the table that {path.name} names; run the "
                "dataset's build again"
            )
        check_form(listed or {}, _FILES, path.with_name(FILES_TABLE))
    files = {name: FileRecord(each["bytes"], each["sha256"]) for name, each in (listed or {}).items()}
    return Manifest(**{**fields_there, "files": files})


def _raw(path: Path) -> Any:
    """The JSON value of a manifest, without its table."""
    content = read_bytes(path, "a manifest of clevrhope", max_bytes=MAX_MANIFEST_BYTES)
    try:
        return parse_json(content, path)
    except DatasetError as error:
        if isinstance(error.__cause__, json.JSONDecodeError):
            _check_whole(content.decode(), error.__cause__, path)
        raise


def _listed_in_table(path: Path, sha256: str) -> dict[str, Any] | None:
    """The files in the table beside a manifest, as a manifest lists them; None if it is not the named table.

    Raises:
        DatasetError: the table is broken.
    """
    table = path.with_name(FILES_TABLE)
    if not os.path.lexists(table):
        return None
    content = read_bytes(table, "a table of files", max_bytes=MAX_MANIFEST_BYTES)
    if hashlib.sha256(content).hexdigest() != sha256:
        return None
    try:
        rows = (row.split(",") for row in content.decode().splitlines()[1:])
        return {name: {"bytes": int(n_bytes), "sha256": digest} for name, n_bytes, digest in rows}
    except ValueError as error:
        raise DatasetError(f"{table}: a row is not a name, a number of bytes and a SHA-256") from error


def existing_manifest(path: Path) -> Manifest:
    """Reads the manifest at `path`, which must exist.

    Raises:
        WrongFolderError: there is no manifest.
        DatasetError: as for `read_manifest`.
    """
    manifest = read_manifest(path)
    if manifest is None:
        raise no_dataset(path.parent)
    return manifest


def read_summary(path: Path) -> tuple[Manifest, dict[str, int]]:
    """Reads the manifest at `path`, and sums up the bytes of the files in each folder.

    The folders are those of `FOLDERS`, "suites" for all suites, and "" for the other files.

    Raises:
        WrongFolderError: there is no manifest.
        DatasetError: as for `read_manifest`.
    """
    manifest = existing_manifest(path)
    sums: Counter[str] = Counter()
    for name, each in manifest.files.items():
        folder, *below = name.split("/")
        sums["suites" if below[1:2] == ["suites"] else folder if below else ""] += each.bytes
    return manifest, dict(sums)


def whole_manifest(path: Path) -> Manifest:
    """Reads the manifest at `path`, which must not be that of one machine's part.

    Raises:
        DatasetError: as for `existing_manifest`, or it is a part, which lacks splits, scenes and images.
    """
    manifest = existing_manifest(path)
    check_no_part(part_of(manifest.shard, path), path.parent)
    return manifest


def finished_manifest(path: Path) -> Manifest:
    """Reads the manifest at `path`, which must be that of a whole, finished dataset.

    Raises:
        DatasetError: as for `whole_manifest`, or the dataset is not finished.
    """
    manifest = whole_manifest(path)
    if not manifest.complete:
        raise DatasetError(f"{path.parent}: not finished yet; run the dataset's build again to finish it")
    return manifest


def check_no_part(part: str | None, folder: Path) -> None:
    """Checks that a folder is not a part of a dataset, such as "3/16".

    Raises:
        DatasetError: it is a part.
    """
    if part is not None:
        raise DatasetError(
            f"{folder}: part {part} of a dataset, made by build --shard; join the parts first: "
            "clevrhope merge"
        )


def _check_whole(text: str, error: json.JSONDecodeError, path: Path) -> None:
    """Checks whether broken JSON is due to an empty or truncated manifest.

    Raises:
        DatasetError: it is; says in which line it ends.
    """
    remedy = "put a whole copy there, or build into another folder"
    if not text.strip():
        raise DatasetError(f"{path}: empty; {remedy}") from error
    if _ends_too_soon(text, error):
        raise DatasetError(f"{path}: cut off in line {len(text.splitlines())}; {remedy}") from error


_BEGUN = re.compile(r"|-|\.|[eE][+-]?|tr?u?|fa?l?s?|nu?l?|u[0-9a-fA-F]{0,4}\"?")
"""What the parser has not consumed if the text ends inside a value: the sign, point or exponent of a number,
the first letters of true, false or null, the digits of an escaped character, or nothing at all."""


def _ends_too_soon(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the only fault of the text is that it is truncated."""
    if error.msg.startswith("Extra data"):
        return False
    # The parser reports an unterminated string where it begins; a line break inside would be another error.
    return error.msg.startswith("Unterminated") or _BEGUN.fullmatch(text[error.pos :].strip()) is not None


def read_shard(path: Path) -> str | None:
    """Which part of a dataset a folder is, such as "3/16"; None for a whole dataset or without a manifest.

    Reads only the manifest's head, because the rest can be a line for each of 400,000 files.

    Raises:
        DatasetError: the file is not a manifest.
    """
    return part_of(_read_head(path).get("shard"), path)


def read_n_questions(path: Path, hop: str, split: str) -> int | None:
    """The number of questions in a split, from the manifest's head; None if it does not list the split.

    Raises:
        DatasetError: the file is not a manifest.
    """
    entry = _read_head(path).get("splits", {}).get(hop, {}).get(split)
    return None if entry is None else int(entry["questions"])


def _read_head(path: Path) -> dict[str, Any]:
    """Reads what a manifest says of its splits and shard; empty if there is none."""
    if not os.path.lexists(path):
        return {}
    raw: dict[str, Any] = _raw(path)
    check_form(raw, Fields({}, {"shard": Nullable(_PART), "splits": _SPLITS}), path)
    return raw


def read_plainly(path: Path) -> dict[str, Any]:
    """Reads a manifest unchecked, for readers that share no code with its writers; empty if there is none.

    Its files are those of its table, if it has one.

    Raises:
        DatasetError: the file is not a JSON object, or its table is broken.
    """
    if not path.is_file():
        return {}
    raw = read_object(path, "a manifest", max_bytes=MAX_MANIFEST_BYTES)
    if "files_table" not in raw:
        return raw
    check_form(raw, Fields({"files_table": _TABLE}), path)
    return {**raw, "files": _listed_in_table(path, raw["files_table"]["sha256"]) or {}}


def part_of(shard: Mapping[str, Any] | None, path: Path) -> str | None:
    """The part of a dataset that a manifest's `shard` describes, such as "3/16"; None for a whole dataset.

    Raises:
        DatasetError: its number is 0 or above the number of parts.
    """
    if shard is None:
        return None
    number, of = shard["number"], shard["of"]
    if not 1 <= number <= of:
        raise DatasetError(
            f"{path}: shard is {number} of {of}; expected a part's number and the number of parts"
        )
    return f"{number}/{of}"


def _in_order(named: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(named.items(), key=lambda each: name_order(each[0]))


def _sorted(nested: Mapping[str, Any]) -> dict[str, Any]:
    """Sorts nested mappings by key."""
    return {name: _sorted(each) if isinstance(each, Mapping) else each for name, each in _in_order(nested)}


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Writes a manifest whole, with keys and files in a fixed order: equal folders have equal manifests."""
    raw = {
        "format": FORMAT,
        "version": manifest.version,
        "complete": manifest.complete,
        **({"edition": manifest.edition} if manifest.edition else {}),
        "seed": manifest.seed,
        "world": manifest.world,
        "templates": manifest.templates,
        "questions": manifest.questions,
        "rendering": manifest.rendering,
        "config": manifest.config,
        "requests": list(manifest.requests),
        "splits": manifest.splits,
        "pools": dict(_in_order(manifest.pools)),
        **({"palettes": dict(_in_order(manifest.palettes))} if manifest.palettes else {}),
        **({"suites": _sorted(manifest.suites)} if manifest.suites else {}),
        **({"covr": manifest.covr} if manifest.covr else {}),
        "checked": manifest.checked,
    }
    if manifest.shard is not None:
        raw["shard"] = manifest.shard
    files, table = sorted(manifest.files.items()), path.with_name(FILES_TABLE)
    rows = ""
    if len(files) <= MOST_LISTED:
        # One line per file, so that a diff is readable.
        rows = ",\n".join(
            f"    {json.dumps(name, ensure_ascii=False)}: {json.dumps(asdict(each))}" for name, each in files
        )
    else:
        lines = ["file,bytes,sha256", *(f"{name},{each.bytes},{each.sha256}" for name, each in files)]
        content = "".join(f"{line}\n" for line in lines).encode()
        if len(content) > MAX_MANIFEST_BYTES:
            raise DatasetError(
                f"{table}: over {MAX_MANIFEST_BYTES >> 20} MiB; with --images h5 it lists one file a pool"
            )
        raw["files_table"] = {"files": len(files), "sha256": hashlib.sha256(content).hexdigest()}
        write_whole(table, content)
    head = json.dumps(raw, indent=2, ensure_ascii=False)
    listed = f"{{\n{rows}\n  }}" if rows else "{}"
    write_whole(path, f'{head[:-2]},\n  "files": {listed}\n}}\n'.encode())
    if "files_table" not in raw:
        table.unlink(missing_ok=True)


_CONSTRAINTS = ("min_objects", "max_objects", "height", "width", "min_pixels")
_PART = Fields({"number": COUNT, "of": COUNT}, {"asked": Fields({}, {"splits": MapOf(COUNT)})})
_ATTRIBUTE = one_of(NAME_ORDER)
_SPLITS = MapOf(
    MapOf(
        Fields({"pool": NAME, "questions": COUNT, "images": COUNT}, {"places": COUNT, "sets": COUNT}),
        keys=NAME,
    ),
    keys=NAME,
)
_FILES = MapOf(Fields({"bytes": COUNT, "sha256": SHA256}), keys=PATH)
_TABLE = Fields({"files": COUNT, "sha256": SHA256})
_PLACE = ListOf(NUMBER, 3)
_LOOK = Fields({}, {"camera": Fields({}, {"location": _PLACE, "target": _PLACE, "jitter": NUMBER})})
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
            {"clevr": Fields({"fingerprint": TEXT, "scenes": COUNT, "share": SHARE}), "look": _LOOK},
        ),
        "templates": Fields({"fingerprint": TEXT, "files": ListOf(FILE_NAME)}),
        "questions": Fields(
            {"window": COUNT, "an_image": MapOf(COUNT)},
            {name: one_of(choices) for name, choices in QuestionSettings.choices().items()},
        ),
        "rendering": Nullable(OBJECT),
        "config": Fields({}, {"preset": TEXT, "sizes": MapOf(COUNT), "images": TEXT, "passes": ListOf(TEXT)}),
        "requests": ListOf(Fields({}, {"config": OBJECT})),
        "splits": _SPLITS,
        "pools": MapOf(
            Fields({"images": COUNT}, {"size": COUNT, "files": ListOf(TEXT), "passes": ListOf(TEXT)}),
            keys=NAME,
        ),
        "checked": MapOf(ListOf(TEXT)),
        "files": _FILES,
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
        "suites": MapOf(
            MapOf(
                MapOf(
                    Fields({"pairs": COUNT, "originals": COUNT}, {"images": COUNT, "visual": COUNT}),
                    keys=NAME,
                ),
                keys=NAME,
            ),
            keys=NAME,
        ),
        "covr": MapOf(
            MapOf(Fields({"pool": NAME, "questions": COUNT, "images": COUNT}), keys=NAME), keys=NAME
        ),
        "shard": Nullable(Fields({**_PART.needed, **_PART.optional})),
        "edition": Fields({"name": NAME, "private": BOOLEAN}),
        "files_table": _TABLE,
    },
)
"""The form of manifest.json. Every name in it that becomes part of a path is checked here."""


class BindingError(DatasetError, ValueError):
    """A folder was made with settings that differ from the requested ones."""


def check_binding(existing: Manifest, wanted: Manifest, root: Path) -> None:
    """Checks that `wanted` extends the folder that `existing` describes.

    Raises:
        BindingError: they differ in something that decides content; says where, with both values.
    """
    remedy = "choose another --out, or use the folder's own settings"

    def check_equal(name: str, there: Any, here: Any) -> None:
        if there != here:
            raise BindingError(f"{root}: made with {name} ({difference(there, here)}); {remedy}")

    if existing.edition != wanted.edition:
        held, asked = map(edition_in_words, (existing.edition, wanted.edition))
        raise BindingError(f"{root}: holds {held}, but {asked} was asked for; choose another --out")
    for key, name in _BOUND.items():
        check_equal(name, getattr(existing, key), getattr(wanted, key))
    if existing.rendering is None or wanted.rendering is None:
        return
    # Before there was a choice, manifests named no renderer.
    there = {"renderer": DEFAULT_RENDERER, **existing.rendering}
    here = rendering_of_folder(there, {"renderer": DEFAULT_RENDERER, **wanted.rendering})
    if there["renderer"] != here["renderer"]:
        raise BindingError(
            f"{root}: its images were made with {rendering_in_words(there)}, not with "
            f"{rendering_in_words(here)}; {remedy}"
        )
    if reason := other_revision(there, here):
        raise BindingError(f"{root}: {reason}")
    check_equal("other rendering settings", there, here)


def difference(there: Any, here: Any, *, sides: tuple[str, str] = ("there", "asked for")) -> str:
    """The first few settings in which two values differ; fingerprints only if nothing else differs.

    `sides` are the words that follow the first and the second value.
    """
    if not (isinstance(there, Mapping) and isinstance(here, Mapping)):
        return f"{_short(there)} {sides[0]}, {_short(here)} {sides[1]}"
    every = _differing_leaves(there, here, "")
    named = [each for each in every if not each[0].endswith("fingerprint")] or every
    shown = "; ".join(f"{place} is {a} {sides[0]}, {b} {sides[1]}" for place, a, b in named[:3])
    return shown + (f"; and {len(named) - 3} more" if len(named) > 3 else "")


def _differing_leaves(
    there: Mapping[str, Any], here: Mapping[str, Any], prefix: str
) -> list[tuple[str, str, str]]:
    """Path, existing value and requested value of each setting that differs."""
    found: list[tuple[str, str, str]] = []
    for key in dict.fromkeys([*there, *here]):
        left_out = QuestionSettings.choices().get(key, ["none"])[0]
        a, b = there.get(key, left_out), here.get(key, left_out)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += _differing_leaves(a, b, f"{prefix}{key}.")
        elif _are_named(a) and _are_named(b):
            named = [{str(each["name"]): each for each in several} for several in (a, b)]
            found += _differing_leaves(named[0], named[1], f"{prefix}{key}.")
        elif isinstance(a, list) and isinstance(b, list) and set(map(str, a)) != set(map(str, b)):
            # Long lists usually differ in only a few members.
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
