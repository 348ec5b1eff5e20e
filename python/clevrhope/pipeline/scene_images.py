"""Renders any scene file in CLEVR's format, one PNG file per scene; keeps existing images.

The folder's render.json records how its images were rendered and from which files, so that images rendered in
different ways are never mixed.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.dataset.binding import difference
from clevrhope.dataset.json_rows import read_scenes
from clevrhope.dataset.passes_h5 import aggregate_passes, annotated_in, kinds_in_record, pack, write_record
from clevrhope.errors import ConfigError, DatasetError, SceneError, shown
from clevrhope.images.passes import Annotator, annotator_of, parse_passes
from clevrhope.images.placement import place_inside
from clevrhope.images.png import is_whole_png
from clevrhope.images.renderer import Scene
from clevrhope.images.renderers import (
    open_renderer,
    other_revision,
    rendering_as_json,
    rendering_from_json,
    rendering_of_folder,
    row_of,
)
from clevrhope.images.settings import Rendering
from clevrhope.images.stage import render_png_files, stage_title, write_results
from clevrhope.look.definition import Look, read_look
from clevrhope.pages import render_lines
from clevrhope.runtime.atomic import OWN_PREFIX, WorkingFolder, record, sweep, write_whole
from clevrhope.runtime.forms import OBJECT, TEXT, Fields, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.lock import locked
from clevrhope.runtime.paths import MAX_NAME
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.scenes.forms import image_name

RENDER_JSON = "render.json"
"""Records how the folder's images are rendered, and from which files; written before the first image."""


@dataclass(frozen=True)
class RenderedFile:
    """The result of rendering a scene file."""

    folder: Path
    n_scenes: int
    n_rendered: int
    """Number of images that this run rendered; the others existed before."""
    n_annotated: int
    """Number of images that this run annotated."""
    n_without_camera: int
    """Number of scenes without a camera position, such as all of CLEVR's own."""
    n_without_lights: int
    n_without_rotation: int
    """Number of scenes with an object without `rotation`, which is taken as 0."""


def render_scene_file(
    scenes: Path,
    out: Path,
    *,
    rendering: Rendering,
    properties: Path | None = None,
    changes: Mapping[str, Any] | None = None,
    workers: int | None = None,
    passes: Sequence[str] = (),
    engine: str = "local",
    address: str | None = None,
    progress: Progress | None = None,
) -> RenderedFile:
    """Renders the images that `out` lacks, each under its scene's `image_filename`.

    A scene without a file name is named by its number in the file, such as 000000.png. All scenes are checked
    before any is rendered. Several scene files can be rendered into one folder with the same settings. With
    `passes`, some of mask, depth and normal, an HDF5 file beside the images (the scene file's name with
    _passes.h5) has a row for each scene, in the file's order; existing annotations stay. `changes` are those
    of `read_look`.

    Raises:
        SceneError: the scene file is missing, or a scene has an unknown name, lacks something, or has an
            object outside the world.
        DatasetError: the scene file is broken, or the folder has images rendered in another way.
        ConfigError: there is no such device, engine or address, or no renderer supports the changed look.
        RenderError: Blender or Ray is needed but missing, or does not answer.
    """
    progress = progress or Silent()
    if not scenes.exists():
        raise SceneError(f"{scenes}: no such file; give a scene file in CLEVR's format")
    look = read_look(properties=properties, changes=changes)
    kinds = parse_passes(passes, "--passes")
    names, without = _check_scenes(scenes, look, rendering, progress)
    with ExitStack() as stack:
        renderer = stack.enter_context(
            open_renderer(rendering, look=look, workers=workers, engine=engine, address=address, folder=out)
        )
        if out.exists() and not out.is_dir():
            raise DatasetError(f"{out}: a file, not a folder; choose another --out")
        stack.enter_context(locked(out))
        sweep((out,))
        annotator = annotator_of(renderer) if kinds else None
        kinds = _bind(out, scenes, names, look, rendering, kinds)
        n_there = sum(is_whole_png(out / name) for name in names)
        n_rendered = 0
        with progress.stage(stage_title(renderer), total=len(names) - n_there, unit="images") as advance:
            named = zip(names, read_scenes(scenes), strict=True)
            tasks = ({**scene, "image_filename": name} for name, scene in named)
            for _ in render_png_files(tasks, lambda scene: out / scene["image_filename"], renderer=renderer):
                n_rendered += 1
                advance(1)
        n_annotated = 0
        if kinds:
            annotator = annotator or annotator_of(renderer)
            n_annotated = _annotate(scenes, out, names, kinds, annotator, progress)
    said = (without[key] for key in ("camera", "lights", "rotation"))
    return RenderedFile(out, len(names), n_rendered, n_annotated, *said)


def _annotate(
    scenes: Path,
    out: Path,
    names: Sequence[str],
    kinds: Sequence[str],
    annotator: Annotator,
    progress: Progress,
) -> int:
    """Makes the missing annotations of a file's scenes; returns the number of these scenes."""
    path, store = passes_file(out, scenes), _passes_store(out, scenes)
    records = [store.path / f"{Path(name).stem}.passes" for name in names]
    there = set(annotated_in(path, kinds).tolist())
    missing = [
        row
        for row, each in enumerate(records)
        if row not in there and not set(kinds) <= kinds_in_record(each)
    ]
    if missing:
        with progress.stage("Annotating images", total=len(missing), unit="images") as advance:
            wanted = frozenset(missing)
            rows = enumerate(read_scenes(scenes))
            tasks = ((records[row], scene) for row, scene in rows if row in wanted)
            annotations = annotator.passes(tasks)
            for _ in write_results(annotations, lambda path, passes: write_record(path, pack(passes, kinds))):
                advance(1)
    about = {"scenes": scenes.name}
    aggregate_passes(path, range(len(names)), records.__getitem__, kinds=kinds, about=about)
    store.remove()
    return len(missing)


def _passes_store(out: Path, scenes: Path) -> WorkingFolder:
    """The folder in which annotations wait to be packed into HDF5."""
    return WorkingFolder(out / f"{OWN_PREFIX}{scenes.stem}_passes", re.compile(r"[^.].*\.passes"))


def passes_file(out: Path, scenes: Path) -> Path:
    """The HDF5 file with the annotations of a scene file's images."""
    return out / f"{scenes.stem}_passes.h5"


def _check_scenes(
    scenes: Path, look: Look, rendering: Rendering, progress: Progress
) -> tuple[list[str], Counter[str]]:
    """The name of each scene's image, and how many scenes lack camera, lights, and an object's rotation."""
    if len(os.fsencode(scenes.stem)) > MAX_NAME:
        raise SceneError(
            f"{shown(str(scenes))}: its name is longer than {MAX_NAME} bytes; give it a shorter one"
        )
    names: dict[str, int] = {}
    without: Counter[str] = Counter()
    with progress.stage("Checking scenes", total=0, unit="scenes") as advance:
        for i, scene in enumerate(read_scenes(scenes)):
            where = f"{scenes}: scenes[{i}]"
            name = _name(scene, i, where)
            if name in names:
                raise SceneError(
                    f"{where}.image_filename: {name}, as that of scenes[{names[name]}]; each scene needs a "
                    "name of its own"
                )
            names[name] = i
            _check_scene(scene, look, rendering, where)
            without.update(key for key in ("camera", "lights") if key not in scene)
            without["rotation"] += any("rotation" not in item for item in scene["objects"])
            advance(1)
    if not names:
        raise SceneError(f'{scenes}: the list "scenes" is empty; there is nothing to render')
    return list(names), without


def _name(scene: Mapping[str, Any], number: int, place_in_file: str) -> str:
    name = image_name(scene, number)
    is_plain = isinstance(name, str) and name.isprintable() and Path(name).name == name
    if not is_plain or not name.endswith(".png") or name[0] == ".":
        raise SceneError(
            f"{place_in_file}.image_filename: {shown(name)} should be a plain file name that ends with .png"
        )
    if len(name.encode()) > MAX_NAME:
        raise SceneError(
            f"{place_in_file}.image_filename: {shown(name)} has {len(name.encode())} bytes; expected at most "
            f"{MAX_NAME}"
        )
    return str(name)


def _check_scene(scene: Scene, look: Look, rendering: Rendering, place_in_file: str) -> None:
    objects = scene.get("objects")
    n_objects = len(objects) if isinstance(objects, list) else 0
    row = row_of(rendering)
    if row.most_objects is not None and n_objects > row.most_objects:
        raise SceneError(
            f"{place_in_file}.objects: {n_objects}; {row.title} takes up to {row.most_objects}, "
            "--renderer blender any number"
        )
    try:
        place_inside(scene, look, width_px=rendering.width, height_px=rendering.height)
    except SceneError as error:
        raise SceneError(f"{place_in_file}.{error}") from error


def _bind(
    out: Path, scenes: Path, names: list[str], look: Look, rendering: Rendering, passes: tuple[str, ...]
) -> tuple[str, ...]:
    """Checks that a file's images match those in the folder, and records them in its render.json.

    From here on, a file's image names belong to it, rendered or not. Returns the kinds of passes that its
    images will have, including those of earlier runs.
    """
    _passes_store(out, scenes).check()
    annotated_in(passes_file(out, scenes), passes)
    path = out / RENDER_JSON
    seen = json.dumps([look.look, look.properties], sort_keys=True).encode()
    how = {**rendering_as_json(rendering), "look": hashlib.sha256(seen).hexdigest()}
    there = _read_record(path)
    if there is None:
        there = {"rendering": how, "scenes": {}}
    before, files = there["rendering"], there["scenes"]
    how = {**rendering_of_folder(before, how)}
    if reason := other_revision(before, how):
        raise DatasetError(f"{out}: {reason}")
    if {**before, "look": ""} == {**how, "look": ""} and before != how:
        raise DatasetError(
            f"{out}: its images have another look (table [look] of --config, or --properties); "
            "choose another --out"
        )
    if before != how:
        reason = f"its images were made with other settings ({difference(before, how)})"
        raise DatasetError(f"{out}: {reason}; choose another --out")
    own = {"sha256": record(scenes).sha256, "images": names}
    kinds = parse_passes([*passes, *files.get(scenes.name, {}).get("passes", ())], f"{path}: passes")
    if kinds:
        own["passes"] = list(kinds)
    if files.get(scenes.name, own)["sha256"] != own["sha256"]:
        raise DatasetError(
            f"{scenes}: has changed since its images in {out} were made, or is another file of that name; "
            "choose another --out"
        )
    owners = {name: file for file, each in files.items() for name in each["images"]}
    for name in names:
        owner = owners.get(name)
        if owner is None and (out / name).exists():
            raise DatasetError(f"{out / name}: exists already, and not from {scenes}; choose another --out")
        if owner not in (None, scenes.name):
            raise DatasetError(f"{out / name}: an image of {owner}, not of {scenes}; choose another --out")
    there["scenes"] = dict(sorted({**files, scenes.name: own}.items()))
    write_whole(path, (json.dumps(there, indent=2) + "\n").encode())
    return kinds


def _read_record(path: Path) -> dict[str, Any] | None:
    """Reads and checks the folder's render.json; None if there is none."""
    if not os.path.lexists(path):
        return None
    found = read_object(path, "what clevrhope render wrote", remedy="choose another --out")
    check_form(found, _FORM, path, remedy="choose another --out")
    settings = {key: value for key, value in found["rendering"].items() if key != "look"}
    try:
        known = rendering_as_json(rendering_from_json(settings, where=f"{path}: rendering"))
    except ConfigError as error:
        raise DatasetError(f"{error}; choose another --out") from error
    # A missing setting would be read as its default, but the images may have been rendered otherwise.
    for key in ("renderer", *known, "look"):
        if key not in found["rendering"] and key != "revision":  # images from before the first revision
            raise DatasetError(f"{path}: rendering.{key} is missing; choose another --out")
    return found


_FORM = Fields(
    {
        "rendering": OBJECT,
        "scenes": MapOf(Fields({"sha256": TEXT, "images": ListOf(TEXT)}, {"passes": ListOf(TEXT)})),
    }
)
"""The form of render.json."""


def text_lines(made: RenderedFile) -> list[str]:
    """The result of rendering a scene file, as text."""
    return render_lines("render.md", made=made)
