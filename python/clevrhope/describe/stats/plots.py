"""The plots of `clevrhope stats`: files <kind>.png in a folder for each group.

matplotlib is imported only when plots are drawn.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clevrhope.dataset.folder import Folder
from clevrhope.dataset.layout import changed_layout
from clevrhope.dataset.manifest import write_manifest
from clevrhope.describe.datasheets import write_datasheet
from clevrhope.describe.plot_files import KINDS, without_plots
from clevrhope.describe.stats.comparison import StatsSheet, measure_folder
from clevrhope.errors import ConfigError
from clevrhope.runtime.atomic import record, write_whole
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.progress import Advance, Progress, Silent
from clevrhope.splits.kinds import VALUE_SPLITS

_OF_VALUES = ("answers", "baselines", "distances", "pairs", "values")
"""Kinds for preliminary sets, whose questions share one family, program and number of objects; the other
kinds would show a single value."""


def check_plots() -> None:
    """Checks that matplotlib is installed; raises as `check_extra` does."""
    check_extra("plots need", "matplotlib", "plots")


def check_outside(plots: Path, dataset: Path) -> None:
    """Checks that a folder of plots is not within the dataset, whose manifest lists all its files.

    Raises:
        ConfigError: the folder is within the dataset.
    """
    within = dataset.resolve()
    if (dataset / "manifest.json").is_file() and within in (plots.resolve(), *plots.resolve().parents):
        raise ConfigError(
            f"{plots}: within the dataset's folder, where unlisted files become outdated; choose another "
            "folder, or --datasheet, which puts plots into the datasheets"
        )


def kinds_of(sheet: StatsSheet) -> list[str]:
    """The kinds of plots for a group; there are none if it has only questions over several images."""
    if not sheet.columns:
        return []
    only_values = all(each.split in VALUE_SPLITS for each in sheet.columns)
    return [kind for kind in KINDS if not only_values or kind in _OF_VALUES]


def write_plots(folder: Path, sheet: StatsSheet, *, advance: Advance) -> list[Path]:
    """Draws the plots of a group into a folder of its own; returns the files.

    `advance` is called after each plot, which takes a few tenths of a second.

    Raises:
        DatasetError: there is no space or no permission to write.
    """
    from clevrhope.describe.stats.drawings import PLOTS

    written = []
    for kind in kinds_of(sheet):
        content = PLOTS[kind](sheet)
        if content is not None:
            path = folder / f"{kind}.png"
            write_whole(path, content, option="--plots")
            written.append(path)
        advance(1)
    return written


def draw_into_datasheets(
    root: Path, *, hops: Sequence[str] = (), progress: Progress | None = None
) -> list[Path]:
    """Draws the plots of some pairs, or of all, into their datasheets; returns the plots' files.

    The plots are in the folder `plots` beside each datasheet, and the manifest lists them. The next build
    keeps the plots of pairs whose questions have not changed, and removes the others.

    Raises:
        ConfigError: matplotlib is missing, or the folder lacks a pair.
        DatasetError: there is no finished dataset, or files cannot be read or written.
    """
    check_plots()
    shown = progress or Silent()
    layout = Folder.open(root).layout  # fails before it would lock a folder that is not a dataset
    with changed_layout(root):
        manifest = Folder.open(root).manifest
        sheets = measure_folder(root, hops=hops, progress=shown)
        # Until the manifest has the new checksums, the folder counts as unfinished; a build would repair it.
        write_manifest(layout.manifest, replace(manifest, complete=False))
        written = []
        n_plots = sum(len(kinds_of(sheet)) for sheet in sheets)
        with shown.stage("Drawing", total=n_plots, unit="plots") as advance:
            for sheet in sheets:
                manifest = without_plots(layout, manifest, sheet.group)
                plots = write_plots(layout.plots(sheet.group), sheet, advance=advance)
                manifest = manifest.with_files({layout.relative(each): record(each) for each in plots})
                manifest = manifest.with_files(write_datasheet(layout, manifest, sheet.group))
                written += plots
        write_manifest(layout.manifest, manifest)
    return written
