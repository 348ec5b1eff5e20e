"""Writes what a source gives as a dataset's folder, which every command takes.

Questions are copied as arrays, and scenes as rows; images stay where they are, see `source_images`. The
source is only read.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import ProgramTokens, TextReader, Vocabulary, World
from clevrhope.config.presets import WINDOW
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.contents import no_hop, same_hop
from clevrhope.dataset.layout import Layout, locked_layout
from clevrhope.dataset.manifest import Manifest, read_manifest, write_manifest
from clevrhope.dataset.native_reader import text_reader, vocabulary_with
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.split_files import Vocab as Names
from clevrhope.dataset.vocab import Vocab, make_vocab, read_vocab, write_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.pipeline.import_features import import_features
from clevrhope.pipeline.import_files import QuestionDigest, measure_files, write_scenes, write_split
from clevrhope.questions import read_templates, synonyms_path
from clevrhope.runtime.atomic import record
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.reading import read_bytes
from clevrhope.scenes import read_world
from clevrhope.sources import find_source
from clevrhope.sources.source import Columns, Numbering, Source, SourceSplit

VERSION = "imported"
"""The dataset version of an imported folder."""

WORLD: Mapping[str, Any] = {"directions": "clevr", "min_pixels": 200}
"""The constraints of the official scenes that differ from the defaults here."""

PUBLISHED_FILES = (
    *("*.parquet", "*/*.parquet", "shards.json", "*-000000.tar"),
    *(
        "held_out_CLEVR*/",
        "hdf5_held_out_CLEVR/",
        "hdf5_atom_ho_exist*/",
        "no_text_no_vis_*/",
        "CLEVR_ho_*.json",
        "val_atom_ho_exist_*",
    ),
)
"""What a folder of published files has near its top, so that no other folder is searched through."""

OFFICIAL = QuestionSettings(strictness="chain")
"""The settings of questions of files that do not say theirs."""

PUBLISHED, FROM_TEXTS, NONE = "published", "read from the texts with the templates", "not published"
"""Where programs come from."""


@dataclass(frozen=True)
class Imported:
    """What an import wrote: the folder, its source, and (HOP, split) -> number of questions."""

    folder: Path
    source: Source
    manifest: Manifest
    n_questions: Mapping[tuple[str, str], int]
    n_unread: int
    """Number of texts that no template gives; 0 if no programs were read from texts."""


def dataset_of(path: Path, say: Callable[[str], None], *, templates: Path | None = None) -> Path:
    """The dataset in a folder; published files are imported into the user's cache, once.

    Args:
        path: a dataset, or published files.
        say: shows a sentence, which tells where an import is.
        templates: as for `import_source`; there is an import for each content of them.

    Raises:
        ClevrhopeError: as for `import_source`; a path without published files is returned as it is.
    """
    is_published = (
        path.suffix in (".parquet", ".tar")
        if path.is_file()
        else any(next(path.glob(pattern), None) for pattern in PUBLISHED_FILES)
    )
    if not is_published:
        return path
    paths = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    stamps = [(str(each), each.stat().st_size, each.stat().st_mtime_ns) for each in paths]
    with_templates = [read_templates(read_world(), templates).fingerprint] if templates else []
    made_of = [str(path.resolve()), stamps, *with_templates]
    key = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    out = cache / "clevrhope" / "imports" / f"{path.resolve().stem}-{key}"
    if not Layout(out).manifest.is_file():
        say(f"{path}: published files, imported once into {out} (clevrhope import takes another)")
        out.mkdir(parents=True, exist_ok=True)
        import_source(path, out, templates=templates)
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
    progress: Progress | None = None,
) -> Imported:
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
        progress: shows the progress.

    Raises:
        WrongFolderError: there are no published files in `path`.
        DatasetError: a file is broken or of another form.
        ConfigError: there is no such sub-dataset or split, or `out` is another dataset or of other files.
    """
    world = read_world(constraints=WORLD)
    source = find_source(path, world.vocabulary, form)
    chosen = _chosen(source, hops, splits)
    layout = Layout(out)
    _check_apart(path, out)
    with locked_layout(out):
        manifest = read_manifest(layout.manifest)
        if manifest is not None and not (manifest.source and manifest.source["form"] == source.form):
            raise ConfigError(f"{out}: holds another dataset; choose another --out")
        if empty := [split for split in chosen if not split.n_questions]:
            raise DatasetError(f"{empty[0].file}: there are no questions of {empty[0].split} in it")
        if manifest is None:
            _check_new(out)
            manifest = _new_manifest(world, source)
        vocabulary = _vocabulary(world, source)
        vocab = read_vocab(layout.vocab) if layout.vocab.is_file() else source.vocab
        if source.vocab is not None and vocab != source.vocab:
            raise ConfigError(f"{out}: holds questions of another vocabulary; choose another --out")
        vocab = vocab or make_vocab([], ProgramTokens(vocabulary).names, vocabulary.answers)
        shown = progress or Silent()
        if manifest.source and manifest.source["splits"]:
            _check_same(out, manifest.source, source, chosen, vocab, shown)
        numbering = Numbering(vocab, _reader_maker(world, templates))
        digests = dict(manifest.source["splits"]) if manifest.source else {}
        for split in chosen:
            title = f"Importing {split.hop} {split.split}"
            with shown.stage(title, total=split.n_questions, unit="questions") as advance:
                counted = (_counted(columns, advance) for columns in split.blocks(numbering))
                manifest, digest = write_split(layout, manifest, split, counted, numbering)
                digests[f"{split.hop}/{split.split}"] = digest
        write_vocab(layout.vocab, numbering.vocab())
        manifest = manifest.with_files({layout.relative(layout.vocab): record(layout.vocab)})
        manifest = write_scenes(layout, manifest, source, vocabulary)
        manifest = _described(
            manifest, source, chosen, digests, numbering, with_templates=templates is not None
        )
        manifest = manifest.with_files(measure_files(layout, manifest))
        write_manifest(layout.manifest, manifest)
        if features:
            _import_features(layout, manifest, chosen, path, shown)
    n = {(split.hop, split.split): manifest.splits[split.hop][split.split]["questions"] for split in chosen}
    return Imported(out, source, manifest, n, numbering.n_unread)


def _check_new(out: Path) -> None:
    """Checks that a new folder has nothing but what an interrupted import left."""
    ours = {"hops", "images", "scenes", "vocab.json"}
    others = [path.name for path in sorted(out.glob("[!.]*")) if path.name not in ours]
    if others:
        raise ConfigError(f"{out}: not empty ({others[0]}) and not an import; choose another --out")


def _check_same(
    out: Path,
    known: Mapping[str, Any],
    source: Source,
    chosen: Sequence[SourceSplit],
    vocab: Vocab,
    progress: Progress,
) -> None:
    """Checks that a folder was imported from these files, which may have been moved since.

    Raises:
        ConfigError: a split has other questions there, or none is there and the files are elsewhere.
    """
    there = [split for split in chosen if f"{split.hop}/{split.split}" in known["splits"]]
    for split in there:
        numbering = Numbering(vocab)
        digest = QuestionDigest(numbering)
        title = f"Comparing {split.hop} {split.split}"
        with progress.stage(title, total=split.n_questions, unit="questions") as advance:
            for columns in split.blocks(numbering):
                digest.add(_counted(columns, advance))
        if digest.hex() != known["splits"][f"{split.hop}/{split.split}"]:
            raise ConfigError(
                f"{out}: its {split.hop} {split.split} has other questions or images than {split.file}; "
                "choose another --out"
            )
    first, root = Path(known.get("root", "")), source.root.resolve()
    if not there and not (root.is_relative_to(first) or first.is_relative_to(root)):
        raise ConfigError(
            f"{out}: was imported from {known.get('root', 'other files')}, and {source.root} may be of "
            "another source; choose another --out, or import a folder that holds both"
        )


def _wider(first: Path, now: Path) -> Path:
    """The folder of a source: that of an earlier import if the files now are some of those, else theirs."""
    return first if now.is_relative_to(first) else now


def _vocabulary(world: World, source: Source) -> Vocabulary:
    """The values of the source's dataset, CLEVR's unless it says others."""
    attributes = source.about.get("attributes")
    if not attributes:
        return world.vocabulary
    largest_count = int(source.about.get("constraints", {}).get("max_objects", 10))
    return vocabulary_with(attributes, largest_count=largest_count)


def _check_apart(path: Path, out: Path) -> None:
    """Checks that nothing is written into the source."""
    if out.resolve() == path.resolve() or path.resolve() in out.resolve().parents:
        raise ConfigError(f"{out}: inside {path}, into which nothing is written; choose another --out")


def _chosen(source: Source, hops: Sequence[str], splits: Sequence[str]) -> list[SourceSplit]:
    known = tuple(dict.fromkeys(split.hop for split in source.splits))
    for name in hops:
        if not any(same_hop(name, hop) for hop in known):
            raise no_hop(source.root, name, known)
    for name in splits:
        there = dict.fromkeys(split.split for split in source.splits)
        if name not in there:
            raise ConfigError(f'{source.root}: no split "{name}"; there are: {", ".join(there)}')
    return [
        split
        for split in source.splits
        if (not hops or any(same_hop(name, split.hop) for name in hops))
        and (not splits or split.split in splits)
    ]


def _new_manifest(world: World, source: Source) -> Manifest:
    about = source.about
    default = {kind: list(values) for kind, values in world.attribute_types}
    attributes = about.get("attributes", default)
    return Manifest(
        version=VERSION,
        complete=True,
        source={"form": source.form, "sha256": "0" * 64, "programs": NONE, "notes": [], "splits": {}},
        seed=0,
        world={
            "fingerprint": world.fingerprint if attributes == default else VERSION,
            "constraints": about.get("constraints", json.loads(world.config_json)),
            "attributes": attributes,
        },
        templates={"fingerprint": VERSION, "files": []},
        questions={"window": WINDOW, "an_image": {}, **about.get("settings", OFFICIAL.changed_settings())},
    )


def _reader_maker(world: World, templates: Path | None) -> Any:
    """What makes a reader of texts of a vocabulary; None without templates."""
    if templates is None:
        return None
    names = dict.fromkeys(file for file, _, _ in read_templates(world, templates).families)
    files = [(Path(name).stem, read_bytes(templates / name, "templates")) for name in names]
    synonyms = read_bytes(synonyms_path(templates), "synonyms")

    def make(vocab: Vocab) -> TextReader:
        numbers = vocab.question_token_to_idx, vocab.program_token_to_idx, vocab.answer_token_to_idx
        return text_reader(Names(*numbers), files, synonyms)

    return make


def _counted(columns: Columns, advance: Any) -> Columns:
    advance(len(columns["answers"]))
    return columns


def _import_features(
    layout: Layout, manifest: Manifest, chosen: Sequence[SourceSplit], path: Path, progress: Progress
) -> None:
    """Copies the detector features of the chosen splits' images."""
    files = {split.pool: split.features for split in chosen if split.features is not None}
    if not files:
        raise ConfigError(f"{path}: no detector features were found there (user_<split>_vg_frcnn.h5)")
    used: dict[str, Ints] = {}
    for hop, split, entry in manifest.all_splits():
        if (pool := entry["pool"]) in files:
            scenes = read_table(layout.questions_h5(hop, split)).scenes
            used[pool] = np.union1d(used.get(pool, scenes), scenes)
    import_features(layout.root, files, used, progress)


def _described(
    manifest: Manifest,
    source: Source,
    chosen: Sequence[SourceSplit],
    digests: Mapping[str, str],
    numbering: Numbering,
    *,
    with_templates: bool,
) -> Manifest:
    """The manifest with what is known of its source."""
    assert manifest.source is not None
    programs = PUBLISHED if source.has_programs else FROM_TEXTS if with_templates else NONE
    notes = [f"{split.hop} {split.split}: {split.note}" for split in chosen if split.note]
    if numbering.n_unread:
        notes.append(f"{numbering.n_unread:,} texts are of none of the templates, and have no program")
    known = dict.fromkeys([*manifest.source["notes"], *source.notes, *notes])
    grouped = {*manifest.source.get("grouped", ()), *(split.split for split in chosen if split.unit)}
    digest = hashlib.sha256(json.dumps(sorted(digests.items())).encode()).hexdigest()
    described = {
        "form": source.form,
        "sha256": digest,
        "programs": programs,
        "notes": [*known],
        "splits": dict(sorted(digests.items())),
        "grouped": sorted(grouped),
        "is_placed": bool(source.about.get("pool")),
        "root": str(_wider(Path(manifest.source.get("root", "")), source.root.resolve())),
    }
    return replace(manifest, source=described)
