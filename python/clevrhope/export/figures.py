"""The figures of a dataset card: a sheet of images, and the plots of the dataset's datasheet.

The sheet needs only Pillow. Plots are those that `clevrhope stats --datasheet` has drawn, so that the bytes
of an export do not depend on whether matplotlib is installed.
"""

import io
import shutil
from pathlib import Path
from typing import Any

from PIL import Image

from clevrhope.describe.plot_files import listed_plots
from clevrhope.export.source import ExportSource, SplitSource

FOLDER = "figures"
"""The folder of the figures in an export."""

COLUMNS, WIDTH_PX, GAP_PX = 4, 240, 4
"""Images in a row of the sheet, the width of each, and the space between them."""


def write_figures(source: ExportSource, out: Path) -> dict[str, Any]:
    """Writes the figures for which the folder has images or plots.

    Returns:
        `sheet`, the file with a row of images for each of `splits`, those of the first table, or None without
        images; and `plots`, the plots of `hop`, the first HOP. Files are relative to the export's folder.

    Raises:
        DatasetError: an image is missing or damaged.
    """
    splits = next(iter(source.by_config().values()))
    hop = splits[0].hop
    plots = listed_plots(source.layout, source.manifest, hop)
    if source.rendered or plots:
        (out / FOLDER).mkdir()
    if source.rendered:
        (out / FOLDER / "images.png").write_bytes(_sheet(splits))
    for plot in plots:
        shutil.copyfile(source.layout.plots(hop) / plot, out / FOLDER / plot)
    return {
        "sheet": f"{FOLDER}/images.png" if source.rendered else None,
        "splits": [split.split for split in splits],
        "plots": [f"{FOLDER}/{plot}" for plot in plots],
        "hop": hop,
    }


def _sheet(splits: list[SplitSource]) -> bytes:
    """A PNG file with a row of images for each split, evenly spread over it."""
    rows = [_row(each) for each in splits]
    height = max(image.height for row in rows for image in row) + GAP_PX
    sheet = Image.new("RGB", (COLUMNS * (WIDTH_PX + GAP_PX) - GAP_PX, len(rows) * height - GAP_PX), "white")
    for y, row in enumerate(rows):
        for x, image in enumerate(row):
            sheet.paste(image, (x * (WIDTH_PX + GAP_PX), y * height))
    memory = io.BytesIO()
    sheet.save(memory, "PNG")
    return memory.getvalue()


def _row(split: SplitSource) -> list[Image.Image]:
    assert split.images is not None
    n = len(split.indices)
    places = sorted({k * n // COLUMNS for k in range(COLUMNS)})
    images = [Image.fromarray(split.images.pixels(int(split.indices[place]))) for place in places]
    return [
        image.resize((WIDTH_PX, round(WIDTH_PX * image.height / image.width)), Image.Resampling.LANCZOS)
        for image in images
    ]
