"""Crossings beside their controls and groups of all values: by hand, and simulated models on a real suite."""

from pathlib import Path

import numpy as np
import pytest
from made_folder import write_lines
from made_pairs import ANSWERS, NO, YES, ints
from made_suite import Answer, suite_answers

from clevrhope.__main__ import run_command
from clevrhope.metrics.collector import NOT_GIVEN
from clevrhope.metrics.measures import CROSSINGS
from clevrhope.metrics.pairs import score_groups
from clevrhope.metrics.results import SplitScores
from clevrhope.metrics.score_tables import scores_lines
from clevrhope.metrics.suite_groups import crossing_flags
from clevrhope.metrics.suites import score_suite
from wording import check_words

HOP, OOD = "rubber_cylinder", "complex_ood"


def test_crossings_by_hand() -> None:
    """Of four crossings one is right, of their controls three; a fifth lacks an answer."""
    images, right = ints([0, 0, 1, 2, 3]), ints([NO] * 5)
    crossing = ints([YES, NO, YES, 99, NO])
    control = ints([NO, NO, YES, NO, NOT_GIVEN])
    found = score_groups(
        crossing_flags((right, right), crossing[np.newaxis], control[np.newaxis], ANSWERS),
        CROSSINGS,
        images,
        seed=1,
        bootstrap=200,
    )
    mean = found[""][0].mean
    assert [each.value for each in mean.measures.values()] == [25.0, 75.0, -50.0]
    assert mean.counts == {"n_originals": 4, "n_missing": 1, "n_unread": 1}
    interval = mean["difference"].interval
    assert interval.low <= -50 <= interval.high <= 0


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the suite, whose questions mention the held-out pair."""
    out = tmp_path_factory.mktemp("crossings") / "data"
    asked = ["build", "--hop", HOP, "--seed", "4", "--no-render", "--splits", f"complex_iid,{OOD}"]
    assert run_command([*asked, "--test-questions", "300", "--quiet", "--out", str(out)]) == 0
    assert run_command(["suite", "holdout", str(out), "--quiet"]) == 0
    return out


def scores(folder: Path, file: Path, model: Answer) -> SplitScores:
    given = write_lines(file, suite_answers(folder, HOP, "holdout", model))
    return score_suite(folder, "holdout", given, seed=1, bootstrap=0).condition(HOP).splits[OOD]


def values(scored: SplitScores) -> dict[str, tuple[float | None, ...]]:
    return {
        name: tuple(each.mean[measure].value for measure in measures)
        for by, measures in (("crossings", ("crossing", "control")), ("groups", ("one_yes", "named_yes")))
        for name, each in scored.by(by).items()
    }


GROUPS = {
    f"values_{form}{kind}" for form in ("", "verify_") for kind in ("size", "color", "material", "shape")
}
CROSSING_TESTS = {"crossing_shape", "crossing_verify_shape"}


def test_simulated_models(built: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    oracle = scores(built, file, lambda test, right: right)
    found = values(oracle)
    assert found == dict.fromkeys({*CROSSING_TESTS, *GROUPS}, (100.0, 100.0))
    assert set(oracle.controls.values()) == {"control_shape", "control_verify_shape"}
    assert set(oracle.traits["entailments"]) == {"entailment_material", "entailment_shape"}
    fixed = {name: (each.answer, each.percent) for name, each in oracle.constants.items()}
    assert {fixed[name] for name in CROSSING_TESTS} == {("no", 100.0)}
    assert fixed["entailment_shape"] == ("yes", 100.0)
    assert fixed["values_color"] == ("no", 87.5)

    takes_foils = scores(built, file, lambda test, right: "yes" if test.startswith("crossing") else right)
    found = values(takes_foils)
    assert {found[name] for name in CROSSING_TESTS} == {(0.0, 100.0)}
    assert {each.mean["difference"].value for each in takes_foils.by("crossings").values()} == {-100.0}

    constant = values(scores(built, file, lambda test, right: "no" if test else right))
    assert {constant[name] for name in CROSSING_TESTS} == {(100.0, 100.0)}
    assert {constant[name] for name in GROUPS} == {(0.0, 0.0)}
    wrong_name = values(scores(built, file, lambda test, right: right if test else "7"))
    assert {wrong_name[name] for name in GROUPS} == {(100.0, 0.0)}

    entails = scores(built, file, lambda test, right: "no" if test.startswith("entailment") else right)
    assert entails.by("test")["entailment_shape"].mean["rad"].value == 0.0


def test_tables_say_what_stands_beside_what(built: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    scores(built, file, lambda test, right: "yes" if test == "crossing_shape" else right)
    text = "\n".join(scores_lines(score_suite(built, "holdout", file, seed=1, bootstrap=0)))
    (crossings,) = [part for part in text.split("\n\n") if "crossings, Acc(D')" in part]
    check_words(crossings)
    assert "crossing_verify_shape" in crossings
