"""A request in, a finished folder and a summary of it out."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic

from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.dataset.manifest import Manifest, write_manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError
from clevrhope.images import choice
from clevrhope.images.passes import annotator_of
from clevrhope.images.renderer import Renderer
from clevrhope.images.settings import Rendering, rendering_of_folder
from clevrhope.look.definition import read_look
from clevrhope.pipeline import engine
from clevrhope.pipeline.annotations import (
    PoolPasses,
    annotate_missing,
    missing_passes,
    passes_store,
    store_passes,
)
from clevrhope.pipeline.documents import n_published, write_account, write_vocabulary
from clevrhope.pipeline.images import (
    PoolImages,
    check_images,
    image_store,
    missing_images,
    render_missing,
    store_images,
    unlisted_archives,
)
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.request import Request
from clevrhope.pipeline.resolved import Resolved, resolve, resolved_config
from clevrhope.pipeline.text import asked, questions_of, scenes_in_use, write_scenes, write_split
from clevrhope.runtime.atomic import sweep
from clevrhope.runtime.lock import locked
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.threads import map_in_threads


class LeakError(DatasetError):
    """The held-out pair is where it must not be, or files contradict each other: a bug of clevrhope."""


MakeRenderer = Callable[[Rendering, int | None], Renderer]
"""Makes a renderer from settings and a number of workers."""


@dataclass(frozen=True)
class Summary:
    """What a run left behind."""

    folder: Path
    seed: int
    splits: Mapping[str, Mapping[str, Mapping[str, object]]]
    """HOP -> split -> pool, questions, images; the whole folder's."""
    hops: tuple[str, ...]
    """The pairs that the request asked for."""
    kept: tuple[str, ...]
    """Splits that have more than was asked for, and stay so: a sentence each."""
    exhausted: tuple[str, ...]
    """Values with fewer groups than were asked for, since there are no more: a sentence for each number."""
    n_questions: int
    n_images: int
    """Scenes in use; each has an image unless rendering was left out."""
    n_rendered: int
    """Images rendered by this run."""
    n_annotated: int
    """Images of which this run made masks, depths or normals."""
    n_copied: int
    """Images of CLEVR that this run copied."""
    n_published: int
    """Scenes in use that are CLEVR's, whether or not their images are there."""
    n_bytes: int
    seconds: float
    contact_sheet: Path


def build(
    request: Request, *, make_renderer: MakeRenderer | None = None, progress: Progress | None = None
) -> Summary:
    """Makes what is missing in a dataset's folder for a request; a killed run goes on where it was.

    `make_renderer` is for other renderers than those that a configuration can name.

    Raises:
        ClevrhopeError: something wrong in the request, a folder bound to something else, no space, a scene
            that cannot be rendered, a leak. What is finished stays.
    """
    began = monotonic()
    progress = progress or Silent()
    with ExitStack() as stack:
        stack.enter_context(locked(request.out))
        resolved = resolve(request, checksums=True)
        check_whole(resolved)
        # What is bound to fail does so before anything is written.
        try_each_split(resolved)
        renderer = open_renderer(stack, resolved, make_renderer) if request.render else None
        sweep(resolved.layout.folders())
        if request.render:
            check_images(resolved.layout, resolved.manifest)
        manifest = begun(resolved)
        manifest = write_text(resolved, manifest, progress)
        used = scenes_in_use(manifest, resolved)
        manifest = _scenes(resolved, manifest, used, progress)
        resolved.engine.forget_scenes()
        work = missing_images(used, resolved.layout)
        annotations = missing_passes(used, resolved.layout, resolved.config.passes)
        if renderer is not None:
            manifest = _images(resolved, manifest, work, renderer, progress)
            manifest = _annotations(resolved, manifest, annotations, renderer, progress)
        else:
            manifest = manifest.with_files(unlisted_archives(used, resolved.layout, manifest))
        check = LeakCheck(resolved.layout.root, words=engine.synonyms(resolved.config))
        manifest = _checked(check, resolved, manifest, progress)
        files = write_account(resolved, manifest, used, check.pools, progress)
        manifest = replace(manifest.with_files(files), complete=True)
        write_manifest(resolved.layout.manifest, manifest)
    n_copied = sum(int((resolved.engine.published(each.pool, each.missing) >= 0).sum()) for each in work)
    return Summary(
        folder=request.out,
        seed=manifest.seed,
        splits=manifest.splits,
        hops=tuple(hop.name for hop in resolved.hops),
        kept=tuple(map(_kept, (job for job in resolved.jobs if 0 < job.asked < job.goal))),
        exhausted=resolved.exhausted,
        n_questions=_n_questions(manifest),
        n_images=sum(map(len, used.values())),
        n_rendered=sum(len(each.missing) for each in work) - n_copied if renderer is not None else 0,
        n_annotated=sum(len(each.missing) for each in annotations) if renderer is not None else 0,
        n_copied=n_copied if renderer is not None else 0,
        n_published=n_published(resolved, used),
        n_bytes=sum(each.bytes for each in manifest.files.values()),
        seconds=monotonic() - began,
        contact_sheet=resolved.layout.contact_sheet,
    )


def check_whole(resolved: Resolved) -> None:
    """Passes for a folder that is no machine's part of one.

    Raises:
        DatasetError: it is.
    """
    if resolved.manifest.shard is not None:
        out = resolved.request.out
        raise DatasetError(f"{out}: one machine's part, made by build --shard; choose another --out")


def open_renderer(
    stack: ExitStack, resolved: Resolved, make_renderer: MakeRenderer | None = None
) -> Renderer:
    """The renderer of a request, closed with the stack.

    Raises:
        ConfigError: a device, engine or address that is none, or a renderer that makes no passes.
        RenderError: Blender is asked for, and missing, of another release, or without libraries; Ray is, and
            is missing or does not answer.
        SceneError: the native renderer is asked for what it has no formula for.
    """
    rendering, workers = resolved.config.rendering, resolved.request.workers
    if make_renderer is not None:
        renderer = make_renderer(rendering, workers)
    else:
        look = read_look(properties=resolved.config.properties)
        engine, address = resolved.request.engine, resolved.request.address
        renderer = choice.open_renderer(rendering, look=look, workers=workers, engine=engine, address=address)
    renderer = stack.enter_context(renderer)
    if resolved.config.passes:
        annotator_of(renderer)  # told before the first image
    return renderer


def try_each_split(resolved: Resolved) -> None:
    """Asks the first questions of what is missing, so that a split that nothing can fill is told at once."""
    for job in resolved.jobs:
        if not job.finished:
            next(questions_of(replace(job, goal=1), resolved))


def begun(resolved: Resolved) -> Manifest:
    """The manifest at the start of the run: bound, not complete; on disk before anything else is.

    Raises:
        DatasetError: a file of somebody else's lies in a folder that the run would remove.
    """
    for pool in dict.fromkeys(job.pool for job in resolved.jobs):
        image_store(resolved.layout, pool).check()
        passes_store(resolved.layout, pool).check()
    there, asked = resolved.manifest.rendering, resolved.request.rendering
    manifest = replace(
        resolved.manifest,
        rendering=rendering_of_folder(there, asked) if asked else there,
        config=resolved_config(resolved),
        palettes={name: palette.as_json() for name, palette in resolved.engine.palettes.items()},
        complete=False,
    )
    manifest = manifest.with_files(write_vocabulary(resolved))
    write_manifest(resolved.layout.manifest, manifest)
    return manifest


def write_text(resolved: Resolved, manifest: Manifest, progress: Progress) -> Manifest:
    """Writes the splits that are not finished; gives the manifest with them in it."""
    jobs = [job for job in resolved.jobs if not job.finished]
    with closing(asked(jobs, resolved)) as splits:
        for job, questions in splits:
            unit = "questions"
            total = job.goal if job.unit == "questions" else 0
            with progress.stage(f"Asking {job.hop.name} {job.split}", total=total, unit=unit) as advance:
                manifest = write_split(job, questions, resolved, manifest, advance)
            write_manifest(resolved.layout.manifest, manifest)
    return manifest


def _scenes(resolved: Resolved, manifest: Manifest, used: Mapping[str, Ints], progress: Progress) -> Manifest:
    with progress.stage("Writing scenes", total=sum(map(len, used.values())), unit="scenes") as advance:
        for pool, indices in used.items():
            manifest = write_scenes(pool, indices, resolved, manifest, advance)
    write_manifest(resolved.layout.manifest, manifest)
    return manifest


def _images(
    resolved: Resolved,
    manifest: Manifest,
    work: Sequence[PoolImages],
    renderer: Renderer,
    progress: Progress,
) -> Manifest:
    if any(len(each.missing) for each in work):
        manifest = replace(manifest, checked={})  # what was checked without these images is to be again
        write_manifest(resolved.layout.manifest, manifest)
        render_missing(work, resolved, renderer, progress)
    kinds = resolved.config.png + resolved.config.h5
    total = kinds * sum(len(each.used) for each in work)
    with progress.stage("Storing images", total=total, unit="copies") as advance:
        for each in work:
            manifest = store_images(each, resolved, manifest, advance)
            write_manifest(resolved.layout.manifest, manifest)
    return manifest


def _annotations(
    resolved: Resolved,
    manifest: Manifest,
    work: Sequence[PoolPasses],
    renderer: Renderer,
    progress: Progress,
) -> Manifest:
    annotate_missing(work, resolved, renderer, progress)
    total = sum(len(each.used) for each in work)
    if work:
        with progress.stage("Storing annotations", total=total, unit="images") as advance:
            for each in work:
                manifest = store_passes(each, resolved, manifest, advance)
                write_manifest(resolved.layout.manifest, manifest)
    return manifest


def _checked(check: LeakCheck, resolved: Resolved, manifest: Manifest, progress: Progress) -> Manifest:
    """Looks for leaks in every pair whose files changed since they were last looked at.

    Raises:
        LeakError: there are some; names the first few.
    """
    unchecked = [hop for hop in manifest.splits if hop not in manifest.checked]
    with progress.stage("Looking for leaks", total=len(unchecked), unit="sub-datasets") as advance:
        look = partial(check.check, images=resolved.request.render)
        for hop, report in zip(unchecked, map_in_threads(look, map(resolved.hop, unchecked)), strict=True):
            if not report.ok:
                shown = "; ".join(map(str, report.violations[:3]))
                raise LeakError(f"{resolved.layout.hop(hop)}: {report.n_violations} violations: {shown}")
            manifest = replace(manifest, checked={**manifest.checked, hop: list(report.checked())})
            write_manifest(resolved.layout.manifest, manifest)
            advance(1)
    return replace(manifest, checked={hop: manifest.checked[hop] for hop in sorted(manifest.checked)})


def _kept(job: Job) -> str:
    more = f"{job.goal:,} {job.unit} are there and stay, more than the {job.asked:,} asked for"
    return f"{job.hop.name} {job.split}: {more}"


def _n_questions(manifest: Manifest) -> int:
    return sum(
        int(str(split["questions"])) for splits in manifest.splits.values() for split in splits.values()
    )
