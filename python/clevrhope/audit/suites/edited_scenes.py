"""The check of edited scenes: each is its source with the edit that it records, and nothing else."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrhope.audit.checks.scenes import pixels_shown
from clevrhope.audit.folder import PairFile
from clevrhope.audit.leaks.palette import read_palette
from clevrhope.audit.suites.pairs import SuitePairs
from clevrhope.dataset.suite_pools import COPY, VISUAL_TESTS
from clevrhope.errors import with_article
from clevrhope.runtime.forms import INDEX, NUMBER, TEXT, Fields, ListOf
from clevrhope.splits.kinds import SPLITS
from clevrhope.splits.palettes import WITH_PAIR, Palette, parse_pool_name

BLURS = ("blur_1", "blur_2", "blur_3")
RENDERED = ("removal", "edit")
"""The kinds of edits whose scenes differ from their sources; the others change pixels alone."""

KINDS = (COPY, *VISUAL_TESTS)
"""The kinds of edits of a scene or its image, in the order of a question's images."""

_SEEN = ("visible_pixels", "visible_fraction", "bbox")
"""Keys of objects that are counted again in an edited scene."""

_OF_VALUES = (*_SEEN, "pixel_coords", "3d_coords")
"""Keys that can change with an object's size or shape: a large object's centre is higher."""

_AROUND = ("directions", "camera", "lights")

_EDIT = Fields(
    {"kind": TEXT, "source": TEXT, "source_index": INDEX},
    {
        **dict.fromkeys(("question_index", "object"), INDEX),
        **dict.fromkeys(("type", "value"), TEXT),
        "objects": ListOf(INDEX, least=1),
        "sigma_px": NUMBER,
        "rgb": ListOf(INDEX, 3),
        "box": ListOf(INDEX, 4),
    },
)

_OF_KIND: Mapping[str, tuple[str, ...]] = {
    COPY: (),
    **dict.fromkeys(BLURS, ("question_index", "objects", "sigma_px")),
    "fill": ("question_index", "objects", "rgb"),
    "crop": ("question_index", "objects", "rgb", "box"),
    "removal": ("question_index", "objects"),
    "edit": ("question_index", "object", "type", "value"),
}
"""Kind of edit -> the keys of its record that only some kinds have."""

Scene = Mapping[str, Any]
Fault = Callable[[int, str, object], None]
"""Reports a fault of a scene: its index, the problem and the value."""

Faults = Iterator[tuple[str, object]]
"""What is wrong with a scene or its image, and the value that shows it."""


@dataclass(frozen=True)
class EditedScene:
    """A scene of a suite and its source, each with its JSON row."""

    edit: Mapping[str, Any]
    """The scene's record of its edit."""
    kind: str
    scene: Scene
    source: Scene
    row: bytes
    source_row: bytes


def read_edited(pairs: SuitePairs, fault: Fault) -> dict[int, EditedScene]:
    """The scenes of a suite's pool by index, without those whose edit or source is not named.

    Raises:
        DatasetError: a scene file is missing or cannot be read.
    """
    folder, pool, of_sources = pairs.folder, pairs.pool.name, pairs.place.pool
    scenes: dict[int, tuple[dict[str, Any], bytes]] = {}
    for scene, row in folder.parsed_scenes(pool, edit=_EDIT):
        index = int(scene["image_index"])
        if scene["image_filename"] != f"HOPE_{pool}_{index:06d}.png":
            fault(index, "image_filename is not that of its pool and index", scene["image_filename"])
        if index in scenes:
            fault(index, "two scenes have this index", index)
        scenes[index] = scene, row
    wanted = {int(scene["edit"]["source_index"]) for scene, _ in scenes.values()}
    sources = {
        source["image_index"]: (source, row)
        for source, row in folder.parsed_scenes(of_sources)
        if source["image_index"] in wanted
    }
    edited = {}
    for index, (scene, row) in scenes.items():
        edit = scene["edit"]
        kind = edit["kind"]
        missing = [key for key in _OF_KIND.get(kind, ()) if key not in edit]
        if kind not in KINDS:
            fault(index, f"edit.kind is not one of {', '.join(KINDS)}", kind)
        elif missing:
            fault(index, f"edit of kind {kind} lacks", ", ".join(missing))
        elif edit["source_index"] not in sources:
            fault(index, f"its source is not in {of_sources}", edit["source_index"])
        else:
            source, source_row = sources[edit["source_index"]]
            edited[index] = EditedScene(edit, kind, scene, source, row, source_row)
    return edited


def check_scenes(pairs: SuitePairs, scenes: Mapping[int, EditedScene], fault: Fault) -> None:
    """Compares scenes with their sources, counts objects' visible pixels, and applies the split's rule."""
    folder, name = pairs.folder, parse_pool_name(pairs.place.pool)[1]
    palette = read_palette(folder.layout.manifest, folder.manifest.palettes, name) if name else None
    foregrounds: dict[int, object] = {}
    for index, edited in sorted(scenes.items()):
        faults = [*_differences(edited), *_misplaced(index, edited, foregrounds)]
        if edited.kind == "edit":
            faults += _broken_rules(edited, pairs.place, palette)
        for problem, value in faults:
            fault(index, problem, value)
    least = int(folder.manifest.world["constraints"]["min_pixels"])
    rendered = ((edited.scene, edited.row) for edited in scenes.values() if edited.kind in RENDERED)
    for (scene, _), shown in pixels_shown(folder, pairs.pool.name, rendered):
        stated = [thing["visible_pixels"] for thing in scene["objects"]]
        if shown != stated:
            fault(scene["image_index"], f"objects do not show {stated} pixels, as the scene states", shown)
        if min(shown) < least:
            fault(scene["image_index"], f"an object shows less than {least} pixels", min(shown))


def _misplaced(index: int, edited: EditedScene, foregrounds: dict[int, object]) -> Faults:
    """An index that is not that of the question and edit, and a foreground that other edits do not have."""
    question = edited.edit.get("question_index", -1)
    # A copy stands at the first question about its source; others at their own question.
    first = index - index % len(KINDS) if edited.kind == COPY else question * len(KINDS)
    if index != first + KINDS.index(edited.kind):
        yield "not the index of its question and edit", f"{edited.kind} of {question}"
    if "objects" in edited.edit:
        foreground = foregrounds.setdefault(question, edited.edit["objects"])
        if foreground != edited.edit["objects"]:
            yield f"its foreground is not {foreground}, as for other edits", edited.edit["objects"]


def _differences(edited: EditedScene) -> Faults:
    """The differences between a scene and its source with the edit applied."""
    scene = edited.scene
    source = edited.source
    edit = edited.edit
    if edit["source"] != source["image_filename"]:
        yield "edit.source is not the name of its source's image", edit["source"]
    for key in _AROUND:
        if scene.get(key) != source.get(key):
            yield f"{key} is not that of its source", scene.get(key)
    kept = list(range(len(source["objects"])))
    if "objects" in edit:
        foreground = edit["objects"]
        are_in_order = foreground == [number for number in kept if number in foreground]
        if not are_in_order or foreground == kept:
            yield "edit.objects are not some of the source's objects, in order", foreground
            return
        if edited.kind == "removal":
            kept = foreground
    expected = [dict(source["objects"][number]) for number in kept]
    if len(scene["objects"]) != len(expected):
        yield f"it does not have {len(expected)} objects", len(scene["objects"])
        return
    if edited.kind == "edit":
        changed = expected[edit["object"]] if edit["object"] < len(expected) else {}
        if changed.get(edit["type"], edit["value"]) == edit["value"]:
            yield "edit is not of a value that its source has otherwise", edit
            return
        position = scene["objects"][edit["object"]]["3d_coords"]
        if changed["3d_coords"][:2] != position[:2]:
            yield "the edited object does not stand where it stood", position
        changed[edit["type"]] = edit["value"]
    yield from _different_objects(edited, expected)
    places = {number: place for place, number in enumerate(kept)}
    for relation, related in source["relationships"].items():
        stated = scene["relationships"].get(relation)
        if stated != [[places[other] for other in related[number] if other in places] for number in kept]:
            yield f"relationships.{relation} is not that of its source", stated


def _different_objects(edited: EditedScene, expected: Sequence[Mapping[str, Any]]) -> Faults:
    """The differences between the objects of a scene and those that are expected."""
    edit = edited.edit
    for number, (wanted, thing) in enumerate(zip(expected, edited.scene["objects"], strict=True)):
        free: Sequence[str] = _SEEN if edited.kind in RENDERED else ()
        if edited.kind == "edit" and number == edit["object"] and edit["type"] in ("size", "shape"):
            free = _OF_VALUES
        for key in sorted(wanted.keys() | thing.keys()):
            if key not in free and wanted.get(key) != thing.get(key):
                yield f"objects[{number}].{key} is not {wanted.get(key)}, as in its source", thing.get(key)
        if edited.kind == "removal" and thing["visible_pixels"] < wanted["visible_pixels"]:
            yield f"objects[{number}] shows less than before others were removed", thing["visible_pixels"]


def _broken_rules(edited: EditedScene, pairs: PairFile, palette: Palette | None) -> Faults:
    """The split's rules that an edited scene breaks."""
    objects = edited.scene["objects"]
    pair = pairs.hop.held_out
    if pair:
        rule, pair_words = SPLITS[pairs.name].rule, with_article(pairs.hop.words)
        shows_pair = any(all(thing[kind] == value for kind, value in pair) for thing in objects)
        if rule == "without" and shows_pair:
            yield f"an object of the edited scene is {pair_words}", edited.edit
        if rule == "with" and not shows_pair:
            yield f"no object of the edited scene is {pair_words}", edited.edit
    if palette is not None:
        allowed = set(palette.combinations)
        if palette.held_out and parse_pool_name(pairs.pool)[0] == WITH_PAIR:
            allowed.add(palette.held_out)
        if any(tuple(thing[kind] for kind in palette.types) not in allowed for thing in objects):
            yield "an object of the edited scene is not in the palette", edited.edit
