"""The words of replies: the meaning of each, and the objects that a sequence of them describes."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from clevrhope.dataset.native_reader import CLEVR_WORDS
from clevrhope.metrics.replies import lexicon

OTHER = "?"
"""Stands for a value or number outside the allowed answers, such as orange or eleven."""

_SHORTEST, _LIKENESS = 4, 0.8
"""Least length of a misspelt word, and least similarity to the right one: one letter in five may be wrong."""

_TOKEN = re.compile(
    r"(?<!\S)-\d+|\d+(?:[.,]\d+)*%?|(?:[^\W\d_]+n't\b)|[^\W\d_]+(?:'[^\W\d_]+)?|[,:()\u2014=+<>/-]"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sequence of values with the noun that they describe: "small blue cube", "red", "other things"."""

    begin: int
    end: int
    """The range of its tokens, with `end` excluded."""
    values: frozenset[tuple[str, str]]
    """(attribute, value) pairs; a shape noun is also one of them."""
    noun: str
    """"object" for a shape or a thing, or "image"; empty if there are only values."""

    def but(self, kind: str | None) -> frozenset[tuple[str, str]]:
        """The values of attributes other than `kind`."""
        return frozenset(value for value in self.values if value[0] != kind)

    def contradicts(self, other: "Phrase", but: str | None) -> bool:
        """Whether the two cannot describe the same object, judging by attributes other than `but`."""
        if self.noun and other.noun and self.noun != other.noun:
            return True
        kinds = {kind for kind, _ in self.but(but)} & {kind for kind, _ in other.values}
        return kinds > {kind for kind, _ in self.values & other.values} & kinds


class Words:
    """The meanings of words in one world."""

    def __init__(self, answers: Iterable[str], attributes: Mapping[str, Iterable[str]]) -> None:
        """`answers` are all allowed answers, `attributes` the values of each attribute among them."""
        allowed = set(answers)
        self._values = {word: (kind, OTHER) for kind, words in lexicon.OTHER_VALUES.items() for word in words}
        for kind, values in attributes.items():
            for value in values:
                forms = (value, *CLEVR_WORDS.get(value, ()), *lexicon.FORMS.get(value, ()))
                self._values |= {word: (kind, value) for form in forms for word in (form, f"{form}s")}
        self._counts = {word: str(number) for number, word in enumerate(lexicon.NUMBERS)} | {"single": "1"}
        self._counts = {word: number for word, number in self._counts.items() if number in allowed}
        self._spellings = (
            *(word for word, value in self._values.items() if OTHER not in value),
            *self._counts,
        )
        self._numbers = {answer for answer in allowed if answer.isdecimal()}
        relations = allowed - self._numbers - {"yes", "no", *(value for _, value in self._values.values())}
        self.relations = {word: each for each in relations for word in (each, *lexicon.FORMS.get(each, ()))}

    def value(self, token: str) -> tuple[str, str] | None:
        """The attribute and value that a word names; the value is `OTHER` if it is not an allowed answer."""
        if token.endswith("ish") and any(word[:3] == token[:3] for word in self._values):
            return ("color", OTHER)  # reddish
        return self._values.get(token.removesuffix("'s"))

    def count(self, token: str) -> str | None:
        """The number that a word or digits name; `OTHER` if it is not an allowed answer."""
        if token[-1].isdigit():
            number = re.sub(r"\.0+$", "", token)
            return number if number in self._numbers else OTHER
        return OTHER if token in lexicon.LARGER else self._counts.get(token)

    def single(self, token: str) -> str | None:
        """The answer that a word names by itself, of any kind."""
        if token in lexicon.YES or token in lexicon.NO:
            return "yes" if token in lexicon.YES else "no"
        value = self.value(token)
        return value[1] if value else self.count(token) or self.relations.get(token)

    def tokens(self, text: str) -> list[str]:
        """The words, numbers and punctuation marks of a plain text, with misspelt answers corrected."""
        found = _TOKEN.findall(text)
        if found and (len(found) == 1 or found[1] in (",", ":")):
            found[0] = lexicon.ABROAD.get(found[0], found[0])
        return [token if self.single(token) else self._meant(token) for token in found]

    def content(self, tokens: Sequence[str]) -> Iterator[str]:
        """The words of a text that describe objects or their relations, each in a canonical form."""
        for token in tokens:
            value = self.value(token)
            if value:
                yield value[1]
            elif token in ("than", "other", *lexicon.SIDES, *lexicon.COMPARISONS):
                yield lexicon.COMPARISONS.get(token, token)

    def phrases(self, tokens: Sequence[str]) -> Iterator[Phrase]:
        """The phrases of values and nouns in a text, in order."""
        k = 0
        while k < len(tokens):
            begin, values, noun = k, set[tuple[str, str]](), ""
            while k < len(tokens) and not noun:
                value = self.value(tokens[k])
                if value:
                    values.add(value)
                    noun = "object" if value[0] == "shape" else ""
                elif tokens[k] in ("one", "ones") and (values or tokens[k - 1 : k] == ["the"]):
                    noun = "object"
                else:
                    noun = lexicon.NOUNS.get(tokens[k], "")
                    if not noun:
                        break
                k += 1
            if k > begin:
                yield Phrase(begin, k, frozenset(values), noun)
            k = max(k, begin + 1)

    def _meant(self, word: str) -> str:
        """The answer that a word misspells ("bleu", "metalic"), or else the word itself."""
        if len(word) < _SHORTEST or word in lexicon.NO_TYPOS:
            return word
        known = [each for each in self._spellings if each[0] == word[0]]
        exchanged = [each for each in known if sorted(each) == sorted(word)]
        long = [each for each in known if len(each) > _SHORTEST]
        return next(iter(exchanged or get_close_matches(word, long, 1, _LIKENESS)), word)
