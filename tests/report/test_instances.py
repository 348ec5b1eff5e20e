"""Runs as instances: RAD's regression with known coefficients, and halves of images."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from simulated import HOP, exactly, made_result, write_run, write_suite_predictions

from clevrhope.dataset.question_kinds import PAIRS, SINGLE, TIERS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.pairs import Booleans
from clevrhope.metrics.regression import least_squares
from clevrhope.metrics.suites import score_suite
from clevrhope.report.instances import FEATURES, HALVES, Instance, Rights, measure_instances, regressions
from clevrhope.report.page import Figure
from clevrhope.report.results import measure
from clevrhope.report.runs import Source, find_sources
from clevrhope.splits.kinds import IID, OOD

TESTS = ("is_there_color", "any", "is_there_shape", "rephrase")
N = 2000
"""Questions of each half of a split, and pairs of each test in each half."""


def share(of: float) -> Booleans:
    """(N,) the first ones."""
    flags: Booleans = np.arange(N) < round(of * N)
    return flags


def instance(
    k: int, *, iid: float, ood: float, original: float, both: float, partner: float, drops: bool = False
) -> Instance:
    """A run with these shares right in both halves: of splits, of originals, of pairs and of partners."""
    setup = {"dropped color": 0.5} if drops else {}
    source = Source(Path(f"{k}.jsonl"), Path("data"), "film", Path(f"{k}"), setup=setup)
    accuracies = {OOD: exactly(100 * ood)}
    result = made_result(source=source, train_size=100, run=str(k), accuracies=accuracies)
    images = np.arange(N) * 2
    flags = share(original)
    partners = share(both) | (~flags & (np.arange(N) < round(original * N) + round((partner - both) * N)))
    tests = np.arange(len(TESTS)).repeat(N)

    table = QuestionTable(SINGLE, {"image_idxs": np.concatenate([images, images + 1])})
    own = Rights(table, np.ones(2 * N, dtype=bool), np.tile(share(iid), 2))

    of_half = np.tile(images, len(TESTS))
    columns = {
        "image_idxs": np.concatenate([of_half, of_half + 1]).repeat(2),
        "test": np.tile(tests, 2).repeat(2),
        "tier": np.zeros(4 * len(tests), dtype=np.int8),
    }
    right = np.stack([np.tile(side, 2 * len(TESTS)) for side in (flags, partners)], axis=1).reshape(-1)
    table = QuestionTable(PAIRS, columns, tests=TESTS)
    pairs = Rights(table, np.ones(len(right), dtype=bool), right)
    return Instance(result, own, [pairs])


def simulated(n: int = 45, *, drops: bool = False, seed: int = 1) -> list[Instance]:
    """Runs whose accuracies on changed and on OOD questions follow from RAD, and not from accuracy."""
    generator = np.random.default_rng(seed)
    found = []
    for k in range(n):
        accuracy, rad = generator.uniform(0.4, 0.7), generator.uniform(0.3, 0.9)
        found.append(
            instance(
                k,
                iid=accuracy,
                ood=0.1 + 0.8 * rad,
                original=accuracy,
                both=accuracy * rad,
                partner=0.2 + 0.6 * rad,
                drops=drops,
            )
        )
    return found


def rows_of(instances: list[Instance], table: str) -> dict[tuple[str, str, str], list[str]]:
    """Predicted, instances and features -> the other cells of their row."""
    (found,) = regressions(instances)
    return {(row[0], row[1], row[3]): [row[2], *row[4:]] for row in found[table].rows}


def figures_of(instances: list[Instance], *, draws: bool = True) -> list[Figure]:
    (found,) = regressions(instances, draws=draws)
    figures: list[Figure] = found["figures"]
    return figures


def test_what_follows_from_rad_alone_is_predicted_by_rad_alone() -> None:
    name = "pairs, train sizes and seeds"
    unseen = rows_of(simulated(), "unseen")
    gaps = rows_of(simulated(), "gaps")
    for rows, predicted in ((unseen, "accuracy on the target set"), (gaps, "OOD accuracy")):
        found = {features: rows[predicted, name, features] for features in FEATURES}
        assert {cells[0] for cells in found.values()} == {"45"}
        r2 = {features: float(cells[1].split()[0]) for features, cells in found.items()}
        left_out = {
            features: float(cells[2].split()[0].replace("\N{MINUS SIGN}", "-"))
            for features, cells in found.items()
        }
        assert r2["RAD(D,D')"] > 0.999
        assert r2["Accuracy(D), RAD(D,D'), RAD(D',D)"] > 0.999
        assert r2["Accuracy(D)"] < 0.2
        assert left_out["Accuracy(D)"] < r2["Accuracy(D)"]
    gap = gaps["systematicity gap", name, "Accuracy(D), RAD(D,D'), RAD(D',D)"]
    assert float(gap[1]) > 0.999  # both of what it is made of
    assert float(gaps["systematicity gap", name, "RAD(D,D')"][1]) < 0.95


def test_an_r2_is_the_mean_over_configurations_with_its_deviation() -> None:
    """A configuration has one set of pairs as target, and the others together as features."""
    runs = simulated()
    generator = np.random.default_rng(7)
    for each in runs:
        (pairs,) = each.pairs
        for number in range(3):
            chosen = (pairs.questions.test[::2] == number) & ~pairs.right[::2]
            pairs.right[1::2][chosen] = generator.uniform(size=chosen.sum()) < generator.uniform(0.1, 0.9)
    sets = ("Reph", "Y/N<-C", "Y/N<-HM", "Y/N<-WK")
    found = []
    for kind in sets:
        original, partner = zip(
            *(each.pairs_of([e for e in sets if e != kind], half=0) for each in runs), strict=True
        )
        rad = [(a & b).sum() / a.sum() for a, b in zip(original, partner, strict=True)]
        target = np.array([each.pairs_of([kind], half=1)[1].mean() for each in runs])
        fit = least_squares(np.array(rad)[:, None], target, intercept=True)
        found.append(fit.r2)
    rows = rows_of(runs, "unseen")
    shown = rows["accuracy on the target set", "pairs, train sizes and seeds", "RAD(D,D')"][1]
    assert shown == f"{np.mean(found):.3f} \N{PLUS-MINUS SIGN} {np.std(found, ddof=1):.3f}"
    assert np.std(found) > 0.01


def test_an_r2_that_is_not_there_leaves_no_mean() -> None:
    """If no run has a changed question of one set right, no variance is there to be explained."""
    runs = simulated()
    for each in runs:
        (pairs,) = each.pairs
        pairs.right[1::2][pairs.questions.test[1::2] == TESTS.index("rephrase")] = False
    rows = rows_of(runs, "unseen")
    for features in FEATURES:
        cells = rows["accuracy on the target set", "pairs, train sizes and seeds", features]
        assert cells == ["45", "", "", ""]


def test_published_r2_stand_beside() -> None:
    unseen = rows_of(simulated(), "unseen")
    assert unseen["accuracy on the target set", "published: LMH (VQA-CP)", "RAD(D,D')"][:2] == [
        "45",
        "0.899 \N{PLUS-MINUS SIGN} 0.133",
    ]


def test_instances_that_dropped_questions_are_a_group_of_their_own() -> None:
    rows = rows_of([*simulated(20), *simulated(15, drops=True, seed=2)], "gaps")
    n = {name: cells[0] for (predicted, name, _), cells in rows.items() if predicted == "OOD accuracy"}
    assert n == {"train questions of a type dropped": "15", "pairs, train sizes and seeds": "20", "all": "35"}


@pytest.mark.slow
def test_the_figure_has_a_marker_for_each_run() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install clevrhope[plots]")
    both = [*simulated(20), *simulated(15, drops=True, seed=2)]
    (drawn,) = figures_of(both)
    assert drawn.whole.startswith("<svg ")
    assert drawn.name == "instances_film"
    (again,) = figures_of(both)
    assert again.whole == drawn.whole
    (fewer,) = figures_of(both[:34])
    assert fewer.whole != drawn.whole
    assert figures_of(both, draws=False) == []


def test_too_few_instances_make_no_section() -> None:
    assert regressions(simulated(11)) == []
    assert regressions(simulated(12)) != []


def test_a_run_that_has_nothing_right_is_left_out() -> None:
    hopeless = instance(99, iid=0.3, ood=0.2, original=0.0, both=0.0, partner=0.0)
    rows = rows_of([*simulated(14), hopeless], "gaps")
    assert {cells[0] for cells in rows.values()} == {"14"}


def test_features_and_targets_are_of_different_images() -> None:
    one = simulated(1)[0]
    own = one.own
    own.right[own.questions.image_idxs % 2 == 1] = False
    assert one.accuracy(HALVES[0]) == pytest.approx(200 * own.right.mean(), abs=0.1)
    assert one.accuracy(HALVES[1]) == 0


@pytest.fixture
def dataset(dataset_with_suites: Path) -> Path:
    return dataset_with_suites


def written(out: Path, dataset: Path, wrong: Mapping[int, float], size: int = 200) -> Path:
    """Runs by their seeds, which err on the splits' first questions."""
    for seed, part in wrong.items():
        shares = dict.fromkeys((IID, OOD), part)
        run = write_run(out, dataset, model="film", hop=HOP, size=size, seed=seed, wrong=shares)
        write_suite_predictions(run, dataset, HOP, "rad")
    return out


def test_rights_give_the_scores_of_score_suite(dataset: Path, tmp_path: Path) -> None:
    sources, _ = find_sources([written(tmp_path, dataset, {1: 0.3})])
    (condition,) = score_suite(dataset, "rad", sources[0].path, seed=1, bootstrap=0).conditions
    (one,) = measure_instances(measure(sources)[0], keys=AnswerKey)
    assert one.own.right.mean() == pytest.approx(0.7, abs=0.01)
    (pairs,), mean = one.pairs, condition.splits[IID].mean
    original, partner = pairs.right.reshape(-1, 2).T
    assert 100 * (original & partner).mean() == pytest.approx(mean["both_right"].value)
    assert 100 * original.mean() == pytest.approx(mean["original_accuracy"].value)
    assert 100 * partner.mean() == pytest.approx(mean["partner_accuracy"].value)


def test_pairs_of_an_instance_are_those_of_its_kinds_and_halves(dataset: Path, tmp_path: Path) -> None:
    results, _ = measure(find_sources([written(tmp_path, dataset, {1: 0.3})])[0])
    (one,) = measure_instances(results, keys=AnswerKey)
    (pairs,) = one.pairs
    kinds = ("Y/N<-C", "Y/N<-HM", "Y/N<-WK")
    found = [one.pairs_of([kind], half=half) for kind in kinds for half in HALVES]
    assert all(len(original) == len(partner) > 0 for original, partner in found)
    is_in = pairs.questions.tier[::2] == TIERS.index("in")
    assert sum(len(original) for original, _ in found) == np.count_nonzero(is_in) < len(is_in)
    assert sum(original.sum() for original, _ in found) == pairs.right[::2][is_in].sum()
    assert sum(partner.sum() for _, partner in found) == pairs.right[1::2][is_in].sum()
    assert len(one.pairs_of(["Reph"], half=0)[0]) == 0
    assert 100 * one.own.right.mean() == pytest.approx(results[0].accuracies[IID].value)
