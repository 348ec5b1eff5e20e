"""Random CLEVR scenes, and random well-typed programs about them, as dictionaries for hypothesis."""

from random import Random
from typing import Any, TypeAlias

from hypothesis import strategies as st

from clevrhope import ProgramError, execute

Scene: TypeAlias = dict[str, Any]
Nodes: TypeAlias = list[dict[str, Any]]

VALUES = {
    "size": ["small", "large"],
    "color": ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"],
    "material": ["rubber", "metal"],
    "shape": ["cube", "sphere", "cylinder"],
}
RELATIONS = ["left", "right", "behind", "front"]
NUMBERS = [str(number) for number in range(11)]
# function -> (types of inputs, type of output); what takes a value is told by its name
SIGNATURES: dict[str, tuple[list[str], str]] = {
    "scene": ([], "set"),
    "unique": (["set"], "object"),
    "relate": (["object"], "set"),
    "union": (["set", "set"], "set"),
    "intersect": (["set", "set"], "set"),
    "count": (["set"], "integer"),
    "exist": (["set"], "bool"),
    "equal_integer": (["integer", "integer"], "bool"),
    "less_than": (["integer", "integer"], "bool"),
    "greater_than": (["integer", "integer"], "bool"),
    "subtraction": (["integer", "integer"], "integer"),
    "equal_object": (["object", "object"], "bool"),
    "and": (["bool", "bool"], "bool"),
    "or": (["bool", "bool"], "bool"),
    "not": (["bool"], "bool"),
    "count_is": (["integer"], "bool"),
    "verify_relation": (["object", "object"], "bool"),
}
BEYOND_CLEVR = ["subtraction", "equal_object", "and", "or", "not", "count_is", "verify_relation"]
"""Functions that no question of CLEVR uses."""
for _kind in VALUES:
    SIGNATURES[f"filter_{_kind}"] = (["set"], "set")
    SIGNATURES[f"query_{_kind}"] = (["object"], _kind)
    SIGNATURES[f"same_{_kind}"] = (["object"], "set")
    SIGNATURES[f"equal_{_kind}"] = ([_kind, _kind], "bool")
    SIGNATURES[f"verify_{_kind}"] = (["object"], "bool")
    SIGNATURES[f"offer_{_kind}"] = (["object"], "object")
    BEYOND_CLEVR += [f"verify_{_kind}", f"offer_{_kind}"]


def answer_if_any(program: Any, scene: Scene) -> Any:
    """The engine's answer; None if the program has none on the scene."""
    try:
        return execute(program, scene)
    except ProgramError:
        return None


def choices_of(function: str) -> list[str]:
    """The values that a function can take; none if it takes none."""
    if function == "count_is":
        return NUMBERS
    if function in ("relate", "verify_relation"):
        return RELATIONS
    verb, _, kind = function.partition("_")
    return VALUES[kind] if verb in ("filter", "verify", "offer") else []


def random_scene(rng: Random, most: int = 10) -> Scene:
    """A scene of none to `most` objects; its relations are those of places on a plane."""
    n = rng.randint(0, most)
    objects = [{kind: rng.choice(values) for kind, values in VALUES.items()} for _ in range(n)]
    places = [(rng.randint(-9, 9), rng.randint(-9, 9)) for _ in range(n)]
    across = {"left": (-1, 0), "right": (1, 0), "behind": (0, 1), "front": (0, -1)}
    relationships = {
        name: [
            [j for j, (u, v) in enumerate(places) if (u - x) * right + (v - y) * back > 1] for x, y in places
        ]
        for name, (right, back) in across.items()
    }
    return {"objects": objects, "relationships": relationships}


def random_program(rng: Random, scene: Scene) -> Nodes:
    """A program from the answer down: any function of the type that is wanted, on inputs made likewise.

    An input may be an earlier node's output, so nodes are shared; an object is often picked out by all its
    values, so that many programs have an answer. Now and then a node stands there that nobody needs.
    """
    nodes: Nodes = []
    types: list[str] = []

    def add(function: str, value: str | None, *inputs: int) -> int:
        values = [] if value is None else [value]
        nodes.append({"function": function, "inputs": list(inputs), "value_inputs": values})
        types.append(SIGNATURES[function][1])
        return len(nodes) - 1

    def make(wanted: str, depth: int) -> int:
        known = [i for i, kind in enumerate(types) if kind == wanted]
        if known and rng.random() < 0.15:
            return rng.choice(known)
        if wanted == "object" and scene["objects"] and (depth <= 0 or rng.random() < 0.8):
            return pick_out(depth)
        if wanted == "set" and depth <= 0:
            return add("scene", None)
        if wanted == "integer" and depth <= 1:
            return apply("count", depth)
        return apply(rng.choice([name for name, (_, given) in SIGNATURES.items() if given == wanted]), depth)

    def pick_out(depth: int) -> int:
        node = make("set", depth - 1) if depth > 0 and rng.random() < 0.2 else add("scene", None)
        one = rng.choice(scene["objects"])
        for kind in rng.sample(list(VALUES), rng.choice([2, 4, 4])):
            node = add(f"filter_{kind}", one[kind], node)
        return add("unique", None, node)

    def apply(function: str, depth: int) -> int:
        inputs = [make(wanted, depth - 1) for wanted in SIGNATURES[function][0]]
        choices = choices_of(function)
        return add(function, rng.choice(choices) if choices else None, *inputs)

    if rng.random() < 0.1:
        make("set", 1)
    ends = [name for name, (_, given) in SIGNATURES.items() if given not in ("set", "object")]
    apply(rng.choice(ends), rng.randint(1, 5))
    return nodes


def scenes_and_programs() -> st.SearchStrategy[tuple[Scene, Nodes]]:
    """A scene and a program made with an eye to it.

    Hypothesis draws a seed only: left to draw each choice, it prefers the first ones so much that some
    functions hardly ever occur.
    """

    def pair(seed: int) -> tuple[Scene, Nodes]:
        rng = Random(seed)
        scene = random_scene(rng)
        return scene, random_program(rng, scene)

    return st.integers(0, 2**63).map(pair)
