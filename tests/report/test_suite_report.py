"""Paired tests in reports: scores of simulated runs, published results below them, and what is left out."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from simulated import HOP, check_part, table_below, text_of, write_run, write_suite_predictions

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.suite_pools import VISUAL_TESTS
from clevrhope.metrics.published import reference_results, same_kinds
from clevrhope.metrics.suites import score_suite
from clevrhope.questions.suites import suite_folder
from clevrhope.report import report

pytestmark = pytest.mark.slow

SPLITS = ("complex_iid", "complex_ood")


@pytest.fixture
def dataset(dataset_with_suites: Path) -> Path:
    return dataset_with_suites


def runs(dataset: Path, out: Path, *suites: str, size: int = 200, **more: Any) -> Path:
    """Two runs that err on the splits' first questions, and on no question of a suite."""
    for seed, share in ((1, 0.2), (2, 0.4)):
        wrong = dict.fromkeys(SPLITS, share)
        run = write_run(out, dataset, model="film", hop=HOP, size=size, seed=seed, wrong=wrong, **more)
        for suite in suites:
            write_suite_predictions(run, dataset, HOP, suite)
    return out


def rows_below(text: str, title: str) -> list[list[str]]:
    """The rows of the table with this title, without its head."""
    return table_below(text, title)[1:]


def test_crossings_and_groups_have_tables(dataset: Path, tmp_path: Path) -> None:
    text = text_of(report([runs(dataset, tmp_path / "runs", "holdout")], tmp_path / "out"))
    pairs = read_table(Layout(dataset).suite_h5(HOP, "holdout", "complex_ood"), PAIRS)
    tests = [pairs.tests[number] for number in pairs.test[::2].tolist()]
    rows = rows_below(text, "Crossings of holdout on complex_ood, Acc(D') in per cent")
    assert [int(row[4]) for row in rows] == [tests.count(row[0]) for row in rows]
    check_part(text, "**Crossings of holdout on complex_ood", "\n\n**")
    assert "Crossings of holdout on complex_iid" not in text
    for split in SPLITS:
        # The originals are those of the split, of which the runs have some wrong.
        check_part(text, f"**Groups of holdout on {split}", "\n\n**")
        check_part(text, f"**RAD of holdout on {split} by test", "\n\n**")
    assert "are yes, so RAD is how often a model that says yes to the original" in text


def test_tests_beyond_the_datasets_own_words_are_named(dataset: Path, tmp_path: Path) -> None:
    text = text_of(report([runs(dataset, tmp_path / "runs", "carets")], tmp_path / "out"))
    assert "Beyond the dataset's own words and functions: " in text


def test_kinds_are_those_of_the_package_and_of_the_papers() -> None:
    tests = {
        entry["test"]
        for suite in ("carets", "rad")
        for path in suite_folder(suite).glob("*.json")
        if path.stem != "originals" and isinstance(entries := json.loads(path.read_text()), list)
        for entry in entries
    }
    assert set(same_kinds()) <= tests | {*VISUAL_TESTS}
    printed = {(each.paper, each.test) for each in reference_results()}
    assert {place for places in same_kinds().values() for place in places} <= printed


def test_results_have_a_row_for_each_measure(dataset: Path, tmp_path: Path) -> None:
    made = report([runs(dataset, tmp_path / "runs", "rad", "holdout")], tmp_path / "out")
    rows = list(csv.DictReader(made.csv.read_text().splitlines()))
    pairs = [row for row in rows if row["suite"]]
    assert {row["suite"] for row in pairs} == {"rad", "holdout"}
    metrics: dict[str, set[str]] = {}
    for row in pairs:
        metrics.setdefault(row["by"], set()).add(row["metric"])
    of_pairs = {
        "pair_accuracy", "consistency", "strict_consistency", "both_right", "original_accuracy",
        "partner_accuracy", "rad", "rad_backward", "rad_minus_accuracy",
    }  # fmt: skip
    assert metrics == {
        "": of_pairs,
        "test": of_pairs | {"constant", "words"},
        "paper's test": of_pairs,
        "coverage": {"coverage"},
        "type": of_pairs,
        "tier": of_pairs,
        "asks": of_pairs,
        "crossings": {"crossing", "control", "difference"},
        "groups": {"one_yes", "named_yes"},
        "replies": {"yes", "no", "other", "right_yes"},
    }
    assert {row["cell"] for row in pairs if row["split"] == "complex_iid"} == {"", "00"}
    partners = [row for row in pairs if row["metric"] == "partner_accuracy"]
    assert {row["mean_percent"] for row in partners} == {"100.0000"}
    assert {(row["split"], row["run"]) for row in partners} == {(s, r) for s in SPLITS for r in "12"}
    assert all(int(row["n"]) > 0 for row in pairs)
    of_groups = {"group_accuracy", "smaller_group_accuracy"}
    of_splits = {"accuracy", "gap", "matched_gap", *of_groups}
    assert {row["metric"] for row in rows if not row["suite"]} == of_splits


def test_unread_answers_are_counted(dataset: Path, tmp_path: Path) -> None:
    wrong = dict.fromkeys(SPLITS, 0.2)
    run = write_run(tmp_path / "runs", dataset, model="film", hop=HOP, size=200, seed=1, wrong=wrong,
                    unanswered={"complex_iid": 0.5})  # fmt: skip
    write_suite_predictions(run, dataset, HOP, "rad")
    made = report([tmp_path / "runs"], tmp_path / "out")
    files = [*run.glob("predictions/*")]
    scored = score_suite(dataset, "rad", files, seed=1, bootstrap=0).condition(HOP, 200).splits
    n_unread = scored["complex_iid"].mean.counts["n_unread"]
    assert n_unread > 0
    text = text_of(made)
    tables = {split: f"Pairs of rad on {split} by test and cell, per cent" for split in SPLITS}
    assert [len(rows_below(text, title)[0]) for title in tables.values()] == [11, 10]
    assert sum(int(row[6]) for row in rows_below(text, tables["complex_iid"]) if row[4] == "00") == n_unread
    rows = list(csv.DictReader(made.csv.read_text().splitlines()))
    counted = {
        row["split"]: row["unanswered"]
        for row in rows
        if row["part"] == "all pairs" and row["metric"] == "pair_accuracy"
    }
    assert counted == {"complex_iid": str(n_unread), "complex_ood": "0"}


def test_nothing_changes_without_predictions_about_suites(dataset: Path, tmp_path: Path) -> None:
    plain = shutil.copytree(dataset, tmp_path / "data")
    for suite in Path(plain, "hops", HOP, "suites").iterdir():
        shutil.rmtree(suite)
    folder = runs(dataset, tmp_path / "runs")
    with_suites = report([folder], tmp_path / "with")
    without = report([folder], tmp_path / "without", dataset=Path(plain))
    assert "Paired" not in text_of(with_suites)
    for name in ("results.csv", "report.md", "report.html"):
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes()
    assert without.csv.read_text().splitlines()[0].endswith("mean_percent,n,low,high")


def test_a_suite_that_is_not_in_the_folder_is_named(dataset: Path, tmp_path: Path) -> None:
    plain = Path(shutil.copytree(dataset, tmp_path / "data"))
    folder = runs(plain, tmp_path / "runs", "carets", "rad")
    shutil.rmtree(plain / "hops" / HOP / "suites" / "rad")
    made = report([folder], tmp_path / "out")
    path = plain / "hops" / HOP / "suites/rad/complex_iid.h5"
    command = f"clevrhope suite rad {plain} --hop {HOP}"
    (skipped,) = made.skipped
    assert skipped.startswith(f"{path}: no such file, though manifest.json lists it; restore it, or make ")
    assert skipped.endswith(command)
    text = text_of(made)
    assert "## Paired tests: carets" in text
    assert "## Paired tests: rad" not in text


def test_missing_answers_sizes_and_collapsed_runs(dataset: Path, tmp_path: Path) -> None:
    folder = runs(dataset, tmp_path / "runs", "rad")
    runs(dataset, tmp_path / "runs", "rad", size=25_000)
    wrong = dict.fromkeys(SPLITS, 1.0)
    bad = write_run(folder, dataset, model="film", hop=HOP, size=200, seed=3, wrong=wrong)
    write_suite_predictions(bad, dataset, HOP, "rad", left_out=1)
    text = text_of(report([folder], tmp_path / "out"))
    assert "2 pairs lack an answer and are left out, summed over runs." in text  # one on each split
    check_part(text, "**Pairs of rad on complex_iid by test and cell", "\n\n**")
