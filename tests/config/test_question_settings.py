"""A setting of scenes and questions is one field: everything that reports or compares it reads the field."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal, get_args, get_type_hints

import clevrhope
from clevrhope.cli.datasets import build
from clevrhope.config.presets import PRESETS
from clevrhope.config.question_settings import QuestionSettings, _setting

PACKAGE = Path(clevrhope.__file__).parent
HOME = PACKAGE / "config" / "question_settings.py"


@dataclass(frozen=True, kw_only=True)
class WithTexture(QuestionSettings):
    """The settings and a made-up one."""

    texture: Literal["plain", "striped"] = _setting(
        help="striped: objects have stripes.",
        effects={"plain": "objects have one color", "striped": "objects have stripes"},
    )


def test_a_new_field_is_recorded_read_and_described() -> None:
    assert WithTexture().changed_settings() == {}
    striped = WithTexture(texture="striped", minimal_pool="shared")
    assert striped.changed_settings() == {"minimal_pool": "shared", "texture": "striped"}
    assert WithTexture.from_json({"window": 250, **striped.changed_settings()}) == striped
    assert striped.effect("texture") == "objects have stripes"
    assert WithTexture.choices()["texture"] == ["plain", "striped"]


def test_a_configuration_records_only_its_settings_of_questions() -> None:
    config = replace(PRESETS["demo"], strictness="implied")
    assert config.changed_settings() == {"strictness": "implied"}
    assert PRESETS["demo"].changed_settings() == {}


def test_each_setting_is_an_option_with_its_values_and_default() -> None:
    options = {each.name: each for each in build.params}
    hints = get_type_hints(QuestionSettings)
    for setting in fields(QuestionSettings):
        assert get_args(hints[setting.name]) == tuple(setting.metadata["effects"])
        option = options[setting.name]
        assert list(option.type.choices) == QuestionSettings.choices()[setting.name]  # type: ignore[attr-defined]
        assert f"or {setting.default} for a new folder" in option.help  # type: ignore[attr-defined]


def names_of_settings(source: str) -> Iterator[str]:
    """Names of settings that a file quotes, as a key of the manifest or as an option that it declares."""
    for name in QuestionSettings.choices():
        yield from re.findall(rf'(?:\[|get\(|option\()\s*["\'](?:--)?{name}["\']', source)


def test_no_other_file_quotes_the_name_of_a_setting() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path != HOME]
    assert len(files) > 200
    assert {
        path.name: found for path in files if (found := list(names_of_settings(path.read_text("utf-8"))))
    } == {}
