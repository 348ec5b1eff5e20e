"""A stand-in for the Hugging Face Hub on loopback: datasets are made, listed and committed to in memory."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN, USER, OTHERS = "hf_right", "ada", "grace"
"""The token that it accepts, whose it is, and another user, for whom this one may not write."""


class FakeHub(ThreadingHTTPServer):
    """The files of its datasets by name, and the requests so far."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.datasets: dict[str, dict[str, bytes]] = {}
        self.requests: list[str] = []
        self.refused_commits: int = 0
        """The status that commits are answered with; 0 to accept them."""


class _Answers(BaseHTTPRequestHandler):
    server: FakeHub

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = self.path.partition("?")[0]
        self.server.requests.append(f"{self.command} {path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._send(401, {"error": "Invalid credentials"})
        elif path == "/api/whoami-v2":
            self._send(200, {"name": USER, "type": "user", "auth": {}})
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif path == "/api/validate-yaml":
            self._send(200, {"errors": [], "warnings": []})
        else:
            self._of_dataset(path.removeprefix("/api/datasets/"), body)

    def _create(self, wanted: dict[str, Any]) -> None:
        name = f"{wanted.get('organization') or USER}/{wanted['name']}"
        assert wanted["type"] == "dataset"
        if name.startswith(f"{OTHERS}/"):
            self._send(403, {"error": "You don't have the rights"})
            return
        there = name in self.server.datasets
        self.server.datasets.setdefault(name, {})
        self._send(409 if there else 200, {"url": f"{self.server.address}/datasets/{name}", "name": name})

    def _of_dataset(self, path: str, body: bytes) -> None:
        user, name, *rest = path.split("/")
        files = self.server.datasets.get(f"{user}/{name}")
        if files is None:
            self._send(404, {"error": "no such dataset"})
        elif rest[:2] == ["preupload", "main"]:
            paths = [each["path"] for each in json.loads(body)["files"]]
            found = [{"path": each, "uploadMode": "regular", "shouldIgnore": False} for each in paths]
            self._send(200, {"files": found})
        elif rest[:2] == ["tree", "main"]:
            self._send(200, [_entry(name, content) for name, content in files.items()])
        elif rest == ["commit", "main"] and self.server.refused_commits:
            self._send(self.server.refused_commits, {"error": "no"})
        elif rest == ["commit", "main"]:
            for line in map(json.loads, body.splitlines()):
                value = line["value"]
                if line["key"] == "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "deletedFile":
                    del files[value["path"]]
            url = f"{self.server.address}/datasets/{user}/{name}/commit/1"
            self._send(200, {"commitUrl": url, "commitOid": "1" * 40, "hookOutput": ""})
        elif not rest or rest == ["revision", "main"]:
            self._send(200, {"id": f"{user}/{name}", "sha": "1" * 40, "siblings": []})
        else:
            self._send(404, {"error": f"the fake has no {path}"})

    def _send(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def _entry(name: str, content: bytes) -> dict[str, Any]:
    return {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """A Hub that runs in a thread of its own while the block does."""
    hub = FakeHub()
    thread = threading.Thread(target=hub.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        thread.join()
        hub.server_close()
