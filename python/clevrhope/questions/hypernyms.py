"""The ontology of a suite: hypernyms of shapes, from a user's table, and the tests along its levels."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrhope.errors import TemplateError
from clevrhope.runtime.forms import TEXT, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.settings import suggestion

HYPERNYMS = "hypernyms.json"
"""The file of a suite with the table: a shape or a hypernym -> its hypernym."""

THING = "thing"
"""The hypernym of all others; a table need not name it."""

_MOST_SHAPES = 6
"""The most shapes of a hypernym: more would be more nodes than a template may have."""

_SOURCE = "zero_hop 1"
"""The family of the dataset whose questions are originals: "Is there any <Z> <C> <M> <S>?" A program of a
hypernym has its other steps once for each shape, and a step of a relation may not be repeated."""

_TEXTS = (
    "Is there any <Z> <C> <M> {X}?",
    "Is any <Z> <C> <M> {X} visible?",
    "Are there <Z> <C> <M> {X}s?",
    "Are <Z> <C> <M> {X}s visible?",
    "Are there any visible <Z> <C> <M> {X}s?",
    "Is there any <Z> <C> <M> {X} that is visible?",
)

_ATTRIBUTES = ["<Z>", "<C>", "<M>"]


def read_hypernyms(path: Path) -> dict[str, tuple[str, ...]]:
    """Each hypernym with its shapes, which may be several levels below it; "thing" with those right below it.

    Raises:
        TemplateError: the file is not such a table, or a name is its own hypernym.
    """
    table: Mapping[str, str] = read_object(path, "hypernyms", error=TemplateError)
    check_form(table, MapOf(TEXT), path, error=TemplateError)
    shapes: dict[str, tuple[str, ...]] = {name: () for name in table.values() if name != THING}
    for name in table:
        above = [name]
        while (hypernym := table.get(above[-1], THING)) != THING:
            if hypernym in above:
                cycle = ", ".join([*above[above.index(hypernym) :], hypernym])
                raise TemplateError(
                    f"{path}: hypernyms in a cycle: {cycle}; change or remove the hypernym of one of them"
                )
            above.append(hypernym)
        if name not in shapes:
            for hypernym in above[1:] or [THING]:
                shapes[hypernym] = (*shapes.get(hypernym, ()), name)
    return shapes


def check_hypernyms(
    path: Path, hypernyms: Mapping[str, Sequence[str]], shapes: Sequence[str], words: Sequence[str]
) -> None:
    """Checks hypernyms for a dataset with these shapes, whose questions have these words.

    A hypernym has a word of its own, so it is no value, and no test can have it as a foil.

    Raises:
        TemplateError: names the first fault.
    """
    for name, own in hypernyms.items():
        if unknown := [shape for shape in own if shape not in shapes]:
            hint = suggestion(unknown[0], shapes)
            raise TemplateError(
                f'{path}: "{unknown[0]}" is neither a shape{hint} nor a hypernym; shapes: {", ".join(shapes)}'
            )
        if name == THING:
            continue
        if not (name.isascii() and name.isalpha() and name.islower()):
            raise TemplateError(f'{path}: "{name}" is not a word of small letters, as a hypernym is')
        if taken := {name, f"{name}s"} & {*words, *shapes}:
            raise TemplateError(
                f'{path}: "{min(taken)}" is a word of the dataset\'s questions; a hypernym needs its own'
            )
        if len(own) < 2 or len(own) == len(shapes):
            other = own[0] if len(own) == 1 else THING
            raise TemplateError(
                f'{path}: "{name}" is another word for {other}, as its shapes are {", ".join(own)}; '
                f"a hypernym has two shapes or more, but not all"
            )
        if len(own) > _MOST_SHAPES:
            raise TemplateError(f'{path}: "{name}" has {len(own)} shapes; at most {_MOST_SHAPES}')


def hypernym_entries(hypernyms: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """The entries of the tests: from a shape to each of its hypernyms, from these to "thing", and back.

    Relation and conditions are those of the test `ontology`, which asks from a shape to "thing".
    """
    return [e for name, shapes in hypernyms.items() if name != THING for e in _entries(name, shapes)]


def _entries(name: str, shapes: Sequence[str]) -> Iterator[dict[str, Any]]:
    is_shape, is_thing = {"among": {"<S>": list(shapes)}}, {"unset": ["<S>"]}
    for test, when in (
        (f"ontology_{name}", {**is_shape, "answer": ["yes"]}),
        (f"ontology_{name}", {**is_shape, "answer": ["no"], "holds": True}),
        (f"ontology_{name}_{THING}", {**is_thing, "answer": ["no"]}),
        (f"ontology_{name}_{THING}", {**is_thing, "answer": ["yes"], "holds": True}),
    ):
        params = [{"type": "Shape", "name": f"<V{k}>", "value": value} for k, value in enumerate(shapes)]
        yield {
            "test": test,
            "tier": "beyond",
            "type": "shape",
            "source": [_SOURCE],
            "when": {**when, "any_set": _ATTRIBUTES},
            "params": params,
            "then": _nodes(len(shapes)),
            "change": {"<S>": None},
            "text": [text.replace("{X}", name) for text in _TEXTS],
            "sides": "coin",
            "relation": "same",
        }


def _nodes(n: int) -> list[dict[str, Any]]:
    """The nodes after that of the scene: whether there is an object that has one of `n` shapes."""
    filters = [{"type": "filter_shape", "inputs": [1], "side_inputs": [f"<V{k}>"]} for k in range(n)]
    unions = [{"type": "union", "inputs": [n + k if k > 1 else 2, 2 + k]} for k in range(1, n)]
    first = {"type": "filter", "inputs": [0], "side_inputs": [*_ATTRIBUTES, "<S>"]}
    return [first, *filters, *unions, {"type": "exist", "inputs": [2 * n]}]
