"""Writes the links of README.md and the project's URLs from one address: make urls.

The address is `url` in [tool.clevrhope] of pyproject.toml, of a host that shows files under /blob/main and
gives them under /raw/main. If it is set, README's links to files are absolute, since a package index has no
files beside a README; if it is empty, they are relative, and the project has no URLs.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: The words of a link or an image, an address before the path or none, and the path.
_LINK = re.compile(
    r"(!?\[[^\]]*\]\()(?:https?://[^)\s]+?/(?:blob|raw)/main/)?"
    r"((?:docs/)?[\w./-]+\.(?:md|png|cff|csv|json)|LICENSE)(?=[)#])"
)
_TABLE = re.compile(r"\n\[project\.urls\]\n(?:[^\n\[]+\n)*")


def with_links(readme: str, url: str) -> str:
    """README with links below an address, or relative ones if it is empty."""

    def absolute(match: re.Match[str]) -> str:
        kind = "raw" if match[1].startswith("!") else "blob"
        return f"{match[1]}{f'{url}/{kind}/main/' if url else ''}{match[2]}"

    return _LINK.sub(absolute, readme)


def with_table(project: str, url: str) -> str:
    """pyproject.toml with a table of URLs, or without one if the address is empty."""
    table = (
        f'\n[project.urls]\nRepository = "{url}"\nDocumentation = "{url}/blob/main/docs/index.md"\n'
        f'Changelog = "{url}/blob/main/CHANGELOG.md"\n'
    )
    bare = _TABLE.sub("", project)
    return bare.replace("\n[project.scripts]", f"{table if url else ''}\n[project.scripts]")


def main(root: Path) -> None:
    """Rewrites both files."""
    readme, project = root / "README.md", root / "pyproject.toml"
    text = project.read_text("utf-8")
    url = str(tomllib.loads(text)["tool"]["clevrhope"]["url"]).rstrip("/")
    readme.write_text(with_links(readme.read_text("utf-8"), url), "utf-8")
    project.write_text(with_table(text, url), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ROOT)
