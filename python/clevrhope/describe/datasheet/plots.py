"""A folder and its manifest in, the plots of its datasheets out: which there are, and without stale ones.

Plots are drawn when somebody asks for them (`clevrhope stats --datasheet`), so that a folder's bytes do not
depend on whether matplotlib is installed. The manifest lists them as it does all files. Those of a pair are
dropped as soon as one of its splits is written anew, since they show what was there before.
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
"""Kinds of plots, which are the names of their files: those that `clevrhope.describe.stats.plots` draws."""


def listed_plots(layout: Layout, manifest: Manifest, hop: str) -> list[str]:
    """Names of a pair's plots in the manifest, sorted."""
    begin = f"{layout.relative(layout.plots(hop))}/"
    return sorted(name.removeprefix(begin) for name in manifest.files if name.startswith(begin))


def without_plots(layout: Layout, manifest: Manifest, hop: str) -> Manifest:
    """Removes a pair's plots; gives the manifest without them."""
    sweep_plots(layout, hop, keep=())
    begin = f"{layout.relative(layout.plots(hop))}/"
    files = {name: each for name, each in manifest.files.items() if not name.startswith(begin)}
    return replace(manifest, files=files)


def sweep_plots(layout: Layout, hop: str, *, keep: Sequence[str]) -> None:
    """Removes the plots in a pair's folder, but those of these names: a run that was killed may leave some.

    Raises:
        DatasetError: no permission to.
    """
    names = "|".join(re.escape(kind) for kind in KINDS if f"{kind}.png" not in keep)
    WorkingFolder(layout.plots(hop), re.compile(rf"(?:{names})\.png")).remove()
