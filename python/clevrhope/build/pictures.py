"""Scenes in use in; PNG files and HDF5 files of their pictures out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.atomic import FileRecord, WorkingFolder, record, write_whole
from clevrhope.build.clevr import copy_pictures
from clevrhope.build.request import Resolved
from clevrhope.dataset.clevr_folder import picture_name
from clevrhope.dataset.clevr_json import read_scenes_at
from clevrhope.dataset.images_h5 import aggregate_pictures, pictures_in, read_pictures
from clevrhope.dataset.layout import SCENES_A_SHARD, Layout, images_of, own_files
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.images.png import encode_png
from clevrhope.images.pool import ScenesFailedError
from clevrhope.images.renderer import Renderer, Scene
from clevrhope.images.stage import TRY_AGAIN, render_png_files, stage_title
from clevrhope.progress import Advance, Progress


@dataclass(frozen=True)
class PoolPictures:
    """What is to be done for the pictures of one pool."""

    pool: str
    used: Ints
    missing: Ints
    """Scenes to be rendered, or copied from CLEVR: their pixels are in no file yet."""


def missing_pictures(used: Mapping[str, Ints], layout: Layout) -> list[PoolPictures]:
    """For each pool the scenes whose pictures are neither in PNG files nor in HDF5."""
    found = []
    for pool, indices in used.items():
        there = np.union1d(pictures_in(layout.pictures_h5(pool)), _png_indices(layout.pictures(pool), pool))
        there = np.union1d(there, _png_indices(layout.picture_store(pool), pool))
        found.append(PoolPictures(pool, indices, np.setdiff1d(indices, there)))
    return found


def render_missing(
    work: Sequence[PoolPictures], resolved: Resolved, renderer: Renderer, progress: Progress
) -> None:
    """Renders what is missing, pool by pool, into PNG files; each appears when it is whole.

    CLEVR's own pictures are copied, before any is rendered.

    Raises:
        ScenesFailedError: after all others are written, of all pools, if some scenes gave no picture.
    """
    layout = resolved.layout
    rendered = _copy_published(work, resolved, progress)
    n_missing = sum(map(len, rendered.values()))
    if not n_missing:
        return
    failed: dict[Path, str] = {}
    with progress.stage(stage_title(renderer), total=n_missing, unit="pictures") as advance:
        for pool, missing in rendered.items():
            folder = _png_folder(pool, resolved)
            scenes = scenes_of(layout, pool, missing)
            try:
                for _ in render_png_files(scenes, partial(_path_in, folder), renderer=renderer):
                    advance(1)
            except ScenesFailedError as error:
                failed.update(error.reasons)
    if failed:
        raise ScenesFailedError(failed, remedy=TRY_AGAIN)


def _copy_published(
    work: Sequence[PoolPictures], resolved: Resolved, progress: Progress
) -> Mapping[str, Ints]:
    """Copies the missing pictures that CLEVR has; gives, by pool, those that are left to be rendered."""
    wanted: list[tuple[int, str, Path]] = []
    rendered = {}
    for each in work:
        published = resolved.engine.published(each.pool, each.missing)
        rendered[each.pool] = each.missing[published < 0]
        for index, number in zip(each.missing.tolist(), published.tolist(), strict=True):
            if number >= 0:
                name = resolved.layout.picture(each.pool, index).name
                path = _png_folder(each.pool, resolved) / name
                wanted.append((index, picture_name(number), path))
    if wanted and resolved.config.clevr is not None:
        size = (resolved.config.rendering.height, resolved.config.rendering.width)
        with progress.stage("Copying CLEVR's pictures", total=len(wanted), unit="pictures") as advance:
            copy_pictures(resolved.config.clevr, wanted, size=size, on_picture=lambda: advance(1))
    return rendered


def _png_folder(pool: str, resolved: Resolved) -> Path:
    """Where a pool's PNG files are put, for good or on their way into HDF5."""
    layout = resolved.layout
    return layout.pictures(pool) if resolved.config.png else layout.picture_store(pool)


def store_pictures(each: PoolPictures, resolved: Resolved, manifest: Manifest, advance: Advance) -> Manifest:
    """Brings a pool's pictures into the kinds of file that are asked for; all pixels are there already."""
    layout, pool = resolved.layout, each.pool
    png_folder, store, h5 = layout.pictures(pool), layout.picture_store(pool), layout.pictures_h5(pool)
    files: dict[str, FileRecord] = {}
    if resolved.config.png:
        _png_from_elsewhere(each.used, png_folder, store, h5, layout, pool)
        for index in each.used.tolist():
            path = layout.picture(pool, index)
            name = layout.relative(path)
            files[name] = manifest.files.get(name) or record(path)
            advance(1)
    if resolved.config.h5:
        sources = {
            index: folder for folder in (store, png_folder) for index in _png_indices(folder, pool).tolist()
        }
        changed = aggregate_pictures(
            h5,
            each.used.tolist(),
            lambda index: sources.get(index, png_folder) / layout.picture(pool, index).name,
            pool=pool,
            on_picture=lambda: advance(1),
        )
        if not changed:
            advance(len(each.used))
        files[layout.relative(h5)] = record(h5)
    picture_store(layout, pool).remove()
    entry = {
        "pictures": len(each.used),
        "size": int(each.used[-1]) + 1,
        "files": [
            kind for kind, there in (("PNG", resolved.config.png), ("HDF5", resolved.config.h5)) if there
        ],
    }
    return replace(manifest.with_files(files), pools={**manifest.pools, pool: entry})


def scenes_of(layout: Layout, pool: str, indices: Ints) -> Iterator[Scene]:
    """The scenes of a pool with these indices, from its files, in order."""
    for shard in np.unique(indices // SCENES_A_SHARD).tolist():
        wanted = set(indices[indices // SCENES_A_SHARD == shard].tolist())
        yield from read_scenes_at(layout.scene_shard(pool, shard), wanted)


def _path_in(folder: Path, scene: Mapping[str, Any]) -> Path:
    return folder / str(scene["image_filename"])


def picture_store(layout: Layout, pool: str) -> WorkingFolder:
    """Where a pool's images are on their way into HDF5."""
    return WorkingFolder(layout.picture_store(pool), own_files(pool, ".png"))


def _png_indices(folder: Path, pool: str) -> Ints:
    """The scene indices of a pool's PNG files in a folder, sorted."""
    return np.asarray(sorted(images_of(folder, pool)), dtype=np.int32)


def _png_from_elsewhere(used: Ints, folder: Path, store: Path, h5: Path, layout: Layout, pool: str) -> None:
    """Makes the PNG files whose pixels are in HDF5 or in the store only."""
    missing = np.setdiff1d(used, _png_indices(folder, pool))
    stored = np.intersect1d(missing, _png_indices(store, pool))
    for index in stored.tolist():
        path = layout.picture(pool, index)
        write_whole(path, (store / path.name).read_bytes())
    packed = np.setdiff1d(missing, stored)
    if len(packed):
        for index, pixels in read_pictures(h5, packed.tolist()):
            write_whole(layout.picture(pool, index), encode_png(pixels))
