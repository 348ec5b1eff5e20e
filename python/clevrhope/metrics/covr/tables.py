"""The table of splits by predicates, and what models of COVR's questions were trained on, as texts."""

from clevrhope.metrics.results import PredicateScores, Training
from clevrhope.metrics.text_tables import value_text

ROW_HEADS = ("filtered", "questions", "text", "model", "iid-size", "iid", "generalisation score")
"""Columns of the table of splits: those of COVR's tables 7 and 8, and the generalisation score."""

MODELS = ("text", "held_out", "iid_size", "iid")
"""The models whose accuracies that table has."""

NO_SCORE = "-"
"""Printed in place of an undefined generalisation score."""

WHY_NO_SCORE = (
    "The model on as many questions (iid-size) is not above the text alone, so there is no generalisation "
    "score."
)


def described(training: Training) -> str:
    """What a model was trained on, as words to follow "trained"."""
    if training.role == "all":
        return "on all"
    shots = f" but for {training.shots:,}" if training.shots else ""
    if training.role == "split":
        return f"without {training.predicate}{shots}"
    return f"on as many as without {training.predicate}{shots}"


def row_cells(row: PredicateScores) -> list[str]:
    """The cells of a row of the table of splits, in the order of `ROW_HEADS`."""
    score = row.generalisation["generalisation_score"].value if row.generalisation else None
    return [
        "" if row.filtered is None else f"{row.filtered:,}",
        f"{row.n_questions:,}",
        *(value_text(row.accuracies[name]["accuracy"]) if name in row.accuracies else "" for name in MODELS),
        NO_SCORE if is_undefined(row) else "" if score is None else f"{score:.0f}",
    ]


def is_undefined(row: PredicateScores) -> bool:
    """Whether a row has all three accuracies, but its generalisation score is undefined."""
    return row.generalisation is not None and row.generalisation["generalisation_score"].value is None
