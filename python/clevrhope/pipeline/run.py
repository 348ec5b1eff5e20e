"""The build: all stages in order, from a request to a finished folder."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic

from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.dataset.image_store import check_store
from clevrhope.dataset.manifest import Manifest, write_manifest
from clevrhope.dataset.suite_files import removed_suites, without_damaged_suites
from clevrhope.errors import DatasetError
from clevrhope.images import renderers
from clevrhope.images.passes import annotator_of
from clevrhope.images.renderer import Renderer
from clevrhope.images.rendering_record import rendering_of_folder
from clevrhope.images.settings import Rendering
from clevrhope.look.definition import read_look
from clevrhope.pipeline import engine
from clevrhope.pipeline.annotations import annotate_missing, missing_passes, passes_store, store_passes
from clevrhope.pipeline.documents import write_documents
from clevrhope.pipeline.images import (
    PoolWork,
    check_images,
    missing_images,
    render_missing,
    store_images,
    unlisted_archives,
)
from clevrhope.pipeline.questions import questions_of
from clevrhope.pipeline.request import Request
from clevrhope.pipeline.resolution import Resolved, resolve, resolved_config
from clevrhope.pipeline.text import (
    generate_questions,
    indices_by_pool,
    scenes_in_use,
    write_scenes,
    write_split,
    write_vocabularies,
)
from clevrhope.runtime.atomic import sweep
from clevrhope.runtime.lock import locked
from clevrhope.runtime.progress import Advance, Progress, Silent
from clevrhope.runtime.threads import map_in_threads
from clevrhope.splits.hops import name_order

MakeRenderer = Callable[[Rendering, int | None], Renderer]
"""Makes a renderer from settings and a number of workers."""


@dataclass(frozen=True)
class Summary:
    """The result of a build."""

    folder: Path
    seed: int
    splits: Mapping[str, Mapping[str, Mapping[str, object]]]
    """HOP -> split -> pool, questions, images, for the whole folder."""
    hops: tuple[str, ...]
    """The sub-datasets of the request."""
    kept: tuple[str, ...]
    """One sentence for each split that keeps more than the request asked for."""
    exhausted: tuple[str, ...]
    """See `Resolved.exhausted`."""
    covr: Mapping[str, Mapping[str, Mapping[str, object]]]
    """HOP -> split -> pool, questions, images, for questions over several images."""
    suites: Mapping[str, Sequence[str]]
    """Suite -> sub-datasets whose pairs were removed: made from fewer questions, or in damaged files."""
    n_questions: int
    n_images: int
    """Number of scenes in use; each has an image unless the request renders none."""
    n_rendered: int
    """Number of images that this run rendered."""
    n_annotated: int
    """Number of images that this run annotated."""
    n_copied: int
    """Number of CLEVR's images that this run copied."""
    n_published: int
    """Number of scenes in use that are CLEVR's, with or without images."""
    n_bytes: int
    seconds: float
    contact_sheet: Path


def build(
    request: Request, *, make_renderer: MakeRenderer | None = None, progress: Progress | None = None
) -> Summary:
    """Makes everything that a dataset's folder lacks for a request; resumes an interrupted run.

    Args:
        request: the wanted dataset.
        make_renderer: makes a custom renderer, instead of one that the configuration names.
        progress: shows the stages; None shows nothing.

    Raises:
        ClevrhopeError: the request is wrong, the folder is bound to something else, the disk is full, a scene
            cannot be rendered, or there is a leak. Finished files stay.
    """
    began = monotonic()
    progress = progress or Silent()
    with ExitStack() as stack:
        stack.enter_context(locked(request.out))
        resolved = resolve(request, checksums=True, progress=progress)
        check_not_part(resolved)
        # A split that cannot be filled should fail before anything is written.
        try_each_split(resolved)
        renderer = open_renderer(stack, resolved, make_renderer) if request.render else None
        sweep(resolved.layout.folders())
        if request.render:
            check_images(resolved.layout, resolved.manifest)
        manifest = without_damaged_suites(resolved.layout, start_manifest(resolved))
        manifest = write_text(resolved, manifest, progress)
        of_splits = scenes_in_use(manifest, resolved.layout)
        used = indices_by_pool(of_splits.values())
        with progress.stage("Writing scenes", total=sum(map(len, used.values())), unit="scenes") as advance:
            for pool, indices in used.items():
                manifest = write_scenes(pool, indices, resolved.layout, resolved.engine, manifest, advance)
        write_manifest(resolved.layout.manifest, manifest)
        resolved.engine.forget_scenes()
        work = missing_images(used, resolved.layout)
        annotations = missing_passes(used, resolved.layout, resolved.config.passes)
        if renderer is not None:
            if any(len(each.missing) for each in work):
                # Splits that were checked without these images must be checked again.
                manifest = replace(manifest, checked={})
                write_manifest(resolved.layout.manifest, manifest)
                render_missing(work, resolved, renderer, progress)
            kinds = ["PNG"] * resolved.config.png + ["HDF5"] * resolved.config.h5
            what, unit = f"images as {' and '.join(kinds)}", "copies" if len(kinds) > 1 else "images"
            manifest = _stored(store_images, what, unit, len(kinds), work, resolved, manifest, progress)
            annotate_missing(annotations, resolved, renderer, progress)
            manifest = _stored(
                store_passes, "annotations", "images", 1, annotations, resolved, manifest, progress
            )
        else:
            manifest = manifest.with_files(unlisted_archives(used, resolved.layout, manifest))
        check = LeakCheck(resolved.layout.root, words=engine.synonyms(resolved.config))
        manifest = _check_leaks(check, resolved, manifest, progress)
        files = write_documents(resolved, manifest, of_splits, check.pools, progress)
        manifest = replace(manifest.with_files(files), complete=True)
        write_manifest(resolved.layout.manifest, manifest)
    n_copied = sum(resolved.engine.n_published(each.pool, each.missing) for each in work)
    kept = [
        f"{job.hop.name} {job.split}: the {job.goal:,} existing {job.kind.unit} are kept, more than the "
        f"{job.requested:,} asked for"
        for job in resolved.jobs
        if 0 < job.requested < job.goal
    ]
    return Summary(
        folder=request.out,
        seed=manifest.seed,
        splits=manifest.splits,
        hops=tuple(hop.name for hop in resolved.hops),
        kept=tuple(kept),
        exhausted=resolved.exhausted,
        covr=manifest.covr,
        suites=removed_suites(resolved.manifest, manifest),
        n_questions=sum(entry["questions"] for _, _, entry in manifest.all_splits()),
        n_images=sum(map(len, used.values())),
        n_rendered=sum(len(each.missing) for each in work) - n_copied if renderer is not None else 0,
        n_annotated=sum(len(each.missing) for each in annotations) if renderer is not None else 0,
        n_copied=n_copied if renderer is not None else 0,
        n_published=sum(resolved.engine.n_published(pool, each) for pool, each in used.items()),
        n_bytes=sum(each.bytes for each in manifest.files.values()),
        seconds=monotonic() - began,
        contact_sheet=resolved.layout.contact_sheet,
    )


def check_not_part(resolved: Resolved) -> None:
    """Checks that `build --shard` did not make the folder.

    Raises:
        DatasetError: the folder holds a part.
    """
    if resolved.manifest.shard is not None:
        out = resolved.request.out
        raise DatasetError(f"{out}: one part, made by build --shard; choose another --out")


def open_renderer(
    stack: ExitStack,
    resolved: Resolved,
    make_renderer: MakeRenderer | None = None,
    *,
    keeps_kernels: bool = True,
) -> Renderer:
    """The renderer of a request, closed with the stack; the folder may keep its GPUs' compiled kernels.

    Raises:
        ConfigError: there is no such device, engine or address, or the renderer makes no passes.
        RenderError: Blender or Ray is needed but missing, of another release, or does not answer.
        SceneError: the native renderer has no formula for a shape or material.
    """
    rendering, workers = resolved.config.rendering, resolved.request.workers
    if make_renderer is not None:
        renderer = make_renderer(rendering, workers)
    else:
        look = read_look(properties=resolved.config.properties, changes=resolved.config.look)
        engine, address = resolved.request.engine, resolved.request.address
        renderer = renderers.open_renderer(
            rendering,
            look=look,
            workers=workers,
            engine=engine,
            address=address,
            folder=resolved.layout.root if keeps_kernels else None,
        )
    renderer = stack.enter_context(renderer)
    if resolved.config.passes:
        annotator_of(renderer)  # so that an error comes before the first image
    return renderer


def try_each_split(resolved: Resolved) -> None:
    """Makes the first questions of each unfinished split, so that one that cannot be filled fails at once."""
    for job in resolved.jobs:
        if not job.finished:
            next(questions_of(replace(job, goal=1), resolved.engine))


def start_manifest(resolved: Resolved) -> Manifest:
    """Writes the manifest before anything else: bound, and marked as incomplete.

    Raises:
        DatasetError: a foreign file is where the run would write or remove its own.
    """
    for pool in dict.fromkeys(job.pool for job in resolved.jobs):
        check_store(resolved.layout.image_store(pool))
        passes_store(resolved.layout, pool).check()
    there, wanted = resolved.manifest.rendering, resolved.request.rendering
    requests, options = resolved.manifest.requests, resolved.request.options
    manifest = replace(
        resolved.manifest,
        rendering=rendering_of_folder(there, wanted) if wanted else there,
        config=resolved_config(resolved),
        requests=[*requests, options] if options and options not in requests else requests,
        palettes={name: palette.as_json() for name, palette in resolved.engine.palettes.items()},
        complete=False,
    )
    # A run that is killed before the vocabulary is listed leaves a folder that can be resumed.
    write_manifest(resolved.layout.manifest, manifest)
    vocabularies = write_vocabularies(resolved.layout, resolved.engine, of_sets=resolved.of_sets)
    manifest = manifest.with_files(vocabularies)
    write_manifest(resolved.layout.manifest, manifest)
    return manifest


def write_text(resolved: Resolved, manifest: Manifest, progress: Progress) -> Manifest:
    """Writes the unfinished splits; returns the manifest that lists them."""
    jobs = [job for job in resolved.jobs if not job.finished]
    with closing(generate_questions(jobs, resolved.engine)) as splits:
        for job, batches in splits:
            title = f"Generating {job.hop.name} {job.split}"
            total = job.goal if job.kind.unit == "questions" else 0
            with progress.stage(title, total=total, unit="questions") as advance:
                manifest = write_split(job, batches, resolved.layout, manifest, advance)
            write_manifest(resolved.layout.manifest, manifest)
    return manifest


def _stored(
    store: Callable[[PoolWork, Resolved, Manifest, Advance], Manifest],
    what: str,
    unit: str,
    n_each: int,
    work: Sequence[PoolWork],
    resolved: Resolved,
    manifest: Manifest,
    progress: Progress,
) -> Manifest:
    """Converts what was made for each pool to the wanted formats, counting `n_each` units per image."""
    total = n_each * sum(len(each.used) for each in work)
    if work:
        with progress.stage(f"Storing {what}", total=total, unit=unit) as advance:
            for each in work:
                manifest = store(each, resolved, manifest, advance)
                write_manifest(resolved.layout.manifest, manifest)
    return manifest


def _check_leaks(check: LeakCheck, resolved: Resolved, manifest: Manifest, progress: Progress) -> Manifest:
    """Checks for leaks in every sub-dataset whose files changed since the last check."""
    unchecked = [hop for hop in manifest.splits if hop not in manifest.checked]
    with progress.stage("Checking for leaks", total=len(unchecked), unit="sub-datasets") as advance:
        look = partial(check.check, images=resolved.request.render)
        for hop, report in zip(unchecked, map_in_threads(look, map(resolved.hop, unchecked)), strict=True):
            if not report.ok:  # this would be a bug in clevrhope
                shown = "; ".join(map(str, report.violations[:3]))
                raise DatasetError(f"{resolved.layout.hop(hop)}: {report.n_violations} violations: {shown}")
            manifest = replace(manifest, checked={**manifest.checked, hop: list(report.checked())})
            write_manifest(resolved.layout.manifest, manifest)
            advance(1)
    in_order = sorted(manifest.checked, key=name_order)
    return replace(manifest, checked={hop: manifest.checked[hop] for hop in in_order})
