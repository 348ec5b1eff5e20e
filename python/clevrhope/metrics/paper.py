"""The results that the CLEVR-HOPE paper printed: 968 figures.

Source: Berlot-Attwell, Agrawal, Carrell, Sharma and Saphra, "Attribute Diversity Determines the Systematicity
Gap in VQA", appendix, tables 4 to 21; `paper_results.csv` holds the figures as printed, a row a figure.
Tables 4 to 15 are accuracies of a model on a split, mean and deviation over three seeds; tables 16 to 21 are
means and deviations of gaps over all HOPs of a diversity and seeds. Deviations are those of a population.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A figure of the paper, or one of ours of the same form.

    Attributes:
        table: number of the paper's table.
        model: lxmert_p, lxmert_s, tensor_nmn, or another model's name.
        metric: accuracy or gap.
        split: of an accuracy the test set's name, of a gap complex or minimal.
        hop: name of the held-out pair; "" of a gap, which is a mean over the HOPs of a diversity.
        diversity: combinations of the pair's two types, the pair itself among them.
        train_size: questions trained on, as the paper writes them: 25k.
        mean_percent: accuracy in per cent, or gap in percentage points (negative for a drop).
        std_percent: deviation over seeds, of a gap over HOPs and seeds, with ddof 0, in percentage points.
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
    text = (files(__package__) / "paper_results.csv").read_text("utf-8")
    numbers = {"table": int, "diversity": int, "mean_percent": float, "std_percent": float}
    return tuple(
        ResultRow(**{name: numbers.get(name, str)(value) for name, value in row.items()})
        for row in csv.DictReader(text.splitlines())
    )


def size_name(n_questions: int | None) -> str:
    """A train size as the paper writes it: 25000 is 25k; "" for one that is not known."""
    if n_questions is None:
        return ""
    return f"{n_questions // 1000}k" if n_questions and n_questions % 1000 == 0 else str(n_questions)


def size_number(name: str) -> int:
    """The number of questions behind a train size's name; -1 for "", so that it sorts first."""
    if not name:
        return -1
    return int(name.removesuffix("k")) * (1000 if name.endswith("k") else 1)
