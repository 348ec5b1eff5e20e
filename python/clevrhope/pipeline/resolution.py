"""A request after all three steps: opened, bound to its folder, and expanded into jobs."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clevrhope.config.presets import PRESETS, ZERO_IS_ALL, Config
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest, read_manifest
from clevrhope.pipeline.binding import bind, open_engine, with_formats
from clevrhope.pipeline.engine import Engine
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.request import Request, with_diversity
from clevrhope.pipeline.resumption import QuestionFiles, expand_jobs
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.hops import Hop, parse_hop


@dataclass(frozen=True)
class Resolved:
    """The input of a build.

    Attributes:
        request: the request.
        layout: the layout of its folder.
        config: the requested configuration, plus the image formats and annotations that the folder has.
        engine: makes scenes and questions.
        manifest: the folder's manifest before the run; for a new folder, one that lists nothing.
        hops: the sub-datasets of the request.
        jobs: the splits to be written.
    """

    request: Request
    layout: Layout
    config: Config
    engine: Engine
    manifest: Manifest
    hops: tuple[Hop, ...]
    jobs: tuple[Job, ...]

    @property
    def of_sets(self) -> bool:
        """Whether there are splits of questions over several images."""
        return any(job.of_sets for job in self.jobs)

    def hop(self, name: str) -> Hop:
        """A sub-dataset by its canonical name."""
        return with_diversity(parse_hop(name, self.engine.world.attribute_types), self.engine.palettes)


def resolve(request: Request, *, checksums: bool = False, progress: Progress | None = None) -> Resolved:
    """Opens what a request names, binds it to the folder and expands the jobs, without writing anything.

    Args:
        request: the wanted dataset.
        checksums: whether to compare the contents of existing files, not only their sizes.
        progress: shows the comparison, which takes a while if there are many questions.

    Raises:
        ClevrhopeError: a pair, split, template or setting is wrong, or the folder is bound to others.
    """
    layout = Layout(request.out)
    existing = read_manifest(layout.manifest, repairs=True)
    engine, hops = open_engine(request, existing)
    manifest = bind(request, engine, existing)
    config = with_formats(engine.config, manifest, request.out)
    shown = progress if progress and any(manifest.splits.values()) else Silent()
    with shown.stage("Checking existing files", total=0, unit="splits") as advance:
        files = QuestionFiles(manifest, layout, checksums, advance)
        jobs = expand_jobs(request, config, hops, files, engine)
    resolved = Resolved(request, layout, config, engine, manifest, hops, jobs)
    if resolved.of_sets:
        _ = engine.sets  # so that an error in the phrasings comes before anything is written
    return resolved


def resolved_config(resolved: Resolved) -> dict[str, Any]:
    """The configuration for the manifest, with only the last part of paths, so that machines agree."""
    config, recorded = resolved.config, resolved.manifest.config
    sizes = _larger_sizes(asdict(config.sizes), recorded.get("sizes", {}))
    if not (resolved.request.covr or resolved.manifest.covr):
        sizes = {name: size for name, size in sizes.items() if not name.startswith("covr_")}
    # A smaller preset in a later request removes nothing.
    presets = (config.preset, recorded.get("preset"))
    return {
        "preset": [name for name in PRESETS if name in presets][-1],
        "sizes": sizes,
        "images": config.images,
        **({"passes": list(config.passes)} if config.passes else {}),
        "question_json": config.question_json or bool(recorded.get("question_json")),
        "templates": _last_part(config.templates, "question_templates"),
        "properties": _last_part(config.properties, "properties.json"),
    }


def _larger_sizes(sizes: Mapping[str, int], recorded: Mapping[str, int]) -> dict[str, int]:
    """The larger of two sizes of each kind; 0 can mean everything that exists."""
    larger = {}
    for name, size in sizes.items():
        both = (size, recorded.get(name, size))
        larger[name] = 0 if name in ZERO_IS_ALL and 0 in both else max(both)
    return larger


def _last_part(path: Path | None, package: str) -> str:
    return package if path is None else Path(os.path.realpath(path)).name
