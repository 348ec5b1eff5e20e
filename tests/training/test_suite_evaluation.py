"""Runs on suites and on other templates: what is answered, what is kept, what a model does not know."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from building import Cli, build_demo
from short_runs import HOP, Train, rows

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.questions_h5 import QuestionWriter
from clevrhope.dataset.suite_questions import open_suite
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab, read_vocab
from clevrhope.errors import ConfigError, DatasetError, PredictionsError
from clevrhope.features.extraction import make_features
from clevrhope.metrics import score
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline.paraphrases import make_paraphrases
from clevrhope.runtime.reading import MAX_BYTES
from clevrhope.training.evaluation import PredictionFile, evaluate
from clevrhope.training.predictions import file_digest
from clevrhope.training.test_sets import map_vocab
from wording import check_refused

SPLITS = ("complex_iid", "complex_ood")

Evaluate = Callable[..., tuple[PredictionFile, ...]]


@pytest.fixture
def folder(paired: Path, tmp_path: Path) -> Path:
    """A copy of the dataset with both suites, to be changed."""
    return Path(shutil.copytree(paired, tmp_path / "data"))


@pytest.fixture
def answer(run: Train, folder: Path, tmp_path: Path) -> Evaluate:
    """Trains a run, and evaluates its last weights."""

    def go(**more: Any) -> tuple[PredictionFile, ...]:
        return evaluate(tmp_path / "run", checkpoints=["last"], device="cpu", **more)

    run(dataset=folder)
    return go


def places(path: Path) -> dict[tuple[str | None, str], list[int]]:
    found: dict[tuple[str | None, str], list[int]] = {}
    for row in rows(path):
        found.setdefault((row.get("suite"), row["split"]), []).append(row["question_index"])
    return found


def test_paraphrases_are_answered_without_the_words_that_the_model_lacks(
    answer: Evaluate, folder: Path, tmp_path: Path
) -> None:
    texts = [{"id": f"{HOP}/complex_iid/{row}", "text": f"Which colour, {row}?"} for row in (3, 8)]
    (tmp_path / "texts.jsonl").write_text("".join(f"{json.dumps(text)}\n" for text in texts))
    make_paraphrases(folder, "people", [tmp_path / "texts.jsonl"])
    (made,) = answer(suite="people")
    assert set(made.percent) == {"complex_iid", "people/complex_iid"}
    assert {"3", "8", "colour"} <= set(made.unknown_words)
    assert places(made.path)["people", "complex_iid"] == [1, 3]


def test_a_suite_and_the_originals_are_answered_and_scored(
    answer: Evaluate, folder: Path, tmp_path: Path
) -> None:
    (made,) = answer(suite="carets")
    assert made.path == tmp_path / "run/predictions/last.predict.jsonl"
    assert set(made.percent) == {*SPLITS, *(f"carets/{split}" for split in SPLITS)}
    found = places(made.path)
    for split in SPLITS:
        pairs = read_table(Layout(folder).suite_h5(HOP, "carets", split), PAIRS)
        assert found["carets", split] == np.flatnonzero(pairs.orig_idxs < 0).tolist()
        assert found[None, split] == list(range(len(found[None, split])))
    assert list(rows(made.path)[-1])[:5] == ["hop", "split", "suite", "question_index", "answer"]
    (condition,) = score_suite(folder, "carets", made.path, seed=1, bootstrap=0).conditions
    assert (condition.train_size, condition.runs) == (100, ("3",))
    for scored in condition.splits.values():
        assert (scored.mean.counts["n_pairs"], scored.n_missing) == (scored.n, 0)


def test_answers_that_are_there_are_not_given_again(answer: Evaluate, folder: Path) -> None:
    (alone,) = answer()
    before = rows(alone.path)
    (made,) = answer(suite="carets", splits=["complex_ood"])
    assert set(made.percent) == {"carets/complex_ood"}
    after = rows(made.path)
    assert after[: len(before)] == before
    assert {row["suite"] for row in after[len(before) :]} == {"carets"}
    # Another suite, the same once more, and all splits leave each other's rows as they are.
    answer(suite="rad")
    content = sorted(made.path.read_text().splitlines())
    answer(suite="carets", splits=["complex_ood"])
    answer(splits=["complex_iid"])
    answer()
    assert sorted(made.path.read_text().splitlines()) == content
    assert set(rows(made.path)[0]) == set(before[0])
    # Originals of which some are missing are answered again.
    lines = made.path.read_text().splitlines(keepends=True)
    made.path.write_text("".join(lines[1:]))
    (again,) = answer(suite="rad")
    # So few questions may leave a split without pairs of this suite.
    files = {split: Layout(folder).suite_h5(HOP, "rad", split) for split in SPLITS}
    with_pairs = [split for split, path in files.items() if len(read_table(path, PAIRS))]
    assert "complex_iid" in with_pairs
    assert set(again.percent) == {"complex_iid", *(f"rad/{split}" for split in with_pairs)}
    assert sorted(made.path.read_text().splitlines()) == content


def test_rows_of_other_weights_or_of_another_file_of_pairs_do_not_stay(
    answer: Evaluate, folder: Path, tmp_path: Path
) -> None:
    (made,) = answer(suite="carets")
    path = Layout(folder).suite_h5(HOP, "carets", "complex_ood")
    other = read_table(Layout(folder).suite_h5(HOP, "rad", "complex_ood"), PAIRS)
    assert other.suite == "rad"
    path.write_bytes(Layout(folder).suite_h5(HOP, "rad", "complex_ood").read_bytes())
    check_refused(PredictionsError, score_suite, folder, "carets", made.path, seed=1, bootstrap=0)
    answer(splits=["complex_iid"])
    assert ("carets", "complex_iid") in places(made.path)
    assert ("carets", "complex_ood") not in places(made.path)
    weights = tmp_path / "run/weights"
    shutil.copyfile(weights / "words.safetensors", weights / "last.safetensors")
    check_refused(ConfigError, answer, suite="rad")
    answer()
    assert {suite for suite, _ in places(made.path)} == {None}


def test_a_file_of_pairs_may_be_large(tmp_path: Path) -> None:
    """One of a paper-sized dataset has more bytes than other files may have that are read at once."""
    pairs = tmp_path / "large.h5"
    with pairs.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    first = file_digest("made by", pairs)
    with pairs.open("r+b") as file:
        file.write(b"x")
    assert len({first, file_digest("made by", pairs), file_digest("others", pairs)}) == 3


def test_a_split_without_pairs(answer: Evaluate, folder: Path, tmp_path: Path, cli: Cli) -> None:
    path = Layout(folder).suite_h5(HOP, "rad", "complex_ood")
    pairs = read_table(path, PAIRS)
    none = {name: rows[:0] for name, rows in pairs.arrays().items()}
    attributes = {**pairs.attributes, "n_originals": 0}
    with QuestionWriter(path, hop=HOP, split="complex_ood", pool=pairs.pool, attributes=attributes) as writer:
        writer.append(none)
    (made,) = answer(suite="rad")
    assert set(made.percent) == {*SPLITS, "rad/complex_iid"}
    (condition,) = score_suite(folder, "rad", made.path, seed=1, bootstrap=0).conditions
    assert list(condition.splits) == ["complex_iid"]
    guesses, requests = tmp_path / "guesses.jsonl", tmp_path / "requests.jsonl"
    cli("baseline", folder, "--suite", "rad", "--kind", "symbolic", "--out", guesses)
    cli("ask", folder, "--suite", "rad", "--out", requests)
    for each in (guesses, requests):
        assert set(places(each)) == {("rad", "complex_iid")}


def test_a_suite_that_was_not_made(answer: Evaluate) -> None:
    check_refused(ConfigError, answer, suite="cart")
    check_refused(ConfigError, answer, suite="carets", splits=["minimal_iid"])


def test_unknown_words_are_read_as_such_and_counted(
    answer: Evaluate, folder: Path, tmp_path: Path, cli: Cli
) -> None:
    """They are words of the tests beyond the dataset's own words."""
    layout = Layout(folder)
    names = read_vocab(layout.suite_vocab(HOP, "carets")).questions()
    known = read_vocab(tmp_path / "run/vocab.json").question_token_to_idx
    used: set[str] = set()
    for split in SPLITS:
        rows_of_pairs = read_table(layout.suite_h5(HOP, "carets", split), PAIRS)
        used |= {names[token] for token in np.unique(rows_of_pairs.questions).tolist()}
    unknown = tuple(sorted(used.difference(known)))
    assert len(unknown) > 1
    (made,) = answer(suite="carets")
    assert made.unknown_words == unknown
    notes = {(row.get("suite"), row.get("note")) for row in rows(made.path)}
    note = f"{len(unknown)} words of the questions were read as <UNK>: {', '.join(unknown)}"
    assert notes == {(None, None), ("carets", note)}
    assert score_suite(folder, "carets", made.path, seed=1, bootstrap=0).notes == (note,)
    options = ["--suite", "carets", "--checkpoint", "last", "--quiet", "--device", "cpu"]
    command = ["evaluate", tmp_path / "run", *options]
    assert f"; words read as <UNK>: {len(unknown)}" in cli(*command).out
    (told,) = json.loads(cli(*command, "--json").out)
    assert told["unknown_words"] == list(unknown)


def test_ways_without_an_answer(run: Train, folder: Path, tmp_path: Path) -> None:
    """A program with a function that the model lacks, which no others of CLEVR's replace, has no answer."""
    run(model="tiny_models:Silent", dataset=folder)
    layout = Layout(folder)
    vocab = read_vocab(layout.suite_vocab(HOP, "carets"))
    known = read_vocab(tmp_path / "run/vocab.json").program_token_to_idx
    unknown = [number for name, number in vocab.program_token_to_idx.items() if name not in known]
    assert unknown
    made = {each.way: each for each in evaluate(tmp_path / "run", suite="carets", device="cpu")}
    for split in SPLITS:
        of_suite = open_suite(layout, HOP, "carets", split, vocab=vocab).table
        ((_, _, programs),) = of_suite.blocks()
        has_unknown = np.isin(programs, unknown).any(axis=1)
        has_equivalent = (of_suite.clevr_programs != 0).any(axis=1)
        assert (has_unknown & has_equivalent).sum() > 50
        has_unknown &= ~has_equivalent
        assert has_unknown.sum() > 50
        assert made["yes"].unanswered[f"carets/{split}"] == 0
        # It writes no program for every fifth question.
        expected = has_unknown | (np.arange(len(of_suite)) % 5 == 0)
        assert made["symbolic"].unanswered[f"carets/{split}"] == expected.sum()
    (condition,) = score_suite(folder, "carets", made["yes"].path, seed=1, bootstrap=0).conditions
    by_test = condition.splits["complex_iid"].by("test")
    assert by_test["rephrase"].mean["consistency"].value == 100.0


def test_programs_beyond_clevr_are_read_as_their_equivalents(folder: Path) -> None:
    layout = Layout(folder)
    here, there = read_vocab(layout.vocab), read_vocab(layout.suite_vocab(HOP, "carets"))
    reader = open_suite(layout, HOP, "carets", "complex_iid", vocab=there).table
    made, _ = map_vocab(reader, there=there, here=here, place="", may_lack=True)
    mapped = made.programs
    ((_, _, programs),) = reader.blocks()
    names = there.programs()
    replaced = {"verify": 0, "or": 0, "offer": 0}
    for k, (program, equivalent) in enumerate(zip(programs, mapped, strict=True)):
        said = [here.programs()[token] for token in equivalent if token]
        first = names[program[1]].partition("_")[0]
        root = "offer" if any(names[token].startswith("offer_") for token in program) else first
        if {names[token] for token in program} & {"and", "not"}:
            assert said == []
        elif root in replaced:
            replaced[root] += 1
            assert said[:2] == ["<START>", "exist"] or said[1].startswith("query_")
            assert len(said) == made.program_lengths[k]
        else:
            assert said == [names[token] for token in program if token]
    assert min(replaced.values()) > 10


def test_an_answer_that_the_model_lacks_is_wrong(dataset: Path) -> None:
    layout = Layout(dataset)
    there = read_vocab(layout.vocab)
    reader = read_table(layout.questions_h5(HOP, "complex_iid"))
    names = [name for name in there.answer_token_to_idx if name not in (*SPECIAL_TOKENS, "yes")]
    fewer = {name: k for k, name in enumerate([*SPECIAL_TOKENS, *names])}
    here = Vocab(there.question_token_to_idx, there.program_token_to_idx, fewer)
    made, _ = map_vocab(reader, there=there, here=here, place="", may_lack=True)
    is_yes = reader.answers == there.answer_token_to_idx["yes"]
    assert is_yes.any()
    np.testing.assert_array_equal(made.answers == SPECIAL_TOKENS.index("<UNK>"), is_yes)


@pytest.fixture(scope="module")
def closure(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = build_demo(
        tmp_path_factory.mktemp("closure") / "closure",
        templates=test_data / "closure_templates",
        splits=("train", *SPLITS),
        images="h5",
    ).folder
    make_features(folder, kind="pixels", size=(24, 16))
    return folder


def mixed(numbers: dict[str, int], seed: int) -> dict[str, int]:
    """The same names in another order, the special ones first."""
    names = [name for name in numbers if name not in SPECIAL_TOKENS]
    np.random.default_rng(seed).shuffle(names)
    return {name: number for number, name in enumerate([*SPECIAL_TOKENS, *names])}


def table(before: list[str], after: dict[str, int]) -> np.ndarray:
    return np.asarray([after[name] for name in before], dtype=np.int32)


def test_numbers_of_another_vocabulary_become_the_models_own(dataset: Path) -> None:
    layout = Layout(dataset)
    here = read_vocab(layout.vocab)
    reader = read_table(layout.questions_h5(HOP, "complex_ood"))
    ((_, questions, programs),) = reader.blocks()
    maps = (here.question_token_to_idx, here.program_token_to_idx, here.answer_token_to_idx)
    there = Vocab(*(mixed(dict(each), seed) for seed, each in enumerate(maps)))
    theirs = reader.with_columns(
        answers=table(here.answers(), dict(there.answer_token_to_idx))[reader.answers],
        questions=table(here.questions(), dict(there.question_token_to_idx))[questions],
        programs=table(here.programs(), dict(there.program_token_to_idx))[programs],
    )
    assert not np.array_equal(theirs.answers, reader.answers)
    made, missing = map_vocab(theirs, there=there, here=here, place="there")
    np.testing.assert_array_equal(made.questions, questions)
    np.testing.assert_array_equal(made.programs, programs)
    np.testing.assert_array_equal(made.answers, reader.answers)
    assert missing == ()

    fewer = {name: number for name, number in here.question_token_to_idx.items() if name != "cube"}
    unknown, missing = map_vocab(
        theirs, there=there, here=replace(here, question_token_to_idx=fewer), place=""
    )
    np.testing.assert_array_equal(unknown.questions == 3, questions == here.question_token_to_idx["cube"])
    assert missing == ("cube",)
    functions = {name: number for name, number in here.program_token_to_idx.items() if name != "unique"}
    with pytest.raises(DatasetError, match='there: the function "unique" is in it'):
        map_vocab(theirs, there=there, here=replace(here, program_token_to_idx=functions), place="there")


def test_closure_is_a_further_test_set(run: Train, closure: Path, tmp_path: Path) -> None:
    run()
    own = read_vocab(tmp_path / "run/vocab.json")
    assert own != read_vocab(closure / "vocab.json")
    more: dict[str, Any] = {"checkpoints": ["last"], "out": tmp_path / "closure", "device": "cpu"}
    (last,) = evaluate(tmp_path / "run", dataset=closure, **more)
    assert set(last.percent) == set(SPLITS)
    (condition,) = score(closure, last.path, seed=1, bootstrap=0, hops=[HOP], by=()).conditions
    assert condition.accuracies == pytest.approx(dict(last.percent))
    assert {row["answer"] for row in rows(last.path)} <= set(own.answers())
