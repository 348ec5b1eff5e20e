"""The results of humans and models on pairs of questions that two papers published, for comparison.

Sources: Jimenez, Russakovsky and Narasimhan, "CARETS: A Consistency And Robustness Evaluative Test Suite for
VQA", tables 1 to 5 and 7 to 17; Rosenberg, Gat, Feder and Reichart, "Are VQA Systems RAD? Measuring
Robustness to Augmented Data with Focused Interventions", tables 2 to 4 and section 4.
`reference_results.csv` holds the figures as printed, one in each row. A printing error is kept as printed,
with a note. From CARETS's table 1, the file has the directional tests for LXMERT only; tables 11 and 12 have
them for all models.
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_KINDS = ("size", "material", "shape")
"""Attributes whose counterpart in RAD is the question what kind a thing is."""

SAME_KIND: Mapping[str, tuple[tuple[str, str], ...]] = {
    "rephrase": (("carets", "REPHRASE-INV"), ("rad", "Reph")),
    "order": (("carets", "ORDER-INV"),),
    "ontology": (("carets", "ONTOLOGICAL-INV"),),
    "antonym_size": (("carets", "ANTONYM-DIR"),),
    "antonym_material": (("carets", "ANTONYM-DIR"),),
    "negation": (("carets", "NEGATION-DIR"),),
    "is_there_color": (("rad", "Y/N<-C"),),
    "verify_color": (("rad", "Y/N<-C"),),
    "any": (("rad", "Y/N<-HM"),),
    "exactly": (("rad", "Y/N<-HM"),),
    **{f"is_there_{kind}": (("rad", "Y/N<-WK"),) for kind in _KINDS},
    **{f"verify_{kind}": (("rad", "Y/N<-WK"),) for kind in _KINDS},
}
"""Test of the package's suites -> papers and their tests of the same kind, by the names in `ReferenceRow`."""


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """A figure from a paper.

    Attributes:
        paper: carets or rad.
        table: number of the paper's table; None for a figure in the text.
        model: as printed; Human for people.
        dataset: whose images and training questions: GQA, VQA, VQA-CP or VisDial.
        test: CARETS's test (REPHRASE-INV) or RAD's augmentation (Y/N<-C); "" if the figure is not about one.
        part: part of the test, such as original, conjunction or masked; "" for all of it. For coverage, the
            model whose right answers are covered.
        measure: ACC, CONS, C-ACC, coverage, Accuracy(D), RAD(D,D'), "R2 of ...", as the tables name it. In
            CARETS, ACC of the part "original" is Accuracy(D), and of "perturbed" Accuracy(D').
        value: in per cent or points as printed; for R2, a number up to 1.
        deviation: as printed after the value; None for most figures.
        note: what is wrong with the figure; "" if nothing is.
    """

    paper: str
    table: int | None
    model: str
    dataset: str
    test: str
    part: str
    measure: str
    value: float
    deviation: float | None
    note: str


@cache
def reference_results() -> tuple[ReferenceRow, ...]:
    """All figures, ordered by paper and table."""
    numbers: Mapping[str, Callable[[str], Any]] = {
        "table": lambda text: int(text) if text else None,
        "value": float,
        "deviation": lambda text: float(text) if text else None,
    }
    text = (files(__package__) / "reference_results.csv").read_text("utf-8")
    return tuple(
        ReferenceRow(**{name: numbers.get(name, str)(value) for name, value in row.items()})
        for row in csv.DictReader(text.splitlines())
    )
