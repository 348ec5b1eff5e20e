"""The plots of `clevrhope stats`: files <kind>.png in a folder for each group.

matplotlib is imported only when plots are drawn.
"""

from pathlib import Path

from clevrhope.describe.plot_files import KINDS
from clevrhope.describe.stats.comparison import Sheet
from clevrhope.errors import ConfigError
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.progress import Advance
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


def kinds_of(sheet: Sheet) -> list[str]:
    """The kinds of plots for a group; there are none if it has only questions over several images."""
    if not sheet.columns:
        return []
    only_values = all(each.measured.stats.split in VALUE_SPLITS for each in sheet.columns)
    return [kind for kind in KINDS if not only_values or kind in _OF_VALUES]


def write_plots(folder: Path, sheet: Sheet, *, advance: Advance) -> list[Path]:
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
            write_whole(path, content)
            written.append(path)
        advance(1)
    return written
