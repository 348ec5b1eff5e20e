"""Images of the scenes in use, as PNG files and HDF5 files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from clevrhope.dataset.clevr_folder import image_name
from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.image_source import png_indices
from clevrhope.dataset.images_h5 import aggregate_images, images_in, read_images
from clevrhope.dataset.layout import Layout, own_files
from clevrhope.dataset.manifest import Manifest, write_manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError
from clevrhope.images.png import encode_png, is_whole_png
from clevrhope.images.renderer import Renderer
from clevrhope.images.stage import stage_title, write_results
from clevrhope.pipeline.clevr import copy_images
from clevrhope.pipeline.resolution import Resolved
from clevrhope.runtime.atomic import FileRecord, WorkingFolder, record, write_unsynced, write_whole
from clevrhope.runtime.progress import Advance, Progress


@dataclass(frozen=True)
class PoolWork:
    """The images, or the annotations, that one pool needs."""

    pool: str
    used: Ints
    """Scenes in use."""
    missing: Ints
    """Those of them whose image, or some wanted annotation, is in no file yet."""


def missing_images(used: Mapping[str, Ints], layout: Layout) -> list[PoolWork]:
    """For each pool, the scenes whose images are neither in PNG files nor in HDF5.

    Images that wait to be packed are written without waiting for the disk, so they count if they are whole.
    """
    found = []
    for pool, indices in used.items():
        there = np.union1d(images_in(layout.images_h5(pool)), png_indices(layout.images(pool), pool))
        store = layout.image_store(pool)
        waiting = png_indices(store, pool)
        is_whole = [is_whole_png(store / layout.image(pool, index).name) for index in waiting.tolist()]
        there = np.union1d(there, waiting[np.asarray(is_whole, dtype=bool)])
        found.append(PoolWork(pool, indices, np.setdiff1d(indices, there)))
    return found


def render_missing(
    work: Sequence[PoolWork], resolved: Resolved, renderer: Renderer, progress: Progress
) -> None:
    """Copies CLEVR's missing images, then renders the others, as PNG files that appear when complete.

    Raises:
        ScenesFailedError: some scenes gave no image; raised after all others, of all pools, are written.
    """
    rendered = _copy_published(work, resolved, progress)
    n_missing = sum(map(len, rendered.values()))
    if not n_missing:
        return
    missing = (
        (_png_folder(pool, resolved) / scene["image_filename"], scene)
        for pool, indices in rendered.items()
        for scene in scenes_of(resolved.layout, pool, indices)
    )
    write = write_whole if resolved.config.png else write_unsynced
    with progress.stage(stage_title(renderer), total=n_missing, unit="images") as advance:
        images = renderer.render(missing)
        for _ in write_results(images, lambda path, pixels: write(path, encode_png(pixels))):
            advance(1)


def _copy_published(work: Sequence[PoolWork], resolved: Resolved, progress: Progress) -> Mapping[str, Ints]:
    """Copies the missing images that CLEVR has; gives, by pool, the scenes that remain to be rendered."""
    wanted: list[tuple[int, str, Path]] = []
    rendered = {}
    for each in work:
        published = resolved.engine.published(each.pool, each.missing)
        rendered[each.pool] = each.missing[published < 0]
        for index, number in zip(each.missing.tolist(), published.tolist(), strict=True):
            if number >= 0:
                name = resolved.layout.image(each.pool, index).name
                path = _png_folder(each.pool, resolved) / name
                wanted.append((index, image_name(number), path))
    if wanted and resolved.config.clevr is not None:
        size = (resolved.config.rendering.height, resolved.config.rendering.width)
        with progress.stage("Copying CLEVR's images", total=len(wanted), unit="images") as advance:
            copy_images(resolved.config.clevr, wanted, size=size, on_image=lambda: advance(1))
    return rendered


def _png_folder(pool: str, resolved: Resolved) -> Path:
    """Where a pool's PNG files are written, to stay or to be packed into HDF5."""
    layout = resolved.layout
    return layout.images(pool) if resolved.config.png else layout.image_store(pool)


def store_images(each: PoolWork, resolved: Resolved, manifest: Manifest, advance: Advance) -> Manifest:
    """Brings a pool's images, all of them made already, into the wanted file formats."""
    layout, pool = resolved.layout, each.pool
    png_folder, store, h5 = layout.images(pool), layout.image_store(pool), layout.images_h5(pool)
    files: dict[str, FileRecord] = {}
    if resolved.config.png:
        new = {*each.missing.tolist(), *_png_from_elsewhere(each, layout)}
        for index in each.used.tolist():
            path = layout.image(pool, index)
            name = layout.relative(path)
            listed = None if index in new else manifest.files.get(name)
            if listed is None and not is_whole_png(path):
                raise DatasetError(f"{path}: not a whole PNG file; remove it and run the command again")
            files[name] = listed or record(path)
            advance(1)
    if resolved.config.h5:
        sources = {
            index: folder for folder in (store, png_folder) for index in png_indices(folder, pool).tolist()
        }

        aggregate = partial(
            aggregate_images,
            h5,
            each.used.tolist(),
            lambda index: sources.get(index, png_folder) / layout.image(pool, index).name,
            pool=pool,
        )
        files[layout.relative(h5)] = archive_record(h5, each, aggregate, layout, manifest, advance)
    image_store(layout, pool).remove()
    entry = {
        "pictures": len(each.used),
        "size": int(each.used[-1]) + 1,
        "files": [
            kind for kind, there in (("PNG", resolved.config.png), ("HDF5", resolved.config.h5)) if there
        ],
    }
    return replace(manifest.with_files(files), pools={**manifest.pools, pool: entry})


def archive_record(
    path: Path,
    each: PoolWork,
    aggregate: Callable[..., bool],
    layout: Layout,
    manifest: Manifest,
    advance: Advance,
) -> FileRecord:
    """The record of a pool's HDF5 file after `aggregate`, which returns whether it rewrote the file.

    The old record leaves the manifest first, so that a killed run never leaves a wrong one behind.
    """
    name = layout.relative(path)
    listed = manifest.files.get(name)
    if listed is not None:
        write_manifest(layout.manifest, manifest.without_file(name))
    changed = aggregate(on_image=lambda: advance(1))
    advance(0 if changed else len(each.used))
    return record(path) if changed or listed is None else listed


def check_images(layout: Layout, manifest: Manifest) -> None:
    """Passes where files of images and annotations are those that the manifest lists.

    HDF5 files are compared by content; PNG files, of which there can be 400,000, by size.

    Raises:
        DatasetError: one is damaged or was changed. Images cost hours, so the user decides what to do.
    """
    for name, listed in manifest.files.items():
        if not name.startswith(("images/", "passes/")):
            continue
        path = layout.root / name
        try:
            differs = path.stat().st_size != listed.bytes
        except OSError:
            continue  # it will be made again
        if differs or (name.endswith(".h5") and record(path) != listed):
            raise DatasetError(
                f"{path}: not the file that {layout.manifest.name} lists, so it is damaged or was changed; "
                "restore it, or remove it and run the command again"
            )


def unlisted_archives(pools: Iterable[str], layout: Layout, manifest: Manifest) -> Mapping[str, FileRecord]:
    """The records of HDF5 files whose run was stopped before the manifest listed them again."""
    paths = (path for pool in pools for path in (layout.images_h5(pool), layout.passes_h5(pool)))
    return {
        name: record(path)
        for path in paths
        if (name := layout.relative(path)) not in manifest.files and path.is_file()
    }


def image_store(layout: Layout, pool: str) -> WorkingFolder:
    """Where a pool's images wait to be packed into HDF5."""
    return WorkingFolder(layout.image_store(pool), own_files(pool, ".png"))


def _png_from_elsewhere(each: PoolWork, layout: Layout) -> list[int]:
    """Writes the PNG files of images that are only in HDF5 or in the store; gives their scenes' indices."""
    pool, store = each.pool, layout.image_store(each.pool)
    missing = np.setdiff1d(each.used, png_indices(layout.images(pool), pool))
    stored = np.intersect1d(missing, png_indices(store, pool))
    for index in stored.tolist():
        path = layout.image(pool, index)
        write_whole(path, (store / path.name).read_bytes())
    packed = np.setdiff1d(missing, stored)
    if len(packed):
        for index, pixels in read_images(layout.images_h5(pool), packed.tolist()):
            write_whole(layout.image(pool, index), encode_png(pixels))
    return [int(index) for index in missing]
