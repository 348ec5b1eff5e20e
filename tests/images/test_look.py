"""The properties of the look: what is wrong is said in a sentence that names file, place and value."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from things import thing

from clevrhope.errors import ClevrhopeError, ConfigError, VocabularyError
from clevrhope.images.placement import place
from clevrhope.images.settings import BlenderSettings
from clevrhope.look.definition import read_look
from clevrhope.runtime.assets import blender_assets
from wording import check_refused, refused

OBJECT = thing(shape="cube", color="red", rotation=90.0)


def test_clevrs_own_properties_file_fits_the_look(test_data: Path) -> None:
    look = read_look(properties=test_data / "clevr_v1" / "properties.json")
    thing = place({"objects": [OBJECT]}, look).things[0]
    assert look.shapes[thing.shape]["kind"] == "rounded_cube"
    assert thing.radius == 0.7


@pytest.mark.parametrize(
    "edit",
    [
        lambda p: p.pop("colors"),
        lambda p: p["colors"].update(red=[300, 0, 0]),
        lambda p: p["sizes"].update(huge=-1),
        lambda p: p["colors"].update({"../x": [1, 2, 3]}),
        lambda p: p["shapes"].update(cone="con"),
        lambda p: p["materials"].update(tin="meta"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((blender_assets() / "properties.json").read_text())
    edit(content)
    (tmp_path / "properties.json").write_text(json.dumps(content))
    check_refused(ClevrhopeError, read_look, tmp_path / "properties.json")


def test_a_material_of_numbers_stays_where_the_look_is_changed(tmp_path: Path) -> None:
    content = json.loads((blender_assets() / "properties.json").read_text())
    content["materials"]["satin"] = {"metallic": 1.0, "roughness": 0.4}
    (tmp_path / "properties.json").write_text(json.dumps(content))
    look = read_look(tmp_path / "properties.json", changes={"ground": {"roughness": 0.1}})
    assert look.properties["materials"]["satin"] in look.materials


def test_a_file_that_is_no_json_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "properties.json"
    path.write_text('{"sizes": {\n "large" 0.7}}')
    check_refused(VocabularyError, read_look, properties=path)


def test_a_scene_without_camera_gets_the_one_before_jitter() -> None:
    look = read_look()
    placed = place({"objects": [OBJECT]}, look)
    assert placed.camera == (7.48113, -6.50764, 5.34367)
    assert placed.lights["back"] == (-1.1685, 2.64602, 5.81574)
    moved = place({"objects": [], "camera": {"location": [7, -6, 5]}, "lights": {"back": [-1, 2, 6]}}, look)
    assert (moved.camera, moved.lights["back"]) == ((7.0, -6.0, 5.0), (-1.0, 2.0, 6.0))


def test_colours_are_bytes_read_as_linear() -> None:
    thing = place({"objects": [OBJECT]}, read_look()).things[0]
    assert thing.color == (173 / 255, 35 / 255, 35 / 255)
    assert thing.rotation_z_rad == pytest.approx(1.5707963267948966)


@pytest.mark.parametrize(
    ("setting", "value"), [("width", 0), ("samples", 0), ("adaptive_threshold", 1.5), ("device", "tpu")]
)
def test_settings_that_blender_would_not_take_are_named(setting: str, value: object) -> None:
    with refused(ConfigError):
        BlenderSettings(**{setting: value})  # type: ignore[arg-type]
