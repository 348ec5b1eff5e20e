"""Question files, and files of the scenes that they ask about."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import numpy as np

from clevrhope.config.presets import TRAIN_PREFIXES, splits_of
from clevrhope.dataset.clevr_json import question_info, read_scene_indices, rows_file, scene_info
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_table import read_scenes_in_use
from clevrhope.dataset.questions_h5 import Ints, QuestionWriter
from clevrhope.dataset.suite_files import without_suites
from clevrhope.describe.plot_files import without_plots
from clevrhope.pipeline.covr import covr_scenes_in_use
from clevrhope.pipeline.engine import Engine, Questions
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.minimal import first_groups, first_places
from clevrhope.pipeline.prefetch import prefetch, prefetch_each
from clevrhope.pipeline.resolution import Resolved
from clevrhope.runtime.atomic import FileRecord, record
from clevrhope.runtime.progress import Advance
from clevrhope.splits.hops import name_order
from clevrhope.splits.kinds import SECOND_SPLITS


def write_split(
    job: Job,
    questions: Iterator[Questions],
    resolved: Resolved,
    manifest: Manifest,
    advance: Advance,
) -> Manifest:
    """Writes a split's questions as HDF5, and as JSON if wanted; returns the manifest listing the files."""
    layout = resolved.layout
    h5, rows = layout.questions_h5(job.hop.name, job.split), layout.questions_json(job.hop.name, job.split)
    prefixes = [n for n in TRAIN_PREFIXES if n < job.goal] if job.kind.role == "train" else []
    n_questions = 0
    images: list[Ints] = []
    with ExitStack() as stack:
        add_rows = None
        if job.question_json:
            info = question_info(job.split, prefixes=prefixes)
            add_rows = stack.enter_context(rows_file(rows, key="questions", info=info))
        writer = stack.enter_context(
            QuestionWriter(h5, hop=job.hop.name, split=job.split, pool=job.pool, prefixes=prefixes)
        )
        for batch in questions:
            writer.append(batch.arrays)
            if add_rows is not None:
                add_rows(batch.rows)
            n_questions += len(batch.arrays)
            images.append(np.unique(batch.arrays.image_idxs))
            advance(len(batch.arrays))
    n_images = len(np.unique(np.concatenate(images)))
    entry: dict[str, Any] = {"pool": job.pool, "questions": n_questions, "images": n_images}
    if job.kind.unit != "questions":
        entry[job.kind.unit] = job.goal
    splits = {name: dict(entries) for name, entries in manifest.splits.items()}
    splits.setdefault(job.hop.name, {})[job.split] = entry
    files = {layout.relative(path): record(path) for path in ((h5, rows) if job.question_json else (h5,))}
    manifest = without_plots(layout, manifest, job.hop.name)  # the plots show the old questions
    manifest = without_old_suites(layout, manifest, job.hop.name, job.split, files)
    checked = {name: found for name, found in manifest.checked.items() if name != job.hop.name}
    return replace(manifest.with_files(files), splits=in_canonical_order(splits, resolved), checked=checked)


def without_old_suites(
    layout: Layout, manifest: Manifest, hop: str, split: str, files: Mapping[str, FileRecord]
) -> Manifest:
    """Removes the suites of a split whose questions the new files replace; returns the manifest."""
    h5 = layout.relative(layout.questions_h5(hop, split))
    return manifest if manifest.files.get(h5) == files[h5] else without_suites(layout, manifest, hop, split)


def scenes_in_use(manifest: Manifest, resolved: Resolved) -> dict[str, Ints]:
    """Pool -> sorted indices of the scenes that any split of the folder asks about."""
    single = (
        read_scenes_in_use(resolved.layout.questions_h5(hop, split))
        for hop, splits in manifest.splits.items()
        for split in splits
    )
    return indices_by_pool((*single, *covr_scenes_in_use(manifest, resolved.layout)))


def indices_by_pool(found: Iterable[tuple[str, Ints]]) -> dict[str, Ints]:
    """Pool -> all indices found for it, sorted, each once; pools in alphabetical order."""
    by_pool: dict[str, list[Ints]] = {}
    for pool, indices in found:
        by_pool.setdefault(pool, []).append(indices)
    return {pool: np.unique(np.concatenate(by_pool[pool])) for pool in sorted(by_pool)}


def write_scenes(
    pool: str, indices: Ints, resolved: Resolved, manifest: Manifest, advance: Advance
) -> Manifest:
    """Makes a pool's scene files hold exactly the scenes in use; returns the manifest that lists them."""
    layout = resolved.layout
    files = {}
    for shard in np.unique(indices // SCENES_A_SHARD).tolist():
        here = indices[indices // SCENES_A_SHARD == shard]
        path = layout.scene_shard(pool, shard)
        name = layout.relative(path)
        there = record(path) if path.exists() else None
        as_listed = there is not None and there == manifest.files.get(name, there)
        if there is None or not as_listed or not np.array_equal(read_scene_indices(path), here):
            with rows_file(path, key="scenes", info=scene_info(pool)) as add_rows:
                for rows in prefetch(resolved.engine.scene_rows(pool, here)):
                    add_rows(rows)
            there = record(path)
        files[name] = there
        advance(len(here))
    return manifest.with_files(files)


def generate_questions(jobs: Sequence[Job], resolved: Resolved) -> Generator[tuple[Job, Iterator[Questions]]]:
    """Yields each job with its questions, whose next batch is made while the caller writes one."""

    def questions(job: Job) -> Iterator[Questions]:
        yield from questions_of(job, resolved.engine)  # nothing, not even an error, happens before its turn

    with closing(prefetch_each(map(questions, jobs))) as sources:
        yield from zip(jobs, sources, strict=True)


def questions_of(job: Job, engine: Engine) -> Iterator[Questions]:
    """All questions of a split, in batches."""
    pair = job.hop.held_out
    match job.kind.drawn:
        case "sets":
            pool = engine.counting_pool(job.hop)
            return engine.counting(job.split, pool, job.goal, rows=job.question_json)
        case "groups" | "places" as drawn:
            minimal = engine.minimal_pool(job.hop)
            first = first_groups if drawn == "groups" else first_places
            places = first(minimal, job.goal, seed=engine.seed)
            return engine.minimal(job.split, minimal, places, rows=job.question_json)
        case "stream":
            return engine.stream(job.split, job.pool, pair, job.goal, rows=job.question_json)


def images_of(job: Job, resolved: Resolved) -> Ints:
    """The images of a split, sorted, each once; makes its questions to find them."""
    batches = questions_of(replace(job, question_json=False), resolved.engine)
    indices: Ints = np.unique(np.concatenate([batch.arrays.image_idxs for batch in batches]))
    return indices


def in_canonical_order(
    splits: Mapping[str, Mapping[str, Any]], resolved: Resolved
) -> dict[str, dict[str, Any]]:
    """Sorts sub-datasets by name and splits in canonical order, so that the order of runs leaves no trace."""
    return {
        name: {
            split: splits[name][split]
            for split in (*splits_of(resolved.hop(name)), *SECOND_SPLITS)
            if split in splits[name]
        }
        for name in sorted(splits, key=name_order)
    }
