"""What a user asks for in; what is to be made and what the folder is bound to out. Nothing is written."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from clevrhope.config.presets import (
    PRESETS,
    WINDOW,
    ZERO_IS_ALL,
    Config,
    check_splits,
    splits_of,
)
from clevrhope.dataset.layout import FOLDERS, Layout
from clevrhope.dataset.manifest import Manifest, check_binding, read_manifest
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.images.passes import parse_passes
from clevrhope.images.settings import rendering_as_json
from clevrhope.pipeline.clevr import binding, check_palettes, check_same, open_clevr, with_share
from clevrhope.pipeline.engine import Engine, Templates, World, open_templates, open_world, template_files
from clevrhope.pipeline.limits import Limits, folder_palettes, limited_hops, second_palette, with_diversity
from clevrhope.pipeline.minimal import n_places
from clevrhope.pipeline.prelim import n_sets
from clevrhope.runtime.atomic import record
from clevrhope.runtime.reading import os_reason, reading
from clevrhope.splits.hops import Hop, parse_hop, prelim_hops
from clevrhope.splits.kinds import SECOND_SPLITS, SPLITS, SplitKind, splits_of_dataset
from clevrhope.splits.palettes import pool_name
from clevrhope.version import DATASET_VERSION


@dataclass(frozen=True)
class Request:
    """What a user asks for."""

    out: Path
    hops: tuple[str, ...]
    config: Config
    seed: int | None
    """None takes the folder's own, which then has to be there."""
    splits: tuple[str, ...] | None = None
    """None asks for all splits of each pair."""
    render: bool = True
    workers: int | None = None
    """Blender's processes; None for one for every two cores. The native renderer has none."""
    engine: str = "local"
    """Where renderers work: here, or in a Ray cluster."""
    address: str | None = None
    """Of the Ray cluster; None for one on this machine."""
    limits: Limits = field(default_factory=Limits)
    """Which combinations of values occur."""
    prelim: tuple[str, ...] = ()
    """Values that are asked for alone, or "all"."""

    @property
    def rendering(self) -> Mapping[str, Any] | None:
        """What makes the images, as a manifest has it; None where none are asked for."""
        return rendering_as_json(self.config.rendering) if self.render else None


@dataclass(frozen=True)
class Job:
    """One split of one pair: the questions that the folder will hold when the run is done."""

    hop: Hop
    split: str
    pool: str
    goal: int
    """Questions of a streamed split, places of a minimal one, groups or sets of a preliminary one: what is
    asked for, or what is there if more."""
    finished: bool
    """The files of exactly this goal are there."""
    question_json: bool = True
    """CLEVR's question file is among them."""
    asked: int = 0
    """What the request asks for; less than the goal where the folder has more already."""

    @property
    def kind(self) -> SplitKind:
        """What kind of split it is."""
        return SPLITS[self.split]

    @property
    def minimal(self) -> bool:
        """A split of one-object grids, counted in places."""
        return self.kind.drawn == "places"

    @property
    def prelim(self) -> bool:
        """A split of groups or sets that ask for one value."""
        return self.hop.value is not None

    @property
    def unit(self) -> str:
        """What the goal counts."""
        return self.kind.unit


@dataclass(frozen=True)
class Resolved:
    """A request after everything in it was looked up and found to fit the folder."""

    request: Request
    layout: Layout
    engine: Engine
    manifest: Manifest
    """The folder's manifest as it is before the run, bound and with nothing in it for a new folder."""
    is_new: bool
    hops: tuple[Hop, ...]
    jobs: tuple[Job, ...]

    @property
    def seed(self) -> int:
        """The folder's seed."""
        return self.manifest.seed

    @property
    def world(self) -> World:
        """Vocabulary, look and constraints."""
        return self.engine.world

    @property
    def config(self) -> Config:
        """What was asked for, with the kinds of images that the folder has already."""
        return self.request.config

    @property
    def exhausted(self) -> tuple[str, ...]:
        """Values with fewer groups of existence than were asked for, which are all: a sentence a number."""
        wanted = self.config.sizes.prelim_existence
        values: dict[int, list[str]] = {}
        for job in self.jobs:
            if job.kind.drawn == "groups" and 0 < job.asked < wanted:
                values.setdefault(job.asked, []).append(job.hop.words)
        return tuple(
            f"existence of {', '.join(names)}: complete at {n:,} groups, fewer than the {wanted:,} asked for"
            for n, names in sorted(values.items())
        )

    def hop(self, name: str) -> Hop:
        """A pair by its canonical name."""
        return with_diversity(parse_hop(name, self.world.attribute_types), self.engine.palettes)


def resolve(request: Request, *, clevr: World | None = None, checksums: bool = False) -> Resolved:
    """Looks everything up and compares it with the folder; `clevr` is what was read before for this request.

    A split whose files are not as the manifest lists them is to be written anew. Their sizes are compared,
    and with `checksums` what they hold.

    Raises:
        ClevrhopeError: a pair, split, template or setting that is wrong, or a folder bound to others.
    """
    config = request.config
    world = open_world(config)
    templates = open_templates(config, world)
    hops = limited_hops(_hops(request, world), request.limits)
    layout = Layout(request.out)
    existing = read_manifest(layout.manifest)
    if existing is None:
        _check_empty(request.out)
    config = with_share(config, existing)
    check_palettes(config, existing, hops, request.out)
    check_passes(config, existing, render=request.render, out=request.out)
    clevr = clevr or open_clevr(config, world, images=request.render)
    manifest = _bound(replace(request, config=config), existing, world, templates, binding(config, clevr))
    there = parse_passes(manifest.config.get("passes", ()), f"{layout.manifest}: config.passes")
    config = replace(
        config,
        images=_union(config.images, manifest.config.get("images")),
        passes=parse_passes([*config.passes, *there], "--passes"),
    )
    palettes = folder_palettes(hops, request.limits, manifest, world)
    hops = tuple(with_diversity(hop, palettes) for hop in hops)
    match_objects = config.match == "objects"
    made = Engine(
        world,
        templates,
        seed=manifest.seed,
        palettes=palettes,
        match_objects=match_objects,
        implied=config.strictness == "implied",
        clevr=clevr,
    )
    second = second_palette(request.limits)
    files = _Files(manifest, layout, checksums)
    jobs = tuple(
        _job(hop, split, config, files, made, second)
        for hop in hops
        for split in _splits(hop, request.splits, second)
    )
    made_of = {job.split for job in jobs}
    strays = [name for name in request.splits or () if name not in made_of]
    if strays:
        known = dict.fromkeys(name for hop in hops for name in _splits(hop, None, second))
        raise ConfigError(
            f"--splits: {' and '.join(strays)} {'is no split' if len(strays) == 1 else 'are no splits'} of "
            f"{', '.join(hop.name for hop in hops[:12])}; known: {', '.join(known)}"
        )
    return Resolved(
        request=replace(request, config=config),
        layout=layout,
        engine=made,
        manifest=manifest,
        is_new=existing is None,
        hops=hops,
        jobs=(*jobs, *_repairs(jobs, files, world)),
    )


def check_passes(config: Config, existing: Manifest | None, *, render: bool, out: Path) -> None:
    """Passes where every image that is asked for can have the annotations that are asked for.

    Raises:
        ConfigError: images are left out, or some are CLEVR's.
    """
    if not config.passes:
        return
    if not render:
        raise ConfigError(
            "--passes: masks, depths and normals are made with the images; leave --no-render out"
        )
    if config.clevr is not None or (existing is not None and "clevr" in existing.world):
        raise ConfigError(
            f"--passes: CLEVR's scenes do not say where their camera stood, so no mask fits their images; "
            f"leave --clevr out and choose another folder than {out}"
        )


def resolved_config(resolved: Resolved) -> dict[str, Any]:
    """The configuration as the manifest records it; paths by their last part, so machines agree."""
    config = resolved.config
    before = resolved.manifest.config.get("sizes", {})
    sizes = {name: _larger(name, size, before.get(name)) for name, size in asdict(config.sizes).items()}
    # A smaller preset that is asked for later takes nothing away.
    presets = (config.preset, resolved.manifest.config.get("preset"))
    return {
        "preset": [name for name in PRESETS if name in presets][-1],
        "sizes": sizes,
        "images": config.images,
        **({"passes": list(config.passes)} if config.passes else {}),
        "question_json": config.question_json or bool(resolved.manifest.config.get("question_json")),
        "templates": _last_part(config.templates, "question_templates"),
        "properties": _last_part(config.properties, "properties.json"),
    }


def _larger(name: str, size: int, before: int | None) -> int:
    """The larger of two sizes; of some 0 means all there is."""
    if before is None:
        return size
    if name in ZERO_IS_ALL and 0 in (size, before):
        return 0
    return max(size, before)


def _last_part(path: Path | None, own: str) -> str:
    return own if path is None else path.resolve().name


def _hops(request: Request, world: World) -> tuple[Hop, ...]:
    if not request.hops and not request.prelim:
        raise ConfigError("no HOP given; name one or more with --hop, such as --hop rubber_cylinder")
    types = world.attribute_types
    named = (parse_hop(name, types) for name in request.hops)
    return tuple(dict.fromkeys((*named, *prelim_hops(request.prelim, types))))


def _splits(hop: Hop, wanted: Sequence[str] | None, second: str) -> tuple[str, ...]:
    known = (*splits_of(hop), *(SECOND_SPLITS if second else ()))
    if wanted is None:
        return known
    own = tuple(name for name in SECOND_SPLITS if second and name in wanted)
    first = check_splits([name for name in wanted if name not in own]) if len(own) < len(wanted) else ()
    return (*(name for name in first if name in known), *own)


def _check_empty(root: Path) -> None:
    """A folder without a manifest has to be new, so that nothing of a user's is mixed with a dataset."""
    try:
        there = [path for path in root.iterdir() if not path.name.startswith(".")]
    except FileNotFoundError:
        return
    except OSError as error:
        raise DatasetError(
            f"{root}: no folder for a dataset ({os_reason(error)}); choose another --out"
        ) from error
    # A link to another disk may be put there beforehand, for what takes the most space.
    strays = [path for path in there if not (path.name in FOLDERS and _is_link_to_an_empty_folder(path))]
    if strays:
        raise DatasetError(
            f"{root}: not empty ({strays[0].name}) and no dataset of clevrhope (no manifest.json); "
            "choose another --out"
        )


def _is_link_to_an_empty_folder(path: Path) -> bool:
    return path.is_symlink() and path.is_dir() and not any(path.iterdir())


def _bound(
    request: Request,
    existing: Manifest | None,
    world: World,
    templates: Templates,
    clevr: Mapping[str, Any],
) -> Manifest:
    """The folder's manifest, checked against the request; for a new folder one with nothing in it."""
    seed = request.seed if request.seed is not None else existing.seed if existing else None
    if seed is None:
        raise ConfigError(f"{request.out}: a new dataset needs a seed")
    wanted = Manifest(
        version=DATASET_VERSION,
        seed=seed,
        world={
            "fingerprint": world.fingerprint,
            "constraints": json.loads(world.config_json),
            "attributes": {kind: list(values) for kind, values in world.attribute_types},
            **clevr,
        },
        templates={"fingerprint": templates.fingerprint, "files": template_files(templates)},
        questions={
            "window": WINDOW,
            "a_picture": {
                name: SPLITS[name].questions_per_scene
                for name in splits_of_dataset("pair", "plain")
                if SPLITS[name].drawn == "stream"
            },
            **({} if request.config.match == "none" else {"match": request.config.match}),
            **(
                {}
                if request.config.strictness == "description"
                else {"strictness": request.config.strictness}
            ),
        },
        rendering=request.rendering,
    )
    if existing is None:
        return replace(wanted, rendering=None)
    check_same(existing, wanted, request.config, request.out)
    check_binding(existing, wanted, request.out)
    _check_seed(existing, Layout(request.out))
    return existing


_STREAM = re.compile(rb'"stream":\{"world":"\w+","seed":(\d+)')


def _check_seed(manifest: Manifest, layout: Layout) -> None:
    """The scenes of a folder were drawn with the seed that its manifest says: one edited there would mix two.

    Raises:
        DatasetError: they were drawn with another.
    """
    for pool in sorted({entry["pool"] for splits in manifest.splits.values() for entry in splits.values()}):
        for path in layout.scene_files(pool)[:1]:
            with reading(path, "a scene file"), path.open("rb") as file:
                drawn = _STREAM.search(file.read(1 << 16))
            if drawn is not None and int(drawn[1]) != manifest.seed:
                raise DatasetError(
                    f"{layout.manifest}: seed is {manifest.seed}, but {layout.relative(path)} was drawn with "
                    f"seed {int(drawn[1])}; put the manifest's own seed back, or build into another folder"
                )


@dataclass(frozen=True)
class _Files:
    """The question files of a folder, held against its manifest."""

    manifest: Manifest
    layout: Layout
    checksums: bool

    def has_json(self, hop: str, split: str) -> bool:
        """Whether a split was written with its question file; one written with it keeps it."""
        return self.layout.relative(self.layout.questions_json(hop, split)) in self.manifest.files

    def are_whole(self, hop: str, split: str, *, question_json: bool) -> bool:
        """Whether a split's files are there, as the manifest lists them."""
        files = [self.layout.questions_h5(hop, split)]
        if question_json:
            files.append(self.layout.questions_json(hop, split))
        return all(map(self._as_listed, files))

    def _as_listed(self, path: Path) -> bool:
        known = self.manifest.files.get(self.layout.relative(path))
        try:
            same = known is not None and path.stat().st_size == known.bytes
        except OSError:
            return False
        return same and (not self.checksums or record(path) == known)


def _job(hop: Hop, split: str, config: Config, files: _Files, engine: Engine, second: str) -> Job:
    sizes, kind = config.sizes, SPLITS[split]
    there: Mapping[str, Any] = files.manifest.splits.get(hop.name, {}).get(split, {})
    if hop.value is not None:
        pool = engine.prelim_pool(hop, split).name
        goal = sizes.prelim_counting
        if kind.drawn == "groups":
            goal = n_sets(engine.existence_pool(hop), sizes.prelim_existence)
        else:
            engine.check_sets(hop, goal)
        had = int(there.get("sets", 0))
    elif kind.drawn == "places":
        minimal = engine.minimal_pool(hop)
        pool = minimal.name
        goal = n_places(minimal, copies=sizes.minimal_copies, limit=sizes.minimal_places)
        had = int(there.get("places", 0))
    else:
        pool = pool_name(kind.pool, second if split in SECOND_SPLITS else hop.pools)
        goal = getattr(sizes, kind.size)
        if there and there["pool"] != pool:
            raise ConfigError(
                f"{files.layout.hop(hop.name)}: {split} is of pool {there['pool']}, not of {pool}; "
                "choose another --out"
            )
        had = int(there.get("questions", 0))
    question_json = config.question_json or files.has_json(hop.name, split)
    whole = had >= goal and files.are_whole(hop.name, split, question_json=question_json)
    return Job(hop, split, pool, max(goal, had), finished=whole, question_json=question_json, asked=goal)


def _repairs(jobs: Sequence[Job], files: _Files, world: World) -> Iterator[Job]:
    """Splits of earlier runs whose files are missing, or not as the manifest lists them."""
    asked = {(job.hop.name, job.split) for job in jobs}
    for name, splits in files.manifest.splits.items():
        for split, entry in splits.items():
            if (name, split) in asked:
                continue
            question_json = files.has_json(name, split)
            if not files.are_whole(name, split, question_json=question_json):
                hop = parse_hop(name, world.attribute_types)
                goal = int(entry.get("places", entry.get("sets", entry["questions"])))
                yield Job(hop, split, entry["pool"], goal, finished=False, question_json=question_json)


def _union(asked: str, there: str | None) -> str:
    return asked if there is None or there == asked else "both"
