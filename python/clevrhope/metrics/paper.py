"""The 968 figures published in the CLEVR-HOPE paper.

Source: Berlot-Attwell, Agrawal, Carrell, Sharma and Saphra, "Attribute Diversity Determines the Systematicity
Gap in VQA", appendix, tables 4 to 21, as submitted to ACL (those of EMNLP 2024 were not compared);
`paper_results.csv` holds the figures as printed, one in each row.
Tables 4 to 15 have the mean and deviation of a model's accuracy on a split over three seeds. Tables 16 to 21
have those of gaps over all HOPs of a diversity and seeds. Deviations are population standard deviations.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


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
    text = (files(__package__) / "paper_results.csv").read_text("utf-8")
    numbers = {"table": int, "diversity": int, "mean_percent": float, "std_percent": float}
    return tuple(
        ResultRow(**{name: numbers.get(name, str)(value) for name, value in row.items()})
        for row in csv.DictReader(text.splitlines())
    )


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
