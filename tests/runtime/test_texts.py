"""Texts that an editor saved with a byte order mark are read as without one, and UTF-16 is named."""

import codecs
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clevrhope.dataset.json_rows import read_scenes as read_rows
from clevrhope.errors import ClevrhopeError
from clevrhope.look.definition import read_look
from clevrhope.pipeline.request import _read as read_palette
from clevrhope.pipeline.scene_questions import ask_about_scene_file
from clevrhope.programs import execute_batch, read_scenes
from clevrhope.questions import read_templates
from clevrhope.runtime.assets import blender_assets, question_templates
from clevrhope.runtime.json_text import read_json
from clevrhope.runtime.toml import read_toml
from clevrhope.scenes import read_world, sample_scenes
from clevrhope.scenes.vocabulary import read_vocabulary

READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "world": ("properties.json", lambda path: read_world(properties=path).fingerprint),
    "look": ("properties.json", lambda path: read_look(path).properties),
    "vocabulary": ("properties.json", lambda path: read_vocabulary(path).attribute_types),
    "scenes": ("scenes.json", lambda path: read_scenes(path).to_json()),
    "rows of scenes": ("scenes.json", lambda path: list(read_rows(path))),
    "questions": ("questions.json", lambda path: execute_batch(path, path.with_name("scenes.json")).tolist()),
    "templates": (
        "templates/one_hop.json",
        lambda path: read_templates(read_world(), path.parent).fingerprint,
    ),
    "synonyms": (
        "templates/synonyms.json",
        lambda path: read_templates(read_world(), path.parent).fingerprint,
    ),
    "palette": ("palette.json", lambda path: read_palette(path, read_world()).combinations),
    "JSON": ("palette.json", lambda path: read_json(path)),
    "TOML": ("settings.toml", lambda path: read_toml(path, "settings")),
}
"""What reads a file that users give, and the file."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    shutil.copy(blender_assets() / "properties.json", tmp_path)
    shutil.copytree(question_templates(), tmp_path / "templates")
    scenes = json.loads(sample_scenes(2, seed=1).to_json())
    (tmp_path / "scenes.json").write_text(json.dumps({"scenes": scenes}))
    ask_about_scene_file(tmp_path / "scenes.json", tmp_path / "questions.json", seed=1)
    (tmp_path / "palette.json").write_text(json.dumps({"cube": ["red", "blue"]}))
    (tmp_path / "settings.toml").write_text("a = 1\n")
    return tmp_path


@pytest.mark.parametrize("what", READERS)
def test_a_text_is_read_without_its_byte_order_mark(what: str, files: Path) -> None:
    name, read = READERS[what]
    path = files / name
    content, expected = path.read_bytes(), read(path)
    path.write_bytes(codecs.BOM_UTF8 + content)
    assert read(path) == expected
    path.write_text(content.decode(), encoding="utf-16")
    with pytest.raises(ClevrhopeError, match=rf"{path}: .*text in UTF-16.*; save it as UTF-8"):
        read(path)
