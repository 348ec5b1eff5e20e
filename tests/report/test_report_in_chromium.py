"""A report in Chromium: on wide and narrow screens, light and dark, its figures and texts can be read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
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
    for link in page.locator(".contents a").all():
        assert page.locator(f"h2{link.get_attribute('href')}").count() == 1
    cards = page.locator(".cards article")
    assert cards.count() == 12
    assert page.locator(".cards figure i").count() >= 12
    page.close()
