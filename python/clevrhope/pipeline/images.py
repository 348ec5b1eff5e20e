"""Images of the scenes in use, as PNG and HDF5 files, and their masks, depths and normals, as HDF5."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np

from clevrhope.dataset.clevr_folder import image_name
from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.image_source import png_indices
from clevrhope.dataset.image_store import ImageStore, remove_store, stored_images
from clevrhope.dataset.images_h5 import ImageArray, PackedImage, aggregate_images, images_in, read_images
from clevrhope.dataset.layout import Layout, image_index, own_files
from clevrhope.dataset.manifest import Manifest, write_manifest
from clevrhope.dataset.passes_h5 import aggregate_passes, annotated_in, kinds_in_record, pack, write_record
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError
from clevrhope.images.passes import Passes, annotator_of
from clevrhope.images.png import encode_png, is_whole_png, read_png
from clevrhope.images.renderer import Renderer
from clevrhope.images.stage import stage_title, write_results
from clevrhope.pipeline.clevr import copy_images
from clevrhope.pipeline.resolution import Resolved
from clevrhope.runtime.atomic import FileRecord, WorkingFolder, record, write_whole
from clevrhope.runtime.progress import Advance, Progress

WriteImage: TypeAlias = Callable[[Path, ImageArray], None]
"""Writes an image, (height, width, 3) uint8 RGB, named by the path of its PNG file; in any thread."""


@dataclass(frozen=True)
class PoolWork:
    """The images, or the annotations, that one pool needs."""

    pool: str
    used: Ints
    """Scenes in use."""
    missing: Ints
    """The scenes in use whose image, or some wanted annotation, is in no file yet."""


def missing_images(used: Mapping[str, Ints], layout: Layout) -> list[PoolWork]:
    """For each pool, the scenes whose images are in no file: PNG, HDF5, or the store to be packed."""
    work = []
    for pool, indices in used.items():
        there = np.union1d(images_in(layout.images_h5(pool)), png_indices(layout.images(pool), pool))
        there = np.union1d(there, stored_images(layout.image_store(pool)))
        work.append(PoolWork(pool, indices, np.setdiff1d(indices, there)))
    return work


def missing_passes(used: Mapping[str, Ints], layout: Layout, kinds: Sequence[str]) -> list[PoolWork]:
    """For each pool, the scenes that lack an annotation of these kinds; empty if no kinds are wanted."""
    work = []
    for pool, indices in used.items() if kinds else ():
        left = np.setdiff1d(indices, annotated_in(layout.passes_h5(pool), kinds))
        in_records = [set(kinds) <= kinds_in_record(layout.passes_record(pool, i)) for i in left.tolist()]
        work.append(PoolWork(pool, indices, left[~np.asarray(in_records, dtype=bool)]))
    return work


@contextmanager
def image_writer(layout: Layout, pools: Iterable[str], *, as_png: bool) -> Iterator[WriteImage]:
    """Yields a function that writes images, named by `layout.image`, as PNG or to be packed into HDF5."""
    if as_png:
        yield lambda path, pixels: write_whole(path, encode_png(pixels))
        return
    with ExitStack() as stack:
        stores = {
            layout.images(pool): stack.enter_context(ImageStore(layout.image_store(pool))) for pool in pools
        }
        yield lambda path, pixels: stores[path.parent].add(image_index(path), pixels)


def render_missing(
    work: Sequence[PoolWork], resolved: Resolved, renderer: Renderer, progress: Progress
) -> None:
    """Copies CLEVR's missing images, then renders the others.

    Raises:
        ScenesFailedError: some scenes could not be rendered; raised after all other images are written.
    """
    layout, pools = resolved.layout, [each.pool for each in work if len(each.missing)]
    with image_writer(layout, pools, as_png=resolved.config.png) as write:
        rendered = _copy_published(work, resolved, write, progress)
        n_missing = sum(map(len, rendered.values()))
        if not n_missing:
            return
        missing = (
            (layout.image(pool, scene["image_index"]), scene)
            for pool, indices in rendered.items()
            for scene in scenes_of(layout, pool, indices)
        )
        with progress.stage(stage_title(renderer), total=n_missing, unit="images") as advance:
            for _ in write_results(renderer.render(missing), write):
                advance(1)


def _copy_published(
    work: Sequence[PoolWork], resolved: Resolved, write: WriteImage, progress: Progress
) -> Mapping[str, Ints]:
    """Copies the missing images that CLEVR has; returns, by pool, the scenes that remain to be rendered."""
    wanted: list[tuple[int, str, Path]] = []
    rendered = {}
    for each in work:
        published = resolved.engine.published(each.pool, each.missing)
        rendered[each.pool] = each.missing[published < 0]
        for index, number in zip(each.missing.tolist(), published.tolist(), strict=True):
            if number >= 0:
                wanted.append((index, image_name(number), resolved.layout.image(each.pool, index)))
    if wanted and resolved.config.clevr is not None:
        size = (resolved.config.rendering.height, resolved.config.rendering.width)
        with progress.stage("Copying CLEVR's images", total=len(wanted), unit="images") as advance:
            copy_images(resolved.config.clevr, wanted, size=size, write=write, on_image=lambda: advance(1))
    return rendered


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


def store_images(each: PoolWork, resolved: Resolved, manifest: Manifest, advance: Advance) -> Manifest:
    """Converts a pool's images, which must all exist, to the wanted file formats."""
    layout, pool = resolved.layout, each.pool
    h5 = layout.images_h5(pool)
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
        aggregate = partial(pack_images, layout, pool, each.used.tolist())
        files[layout.relative(h5)] = _archive_record(h5, each, aggregate, layout, manifest, advance)
    remove_store(layout.image_store(pool))
    entry = {
        "images": len(each.used),
        "size": int(each.used[-1]) + 1,
        "files": [
            kind for kind, there in (("PNG", resolved.config.png), ("HDF5", resolved.config.h5)) if there
        ],
    }
    return replace(manifest.with_files(files), pools={**manifest.pools, pool: entry})


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
    files = {layout.relative(path): _archive_record(path, each, aggregate, layout, manifest, advance)}
    passes_store(layout, pool).remove()
    entry = {**manifest.pools[pool], "passes": list(kinds)}
    return replace(manifest.with_files(files), pools={**manifest.pools, pool: entry})


def pack_images(
    layout: Layout, pool: str, indices: Sequence[int], *, on_image: Callable[[], None] = lambda: None
) -> bool:
    """`aggregate_images` of a pool, from images that wait to be packed and PNG files."""
    with ImageStore(layout.image_store(pool)) as store:

        def packed(index: int) -> PackedImage:
            if index in store:
                return store.packed(index)
            return PackedImage.of(read_png(layout.image(pool, index)))

        return aggregate_images(layout.images_h5(pool), indices, packed, pool=pool, on_image=on_image)


def _archive_record(
    path: Path,
    each: PoolWork,
    aggregate: Callable[..., bool],
    layout: Layout,
    manifest: Manifest,
    advance: Advance,
) -> FileRecord:
    """The record of a pool's HDF5 file after `aggregate`, which returns whether it rewrote the file.

    The old record is removed from the manifest first, so that a killed run never leaves a wrong one behind.
    """
    name = layout.relative(path)
    listed = manifest.files.get(name)
    if listed is not None:
        write_manifest(layout.manifest, manifest.without_file(name))
    changed = aggregate(on_image=lambda: advance(1))
    advance(0 if changed else len(each.used))
    return record(path) if changed or listed is None else listed


def check_images(layout: Layout, manifest: Manifest) -> None:
    """Checks that files of images and annotations are those that the manifest lists.

    HDF5 files are compared by content; PNG files, of which there can be 400,000, by size.

    Raises:
        DatasetError: a file is damaged or was changed. Images cost hours, so the user decides what to do.
    """
    for name, listed in manifest.files.items():
        if not name.startswith(("images/", "passes/")):
            continue
        path = layout.root / name
        try:
            differs = path.stat().st_size != listed.bytes
        except OSError:
            continue  # the image will be made again
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


def _png_from_elsewhere(each: PoolWork, layout: Layout) -> list[int]:
    """Writes PNG files of images that are only in HDF5 or wait for it; returns their scene indices."""
    pool = each.pool
    missing: list[int] = np.setdiff1d(each.used, png_indices(layout.images(pool), pool)).tolist()
    with ImageStore(layout.image_store(pool)) as store:
        stored = ((index, store.packed(index).pixels()) for index in missing if index in store)
        packed = [index for index in missing if index not in store]
        in_h5 = read_images(layout.images_h5(pool), packed) if packed else ()
        for index, pixels in chain(stored, in_h5):
            write_whole(layout.image(pool, index), encode_png(pixels))
    return missing
