"""The commands of README and docs that build, train and score, run as they stand, with small sizes."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch")

from clevrhope.__main__ import run_command

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
TRAINING, SUITES = "docs/training.md", "docs/suites.md"

SMALL_WORLD = """
[rendering]
renderer = "native"
quality = "draft"
width = 96
height = 64
"""
"""What `--config` is given, beside what the page says: images of another size are made soon."""

SMALL_MODELS: Mapping[str, Sequence[str]] = {
    "tensor_nmn": (
        "channels=8",
        "classifier_channels=8",
        "classifier_hidden=16",
        "generator_words=8",
        "generator_hidden=8",
        "recipe.batch_size=8",
    ),
    "mine:BagAndConv": (),
    "object_transformer": (),
}


def commands_with(page: str, words: str) -> list[list[str]]:
    """The commands of all blocks of a page that hold these words, each as its words."""
    text = (REPOSITORY / page).read_text("utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    block = "".join(each for language, each in fenced if not language and words in each)
    assert block
    lines = [shlex.split(line, comments=True) for line in block.replace("\\\n", " ").splitlines()]
    return [line[1:] for line in lines if line and line[0] == "clevrhope"]


def smaller(command: Sequence[str]) -> list[str]:
    """The command with other sizes and updates, and nothing else changed."""
    made = list(command)
    if made[0] == "build":
        made[made.index("--preset") + 1] = "demo"
        made += ["--config", "small_world.toml", "--quiet"]
    elif made[0] == "train":
        made[made.index("--size") + 1] = "64"
        made += ["--updates", "3", "--device", "cpu", "--quiet"]
        there = {each.partition("=")[0] for each in command}
        for setting in SMALL_MODELS[made[1]]:
            if setting.partition("=")[0] not in there:
                made += ["--set", setting]
    return made


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where out/small is, as training.md builds it."""
    home = tmp_path_factory.mktemp("documented")
    (home / "small_world.toml").write_text(SMALL_WORLD)
    build, *_ = commands_with(TRAINING, "clevrhope train")
    assert build[0] == "build"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        assert run_command(smaller(build)) == 0
    return home


@pytest.mark.parametrize(
    ("page", "kinds"),
    [
        (TRAINING, "build features train evaluate score suite train suite evaluate score"),
        ("docs/models_of_your_own.md", "features train evaluate score"),
        (SUITES, "features train evaluate evaluate score report"),
        ("README.md", "build features train evaluate report"),
    ],
)
def test_what_a_page_says_works(
    page: str,
    kinds: str,
    built: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out").symlink_to(built / "out")
    Path("small_world.toml").symlink_to(built / "small_world.toml")
    code = (REPOSITORY / "docs/models_of_your_own.md").read_text("utf-8").split("```python\n")[1]
    Path("mine.py").write_text(code.split("```")[0])
    commands = commands_with(page, "clevrhope train")
    if page == TRAINING:
        commands += commands_with(page, "runs/one --suite")
    if page == SUITES:
        _, *suites = commands_with(page, "clevrhope build")
        assert {command[0] for command in suites} == {"suite"}
        assert all(run_command(command) == 0 for command in suites)
    assert " ".join(command[0] for command in commands) == kinds
    for command in commands:
        assert run_command(smaller(command)) == 0, (command, capfd.readouterr().err)
    assert "complex_ood" in capfd.readouterr().out
