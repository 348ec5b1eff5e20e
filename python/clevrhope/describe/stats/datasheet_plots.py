"""Plots in the datasheets of a finished dataset."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clevrhope.dataset.folder import Folder
from clevrhope.dataset.manifest import write_manifest
from clevrhope.describe.datasheets import write_datasheet
from clevrhope.describe.plot_files import without_plots
from clevrhope.describe.stats.comparison import measure_folder
from clevrhope.describe.stats.plots import check_plots, kinds_of, write_plots
from clevrhope.runtime.atomic import record
from clevrhope.runtime.lock import locked
from clevrhope.runtime.progress import Progress, Silent


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
    with locked(root):
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
