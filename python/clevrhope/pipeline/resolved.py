"""A request with everything in it looked up, and found to fit the folder."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clevrhope.config.presets import PRESETS, ZERO_IS_ALL, Config
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, read_manifest
from clevrhope.pipeline.binding import bind
from clevrhope.pipeline.engine import Engine, World
from clevrhope.pipeline.inputs import open_inputs
from clevrhope.pipeline.jobs import Job, expand_jobs
from clevrhope.pipeline.limits import with_diversity
from clevrhope.pipeline.request import Request
from clevrhope.splits.hops import Hop, parse_hop


@dataclass(frozen=True)
class Resolved:
    """What a build works from."""

    request: Request
    layout: Layout
    config: Config
    """What was asked for, with the kinds of images and annotations that the folder has already."""
    engine: Engine
    manifest: Manifest
    """The folder's manifest as it is before the run, bound and with nothing in it for a new folder."""
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


def resolve(request: Request, *, checksums: bool = False) -> Resolved:
    """Opens the inputs, binds them to the folder and expands the jobs; nothing is written.

    Args:
        request: what is asked for.
        checksums: whether files of the folder are compared by what they hold, not by their sizes alone.

    Raises:
        ClevrhopeError: a pair, split, template or setting that is wrong, or a folder bound to others.
    """
    layout = Layout(request.out)
    existing = read_manifest(layout.manifest)
    inputs = open_inputs(request, existing)
    bound = bind(request, inputs, existing)
    engine = Engine(
        inputs.world,
        inputs.templates,
        seed=bound.manifest.seed,
        palettes=bound.palettes,
        match_objects=bound.config.match == "objects",
        implied=bound.config.strictness == "implied",
        clevr=inputs.clevr,
    )
    jobs = expand_jobs(request, bound, engine, checksums=checksums)
    return Resolved(request, layout, bound.config, engine, bound.manifest, bound.hops, jobs)


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
