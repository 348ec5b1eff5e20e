"""Writes the files of an imported folder: questions, places of images, scenes, and measurements."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
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
from clevrhope.dataset.questions_h5 import Ints, QuestionWriter
from clevrhope.dataset.source_images import ImageRecord
from clevrhope.dataset.suite_pools import parse_suite_pool
from clevrhope.describe.measure import read_scene_counts
from clevrhope.errors import DatasetError, SceneError, listed
from clevrhope.pipeline.documents import measured_hop
from clevrhope.runtime.atomic import FileRecord, record
from clevrhope.scenes.forms import read_batch
from clevrhope.sources.source import Columns, Numbering, Source, SourceSplit
from clevrhope.splits.hops import parse_hop


def vocab_of(layout: Layout, split: SourceSplit) -> Path:
    """The file with the numbers of a split's words, functions and answers."""
    if split.suite:
        return layout.suite_vocab(split.hop, split.suite)
    return split.kind.vocab(layout, split.split)


def tables_of(layout: Layout, manifest: Manifest) -> Iterator[QuestionTable]:
    """The questions of all splits, and the pairs of all suites."""
    for hop, split, _ in manifest.all_splits(episodes=True):
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
    parts, path = list(blocks), split.kind.h5(layout, split.hop, split.split)
    if split.suite:
        path = layout.suite_h5(split.hop, split.suite, split.split)
    names = {"hop": split.hop, "split": split.split, "pool": split.pool}
    others = {name: value for name, value in split.attributes.items() if name not in names}
    with QuestionWriter(path, **names, prefixes=others.pop("prefixes", ()), attributes=others) as writer:
        for part in parts:
            columns = {name: part[name] for name in split.kind.columns if name in part}
            for name, least in zip(("questions", "programs"), split.widths, strict=True):
                width = max([least, *(each[name].shape[1] for each in parts)])
                columns[name] = np.pad(part[name], ((0, 0), (0, width - part[name].shape[1])))
            writer.append(columns)
    images = split.images()
    manifest = _with_images(layout, manifest, split, split.pool, images)
    if (support := split.support()) is not None:
        manifest = _with_images(layout, manifest, split, str(split.attributes["support_pool"]), support)
    manifest = manifest.with_files({layout.relative(path): record(path)})
    digest = digest_of(parts, numbering)
    if split.suite:
        originals = split.attributes.get("n_originals", 0)
        n_pairs = sum(len(part["answers"]) for part in parts) // 2
        pairs = {"pairs": n_pairs, "originals": originals, "sha256": split.sha256}
        pairs |= {"images": len(images.indices)} if images and parse_suite_pool(split.pool) else {}
        return manifest.with_pairs(split.hop, split.suite, split.split, pairs), digest
    entry = read_table(path, split.kind).entry
    return manifest.with_splits({(split.hop, split.split): entry}), digest


def _with_images(
    layout: Layout, manifest: Manifest, split: SourceSplit, pool: str, images: ImageRecord | None
) -> Manifest:
    """Writes the record of a pool's images in a split's files; returns the manifest that lists it."""
    place = layout.image_record(pool)
    if images is not None:
        if layout.relative(place) in manifest.files and place.is_file():
            images = images.joined(ImageRecord.read(place))
        images.write(place)
        manifest = manifest.with_files({layout.relative(place): record(place)})
    if (images is None and not split.unit) or parse_suite_pool(pool):
        return manifest
    entry: dict[str, Any] = {"images": len(images.indices) if images else 0, "files": []}
    entry |= {"unit": split.unit} if split.unit else {}
    return replace(manifest, pools={**manifest.pools, pool: entry})


def digest_of(parts: Iterable[Columns], numbering: Numbering) -> str:
    """SHA-256 of the words, answers and images of questions, whatever numbers the words have."""
    digest, of_words = hashlib.sha256(), np.zeros(0, dtype=np.uint64)  # (W,) eight bytes for each word
    for part in parts:
        if new := numbering.words[len(of_words) :]:
            digests = (hashlib.blake2b(word.encode(), digest_size=8).digest() for word in new)
            of_words = np.append(of_words, np.frombuffer(b"".join(digests), dtype=np.uint64))
        questions = part["questions"]
        digest.update(of_words[questions[questions != 0]].tobytes())
        digest.update(part["answers"].tobytes() + part["image_idxs"].tobytes())
    return digest.hexdigest()


def write_scenes(layout: Layout, manifest: Manifest, source: Source, vocabulary: Vocabulary) -> Manifest:
    """Writes the scenes in use of pools whose scenes are published."""
    used: dict[str, list[Ints]] = {}
    for table in tables_of(layout, manifest):
        if table.pool in source.scenes:
            used.setdefault(table.pool, []).append(table.scenes)
    for pool, indices in used.items():
        wanted, rows, has_any = np.unique(np.concatenate(indices)), {}, False
        missing = set(wanted.tolist())
        for scene in source.scenes[pool]():
            has_any, index = True, scene["image_index"]
            if index in missing:
                missing.remove(index)
                rows[index] = _scene_row(scene, pool, vocabulary, source.root)
        if not has_any:  # an export of an import without scenes
            continue
        if missing:
            raise DatasetError(
                f"{source.root}: the scenes of {pool} lack {len(missing):,} that questions are about: "
                f"{listed(sorted(missing), most=5)}"
            )
        for shard in np.unique(wanted // SCENES_A_SHARD).tolist():
            path = layout.scene_shard(pool, shard)
            with rows_file(path, key="scenes", info=scene_info(pool)) as add:
                add([rows[index] for index in wanted[wanted // SCENES_A_SHARD == shard].tolist()])
            manifest = manifest.with_files({layout.relative(path): record(path)})
    return manifest


def _scene_row(scene: Mapping[str, Any], pool: str, vocabulary: Vocabulary, root: Path) -> bytes:
    """The row of a scene, with the relationships that it may have lost."""
    index = scene["image_index"]
    named = {**scene, "split": pool, "image_filename": image_filename(pool, index)}
    place = f"{root}: the scene of image {index} of {pool}"
    try:
        (row,) = read_batch([named], vocabulary, file=place).json_rows()
    except SceneError as error:
        raise DatasetError(str(error).replace("scenes[0].", "", 1)) from error
    whole = json.loads(row)
    for thing, given in zip(whole["objects"], scene["objects"], strict=True):
        if "pixel_coords" not in given:
            del thing["pixel_coords"]
    return json.dumps(whole).encode()


def measure_files(layout: Layout, manifest: Manifest) -> dict[str, FileRecord]:
    """Measures the sub-datasets; returns the records of the files."""
    attributes, files = manifest.world["attributes"], {}
    used: dict[str, list[Ints]] = {}
    for table in tables_of(layout, manifest):
        table.load()  # which checks it
        if table.kind is SINGLE:
            used.setdefault(table.pool, []).append(table.scenes)
    n_users = {pool: np.bincount(np.concatenate(scenes)) for pool, scenes in used.items()}
    shards = {pool: layout.scene_files(pool) for pool in used}
    counts = {pool: read_scene_counts(each, attributes) if each else None for pool, each in shards.items()}
    for name in manifest.splits:
        hop, families = parse_hop(name, list(attributes.items())), dict(enumerate(FAMILIES))
        measured = measured_hop(hop, layout, manifest, counts, n_users, families, from_clevr={}, never=())
        path = layout.hop_measured(name)
        write_measured(path, measured)
        files[layout.relative(path)] = record(path)
    return files
