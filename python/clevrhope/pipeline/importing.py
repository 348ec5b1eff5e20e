"""Writes what a source gives as a dataset's folder, which every command takes.

Questions are copied as arrays, and scenes as rows; images stay where they are, see `source_images`. The
source is only read.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import ProgramTokens, TextReader, Vocabulary, World
from clevrhope.config.presets import WINDOW
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.clevr_folder import FAMILIES
from clevrhope.dataset.clevr_json import rows_file, scene_info
from clevrhope.dataset.contents import no_hop, same_hop
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout, image_filename, locked_layout
from clevrhope.dataset.manifest import Manifest, read_manifest, write_manifest
from clevrhope.dataset.measured import write_measured
from clevrhope.dataset.native_reader import text_reader, vocabulary_with
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.questions_h5 import COLUMN_CHUNK_ROWS, Ints, QuestionWriter
from clevrhope.dataset.source_images import ImageRecord
from clevrhope.dataset.split_files import Vocab as Names
from clevrhope.dataset.vocab import Vocab, make_vocab, read_vocab, write_vocab
from clevrhope.describe.measure import measure_split, read_scene_counts
from clevrhope.describe.measured import hop_json
from clevrhope.errors import ConfigError, DatasetError, listed
from clevrhope.pipeline.import_features import import_features
from clevrhope.questions import read_templates, synonyms_path
from clevrhope.runtime.atomic import FileRecord, record
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.reading import read_bytes
from clevrhope.scenes import read_world
from clevrhope.scenes.forms import read_batch
from clevrhope.sources import find_source
from clevrhope.sources.source import Columns, Numbering, Source, SourceSplit
from clevrhope.splits.hops import parse_hop

VERSION = "imported"
"""The dataset version of an imported folder."""

WORLD: Mapping[str, Any] = {"directions": "clevr", "min_pixels": 200}
"""The constraints of the official scenes that differ from the defaults here."""

SCENES_AT_ONCE = 1_000

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


def dataset_of(path: Path, say: Callable[[str], None]) -> Path:
    """The dataset in a folder; published files are imported into the user's cache, once.

    Args:
        path: a dataset, or published files.
        say: shows a sentence, which tells where an import is.

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
    key = hashlib.sha256(json.dumps([str(path.resolve()), stamps]).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    out = cache / "clevrhope" / "imports" / f"{path.resolve().stem}-{key}"
    if not Layout(out).manifest.is_file():
        say(f"{path}: published files, imported once into {out} (clevrhope import takes another)")
        out.mkdir(parents=True, exist_ok=True)
        import_source(path, out)
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
        DatasetError: a file is broken or of another form, or `out` is another dataset.
        ConfigError: there is no such sub-dataset or split.
    """
    world = read_world(constraints=WORLD)
    source = find_source(path, world.vocabulary, form)
    chosen = _chosen(source, hops, splits)
    layout = Layout(out)
    _check_apart(path, out)
    with locked_layout(out):
        manifest = read_manifest(layout.manifest)
        if manifest is not None and not (manifest.source and manifest.source["form"] == source.form):
            raise DatasetError(f"{out}: holds another dataset; choose another --out")
        if manifest is None:
            _check_new(out)
            manifest = _new_manifest(world, source)
        vocabulary = _vocabulary(world, source)
        vocab = read_vocab(layout.vocab) if layout.vocab.is_file() else source.vocab
        if source.vocab is not None and vocab != source.vocab:
            raise DatasetError(f"{out}: holds questions of another vocabulary; choose another --out")
        vocab = vocab or make_vocab([], ProgramTokens(vocabulary).names, vocabulary.answers)
        numbering = Numbering(vocab, _reader_maker(world, templates))
        digests = dict(manifest.source["splits"]) if manifest.source else {}
        shown = progress or Silent()
        for split in chosen:
            title = f"Importing {split.hop} {split.split}"
            with shown.stage(title, total=split.n_questions, unit="questions") as advance:
                counted = (_counted(columns, advance) for columns in split.blocks(numbering))
                manifest, digest = _write_split(layout, manifest, split, counted, numbering)
                digests[f"{split.hop}/{split.split}"] = digest
        write_vocab(layout.vocab, numbering.vocab())
        manifest = manifest.with_files({layout.relative(layout.vocab): record(layout.vocab)})
        manifest = _write_scenes(layout, manifest, source, vocabulary)
        manifest = _described(
            manifest, source, chosen, digests, numbering, with_templates=templates is not None
        )
        manifest = manifest.with_files(_measure(layout, manifest))
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
        raise DatasetError(f"{out}: not empty ({others[0]}) and not an import; choose another --out")


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


def _write_split(
    layout: Layout, manifest: Manifest, split: SourceSplit, blocks: Iterator[Columns], numbering: Numbering
) -> tuple[Manifest, str]:
    """Writes a split's questions and the record of its images; returns the manifest and a digest."""
    parts = list(blocks)
    widths = {
        name: max((part[name].shape[1] for part in parts), default=2) for name in ("questions", "programs")
    }
    path = layout.questions_h5(split.hop, split.split)
    digest, of_word = hashlib.sha256(), _word_digests(numbering.words)
    used: list[Ints] = []
    with QuestionWriter(path, hop=split.hop, split=split.split, pool=split.pool) as writer:
        for part in parts:
            columns = {
                name: np.pad(part[name], ((0, 0), (0, widths[name] - part[name].shape[1])))
                if name in widths
                else part[name]
                for name in _ORDER
            }
            for first in range(0, len(part["answers"]), COLUMN_CHUNK_ROWS):
                writer.append(
                    {name: each[first : first + COLUMN_CHUNK_ROWS] for name, each in columns.items()}
                )
            used.append(part["image_idxs"])
            digest.update(of_word[part["questions"][part["questions"] != 0]].tobytes())
            digest.update(part["answers"].tobytes() + part["image_idxs"].tobytes())
    files: dict[str, FileRecord] = {layout.relative(path): record(path)}
    images, pools = split.images(), dict(manifest.pools)
    if images is not None:
        place = layout.image_record(split.pool)
        if split.pool in manifest.pools and place.is_file():
            images = ImageRecord.read(place).joined(images)
        images.write(place)
        files[layout.relative(place)] = record(place)
    if images is not None or split.unit:
        n = 0 if images is None else images.n_images
        unit = {"unit": split.unit} if split.unit else {}
        pools[split.pool] = {"images": n, "files": [], **unit}
    n_questions = sum(len(part["answers"]) for part in parts)
    entry = {
        "pool": split.pool,
        "questions": n_questions,
        "images": len(np.unique(np.concatenate(used))) if used else 0,
    }
    manifest = replace(manifest, pools=pools).with_splits({(split.hop, split.split): entry})
    return manifest.with_files(files), digest.hexdigest()


_ORDER = (
    *("questions", "question_lengths", "programs", "program_lengths"),
    *("answers", "image_idxs", "question_families"),
)
"""The columns in the order of the file."""


def _word_digests(words: Sequence[str]) -> Any:
    """(W,) eight bytes for each word that do not depend on its number."""
    digests = (hashlib.blake2b(word.encode(), digest_size=8).digest() for word in words)
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def _write_scenes(layout: Layout, manifest: Manifest, source: Source, vocabulary: Vocabulary) -> Manifest:
    """Writes the scenes in use of pools whose scenes are published."""
    used: dict[str, list[Ints]] = {}
    for hop, split, entry in manifest.all_splits():
        if entry["pool"] in source.scenes:
            used.setdefault(entry["pool"], []).append(read_table(layout.questions_h5(hop, split)).scenes)
    files = {}
    for pool, indices in used.items():
        wanted = np.unique(np.concatenate(indices))
        rows: dict[int, bytes] = {}
        scenes = _each_once(source.scenes[pool](), frozenset(wanted.tolist()))
        while some := list(islice(scenes, SCENES_AT_ONCE)):
            rows |= _scene_rows(some, pool, vocabulary, source.root)
        if missing := set(wanted.tolist()) - rows.keys():
            raise DatasetError(
                f"{source.root}: the scenes of {pool} lack {len(missing):,} that questions are about: "
                f"{listed(sorted(missing), most=5)}"
            )
        for shard in np.unique(wanted // SCENES_A_SHARD).tolist():
            path = layout.scene_shard(pool, shard)
            with rows_file(path, key="scenes", info=scene_info(pool)) as add:
                add([rows[index] for index in wanted[wanted // SCENES_A_SHARD == shard].tolist()])
            files[layout.relative(path)] = record(path)
    return manifest.with_files(files)


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


def _each_once(scenes: Iterator[dict[str, Any]], wanted: frozenset[int]) -> Iterator[dict[str, Any]]:
    """The scenes with these indices; a file may have one several times."""
    seen: set[int] = set()
    for scene in scenes:
        index = scene["image_index"]
        if index in wanted and index not in seen:
            seen.add(index)
            yield scene


def _scene_rows(
    scenes: Sequence[Mapping[str, Any]], pool: str, vocabulary: Vocabulary, file: Path
) -> dict[int, bytes]:
    """Index of each scene -> its row, with the relationships that it may have lost."""
    named = [
        {**scene, "split": pool, "image_filename": image_filename(pool, scene["image_index"])}
        for scene in scenes
    ]
    rows = {}
    for scene, row in zip(
        named, read_batch(named, vocabulary, file=f"{file}: {pool}").json_rows(), strict=True
    ):
        whole = json.loads(row)
        for thing, given in zip(whole["objects"], scene["objects"], strict=True):
            if "pixel_coords" not in given:
                del thing["pixel_coords"]
        rows[scene["image_index"]] = json.dumps(whole).encode()
    return rows


def _measure(layout: Layout, manifest: Manifest) -> dict[str, FileRecord]:
    """Measures the sub-datasets; returns the records of the files."""
    vocab, attributes = read_vocab(layout.vocab), manifest.world["attributes"]
    files: dict[str, FileRecord] = {}
    used: dict[str, Counter[int]] = {}
    tables = {
        (hop, split): read_table(layout.questions_h5(hop, split)).load()
        for hop, split, _ in manifest.all_splits()
    }
    for table in tables.values():
        used.setdefault(table.pool, Counter()).update(table.scenes.tolist())
    scenes = {
        pool: read_scene_counts(shards, attributes) if (shards := layout.scene_files(pool)) else None
        for pool in used
    }
    families = dict(enumerate(FAMILIES))
    for name in manifest.splits:
        of_hop = {split: table for (hop, split), table in tables.items() if hop == name}
        measured = hop_json(
            parse_hop(name, list(attributes.items())),
            {
                split: measure_split(
                    table.pool, table, vocab=vocab, scenes=scenes[table.pool], families=families
                )
                for split, table in of_hop.items()
            },
            images_shared={
                split: sum(used[table.pool][index] > 1 for index in table.scenes.tolist())
                for split, table in of_hop.items()
            },
            from_clevr={},
            families=families,
            never=(),
            suites={},
            covr={},
        )
        path = layout.hop_measured(name)
        write_measured(path, measured)
        files[layout.relative(path)] = record(path)
    return files


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
    }
    return replace(manifest, source=described)
