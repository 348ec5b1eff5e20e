"""Finds what a hand-made scene lacks, and whether a program asks for it.

The engine reads complete scenes. Missing parts are filled in before a scene is read, and each program is
checked not to ask for them, so that no answer depends on what was filled in.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from clevrhope.errors import SceneError, shown
from clevrhope.programs.text import token_text
from clevrhope.scenes.camera import directions_of
from clevrhope.scenes.forms import RELATIONS_NEED

Needs: TypeAlias = tuple[tuple[str, str], ...]
"""The attributes and relations that a program reads, each with the token that reads it."""

CONVERSE: Final = {"left": "right", "right": "left", "behind": "front", "front": "behind"}
"""Each relation with its converse."""


@dataclass(frozen=True)
class Gap:
    """Something that a scene lacks.

    Attributes:
        key: the missing key.
        what: what is needed, in words.
        where: the part of the scene that lacks it, in words.
        part: the part itself.
    """

    key: str
    what: str
    where: str
    part: Mapping[str, Any]

    def __str__(self) -> str:
        near = get_close_matches(self.key, map(str, self.part), n=1)
        return f"{self.what}, but {self.where} has none" + (f" (it has {shown(near[0])})" if near else "")


Gaps: TypeAlias = Mapping[str, Gap]
"""Gaps by attribute or relation."""


def fill_gaps(
    scene: Any, types: Sequence[tuple[str, Sequence[str]]], place: str = ""
) -> tuple[Any, dict[str, Gap]]:
    """Fills in everything that a scene lacks, and returns the scene and its gaps.

    If a scene has no `relationships`, they are computed from the `3d_coords` of its objects, along its
    `directions` or, without those, as its `camera` sees them or else the camera of CLEVR's scenes.

    Args:
        scene: in CLEVR's JSON form; returned as it is if it has no list of objects.
        types: the attribute types and their values.
        place: the scene's place in a set, for the messages.
    """
    objects = scene.get("objects") if isinstance(scene, Mapping) else None
    if not isinstance(objects, list | tuple) or not all(isinstance(item, Mapping) for item in objects):
        return scene, {}
    gaps: dict[str, Gap] = {}
    filled: list[Mapping[str, Any]] = []
    for number, item in enumerate(objects):
        missing = {kind: values[0] for kind, values in types if kind not in item}
        for kind in missing:
            gaps.setdefault(
                kind, Gap(kind, f'the "{kind}" of each object', f"{place}objects[{number}]", item)
            )
        filled.append({**item, **missing} if missing else item)
    changes: dict[str, Any] = {"objects": filled} if gaps else {}
    relations, clauses = _fill_relations(scene, place)
    changes |= relations
    return {**scene, **changes} if changes else scene, gaps | clauses


def _fill_relations(scene: Mapping[str, Any], place: str) -> tuple[dict[str, Any], dict[str, Gap]]:
    """The entries to add so that relations can be computed, and the gaps for relations that are made up."""
    objects, given = scene["objects"], scene.get("relationships", {})
    absent = [each for each in CONVERSE if each not in given] if isinstance(given, Mapping) else []
    if not absent:
        return {}, {}
    if "relationships" in scene:
        where = f"{place}relationships"
        clauses = {each: Gap(each, f'"relationships" of "{each}"', where, given) for each in absent}
    else:
        unplaced = next((number for number, item in enumerate(objects) if "3d_coords" not in item), None)
        if unplaced is None:
            return _fill_directions(scene, place, absent)
        what, where = '"relationships" or the "3d_coords" of each object', f"{place}objects[{unplaced}]"
        clauses = dict.fromkeys(absent, Gap("3d_coords", what, where, objects[unplaced]))
    return {"relationships": {**given, **{each: [[] for _ in objects] for each in absent}}}, clauses


def _fill_directions(
    scene: Mapping[str, Any], place: str, absent: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Gap]]:
    """The directions to add, and the gaps for relations that would follow from a camera that is none."""
    if "directions" in scene:
        return {}, {}
    try:
        return {"directions": directions_of(scene)}, {}
    except ValueError:
        return {"directions": directions_of({})}, dict.fromkeys(
            absent, Gap("directions", RELATIONS_NEED, f"{place.removesuffix('.') or 'it'}", scene)
        )


def needs_of(nodes: Sequence[Mapping[str, Any]]) -> Needs:
    """The attributes and relations that a program reads; nodes are in the published spelling."""
    return tuple((needed, token_text(node)) for node in nodes for needed in _needs(node))


def check_gaps(needs: Needs, gaps: Gaps) -> None:
    """Checks that a program asks for nothing that the scene lacks.

    Raises:
        SceneError: it does; names what the scene lacks, where, and the function that asks for it.
    """
    for needed, token in needs:
        if needed in gaps:
            raise SceneError(f"scene: {token} needs {gaps[needed]}")


def _needs(node: Mapping[str, Any]) -> Iterator[str]:
    """The attribute or relations that a function reads."""
    values = node["value_inputs"]
    if values and values[0] in CONVERSE:
        yield values[0]
        if node["function"] == "choose_relation":
            yield CONVERSE[values[0]]
    else:
        yield node["function"].rpartition("_")[2]
