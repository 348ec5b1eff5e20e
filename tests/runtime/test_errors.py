"""What messages show of values."""

import pytest

from clevrhope.errors import MAX_SHOWN, ConfigError, PredictionsError, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [("red", '"red"'), ("a\nb", r"'a\nb'"), ("\ud800", r"'\ud800'"), (3, "3"), (None, "null")],
)
def test_values_are_shown_on_one_line_in_printable_characters(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_number_that_python_refuses_to_write_is_described() -> None:
    assert shown(10**5_000) == "a number of 16610 bits"


@pytest.mark.parametrize("value", ["x" * 10_000, ["x"] * 10_000, {"a": "x" * 10_000}, "\0" * 10_000])
def test_values_are_shown_short(value: object) -> None:
    assert len(shown(value)) == MAX_SHOWN


def test_a_value_that_contains_itself_is_named() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert shown(value) == "a list"


def test_a_long_value_in_a_message_is_cut() -> None:
    long = "x" * 1_000
    assert len(str(ConfigError(f'HOP "{long}": no such value'))) < MAX_SHOWN + 30
    assert len(str(PredictionsError(f"{long} is not a number"))) < MAX_SHOWN + 30
    assert str(ConfigError(f'HOP "{long}": no such value')).endswith(' ...": no such value')
    words = "one two " * 500
    assert shown(words).endswith(' ..."')
    path = "/".join(["folder"] * 100)
    assert str(ConfigError(f"{path}: no such file")) == f"{path}: no such file"


@pytest.mark.parametrize("value", [{"a": "\x9b31m"}, ["\u202e"], "\x1b[31m"])
def test_no_character_reaches_the_terminal_that_it_would_take_for_its_own(value: object) -> None:
    assert shown(value).isprintable()
