"""A folder that is no dataset gets a sentence that says what it is, from every command that takes one."""

import json
import shutil
from pathlib import Path

import pytest
from building import Cli

from wording import check_words

COMMANDS = {
    "ask": "ask {} --out requests.jsonl",
    "audit": "audit {}",
    "baseline": "baseline {} --kind coin --out p.jsonl",
    "captions": "captions {} --out out",
    "export": "export {} --format clevr --out export",
    "features": "features {} --kind pixels",
    "info": "info {}",
    "score": "score {} p.jsonl",
    "stats": "stats {}",
    "score --suite": "score {} p.jsonl --suite rad",
    "score --covr": "score {} p.jsonl --covr",
    "show": "show {} --hop none --split train --question 0",
    "suite": "suite rad {}",
    "suite --remove": "suite rad {} --remove",
    "suite --train": "suite carets {} --train",
    "suite visual": "suite visual {}",
    "train": "train question_only {} --hop none --size 5",
}
"""A line of each command that takes the folder of a dataset."""

NEEDS = {"train": "torch"}
"""Libraries that some of them need, and that may be missing."""


@pytest.fixture
def folders(limited: Path, tmp_path: Path) -> Path:
    """Folders, files and links that are no dataset."""
    for name in ("empty", "run", "damaged run", "experiment/done", "experiment/runs"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("parent/second", "parent/first", "experiment/data/tiny"):
        (tmp_path / name).mkdir(parents=True)
        shutil.copy(limited / "manifest.json", tmp_path / name)
    (tmp_path / "run/run.json").write_text(json.dumps({"places": {"dataset": "out/small"}}))
    (tmp_path / "damaged run/run.json").write_text("{")
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    return tmp_path


PLACES = ("missing", "empty", "parent", "run", "damaged run", "experiment", "file", "link", "/dev/null")


def sentence(cli: Cli, command: str, folder: Path) -> str:
    """What a command says that refuses a folder."""
    seen = cli(*(str(folder) if word == "{}" else word for word in COMMANDS[command].split()), code=2)
    assert seen.out == ""
    (line,) = (line for line in seen.err.splitlines() if line.startswith("clevrhope: "))
    return line


@pytest.mark.parametrize("place", PLACES)
def test_a_folder_that_is_no_dataset_gets_a_sentence(place: str, folders: Path, cli: Cli) -> None:
    check_words(sentence(cli, "info", folders / place))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_the_same_and_writes_nothing(
    command: str, folders: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders)
    if command in NEEDS:
        pytest.importorskip(NEEDS[command])
    before = sorted(folders.rglob("*"))
    for place in ("missing", "empty", "parent", "run"):
        assert sentence(cli, command, folders / place) == sentence(cli, "info", folders / place)
    assert sorted(folders.rglob("*")) == before


@pytest.mark.parametrize("name", ["ask", "baseline", "export", "score", "suite", "train"])
def test_a_hop_that_is_not_there_lists_those_that_are(
    name: str, limited: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.jsonl").write_text("")
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    error = cli(*COMMANDS[name].format(limited).split(), "--hop", "green_sphere", code=2).err
    assert '"green_sphere"' in error
    assert "there are: cyan_cylinder-d4, cyan_cylinder-d8-grid, red_cube" in error


@pytest.mark.parametrize(
    "words",
    [
        "build rubber_cylinder",
        "suite rad out red_cube",
        "audit out/small red_cube",
        "hops first6",
        "train question_only nowhere --size 5",
    ],
)
def test_a_stray_or_missing_argument_is_named(words: str, cli: Cli) -> None:
    check_words(cli(*words.split(), code=2).err)
