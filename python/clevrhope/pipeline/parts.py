"""The parts of a request: built by machines that do not talk to each other, and merged.

A part is a dataset's folder with some of the splits and some of the images. The merged parts have the same
bytes as a build on one machine.

Text is divided by splits: a machine writes whole files, for some splits of some sub-datasets. Images are
divided by scenes. Every machine can tell without text which scenes will be used, because a streamed split
uses the first scenes that pass its predicate. (If scenes yield fewer questions than wanted, it uses a few
more, which merge renders.)
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from clevrhope.dataset.binding import check_binding, difference
from clevrhope.dataset.image_store import stored_images
from clevrhope.dataset.images_h5 import images_in
from clevrhope.dataset.layout import FOLDERS, Layout, images_of, locked_layout, numbered_files
from clevrhope.dataset.manifest import FILES_TABLE, Manifest, existing_manifest, read_manifest, write_manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_files import removed_suites
from clevrhope.errors import ConfigError, DatasetError, WrongFolderError, listed, shown
from clevrhope.images.png import read_png
from clevrhope.pipeline import questions
from clevrhope.pipeline.engine import Engine
from clevrhope.pipeline.images import (
    annotate_missing,
    image_writer,
    missing_images,
    missing_passes,
    render_missing,
)
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.request import Request
from clevrhope.pipeline.resolution import Resolved, resolve
from clevrhope.pipeline.run import (
    MakeRenderer,
    Summary,
    build,
    check_not_part,
    open_renderer,
    start_manifest,
    try_each_split,
    write_text,
)
from clevrhope.pipeline.text import indices_by_pool, scenes_in_use, without_old_suites, write_scenes
from clevrhope.runtime.atomic import FileRecord, sweep, whole_file
from clevrhope.runtime.digits import read_digits
from clevrhope.runtime.paths import below, check_links
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.reading import check_regular, reading
from clevrhope.runtime.threads import map_in_threads
from clevrhope.splits.covr.kinds import is_covr
from clevrhope.splits.kinds import SplitKind

SCENES_TOGETHER = 50
"""Consecutive scenes that one machine renders; few, so that all machines get about the same number."""


@dataclass(frozen=True)
class Shard:
    """One machine's part, such as 3/16: the third of sixteen."""

    number: int
    """Counted from 1."""
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def jobs(self, resolved: Resolved) -> tuple[Job, ...]:
        """The splits that this machine writes; the largest go first, each to the least loaded machine."""
        loads = [0] * self.of
        mine: list[Job] = []
        for job in sorted(resolved.jobs, key=lambda job: (-job.n_questions, job.hop.name, job.split)):
            least = loads.index(min(loads))
            loads[least] += job.n_questions
            if least == self.number - 1:
                mine.append(job)
        return tuple(job for job in resolved.jobs if job in mine)

    def images(self, resolved: Resolved) -> dict[str, Ints]:
        """Pool -> the scenes that this machine renders, sorted."""
        used = indices_by_pool((job.pool, _scenes(job, resolved.engine)) for job in resolved.jobs)
        return {
            pool: each[each // SCENES_TOGETHER % self.of == self.number - 1] for pool, each in used.items()
        }


def parse_shard(text: str) -> Shard:
    """Parses a shard such as "3/16".

    Raises:
        ConfigError: the text is not a shard.
    """
    parts = [each.strip() for each in text.split("/")]
    number, of = [read_digits(each) for each in parts] if len(parts) == 2 else (None, None)
    why = " should be a number and how many there are"
    if "" in parts:
        why = " lacks a number (is a scheduler's variable not set?); expected a number and how many"
    elif number is not None and of is not None:
        if 1 <= number <= of:
            return Shard(number, of)
        why = f": parts are counted from 1 to {of}; give a scheduler's array these numbers" if of else why
    raise ConfigError(f"--shard: {shown(text)}{why}, such as 3/16")


@dataclass(frozen=True)
class PartSummary:
    """The result of building one part."""

    folder: Path
    shard: Shard
    n_splits: int
    n_images: int
    seconds: float


def build_part(
    request: Request,
    shard: Shard,
    *,
    make_renderer: MakeRenderer | None = None,
    progress: Progress | None = None,
) -> PartSummary:
    """Makes one machine's part of a request, text and images; resumes an interrupted run.

    Raises:
        ClevrhopeError: as for `build`; or the seed is missing, or the folder holds something else.
    """
    began = monotonic()
    progress = progress or Silent()
    if request.seed is None:
        raise ConfigError("--shard: needs --seed, the same on all machines")
    if request.nonce:
        raise ConfigError(
            "--nonce: parts have no episodes, since one machine makes 500 in a minute; give it to the merged "
            "folder's build"
        )
    with ExitStack() as stack:
        stack.enter_context(locked_layout(request.out))
        _check_is_part(request.out, shard)
        resolved = resolve(request, checksums=True, progress=progress)
        mine = replace(resolved, jobs=shard.jobs(resolved))
        try_each_split(mine)
        renderer = open_renderer(stack, resolved, make_renderer) if request.render else None
        sweep(resolved.layout.folders())
        entry = {"number": shard.number, "of": shard.of, "asked": _request_json(resolved)}
        manifest = start_manifest(replace(mine, manifest=replace(mine.manifest, shard=entry)))
        manifest = write_text(mine, manifest, progress)
        images = shard.images(resolved) if renderer is not None else {}
        n_images = sum(map(len, images.values()))
        if renderer is not None:
            with progress.stage("Writing scenes", total=n_images, unit="scenes") as advance:
                for pool, indices in images.items():
                    manifest = write_scenes(
                        pool, indices, resolved.layout, resolved.engine, manifest, advance
                    )
            # Parts have PNG files; merging makes the formats of the whole dataset.
            as_png = replace(resolved, config=replace(resolved.config, images="png"))
            render_missing(missing_images(images, resolved.layout), as_png, renderer, progress)
            annotations = missing_passes(images, resolved.layout, resolved.config.passes)
            annotate_missing(annotations, resolved, renderer, progress)
        write_manifest(resolved.layout.manifest, replace(manifest, complete=True))
    return PartSummary(request.out, shard, len(mine.jobs), n_images, monotonic() - began)


def merge(
    parts: Sequence[Path],
    request: Request,
    *,
    make_renderer: MakeRenderer | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Merges the parts of a request into its folder, with the result that `build` would have on one machine.

    Files are linked if parts and folder are on the same disk, and copied otherwise; images that the folder
    should have only in HDF5 are packed. The parts stay unchanged.

    Raises:
        ClevrhopeError: as for `build`; or a part is missing, unfinished, named twice, or from another
            request.
    """
    progress = progress or Silent()
    found = [(folder, _read_part(folder)) for folder in parts]
    if request.seed is None and not Layout(request.out).manifest.exists() and found:
        request = replace(request, seed=found[0][1].seed)
    if found and found[0][1].requests:
        request = replace(request, options=found[0][1].requests[-1])
    with (
        locked_layout(request.out),
        progress.stage("Merging parts", total=len(found), unit="parts") as advance,
    ):
        resolved = resolve(request)
        before = resolved.manifest
        check_not_part(resolved)
        _check_parts(found, resolved)
        layout = resolved.layout
        sweep(layout.folders())
        manifest = start_manifest(resolved)
        for folder, part in found:
            files = _texts(part)
            for name in files:
                _place(below(folder, name), below(layout.root, name))
            for hop, split, entry in part.all_splits():
                if not is_covr(split):
                    manifest = without_old_suites(layout, manifest, hop, split, files)
                manifest = manifest.with_splits({(hop, split): entry})
            manifest = manifest.with_files(files)
            advance(1)
        write_manifest(layout.manifest, manifest)
        for pool, used in indices_by_pool(scenes_in_use(manifest, layout).values()).items():
            in_use = set(used.tolist())
            images: dict[int, Path] = {}
            for part_layout in (Layout(folder) for folder, _ in found):
                images |= images_of(part_layout.images(pool), pool)
                passes = numbered_files(part_layout.passes_store(pool), f"HOPE_{pool}_", ".passes")
                for index in sorted(in_use & passes.keys()):
                    _place(passes[index], layout.passes_store(pool) / passes[index].name)
            images = {index: images[index] for index in sorted(in_use & images.keys())}
            if resolved.config.png:
                for path in images.values():
                    _place(path, layout.images(pool) / path.name)
            else:
                _add_images(layout, pool, images)
    summary = build(request, make_renderer=make_renderer, progress=progress)
    return replace(summary, suites=removed_suites(before, existing_manifest(layout.manifest)))


def _scenes(job: Job, engine: Engine) -> Ints:
    """The scenes that a split uses, if each yields all of its questions."""
    if not isinstance(job.kind, SplitKind) or job.kind.drawn != "stream":
        return questions.images_of(job, engine)[1]
    n_scenes = -(-job.goal // job.kind.questions_per_scene)
    return engine.eligible_scenes(job.split, job.pool, job.hop.held_out, job.kind.rule, n_scenes)


def _request_json(resolved: Resolved) -> dict[str, Any]:
    """The whole request as each part records it, so that merge can compare the parts."""
    sizes = asdict(resolved.config.sizes)
    if not resolved.request.covr:  # the manifest has none of these either, from which merge takes its sizes
        sizes = {name: size for name, size in sizes.items() if not is_covr(name)}
    return {
        "sizes": sizes,
        "images": resolved.config.images,
        "passes": list(resolved.config.passes),
        "question_json": resolved.config.question_json,
        "render": resolved.request.render,
        "splits": {f"{job.hop.name}/{job.split}": job.goal for job in resolved.jobs},
        "palettes": {name: each.as_json() for name, each in sorted(resolved.engine.palettes.items())},
    }


def _check_is_part(out: Path, shard: Shard) -> None:
    existing = read_manifest(Layout(out).manifest, repairs=True)
    if existing is not None and existing.part != str(shard):
        is_whole = existing.part is None
        what = "a whole dataset, not a part of one" if is_whole else f"part {existing.part}, not {shard}"
        raise DatasetError(f"{out}: {what}; give each part a folder of its own with --out")


def _read_part(folder: Path) -> Manifest:
    manifest = read_manifest(Layout(folder).manifest)
    if manifest is None or manifest.part is None:
        what = "not a part of a dataset" if folder.exists() else "no such folder"
        raise WrongFolderError(f"{folder}: {what}; clevrhope build --shard makes the parts to join")
    check_links(folder, (Layout(folder).manifest.name, FILES_TABLE, *FOLDERS))
    if not manifest.complete:
        raise DatasetError(f"{folder}: part {manifest.part} is not finished; run its command again")
    for name, wanted in _texts(manifest).items():
        path = below(folder, name)
        size = _size(path)
        if size != wanted.bytes:
            raise DatasetError(
                f"{path}: {size:,} bytes are there, of {wanted.bytes:,}; run the part's build again"
            )
    return manifest


def _texts(part: Manifest) -> dict[str, FileRecord]:
    """The question files of a part, by name; its other text files are made again."""
    return {name: each for name, each in part.files.items() if name.startswith(("hops/", "covr/"))}


def _check_parts(found: Sequence[tuple[Path, Manifest]], resolved: Resolved) -> None:
    """Checks that all parts of this request are present, each once."""
    if not found:
        raise ConfigError("no parts given; name the folders that build --shard made")
    wanted = _request_json(resolved)
    seen: dict[int, Path] = {}
    of = int((found[0][1].shard or {})["of"])
    for folder, part in found:
        shard = part.shard or {}
        check_binding(part, replace(resolved.manifest, rendering=resolved.request.rendering), folder)
        if shard["of"] != of:
            raise DatasetError(f"{folder}: one of {shard['of']} parts, but {found[0][0]} is one of {of}")
        asked = {key: shard["asked"].get(key) for key in wanted}
        if asked != wanted:
            differs = _other_pairs(asked, wanted) or difference(asked, wanted)
            raise DatasetError(
                f"{folder}: made for another request ({differs}); give merge the options of its build"
            )
        _check_splits(folder, part, resolved)
        if shard["number"] in seen:
            again = seen[shard["number"]]
            raise DatasetError(f"{folder}: part {shard['number']}/{of}, as {again} is; name each part once")
        seen[shard["number"]] = folder
    missing = [str(number) for number in range(1, of + 1) if number not in seen]
    if missing:
        which, them = ("part", "it") if len(missing) == 1 else ("parts", "them")
        raise DatasetError(
            f"{which} {', '.join(missing[:10])} of {of} missing; name {them} too, or make {them}: "
            f"build --shard {missing[0]}/{of}"
        )


def _check_splits(folder: Path, part: Manifest, resolved: Resolved) -> None:
    """Checks that a part has only splits of this request, in the same pools."""
    pools = {(job.hop.name, job.split): job.pool for job in resolved.jobs}
    for hop, split, entry in part.all_splits():
        if pools.get((hop, split)) != entry["pool"]:
            raise DatasetError(
                f"{folder}: has {hop}/{split} of pool {entry['pool']}, which is not requested; make the "
                "part again with build --shard"
            )


def _other_pairs(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The sub-datasets of a part and of the request, where these differ; else ""."""
    has, asks = (
        sorted({split.partition("/")[0] for split in each["splits"] or ()}) for each in (there, here)
    )
    return "" if has == asks else f"{listed(has, most=6)} there, {listed(asks, most=6)} asked for"


def _place(path: Path, to: Path) -> None:
    """Links a file to a new place, or copies it if linking fails; an existing file stays."""
    size = _size(path)
    if to.exists() and to.stat().st_size == size:
        return
    with whole_file(to) as temporary:
        temporary.unlink(missing_ok=True)
        try:
            os.link(path.resolve(), temporary)  # if the part has a link, use the file that it points to
        except OSError:
            shutil.copyfile(path, temporary)


def _add_images(layout: Layout, pool: str, images: Mapping[int, Path]) -> None:
    """Adds PNG files, by the scene's index, to the images that wait to be packed, unless they are packed."""
    there = {*images_in(layout.images_h5(pool)).tolist(), *stored_images(layout.image_store(pool)).tolist()}
    missing = [index for index in images if index not in there]
    if missing:
        with image_writer(layout, [pool], as_png=False) as write:

            def add(index: int) -> None:
                write(layout.image(pool, index), read_png(images[index]))

            for _ in map_in_threads(add, missing, threads=None):
                pass


def _size(path: Path) -> int:
    """The size of a part's file; raises a DatasetError if it is missing or not a file."""
    with reading(path, "a file of a part", remedy="run the part's build again"):
        check_regular(path)
        return path.stat().st_size
