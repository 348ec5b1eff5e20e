"""A program and a finished scene in, the answer as CLEVR spells it out: what the audit is held against.

Sets of objects are bit masks; nothing else is clever.
"""

from collections.abc import Sequence
from typing import Any

from clevrhope.dataset.finished import ATTRIBUTES, Scene, Step


class NoAnswer(ValueError):
    """The program has no answer on the scene, or asks for what is not known here; says why."""


def execute(steps: Sequence[Step], scene: Scene) -> str:
    """The answer: "yes", "no", an integer in digits or a value.

    Raises:
        NoAnswer: `unique` of a set that has not one member, or a function that is not known.
    """
    results: list[Any] = []
    for function, argument, inputs in steps:
        given = [results[i] for i in inputs]
        results.append(_apply(function, argument, given, scene))
    answer = results[-1]
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return str(answer)


def _apply(function: str, argument: str, given: list[Any], scene: Scene) -> Any:
    """One step. Sets are bit masks; objects, counts and places are integers; values are strings."""
    stem, _, kind = function.partition("_")
    match stem:
        case "scene":
            return (1 << len(scene.objects)) - 1
        case "filter":
            return given[0] & scene.members(kind, argument)
        case "unique":
            if given[0].bit_count() != 1:
                raise NoAnswer(f"unique of {given[0].bit_count()} objects")
            return given[0].bit_length() - 1
        case "relate":
            return scene.related[argument][given[0]]
        case "same":
            value = scene.objects[given[0]][ATTRIBUTES.index(kind)]
            return scene.members(kind, value) & ~(1 << given[0])
        case "query":
            return scene.objects[given[0]][ATTRIBUTES.index(kind)]
        case "intersect":
            return given[0] & given[1]
        case "union":
            return given[0] | given[1]
        case "count":
            return given[0].bit_count()
        case "exist":
            return given[0] != 0
        case "equal":
            return bool(given[0] == given[1])
        case "less":
            return bool(given[0] < given[1])
        case "greater":
            return bool(given[0] > given[1])
    raise NoAnswer(f"unknown function {function}")
