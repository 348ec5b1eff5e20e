"""Descriptions of objects in words, such as "small red metal cube" or "two or more cubes and no sphere".

A description has parts, joined by "and" or commas. A part is an amount and the values that an object has,
by the names of the world or their synonyms in questions, with or without a noun. Without an amount, one is
enough; a bare number means exactly so many.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clevrhope.errors import ConfigError
from clevrhope.runtime import assets
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.settings import suggestion

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(?P<n>\d{{1,6}}|{'|'.join(_NUMBERS)})"

MANY = 1_000_000
"""More objects than any image has."""

_AMOUNTS: Mapping[str, tuple[int, int]] = {
    rf"{_NUMBER} or more|at least {_NUMBER}".replace("<n>", "<m>", 1): (0, MANY),
    rf"{_NUMBER} or (?:fewer|less)|at most {_NUMBER}".replace("<n>", "<m>", 1): (-MANY, 0),
    rf"more than {_NUMBER}": (1, MANY),
    rf"(?:fewer|less) than {_NUMBER}": (-MANY, -1),
    rf"(?:exactly )?{_NUMBER}": (0, 0),
}
"""What an amount looks like -> what is added to its number for the least and the most."""

_NO, _SOME = re.compile(r"no\b"), re.compile(r"(?:an?|the|some|any)\b")


@dataclass(frozen=True)
class ObjectPart:
    """A part of a description: from `least` to `most` objects have all of the values."""

    values: frozenset[tuple[str, str]]
    """Attribute and value, such as ("shape", "cube"); empty for any object."""
    least: int = 1
    most: int = MANY


def parse_description(text: str, attributes: Mapping[str, Sequence[str]]) -> tuple[ObjectPart, ...]:
    """The parts of a description; none for an empty one.

    Args:
        text: such as "small red metal cube", "two or more cubes, no sphere", "exactly 3 shiny things".
        attributes: the attributes of the world with their values.

    Raises:
        ConfigError: a word is neither a value of the world nor a synonym of one; names the nearest word. Or
            nothing is joined by a comma or an "and".
    """
    words = _words(attributes)
    parts = re.split(r"\s*(?:,(?: and\b)?|\band\b)\s*", " ".join(text.lower().replace("_", " ").split()))
    if parts == [""]:
        return ()
    if "" in parts:
        raise ConfigError(f'"{text}": commas and "and" join objects; name some on both sides of each')
    return tuple(_part(part, text, words) for part in parts)


def shows(description: Iterable[ObjectPart], scene: Mapping[str, Any]) -> bool:
    """Whether a scene in CLEVR's form shows what all parts of a description say."""
    for part in description:
        n = sum(all(item.get(kind) == value for kind, value in part.values) for item in scene["objects"])
        if not part.least <= n <= part.most:
            return False
    return True


def _words(attributes: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, str] | None]:
    """The words of values in the singular and the plural, and those of objects, which stand for None."""
    synonyms = read_object(assets.question_templates() / "synonyms.json", "synonyms")
    found: dict[str, tuple[str, str] | None] = {}
    named = {value: (kind, value) for kind, values in attributes.items() for value in values}
    for value, meaning in [*named.items(), ("thing", None)]:
        for word in (value.replace("_", " "), *synonyms.get(value, ())):
            found |= {form.lower(): meaning for form in (word, f"{word}s", f"{word}es")}
    return found


def _part(part: str, text: str, words: Mapping[str, tuple[str, str] | None]) -> ObjectPart:
    least, most, rest = _amount(part)
    values: dict[str, str] = {}
    word_of: dict[str, str] = {}
    known = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    while rest:
        found = re.match(rf"(?:{known})(?=\s|$)", rest)
        if found is None:
            word = rest.split()[0]
            near = suggestion(word, [each for each in words if f"{each}s" in words])
            raise ConfigError(
                f'"{text}": no value of this world is called "{word}"{near}; its values are '
                f"{', '.join(value for _, value in dict.fromkeys(filter(None, words.values())))}"
            )
        if (meaning := words[found[0]]) is not None:
            kind, value = meaning
            if values.setdefault(kind, value) != value:
                raise ConfigError(f'"{text}": an object has one {kind}, not {word_of[kind]} and {found[0]}')
            word_of[kind] = found[0]
        rest = rest[found.end() :].strip()
    return ObjectPart(frozenset(values.items()), max(least, 0), min(most, MANY))


def _amount(part: str) -> tuple[int, int, str]:
    """The least and the most objects of a part, and what is left of its text."""
    if found := _NO.match(part):
        return 0, 0, part[found.end() :].strip()
    for pattern, (to_least, to_most) in _AMOUNTS.items():
        if found := re.match(rf"(?:{pattern})(?=\s|$)", part):
            given = next(filter(None, found.groups()))
            n = _NUMBERS.index(given) if given in _NUMBERS else int(given)
            return n + to_least, n + to_most, part[found.end() :].strip()
    return 1, MANY, _SOME.sub("", part, count=1).strip() if _SOME.match(part) else part
