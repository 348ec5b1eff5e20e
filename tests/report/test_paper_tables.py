"""All of the paper's tables, from its own accuracies: every number beside itself, every difference 0."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from simulated import exactly, made_result

from clevrhope.metrics.published import ResultRow, paper_results, size_number
from clevrhope.report.results import Result
from clevrhope.report.tables import PaperTable, paper_tables

MODELS = ("lxmert_p", "lxmert_s", "tensor_nmn")


def results(model: str, *, without: Sequence[str] = ()) -> list[Result]:
    """A run for each pair and train size of the paper, with its mean accuracies."""
    cells: dict[tuple[str, str], list[ResultRow]] = {}
    for row in paper_results():
        if (row.model, row.metric) == (model, "accuracy") and row.hop not in without:
            cells.setdefault((row.hop, row.train_size), []).append(row)
    return [
        made_result(
            model,
            hop,
            diversity=rows[0].diversity,
            train_size=size_number(size),
            accuracies={row.split: exactly(row.mean_percent) for row in rows},
        )
        for (hop, size), rows in cells.items()
    ]


def tables_of(made: Sequence[Result], model: str) -> list[PaperTable]:
    return [*paper_tables(made, model, "accuracy"), *paper_tables(made, model, "gap")]


def numbers(model: str) -> list[int]:
    return sorted({row.table for row in paper_results() if row.model == model})


@pytest.mark.parametrize("model", MODELS)
def test_the_papers_accuracies_give_its_tables(model: str) -> None:
    tables = tables_of(results(model), model)
    assert [table.number for table in tables] == numbers(model)
    n_differences = 0
    for *_, table in tables:
        columns = [k for k, head in enumerate(table.head) if head == "difference"]
        assert columns
        for row in table.rows:
            told = [row[k].replace("\N{MINUS SIGN}", "-") for k in columns]
            assert [float(each) for each in told] == pytest.approx([0.0] * len(told), abs=0.051)
            n_differences += len(told)
    assert n_differences == sum(row.model == model for row in paper_results())


def test_all_three_models_have_all_eighteen_tables() -> None:
    assert sorted(n for model in MODELS for n in numbers(model)) == [*range(4, 22)]


def test_of_the_paper_the_same_pairs_are_averaged() -> None:
    """Without one pair of a diversity, the paper's gap is over those that are left, and so still ours."""
    made = results("lxmert_p", without=("rubber_cylinder",))
    for *_, table in paper_tables(made, "lxmert_p", "gap"):
        (row,) = [row for row in table.rows if row[0] == "6"]
        cells = dict(zip(table.head[1:4], row[1:4], strict=True))
        assert cells["paper"].endswith(" (9 of 10 pairs)")
        assert cells["difference"] in ("+0.0", "\N{MINUS SIGN}0.0")
    other = [*made, *(each for each in results("lxmert_p") if each.hop == "rubber_cylinder")]
    strange = [each for each in other if each.diversity == 6]
    strange += [replace(each, hop="small_metal", held_out="small_metal") for each in strange[:3]]
    for *_, table in paper_tables(
        strange, "lxmert_p", "gap"
    ):  # a pair that the paper has not: nothing to compare with
        assert all(cell == "" for cell in table.rows[0][2:4])
