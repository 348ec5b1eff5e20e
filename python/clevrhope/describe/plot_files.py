"""The list of plots in a folder's datasheets, and the removal of outdated plots.

Plots are drawn on request (`clevrhope stats --datasheet`), so that a folder's bytes do not depend on whether
matplotlib is installed. The manifest lists them like all files. A pair's plots are removed when one of its
splits is rewritten, because they show the old content.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.runtime.atomic import WorkingFolder

KINDS = (
    "answers",
    "baselines",
    "distances",
    "families",
    "lengths",
    "objects",
    "pairs",
    "relations",
    "values",
)
"""Kinds of plots, which are the names of their files; `clevrhope.describe.stats.drawings` draws them."""


def listed_plots(layout: Layout, manifest: Manifest, hop: str) -> list[str]:
    """Names of a pair's plots in the manifest, sorted."""
    begin = f"{layout.relative(layout.plots(hop))}/"
    return sorted(name.removeprefix(begin) for name in manifest.files if name.startswith(begin))


def without_plots(layout: Layout, manifest: Manifest, hop: str) -> Manifest:
    """Removes a pair's plots; returns the manifest without them."""
    sweep_plots(layout, hop, keep=())
    begin = f"{layout.relative(layout.plots(hop))}/"
    files = {name: each for name, each in manifest.files.items() if not name.startswith(begin)}
    return replace(manifest, files=files)


def sweep_plots(layout: Layout, hop: str, *, keep: Sequence[str]) -> None:
    """Removes the plots in a pair's folder that are not in `keep`, such as those of a killed run.

    Raises:
        DatasetError: there is no permission to do so.
    """
    names = "|".join(re.escape(kind) for kind in KINDS if f"{kind}.png" not in keep)
    WorkingFolder(layout.plots(hop), re.compile(rf"(?:{names})\.png")).remove()
