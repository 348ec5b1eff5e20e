"""Gaps from the paper's printed accuracies against its printed gaps; and from runs worked out by hand."""

import csv
from dataclasses import asdict
from importlib.resources import as_file, files

import pytest

from clevrhope.errors import PredictionsError
from clevrhope.metrics import gap_by_diversity, paper_results
from clevrhope.metrics.published import size_name, size_number
from wording import refused


def row(split: str, percent: float, **more: object) -> dict[str, object]:
    plain = {"model": "m", "hop": "red_cube", "diversity": 24, "train_size": "25k"}
    return {**plain, "split": split, "mean_percent": percent, **more}


def test_the_papers_figures_are_all_there() -> None:
    results = paper_results()
    assert len(results) == 968
    assert sum(each.metric == "gap" for each in results) == 104
    first = results[0]
    assert (first.table, first.model, first.hop, first.mean_percent) == (4, "lxmert_p", "cyan_cylinder", 64.8)


def test_the_papers_gaps_follow_from_its_accuracies() -> None:
    gaps = gap_by_diversity(asdict(each) for each in paper_results())
    printed = [each for each in paper_results() if each.metric == "gap"]
    assert len(printed) == len(gaps) == 104
    for each in printed:
        found = gaps[each.model, each.split, each.diversity, each.train_size]
        assert found == pytest.approx(each.mean_percent, abs=0.011)


def test_rows_may_come_straight_from_the_file() -> None:
    with as_file(files("clevrhope.metrics") / "paper_results.csv") as path:
        gaps = gap_by_diversity(csv.DictReader(path.read_text().splitlines()))
    assert gaps["tensor_nmn", "complex", "4", "400k"] == pytest.approx(-9.54, abs=0.011)


def test_a_mean_is_over_all_hops_and_runs_with_both_halves() -> None:
    rows = []
    for hop, run, ood in (("red_cube", "1", 80), ("red_cube", "2", 90), ("blue_cube", "1", 103)):
        rows += [row("complex_ood", ood, hop=hop, run=run), row("complex_iid", 90, hop=hop, run=run)]
    rows.append(row("complex_ood", 10, hop="gray_cube"))  # without its other half
    rows += [row("minimal_ood", 75, train_size="50k"), row("minimal_iid", 70)]  # of two sizes
    assert gap_by_diversity(rows) == {("m", "complex", 24, "25k"): 1}


def test_rows_that_are_none_are_named() -> None:
    with refused(PredictionsError):
        gap_by_diversity([row("complex_iid", 1), row("complex_iid", 2)])
    lacking = row("complex_iid", 1)
    del lacking["hop"]
    with refused(PredictionsError):
        gap_by_diversity([lacking])


@pytest.mark.parametrize(("number", "name"), [(25000, "25k"), (560000, "560k"), (2500, "2500"), (None, "")])
def test_sizes_are_written_as_in_the_paper(number: int | None, name: str) -> None:
    assert size_name(number) == name
    assert size_number(name) == (-1 if number is None else number)
