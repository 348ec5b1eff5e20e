"""The results of a program's steps on a scene, which explain how an answer comes about."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias, overload

from clevrhope.programs.graph import program_svg
from clevrhope.programs.scene import Scene, SceneSet
from clevrhope.scenes.sketch import object_words, swatch_svg

Answer: TypeAlias = bool | int | str

NOTHING = "no result"
"""Shown for a step without a result."""

_CELL = '<td style="text-align:left">'


@dataclass(frozen=True)
class TracedStep:
    """The result of one node of a program.

    Attributes:
        function: its name.
        value: the attribute value, relation or number ("3") that the function takes, if any.
        inputs: numbers of the earlier nodes whose results it takes.
        type: ObjectSet, Object, Groups, Images, Integer, Bool, Relation, or an attribute type.
        output: the object numbers of a set or of groups, an object's number, image numbers, or a value. It is
            None from the first step that fails, such as a `unique` of several objects. An object of a
            `SceneSet` is (image, object): the image's number in the set and the object's in the image.
    """

    function: str
    value: str | None
    inputs: tuple[int, ...]
    type: str
    output: list[int] | list[tuple[int, int]] | tuple[int, int] | Answer | None

    @property
    def name(self) -> str:
        """The function with its value: `filter_color[red]`."""
        return self.function if self.value is None else f"{self.function}[{self.value}]"

    @property
    def call(self) -> str:
        """The function with the numbers of its inputs: `relate[left](3)`."""
        inputs = ", ".join(map(str, self.inputs))
        return f"{self.name}({inputs})" if inputs else self.name

    @property
    def is_of_objects(self) -> bool:
        """Whether the output consists of objects."""
        return self.type in ("ObjectSet", "Object", "Groups")

    @property
    def objects(self) -> list[int] | list[tuple[int, int]]:
        """The objects in the output; empty if the output is of another type."""
        if self.type in ("ObjectSet", "Groups") and isinstance(self.output, list):
            return self.output
        if self.type == "Object" and isinstance(self.output, int):
            return [self.output]
        if self.type == "Object" and isinstance(self.output, tuple):
            return [self.output]
        return []

    @property
    def result(self) -> str:
        """The output in words: "objects 0, 2", "yes"; for a set, "object 1.2" is object 2 of image 1."""
        if self.output is None:
            return NOTHING
        if self.is_of_objects:
            return _listed("object", [_number(each) for each in self.objects])
        if self.type == "Images":
            return _listed("image", [str(each) for each in self.output])  # type: ignore[union-attr]
        if isinstance(self.output, bool):
            return "yes" if self.output else "no"
        return str(self.output)


class Trace(Sequence[TracedStep]):
    """The steps of a program on a scene or a set of scenes, with their results, as returned by `trace`.

    A notebook shows it as a table, in which each object has a small drawing.
    """

    def __init__(self, steps: Sequence[TracedStep], scene: Scene | SceneSet) -> None:
        self._steps = tuple(steps)
        self._scene = scene

    @overload
    def __getitem__(self, number: int) -> TracedStep: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[TracedStep]: ...

    def __getitem__(self, number: int | slice) -> TracedStep | Sequence[TracedStep]:
        return self._steps[number]

    def __len__(self) -> int:
        return len(self._steps)

    def __repr__(self) -> str:
        rows = [(str(k), step.call, step.result) for k, step in enumerate(self)]
        widths = [max((len(row[k]) for row in rows), default=0) for k in range(2)]
        return "\n".join(f"{k:>{widths[0]}}  {name:<{widths[1]}}  {result}" for k, name, result in rows)

    def _repr_svg_(self) -> str:
        nodes = [
            {
                "function": step.function,
                "inputs": step.inputs,
                "value_inputs": [] if step.value is None else [step.value],
            }
            for step in self
        ]
        return program_svg(nodes, [step.result for step in self])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{number}</td>{_CELL}<code>{escape(step.call)}</code></td>"
            f"{_CELL}{' '.join(map(self._drawn, step.objects)) or escape(step.result)}</td></tr>"
            for number, step in enumerate(self)
        )
        head = f"<tr><td>step</td>{_CELL}function</td>{_CELL}result</td></tr>"
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"

    def _drawn(self, each: int | tuple[int, int]) -> str:
        """A small drawing of an object, with its number."""
        if isinstance(self._scene, Scene):
            item = self._scene.content["objects"][each]
        else:
            image, number = each if isinstance(each, tuple) else (0, each)
            item = self._scene.contents[image]["objects"][number]
        return f'<span title="{escape(object_words(item))}">{swatch_svg(item)}&nbsp;{_number(each)}</span>'


def _number(each: int | tuple[int, int]) -> str:
    """An object's number; in a set, the image's number, a dot and the object's number."""
    return f"{each[0]}.{each[1]}" if isinstance(each, tuple) else str(each)


def _listed(kind: str, numbers: Sequence[str]) -> str:
    if not numbers:
        return f"no {kind}s"
    return f"{kind} {numbers[0]}" if len(numbers) == 1 else f"{kind}s {', '.join(numbers)}"
