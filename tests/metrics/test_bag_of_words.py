"""The answers that words give away without an image."""

import json
from pathlib import Path

import numpy as np
import pytest
from building import request
from made_folder import write_lines
from made_suite import suite_answers

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.measured import read_measured, write_measured
from clevrhope.describe.bag_of_words import n_right
from clevrhope.metrics.scores_json import scores_json
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline import build
from clevrhope.pipeline.suites import make_suite

HOP = "rubber_cylinder"
PROMISED = ("is_there_", "verify_", "exactly")
"""Tests of `rad` of which docs/suites.md says that words give nothing away."""


def drawn_words(n: int, seed: int) -> np.ndarray:
    """(n, 6) numbers of words."""
    return np.random.default_rng(seed).integers(4, 30, (n, 6)).astype(np.int32)


def test_a_word_gives_the_answer_away_wherever_it_stands() -> None:
    words = drawn_words(400, 1)
    is_yes = np.random.default_rng(2).random(400) < 0.5
    words[np.arange(400), np.arange(400) % 6] = np.where(is_yes, 40, 41)
    assert n_right(words, is_yes, np.arange(400, dtype=np.int32)) == pytest.approx(400, abs=4)


def test_too_many_words_are_not_fitted() -> None:
    words = np.arange(6000, dtype=np.int32).reshape(1000, 6)
    assert n_right(words, np.arange(1000) % 2 == 0, np.arange(1000, dtype=np.int32)) is None


def test_words_that_say_nothing_reach_a_half() -> None:
    is_yes = np.random.default_rng(2).random(4000) < 0.5
    reached = n_right(drawn_words(4000, 1), is_yes, np.arange(4000, dtype=np.int32))
    assert reached == pytest.approx(2000, abs=120)


def test_an_image_is_in_one_half_alone() -> None:
    """Each image has its own word, so its other question would give its answer away."""
    is_yes = np.repeat(np.random.default_rng(3).random(300) < 0.5, 2)
    images = np.repeat(np.arange(300, dtype=np.int32), 2)
    reached = n_right(images[:, None] + 4, is_yes, images)
    assert reached is not None
    assert reached < 360
    assert n_right(images[:2, None], is_yes[:2], images[:2]) is None


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder without images, large enough that a bag of words would find what there is."""
    out = tmp_path_factory.mktemp("words") / "data"
    sizes = {"complex_iid": 4000}
    build(request(out, hops=(HOP,), splits=("complex_iid",), render=False, sizes=sizes))
    for suite in ("rad", "carets"):
        make_suite(out, suite)
    return out


@pytest.mark.slow
def test_what_promises_more_is_held_to_chance(suites: Path, tmp_path: Path) -> None:
    answers = write_lines(tmp_path / "p.jsonl", suite_answers(suites, HOP, "rad", lambda _, right: right))
    scores = score_suite(suites, "rad", answers, seed=1, bootstrap=0)
    split = scores.condition(HOP).splits["complex_iid"]
    promised = {test: reached for test, reached in split.words.items() if test.startswith(PROMISED)}
    assert len(promised) == 9
    n = {test: scored.mean.counts["n_pairs"] for test, scored in split.by("test").items()}
    for test, reached in promised.items():
        assert reached is not None
        # Three standard deviations of a coin.
        assert abs(reached - 50) < 300 * np.sqrt(0.25 / n[test]), (test, reached, n[test])


@pytest.mark.slow
def test_whether_a_question_says_cube_or_thing_does_not_give_its_answer_away(suites: Path) -> None:
    path = Layout(suites).suite_json(HOP, "carets", "complex_iid")
    rows = json.loads(path.read_text())["questions"]
    yes: dict[bool, list[bool]] = {True: [], False: []}
    for original, partner in zip(rows[::2], rows[1::2], strict=True):
        if original["test"] == "ontology" or original["test"].startswith("extension_"):
            assert original["answer"] == partner["answer"]
            is_specific = len(original["program"]) > len(partner["program"])
            yes[is_specific].append(original["answer"] == "yes")
    assert min(map(len, yes.values())) > 300
    assert abs(np.mean(yes[True]) - np.mean(yes[False])) < 0.1


@pytest.mark.slow
def test_it_stands_beside_the_constant(suites: Path, tmp_path: Path) -> None:
    answers = write_lines(tmp_path / "p.jsonl", suite_answers(suites, HOP, "carets", lambda _, right: right))
    scores = score_suite(suites, "carets", answers, seed=1, bootstrap=0)
    split = scores.condition(HOP).splits["complex_iid"]
    assert split.words.keys() == split.constants.keys()
    assert "choice_color" not in split.words
    found = scores_json(scores)["conditions"][0]["splits"]["complex_iid"]
    assert found["words"] == split.words


def test_scores_read_what_was_measured_when_the_suite_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    build(request(data, hops=(HOP,), splits=("complex_iid",), render=False, sizes={"complex_iid": 120}))
    make_suite(data, "rad")
    answers = write_lines(tmp_path / "p.jsonl", suite_answers(data, HOP, "rad", lambda _, right: right))

    def reached() -> dict[str, float | None]:
        scores = score_suite(data, "rad", answers, seed=1, bootstrap=0)
        return dict(scores.condition(HOP).splits["complex_iid"].words)

    path = Layout(data).hop_measured(HOP)
    measured = read_measured(path)
    tests = measured["suites"]["rad"]["complex_iid"]["tests"]
    known = {name: 100 * (test["partners_by_words"] / test["pairs"]) for name, test in tests.items()}
    with monkeypatch.context() as context:
        context.delattr("clevrhope.describe.bag_of_words.n_right")
        assert reached() == known
    tests["exactly"]["partners_by_words"] = None
    write_measured(path, measured)
    assert reached() == {**known, "exactly": None}
    for test in tests.values():  # as in a folder that was made before these were measured
        del test["partners_by_words"]
    write_measured(path, measured)
    assert reached() == known
