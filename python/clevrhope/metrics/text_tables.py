"""Tables of scores as lines of text, and measures as the texts in their cells."""

from collections.abc import Iterable, Iterator, Sequence

from clevrhope.metrics.results import Constant, Measure

Line = Sequence[str] | str
"""The cells of a row, or a heading between rows."""


def table_lines(rows: Iterable[Line], widths: Sequence[int]) -> Iterator[str]:
    """A table whose first column names the rows and stands left, all others right."""
    for row in rows:
        if isinstance(row, str):
            yield row
        else:
            cells = "".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
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


def text_with_interval(measure: Measure, signed: bool = False) -> str:
    """A measure, followed by its interval in brackets if it has one."""
    text = value_text(measure, signed)
    return f"{text} ({interval_text(measure, signed)})" if measure.interval else text


def constant_text(constants: Iterable[Constant | None]) -> str:
    """The mean of constants, with their answer if all have the same one; "" if there are none."""
    given = [constant for constant in constants if constant]
    if not given:
        return ""
    answers = {constant.answer for constant in given}
    answer = f" ({answers.pop()})" if len(answers) == 1 else ""
    return f"{sum(constant.percent for constant in given) / len(given):.1f}{answer}"
