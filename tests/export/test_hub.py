"""Exports to the Hugging Face Hub: the real library talks to a server on loopback that stands in for it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from building import Cli, Said
from fake_hub import OTHERS, TOKEN, USER, FakeHub, fake_hub
from truth import HOP

from wording import check_words

NAME = f"{USER}/clevr-hope"


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with fake_hub() as found:
        yield found


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No token and no cache of the user's."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hugging_face"))


@pytest.fixture
def reachable(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.address)
    return hub


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def asked(dataset: Path, out: Path, name: str, *more: str, form: str = "parquet") -> list[str]:
    command = ["export", str(dataset), "--format", form, "--hop", HOP, "--out", str(out), "--push", name]
    return [*command, "--quiet", *more]


@pytest.mark.slow
def test_the_exported_folder_is_uploaded(png_dataset: Path, tmp_path: Path, hub: FakeHub) -> None:
    """In a process of its own, with the settings that a user has."""
    done = subprocess.run(
        [sys.executable, "-m", "clevrhope", *asked(png_dataset, tmp_path / "out", NAME, "--json")],
        env={**os.environ, "HF_ENDPOINT": hub.address, "HF_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pushed_to"] == f"{hub.address}/datasets/{NAME}"
    assert hub.datasets[NAME] == contents(tmp_path / "out")
    asked_first, then = (
        hub.requests.index(each) for each in ("GET /api/whoami-v2", "POST /api/repos/create")
    )
    assert asked_first < then


def test_a_second_upload_replaces_the_tables(
    png_dataset: Path, tmp_path: Path, reachable: FakeHub, cli: Cli
) -> None:
    reachable.datasets[NAME] = {f"{HOP}/train-00000-of-00099.parquet": b"old", "notes.md": b"mine"}
    cli(*asked(png_dataset, tmp_path / "out", NAME))
    wanted = {**contents(tmp_path / "out"), "notes.md": b"mine"}
    assert reachable.datasets[NAME] == wanted


def check_refused(said: Said) -> None:
    """The last line that a command wrote is the sentence of the snapshot."""
    check_words(said.err.splitlines()[-1])


def test_without_a_token(png_dataset: Path, tmp_path: Path, hub: FakeHub, cli: Cli) -> None:
    check_refused(cli(*asked(png_dataset, tmp_path / "out", NAME), code=2))
    assert not (tmp_path / "out").exists()
    assert not hub.requests


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clevr-hope", "a/b/c", "ada/clevr hope", "ada/", "ada/-x"])
def test_a_wrong_name(png_dataset: Path, tmp_path: Path, reachable: FakeHub, cli: Cli, name: str) -> None:
    check_refused(cli(*asked(png_dataset, tmp_path / "out", name), code=2))
    assert not (tmp_path / "out").exists()
    assert not reachable.requests


def test_another_format(png_dataset: Path, tmp_path: Path, reachable: FakeHub, cli: Cli) -> None:
    check_refused(cli(*asked(png_dataset, tmp_path / "out", NAME, form="clevr"), code=2))
    assert not reachable.requests


@pytest.mark.parametrize(
    ("token", "address"),
    [("hf_wrong", None), (TOKEN, "http://127.0.0.1:9")],  # nobody listens there
    ids=["token", "address"],
)
def test_nothing_is_exported_if_the_hub_does_not_answer_the_user(
    png_dataset: Path,
    tmp_path: Path,
    reachable: FakeHub,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
    token: str,
    address: str | None,
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address or reachable.address)
    check_refused(cli(*asked(png_dataset, tmp_path / "out", NAME), code=1))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("user", "status"), [(OTHERS, 0), (USER, 400)], ids=["user", "status"])
def test_an_upload_that_fails_leaves_the_export(
    png_dataset: Path, tmp_path: Path, reachable: FakeHub, cli: Cli, user: str, status: int
) -> None:
    reachable.refused_commits = status
    out = tmp_path / "out"
    check_refused(cli(*asked(png_dataset, out, f"{user}/clevr-hope"), code=1))
    assert (out / "README.md").exists()
