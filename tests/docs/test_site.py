"""The documentation site has no broken link or reference, and loads nothing from elsewhere."""

import html
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import clevrhope
from chromium import NEEDS_CHROMIUM, open_page, photograph, worst_contrast

__all__ = ["open_page"]

pytest.importorskip("mkdocs")
pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)],
        cwd=REPOSITORY,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out


def test_reference_pages_are_made_from_the_code(site: Path) -> None:
    cli = (site / "cli.html").read_text("utf-8")
    assert "--diversity-mode" in cli
    assert "<h3" in cli
    python = (site / "python.html").read_text("utf-8")
    for name in ("execute", "load_scenes", "export.export", "metrics.score", "report.report"):
        assert f'id="clevrhope.{name}"' in python, name
    assert "Raises" in python


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.glob("*.html"))
    assert len(pages) > 25
    loaded = r'<(?:script|img)[^>]*\ssrc="(https?:)?//|<link[^>]*rel="stylesheet"[^>]*href="https?:'
    for page in pages:
        assert re.search(loaded, page.read_text("utf-8")) is None, page.name


def test_every_link_leads_to_a_page_and_a_place_on_it(site: Path) -> None:
    places = {
        page: set(re.findall(r'\s(?:id|name)="([^"]*)"', page.read_text("utf-8"))) for page in pages(site)
    }
    dead = []
    for page in places:
        text = re.sub(r"<(script|style).*?</\1>", "", page.read_text("utf-8"), flags=re.DOTALL)
        for link in re.findall(r'<a\s[^>]*?href="([^"]*)"', text):
            address = urlsplit(html.unescape(link))
            if address.scheme or address.netloc:
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            fragment = unquote(address.fragment)
            if not target.exists() or (fragment and fragment not in places.get(target, {fragment})):
                dead.append(f"{page.relative_to(site)}: {link}")
    assert sorted(set(dead)) == []


def pages(site: Path) -> list[Path]:
    return [page.resolve() for page in site.rglob("*.html") if page.name != "404.html"]


def test_every_page_says_the_version(site: Path) -> None:
    version = f"Documentation of clevrhope {clevrhope.__version__} ("  # then its date
    assert [page.name for page in pages(site) if version not in page.read_text("utf-8")] == []


@NEEDS_CHROMIUM
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast_and_the_search_works_from_disk(
    open_page: Callable[..., Any], site: Path, scheme: str
) -> None:
    page = open_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    for name in ("index", "tutorial", "python", "cli", "notebook"):
        page.goto((site / f"{name}.html").as_uri())
        photograph(page, f"site-{name}-{scheme}")
        assert worst_contrast(page) >= 4.5, name
    page.goto((site / "index.html").as_uri())
    search = page.locator(".md-search__input")
    search.click()
    page.get_by_text("Type to start searching").wait_for()
    search.press_sequentially("palette")
    found = page.locator(".md-search-result__item a").first
    found.wait_for()
    assert (site / urlsplit(found.get_attribute("href")).path.rpartition("/")[2]).is_file()
    page.close()
