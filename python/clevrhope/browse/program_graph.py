"""A program as a graph: where its steps stand in a drawing, and what each of them gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrhope.programs import TracedStep, answer_text

STEP_WIDTH, STEP_HEIGHT = 148, 58
GAP_X, GAP_Y = 14, 24
MARGIN = 6
"""Of the drawing, in its own units, which are pixels where there is room."""

Object = tuple[int, int]
"""Place of an image in its set (0 for a question about one image), and of an object in the image."""


@dataclass(frozen=True)
class Step:
    """A step of a program, and where it is drawn."""

    number: int
    function: str
    """In words: "filter color"."""
    value: str
    """The value, relation or number that the function takes; "" for none."""
    inputs: tuple[int, ...]
    result: str
    """What it gives, in words; "" where it was not executed."""
    objects: frozenset[Object]
    """The objects that it gives."""
    images: frozenset[int]
    """The images that it gives."""
    x: float
    """Of its centre."""
    y: float
    """Of its upper edge."""

    @property
    def label(self) -> str:
        """The step as a reader would say it."""
        named = f"{self.function} {self.value}".strip()
        return f"Step {self.number + 1}: {named}" + (f"; gives {self.result}" if self.result else "")


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
    """The drawing of a program's nodes; `traced` are the results of its steps, empty if there are none.

    A step stands above the one that takes its result, and branches stand beside each other.
    """
    depths, columns = _depths(nodes), _columns(nodes)
    deepest, widest = max(depths), max(columns)
    steps = []
    for number, node in enumerate(nodes):
        result = traced[number] if number < len(traced) else None
        objects, images = ({}, {}) if result is None else _shown(result)
        steps.append(
            Step(
                number=number,
                function=str(node["function"]).replace("_", " "),
                value=", ".join(map(str, node["value_inputs"])),
                inputs=tuple(node["inputs"]),
                result="" if result is None else _words(result),
                objects=frozenset(objects),
                images=frozenset(images),
                x=MARGIN + STEP_WIDTH / 2 + columns[number] * (STEP_WIDTH + GAP_X),
                y=MARGIN + (deepest - depths[number]) * (STEP_HEIGHT + GAP_Y),
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
        2 * MARGIN + STEP_WIDTH + widest * (STEP_WIDTH + GAP_X),
        2 * MARGIN + STEP_HEIGHT + deepest * (STEP_HEIGHT + GAP_Y),
    )


def _depths(nodes: Sequence[Mapping[str, Any]]) -> list[int]:
    """Of each node, the steps between it and the answer."""
    depths = [0] * len(nodes)
    for number in reversed(range(len(nodes))):
        for source in nodes[number]["inputs"]:
            depths[source] = max(depths[source], depths[number] + 1)
    return depths


def _columns(nodes: Sequence[Mapping[str, Any]]) -> list[float]:
    """Of each node its place across: a column for each beginning, others in the middle of their inputs."""
    columns: list[float] = []
    n_beginnings = 0
    for node in nodes:
        if node["inputs"]:
            columns.append(sum(columns[source] for source in node["inputs"]) / len(node["inputs"]))
        else:
            columns.append(float(n_beginnings))
            n_beginnings += 1
    return columns


def _shown(step: TracedStep) -> tuple[set[Object], set[int]]:
    """The objects and the images that a step gives."""
    output: Any = step.output
    if output is None:
        return set(), set()
    if step.type == "Images":
        return set(), set(output)
    if step.type == "Object":
        return {_object(output)}, set()
    if step.type in ("ObjectSet", "Groups"):
        return {_object(each) for each in output}, set()
    return set(), set()


def _object(output: Any) -> Object:
    return (0, output) if isinstance(output, int) else (output[0], output[1])


def _words(step: TracedStep) -> str:
    output: Any = step.output
    if output is None:
        return "no result"
    if step.type == "Images":
        return _counted(len(output), "image")
    if step.type == "Groups":
        return f"groups of {_counted(len(output), 'object')}"
    if step.type == "ObjectSet":
        return _counted(len(output), "object")
    if step.type == "Object":
        image, number = _object(output)
        return f"object {number}" if isinstance(output, int) else f"object {number} of image {image + 1}"
    return answer_text(output)


def _counted(n: int, what: str) -> str:
    return f"no {what}" if not n else f"{n} {what}" if n == 1 else f"{n} {what}s"
