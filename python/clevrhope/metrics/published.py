"""The results that papers published, to be shown beside ours; the files hold the figures as printed.

`paper_results.csv` has the 968 figures of Berlot-Attwell, Agrawal, Carrell, Sharma and Saphra, "Attribute
Diversity Determines the Systematicity Gap in VQA", appendix, tables 4 to 21, as submitted to ACL (those of
EMNLP 2024 were not compared). Tables 4 to 15 have the mean and deviation of a model's accuracy on a split
over three seeds. Tables 16 to 21 have those of gaps over all HOPs of a diversity and seeds. Deviations are
population standard deviations.

`reference_results.csv` has results of humans and models on pairs of questions: Jimenez, Russakovsky and
Narasimhan, "CARETS: A Consistency And Robustness Evaluative Test Suite for VQA", tables 1 to 5 and 7 to 17;
Rosenberg, Gat, Feder and Reichart, "Are VQA Systems RAD? Measuring Robustness to Augmented Data with Focused
Interventions", tables 2 to 4 and section 4. A printing error is kept as printed, with a note. From CARETS's
table 1, the file has the directional tests for LXMERT only; tables 11 and 12 have them for all models.

`covr_results.csv` has tables 6 to 8 and 12 to 17 of Bogin, Gupta, Gardner and Berant, "COVR: A Test-Bed for
Visually Grounded Compositional Generalization with Real Images", in per cent; "Filtered" is the number of
train questions that a split holds out, such as 33.3k.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from clevrhope.runtime import assets
from clevrhope.runtime.json_text import read_object


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A figure from the paper, or one of ours in the same form.

    Attributes:
        table: number of the paper's table.
        model: lxmert_p, lxmert_s, tensor_nmn, or another model's name.
        metric: accuracy or gap.
        split: the test set's name for an accuracy; complex or minimal for a gap.
        hop: name of the held-out pair; "" for a gap, which is a mean over the HOPs of a diversity.
        diversity: number of combinations of the pair's two attributes, including the pair itself.
        train_size: number of training questions as the paper writes it, such as 25k.
        mean_percent: accuracy in per cent, or gap in percentage points (negative for a drop).
        std_percent: standard deviation (ddof 0) in percentage points, over seeds for an accuracy and over
            HOPs and seeds for a gap.
    """

    table: int
    model: str
    metric: str
    split: str
    hop: str
    diversity: int
    train_size: str
    mean_percent: float
    std_percent: float


@cache
def paper_results() -> tuple[ResultRow, ...]:
    """All 968 figures, in the order of the tables."""
    numbers = {"table": int, "diversity": int, "mean_percent": float, "std_percent": float}
    return tuple(ResultRow(**row) for row in _rows("paper_results.csv", numbers))


def size_name(n_questions: int | None) -> str:
    """A train size as the paper writes it, such as 25k for 25000; "" if it is unknown."""
    if n_questions is None:
        return ""
    return f"{n_questions // 1000}k" if n_questions and n_questions % 1000 == 0 else str(n_questions)


def size_number(name: str) -> int:
    """The number of questions that a train size's name stands for; -1 for "", so that it sorts first."""
    if not name:
        return -1
    return int(name.removesuffix("k")) * (1000 if name.endswith("k") else 1)


# Questions over several images


@cache
def covr_results() -> Mapping[int, Mapping[str, Mapping[str, str]]]:
    """COVR's figures as printed, by table, row and column."""
    tables: dict[int, dict[str, dict[str, str]]] = {}
    for row in _rows("covr_results.csv", {"table": int}):
        tables.setdefault(row["table"], {}).setdefault(row["row"], {})[row["column"]] = row["value"]
    return tables


# Pairs of questions


_PAPERS = {"carets": "carets", "visual": "carets", "rad": "rad"}
"""Suite -> the paper that it follows."""


@cache
def papers_tests(suite: str) -> Mapping[str, str]:
    """Test of a suite -> the paper's test that it belongs to; tests of this project's own are not there.

    `question_templates/suites/papers.json` says so for the package's suites.
    """
    table = read_object(assets.question_templates() / "suites" / "papers.json", "tests of papers")
    return {test: name for name, tests in table.get(suite, {}).items() for test in tests}


@cache
def same_kinds() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Test of the package's suites -> papers and their tests of the same kind, as in `ReferenceRow`."""
    found: dict[str, list[tuple[str, str]]] = {}
    for suite, paper in _PAPERS.items():
        for test, name in papers_tests(suite).items():
            found.setdefault(test, []).append((paper, name))
    found["rephrase"].append(("rad", "Reph"))
    return found


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
    numbers = {"table": _optional(int), "value": float, "deviation": _optional(float)}
    return tuple(ReferenceRow(**row) for row in _rows("reference_results.csv", numbers))


def _rows(name: str, convert: Mapping[str, Callable[[str], Any]]) -> Iterator[dict[str, Any]]:
    """The rows of a file beside this one, with some of the columns converted."""
    text = (files(__package__) / name).read_text("utf-8")
    for row in csv.DictReader(text.splitlines()):
        yield {column: convert.get(column, str)(value) for column, value in row.items()}


def _optional(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: convert(text) if text else None
