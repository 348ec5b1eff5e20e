"""The answers that a question over several images asks for, read off the last function of its program."""

import re
from collections.abc import Mapping, Sequence

_VALUE = re.compile(r"(?:choose|option)_\w+\[(\w+)\]")
_AXES = (("left", "right"), ("behind", "front"))
"""Pairs of relations between which a question can offer a choice."""


def asked_answers(
    program: Sequence[str], answers: Sequence[str], attributes: Mapping[str, Sequence[str]]
) -> list[str]:
    """The answers that a question asks for.

    Args:
        program: its functions in prefix order, so that the program's last function comes first.
        answers: all answers of the vocabulary.
        attributes: the values of each attribute.
    """
    last = program[0].partition("[")[0]
    if last == "choose_relation":
        return list(next(axis for axis in _AXES if _value(program[0]) in axis))
    if last.startswith("choose_"):
        return [value for function in program if (value := _value(function))]
    if last.startswith("query_"):
        return list(attributes[last.removeprefix("query_")])
    if last.startswith("count") and "[" not in program[0]:
        return [answer for answer in answers if answer.isdecimal()]
    return ["yes", "no"]


def _value(function: str) -> str:
    match = _VALUE.fullmatch(function)
    return match[1] if match else ""
