"""A client for tests, which speaks to the pages' application without a network."""

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path

from starlette.testclient import TestClient

from clevrhope.browse.folder import SiteFolder
from clevrhope.browse.models import read_models
from clevrhope.browse.server import Site, application
from clevrhope.runtime.progress import Silent
from waiting import wait_until

HOP = "rubber_cylinder"
TOKEN = "a-token"


class SiteClient:
    """Gets pages by their addresses below the token."""

    def __init__(self, raw: TestClient) -> None:
        self.raw = raw

    def get(self, address: str, status: int = 200) -> str:
        """The page, once its index is made."""
        answer = self.raw.get(f"/{TOKEN}/{address}")

        def is_made() -> bool:
            nonlocal answer
            answer = self.raw.get(f"/{TOKEN}/{address}")
            return "Making the index" not in answer.text

        wait_until(is_made, "the index is made")
        assert answer.status_code == status, answer.text
        return answer.text


def make_client(root: Path, predictions: Sequence[str] = ()) -> SiteClient:
    folder = SiteFolder(root)
    models = read_models(predictions, folder)
    site = Site(folder, models, predictions=[*predictions], progress=Silent())
    return SiteClient(TestClient(application(site, TOKEN), base_url="http://127.0.0.1:8765"))


def links(page: str, pattern: str) -> list[str]:
    """The addresses in a page that contain a match of a pattern."""
    return [
        unescape(each) for each in re.findall(r'href="([^"]*)"', page) if re.search(pattern, unescape(each))
    ]


def text_of(page: str) -> str:
    """The text of a page in one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())
