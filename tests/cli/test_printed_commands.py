"""Commands that messages and results name: they can be pasted into a shell, and do what is said of them."""

import ast
import json
import re
import shlex
from pathlib import Path

import click
import pytest
from building import Cli, build_demo

import clevrhope
from clevrhope.__main__ import commands
from clevrhope.errors import command_line

PACKAGE = Path(clevrhope.__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset whose path has a space."""
    out = tmp_path_factory.mktemp("a folder") / "my data"
    build_demo(out, splits=("train", "complex_ood"))
    return out


def pieces(string: ast.JoinedStr) -> str:
    """The text of an f-string, in which a tab stands for each value."""
    return "".join(str(each.value) if isinstance(each, ast.Constant) else "\t" for each in string.values)


def test_no_command_is_put_together_without_quotes() -> None:
    names = "|".join(commands.commands)
    unquoted = re.compile(rf"\bclevrhope ({names})( [\w./-]+)* *\t")
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if "clevrhope " in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.JoinedStr) and unquoted.search(pieces(node))
    ]
    assert found == []


def test_words_of_a_command_are_quoted() -> None:
    words = ("train", "a model", Path("out/my data"), "--covr-split", "has-count & has-attr", "--size", 5)
    line = command_line(*words)
    assert line.startswith("clevrhope train 'a model' 'out/my data' --covr-split 'has-count & has-attr'")
    assert shlex.split(line)[1:] == [str(word) for word in words]


@pytest.mark.slow
def test_an_experiments_plan_can_be_pasted(cli: Cli, folder: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install clevrhope[train]")
    grid = f"""
        [[dataset]]
        name = "own"
        folder = "{folder}"
        [[dataset.build]]
        hops = ["rubber_cylinder"]
        [[model]]
        name = "question_only"
        sizes = [50]
        seeds = [1]
        drops = ["color=0.5"]
        [model.set]
        "recipe.batch_size" = 32
    """
    Path("my grid.toml").write_text(grid)
    told = cli("experiment", "my grid.toml", "--plan", "--out", "a grid").out
    lines = [line[len("to do  ") :] for line in told.splitlines() if line.startswith("to do")]
    for line in lines:
        _, name, *words = shlex.split(line)
        commands.commands[name].make_context(name, words)
    train = shlex.split(next(line for line in lines if line.startswith("clevrhope train")))
    assert train[3] == str(folder)
    assert train[train.index("--out") + 1].startswith("a grid/")
    plan = json.loads(cli("experiment", "my grid.toml", "--plan", "--out", "a grid", "--json").out)
    assert [step["command"] for step in plan["steps"]] == lines
    assert (plan["runs"], plan["done"], plan["problems"]) == (1, 0, [])


def test_a_drawn_seed_comes_with_the_whole_command(cli: Cli, folder: Path) -> None:
    asked = ["ask", folder, "--limit", 3, "--out", "my requests.jsonl"]
    (line,) = re.findall(r"to reproduce: clevrhope (.+)$", cli(*asked).err, re.MULTILINE)
    first = Path("my requests.jsonl").read_bytes()
    Path("my requests.jsonl").unlink()
    assert "to reproduce" not in cli(*shlex.split(line)).err
    assert Path("my requests.jsonl").read_bytes() == first


def test_a_build_says_how_to_repeat_it(cli: Cli, tmp_path: Path) -> None:
    sizes = tmp_path / "my sizes.toml"
    sizes.write_text("[sizes]\ncomplex_ood = 6\n")
    build = ["build", "--hop", "rubber_cylinder", "--splits", "complex_ood", "--no-render"]
    told = cli(*build, f"--config={sizes}", "--out", "my data").out
    (line,) = re.findall(r"^To reproduce: clevrhope (.+)$", told, re.MULTILINE)
    assert line.endswith("--out 'my data' --seed " + line.rpartition(" ")[2])
    Path("my data").rename("first")
    assert f"To reproduce: clevrhope {line}\n" in cli(*shlex.split(line)).out
    told = cli(*shlex.split(line), "--nonce", 2).out
    assert "To reproduce: clevrhope info 'my data' prints the 2 commands that made this folder\n" in told
    files = [path.relative_to("first") for path in sorted(Path("first").rglob("*.h5"))]
    assert files
    for path in files:
        assert (Path("my data") / path).read_bytes() == (Path("first") / path).read_bytes()


def test_commands_that_name_the_next_one_print_it_as_json_too(cli: Cli, folder: Path) -> None:
    options = ["--kind", "majority", "--out", "majority of all.jsonl"]
    told = cli("baseline", folder, *options).out.splitlines()
    made = json.loads(cli("baseline", folder, *options, "--json").out)
    assert told[1] == f"To score them: {made['next']}"
    assert (made["model"], made["n"]) == ("majority", len(Path(made["predictions"]).read_text().splitlines()))
    cli(*shlex.split(made["next"])[1:], "--bootstrap", 0)

    asked = json.loads(cli("ask", folder, "--limit", 2, "--seed", 4, "--out", "q r.jsonl", "--json").out)
    assert asked["files"] == ["q r.jsonl"]
    assert (asked["requests"], asked["seed"]) == (2, 4)
    assert asked["next"] == "clevrhope answers REPLIES.jsonl --requests 'q r.jsonl' --out predictions.jsonl"

    words = ["report", "majority of all.jsonl", "--dataset", folder, "--out", "a report"]
    made = json.loads(cli(*words, "--json").out)
    assert Path(made["html"]).is_file()
    assert (made["sets"], made["left_out"]) == (1, [])


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_whatever_prints_a_result_prints_json(name: str) -> None:
    command = commands.commands[name]
    inner = [*command.commands.values()] if isinstance(command, click.Group) else [command]
    for each in inner:
        options = {option for param in each.params for option in param.opts}
        assert ("--json" in options) == (name != "browse")  # a server
