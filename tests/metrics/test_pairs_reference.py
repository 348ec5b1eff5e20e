"""The printed results of CARETS and RAD: all are there, agree with each other, and keep printing errors."""

from collections import Counter

import pytest

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


def consistencies() -> dict[tuple[int | None, str], tuple[float, float]]:
    """(Table, model) -> CONS as printed, and as it follows from ACC and C-ACC of yes/no answers."""
    found: dict[tuple[int | None, str], dict[str, float]] = {}
    for row in of_table("carets", 10, 11, 12):
        if not row.part and row.model != "Human":
            found.setdefault((row.table, row.model), {})[row.measure] = row.value
    return {key: (each["CONS"], 100 - 2 * (each["ACC"] - each["C-ACC"])) for key, each in found.items()}


def test_printed_consistency_follows_from_printed_accuracy() -> None:
    """Tables 10 to 12 have yes/no questions; in the four other rows some answers were neither."""
    found = consistencies()
    assert len(found) == 18
    others = {key for key, (printed, derived) in found.items() if abs(printed - derived) > 0.1}
    assert others == {(11, "MMBT"), (12, "LXMERT"), (12, "MMBT"), (12, "ViLBERT")}
    assert all(found[key][0] < found[key][1] for key in others)


def test_accuracy_is_the_mean_of_original_and_perturbed() -> None:
    rows = {
        (row.table, row.model, row.part, row.measure): row.value for row in of_table("carets", *range(8, 13))
    }
    models = {key[:2] for key in rows}
    assert len(models) == 35
    for key in models:
        halves = [rows[*key, part, "ACC"] for part in ("original", "perturbed")]
        assert rows[*key, "", "ACC"] == pytest.approx(sum(halves) / 2, abs=0.011)


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
