"""Whole numbers in texts of any source: options, file names, answers, environment variables."""

import os
import re

from clevrhope.errors import ConfigError, shown

MOST_DIGITS = 18
"""Python itself refuses to read thousands of digits, in words that help nobody."""


def read_digits(text: str) -> int | None:
    """The number that a text of decimal digits stands for; None for another text, or a longer number."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None


def number_order(name: str) -> tuple[tuple[int, str], ...]:
    """A sorting key for names: numbers in them are in numerical order, so that d4 precedes d16."""
    parts = re.split(r"([0-9]+)", name)
    numbers = [part.lstrip("0") for part in parts]
    return tuple(
        (len(number), number) if part.isdecimal() else (-1, part)
        for part, number in zip(parts, numbers, strict=True)
        if part
    )


def read_variable(name: str, *, default: int) -> int:
    """The number in an environment variable; `default` if it is unset, empty or 0.

    Raises:
        ConfigError: it holds something else, as schedulers' own variables do ("2(x3)", "0,1").
    """
    text = os.environ.get(name, "").strip()
    number = read_digits(text or "0")
    if number is None:
        raise ConfigError(
            f"the environment variable {name} is {shown(text)}; give it one whole number, or unset it"
        )
    return number or default
