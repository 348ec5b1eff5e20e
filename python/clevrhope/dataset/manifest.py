"""The manifest of a dataset, manifest.json: what a folder is bound to and what it holds.

A folder is bound to everything that decides its content: seed, world, templates, and (once there are images)
how they are rendered. Pairs, sizes and image formats may grow. Nothing in a manifest depends on when the
folder was made or in how many runs.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.folder_check import no_dataset
from clevrhope.dataset.question_kinds import KINDS
from clevrhope.errors import DatasetError, shown
from clevrhope.runtime.atomic import FileRecord, write_whole
from clevrhope.runtime.forms import COUNT, Fields, MapOf, check_form, one_of, read_form
from clevrhope.runtime.json_text import read_json, read_object
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

FORM = read_form(
    Path(__file__).with_name("manifest_form.json"),
    attribute=one_of(NAME_ORDER),
    questions=Fields(
        {"window": COUNT, "an_image": MapOf(COUNT)},
        {name: one_of(choices) for name, choices in QuestionSettings.choices().items()},
    ),
)
"""The form of the file. Every name in it that becomes part of a path is checked by it."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A folder's manifest, in the file's order. JSON objects stay dictionaries, which users' tools read.

    `complete` is true when everything requested exists and has been checked. What is empty or None of
    `_LEFT_OUT` is not written.
    """

    version: str
    """Version of the dataset's definition, which changes when a stream changes."""
    complete: bool = False
    source: Mapping[str, Any] | None = None
    """For an imported dataset: the form of the published files, a digest of their questions, and what to know
    of them. Seed, rendering and templates are then not known."""
    edition: Mapping[str, Any] | None = None
    """For an edition: its name, and whether it is private, with a seed that only its owner knows."""
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
    """Palette -> its types, rows of combinations, and the held-out values."""
    suites: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]] = field(default_factory=dict)
    """HOP -> suite of paired tests -> split -> pairs, and questions that they were made from; for a suite
    with images of its own also their number, and the most questions that get visual tests."""
    covr: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """HOP -> split of questions over several images -> pool, questions, images."""
    nonce: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    """The same for episodes with nonce words, with `types`, "told" or "found"."""
    checked: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """HOP -> what has passed the check for leaks since its questions last changed."""
    shard: Mapping[str, Any] | None = None
    """For one machine's part: its number, the number of parts and whole request; None for a whole dataset."""
    files: Mapping[str, FileRecord] = field(default_factory=dict)
    """Path below the folder -> size and checksum, for every finished file except the manifest."""

    @property
    def raster_px(self) -> tuple[int, int]:
        """Width and height of the raster that the scenes were sampled in, see `scenes.raster`."""
        constraints = self.world["constraints"]
        return int(constraints["width"]), int(constraints["height"])

    @property
    def digest(self) -> str:
        """Eight digits that stand for what decides scenes and questions: version, seed, world, templates.

        Of an imported dataset, those of the dataset that was exported, or else of its questions.
        """
        if self.source:
            return str(self.source.get("dataset") or digest_of([self.version, self.source["sha256"]]))
        fingerprints = self.world["fingerprint"], self.templates["fingerprint"]
        return digest_of([self.version, self.seed, *fingerprints])

    @property
    def part(self) -> str | None:
        """Which part of a dataset a folder is, such as "3/16"; None for a whole dataset."""
        return f"{self.shard['number']}/{self.shard['of']}" if self.shard else None

    @property
    def settings(self) -> QuestionSettings:
        """The settings of scenes and questions to which the folder is bound."""
        return QuestionSettings.from_json(self.questions)

    @property
    def public_seed(self) -> int | None:
        """The seed to publish; None for an import, and for a private edition, whose owner keeps it secret."""
        return None if self.source or (self.edition and self.edition["private"]) else self.seed

    @property
    def seed_in_words(self) -> str:
        """The seed as documents for readers show it."""
        if self.source:
            return "not known"
        return "kept by its owner" if self.public_seed is None else str(self.public_seed)

    @property
    def edition_in_words(self) -> str:
        """The edition as a noun, such as "hope-1" or "a private edition of hope-1"."""
        if self.edition is None:
            return "a dataset that is no edition"
        name = str(self.edition["name"])
        return f"a private edition of {name}" if self.edition["private"] else name

    @property
    def n_questions(self) -> int:
        """Number of questions of all kinds, without those of suites."""
        listed = (self.splits, self.covr, self.nonce)
        return sum(
            int(entry["questions"])
            for hops in listed
            for splits in hops.values()
            for entry in splits.values()
        )

    def __repr__(self) -> str:
        size = f"{len(self.splits)} HOPs, {len(self.files):,} files"
        return f"<manifest of a dataset {self.version}, seed {self.seed}: {size}>"

    def with_files(self, files: Mapping[str, FileRecord]) -> "Manifest":
        """The manifest with these file records added or replaced."""
        return replace(self, files={**self.files, **files})

    def without_file(self, name: str) -> "Manifest":
        """The manifest without the record of a file that is about to be rewritten."""
        return replace(self, files={file: record for file, record in self.files.items() if file != name})

    def all_splits(self, *, episodes: bool = False) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Each HOP and split with its entry: of questions about one image, about several, and of episodes."""
        for listed in (self.splits, self.covr, *((self.nonce,) if episodes else ())):
            for hop, entries in listed.items():
                for split, entry in entries.items():
                    yield hop, split, entry

    def with_splits(self, entries: Mapping[tuple[str, str], Mapping[str, Any]]) -> "Manifest":
        """The manifest with entries of (HOP, split) added or replaced.

        HOPs are sorted by name and splits as in their tables, so that the order of runs leaves no trace.
        """
        known = {(hop, split): entry for hop, split, entry in self.all_splits(episodes=True)} | {**entries}
        listed: dict[str, dict[str, dict[str, Any]]] = {"splits": {}, "covr": {}, "nonce": {}}
        for kind in KINDS.values():
            for split in kind.splits:
                for hop in sorted((hop for hop, of in known if of == split), key=name_order):
                    listed[kind.listed].setdefault(hop, {})[split] = dict(known[hop, split])
        splits, covr, nonce = (dict(_in_order(of_hops)) for of_hops in listed.values())
        return replace(self, splits=splits, covr=covr, nonce=nonce)

    def with_pairs(self, hop: str, suite: str, split: str, entry: Mapping[str, Any]) -> "Manifest":
        """The manifest with the entry of a suite on a split added or replaced."""
        of_hop = self.suites.get(hop, {})
        of_suite = {**of_hop.get(suite, {}), split: dict(entry)}
        return replace(self, suites={**self.suites, hop: {**of_hop, suite: of_suite}})

    def bytes_by_folder(self) -> dict[str, int]:
        """The bytes of the files in each of `FOLDERS`, of all suites ("suites"), and of other files ("")."""
        sums: Counter[str] = Counter()
        for name, file in self.files.items():
            folder, *below = name.split("/")
            sums["suites" if below[1:2] == ["suites"] else folder if below else ""] += file.bytes
        return dict(sums)


def digest_of(decided: Sequence[Any]) -> str:
    """Eight digits that stand for JSON values."""
    return hashlib.sha256(json.dumps(decided).encode()).hexdigest()[:8]


def choices_of(manifest: Manifest) -> dict[str, Any]:
    """The defaults that a request takes from its folder: its sizes, and the options that bind it."""
    clevr = manifest.world.get("clevr", {})
    return {
        **{name: manifest.config[name] for name in ("preset", "sizes", "images") if name in manifest.config},
        **manifest.settings.changed_settings(),
        **({"clevr_share": clevr["share"]} if "share" in clevr else {}),
        **({"rendering": manifest.rendering} if manifest.rendering else {}),
    }


def read_manifest(path: Path, *, repairs: bool = False, files: bool = True) -> Manifest | None:
    """Reads the manifest at `path`; None if there is no file.

    A run that was stopped can leave a table of files that is newer than the manifest; with `repairs`, such a
    manifest lists no files, so that a build compares or writes all of them again. Without `files`, the table
    is not read.

    Raises:
        DatasetError: the file is not a manifest of this layout, or is incomplete; or its table of files is
            missing or another.
    """
    with suppress(OSError):  # an impossible folder name is reported where the folder is made
        if path.parent.exists() and not path.parent.is_dir():
            raise no_dataset(path.parent)
    if not os.path.lexists(path):
        return None
    remedy = "put a whole copy there, or build into another folder"
    raw = read_json(path, "a manifest of clevrhope", remedy=remedy, max_bytes=MAX_MANIFEST_BYTES)
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        version = raw.get("format") if isinstance(raw, dict) else type(raw).__name__
        remedy = "; build the dataset again, into another folder" if version in range(FORMAT) else ""
        raise DatasetError(
            f"{path}: format {shown(version)}, but this version of clevrhope reads and writes format {FORMAT}"
            f"{remedy}"
        )
    check_form(raw, FORM, path)
    for key in ("splits", "covr", "nonce"):
        known = [name for kind in KINDS.values() if kind.listed == key for name in kind.splits]
        for hop, splits in raw.get(key, {}).items():
            for split in splits:
                if split not in known:
                    raise DatasetError(
                        f"{path}: {key}.{hop}.{split} is not a split; known: {', '.join(known)}"
                    )
    shard = raw.get("shard")
    if shard is not None and not 1 <= shard["number"] <= shard["of"]:
        raise DatasetError(
            f"{path}: shard is {shard['number']} of {shard['of']}; expected a part's number and the number "
            "of parts"
        )
    listed = raw["files"]
    if files and "files_table" in raw:
        listed = _listed_in_table(path, raw["files_table"]["sha256"])
        if listed is None and not repairs:
            raise DatasetError(
                f"{path.with_name(FILES_TABLE)}: missing, or not the table that {path.name} names; run the "
                "dataset's build again"
            )
        check_form(listed or {}, FORM.needed["files"], path.with_name(FILES_TABLE))
    records = {name: FileRecord(file["bytes"], file["sha256"]) for name, file in (listed or {}).items()}
    stored = {each.name: raw[each.name] for each in fields(Manifest) if each.name in raw}
    return Manifest(**{**stored, "files": records})


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


def check_no_part(manifest: Manifest | None, folder: Path) -> None:
    """Checks that a folder is not one machine's part of a dataset, which lacks splits, scenes and images.

    Raises:
        DatasetError: it is a part.
    """
    if manifest is not None and manifest.part is not None:
        raise DatasetError(
            f"{folder}: part {manifest.part} of a dataset, made by build --shard; join the parts first: "
            "clevrhope merge"
        )


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
    check_form(raw["files_table"], FORM.optional["files_table"], path, place="files_table")
    return {**raw, "files": _listed_in_table(path, raw["files_table"]["sha256"]) or {}}


def _in_order(named: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(named.items(), key=lambda item: name_order(item[0]))


def _sorted(nested: Mapping[str, Any]) -> dict[str, Any]:
    """Sorts nested mappings by key."""
    return {
        name: _sorted(value) if isinstance(value, Mapping) else value for name, value in _in_order(nested)
    }


_LEFT_OUT = ("source", "edition", "palettes", "suites", "covr", "nonce", "shard")
"""The fields that are not written if they are empty."""


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Writes a manifest whole, with keys and files in a fixed order: equal folders have equal manifests."""
    ordered = replace(
        manifest,
        requests=list(manifest.requests),
        pools=dict(_in_order(manifest.pools)),
        palettes=dict(_in_order(manifest.palettes)),
        suites=_sorted(manifest.suites),
        files={},
    )
    raw = {"format": FORMAT} | {
        name: value for name, value in vars(ordered).items() if value or name not in (*_LEFT_OUT, "files")
    }
    files, table = sorted(manifest.files.items()), path.with_name(FILES_TABLE)
    rows = ""
    if len(files) <= MOST_LISTED:
        # One line per file, so that a diff is readable.
        rows = ",\n".join(
            f"    {json.dumps(name, ensure_ascii=False)}: {json.dumps(asdict(file))}" for name, file in files
        )
    else:
        lines = ["file,bytes,sha256", *(f"{name},{file.bytes},{file.sha256}" for name, file in files)]
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
