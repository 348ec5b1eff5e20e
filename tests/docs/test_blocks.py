"""Every block of code on the site, in README and in CONTRIBUTING runs, with small sizes.

A page's blocks run in their order in a folder of the page's own, in which `out/small` is a small dataset.
A page says which of its blocks cannot run, and why (`page_blocks`).
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path

import click
import pytest

pytest.importorskip("torch")

from clevr_making import make_clevr
from page_blocks import Block, read_blocks

from benchmarks.__main__ import benchmarks
from clevrhope.__main__ import commands, run_command
from clevrhope.config.sources import resolve_config
from clevrhope.experiments.reading import shipped_experiments

REPOSITORY = Path(__file__).parents[2]
PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
]

SMALL_WORLD = """
[rendering]
renderer = "native"
quality = "draft"
width = 96
height = 64
"""
"""What builds are given beside what a page says, so that their images are made soon."""

SMALL_MODELS: Mapping[str, Sequence[str]] = {
    "tensor_nmn": (
        "channels=8",
        "classifier_channels=8",
        "classifier_hidden=16",
        "generator_words=8",
        "generator_hidden=8",
        "recipe.batch_size=8",
    ),
    "object_transformer": ("hidden=16", "layers=1", "heads=2", "recipe.batch_size=8"),
    "question_only": ("recipe.batch_size=8",),
}

SMALL_EXPERIMENT: Mapping[str, str] = {
    "train = 64000": "train = 640",
    "complex_iid = 2000": "complex_iid = 90",
    "complex_ood = 1000": "complex_ood = 45",
    '["64k"]': "[640]",
    "updates = 800": "updates = 3",
    "updates = 400": "updates = 3",
}
"""What the first experiment says -> what stands in for it."""

ON_THIS_MACHINE = {
    "/data/CLEVR_v1.0": "data/CLEVR_v1.0",
    "limit=5_000": "limit=50",
    '("rubber_cylinder", 25000)': '("rubber_cylinder", 162)',  # the train size of the baseline
}
"""What blocks say -> what stands in for it here."""


def lines_of(code: str) -> list[list[str]]:
    """The commands of a block, each as its words, without comments."""
    lines = [shlex.split(line, comments=True) for line in code.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line]


def smaller(command: Sequence[str]) -> list[str]:
    """The command with other sizes and updates, and nothing else changed."""
    made = list(command)
    if "--edition" in made:  # content is fixed, so that only the part can be smaller
        pair = [] if "--hop" in made else ["--hop", "cyan_cylinder"]
        return [*made, *pair, "--splits", "minimal_ood", "--no-render"]
    if made[0] in ("build", "plan", "merge", "export"):
        for option in ("--train-questions", "--test-questions"):
            if option in made:
                made[made.index(option) + 1] = "90"
    if made[0] in ("build", "plan", "merge"):
        if "--preset" in made:
            made[made.index("--preset") + 1] = "small" if "--covr" in made else "demo"
        if "--config" not in made:
            made += ["--config", "small_world.toml"]
        if made[0] == "build" and "all" in made:
            made += ["--no-render"]
    elif made[:2] == ["experiment", "first"]:
        text = shipped_experiments()["first"].read_text("utf-8")
        for large, small in SMALL_EXPERIMENT.items():
            assert large in text
            text = text.replace(large, small)
        made[1] = "first.toml"
        Path(made[1]).write_text(text, "utf-8")
    elif made[0] == "train":
        if "covr_train" not in made:
            made[made.index("--size") + 1] = "64"
        if "--updates" in made:
            made[made.index("--updates") + 1] = "3"
        else:
            made += ["--updates", "3"]
        made += ["--device", "cpu"]
        settings = SMALL_MODELS.get(made[1], ())
        for place, word in enumerate(made):
            for setting in settings:
                if word.startswith(setting.partition("=")[0] + "="):
                    made[place] = setting
        there = {each.partition("=")[0] for each in made}
        for setting in settings:
            if setting.partition("=")[0] not in there:
                made += ["--set", setting]
    return made


def check_command(words: Sequence[str], command: click.Command = commands) -> None:
    """Raises what click raises if the command or one of its options does not exist."""
    context = click.Context(command, info_name="clevrhope")
    rest = list(words)
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command, context = found, click.Context(found, info_name=name, parent=context)
    command.make_parser(context).parse_args(rest)


def run_line(words: list[str], *, only_read: bool) -> None:
    """Runs a line of a shell, or checks it: a command of ours, make, pip or the environment's activation."""
    program, *arguments = words
    if program == "clevrhope":
        target = arguments.pop() if ">" in arguments else ""
        arguments = [each for each in arguments if each != ">"]
        if only_read:
            check_command(arguments)
            return
        spread = [
            found
            for each in arguments
            for found in (sorted(map(str, Path().glob(each))) if "*" in each else [each])
        ]
        if target:
            with Path(target).open("w") as file, redirect_stdout(file):
                code = run_command(smaller(spread))
        else:
            code = run_command(smaller(spread))
        assert code == 0, shlex.join(smaller(spread))
    elif program == "make":
        targets = re.findall(r"^([a-z0-9-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
        assert arguments[0] in targets
    elif program in ("pip", "uv"):
        extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"][
            "optional-dependencies"
        ]
        for named in re.findall(r"\[([a-z,]+)\]", " ".join(arguments)):
            assert set(named.split(",")) <= set(extras)
    elif program in (".", "export"):
        assert arguments in ([".venv/bin/activate"], ["OMP_NUM_THREADS=1"])
    elif words[:3] == ["python", "-m", "benchmarks"] and only_read:
        check_command(arguments[2:], benchmarks)
    elif program == "python":
        subprocess.run([sys.executable, *arguments], check=True)
    else:
        assert only_read, f"no test knows how to run {program}"


def run_block(block: Block, names: dict[str, object]) -> None:
    """Runs or checks one block."""
    for command in block.first:
        run_line(shlex.split(command), only_read=False)
    if block.elsewhere:
        assert (REPOSITORY / block.elsewhere).is_file()
    elif block.language == "sh":
        for words in lines_of(block.code):
            run_line(words, only_read=bool(block.only_read))
    elif block.language == "python":
        compiled = compile(block.code, f"line {block.line}", "exec")
        if block.title:
            Path(block.title).write_text(block.code)
        elif not block.only_read:
            exec(compiled, names)
    elif block.language == "toml":
        tomllib.loads(block.code)
        file = Path(block.title or "block.toml")
        file.write_text(block.code)
        if not block.only_read:
            resolve_config(file=file)
    elif block.language == "json":
        for text in block.code.strip().splitlines() if block.code.startswith('{"hop"') else [block.code]:
            json.loads(text if text.lstrip().startswith("{") else f"{{{text}}}")
    else:
        assert block.language == "text", f"no test knows how to run {block.language}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all pages begin with."""
    home = tmp_path_factory.mktemp("pages")
    with chdir(home):
        Path("small_world.toml").write_text(SMALL_WORLD)
        build = "build --hop rubber_cylinder --hop none --preset demo --passes mask --config small_world.toml"
        assert run_command([*build.split(), "--seed", "1", "--out", "out/small", "--quiet"]) == 0
        Path("out/demo").symlink_to("small")
        clevr = make_clevr(Path("data/CLEVR_v1.0"), 40)
        clevr.paint(clevr.sampled)
        shutil.copy(clevr.scenes, "CLEVR_val_scenes.json")
        colors = ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"]
        for name, odd in (("A", 0), ("B", 1)):
            palette = {"cube": colors[odd::2], "cylinder": colors[1 - odd :: 2], "sphere": colors}
            Path(f"CoGenT_{name}.json").write_text(json.dumps(palette))
    return home


@pytest.fixture
def workplace(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it, in which a page's blocks run."""
    shutil.copytree(home, tmp_path / "page", symlinks=True, copy_function=os.link)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hugging_face"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "page" / "tests").symlink_to(REPOSITORY / "tests")
    with chdir(tmp_path / "page"):
        yield tmp_path / "page"
    sys.modules.pop("mine", None)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run(page: Path, workplace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {"__name__": "page"}
    for block in read_blocks(page):
        code = block.code
        for written, there in ON_THIS_MACHINE.items():
            code = code.replace(written, there)
        try:
            run_block(Block(**{**vars(block), "code": code}), names)
        except BaseException as error:
            raise AssertionError(
                f"{page.name}:{block.line}: {error}\n{capfd.readouterr().err[-2000:]}"
            ) from error


def test_most_blocks_run() -> None:
    blocks = [block for page in PAGES for block in read_blocks(page) if block.language in ("sh", "python")]
    read = [block for block in blocks if block.only_read]
    assert len(blocks) > 60
    assert len(read) <= len(blocks) / 7, [block.only_read for block in read]


def test_blocks_without_a_language_or_with_other_remarks_are_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```\nclevrhope build\n```\n")
    with pytest.raises(ValueError, match=r"page\.md:1: a block needs a language"):
        list(read_blocks(page))
    page.write_text("<!-- test: skip -->\n```sh\nclevrhope build\n```\n")
    with pytest.raises(ValueError, match='none understands: "skip"'):
        list(read_blocks(page))
    page.write_text('<!-- test: only read, no GPU -->\n```python title="a.py"\n1\n```\n')
    assert list(read_blocks(page)) == [Block("python", "1\n", 2, "a.py", (), "no GPU", "")]


def test_a_command_that_does_not_exist_is_found() -> None:
    check_command(["render", "--images", "16"], benchmarks)
    with pytest.raises(click.NoSuchOption):
        check_command(["render", "--photos", "16"], benchmarks)
    with pytest.raises(click.UsageError, match="No such command"):
        check_command(["biuld"])
