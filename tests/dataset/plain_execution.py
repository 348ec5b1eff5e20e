"""A plain executor that answers as CLEVR spells answers; the audit is compared with it.

Sets of objects are bit masks; nothing else is clever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrhope.dataset.split_files import Step

ATTRIBUTES = ("size", "color", "material", "shape")


@dataclass(frozen=True)
class Scene:
    """What programs can ask about."""

    objects: tuple[tuple[str, str, str, str], ...]
    """Values of each object, in the order of `ATTRIBUTES`."""
    related: Mapping[str, tuple[int, ...]]
    """Relation -> by object, the objects that stand so to it, as a bit mask."""

    def members(self, kind: str, value: str) -> int:
        """The objects that have a value."""
        k = ATTRIBUTES.index(kind)
        return sum(1 << i for i, values in enumerate(self.objects) if values[k] == value)


def scene_of(row: Mapping[str, Any]) -> Scene:
    """From a scene of a CLEVR scene file."""
    return Scene(
        objects=tuple(
            (each["size"], each["color"], each["material"], each["shape"]) for each in row["objects"]
        ),
        related={
            relation: tuple(sum(1 << j for j in others) for others in by_object)
            for relation, by_object in row["relationships"].items()
        },
    )


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
