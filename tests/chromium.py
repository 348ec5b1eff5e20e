"""A browser for tests of pages: it opens them, photographs them, and measures contrast and texts."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from waiting import HANG_S

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on this machine")

SCREENS = ((1280, "light"), (390, "dark"), (390, "light"), (1280, "dark"))
"""Widths in pixels and themes in which pages are looked at."""


@pytest.fixture(scope="module")
def open_page() -> Iterator[Callable[..., Any]]:
    """Opens a page with these settings, in a context of its own, which ends with the page."""
    reason = "needs playwright, of the extra dev"
    sync_api = pytest.importorskip("playwright.sync_api", reason=reason)
    hang_ms = 1000 * HANG_S
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=hang_ms)

        def new_page(**settings: Any) -> Any:
            page = browser.new_page(**settings)
            page.set_default_timeout(hang_ms)
            return page

        yield new_page
        browser.close()


def photograph(page: Any, name: str) -> None:
    """Writes an image of the whole page into the folder CLEVRHOPE_SCREENSHOTS, if it is set."""
    if folder := os.environ.get("CLEVRHOPE_SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{re.sub(r'[^a-z0-9]+', '-', name)}.png", full_page=True)


def worst_contrast(page: Any) -> float:
    """The least contrast (WCAG) of a text with the background behind it; what is off does not count."""
    worst: float = page.evaluate("""() => {
        const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
            .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
            .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
        let worst = 21;
        for (const each of document.querySelectorAll("body *")) {
            const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
            if (!own || !each.checkVisibility()) continue;
            if (each.closest("svg, .off, .hidden, .skip, option, select, script")) continue;
            let back = each;
            const behind = (node) => getComputedStyle(node ?? document.body).backgroundColor;
            while (back && (numbers(behind(back))[3] ?? 1) === 0) back = back.parentElement;
            const pair = [getComputedStyle(each).color, behind(back)];
            const [a, b] = pair.map((colour) => light(numbers(colour))).sort((x, y) => y - x);
            worst = Math.min(worst, (a + 0.05) / (b + 0.05));
        }
        return worst;
    }""")
    return worst
