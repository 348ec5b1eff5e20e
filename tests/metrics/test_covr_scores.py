"""Scores of predictions about sets of images: accuracies against slow counts, splits, bad input."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli
from made_folder import write_lines

from clevrhope.config.presets import PRESETS
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIR_PLACES, SETS, STRUCTURES
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError, DatasetError, PredictionsError, SplitError
from clevrhope.metrics import Part, score
from clevrhope.metrics.covr import score_covr
from clevrhope.metrics.score_tables import scores_lines
from clevrhope.metrics.text_tables import WHY_NO_SCORE
from clevrhope.pipeline import Request, build
from clevrhope.splits.covr.kinds import COVR_SPLITS
from wording import check_refused, check_words

HOP = "rubber_cylinder"
TESTED = COVR_SPLITS[1:]
PREDICATE = "has-count & !v-c"
SEED = {"seed": 3, "bootstrap": 100}
IsRight = Callable[[int], bool]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("covr") / "data"
    config = PRESETS["demo"]
    sizes = replace(config.sizes, covr_train=600, covr_dev=60, covr_test=300)
    config = replace(config, sizes=sizes, question_json=False)
    build(Request(out=out, hops=(HOP,), config=config, seed=5, covr=True, render=False))
    return out


def rows_of(folder: Path, split: str) -> QuestionTable:
    return read_table(Layout(folder).questions_h5(HOP, split), SETS)


def has_property(folder: Path, split: str) -> np.ndarray:
    """By the names of columns, not by the code of predicates."""
    from clevrhope._core import covr_property_names

    properties = rows_of(folder, split).properties.astype(bool)
    names = covr_property_names()
    flags: np.ndarray = properties[:, names.index("has-count")] & ~properties[:, names.index("v-c")]
    return flags


def answered(
    folder: Path, path: Path, is_right: IsRight, *, splits: tuple[str, ...] = TESTED, **columns: Any
) -> Path:
    """A file of answers to each split, right where `is_right` of the row's number."""
    answers = read_vocab(Layout(folder).covr_vocab).answers()
    rows = []
    for split in splits:
        for row, number in enumerate(rows_of(folder, split).answers):
            answer = answers[number] if is_right(row) else "<UNK>"
            place = {"hop": HOP, "split": split, "question_index": row, "answer": answer}
            rows.append({**place, "model": "mine", "train_size": 600, **columns})
    return write_lines(path, rows)


def frequent(folder: Path, rows: QuestionTable, train: QuestionTable) -> list[int]:
    """Each question's most frequent answer in train, to its template; of choices, among those offered."""
    vocab = read_vocab(Layout(folder).covr_vocab)
    found = []
    for template, program in zip(rows.question_families, rows.programs, strict=True):
        counts = np.bincount(train.answers[train.question_families == template], minlength=100)
        functions = [vocab.programs()[token] for token in program]
        offered = [
            name.partition("[")[2][:-1] for name in functions if name.startswith(("choose_", "option_"))
        ]
        if any(name.startswith("choose_relation") for name in functions):
            offered = ["left", "right"] if offered[0] in ("left", "right") else ["behind", "front"]
            counts[[vocab.answer_token_to_idx[each] for each in offered]] += 1  # neither is zero
        numbers = [vocab.answer_token_to_idx[each] for each in offered] or list(range(100))
        found.append(max(numbers, key=lambda number: counts[number]))
    return found


def held_out(role: str = "split", **columns: Any) -> dict[str, Any]:
    return {"covr_role": role, "covr_split": PREDICATE, "shots": 4, **columns}


def three_runs(
    folder: Path, out: Path, *, text: int, model: int = 2, same: int = 3, held_text: int = 0
) -> list[Path]:
    """Files of a model without the property, of the text alone, and of one on as many questions.

    Each is right on so many of every four questions. There are two of the text: trained on all questions, and
    on those without the property.
    """
    blind = {"model": "question_only"}
    return [
        answered(folder, out / "model.jsonl", lambda row: row % 4 < model, **held_out()),
        answered(folder, out / "text.jsonl", lambda row: row % 4 < text, **blind),
        answered(folder, out / "same.jsonl", lambda row: row % 4 < same, **held_out("iid_size")),
        answered(folder, out / "held_text.jsonl", lambda row: row % 4 < held_text, **held_out(**blind)),
    ]


def test_accuracies_are_those_of_slow_counts(folder: Path, tmp_path: Path) -> None:
    file = answered(folder, tmp_path / "a.jsonl", lambda row: row % 3 == 0)
    (condition,) = score_covr(folder, [file], predicates=[PREDICATE], **SEED).conditions
    assert (condition.model, condition.train_size, condition.training.role) == ("mine", 600, "all")
    assert tuple(condition.splits) == TESTED
    train = rows_of(folder, "covr_train")
    for split, found in condition.splits.items():
        rows = rows_of(folder, split)
        right = np.arange(len(rows)) % 3 == 0
        accuracy = found.mean["accuracy"]
        assert accuracy.value == pytest.approx(100 * right.mean())
        assert accuracy.interval.low < accuracy.value < accuracy.interval.high
        has = has_property(folder, split)
        assert 0 < has.sum() < len(has)
        for by, flags in (("predicate", has), ("not predicate", ~has)):
            of = found.parts[Part(by, PREDICATE)].mean
            assert of["accuracy"].value == pytest.approx(100 * right[flags].mean())
            assert of.counts["n_questions"] == flags.sum()
        for number, name in enumerate(STRUCTURES):
            of = rows.structures == number
            assert (Part("structure", name) in found.parts) == of.any()
            if of.any():
                by_structure = found.by("structure")[name].mean["accuracy"].value
                assert by_structure == pytest.approx(100 * right[of].mean())
        assert len(found.by("template")) == 15
        assert sum(each.mean.counts["n_questions"] for each in found.by("template").values()) == len(rows)
        assert bool(found.by("place")) == (split == "covr_test_ood")
        most = np.bincount(train.answers).argmax()
        for name, answers in (("maj", most), ("maj_templ", frequent(folder, rows, train))):
            assert found.constants[name].percent == pytest.approx(100 * (rows.answers == answers).mean())
    ood = rows_of(folder, "covr_test_ood")
    places = condition.splits["covr_test_ood"].by("place")
    assert list(places) == ["question", "distractor"]
    for name, scored in places.items():
        of = ood.pair_places == PAIR_PLACES.index(name)
        value = scored.mean["accuracy"].value
        assert value == pytest.approx(100 * (np.arange(len(ood)) % 3 == 0)[of].mean())


def test_the_generalisation_score_is_of_three_runs(folder: Path, tmp_path: Path) -> None:
    files = [
        *three_runs(folder, tmp_path, text=1),
        answered(folder, tmp_path / "all.jsonl", lambda row: True),
        answered(folder, tmp_path / "more.jsonl", lambda row: True, **held_out(shots=5)),
    ]
    scores = score_covr(folder, files, **SEED)
    rows = [row for row in scores.predicates if row.training.shots == 4]
    assert [row.split for row in rows] == ["covr_test", "covr_test_paraphrased", "covr_test_ood"]
    row = rows[0]
    has = has_property(folder, "covr_test")
    at = np.flatnonzero(has)
    expected = {
        name: 100 * float((at % 4 < n).mean())
        for name, n in (("text", 1), ("held_out_text", 0), ("held_out", 2), ("iid_size", 3), ("iid", 4))
    }
    assert {name: row.accuracies[name]["accuracy"].value for name in expected} == pytest.approx(expected)
    assert row.filtered == has_property(folder, "covr_train").sum()
    assert (row.n_questions, row.model, row.training.predicate) == (len(at), "mine", PREDICATE)
    for name, text in (("generalisation_score", "text"), ("score_over_held_out_text", "held_out_text")):
        score_ = (expected["held_out"] - expected[text]) / (expected["iid_size"] - expected[text])
        found = row.generalisation[name]["score"]
        assert found.value == pytest.approx(100 * score_)
        assert found.interval.low < found.value < found.interval.high
        assert row.generalisation[name].counts["n_questions"] == len(at)
        long = [each for each in scores.rows() if each.measure == name]
        assert (long[0].value, long[0].part) == (found.value, Part("predicate", PREDICATE, "4 shots"))
    # Without a run on as many questions there is no score.
    (more,) = (row for row in scores.predicates if row.training.shots == 5 and row.split == "covr_test")
    assert ({*more.accuracies}, {**more.generalisation}) == ({"text", "held_out", "iid"}, {})


def test_a_score_that_is_not_defined_is_a_dash_with_its_reason(folder: Path, tmp_path: Path) -> None:
    files = [
        *three_runs(folder, tmp_path, text=2, same=2, held_text=2),
        answered(folder, tmp_path / "more.jsonl", lambda row: True, **held_out(shots=5)),
    ]
    lines = list(scores_lines(score_covr(folder, files, **SEED)))
    (head,) = (line for line in lines if line.endswith("generalisation score  over held-out text"))
    first = lines.index(head) + 2
    assert len(lines[first]) == len(head)
    assert lines[first].endswith("  -")
    assert "interval" not in lines[first + 1]
    assert sum(line.endswith(WHY_NO_SCORE) for line in lines) == 1
    # Runs that are not there are no reason for a dash.
    (of_more,) = (k for k, line in enumerate(lines) if line.startswith(f"{HOP} covr_test, mine, 5 shots"))
    assert not lines[of_more + 1].endswith("-")


def test_runs_of_one_training_are_averaged(folder: Path, tmp_path: Path) -> None:
    files = [
        answered(folder, tmp_path / f"{n}.jsonl", lambda row, n=n: row % 10 < n, run=n, **held_out())
        for n in (4, 8)
    ]
    (condition,) = score_covr(folder, files, **SEED).conditions
    assert condition.runs == ("4", "8")
    mean = condition.splits["covr_test"].mean["accuracy"]
    assert (mean.value, mean.deviation) == (pytest.approx(60), pytest.approx(20 * 2**0.5))


def test_missing_answers_are_an_error_or_left_out(folder: Path, tmp_path: Path) -> None:
    file = answered(folder, tmp_path / "a.jsonl", lambda row: row % 2 == 0, splits=("covr_test",))
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-5]) + "\n")
    check_refused(PredictionsError, score_covr, folder, [file], **SEED)
    (condition,) = score_covr(folder, [file], partial=True, **SEED).conditions
    assert tuple(condition.splits) == ("covr_test",)
    found = condition.splits["covr_test"]
    assert (found.n_missing, found.mean.counts["n_questions"]) == (5, 295)
    assert found.mean["accuracy"].value == pytest.approx(100 * 148 / 295)


def test_what_is_wrong_is_said(folder: Path, tmp_path: Path) -> None:
    file = answered(folder, tmp_path / "a.jsonl", lambda row: True)
    check_refused(PredictionsError, score, folder, file, seed=1)
    for predicate in ("has-cout", "lexical-1"):
        check_refused(ConfigError, score_covr, folder, [file], predicates=[predicate], **SEED)
    for predicate in ("has-logic & ans-num", "has-count | !has-count"):
        check_refused(SplitError, score_covr, folder, [file], predicates=["has-quant", predicate], **SEED)
    role = answered(folder, tmp_path / "b.jsonl", lambda row: True, **held_out("both"))
    shots = answered(folder, tmp_path / "c.jsonl", lambda row: True, **held_out(shots=-1))
    place = {"hop": HOP, "split": "complex_iid", "question_index": 0, "answer": "yes"}
    single = write_lines(tmp_path / "single.jsonl", [place])
    for odd in (role, shots, single):
        check_refused(PredictionsError, score_covr, folder, [odd], **SEED)


def test_a_folder_without_such_questions(tmp_path: Path) -> None:
    config = replace(PRESETS["demo"], question_json=False)
    build(Request(out=tmp_path / "d", hops=("none",), config=config, seed=5, render=False))
    check_refused(DatasetError, score_covr, tmp_path / "d", [tmp_path / "a.jsonl"], **SEED)


@pytest.mark.slow
def test_the_command(cli: Cli, folder: Path, tmp_path: Path) -> None:
    files = three_runs(folder, tmp_path, text=1)
    command = ["score", folder, *files, "--covr", "--seed", "1", "--quiet"]
    check_words(cli(*command, "--bootstrap", "0").out)
    command += ["--bootstrap", "20"]
    found = json.loads(cli(*command, "--json").out)
    expected = score_covr(folder, files, seed=1, bootstrap=20).predicates[0].generalisation
    for name in ("generalisation_score", "score_over_held_out_text"):
        assert found["rows"][0][name]["score"] == expected[name]["score"].value
    assert "--covr does not go with" in cli(*command, "--families", code=2).err
    told = cli("score", folder, files[0], "--covr-split", "has-quant", code=2).err
    assert "--covr-split needs --covr" in told
