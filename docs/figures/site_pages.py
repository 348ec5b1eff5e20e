"""Hooks of mkdocs: pages say which version they describe, and links of a notebook lead to the site."""

import re
from typing import Any

from clevrhope.version import software_version


def on_config(config: Any) -> Any:
    """Writes the version below each page."""
    config.copyright = f"Documentation of clevrhope {software_version()}"
    return config


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Changes links of a notebook, which lead to Markdown files for those who read it elsewhere."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html
    return re.sub(r'href="(\w+)\.md(?=["#])', r'href="\1.html', html)
