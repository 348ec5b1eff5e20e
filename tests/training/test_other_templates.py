"""A trained run on questions from other templates, CLOSURE's: their numbers become the run's by name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from short_runs import HOP, Train, build_demo, rows

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab, read_vocab
from clevrhope.errors import DatasetError
from clevrhope.features.extraction import make_features
from clevrhope.metrics import score
from clevrhope.training.evaluation import evaluate
from clevrhope.training.test_sets import map_vocab

SPLITS = ("complex_iid", "complex_ood")


@pytest.fixture(scope="module")
def closure(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = build_demo(
        tmp_path_factory.mktemp("closure") / "closure",
        templates=test_data / "closure_templates",
        splits=("train", *SPLITS),
        images="h5",
    )
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
    answered = rows(last.path)
    assert {row["answer"] for row in answered} <= set(own.answers())
    words = read_vocab(closure / "vocab.json").questions()
    used: set[str] = set()
    for split in SPLITS:
        for _, questions, _ in read_table(Layout(closure).questions_h5(HOP, split)).blocks():
            used |= {words[token] for token in np.unique(questions).tolist()}
    unknown = sorted(used - set(own.questions()))
    told = f"{len(unknown)} words of the questions were read as <UNK>: {', '.join(unknown)}"
    assert {row.get("note") for row in answered} == {told if unknown else None}
