"""The words of replies: what each means, and the objects that a row of them describes."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clevrhope.dataset.native_reader import CLEVR_WORDS

OTHER = "?"
"""Stands for a value or number that is not an answer, such as orange or eleven."""

YES = ("yes", "yeah", "yep", "yup", "true", "correct", "affirmative", "indeed")
NO = ("no", "nope", "nah", "false", "incorrect", "negative")
NOTHING = ("none", "nothing", "nobody")

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LARGER = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "twenty", "dozen", "hundred")
_FORMS: Mapping[str, tuple[str, ...]] = {
    "large": ("huge",),
    "small": ("little",),
    "gray": ("grey",),
    "rubber": ("rubbery",),
    "cube": ("cubic", "cubical"),
    "sphere": ("spherical",),
    "cylinder": ("cylindrical",),
    "1": ("single",),
    "left": ("leftmost",),
    "right": ("rightmost",),
}
"""Answer -> what replies say for it beside the words that CLEVR has."""
_OTHERS: Mapping[str, tuple[str, ...]] = {
    "size": ("medium",),
    "color": ("orange", "pink", "black", "white", "teal", "turquoise", "violet", "silver", "gold", "golden"),
    "material": ("plastic", "wood", "wooden", "glass", "stone"),
    "shape": ("cone", "pyramid", "prism", "torus"),
}
"""Values that a world may not have: "red or orange" is not red."""
_NOUNS = {word: "object" for thing in ("thing", "object", "item") for word in (thing, f"{thing}s")}
_NOUNS |= {word: "image" for image in ("image", "picture", "photo") for word in (image, f"{image}s")}
_ENGLISH = (
    *("the", "this", "that", "these", "there", "it", "its", "i", "we", "you", "they", "both"),
    *("is", "are", "be", "has", "have", "does", "can", "would", "say", "let", "appears", "looks"),
    *("of", "and", "with", "not", "so", "answer", "option"),
    *("color", "size", "shape", "material", "same", "different", "more", "fewer"),
)
"""Words of which nearly every English sentence has one, and which few other languages have."""
_NO_LANGUAGE = ("a", "an", "in", "all", *_NOUNS, *NOTHING)
_NO_TYPOS = ("there", "larger", "shall", "smell", "mental")
"""English words that are one letter away from an answer."""
_SHORTEST_TYPO = 5

TOKEN = re.compile(
    r"(?<!\S)-\d+|\d+(?:[.,]\d+)*%?|(?:[^\W\d_]+n't\b)|[^\W\d_]+(?:'[^\W\d_]+)?|[,:()\u2014=+<>/-]"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A row of values, and the noun that they describe: "small blue cube", "red", "other things"."""

    begin: int
    end: int
    """Its tokens' places, `end` excluded."""
    values: frozenset[tuple[str, str]]
    """(attribute type, value) pairs; a shape is one of them."""
    noun: str
    """"object" for a shape or a thing, "image"; empty for values alone."""

    def but(self, kind: str | None) -> frozenset[tuple[str, str]]:
        """The values of other types than `kind`."""
        return frozenset(value for value in self.values if value[0] != kind)

    def contradicts(self, other: "Phrase", but: str | None) -> bool:
        """Whether the two cannot be about one object, by values of other types than `but`."""
        if self.noun and other.noun and self.noun != other.noun:
            return True
        kinds = {kind for kind, _ in self.but(but)} & {kind for kind, _ in other.but(but)}
        return any(not _of(self, kind) & _of(other, kind) for kind in kinds)


class Words:
    """The meanings of words in a world."""

    def __init__(self, answers: Iterable[str], attributes: Mapping[str, Iterable[str]]) -> None:
        """`answers` are all that are allowed, `attributes` the types' values among them."""
        allowed = set(answers)
        self.attributes = {kind: tuple(values) for kind, values in attributes.items()}
        self._values: dict[str, tuple[str, str]] = {}
        for kind, words in _OTHERS.items():
            self._values |= dict.fromkeys(words, (kind, OTHER))
        for kind, values in self.attributes.items():
            for value in values:
                forms = (value, *CLEVR_WORDS.get(value, ()), *_FORMS.get(value, ()))
                self._values |= {word: (kind, value) for form in forms for word in (form, f"{form}s")}
        self._counts = {word: str(number) for number, word in enumerate(_NUMBERS)} | {"single": "1"}
        self._counts = {word: number for word, number in self._counts.items() if number in allowed}
        self._numbers = {answer for answer in allowed if answer.isdecimal()}
        relations = allowed - self._numbers - {"yes", "no", *(value for _, value in self._values.values())}
        self.relations = {word: each for each in relations for word in (each, *_FORMS.get(each, ()))}

    def value(self, token: str) -> tuple[str, str] | None:
        """The attribute type and value that a word names; the value is `OTHER` for one that is no answer."""
        if token.endswith("ish") and any(color.startswith(token[:3]) for color in self.attributes["color"]):
            return ("color", OTHER)  # reddish
        return self._values.get(token.removesuffix("'s"))

    def count(self, token: str) -> str | None:
        """The number that a word or digits name; `OTHER` for one that is not an answer."""
        if token[-1].isdigit():
            number = re.sub(r"\.0+$", "", token)
            return number if number in self._numbers else OTHER
        return OTHER if token in _LARGER else self._counts.get(token)

    def single(self, token: str) -> str | None:
        """The answer that a word names by itself, of any kind."""
        if token in YES or token in NO:
            return "yes" if token in YES else "no"
        value = self.value(token)
        return value[1] if value else self.count(token) or self.relations.get(token)

    def tokens(self, text: str) -> list[str]:
        """The words, numbers and marks of a plain text, with misspelt answers as they should be.

        A text in another language has none, since a word of it may look like an English one.
        """
        found = TOKEN.findall(text)
        words = [token for token in found if token[0].isalpha()]
        unknown = [word for word in words if self.single(word) is None and word not in _NO_LANGUAGE]
        is_english = any(word.partition("'")[0] in _ENGLISH or word.endswith(("n't", "ly")) for word in words)
        if not is_english and len(unknown) > 1 and 2 * len(unknown) > len(words):
            return []
        misspelt = set(unknown) if is_english or len(words) <= 2 else set()
        return [self._meant(token) if token in misspelt else token for token in found]

    def phrases(self, tokens: Sequence[str]) -> Iterator[Phrase]:
        """The rows of values and nouns in a text, in order."""
        k = 0
        while k < len(tokens):
            begin, values, noun = k, set[tuple[str, str]](), ""
            while k < len(tokens) and not noun:
                value = self.value(tokens[k])
                if value:
                    values.add(value)
                    noun = "object" if value[0] == "shape" else ""
                elif tokens[k] in _NOUNS or (
                    tokens[k] in ("one", "ones") and (values or tokens[k - 1 : k] == ["the"])
                ):
                    noun = _NOUNS.get(tokens[k], "object")
                elif not (tokens[k] == "," and self._goes_on(values, tokens[k + 1 :])):
                    break
                k += 1
            if k > begin:
                yield Phrase(begin, k, frozenset(values), noun)
            else:
                k += 1

    def _goes_on(self, values: set[tuple[str, str]], rest: Sequence[str]) -> bool:
        """Whether a value after a comma is another one of the same object: "small, red cube"."""
        value = self.value(rest[0]) if values and rest else None
        return value is not None and value[0] not in {kind for kind, _ in values}

    def _meant(self, word: str) -> str:
        """The answer of which a word is one wrong, missing, doubled or exchanged letter away, or the word."""
        if word in _NO_TYPOS:
            return word
        answers = (*self._counts, *(value for values in self.attributes.values() for value in values))
        known = {
            *(each for each in answers if max(len(each), len(word)) >= _SHORTEST_TYPO),
            *filter(_is_long, self._values),
        }
        near = sorted(each for each in known if each[0] == word[0] and _is_one_edit(word, each))
        return near[0] if len({self.single(each) for each in near}) == 1 else word


def _is_long(word: str) -> bool:
    return len(word) > _SHORTEST_TYPO + 1


def _of(phrase: Phrase, kind: str) -> set[str]:
    return {value for each, value in phrase.values if each == kind}


def _is_one_edit(first: str, second: str) -> bool:
    """Whether one letter inserted, left out, replaced or exchanged with the next makes one word the other."""
    same = next((k for k, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
    if same is None:
        return abs(len(first) - len(second)) == 1
    a, b = first[same:], second[same:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
