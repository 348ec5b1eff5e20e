"""Settings by name: types as written, as a command line gives them, and one sentence for the rest."""

from dataclasses import dataclass
from typing import Literal

import pytest

from clevrhope.errors import ConfigError
from clevrhope.models.base import MOST
from clevrhope.runtime.settings import check_at_least, read_settings
from wording import check_refused


@dataclass(frozen=True)
class Settings:
    width: int = 3
    share: float = 0.5
    name: str = ""
    quick: bool = False
    kind: Literal["a", "b"] = "a"
    limit: int | None = 4


def read(given: dict[str, object]) -> Settings:
    return read_settings(Settings, given, where="m", strings=True, most=MOST)


def test_defaults_stay_and_values_are_taken() -> None:
    assert read({}) == Settings()
    given = {"width": 5, "share": 1, "name": "x", "quick": True, "kind": "b", "limit": None}
    assert read(given) == Settings(5, 1.0, "x", True, "b", None)
    assert type(read({"share": 1}).share) is float


def test_texts_of_a_command_line_are_read() -> None:
    given = {"width": "5", "share": "1e-3", "quick": "true", "limit": "7"}
    assert read(given) == Settings(5, 1e-3, "", True, "a", 7)


@pytest.mark.parametrize(
    "given",
    [
        {"widht": 3},
        {"width": 1.5},
        {"width": True},
        {"width": "1.5"},
        {"share": "much"},
        {"width": 10**30},
        {"width": "9" * 5_000},
        {"width": "1_0"},
        {"share": 10**400},
        {"share": float("nan")},
        {"share": "inf"},
        {"share": True},
        {"kind": {"a": 1}},
        {"quick": 1},
        {"name": 3},
        {"kind": "c"},
        {"limit": "x"},
    ],
)
def test_a_wrong_one_gets_one_sentence(given: dict[str, object]) -> None:
    check_refused(ConfigError, read, given)


def test_values_below_the_least_are_named() -> None:
    check_at_least(1, width=1, height=2)
    check_refused(ConfigError, check_at_least, 1, width=1, height=0)
