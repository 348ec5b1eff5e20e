"""A slow and obvious executor of CLEVR programs, written apart from the engine; it gives each node's output.

Written from the published description of CLEVR's functions (Johnson et al. 2017, appendix A) and from what
paired tests need (docs/configuration.md), a function a line or two, sets as Python lists. It is what the
engine is held against, so it shares nothing with it.
"""

from collections.abc import Callable
from typing import Any

TYPES = ("size", "color", "material", "shape")
OF_INPUTS: dict[str, Callable[..., Any]] = {
    "union": lambda a, b: sorted(set(a + b)),
    "intersect": lambda a, b: [i for i in a if i in b],
    "count": len,
    "exist": lambda objects: objects != [],
    "less_than": lambda a, b: a < b,
    "greater_than": lambda a, b: a > b,
    "subtraction": lambda a, b: a - b if a >= b else FAILED,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
}
"""The functions that need to know nothing but their inputs."""
FAILED = "failed"
"""The output of a `unique` whose set has not exactly one object, or of a `subtraction` below 0; no node after
it has one."""


def run(nodes: list[dict[str, Any]], scene: dict[str, Any]) -> list[Any]:
    """The outputs of the nodes in order, up to and including the first that failed."""
    outputs: list[Any] = []
    for node in nodes:
        inputs = [outputs[i] for i in node["inputs"]]
        outputs.append(output(node["function"], node["value_inputs"], inputs, scene))
        if outputs[-1] == FAILED:
            break
    return outputs


def output(function: str, values: list[str], inputs: list[Any], scene: dict[str, Any]) -> Any:
    """What one function gives: a sorted list of objects, an object, an int, a bool or a value's name."""
    objects = scene["objects"]
    if function == "scene":
        return list(range(len(objects)))
    if function == "unique":
        return inputs[0][0] if len(inputs[0]) == 1 else FAILED
    if function == "relate":
        return sorted(scene["relationships"][values[0]][inputs[0]])
    if function in OF_INPUTS:
        return OF_INPUTS[function](*inputs)
    if function == "count_is":
        return str(inputs[0]) == values[0]
    if function == "verify_relation":
        return inputs[0] in scene["relationships"][values[0]][inputs[1]]
    verb, _, kind = function.partition("_")
    if verb == "verify":
        return objects[inputs[0]][kind] == values[0]
    if verb == "offer":
        return inputs[0]
    if verb == "equal":
        return inputs[0] == inputs[1]
    if verb == "filter":
        return [i for i in inputs[0] if objects[i][kind] == values[0]]
    if verb == "query":
        return objects[inputs[0]][kind]
    if verb == "same":
        this = objects[inputs[0]]
        return [i for i, other in enumerate(objects) if other is not this and other[kind] == this[kind]]
    raise AssertionError(f"no function {function}")


def prefix_tokens(nodes: list[dict[str, Any]], number: int = -1) -> list[str]:
    """The tokens of a node and all that it takes, as the public CLEVR models order and spell them."""
    node = nodes[number]
    value = f"[{node['value_inputs'][0]}]" if node["value_inputs"] else ""
    return [node["function"] + value] + [
        token for source in node["inputs"] for token in prefix_tokens(nodes, source)
    ]
