"""A program as a graph: the positions of its steps in a drawing, and the result of each step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrhope.programs import TracedStep
from clevrhope.programs.graph import places_of_nodes

STEP_WIDTH, STEP_HEIGHT = 148, 58
GAP_X, GAP_Y = 14, 24
MARGIN = 6
"""Margin of the drawing in its own units, which are pixels if there is room."""

Object = tuple[int, int]
"""Index of an image in its set (0 for a question about one image), and of an object in the image."""


@dataclass(frozen=True)
class Step:
    """A step of a program, and its position in the drawing."""

    number: int
    function: str
    """The function in words, such as "filter color"."""
    value: str
    """The value, relation or number that the function takes; "" for none."""
    inputs: tuple[int, ...]
    result: str
    """The step's result in words; "" if it was not executed."""
    objects: frozenset[Object]
    """The objects in its result."""
    images: frozenset[int]
    """The images in its result."""
    x: float
    """The x coordinate of its centre."""
    y: float
    """The y coordinate of its upper edge."""

    @property
    def label(self) -> str:
        """The step as a reader would say it."""
        named = f"{self.function} {self.value}".strip()
        return f"Step {self.number}: {named}" + (f"; gives {self.result}" if self.result else "")


@dataclass(frozen=True)
class Edge:
    """A line from the lower edge of an input to the upper edge of a step."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class ProgramGraph:
    """A drawing: the first steps at the top, the answer at the bottom."""

    steps: Sequence[Step]
    edges: Sequence[Edge]
    width: float
    height: float


def program_graph(nodes: Sequence[Mapping[str, Any]], traced: Sequence[TracedStep]) -> ProgramGraph:
    """The drawing of a program's nodes; `traced` are the results of its steps, empty if it was not executed.

    A step is below the steps whose results it takes, and branches are side by side.
    """
    columns, levels = places_of_nodes(nodes)
    steps = []
    for number, node in enumerate(nodes):
        result = traced[number] if number < len(traced) else None
        steps.append(
            Step(
                number=number,
                function=str(node["function"]).replace("_", " "),
                value=", ".join(map(str, node["value_inputs"])),
                inputs=tuple(node["inputs"]),
                result="" if result is None else _words(result),
                objects=frozenset() if result is None else frozenset(map(_object, result.objects)),
                images=frozenset() if result is None else _images(result),
                x=MARGIN + STEP_WIDTH / 2 + columns[number] * (STEP_WIDTH + GAP_X),
                y=MARGIN + levels[number] * (STEP_HEIGHT + GAP_Y),
            )
        )
    edges = [
        Edge(steps[source].x, steps[source].y + STEP_HEIGHT, step.x, step.y)
        for step in steps
        for source in step.inputs
    ]
    return ProgramGraph(
        steps,
        edges,
        2 * MARGIN + STEP_WIDTH + max(columns) * (STEP_WIDTH + GAP_X),
        2 * MARGIN + STEP_HEIGHT + max(levels) * (STEP_HEIGHT + GAP_Y),
    )


def _images(step: TracedStep) -> frozenset[int]:
    """The images in a step's result."""
    output: Any = step.output
    return frozenset(output if step.type == "Images" and output is not None else ())


def _object(output: Any) -> Object:
    return (0, output) if isinstance(output, int) else (output[0], output[1])


def _words(step: TracedStep) -> str:
    """A step's result in a few words; several objects are given only as a number."""
    output: Any = step.output
    if step.type == "Object" and output is not None:
        image, number = _object(output)
        return f"object {number}" if isinstance(output, int) else f"object {number} of image {image + 1}"
    if step.type == "Images" and output is not None:
        return _counted(len(output), "image")
    if step.type == "ObjectSet" and output is not None:
        return _counted(len(output), "object")
    if step.type == "Groups" and output is not None:
        return f"groups of {_counted(len(output), 'object')}"
    return step.result


def _counted(n: int, what: str) -> str:
    if n == 1:
        return f"1 {what}"
    return f"{n} {what}s" if n else f"no {what}"
