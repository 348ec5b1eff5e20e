"""The documentation site has no broken link or reference, and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert "clevrhope.programs.execute" in python
    assert "Raises" in python


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.glob("*.html"))
    assert len(pages) > 25
    loaded = r'<(?:script|img)[^>]*\ssrc="(https?:)?//|<link[^>]*rel="stylesheet"[^>]*href="https?:'
    for page in pages:
        assert re.search(loaded, page.read_text("utf-8")) is None, page.name
