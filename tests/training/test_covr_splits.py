"""Runs on COVR's splits by predicates: the rows that are trained on, what is recorded, bad input."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from building import Cli, build_demo
from short_runs import HOP, Train, info

from clevrhope._core import covr_property_names
from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.covr_questions import read_description, rows_sha256
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import SETS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.errors import ConfigError
from clevrhope.features.extraction import make_features
from clevrhope.splits.covr.aliases import ALIASES
from clevrhope.splits.covr.expression import holds, parse_expression
from clevrhope.splits.covr.programs import PROGRAM_DRAWS, anonymised_programs
from clevrhope.training import prepared_run
from clevrhope.training.data import Questions
from clevrhope.training.evaluation import evaluate
from clevrhope.training.request import TrainRequest, covr_part_name, default_out
from clevrhope.training.train_sets import choose_covr_split
from wording import check_refused, check_words

SIZE = 2000
PREDICATE = "compscope & has-quant-all"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pair and none with questions about sets, and the true attributes of images that are not rendered."""
    sizes = {"covr_train": SIZE, "covr_dev": 400, "covr_test": 400}
    wanted = {"sizes": sizes, "covr": True, "render": False, "question_json": False}
    out = build_demo(tmp_path_factory.mktemp("covr") / "data", hops=(HOP, "none"), **wanted).folder
    make_features(out, kind="attributes")
    return out


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Questions]:
    """The questions that runs are made of, in their order: those to train on, then those to tune on."""
    made: list[Questions] = []

    class Kept(Questions):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(prepared_run, "Questions", Kept)
    return made


def column(table: QuestionTable, name: str) -> np.ndarray:
    """Whether questions have a property by their file, which the engine wrote, not by the language."""
    has: np.ndarray = table.properties[:, table.property_names.index(name)] == 1
    return has


def of_sets(folder: Path, **changes: Any) -> dict[str, Any]:
    settings = {"hidden": 8, "words": 8, "recipe.batch_size": 16}
    common = {"model": "question_only", "settings": settings, "updates": 3, "dataset": folder}
    return {**common, "split": "covr_train", "size": SIZE, **changes}


def test_a_run_is_trained_and_tuned_without_the_property_but_for_its_shots(
    run: Train, folder: Path, tmp_path: Path, seen: list[Questions]
) -> None:
    sentences: list[str] = []
    request = of_sets(folder, covr_split=PREDICATE, shots=8, tune_on="covr_dev")
    run(tell=sentences.extend, **request)
    layout = Layout(folder)
    rows, dev = (read_table(layout.questions_h5(HOP, name), SETS) for name in ("covr_train", "covr_dev"))
    has, dev_has = (column(each, "compscope") & column(each, "has-quant-all") for each in (rows, dev))
    assert has.sum() > 50
    (trained, tuned) = seen
    # Both questions of a pair have this property, or none has it.
    expected = np.sort([*np.flatnonzero(~has), *np.flatnonzero(has)[:8]])
    np.testing.assert_array_equal(trained.image_idxs, rows.image_idxs[expected])
    np.testing.assert_array_equal(trained.answers, rows.answers[expected])
    assert len(tuned) == (~dev_has).sum() < len(dev)
    assert sentences == [
        f"{has.sum():,} of 2,000 questions of covr_train have {PREDICATE}; as the two questions of a pair go "
        f"together, {len(expected):,} are left with 8 shots"
    ]
    recorded = info(tmp_path / "run")
    assert recorded["train_sha256"] == rows_sha256(layout.questions_h5(HOP, "covr_train"), SIZE)
    assert recorded["covr"] == {
        **{"role": "split", "given": PREDICATE, "predicate": "(compscope & has-quant-all)"},
        **{"shots": 8, "rows": len(expected)},
    }
    check_refused(BindingError, run, **{**request, "shots": 9})
    _, last = evaluate(tmp_path / "run", device="cpu")
    assert set(last.percent) == {"covr_dev", "covr_test", "covr_test_paraphrased", "covr_test_ood"}
    row = json.loads(last.path.read_text().partition("\n")[0])
    assert (row["covr_role"], row["covr_split"], row["shots"]) == ("split", "(compscope & has-quant-all)", 8)


def test_a_run_of_the_same_size_has_the_property_among_its_questions(
    run: Train, folder: Path, tmp_path: Path, seen: list[Questions]
) -> None:
    run(**of_sets(folder, iid_size_of=PREDICATE, shots=8, tune_on="covr_dev"))
    request = TrainRequest(
        "film", folder, HOP, SIZE, 0, tmp_path, split="covr_train", covr_split=PREDICATE, shots=8
    )
    other = choose_covr_split(Layout(folder), request)
    assert other is not None
    (trained, tuned) = seen
    assert len(trained) == len(other.train)
    assert len(tuned) == 400
    first = read_table(Layout(folder).questions_h5(HOP, "covr_train"), SETS).answers[: len(trained)]
    np.testing.assert_array_equal(trained.answers, first)
    assert info(tmp_path / "run")["covr"]["role"] == "iid_size"


def test_drawn_pairs_are_said_and_recorded(run: Train, folder: Path, tmp_path: Path) -> None:
    sentences: list[str] = []
    run(tell=sentences.extend, **of_sets(folder, covr_split="lexical-2 | program"))
    assert sentences[0].startswith("lexical-2: ")
    assert "%) of covr_train; together " in sentences[0]
    predicate = info(tmp_path / "run")["covr"]["predicate"]
    assert predicate.startswith("((lexical:")
    assert predicate.endswith("| program)")


def test_the_digest_of_a_train_set_is_that_of_its_first_questions(folder: Path) -> None:
    path, other = (Layout(folder).questions_h5(HOP, name) for name in ("covr_train", "covr_dev"))
    assert rows_sha256(path, 100) == rows_sha256(path, 100)
    assert len({rows_sha256(path, 100), rows_sha256(path, 101), rows_sha256(other, 100)}) == 3


def test_folders_say_what_is_held_out() -> None:
    assert covr_part_name(None, None, None) == ""
    for alike in (["!a", "a"], ["a & b", "a | b"], ["a & (b|c)", "a & b|c"], ["uses:a*", "uses:a"]):
        assert len({covr_part_name(text, None, 250) for text in alike}) == 2
    assert covr_part_name("a & (b|c)", None, 250) == covr_part_name("a&(b | c)", None, 250)
    assert covr_part_name("has-quant-all", None, 250) == "without-has-quant-all-250"
    assert covr_part_name("lexical:red+cube", None, None) == "without-lexical-red-cube"
    assert len(covr_part_name(" | ".join(["has-quant-all"] * 100), None, 250)) < 120
    assert covr_part_name(None, "a", 0) == "size-of-a"
    out = default_out("m", HOP, 100, 3, "covr_train", "without-a")
    assert out == Path(f"runs/m-{HOP}-covr_train-without-a-100-3")


def test_properties_that_files_have_are_those_of_the_language(folder: Path) -> None:
    for split in ("covr_train", "covr_test_ood"):
        questions = read_description(Layout(folder), HOP, split)
        table = read_table(Layout(folder).questions_h5(HOP, split), SETS)
        assert table.property_names == tuple(covr_property_names())
        for name in table.property_names:
            found = holds(parse_expression(name, questions.words), questions, {})
            np.testing.assert_array_equal(found, column(table, name), name)


def test_each_alias_holds_for_some_questions(folder: Path) -> None:
    questions = read_description(Layout(folder), HOP, "covr_train")
    shares = {name: holds(parse_expression(name, questions.words), questions, {}).mean() for name in ALIASES}
    assert [name for name, share in shares.items() if not 0 < share < 1] == []
    # What several aliases say together is what another says.
    same = "sameattr-size | sameattr-color | sameattr-material"
    for text in (
        "has-quant = has-quant-all | has-quant-some | has-quant-none",
        "has-logic = has-logic-and | has-logic-or",
        "has-num = num-1 | num-2 | num-3 | num-4",
        "num-2-ans-2 = num-2 | answer:2",
        f"tpl-verify-same-attr | tpl-verify-quantifier-attr = {same}",
        "ans-noun = tpl-query-object | tpl-choose-object",
        "!answer:yes-no = answer:number | answer:attribute | answer:noun | answer:relation",
    ):
        left, right = (
            holds(parse_expression(side, questions.words), questions, {}) for side in text.split(" = ")
        )
        np.testing.assert_array_equal(left, right, text)


def test_anonymised_programs_are_those_of_the_engine_and_draws_are_of_whole_programs(folder: Path) -> None:
    questions = read_description(Layout(folder), HOP, "covr_train")
    programs = anonymised_programs(questions.steps)
    assert len(programs.texts) > 100
    of_engine = np.zeros(len(programs.texts), int)
    np.maximum.at(of_engine, programs.of_questions, questions.in_program_split)
    np.testing.assert_array_equal(of_engine[programs.of_questions], questions.in_program_split)
    draws = [programs.drawn(number) for number in PROGRAM_DRAWS]
    for draw in draws:
        held_out, others = (set(programs.of_questions[flags].tolist()) for flags in (draw, ~draw))
        assert not held_out & others
        assert 0.1 < len(held_out) / len(programs.texts) < 0.3
    assert len({draw.tobytes() for draw in draws}) == len(draws)
    # A split that was made once must be made again by a later version, with more questions or fewer.
    fewer = read_description(Layout(folder), HOP, "covr_train", limit=100)
    np.testing.assert_array_equal(anonymised_programs(fewer.steps).drawn(2), draws[1][:100])


def test_the_properties_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs/training.md").read_text("utf-8")
    section = page.partition("## COVR's splits")[2].partition("## Evaluating")[0]
    missing = [name for name in covr_property_names() if f"`{name.removeprefix('tpl-')}`" not in section]
    assert missing == ["tpl-verify-attr"]  # which is there in full
    assert "`tpl-verify-attr`" in section
    rows = [line.replace(r"\|", "OR").split("|")[1:-1] for line in section.splitlines() if line[:3] == "| `"]
    said = [[cell.strip().replace("OR", "|") for cell in row] for row in rows]
    assert said[: len(ALIASES)] == [
        [f"`{name}`", f"`{row.expression}`", row.words] for name, row in ALIASES.items()
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        "--covr-split has-qant",
        "--covr-split lexical:red+cubes",
        "--covr-split 'has-quant-al | uses:filter_colr | answer:yess'",
        "--covr-split 'uses:relate & program-2'",
        "--covr-split uses:scene",
        "--covr-split 'lexical:red+blue & program & has-logic'",
        "--covr-split 'has-logic & ans-num'",
        "--covr-split 'has-quant | !has-quant'",
        "--covr-split program --shots 2000",
        "--shots 50",
        "--covr-split program --split train",
        "--iid-size-of program --split train",
        "--iid-size-of program --covr-split program",
    ],
)
def test_what_does_not_fit_is_said(folder: Path, tmp_path: Path, cli: Cli, arguments: str) -> None:
    options = f"--hop {HOP} --size 2k --seed 4 --split covr_train --device cpu --updates 2"
    command = f"train question_only {folder} --out {tmp_path / 'run'} {options} {arguments}"
    check_words(cli(*shlex.split(command), code=2).err)
    assert not (tmp_path / "run").exists()


def test_the_command_says_what_is_held_out(
    folder: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = "--hop none --size 2k --split covr_train --updates 2 --set hidden=8 --device cpu"
    command = f"train question_only {folder} {options}".split()
    assert "was drawn" not in cli(*command, "--covr-split", "tpl-cout", code=2).err, "before the checks"
    shown = cli(*command, "--covr-split", "tpl-count", "--out", "drawn").err
    assert re.search(
        r"Seed \d+ was drawn; to resume later: clevrhope train .* --out drawn.* --seed \d+", shown
    )
    assert "have tpl-count; " in shown
    cli(*command, "--seed", 4, "--covr-split", "tpl-count", "--shots", 4)
    out = tmp_path / "runs/question_only-none-covr_train-without-tpl-count-4-2000-4"
    assert (out / "finished.json").exists()


def test_predictions_are_not_of_another_train_set(run: Train, folder: Path, tmp_path: Path) -> None:
    run(**of_sets(folder))
    changed = {**info(tmp_path / "run"), "train_sha256": "0" * 64}
    (tmp_path / "run/run.json").write_text(json.dumps(changed))
    check_refused(ConfigError, evaluate, tmp_path / "run", device="cpu")
