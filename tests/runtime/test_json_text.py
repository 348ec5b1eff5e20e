"""JSON that anybody may have written: one sentence for what cannot be read; what is written is read back."""

import json
import time
from pathlib import Path

import pytest

from benchmarks.reference_images import reference_scenes
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.assets import question_templates
from clevrhope.runtime.json_text import (
    MAX_DEPTH,
    MAX_DIGITS,
    as_json_values,
    decode_at,
    parse_json,
    read_json,
    read_object,
)
from wording import check_refused, refused

BROKEN = {
    "lists": "[" * 100_000,
    "closed lists": "[" * 100_000 + "]" * 100_000,
    "objects": '{"a":' * 100_000,
    "one too deep": '{"a":' * MAX_DEPTH + "[1]" + "}" * MAX_DEPTH,
    "an integer": "[" + "9" * 5_000 + "]",
    "a negative integer": "-" + "9" * 40,
    "an infinite real": '{"a": 1e999}',
    "a negative infinite real": "-1e999",
    "NaN": '{"a": [NaN]}',
    "Infinity": "-Infinity",
    "half a pair": '{"a": ["\\ud83d"]}',
    "half a pair in a key": '{"\\uDE00b": 1}',
    "bytes": b'{"a": "\xff"}',
    "half a pair in bytes": b'"\xed\xa0\x80"',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "cut off": '{"a": [1,\n 2',
    "cut off in a string": '{"a": "b',
    "empty": "",
    "more behind it": '{"a": 1}\n\n{"b": 2}',
    "a control character": '"a\nb"',
    "a comment": "// a\n1",
    "a key twice": '{"a": [{"b": 1, "c": 2, "b": 1}]}',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_gets_a_sentence(text: str | bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with refused(ConfigError) as told:
        read_json(path, error=ConfigError, remedy="put a whole copy there")
    said = str(told.value)
    assert said.startswith(f"{path}:")
    assert said.endswith("; put a whole copy there")
    assert len(said) < 300 + len(str(path))
    assert said.isprintable()


def test_what_is_within_the_limits_is_read_as_pythons_reader_reads_it() -> None:
    deep = '{"a":' * (MAX_DEPTH - 1) + "[1]" + "}" * (MAX_DEPTH - 1)
    wide = "[" + ",".join(["[1, {}]"] * 500) + "]"
    digits = "-" + "9" * (MAX_DIGITS - 1)
    for text in (deep, wide, digits, "1.7976931348623157e308", "-0.0", "5e-400", '"\\ud83d\\ude00 \\u00e4"'):
        assert parse_json(text, "here") == json.loads(text)
        assert parse_json(text.encode(), "here") == json.loads(text)


def test_a_mark_of_byte_order_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}', encoding="utf-8-sig")
    assert read_json(tmp_path / "a.json") == {"a": 1}


def test_a_key_that_is_twice_among_very_many_is_found_at_once() -> None:
    text = json.dumps(dict.fromkeys(map(str, range(100_000)))).replace("}", ', "99999": 1}')
    began = time.monotonic()
    check_refused(DatasetError, parse_json, text, "many.json")
    assert time.monotonic() - began < 10  # looking through all keys for each takes minutes


def test_an_object_is_asked_for_and_something_else_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(["x" * 500]))
    with refused(DatasetError) as told:
        read_object(path, "a vocabulary", remedy="make it again")
    assert len(str(told.value)) < 200 + len(str(path))
    assert str(told.value).endswith("; make it again")


def test_the_first_line_of_a_text_within_a_file_is_counted_on() -> None:
    check_refused(DatasetError, parse_json, b'{"a": 1', "a.jsonl", line=42)


def test_a_value_within_a_text_is_held_to_the_same_limits() -> None:
    text = 'x = [1, [2]]; y = {"a": "\\ud800"}; z = ' + "[" * 101 + "]" * 101
    assert decode_at(text, 4) == ([1, [2]], 12)
    for place, words in ((text.index("{"), "half of a surrogate pair"), (text.index("[["), "nested more")):
        with pytest.raises(ValueError, match=words):
            decode_at(text, place)


def test_ordinary_files_are_read(tmp_path: Path) -> None:
    for path in sorted(question_templates().glob("*.json")):
        assert read_json(path) == json.loads(path.read_bytes())
    scenes = {"info": {"split": "train"}, "scenes": [dict(each) for each in reference_scenes()]}
    (tmp_path / "scenes.json").write_text(json.dumps(scenes))
    assert read_object(tmp_path / "scenes.json", "a scene file") == as_json_values(scenes)


def test_values_become_what_json_gives_back() -> None:
    given = {1: (2, 3), "a": {"b": ({"c": None},)}, "d": True}
    assert as_json_values(given) == {"1": [2, 3], "a": {"b": [{"c": None}]}, "d": True}
