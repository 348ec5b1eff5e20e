"""The form of a JSON value: what is missing or of another kind is named with its place."""

import math
from pathlib import Path
from typing import Any

import pytest

from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.forms import (
    ANY,
    BOOLEAN,
    COUNT,
    INDEX,
    NAME,
    NUMBER,
    OBJECT,
    PATH,
    SEED,
    SHA256,
    SHARE,
    TEXT,
    Fields,
    Form,
    Kind,
    ListOf,
    MapOf,
    Nullable,
    check_form,
    one_of,
    read_form,
)
from wording import check_refused

KINDS: dict[str, tuple[Kind, list[Any], list[Any]]] = {
    "any": (ANY, [None, 1, "", [], {}], []),
    "text": (TEXT, ["", "a", "../a"], [None, 1, True, ["a"], {}]),
    "boolean": (BOOLEAN, [True, False], [None, 0, 1, "true", []]),
    "count": (COUNT, [0, 1, (1 << 53) - 1], [None, -1, 1 << 53, 1.0, True, "1", [1]]),
    "index": (INDEX, [0, (1 << 31) - 1], [-1, 1 << 31, 0.5, False, None]),
    "seed": (SEED, [0, (1 << 64) - 1], [-1, 1 << 64, 1.0, True, None]),
    "number": (NUMBER, [0, -1.5, 1e300], [10**400, math.nan, math.inf, -math.inf, True, "1", None]),
    "share": (SHARE, [1, 0.5, 1e-6], [0, -1, 1.1, 1e-7, math.nan, True, None]),
    "object": (OBJECT, [{}, {"a": 1}], [None, [], "a"]),
    "name": (NAME, ["a", "rubber_cylinder", "0000.json", "a+b=c-d"], ["", "..", ".a", "a/b", "a b", 1, None]),
    "path": (PATH, ["a", "hops/none/train.h5"], ["", "/a", "a/../b", "a//b", "a/", "./a", "a\\b", 1, None]),
    "digest": (SHA256, ["0af" * 21 + "1"], ["0" * 63, "0" * 65, "A" * 64, "g" * 64, 0, None]),
}


@pytest.mark.parametrize(("kind", "right", "wrong"), KINDS.values(), ids=KINDS)
def test_each_kind_takes_its_values_and_no_others(kind: Kind, right: list[Any], wrong: list[Any]) -> None:
    for value in right:
        check_form({"a": value}, Fields({"a": kind}), "f.json")
    for value in wrong:
        check_refused(DatasetError, check_form, {"a": value}, Fields({"a": kind}), "f.json")


FORM = Fields(
    {
        "seed": SEED,
        "splits": MapOf(MapOf(Fields({"pool": NAME, "questions": COUNT}), keys=NAME), keys=NAME),
        "boxes": ListOf(ListOf(NUMBER, 4)),
        "words": ListOf(TEXT),
        "rendering": Nullable(OBJECT),
    },
    {"note": Nullable(TEXT), "files": MapOf(COUNT, keys=PATH)},
)


def whole() -> dict[str, Any]:
    return {
        "seed": 5,
        "splits": {"none": {"train": {"pool": "train", "questions": 9}}},
        "boxes": [[0, 1, 2.5, 3], [4, 5, 6, 7]],
        "words": ["red"],
        "rendering": None,
    }


def test_a_whole_value_passes_with_what_else_is_in_it() -> None:
    check_form(whole(), FORM, "f.json")
    more = {"note": "x", "files": {"hops/a.h5": 1}, "rendering": {"width": 3}, "other": {"/": None}}
    check_form({**whole(), **more}, FORM, "f.json")
    check_form({**whole(), "note": None, "splits": {}, "boxes": [], "words": []}, FORM, "f.json")


MISSING = object()
WRONG: dict[str, dict[str, Any]] = {
    "null": {"seed": None},
    "true": {"seed": True},
    "text": {"seed": "5"},
    "the name of a constant": {"seed": "None"},
    "a list of them": {"splits": []},
    "deep": {"splits": {"none": {"train": 3}}},
    "missing, deep": {"splits": {"none": {"train": {"pool": "train"}}}},
    "missing": {"seed": MISSING},
    "a key": {"splits": {"../x": {}}},
    "a deep key": {"splits": {"a": {"b/c": {}}}},
    "a path": {"files": {"/etc/x": 1}},
    "a name": {"splits": {"a": {"b": {"pool": "..", "questions": 1}}}},
    "a member": {"words": ["red", 3]},
    "no list": {"words": "red"},
    "no list of lists": {"boxes": {}},
    "too short": {"boxes": [[0, 1, 2, 3], [0, 1, 2]]},
    "a deep member": {"boxes": [[0, 1, None, 3]]},
    "an optional one": {"note": 3},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_place(change: dict[str, Any]) -> None:
    value = {key: each for key, each in {**whole(), **change}.items() if each is not MISSING}
    check_refused(ConfigError, check_form, value, FORM, "f.json", error=ConfigError, remedy="make it again")


def test_the_whole_value_is_of_another_kind() -> None:
    for value in ([], None, "a", 3):
        check_refused(DatasetError, check_form, value, FORM, "f.json")
        check_refused(DatasetError, check_form, value, FORM, "f.json", place="rows[3]")


LONG: dict[str, tuple[Form, Any]] = {
    "text": (COUNT, "x" * 100_000),
    "a list": (COUNT, ["x"] * 100_000),
    "a name": (NAME, "x" * 100_000),
    "a key that should be a name": (MapOf(COUNT, keys=NAME), {"x" * 100_000: 1}),
    "an escape": (COUNT, "\x1b]0;" * 100_000),
    "a key of escapes": (MapOf(COUNT), {"\n\ud800" * 100_000: None}),
    "a list of four": (ListOf(NUMBER, 4), [10**6_000] * 3),
}


@pytest.mark.parametrize(("form", "value"), LONG.values(), ids=LONG)
def test_a_message_shows_no_more_than_the_beginning_of_a_value(form: Form, value: Any) -> None:
    with pytest.raises(DatasetError) as told:
        check_form({"a": value}, Fields({"a": form}), "f.json")
    said = str(told.value)
    assert said.startswith("f.json: a")
    assert len(said) < 450
    assert said.isprintable()
    said.encode()


WRITTEN = """{
  "seed": "seed", "look?": "own", "kind": "told | found",
  "boxes": [["number", 4]], "rows": [["text", null, 1]], "size": {"null or": "count"},
  "splits": {"<name>": {"<own>": {"pool": "name", "questions?": "count"}}}, "words": {"<any>": "text"}
}"""


def test_a_file_of_a_form_says_what_the_form_says(tmp_path: Path) -> None:
    (tmp_path / "form.json").write_text(WRITTEN)
    own = one_of(["red", "blue"])
    found = read_form(tmp_path / "form.json", own=own)
    assert found.optional == {"look": own}
    kind = found.needed["kind"]
    assert isinstance(kind, Kind)
    assert (kind.words, kind.test("found"), kind.test("told | found")) == ("told or found", True, False)
    assert {name: form for name, form in found.needed.items() if name != "kind"} == {
        "seed": SEED,
        "boxes": ListOf(ListOf(NUMBER, 4)),
        "rows": ListOf(ListOf(TEXT, None, 1)),
        "size": Nullable(COUNT),
        "splits": MapOf(MapOf(Fields({"pool": NAME}, {"questions": COUNT}), keys=own), keys=NAME),
        "words": MapOf(TEXT),
    }
