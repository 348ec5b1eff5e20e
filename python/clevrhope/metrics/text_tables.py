"""Tables of scores as lines of text, and the texts in their cells."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from clevrhope.metrics.results import Constant, Measure, PredicateScores, Scores, Training

Line = Sequence[str] | str
"""The cells of a row, or a heading between rows."""


def table_lines(rows: Iterable[Line]) -> Iterator[str]:
    """A table with columns as wide as their cells; the first one names the rows and stands left."""
    rows = list(rows)
    columns = zip(*(row for row in rows if not isinstance(row, str)), strict=True)
    widths = [max(map(len, column)) for column in columns]
    for row in rows:
        if isinstance(row, str):
            yield row
        else:
            cells = "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
            yield f"{row[0]:<{widths[0]}}{cells}".rstrip()


def value_text(measure: Measure, signed: bool = False) -> str:
    """A measure to one digit, with its sign if it is a difference; "-" if it is undefined."""
    return "-" if measure.value is None else f"{measure.value:{'+' if signed else ''}.1f}"


def deviation_text(measure: Measure, signed: bool = False) -> str:
    """The deviation over runs; "" if there is none."""
    return "" if measure.deviation is None else f"{measure.deviation:.1f}"


def interval_text(measure: Measure, signed: bool = False, between: str = " to ") -> str:
    """The two ends of the interval; "" if there is none."""
    if measure.interval is None:
        return ""
    sign = "+" if signed else ""
    return f"{measure.interval.low:{sign}.1f}{between}{measure.interval.high:{sign}.1f}"


def text_with_interval_and_n(measure: Measure, signed: bool = False) -> str:
    """A measure, followed by its interval in brackets if it has one, and by n."""
    text = value_text(measure, signed)
    interval = f" ({interval_text(measure, signed)})" if measure.interval else ""
    return f"{text}{interval} n={measure.n:,}"


def constant_text(constants: Iterable[Constant | None]) -> str:
    """The mean of constants, with their answer if all have the same one; "" if there are none."""
    given = [constant for constant in constants if constant]
    if not given:
        return ""
    answers = {constant.answer for constant in given}
    answer = f" ({answers.pop()})" if len(answers) == 1 else ""
    return f"{sum(constant.percent for constant in given) / len(given):.1f}{answer}"


# Questions about sets of images

MODELS: Mapping[str, str] = {
    "text": "text",
    "held_out_text": "text, held out",
    "held_out": "model",
    "iid_size": "iid-size",
    "iid": "iid",
}
"""The models whose accuracies the table of splits has -> their columns, as in COVR's tables 7 and 8."""

SCORES: Mapping[str, str] = {
    "generalisation_score": "generalisation score",
    "score_over_held_out_text": "over held-out text",
}
"""The generalisation scores -> their columns."""

ROW_HEADS = ("filtered", "questions", *MODELS.values(), *SCORES.values())
"""Columns of the table of splits by predicates."""

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
    return [
        f"{row.filtered:,}",
        f"{row.n_questions:,}",
        *(value_text(row.accuracies[name]["accuracy"]) if name in row.accuracies else "" for name in MODELS),
        *(_score_text(row.generalisation[name]) if name in row.generalisation else "" for name in SCORES),
    ]


def _score_text(scores: Scores) -> str:
    value = scores["score"].value
    return NO_SCORE if value is None else f"{value:.0f}"


def is_undefined(row: PredicateScores) -> bool:
    """Whether a row has all three accuracies for a generalisation score that is undefined nevertheless."""
    return any(scores["score"].value is None for scores in row.generalisation.values())
