"""What a hand-made scene lacks, and whether a program asks for it.

The engine reads complete scenes. What a scene lacks is filled in before it is read, and each program is
checked not to ask for it, so that no answer depends on what was filled in.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from clevrhope.errors import SceneError, shown
from clevrhope.programs.text import token_text
from clevrhope.scenes.camera import default_directions

Gaps = Mapping[str, str]
"""For each attribute or relation that a scene lacks: what a program needs, and where it is missing."""

CONVERSE: Final = {"left": "right", "right": "left", "behind": "front", "front": "behind"}
"""The relations, each with its converse."""


def completed(
    scene: Any, types: Sequence[tuple[str, Sequence[str]]], place: str = ""
) -> tuple[Any, dict[str, str]]:
    """The scene with something in place of all that it lacks, and what that is.

    Relations of a scene without `relationships` follow from the `3d_coords` of its objects, along its
    `directions` or else along those of CLEVR's scenes.

    Args:
        scene: in CLEVR's JSON form; returned as it is if it has no list of objects.
        types: the attribute types and their values.
        place: of the scene in a set, for the clauses.
    """
    objects = scene.get("objects") if isinstance(scene, Mapping) else None
    if not isinstance(objects, list | tuple) or not all(isinstance(item, Mapping) for item in objects):
        return scene, {}
    gaps: dict[str, str] = {}
    filled: list[Mapping[str, Any]] = []
    for number, item in enumerate(objects):
        missing = {kind: values[0] for kind, values in types if kind not in item}
        for kind in missing:
            near = get_close_matches(kind, map(str, item), n=1)
            hint = f" (it has {shown(near[0])})" if near else ""
            clause = f'the "{kind}" of each object, but {place}objects[{number}] has none{hint}'
            gaps.setdefault(kind, clause)
        filled.append({**item, **missing} if missing else item)
    changes: dict[str, Any] = {"objects": filled} if gaps else {}
    relations, clauses = _completed_relations(scene, place)
    changes |= relations
    return {**scene, **changes} if changes else scene, gaps | clauses


def _completed_relations(scene: Mapping[str, Any], place: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What a scene needs besides so that relations follow from it, and the relations that are made up."""
    objects, given = scene["objects"], scene.get("relationships", {})
    absent = [relation for relation in CONVERSE if relation not in given]
    if not absent or not isinstance(given, Mapping):
        return {}, {}
    if "relationships" in scene:
        clauses = {each: f'"{place}relationships.{each}", which is missing' for each in absent}
    else:
        unplaced = next((number for number, item in enumerate(objects) if "3d_coords" not in item), None)
        if unplaced is None:
            return ({} if "directions" in scene else {"directions": default_directions()}), {}
        clause = f'"relationships" or the "3d_coords" of each object, but {place}objects[{unplaced}] has none'
        clauses = dict.fromkeys(absent, clause)
    return {"relationships": {**given, **{each: [[] for _ in objects] for each in absent}}}, clauses


def check_gaps(nodes: Sequence[Mapping[str, Any]], gaps: Gaps) -> None:
    """Checks that a program asks for nothing that a scene lacks.

    Raises:
        SceneError: it does; names what the scene lacks, where, and the function that asks for it.
    """
    for node in nodes:
        for needed in _needs(node):
            if needed in gaps:
                raise SceneError(f"scene: {token_text(node)} needs {gaps[needed]}")


def _needs(node: Mapping[str, Any]) -> Iterator[str]:
    """The attribute or the relations that a function looks at."""
    values = node["value_inputs"]
    if values and values[0] in CONVERSE:
        yield values[0]
        if node["function"] == "choose_relation":
            yield CONVERSE[values[0]]
    else:
        yield node["function"].rpartition("_")[2]
