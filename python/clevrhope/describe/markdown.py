"""Markdown for tables, numbers and names."""

from collections.abc import Iterable, Sequence


def escape(value: object) -> str:
    """Text that Markdown shows as it is, even in a table."""
    text = str(value)
    for letter in "\\`*_[]<>|":
        text = text.replace(letter, f"\\{letter}")
    return text.replace("\n", " ")


def code(value: object) -> str:
    """A name in code style, without backticks, which would end the style."""
    return f"`{str(value).replace('`', '').replace('|', chr(92) + '|')}`"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of escaped cells; the first column is left-aligned, the others are right-aligned."""
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def number(value: int) -> str:
    """A whole number with commas between thousands."""
    return f"{value:,}"


def percent(share: float, digits: int = 1) -> str:
    """A share in per cent; a dash for nan."""
    return "-" if share != share else f"{100 * share:.{digits}f}%"


def decimal(value: float) -> str:
    """A number with two decimals; a dash for nan."""
    return "-" if value != value else f"{value:.2f}"


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence: a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
