"""The build: all stages in order, from a request to a finished folder."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.dataset.image_store import check_store
from clevrhope.dataset.layout import locked_layout
from clevrhope.dataset.manifest import Manifest, write_manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.scene_files import Pools
from clevrhope.dataset.suite_files import removed_suites, without_damaged_suites
from clevrhope.errors import DatasetError
from clevrhope.images import renderers
from clevrhope.images.passes import annotator_of
from clevrhope.images.renderer import Renderer
from clevrhope.images.renderers import rendering_of_folder
from clevrhope.images.settings import Rendering
from clevrhope.look.definition import read_look
from clevrhope.pipeline import engine
from clevrhope.pipeline.documents import write_documents
from clevrhope.pipeline.images import (
    PoolWork,
    annotate_missing,
    check_images,
    missing_images,
    missing_passes,
    passes_store,
    render_missing,
    store_images,
    store_passes,
    unlisted_archives,
)
from clevrhope.pipeline.nonce import NonceEngine, wanted_nonce, write_nonce
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
from clevrhope.runtime.progress import Progress, Silent
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
    covr: Mapping[str, Mapping[str, Mapping[str, object]]]
    """HOP -> split -> pool, questions, images, for questions over several images."""
    nonce: Mapping[str, Mapping[str, Mapping[str, object]]]
    """The same for episodes with nonce words."""
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
    contact_sheet: Path | None
    n_requests: int
    """Number of different commands that made the folder, this one included."""
    seconds: float = 0.0


@dataclass
class Work:
    """A build in progress: what its stages take, and what they leave to each other."""

    resolved: Resolved
    progress: Progress
    stack: ExitStack
    """Closes what stages open."""
    make_renderer: MakeRenderer | None
    renderer: Renderer | None = None
    """None if no images are wanted."""
    of_splits: dict[tuple[str, str], tuple[str, Ints]] = field(default_factory=dict)
    """HOP and split -> the split's pool, and the scenes that it asks about."""
    images: list[PoolWork] = field(default_factory=list)
    annotations: list[PoolWork] = field(default_factory=list)
    nonce: NonceEngine | None = None
    """None if the folder has no episodes with nonce words."""
    scenes: Pools | None = None
    """The scenes as the check for leaks read them."""

    @property
    def used(self) -> dict[str, Ints]:
        """Pool -> the scenes in use, sorted, each once."""
        return indices_by_pool(self.of_splits.values())


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
    with ExitStack() as stack:
        stack.enter_context(locked_layout(request.out))
        resolved = resolve(request, checksums=True, progress=progress)
        check_not_part(resolved)
        work = Work(resolved, progress or Silent(), stack, make_renderer)
        manifest = resolved.manifest
        for stage in STAGES:
            manifest = stage(work, manifest)
            if not manifest.complete:
                write_manifest(resolved.layout.manifest, manifest)
    return replace(_summary(work, manifest), seconds=monotonic() - began)


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


def _prepare(work: Work, manifest: Manifest) -> Manifest:
    """Fails at once, before anything is written, if a split cannot be filled or images cannot be made."""
    resolved = work.resolved
    try_each_split(resolved)
    n_episodes, types = wanted_nonce(resolved.request.nonce, resolved.request.nonce_types, manifest)
    if n_episodes:
        work.nonce = NonceEngine(resolved.engine, n_episodes, types)
    if resolved.request.render:
        work.renderer = open_renderer(work.stack, resolved, work.make_renderer)
    sweep(resolved.layout.folders())
    if resolved.request.render:
        check_images(resolved.layout, manifest)
    return without_damaged_suites(resolved.layout, start_manifest(resolved))


def _write_text(work: Work, manifest: Manifest) -> Manifest:
    """Writes questions, then the scenes that they ask about."""
    resolved = work.resolved
    layout, engine = resolved.layout, resolved.engine
    manifest = write_text(resolved, manifest, work.progress)
    work.of_splits = scenes_in_use(manifest, layout)
    n_scenes = sum(map(len, work.used.values()))
    with work.progress.stage("Writing scenes", total=n_scenes, unit="scenes") as advance:
        for pool, indices in work.used.items():
            manifest = write_scenes(pool, indices, layout, engine, manifest, advance)
    engine.forget_scenes()
    return manifest


def _write_nonce(work: Work, manifest: Manifest) -> Manifest:
    """Writes episodes with nonce words, then their scenes."""
    if work.nonce is None:
        return manifest
    layout = work.resolved.layout
    manifest = write_nonce(work.nonce, layout, manifest)
    work.of_splits |= work.nonce.used
    pools = indices_by_pool(work.nonce.used.values())
    n_scenes = sum(map(len, pools.values()))
    with work.progress.stage("Writing scenes of episodes", total=n_scenes, unit="scenes") as advance:
        for pool, indices in pools.items():
            manifest = write_scenes(pool, indices, layout, work.nonce, manifest, advance)
    return manifest


def _make_images(work: Work, manifest: Manifest) -> Manifest:
    """Renders and packs the missing images, then makes and packs their annotations."""
    resolved, used = work.resolved, work.used
    layout, config = resolved.layout, resolved.config
    work.images = missing_images(used, layout)
    work.annotations = missing_passes(used, layout, config.passes)
    if work.renderer is None:
        return manifest.with_files(unlisted_archives(used, layout, manifest))
    if any(len(pool.missing) for pool in work.images):
        # Splits that were checked without these images must be checked again.
        manifest = replace(manifest, checked={})
        write_manifest(layout.manifest, manifest)
        render_missing(work.images, resolved, work.renderer, work.progress)
    kinds = ["PNG"] * config.png + ["HDF5"] * config.h5
    what, unit = f"images as {' and '.join(kinds)}", "copies" if len(kinds) > 1 else "images"
    total = len(kinds) * sum(len(pool.used) for pool in work.images)
    with work.progress.stage(f"Storing {what}", total=total, unit=unit) as advance:
        for pool in work.images:
            manifest = store_images(pool, resolved, manifest, advance)
            write_manifest(layout.manifest, manifest)
    annotate_missing(work.annotations, resolved, work.renderer, work.progress)
    if work.annotations:
        total = sum(len(pool.used) for pool in work.annotations)
        with work.progress.stage("Storing annotations", total=total, unit="images") as advance:
            for pool in work.annotations:
                manifest = store_passes(pool, resolved, manifest, advance)
                write_manifest(layout.manifest, manifest)
    return manifest


def _check_leaks(work: Work, manifest: Manifest) -> Manifest:
    """Checks for leaks in every sub-dataset whose files changed since the last check."""
    resolved = work.resolved
    check = LeakCheck(resolved.layout.root, words=engine.synonyms(resolved.config))
    unchecked = [hop for hop in manifest.splits if hop not in manifest.checked]
    with work.progress.stage("Checking for leaks", total=len(unchecked), unit="sub-datasets") as advance:
        for hop, report in zip(
            unchecked, map_in_threads(check.check, map(resolved.hop, unchecked)), strict=True
        ):
            if not report.ok:  # this would be a bug in clevrhope
                shown = "; ".join(map(str, report.violations[:3]))
                raise DatasetError(f"{resolved.layout.hop(hop)}: {report.n_violations} violations: {shown}")
            manifest = replace(manifest, checked={**manifest.checked, hop: list(report.checked())})
            write_manifest(resolved.layout.manifest, manifest)
            advance(1)
    work.scenes = check.pools
    in_order = sorted(manifest.checked, key=name_order)
    return replace(manifest, checked={hop: manifest.checked[hop] for hop in in_order})


def _write_documents(work: Work, manifest: Manifest) -> Manifest:
    """Measures the finished files for datasheets and pages, and marks the folder as complete."""
    assert work.scenes is not None
    files = write_documents(work.resolved, manifest, work.of_splits, work.scenes, work.progress)
    manifest = replace(manifest.with_files(files), complete=True)
    write_manifest(work.resolved.layout.manifest, manifest)
    return manifest


STAGES: tuple[Callable[[Work, Manifest], Manifest], ...] = (
    _prepare,
    _write_text,
    _write_nonce,
    _make_images,
    _check_leaks,
    _write_documents,
)
"""The stages of a build in order: each takes the manifest, and returns the one that lists what it made."""


def _summary(work: Work, manifest: Manifest) -> Summary:
    resolved, used, engine = work.resolved, work.used, work.resolved.engine
    rendered = work.renderer is not None
    n_copied = sum(engine.n_published(pool.pool, pool.missing) for pool in work.images)
    kept = [
        f"{job.hop.name} {job.split}: the {job.goal:,} existing {job.kind.unit} are kept, more than the "
        f"{job.requested:,} asked for"
        for job in resolved.jobs
        if 0 < job.requested < job.goal
    ]
    return Summary(
        folder=resolved.request.out,
        seed=manifest.seed,
        splits=manifest.splits,
        hops=tuple(hop.name for hop in resolved.hops if hop.name in manifest.splits),
        kept=tuple(kept),
        covr=manifest.covr,
        nonce=manifest.nonce,
        suites=removed_suites(resolved.manifest, manifest),
        n_questions=manifest.n_questions,
        n_images=sum(map(len, used.values())),
        n_rendered=sum(len(pool.missing) for pool in work.images) - n_copied if rendered else 0,
        n_annotated=sum(len(pool.missing) for pool in work.annotations) if rendered else 0,
        n_copied=n_copied if rendered else 0,
        n_published=sum(engine.n_published(pool, indices) for pool, indices in used.items()),
        n_bytes=sum(file.bytes for file in manifest.files.values()),
        contact_sheet=resolved.layout.contact_sheet if manifest.splits or manifest.covr else None,
        n_requests=len(manifest.requests),
    )
