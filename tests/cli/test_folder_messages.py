"""A folder that is no dataset gets a sentence that says what it is, from every command that takes one."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from building import Cli

COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "ask": lambda folder: ["ask", folder, "--out", "requests.jsonl"],
    "audit": lambda folder: ["audit", folder],
    "baseline": lambda folder: ["baseline", folder, "--kind", "coin", "--out", "p.jsonl"],
    "export": lambda folder: ["export", folder, "--format", "clevr", "--out", "export"],
    "features": lambda folder: ["features", folder, "--kind", "pixels"],
    "info": lambda folder: ["info", folder],
    "score": lambda folder: ["score", folder, "p.jsonl"],
    "score --suite": lambda folder: ["score", folder, "p.jsonl", "--suite", "rad"],
    "score --covr": lambda folder: ["score", folder, "p.jsonl", "--covr"],
    "show": lambda folder: ["show", folder, "--hop", "none", "--split", "train", "--question", "0"],
    "stats": lambda folder: ["stats", folder],
    "stats --datasheet": lambda folder: ["stats", folder, "--datasheet"],
    "suite": lambda folder: ["suite", "rad", folder],
    "suite --remove": lambda folder: ["suite", "rad", folder, "--remove"],
    "suite --train": lambda folder: ["suite", "carets", folder, "--train"],
    "suite visual": lambda folder: ["suite", "visual", folder],
    "train": lambda folder: ["train", "question_only", folder, "--hop", "none", "--size", "5"],
}
"""A line of each command that takes the folder of a dataset."""


@pytest.fixture(params=COMMANDS)
def refused(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Path], str]:
    """Gives a folder to a command, which has to refuse it in one sentence, with 2, and write nothing."""
    monkeypatch.chdir(tmp_path)
    if request.param == "train":
        pytest.importorskip("torch")
    if request.param == "stats --datasheet":
        pytest.importorskip("matplotlib")

    def run(folder: Path) -> str:
        before = sorted(tmp_path.rglob("*"))
        seen = cli(*COMMANDS[request.param](str(folder)), code=2)
        assert seen.out == ""
        sentence = seen.err.splitlines()[-1]
        assert [line for line in seen.err.splitlines() if line.startswith("clevrhope: ")] == [sentence]
        assert sorted(tmp_path.rglob("*")) == before
        return sentence.removeprefix("clevrhope: ")

    return run


def test_three_folders_get_three_sentences(
    refused: Callable[[Path], str], limited: Path, tmp_path: Path
) -> None:
    missing, empty, parent = (tmp_path / name for name in ("missing", "empty", "parent"))
    empty.mkdir()
    for name in ("second", "first"):
        (parent / name).mkdir(parents=True)
        shutil.copy(limited / "manifest.json", parent / name)
    assert refused(missing).startswith(f"{missing}: no such folder; give the folder that clevrhope build")
    assert f"{empty}: not a dataset of clevrhope" in (sentence := refused(empty))
    assert "(it has no manifest.json); give the folder that clevrhope build --out wrote" in sentence
    assert refused(parent).endswith(
        f", but a folder that holds datasets; give one of them: {parent / 'first'}, {parent / 'second'}"
    )


def test_a_run_says_what_reads_it_and_what_it_was_trained_on(
    refused: Callable[[Path], str], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"places": {"dataset": "out/small"}}))
    sentence = refused(folder)
    assert "run of clevrhope train, not a dataset of clevrhope" in sentence
    assert 'clevrhope report read runs, and this one was trained on "out/small"' in sentence


def test_a_hop_that_is_not_there_lists_those_that_are(
    limited: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.jsonl").write_text("")
    for name in ("ask", "baseline", "export", "score", "stats", "suite", "train"):
        if name == "train":
            pytest.importorskip("torch")
        error = cli(*COMMANDS[name](str(limited)), "--hop", "green_sphere", code=2).err
        assert '"green_sphere"' in error, name
        assert "there are: cyan_cylinder-d4, cyan_cylinder-d8-grid, red_cube" in error, name


def test_an_experiment_names_its_datasets(tmp_path: Path, limited: Path, cli: Cli) -> None:
    folder = tmp_path / "out"
    for name in ("done", "runs", "data/tiny"):
        (folder / name).mkdir(parents=True)
    sentence = f"clevrhope: {folder}: an experiment, not a dataset of clevrhope; "
    sentence += f"clevrhope report {folder / 'runs'} reads its results"
    assert cli("info", folder, code=2).err == f"{sentence}\n"
    shutil.copy(limited / "manifest.json", folder / "data/tiny")
    assert cli("info", folder, code=2).err == f"{sentence}, and its datasets are {folder / 'data/tiny'}\n"


def test_files_links_and_damaged_runs(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.json").write_text("{")
    for name, words in (
        ("file", "a file; expected the folder of a dataset"),
        ("link", "a link to nothing; expected the folder of a dataset"),
        ("/dev/null", "not a folder; expected the folder of a dataset"),
        ("run", "clevrhope evaluate and clevrhope report read runs"),
        ("n" * 300, "no such folder"),
    ):
        assert cli("info", tmp_path / name, code=2).err.rstrip("\n").removeprefix("clevrhope: ").endswith(
            words
        ) or (words in "no such folder")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["build", "rubber_cylinder"], " (did you mean --hop rubber_cylinder?)"),
        (["build", "none"], " (did you mean --hop none?)"),
        (["plan", "rubber_cilinder"], " (did you mean --hop rubber_cilinder?)"),
        (["build", "all"], " (did you mean --hops all?)"),
        (["build", "out/my_set"], "; usage: clevrhope build [OPTIONS]"),
        (["stats", "out/small", "red_cube"], " (did you mean --hop red_cube?)"),
        (["suite", "rad", "out", "red_cube"], " (did you mean --hop red_cube?)"),
        (["audit", "out/small", "red_cube"], "; usage: clevrhope audit [OPTIONS] DIR"),
        (["hops", "first6"], "; usage: clevrhope hops [OPTIONS]"),
    ],
)
def test_a_stray_argument_says_where_it_could_go(words: list[str], message: str, cli: Cli) -> None:
    assert cli(*words, code=2).err == f'clevrhope: unexpected argument "{words[-1]}"{message}\n'


def test_a_missing_hop_lists_the_folders(limited: Path, cli: Cli) -> None:
    assert cli("train", "question_only", limited, "--size", "5", code=2).err == (
        f"clevrhope: Missing option '--hop'. {limited} has "
        "cyan_cylinder-d4, cyan_cylinder-d8-grid, red_cube\n"
    )
    said = cli("train", "question_only", "nowhere", "--size", "5", code=2).err
    assert said == "clevrhope: Missing option '--hop'.\n"
