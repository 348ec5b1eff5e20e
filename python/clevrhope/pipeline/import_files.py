"""Writes the files of an imported folder: questions, places of images, scenes, and measurements."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope._core import Vocabulary
from clevrhope.dataset.clevr_folder import FAMILIES
from clevrhope.dataset.clevr_json import rows_file, scene_info
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout, image_filename
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.measured import write_measured
from clevrhope.dataset.question_kinds import PAIRS, SINGLE, kind_of
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.questions_h5 import COLUMN_CHUNK_ROWS, Ints, QuestionWriter
from clevrhope.dataset.source_images import ImageRecord
from clevrhope.dataset.suite_pools import parse_suite_pool
from clevrhope.dataset.vocab import read_vocab
from clevrhope.describe.covr import measure_covr
from clevrhope.describe.measure import measure_split, read_scene_counts
from clevrhope.describe.measured import hop_json
from clevrhope.describe.suites import measure_suites
from clevrhope.errors import DatasetError, SceneError, listed
from clevrhope.runtime.atomic import FileRecord, record
from clevrhope.scenes.forms import read_batch
from clevrhope.sources.source import Columns, Numbering, Source, SourceSplit
from clevrhope.splits.hops import parse_hop

SCENES_AT_ONCE = 1_000


def vocab_of(layout: Layout, split: SourceSplit) -> Path:
    """The file with the numbers of a split's words, functions and answers."""
    if split.suite:
        return layout.suite_vocab(split.hop, split.suite)
    return split.kind.vocab(layout, split.split)


def tables_of(layout: Layout, manifest: Manifest) -> Iterator[QuestionTable]:
    """The questions of all splits, and the pairs of all suites."""
    for hop, split, _ in manifest.all_splits():
        kind = kind_of(split)
        yield read_table(kind.h5(layout, hop, split), kind)
    for hop, suites in manifest.suites.items():
        for suite, splits in suites.items():
            for split in splits:
                yield read_table(layout.suite_h5(hop, suite, split), PAIRS)


def write_split(
    layout: Layout, manifest: Manifest, split: SourceSplit, blocks: Iterator[Columns], numbering: Numbering
) -> tuple[Manifest, str]:
    """Writes a split's questions and the record of its images; returns the manifest and a digest."""
    parts, kind = list(blocks), split.kind
    widths = {
        name: max([least, *(part[name].shape[1] for part in parts)])
        for name, least in zip(("questions", "programs"), split.widths, strict=True)
    }
    path = kind.h5(layout, split.hop, split.split)
    if split.suite:
        path = layout.suite_h5(split.hop, split.suite, split.split)
    digest = QuestionDigest(numbering)
    names = {"hop": split.hop, "split": split.split, "pool": split.pool}
    others = {name: value for name, value in split.attributes.items() if name not in names}
    with QuestionWriter(path, **names, prefixes=others.pop("prefixes", ()), attributes=others) as writer:
        for part in parts:
            columns = {
                name: np.pad(part[name], ((0, 0), (0, widths[name] - part[name].shape[1])))
                if name in widths
                else part[name]
                for name in kind.columns
                if name in part
            }
            for first in range(0, len(part["answers"]), COLUMN_CHUNK_ROWS):
                writer.append(
                    {name: each[first : first + COLUMN_CHUNK_ROWS] for name, each in columns.items()}
                )
            digest.add(part)
    files: dict[str, FileRecord] = {layout.relative(path): record(path)}
    images, pools = split.images(), dict(manifest.pools)
    if images is not None:
        place = layout.image_record(split.pool)
        if place.is_file() and layout.relative(place) in manifest.files:
            images = images.joined(ImageRecord.read(place))
        images.write(place)
        files[layout.relative(place)] = record(place)
    of_suite = parse_suite_pool(split.pool) is not None
    if (images is not None or split.unit) and not of_suite:
        n = 0 if images is None else images.n_images
        unit = {"unit": split.unit} if split.unit else {}
        pools[split.pool] = {"images": n, "files": [], **unit}
    manifest = replace(manifest, pools=pools).with_files(files)
    n_questions = sum(len(part["answers"]) for part in parts)
    if split.suite:
        originals = split.attributes.get("n_originals", 0)
        pairs = {"pairs": n_questions // 2, "originals": originals, "sha256": split.sha256}
        pairs |= {"images": images.n_images} if images is not None and of_suite else {}
        return manifest.with_pairs(split.hop, split.suite, split.split, pairs), digest.hex()
    n_images = len(read_table(path, kind).scenes)
    entry = {"pool": split.pool, "questions": n_questions, "images": n_images}
    return manifest.with_splits({(split.hop, split.split): entry}), digest.hex()


class QuestionDigest:
    """The digest of a split's words, answers and images, which does not depend on the numbers of words."""

    def __init__(self, numbering: Numbering) -> None:
        self._digest = hashlib.sha256()
        self._numbering = numbering
        self._of_words = np.zeros(0, dtype=np.uint64)
        """(W,) eight bytes for each word."""

    def add(self, part: Columns) -> None:
        """Adds consecutive questions."""
        if new := self._numbering.words[len(self._of_words) :]:
            digests = (hashlib.blake2b(word.encode(), digest_size=8).digest() for word in new)
            self._of_words = np.append(self._of_words, np.frombuffer(b"".join(digests), dtype=np.uint64))
        questions = part["questions"]
        self._digest.update(self._of_words[questions[questions != 0]].tobytes())
        self._digest.update(part["answers"].tobytes() + part["image_idxs"].tobytes())

    def hex(self) -> str:
        """SHA-256 so far."""
        return self._digest.hexdigest()


def write_scenes(layout: Layout, manifest: Manifest, source: Source, vocabulary: Vocabulary) -> Manifest:
    """Writes the scenes in use of pools whose scenes are published."""
    used: dict[str, list[Ints]] = {}
    for table in tables_of(layout, manifest):
        if table.pool in source.scenes:
            used.setdefault(table.pool, []).append(table.scenes)
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
    try:
        json_rows = read_batch(named, vocabulary, file=f"{file}: {pool}").json_rows()
    except SceneError:
        for scene in named:  # the place in these is not that in the file
            of_image = f"{file}: the scene of image {scene['image_index']} of {pool}"
            try:
                read_batch([scene], vocabulary, file=of_image)
            except SceneError as error:
                raise DatasetError(str(error).replace("scenes[0].", "", 1)) from error
        raise
    rows = {}
    for scene, row in zip(named, json_rows, strict=True):
        whole = json.loads(row)
        for thing, given in zip(whole["objects"], scene["objects"], strict=True):
            if "pixel_coords" not in given:
                del thing["pixel_coords"]
        rows[scene["image_index"]] = json.dumps(whole).encode()
    return rows


def measure_files(layout: Layout, manifest: Manifest) -> dict[str, FileRecord]:
    """Measures the sub-datasets; returns the records of the files."""
    vocab, attributes = read_vocab(layout.vocab), manifest.world["attributes"]
    files: dict[str, FileRecord] = {}
    used: dict[str, Counter[int]] = {}
    tables = {}
    for table in tables_of(layout, manifest):
        table.load()
        if table.kind is SINGLE:
            tables[table.hop, table.split] = table
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
            suites=measure_suites(layout, manifest, name),
            covr=measure_covr(layout, manifest, name),
        )
        path = layout.hop_measured(name)
        write_measured(path, measured)
        files[layout.relative(path)] = record(path)
    return files
