"""Figures for the comparison of both renderers: quality over time, and images side by side."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmarks.render import MAIN, Compared, samples_of
from clevrhope.images.png import encode_png
from clevrhope.images.renderer import Pixels
from clevrhope.runtime.atomic import write_whole

DIFFERENCE = 8
"""Factor by which differences are amplified."""

ROWS_SHOWN = 6
"""The most scenes on a sheet."""

MARGIN_PX = 6
HEADING_PX = 26


def write_curve(compared: Compared, path: Path) -> None:
    """Plots PSNR over seconds per image, with a line for each renderer.

    Raises:
        DatasetError: no space is left, or the file may not be written.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from clevrhope.describe.stats.charts import figure, png

    looks = {
        "cycles": ("Cycles, samples per pixel, denoised", "#0072B2", "o"),
        "native": ("native", "#D55E00", "s"),
    }
    n_images = len(compared.references)
    title = f"Distance from 512 samples, {n_images} scenes, {compared.cores} cores"
    with figure(title, width_in=8.0, height_in=5.0) as drawn:
        axes = drawn.subplots()
        for kind, efforts in (("cycles", compared.cycles), ("native", compared.native)):
            points = sorted(efforts.values(), key=lambda each: each.seconds_per_image)
            if not points:
                continue
            label, colour, marker = looks[kind]
            seconds = [each.seconds_per_image for each in points]
            mean_db = [each.psnr_db_mean for each in points]
            worst_db = [min(each.psnr_db.values()) for each in points]
            axes.plot(seconds, mean_db, color=colour, marker=marker, label=label)
            axes.plot(seconds, worst_db, color=colour, marker=marker, ls=":", mfc="white", lw=1, ms=4)
            for each, x, y in zip(points, seconds, mean_db, strict=True):
                name = each.name if kind == "native" else str(samples_of(each.name))
                axes.annotate(name, (x, y), xytext=(0, 7), textcoords="offset points", ha="center")
        axes.plot([], [], color="#222222", ls=":", marker="o", mfc="white", lw=1, ms=4, label="worst scene")
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(y=0.12)
        axes.grid(axis="y", color="#e6e6e6")
        axes.set_xlabel("seconds per image")
        axes.set_ylabel("PSNR, dB")
        axes.legend(loc="lower right")
        write_whole(path, png(drawn))


def write_sheet(compared: Compared, path: Path) -> None:
    """Draws a row for each scene: Cycles at 512 samples, native, and their amplified difference.

    Raises:
        DatasetError: no space is left, or the file may not be written.
    """
    effort = compared.native[MAIN]
    rows = []
    for number in sorted(compared.references)[:ROWS_SHOWN]:
        reference, native = compared.references[number], effort.images[number]
        rows.append((number, [reference, native, difference(reference, native)]))
    height, width = rows[0][1][0].shape[:2]
    step_px = height + HEADING_PX + MARGIN_PX
    sheet = Image.new("RGB", (3 * (width + MARGIN_PX) + MARGIN_PX, len(rows) * step_px + MARGIN_PX), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    for k, (number, images) in enumerate(rows):
        headings = (
            f"scene {number}: Cycles, 512 samples",
            f"native, {MAIN}: {effort.psnr_db[number]:.1f} dB",
            f"difference, times {DIFFERENCE}",
        )
        for column, (pixels, heading) in enumerate(zip(images, headings, strict=True)):
            left, top = MARGIN_PX + column * (width + MARGIN_PX), MARGIN_PX + k * step_px
            draw.text((left, top + 2), heading, fill="black", font=font)
            sheet.paste(Image.fromarray(pixels), (left, top + HEADING_PX))
    write_whole(path, encode_png(np.asarray(sheet)))


def difference(a: Pixels, b: Pixels) -> Pixels:
    """The absolute difference of two images, amplified; (height, width, 3) uint8, black where equal."""
    enlarged = np.abs(a.astype(np.int16) - b.astype(np.int16)) * DIFFERENCE
    difference: Pixels = np.minimum(enlarged, 255).astype(np.uint8)
    return difference
