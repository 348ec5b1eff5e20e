"""The check of edited scenes: each is its source with the edit that it records, and nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrhope.audit.checks.scenes import pixels_shown
from clevrhope.audit.folder import AuditFolder, PairFile
from clevrhope.audit.report import CheckResult
from clevrhope.dataset.clevr_json import parse_row
from clevrhope.runtime.forms import INDEX, NUMBER, TEXT, Fields, ListOf, check_form
from clevrhope.splits.kinds import SPLITS

BLURS = ("blur_1", "blur_2", "blur_3")
PIXELS = (*BLURS, "fill", "crop")
KINDS = ("copy", *PIXELS, "removal", "edit")
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
    "copy": (),
    **dict.fromkeys(BLURS, ("question_index", "objects", "sigma_px")),
    "fill": ("question_index", "objects", "rgb"),
    "crop": ("question_index", "objects", "rgb", "box"),
    "removal": ("question_index", "objects"),
    "edit": ("question_index", "object", "type", "value"),
}
"""Kind of edit -> the keys of its record that only some kinds have."""

Scene = Mapping[str, Any]
Faults = Iterator[tuple[str, object]]
"""What is wrong with a scene or its image, and the value that shows it."""


@dataclass(frozen=True)
class EditedScene:
    """A scene of a suite and its source, each with its JSON row."""

    scene: Scene
    source: Scene
    row: bytes
    source_row: bytes

    @property
    def edit(self) -> Mapping[str, Any]:
        """The scene's record of its edit."""
        found: Mapping[str, Any] = self.scene["edit"]
        return found

    @property
    def kind(self) -> str:
        """The kind of edit."""
        return str(self.edit["kind"])


def read_edited(
    folder: AuditFolder, place: PairFile, pool: str, check: CheckResult
) -> dict[int, EditedScene]:
    """The scenes of a suite's pool by index, without those whose edit or source is not named.

    Raises:
        DatasetError: a scene file is missing or cannot be read.
    """
    scenes: dict[int, tuple[Scene, bytes]] = {}
    for path, line, row in folder.scene_rows(pool):
        scene: Scene = parse_row(row, path, line)
        file, index = folder.layout.relative(path), int(scene["image_index"])
        check.n_checked += 1
        if scene["image_filename"] != f"HOPE_{pool}_{index:06d}.png":
            problem = "image_filename is not that of its pool and index"
            check.fault(file, index, problem, scene["image_filename"])
        if index in scenes:
            check.fault(file, index, "two scenes have this index", index)
        check_form(scene, Fields({"edit": _EDIT}), f"{path}:{line}")
        scenes[index] = scene, row
    wanted = {int(scene["edit"]["source_index"]) for scene, _ in scenes.values()}
    all_sources = ((parse_row(row, path, line), row) for path, line, row in folder.scene_rows(place.pool))
    sources = {each["image_index"]: (each, row) for each, row in all_sources if each["image_index"] in wanted}
    found = {}
    for index, (scene, row) in scenes.items():
        edit, file = scene["edit"], _file(folder, pool)
        number, kind = int(edit["source_index"]), edit["kind"]
        missing = [key for key in _OF_KIND.get(kind, ()) if key not in edit]
        if kind not in KINDS:
            check.fault(file, index, f"edit.kind is not one of {', '.join(KINDS)}", kind)
        elif missing:
            check.fault(file, index, f"edit of kind {kind} lacks", ", ".join(missing))
        elif number not in sources:
            check.fault(file, index, f"its source is not in {place.pool}", number)
        else:
            source, source_row = sources[number]
            found[index] = EditedScene(scene, source, row, source_row)
    return found


def check_scenes(
    folder: AuditFolder, place: PairFile, pool: str, scenes: Mapping[int, EditedScene], check: CheckResult
) -> None:
    """Compares scenes with their sources, counts objects' visible pixels, and applies the split's rule."""
    palette = _combinations(folder, place)
    foregrounds: dict[int, object] = {}
    for index, each in sorted(scenes.items()):
        faults = (
            *_differences(each),
            *_misplaced(index, each, foregrounds),
            *(_broken_rules(each, place, palette) if each.kind == "edit" else ()),
        )
        for problem, value in faults:
            check.fault(_file(folder, pool), index, problem, value)
    _check_seen(folder, pool, list(scenes.values()), check)


def _misplaced(index: int, each: EditedScene, foregrounds: dict[int, object]) -> Faults:
    """An index that is not that of the question and edit, and a foreground that other edits do not have."""
    kind, row = each.kind, each.edit.get("question_index", -1)
    # A copy stands at the first question about its source; others at their own question.
    first = index - index % len(KINDS) if kind == "copy" else row * len(KINDS)
    if index != first + KINDS.index(kind):
        yield "not the index of its question and edit", f"{kind} of {row}"
    if "objects" in each.edit:
        other = foregrounds.setdefault(row, each.edit["objects"])
        if other != each.edit["objects"]:
            yield f"its foreground is not {other}, as for other edits", each.edit["objects"]


def _differences(each: EditedScene) -> Faults:
    """The differences between a scene and its source with the edit applied."""
    scene, source, edit, kind = each.scene, each.source, each.edit, each.kind
    if edit["source"] != source["image_filename"]:
        yield "edit.source is not the name of its source's image", edit["source"]
    for key in _AROUND:
        if scene.get(key) != source.get(key):
            yield f"{key} is not that of its source", scene.get(key)
    numbers: Sequence[int] = range(len(source["objects"]))
    if "objects" in edit:
        numbers = edit["objects"]
        is_strict = list(numbers) == sorted(set(numbers)) and numbers[-1] < len(source["objects"])
        if not is_strict or len(numbers) == len(source["objects"]):
            yield "edit.objects are not some of the source's objects, in order", list(numbers)
            return
    kept = list(numbers) if kind == "removal" else list(range(len(source["objects"])))
    wanted = [dict(source["objects"][number]) for number in kept]
    found = scene["objects"]
    if len(found) != len(wanted):
        yield f"it does not have {len(wanted)} objects", len(found)
        return
    loose: Sequence[str] = _SEEN if kind in ("removal", "edit") else ()
    if kind == "edit":
        changed = wanted[edit["object"]] if edit["object"] < len(wanted) else {}
        if changed.get(edit["type"], edit["value"]) == edit["value"]:
            yield "edit is not of a value that its source has otherwise", edit
            return
        stands = found[edit["object"]]["3d_coords"]
        if changed["3d_coords"][:2] != stands[:2]:
            yield "the edited object does not stand where it stood", stands
        changed[edit["type"]] = edit["value"]
    for number, (there, here) in enumerate(zip(wanted, found, strict=True)):
        is_moved = number == edit.get("object") and edit.get("type") in ("size", "shape")
        free = _OF_VALUES if kind == "edit" and is_moved else loose
        for key in there.keys() | here.keys():
            if key not in free and there.get(key) != here.get(key):
                yield f"objects[{number}].{key} is not {there.get(key)}, as in its source", here.get(key)
        if kind == "removal" and here["visible_pixels"] < there["visible_pixels"]:
            yield f"objects[{number}] shows less than before others were removed", here["visible_pixels"]
    for relation, lists in source["relationships"].items():
        places = {number: place for place, number in enumerate(kept)}
        expected = [[places[other] for other in lists[number] if other in places] for number in kept]
        if scene["relationships"].get(relation) != expected:
            yield f"relationships.{relation} is not that of its source", scene["relationships"].get(relation)


def _combinations(folder: AuditFolder, place: PairFile) -> tuple[Sequence[str], set[tuple[str, ...]]] | None:
    """Attributes and combinations of the pool's palette; None if it has none."""
    _, _, name = place.pool.partition("-")
    if not name:
        return None
    raw = folder.manifest.palettes[name]
    rows = {tuple(each) for row in raw["rows"] for each in row}
    if place.pool.startswith("test_ood") and raw.get("held_out"):
        rows.add(tuple(raw["held_out"]))
    return raw["types"], rows


def _broken_rules(
    each: EditedScene, place: PairFile, palette: tuple[Sequence[str], set[tuple[str, ...]]] | None
) -> Faults:
    """The split's rules that an edited scene breaks."""
    pair, rule, objects = place.hop.held_out, SPLITS[place.name].rule, each.scene["objects"]
    if pair:
        shows = any(all(thing[kind] == value for kind, value in pair) for thing in objects)
        if rule == "without" and shows:
            yield f"an object of the edited scene is a {place.hop.words}", each.edit
        if rule == "with" and not shows:
            yield f"no object of the edited scene is a {place.hop.words}", each.edit
    if palette is not None:
        types, rows = palette
        if any(tuple(thing[kind] for kind in types) not in rows for thing in objects):
            yield "an object of the edited scene is not in the palette", each.edit


def _check_seen(folder: AuditFolder, pool: str, scenes: Sequence[EditedScene], check: CheckResult) -> None:
    """Compares each object's visible pixels with those in a raster of the edited scene."""
    least, file = int(folder.manifest.world["constraints"]["min_pixels"]), _file(folder, pool)
    changed = ((each.scene, each.row) for each in scenes if each.kind in ("removal", "edit"))
    for (scene, _), shown in pixels_shown(folder, pool, changed):
        stated = [thing["visible_pixels"] for thing in scene["objects"]]
        if shown != stated:
            problem = f"objects do not show {stated} pixels, as the scene states"
            check.fault(file, scene["image_index"], problem, shown)
        if min(shown) < least:
            check.fault(file, scene["image_index"], f"an object shows less than {least} pixels", min(shown))


def _file(folder: AuditFolder, pool: str) -> str:
    return folder.layout.relative(folder.layout.scenes(pool))
