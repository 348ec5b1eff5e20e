"""Markdown for numbers and names."""

import re
from collections.abc import Mapping, Sequence

from clevrhope.errors import printable

_MARKUP = re.compile(r"[\\`*<~]|&(?=#?\w+;)|\](?=[(\[:])|(?<![^\W_])_|_(?![^\W_])|^[#>+-](?!\d)")
"""What begins markup: emphasis, code, HTML, a character's name (`&lt;`), the address of a link or image, a
heading, quote or list."""


def escape(value: object) -> str:
    """Text that Markdown shows as it is, even in a table."""
    text = str(value)
    for letter in "\\`*_[]<>|":
        text = text.replace(letter, f"\\{letter}")
    return text.replace("\n", " ")


def plain(value: object) -> str:
    """Prose with text of others in it, which Markdown shows as it is; brackets and names stay readable."""
    return _MARKUP.sub(r"\\\g<0>", printable(" ".join(str(value).splitlines())))


def code(value: object) -> str:
    """A name in code style, without backticks, which would end the style."""
    return f"`{str(value).replace('`', '').replace('|', chr(92) + '|')}`"


def number(value: int) -> str:
    """A whole number with commas between thousands."""
    return f"{value:,}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share in per cent; a dash for None and nan."""
    return "-" if share is None or share != share else f"{100 * share:.{digits}f}%"


def decimal(value: float | None) -> str:
    """A number with two decimals; a dash for None and nan."""
    return "-" if value is None or value != value else f"{value:.2f}"


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence: a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def mean(histogram: Mapping[str, int] | Mapping[int, int]) -> float:
    """The mean of a histogram by number, which may be written as text, as in JSON; nan if it is empty."""
    n = sum(histogram.values())
    return sum(int(value) * count for value, count in histogram.items()) / n if n else float("nan")


def percentile(histogram: Mapping[str, int] | Mapping[int, int], share: float) -> int:
    """The smallest value that is not exceeded by at least `share` of a histogram."""
    goal, seen = share * sum(histogram.values()), 0
    for value, count in sorted((int(value), count) for value, count in histogram.items()):
        seen += count
        if seen >= goal:
            return value
    return 0
