"""Question files, and files of the scenes that they ask about."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Protocol, TypeVar

import numpy as np

from clevrhope.config.presets import TRAIN_PREFIXES
from clevrhope.dataset.clevr_json import question_info, read_scene_indices, rows_file, scene_info
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import kind_of
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.questions_h5 import Ints, QuestionWriter
from clevrhope.dataset.suite_files import without_suites
from clevrhope.dataset.vocab import write_vocab
from clevrhope.pipeline.engine import Engine
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.questions import Batch, distinct_images, questions_of
from clevrhope.runtime.atomic import FileRecord, record
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import TRAIN

T = TypeVar("T")


class SceneRows(Protocol):
    """Makes scenes of pools."""

    def scene_rows(self, pool: str, indices: Ints, /) -> Iterator[list[bytes]]:
        """Scenes of a pool as JSON rows, in the order of `indices`, in batches."""
        ...


def write_vocabularies(layout: Layout, engine: Engine, *, of_sets: bool) -> dict[str, FileRecord]:
    """Writes vocab.json, and covr/vocab.json for questions over several images; returns their records."""
    vocabs = {layout.vocab: engine.encoder.vocab}
    if of_sets:
        vocabs[layout.covr_vocab] = engine.sets.encoder.vocab
    for path, vocab in vocabs.items():
        write_vocab(path, vocab)
    return {layout.relative(path): record(path) for path in vocabs}


def write_split(
    job: Job, batches: Iterator[Batch], layout: Layout, manifest: Manifest, advance: Advance
) -> Manifest:
    """Writes a split's questions as HDF5, and as JSON if wanted; returns the manifest listing the files."""
    hop, split = job.hop.name, job.split
    h5, rows = layout.questions_h5(hop, split), layout.questions_json(hop, split)
    prefixes = [n for n in TRAIN_PREFIXES if n < job.goal] if split == TRAIN.name else []
    n_questions = 0
    images: list[Ints] = []
    with ExitStack() as stack:
        add_rows = None
        if job.question_json:
            info = question_info(split, prefixes=prefixes)
            add_rows = stack.enter_context(rows_file(rows, key="questions", info=info))
        writer = stack.enter_context(
            QuestionWriter(h5, hop=hop, split=split, pool=job.pool, prefixes=prefixes)
        )
        for batch in batches:
            writer.append(batch.table.arrays())
            for name, value in batch.attributes.items():
                writer.set_attribute(name, value)
            if add_rows is not None:
                add_rows(batch.rows)
            n_questions += len(batch.table)
            images.append(np.unique(batch.table.image_idxs))
            advance(len(batch.table))
    entry = {"pool": job.pool, "questions": n_questions, "images": len(distinct_images(images))}
    if job.kind.unit != "questions":
        entry[job.kind.unit] = job.goal
    files = {layout.relative(path): record(path) for path in ((h5, rows) if job.question_json else (h5,))}
    if not job.of_sets:
        manifest = without_old_suites(layout, manifest, hop, split, files)
        checked = {name: findings for name, findings in manifest.checked.items() if name != hop}
        manifest = replace(manifest, checked=checked)
    return manifest.with_files(files).with_splits({(hop, split): entry})


def without_old_suites(
    layout: Layout, manifest: Manifest, hop: str, split: str, files: Mapping[str, FileRecord]
) -> Manifest:
    """Removes the suites of a split whose questions the new files replace; returns the manifest."""
    h5 = layout.relative(layout.questions_h5(hop, split))
    return manifest if manifest.files.get(h5) == files[h5] else without_suites(layout, manifest, hop, split)


def scenes_in_use(manifest: Manifest, layout: Layout) -> dict[tuple[str, str], tuple[str, Ints]]:
    """HOP and split -> the split's pool, and the sorted indices of the scenes that it asks about."""
    used = {}
    for hop, split, _ in manifest.all_splits():
        table = read_table(layout.questions_h5(hop, split), kind_of(split))
        used[hop, split] = (table.pool, table.scenes)
    return used


def indices_by_pool(used: Iterable[tuple[str, Ints]]) -> dict[str, Ints]:
    """Pool -> all indices given for it, sorted, each once; pools in alphabetical order."""
    by_pool: dict[str, list[Ints]] = {}
    for pool, indices in used:
        by_pool.setdefault(pool, []).append(indices)
    return {pool: np.unique(np.concatenate(by_pool[pool])) for pool in sorted(by_pool)}


def write_scenes(
    pool: str, indices: Ints, layout: Layout, engine: SceneRows, manifest: Manifest, advance: Advance
) -> Manifest:
    """Makes a pool's scene files hold exactly the scenes in use; returns the manifest that lists them."""
    files = {}
    for shard in np.unique(indices // SCENES_A_SHARD).tolist():
        in_shard = indices[indices // SCENES_A_SHARD == shard]
        path = layout.scene_shard(pool, shard)
        name = layout.relative(path)
        existing = record(path) if path.exists() else None
        as_listed = existing is not None and existing == manifest.files.get(name, existing)
        if existing is None or not as_listed or not np.array_equal(read_scene_indices(path), in_shard):
            with rows_file(path, key="scenes", info=scene_info(pool)) as add_rows:
                for rows in prefetch(engine.scene_rows(pool, in_shard)):
                    add_rows(rows)
            existing = record(path)
        files[name] = existing
        advance(len(in_shard))
    return manifest.with_files(files)


def generate_questions(jobs: Sequence[Job], engine: Engine) -> Generator[tuple[Job, Iterator[Batch]]]:
    """Yields each job with its questions; a batch is made while the caller writes the one before it."""
    batches = ((number, batch) for number, job in enumerate(jobs) for batch in questions_of(job, engine))
    with closing(prefetch(batches)) as made:
        for number, of_job in groupby(made, key=itemgetter(0)):
            yield jobs[number], map(itemgetter(1), of_job)


def prefetch(items: Iterator[T]) -> Generator[T]:
    """Yields the items of an iterator, making each while the one before it is used.

    An exception of the iterator is raised where its item would be taken.
    """
    with ThreadPoolExecutor(1) as thread:
        try:
            coming = thread.submit(next, items, None)
            while (item := coming.result()) is not None:
                coming = thread.submit(next, items, None)
                yield item
        finally:
            thread.shutdown(cancel_futures=True)
