"""A report in Chromium: on wide and narrow screens, light and dark, its figures and texts can be read."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from simulated import HOP, write_run

from chromium import NEEDS_CHROMIUM, SCREENS, open_page, photograph, worst_contrast
from clevrhope.report import report

__all__ = ["open_page"]

pytestmark = [NEEDS_CHROMIUM, pytest.mark.slow]

SMALLEST_PX = 8.0
"""The least height of an em in which a label of a figure can be read."""


@pytest.fixture(scope="module")
def page_file(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of the paper's model and of another one, at two train sizes."""
    out = tmp_path_factory.mktemp("looked_at")
    wrong = {"complex_iid": 0.1, "complex_ood": 0.3, "minimal_ood": 0.25}
    for model in ("film", "lxmert_p"):
        for size in (200, 25_000):
            write_run(out / "runs", dataset, model=model, hop=HOP, size=size, seed=1, wrong=wrong)
    return report([out / "runs"], out / "report").html


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_everything_can_be_read(
    open_page: Callable[..., Any], page_file: Path, width: int, scheme: str
) -> None:
    page = open_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(page_file.as_uri())
    photograph(page, f"report-{width}-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert worst_contrast(page) >= 4.5
    heights = page.eval_on_selector_all(
        ".panels text",
        "all => all.map(each => each.getScreenCTM().d * parseFloat(getComputedStyle(each).fontSize))",
    )
    upright = [height for height in heights if height > 1]  # a turned text has its height across
    assert len(upright) > 40
    assert min(upright) >= SMALLEST_PX
    colours = set(page.eval_on_selector_all(".panels text", "all => all.map(e => getComputedStyle(e).fill)"))
    assert ("rgb(236, 235, 231)" in colours) == (scheme == "dark")
    assert ("rgb(34, 34, 34)" in colours) == (scheme == "light")
    check_wide_tables(page)
    for link in page.locator(".contents a").all():
        assert page.locator(f"h2{link.get_attribute('href')}").count() == 1
    cards = page.locator(".cards article")
    assert cards.count() == 12
    assert page.locator(".cards figure i").count() >= 12
    page.close()


def check_wide_tables(page: Any) -> None:
    """A table that goes on beyond an edge of its frame has a shadow there, which ends with the table."""
    frames = page.locator(".wide").all()
    # Where a few pixels are beyond an edge, these are the padding of cells.
    wide = [each for each in frames if each.evaluate("each => each.scrollWidth > each.clientWidth + 16")]
    assert wide or page.viewport_size["width"] > 1000
    for frame in wide:
        shades = []
        for place in (0, 1 << 16):
            frame.evaluate("(each, place) => each.scrollTo(place, 0)", place)
            pixels = np.asarray(Image.open(BytesIO(frame.screenshot())).convert("L")).astype(int)
            page_colour = pixels[4, pixels.shape[1] // 2]
            # The row of pixels just below the upper edge has no text, at least at the sides.
            shades.append([bool(abs(pixels[2, side] - page_colour) > 20) for side in (0, -1)])
        assert shades == [[False, True], [True, False]]


def test_what_all_rows_share_is_above_the_table(open_page: Callable[..., Any], page_file: Path) -> None:
    page = open_page(viewport={"width": 390, "height": 900})
    page.goto(page_file.as_uri())
    said = page.locator(".note", has_text="In all rows:").first
    assert "held-out pair = rubber_cylinder" in said.inner_text()
    heads = page.locator(".wide").first.locator("thead th").all_inner_texts()
    assert heads[:2] == ["model", "train size"]
    assert "complex_iid, %" in [head.replace("\n", "") for head in heads]  # equal here, but a result
    page.close()
