"""Masks, depths and normals of the images of the scenes in use, one HDF5 file per pool."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.layout import Layout, own_files
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.passes_h5 import aggregate_passes, annotated_in, kinds_in_record, pack, write_record
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.images.passes import Passes, annotator_of
from clevrhope.images.renderer import Renderer
from clevrhope.images.stage import write_results
from clevrhope.pipeline.images import PoolWork, archive_record
from clevrhope.pipeline.resolution import Resolved
from clevrhope.runtime.atomic import WorkingFolder
from clevrhope.runtime.progress import Advance, Progress


def missing_passes(used: Mapping[str, Ints], layout: Layout, kinds: Sequence[str]) -> list[PoolWork]:
    """For each pool, the scenes that lack an annotation of these kinds; empty if no kinds are wanted."""
    found = []
    for pool, indices in used.items() if kinds else ():
        there = annotated_in(layout.passes_h5(pool), kinds)
        left = np.setdiff1d(indices, there)
        in_records = [set(kinds) <= kinds_in_record(layout.passes_record(pool, i)) for i in left.tolist()]
        found.append(PoolWork(pool, indices, left[~np.asarray(in_records, dtype=bool)]))
    return found


def annotate_missing(
    work: Sequence[PoolWork], resolved: Resolved, renderer: Renderer, progress: Progress
) -> None:
    """Makes the missing annotations, as records that appear when complete.

    Raises:
        ScenesFailedError: some scenes failed; raised after those of all other scenes are written.
    """
    n_missing = sum(len(each.missing) for each in work)
    if not n_missing:
        return
    layout, kinds = resolved.layout, resolved.config.passes

    def write(path: Path, passes: Passes) -> None:
        write_record(path, pack(passes, kinds))

    with progress.stage("Annotating images", total=n_missing, unit="images") as advance:
        tasks = (
            (layout.passes_record(each.pool, scene["image_index"]), scene)
            for each in work
            for scene in scenes_of(layout, each.pool, each.missing)
        )
        for _ in write_results(annotator_of(renderer).passes(tasks), write):
            advance(1)


def passes_store(layout: Layout, pool: str) -> WorkingFolder:
    """The folder in which a pool's annotations wait to be packed into HDF5."""
    return WorkingFolder(layout.passes_store(pool), own_files(pool, ".passes"))


def store_passes(each: PoolWork, resolved: Resolved, manifest: Manifest, advance: Advance) -> Manifest:
    """Packs a pool's annotations, which must all exist, into its HDF5 file."""
    layout, pool, kinds = resolved.layout, each.pool, resolved.config.passes
    path = layout.passes_h5(pool)

    aggregate = partial(
        aggregate_passes,
        path,
        each.used.tolist(),
        lambda index: layout.passes_record(pool, index),
        kinds=kinds,
        about={"pool": pool},
    )
    files = {layout.relative(path): archive_record(path, each, aggregate, layout, manifest, advance)}
    passes_store(layout, pool).remove()
    entry = {**manifest.pools[pool], "passes": list(kinds)}
    return replace(manifest.with_files(files), pools={**manifest.pools, pool: entry})
