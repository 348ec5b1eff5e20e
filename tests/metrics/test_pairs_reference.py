"""The printed results of CARETS and RAD: all are there, agree with each other, and keep printing errors."""

from collections import Counter

from clevrhope.metrics.published import ReferenceRow, reference_results


def of_table(paper: str, *tables: int | None) -> list[ReferenceRow]:
    return [row for row in reference_results() if row.paper == paper and row.table in tables]


def test_every_table_is_there_once() -> None:
    rows = reference_results()
    assert Counter(row.paper for row in rows) == {"carets": 515, "rad": 121}
    assert {row.table for row in rows if row.paper == "carets"} == {*range(1, 6), *range(7, 18)}
    places = Counter(
        (row.paper, row.table, row.model, row.dataset, row.test, row.part, row.measure) for row in rows
    )
    assert max(places.values()) == 1
    for row in rows:
        assert 0 <= row.value <= (1 if row.measure.startswith("R2") else 100)


def test_printing_errors_keep_their_figures_and_have_notes() -> None:
    noted = {
        (row.table, row.model, row.test, row.measure): row.value for row in reference_results() if row.note
    }
    assert noted == {
        (1, "LXMERT", "NEGATION-DIR", "CONS"): 71.1,
        (1, "LXMERT", "ANTONYM-DIR", "CONS"): 28.1,
        (5, "LXMERT (Augmented)", "ANTONYM-DIR", "ACC"): 65.0,
    }
    right = {
        row.test: row.value
        for row in of_table("carets", 11, 12)
        if (row.model, row.measure) == ("LXMERT", "CONS")
    }
    assert right == {"ANTONYM-DIR": 71.12, "NEGATION-DIR": 28.11}
