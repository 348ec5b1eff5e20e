"""Exit codes: 0 done, 1 failed, 2 wrong input, 130 stopped; docs/cli.md lists them."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from building import Cli

from clevrhope.__main__ import RESUMABLE, commands, run_command
from waiting import HANG_S, wait_until

MISSING = {
    "answers": "nowhere --requests nowhere --out a.jsonl",
    "ask": "nowhere --out a.jsonl",
    "audit": "nowhere",
    "baseline": "nowhere --kind coin --out a.jsonl",
    "browse": "nowhere",
    "build": "--hop none --templates nowhere --out out",
    "captions": "nowhere --out out",
    "devices": "nowhere",
    "doctor": "nowhere",
    "evaluate": "nowhere",
    "experiment": "nowhere",
    "export": "nowhere --format clevr --out out",
    "features": "nowhere --kind pixels",
    "hops": "nowhere",
    "import": "nowhere --out out",
    "info": "nowhere",
    "merge": "nowhere --hop none --out out",
    "plan": "--hop none --templates nowhere --out out",
    "questions": "nowhere --out out.json",
    "render": "nowhere --out out",
    "report": "nowhere --out out",
    "score": "nowhere nowhere",
    "show": "nowhere --hop none --split train --question 0",
    "stats": "nowhere",
    "suite": "rad nowhere",
    "train": "question_only nowhere --hop none --size 5",
    "verify": "nowhere",
}
"""A line of each command with a file or folder that is not there, or an argument that it does not take."""


def test_each_command_has_a_line() -> None:
    assert MISSING.keys() == commands.commands.keys()


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_folder_is_wrong_input(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    if name in ("evaluate", "train"):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    seen = cli(name, *MISSING[name].split(), code=2)
    assert seen.out == ""
    (sentence,) = (line for line in seen.err.splitlines() if line.startswith("clevrhope: "))
    assert "nowhere" in sentence
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", MISSING)
def test_an_unknown_option_is_wrong_input(name: str, cli: Cli) -> None:
    assert "--no-such-option" in cli(name, "--no-such-option", code=2).err


@pytest.mark.parametrize(
    "words",
    [
        "audit {} --quiet",
        "show {} --hop red_cube --split train --question 0",
        "export {} --format clevr --no-images --hop red_cube --out out --quiet",
        "baseline {} --kind majority --hop red_cube --out p.jsonl",
    ],
)
def test_a_damaged_file_is_a_failure(
    words: str, limited: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    folder = Path(shutil.copytree(limited, tmp_path / "set"))
    monkeypatch.chdir(tmp_path)
    path = folder / "hops/red_cube/train.h5"
    path.write_bytes(path.read_bytes()[:2000])
    assert "Traceback" not in cli(*words.format(folder).split(), code=1).err


@pytest.mark.parametrize("name", sorted(MISSING))
def test_a_stopped_command_is_130(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever it was doing; those that can resume say so."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands.commands[name], "callback", stop)
    line = [name, *(MISSING[name].split() if name not in ("devices", "doctor", "hops") else [])]
    assert run_command(line) == 130
    says = "stopped; run the same command to resume" if name in RESUMABLE else "stopped"
    assert capsys.readouterr().err == f"clevrhope: {says}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_stopped_ends_with_130(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "out"
    words = ["build", "--hops", "all", "--preset", "paper", "--no-render", "--seed", "1", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "clevrhope", *words], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    wait_until(lambda: out.exists() or process.poll() is not None, "the folder is made")
    process.send_signal(number)
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "clevrhope: stopped; run the same command to resume"
    assert "" not in err.splitlines()


def test_the_page_lists_the_codes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    for code in (0, 1, 2, 130):
        assert f"\n| {code} | " in page
    resumable = page[page.index("| 130 |") :].splitlines()[0]
    assert all(f"`{name}`" in resumable for name in RESUMABLE)
