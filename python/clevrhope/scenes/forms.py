"""Scenes as callers give them: one, several, or the content of a scene file; and what is assumed of them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from clevrhope._core import SceneBatch, Vocabulary
from clevrhope.errors import SceneError, shown
from clevrhope.runtime.json_text import json_bytes
from clevrhope.scenes.camera import directions_of


class HasContent(Protocol):
    """A scene such as `clevrhope.sample_scenes` gives."""

    @property
    def content(self) -> Mapping[str, Any]:
        """The scene in CLEVR's JSON form."""
        ...


OneScene: TypeAlias = Mapping[str, Any] | HasContent
Scenes: TypeAlias = OneScene | SceneBatch | Iterable[OneScene]
"""One scene, several, or what json.load gives of a scene file."""

RELATIONS_NEED = '"directions", or a "camera" whose "location" is three numbers, not above the origin'


def several(given: object) -> Iterable[Any] | None:
    """The scenes of a list, a batch or a scene file's content; None for anything else, such as one scene."""
    if isinstance(given, SceneBatch):
        return map(json.loads, given.json_rows())
    listed = given.get("scenes") if isinstance(given, Mapping) else given
    return listed if isinstance(listed, Iterable) and not isinstance(listed, str | bytes | Mapping) else None


def vocabulary_of(given: object) -> Vocabulary | None:
    """The vocabulary of a batch, or of a scene or the first of several that have one; None for JSON."""
    if isinstance(given, list | tuple) and given:
        given = given[0]
    found = getattr(given, "vocabulary", None)
    return found if isinstance(found, Vocabulary) else None


def contents(given: Scenes) -> Iterator[Mapping[str, Any]]:
    """Yields each scene in CLEVR's JSON form.

    Raises:
        SceneError: something is not a scene; names its place.
    """
    listed = several(given)
    for number, each in enumerate((given,) if listed is None else listed):
        content = each if isinstance(each, Mapping) else getattr(each, "content", None)
        if not isinstance(content, Mapping):
            place, expected = f"scenes[{number}]", "a scene"
            if listed is None:
                place = "scenes"
                expected = "one scene, a list of scenes, or what json.load gives of a scene file"
            raise SceneError(f"{place}: expected {expected}, got {shown(each)}")
        yield content


def image_name(scene: Mapping[str, Any], number: int) -> Any:
    """The `image_filename` of a scene; by default its number in the file, such as 000000.png."""
    return scene.get("image_filename", f"{number:06d}.png")


def read_batch(given: Scenes, vocabulary: Vocabulary, *, file: str = "") -> SceneBatch:
    """Reads scenes to ask questions about; `file` names them in messages.

    What questions do not need may be missing. A scene without `relationships` has those that follow from the
    `3d_coords` of its objects along its `directions` or, without those, as its `camera` sees them or else the
    camera of CLEVR's scenes. Without `image_index` and `image_filename`, its number in the list stands there.

    Raises:
        SceneError: a scene lacks something, or two scenes have one `image_index`; names the place.
    """
    place = f"{file}: " if file else ""
    rows = [_for_questions(scene, number, place) for number, scene in enumerate(contents(given))]
    try:
        batch = SceneBatch.from_json(vocabulary, b"[" + b",".join(rows) + b"]", file=file or "scenes")
    except SceneError as error:
        raise SceneError(str(error) if file else str(error).removeprefix("scenes: ")) from error
    seen: dict[int, int] = {}
    for number, index in enumerate(batch.indices.tolist()):
        if seen.setdefault(index, number) != number:
            raise SceneError(
                f"{place}scenes[{number}].image_index: {index}, as that of scenes[{seen[index]}]; questions "
                "name their scene by it, so give each scene its own"
            )
    return batch


def _for_questions(scene: Mapping[str, Any], number: int, place: str) -> bytes:
    """A scene with everything that the engine reads, as JSON."""
    objects = scene.get("objects")
    unseen: dict[str, Any] = {"pixel_coords": [0, 0, 0.0], "rotation": 0.0}
    directions = scene.get("directions")
    if directions is None:
        try:
            directions = directions_of(scene)
        except ValueError:
            if "relationships" not in scene:
                raise SceneError(f"{place}scenes[{number}]: relations need {RELATIONS_NEED}") from None
            directions = directions_of({})
    if "relationships" in scene:
        unseen["3d_coords"] = [0.0, 0.0, 0.0]
    if isinstance(objects, list | tuple):
        objects = [{**unseen, **item} if isinstance(item, Mapping) else item for item in objects]
    full = {
        "split": "new",  # what CLEVR's generator calls scenes of one's own
        "image_index": number,
        "image_filename": image_name(scene, number),
        **scene,
        "directions": directions,
        **({} if objects is None else {"objects": objects}),
    }
    return json_bytes(full, f"{place}scenes[{number}]", error=SceneError)
