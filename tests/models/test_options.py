"""Settings by name: types as written, as a command line gives them, and one sentence for the rest."""

from dataclasses import dataclass
from typing import Literal

import pytest

from clevrhope.errors import ConfigError
from clevrhope.models.base import MOST
from clevrhope.runtime.settings import check_at_least, read_settings
from wording import refused


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
    ("given", "message"),
    [
        (
            {"widht": 3},
            'm: unknown setting "widht" (did you mean "width"?); known: width, share, name, quick,',
        ),
        ({"width": 1.5}, "m: width is 1.5; expected a whole number"),
        ({"width": True}, "m: width is true; expected a whole number"),
        ({"width": "1.5"}, 'm: width is "1.5"; expected a whole number'),
        ({"share": "much"}, 'm: share is "much"; expected a number'),
        ({"width": 10**30}, f"m: width is {10**30}; expected a whole number"),
        ({"width": "9" * 5_000}, f'm: width is "{"9" * 194} ..."; expected a whole number'),
        ({"width": "1_0"}, 'm: width is "1_0"; expected a whole number'),
        ({"share": 10**400}, "m: share is a number of 1329 bits; expected a number"),
        ({"share": float("nan")}, "m: share is nan; expected a number"),
        ({"share": "inf"}, 'm: share is "inf"; expected a number'),
        ({"share": True}, "m: share is true; expected a number"),
        ({"kind": {"a": 1}}, 'm: kind is {"a": 1}; expected'),
        ({"quick": 1}, "m: quick is 1; expected true or false"),
        ({"name": 3}, "m: name is 3; expected a string"),
        ({"kind": "c"}, 'm: kind is "c"; expected "a" or "b"'),
        ({"limit": "x"}, 'm: limit is "x"; expected a whole number or none'),
    ],
)
def test_a_wrong_one_gets_one_sentence(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(given)
    assert str(error.value).startswith(message)


def test_values_below_the_least_are_named() -> None:
    check_at_least(1, width=1, height=2)
    with refused(ConfigError):
        check_at_least(1, width=1, height=0)
