"""TOML that anybody may have written: one sentence for what cannot be read; what is written is read back."""

import tomllib
from datetime import date
from pathlib import Path

import pytest

from clevrhope.errors import ConfigError
from clevrhope.runtime.toml import MAX_BYTES, parse_toml, read_toml, toml_text, toml_value
from growth import MOST_GROWTH, growth
from wording import refused

BROKEN = {
    "a number of digits": "a = " + "9" * 5_000,
    "a large number": "a = [1, 99999999999999999999]",
    "lists": "a = " + "[" * 400_000,
    "closed lists": "a = " + "[" * 60 + "]" * 60,
    "tables": "a = " + "{a=" * 300_000,
    "a long key": "a." * 500_000 + "b = 1",
    "a long quoted key": "\"a b\" . 'c' ." * 70_000 + "b = 1",
    "a long word": "a" * 1_000_000,
    "a NUL": 'a = [{b = "x\\u0000y"}]',
    "a NUL in a key": '"\\u0000" = 1',
    "bytes": b'a = "\xff"',
    "no TOML": "a = = 1",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_gets_a_sentence(text: str | bytes, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    with refused(ConfigError) as error:
        read_toml(tmp_path / "a.toml", "an experiment")
    assert str(error.value).startswith(f"{tmp_path / 'a.toml'}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("piece", ["a", "[", "{a=", "a a.", "'b' ", '"\\"" '])
@pytest.mark.slow
def test_what_cannot_be_read_takes_no_quadratic_time(piece: str) -> None:
    def refuse(n: int) -> None:
        with pytest.raises(ValueError, match=r"nested|[Ee]xpected|Invalid"):
            parse_toml("a = " + n * piece)

    assert growth(refuse) < MOST_GROWTH


def test_what_is_written_is_read_back() -> None:
    table = {
        "a": 1,
        "b": 'x"y\x7f\n\u00e9',
        "c": [1.5, 2.0, [], [{"k": [True], "deep er": {"z": 1}}]],
        "d": True,
        "when": date(1979, 5, 27),
        "far": float("inf"),
        "t": {"k": "v", "deep er": {"z": [1]}, "d\x7f": {}},
    }
    assert tomllib.loads(toml_text(table)) == table
    assert parse_toml(f"value = {toml_value(table)}")["value"] == table


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("a = 1\n" + "#" * (MAX_BYTES - 6))
    assert read_toml(tmp_path / "a.toml", "an experiment") == {"a": 1}
