"""Resumes and extends a folder: expands a request into jobs, and finds which of their files are finished.

This is the last step of resolving a request.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clevrhope.config.presets import Config
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.errors import ConfigError
from clevrhope.pipeline.engine import Engine
from clevrhope.pipeline.jobs import Job, new_job, wanted_splits
from clevrhope.pipeline.request import Request, second_palette
from clevrhope.runtime.atomic import record
from clevrhope.runtime.progress import Advance, ignore_advance
from clevrhope.splits.covr.kinds import covr_splits
from clevrhope.splits.hops import Hop, parse_hop


@dataclass(frozen=True)
class QuestionFiles:
    """The question files of a folder, compared with its manifest."""

    manifest: Manifest
    layout: Layout
    checksums: bool
    """Whether contents are compared, not only sizes."""
    advance: Advance = ignore_advance
    """Called for each split that is compared."""

    def compared(self, job: Job, *, question_json: bool) -> Job:
        """A requested split, with what the folder has of it; it is written again if a file differs.

        Raises:
            ConfigError: the folder's split has scenes of another pool.
        """
        listed = self.manifest.covr if job.of_sets else self.manifest.splits
        entry: Mapping[str, Any] = listed.get(job.hop.name, {}).get(job.split, {})
        if job.kind.drawn == "stream" and entry and entry["pool"] != job.pool:
            raise ConfigError(
                f"{self.layout.hop(job.hop.name)}: {job.split} uses pool {entry['pool']}, not {job.pool}; "
                "choose another --out"
            )
        n_existing = int(entry.get(job.kind.unit, 0))
        with_json = question_json or self.has_json(job.hop.name, job.split)
        whole = n_existing >= job.goal and self.are_whole(job.hop.name, job.split, question_json=with_json)
        return replace(job, goal=max(job.goal, n_existing), finished=whole, question_json=with_json)

    def repairs(self, jobs: Sequence[Job], world_types: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Job]:
        """Other splits of the folder whose files are missing or differ from the manifest."""
        requested = {(job.hop.name, job.split) for job in jobs}
        for hop, split, entry in self.manifest.all_splits():
            if (hop, split) in requested:
                continue
            question_json = self.has_json(hop, split)
            if not self.are_whole(hop, split, question_json=question_json):
                goal = int(entry.get("places", entry.get("sets", entry["questions"])))
                yield Job(
                    parse_hop(hop, world_types), split, entry["pool"], goal, question_json=question_json
                )

    def has_json(self, hop: str, split: str) -> bool:
        """Whether a split was written with a JSON question file, which it then keeps."""
        return self.layout.relative(self.layout.questions_json(hop, split)) in self.manifest.files

    def are_whole(self, hop: str, split: str, *, question_json: bool) -> bool:
        """Whether a split's files exist as the manifest lists them."""
        files = [self.layout.questions_h5(hop, split)]
        files += [self.layout.questions_json(hop, split)] if question_json else []
        whole = all(map(self._is_as_listed, files))
        self.advance(1)
        return whole

    def _is_as_listed(self, path: Path) -> bool:
        known = self.manifest.files.get(self.layout.relative(path))
        try:
            same_size = known is not None and path.stat().st_size == known.bytes
        except OSError:
            return False
        return same_size and (not self.checksums or record(path) == known)


def expand_jobs(
    request: Request, config: Config, hops: Sequence[Hop], files: QuestionFiles, engine: Engine
) -> tuple[Job, ...]:
    """The splits of a request, and those of earlier runs whose files are missing or damaged.

    Raises:
        ClevrhopeError: no sub-dataset has a wanted split, a pool is too small, a split has changed, or
            questions over several images are wanted of single values alone.
    """
    second = second_palette(request.limits)
    wanted = [(hop, split) for hop in hops for split in wanted_splits(hop, request.splits, second)]
    strays = [name for name in request.splits or () if name not in {split for _, split in wanted}]
    if strays:
        known = dict.fromkeys(name for hop in hops for name in wanted_splits(hop, None, second))
        are_none = "is not a split" if len(strays) == 1 else "are not splits"
        raise ConfigError(
            f"--splits: {' and '.join(strays)} {are_none} of "
            f"{', '.join(hop.name for hop in hops[:12])}; known: {', '.join(known)}"
        )
    if request.covr:
        hops_of_sets = [hop for hop in hops if hop.value is None]
        if not hops_of_sets:
            raise ConfigError("--covr: questions over several images need a pair or none; add --hop none")
        wanted += [
            (hop, split) for hop in hops_of_sets for split in covr_splits(held_out=hop.held_out is not None)
        ]
    jobs = [
        files.compared(new_job(hop, split, config.sizes, engine, second), question_json=config.question_json)
        for hop, split in wanted
    ]
    return (*jobs, *files.repairs(jobs, engine.world.attribute_types))
