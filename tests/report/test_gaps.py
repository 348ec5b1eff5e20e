"""The paper's printed gaps, which follow from its printed accuracies."""

from statistics import fmean

import pytest

from clevrhope.metrics import paper_results
from clevrhope.metrics.published import size_name, size_number
from clevrhope.report.tables import paper_gaps


def test_the_papers_figures_are_all_there() -> None:
    results = paper_results()
    assert len(results) == 968
    assert sum(each.metric == "gap" for each in results) == 104
    first = results[0]
    assert (first.table, first.model, first.hop, first.mean_percent) == (4, "lxmert_p", "cyan_cylinder", 64.8)


def test_the_papers_gaps_follow_from_its_accuracies() -> None:
    printed = [each for each in paper_results() if each.metric == "gap"]
    for each in printed:
        hops = {row.hop for row in paper_results() if row.diversity == each.diversity}
        gaps = paper_gaps(each.model, each.split, size_number(each.train_size))
        found = fmean(gap for hop, gap in gaps.items() if hop in hops)
        assert found == pytest.approx(each.mean_percent, abs=0.011)


@pytest.mark.parametrize(("number", "name"), [(25000, "25k"), (560000, "560k"), (2500, "2500"), (None, "")])
def test_sizes_are_written_as_in_the_paper(number: int | None, name: str) -> None:
    assert size_name(number) == name
    assert size_number(name) == (-1 if number is None else number)
