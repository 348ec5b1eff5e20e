"""The suites of a folder in a plan: their sizes, and which of them the build would remove."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clevrhope.dataset.augmented_h5 import augmented_split
from clevrhope.pipeline.resolution import Resolved
from clevrhope.runtime.display import size
from clevrhope.splits.hops import name_order
from clevrhope.splits.kinds import TRAIN


@dataclass(frozen=True)
class SuitePlan:
    """A suite of a sub-dataset."""

    hop: str
    suite: str
    pairs: int
    bytes: int
    """Size of all of its files."""
    removed: tuple[str, ...]
    """Splits that the build enlarges, so that it removes the pairs on them."""


def suite_plans(resolved: Resolved) -> Iterator[SuitePlan]:
    """The suites in the folder of a request, by sub-dataset and name."""
    manifest, layout = resolved.manifest, resolved.layout
    goals = {(job.hop.name, job.split): job.goal for job in resolved.jobs}
    for hop, of_hop in sorted(manifest.suites.items(), key=lambda each: name_order(each[0])):
        for suite, splits in sorted(of_hop.items()):
            begin = f"{layout.relative(layout.suite(hop, suite))}/"
            grown = {
                split: goals.get(
                    (hop, TRAIN.name if split == augmented_split(suite) else split), entry["originals"]
                )
                for split, entry in splits.items()
            }
            yield SuitePlan(
                hop=hop,
                suite=suite,
                pairs=sum(entry["pairs"] for entry in splits.values()),
                bytes=sum(each.bytes for name, each in manifest.files.items() if name.startswith(begin)),
                removed=tuple(name for name, entry in splits.items() if grown[name] > entry["originals"]),
            )


def suite_lines(resolved: Resolved) -> list[str]:
    """The suites as text, one per line, after an empty line; no lines if there are none."""
    lines = []
    for plan in suite_plans(resolved):
        line = f"{plan.hop} has the suite {plan.suite}: {plan.pairs:,} pairs, {size(plan.bytes)}"
        if plan.removed:
            line += (
                f"; the build removes those of {', '.join(plan.removed)}, which it makes larger; then make "
                "them again with clevrhope suite"
            )
        lines.append(line)
    return ["", *lines] if lines else []


def suites_json(resolved: Resolved) -> list[dict[str, Any]]:
    """The suites as JSON values."""
    return [
        {
            "hop": plan.hop,
            "suite": plan.suite,
            "pairs": plan.pairs,
            "bytes": plan.bytes,
            "removed_splits": list(plan.removed),
        }
        for plan in suite_plans(resolved)
    ]
