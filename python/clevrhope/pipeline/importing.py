"""Writes what a source gives as a dataset's folder, which every command takes.

Questions are copied as arrays, and scenes as rows; images stay where they are, see `source_images`. The
source is only read.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clevrhope._core import World
from clevrhope.config.presets import WINDOW
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.contents import no_hop, same_hop
from clevrhope.dataset.folder_check import is_published
from clevrhope.dataset.layout import Layout, locked_layout
from clevrhope.dataset.manifest import Manifest, read_manifest, write_manifest
from clevrhope.dataset.vocab import write_vocab
from clevrhope.errors import ConfigError, DatasetError, listed
from clevrhope.pipeline.import_features import import_features
from clevrhope.pipeline.import_files import ImportedFolder, digest_of
from clevrhope.questions import read_templates, synonyms_path
from clevrhope.runtime.atomic import DiskError
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.reading import read_utf8
from clevrhope.runtime.settings import suggestion
from clevrhope.scenes import read_world
from clevrhope.sources import find_source
from clevrhope.sources.source import Columns, Numbering, Source, SourceSplit, Templates, files_below
from clevrhope.splits.hops import parse_hop

VERSION = "imported"
"""The dataset version of an imported folder."""

WORLD: Mapping[str, Any] = {"directions": "clevr", "min_pixels": 200}
"""The constraints of the official scenes that differ from the defaults here."""

OFFICIAL = QuestionSettings(strictness="chain")
"""The settings of questions of files that do not say theirs."""

PUBLISHED, FROM_TEXTS, NONE = "published", "read from the texts with the templates", "not published"
"""Where programs come from."""


def dataset_of(path: Path, say: Callable[[str], None], *, templates: Path | None = None) -> Path:
    """The dataset in a folder; published files are imported into the user's cache, once.

    Args:
        path: a dataset, or published files.
        say: shows a sentence, which tells where an import is.
        templates: as for `import_source`; there is an import for each content of them.

    Raises:
        ClevrhopeError: as for `import_source`; a path without published files is returned as it is.
    """
    if not is_published(path):
        return path
    paths = [each for each in files_below(path) if each.is_file()]
    stamps = [(str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in paths]
    with_templates = [read_templates(read_world(), templates).fingerprint] if templates else []
    made_of = ["npz of arrays", str(path.resolve()), stamps, *with_templates]  # as records of images are
    key = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    out = cache / "clevrhope" / "imports" / key / path.resolve().name
    if not Layout(out).manifest.is_file():
        say(f"{path}: published files, imported once into {out} (clevrhope import takes another)")
        try:
            made = import_source(path, out, templates=templates, in_place=True).manifest
        except DiskError as error:
            option = "XDG_CACHE_HOME or clevrhope import --out"
            raise DiskError(error.path, error.error, option=option) from error
        for note in (made.source or {})["notes"]:
            say(f"  {note}")
    return out


def import_source(
    path: Path,
    out: Path,
    *,
    form: str | None = None,
    hops: Sequence[str] = (),
    splits: Sequence[str] = (),
    templates: Path | None = None,
    features: bool = False,
    in_place: bool = False,
    progress: Progress | None = None,
) -> ImportedFolder:
    """Imports published files into a folder; one that was imported from the same files gets what it lacks.

    Args:
        path: a folder with published files, or one file.
        out: the folder to write.
        form: the form of the files; by default the one that is found.
        hops: the sub-datasets to import; none for all.
        splits: the splits to import; none for all.
        templates: question templates that the texts were made with, such as CLEVR's folder; programs are read
            from texts by them if the files have no programs.
        features: whether detector features are copied, too, into a store of kind frcnn.
        in_place: whether users know the dataset by the published files, not by `out`.
        progress: shows the progress.

    Raises:
        WrongFolderError: there are no published files in `path`.
        DatasetError: a file is broken or of another form.
        ConfigError: there is no such sub-dataset or split, or `out` is another dataset or of other files.
    """
    world = read_world(constraints=WORLD)
    source = find_source(path, world.vocabulary, form)
    chosen, shown = choose_splits(source, hops, splits), progress or Silent()
    if path.resolve() in (out.resolve(), *out.resolve().parents):
        raise ConfigError(f"{out}: is inside {path}, into which nothing is written; choose another --out")
    with locked_layout(out):
        folder = ImportedFolder(Layout(out), _manifest_of(out, world, source), source)
        for split in chosen:  # whose name may be that of a folder
            try:
                parse_hop(split.hop, list(folder.manifest.world["attributes"].items()))
            except ConfigError as error:
                raise DatasetError(f"{split.file}: {error}") from error
        digests = dict((folder.manifest.source or {}).get("splits", {}))
        if digests:
            _check_same(folder, chosen, shown)
        texts, n_unread = _read_templates(world, templates) if templates else None, 0
        for split in sorted(chosen, key=lambda each: each.vocab is None):  # whose words get the next numbers
            numbering = folder.numbering(split, texts)
            parts = [*_blocks(split, numbering, "Importing", shown)]
            digests[split.key] = digest_of(parts, numbering)
            folder.write_split(split, parts, numbering.vocab())
            n_unread += numbering.n_unread
        if not folder.layout.vocab.exists():  # whose answers and functions belong to the world
            write_vocab(folder.layout.vocab, folder.plain)
        folder.write_scenes()
        programs = PUBLISHED if source.has_programs else FROM_TEXTS if templates else NONE
        described = _described(folder, chosen, digests, n_unread)
        described |= {"programs": programs, "in_place": in_place}
        folder.manifest = replace(folder.manifest, source=described)
        folder.measure()
        write_manifest(folder.layout.manifest, folder.manifest)
        if features:
            import_features(folder, chosen, shown)
    return folder


def _manifest_of(out: Path, world: World, source: Source) -> Manifest:
    """The manifest of an import of this form, or a new one, of the dataset that the source says.

    Raises:
        ConfigError: the folder has something else than what an interrupted import left.
    """
    manifest = read_manifest(Layout(out).manifest)
    if manifest is not None:
        if not (manifest.source and manifest.source["form"] == source.form):
            raise ConfigError(f"{out}: holds another dataset; choose another --out")
        return manifest
    ours = {"covr", "hops", "images", "scenes", "vocab.json"}
    if other := [path.name for path in sorted(out.glob("[!.]*")) if path.name not in ours]:
        raise ConfigError(f"{out}: not empty ({other[0]}) and not an import; choose another --out")
    default = {kind: list(values) for kind, values in world.attribute_types}
    of_world = {"constraints": json.loads(world.config_json), "attributes": default}
    of_world |= {name: source.about[name] for name in of_world if name in source.about}
    is_default = of_world["attributes"] == default
    settings = source.about.get("settings", OFFICIAL.changed_settings())
    return Manifest(
        version=VERSION,
        complete=True,
        seed=0,
        world={"fingerprint": world.fingerprint if is_default else VERSION, **of_world},
        templates={"fingerprint": VERSION, "files": []},
        questions={"window": WINDOW, "an_image": {}, **settings},
    )


def _blocks(split: SourceSplit, numbering: Numbering, verb: str, progress: Progress) -> Iterator[Columns]:
    """The columns of a split, while progress is shown."""
    title, n = f"{verb} {split.table} {split.split}", 0
    with progress.stage(title, total=split.n_questions, unit="questions") as advance:
        for columns in split.blocks(numbering):
            yield columns
            n += len(columns["answers"])
            advance(len(columns["answers"]))
    if n != split.n_questions:
        raise DatasetError(
            f"{split.file}: {n:,} questions were read, but {split.n_questions:,} were counted; in CLEVR's "
            "form, each question has the key question_index once, and nothing else has it; remove it from "
            "other objects, or download the file again"
        )


def _check_same(folder: ImportedFolder, chosen: Sequence[SourceSplit], progress: Progress) -> None:
    """Checks that a folder was imported from these files, which may have been moved since.

    Raises:
        ConfigError: a split has other questions there, or none is there and the files are elsewhere.
    """
    out, known = folder.layout.root, folder.manifest.source or {}
    there = [split for split in chosen if split.key in known["splits"]]
    for split in there:
        numbering = folder.numbering(split)
        digest = digest_of(_blocks(split, numbering, "Comparing", progress), numbering)
        if digest != known["splits"][split.key]:
            raise ConfigError(
                f"{out}: its {split.table} {split.split} has other questions or images than {split.file}; "
                "choose another --out"
            )
    first, root = Path(known["root"]), folder.source.root.resolve()
    if not there and not (root.is_relative_to(first) or first.is_relative_to(root)):
        raise ConfigError(
            f"{out}: was imported from {first}, and {folder.source.root} may be of another source; choose "
            "another --out, or import a folder that holds both"
        )


def choose_splits(source: Source, hops: Sequence[str], splits: Sequence[str]) -> list[SourceSplit]:
    """The splits of a source to import; no names mean all.

    Raises:
        ConfigError: names that are unknown, all of them.
        DatasetError: a split has no questions.
    """
    known = tuple(dict.fromkeys(split.hop for split in source.splits))
    there = dict.fromkeys(split.split for split in source.splits)
    wanted = {name: [hop for hop in known if same_hop(name, hop)] for name in hops or known}
    unknown = [str(no_hop(source.root, name, known)) for name, found in wanted.items() if not found]
    unknown += [
        f'{source.root}: no split "{name}"{suggestion(name, there)}; there are: {", ".join(there)}'
        for name in splits
        if name not in there
    ]
    if unknown:
        raise ConfigError("; ".join(unknown))
    of_hops = [split for split in source.splits if any(split.hop in found for found in wanted.values())]
    chosen = [split for split in of_hops if split.split in (splits or there)]
    for split in chosen:
        if not split.n_questions:
            raise DatasetError(f"{split.file}: there are no questions of {split.split} in it")
    return chosen


def _read_templates(world: World, folder: Path) -> Templates:
    """The files of a folder of question templates; raises TemplateError if they are none."""
    names = dict.fromkeys(file for file, _, _ in read_templates(world, folder).families)
    files = [(Path(name).stem, read_utf8(folder / name, "templates")) for name in names]
    return files, read_utf8(synonyms_path(folder), "synonyms")


def _described(
    folder: ImportedFolder, chosen: Sequence[SourceSplit], digests: Mapping[str, str], n_unread: int
) -> dict[str, Any]:
    """What is known of the source of a folder, by the digests of its splits."""
    known, source = folder.manifest.source or {}, folder.source
    about: dict[str, list[str]] = {}
    for split in chosen:
        about.setdefault("; ".join(split.notes), []).append(f"{split.table} {split.split}")
    notes = [f"{listed(names, most=4)}: {note}" for note, names in about.items() if note]
    if n_unread:
        notes.append(f"texts that fit none of the templates, and so have no program: {n_unread:,}")
    # A later import may be of some files of the first one's folder, or of a folder with more.
    first, root = Path(known.get("root", "")), source.root.resolve()
    dataset = source.about.get("dataset", "")
    return {
        "form": source.form,
        "sha256": hashlib.sha256(json.dumps(sorted(digests.items())).encode()).hexdigest(),
        "notes": [*dict.fromkeys([*known.get("notes", ()), *source.notes, *notes])],
        "splits": dict(sorted(digests.items())),
        "grouped": sorted({*known.get("grouped", ()), *(split.split for split in chosen if split.unit)}),
        "is_placed": "constraints" in source.about and "unit" not in source.about,
        "dataset": dataset if known.get("dataset", dataset) == dataset else "",
        "root": str(first if root.is_relative_to(first) else root),
    }
