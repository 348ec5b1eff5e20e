"""Rows and values in, Markdown out."""

from collections.abc import Iterable, Sequence


def escape(value: object) -> str:
    """Text that Markdown shows as it is, inside a table too."""
    text = str(value)
    for letter in "\\`*_[]<>|":
        text = text.replace(letter, f"\\{letter}")
    return text.replace("\n", " ")


def code(value: object) -> str:
    """A name in code style; a backtick in it would end the style, so it goes."""
    return f"`{str(value).replace('`', '').replace('|', chr(92) + '|')}`"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; the first column is left-aligned, the others right-aligned. Cells come escaped."""
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def number(value: int) -> str:
    """A whole number with thousands apart."""
    return f"{value:,}"


def percent(share: float, digits: int = 1) -> str:
    """A share as per cent; a dash when there is none."""
    return "-" if share != share else f"{100 * share:.{digits}f}%"


def decimal(value: float, digits: int = 2) -> str:
    """A number with a few decimals; a dash when there is none."""
    return "-" if value != value else f"{value:.{digits}f}"


def listed(words: Sequence[str]) -> str:
    """Words in a sentence: a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
