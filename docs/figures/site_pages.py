"""Hooks of mkdocs: pages say which version they describe, and links of a notebook lead to the site."""

import re
from pathlib import Path
from typing import Any

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
"""Its headings are the versions with their dates; the newest comes first."""


def on_config(config: Any) -> Any:
    """Writes the version and its date below each page."""
    (newest, *_) = re.findall(r"^## (.+)$", CHANGELOG.read_text("utf-8"), re.MULTILINE)
    config.copyright = f"Documentation of clevrhope {newest}"
    return config


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Changes links of a notebook, which lead to Markdown files for those who read it elsewhere."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html
    return re.sub(r'href="(\w+)\.md(?=["#])', r'href="\1.html', html)
