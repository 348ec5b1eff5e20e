"""Makes the figures of the documentation: python docs/figures/make.py [NAME...] [--out FOLDER]."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import gallery
from concepts import diversity, mention, pools
from measures import confounds, gap, palette, result
from overview import overview
from PIL import Image
from style import save

FIGURES: dict[str, Callable[[Path], Image.Image]] = {
    "overview": overview,
    "result": result,
    "pools": pools,
    "mention": mention,
    "diversity": diversity,
    "palette": palette,
    "gap": gap,
    "confounds": confounds,
    "gallery_passes": gallery.passes,
    "gallery_worlds": gallery.worlds,
    "gallery_covr": gallery.covr,
    "gallery_suites": gallery.suites,
    "gallery_minimal": gallery.minimal,
    "gallery_counting": gallery.counting,
}
"""Name -> what draws it, given a folder for datasets."""


def main() -> None:
    """Makes the named figures, or all."""
    parser = argparse.ArgumentParser(description="Makes the figures of the documentation.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FIGURES)}; by default all")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parents[1] / "images", help="where they go"
    )
    parser.add_argument("--data", type=Path, help="keeps the datasets that they show, for the next time")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in FIGURES]
    if unknown:
        parser.error(f"no figure {', '.join(unknown)}; there are: {', '.join(FIGURES)}")
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names or FIGURES:
            save(FIGURES[name](options.data or Path(scratch)), options.out / f"{name}.png")


if __name__ == "__main__":
    main()
