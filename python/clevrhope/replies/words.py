"""The words of replies and questions: what each means, and what a question asks for."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice, pairwise

from clevrhope.dataset.vocab import CLEVR_WORDS
from clevrhope.replies import lexicon
from clevrhope.replies.colors import Color, color_named, meanings

OTHER = "?"
"""Stands for a value or number outside the allowed answers, such as orange or eleven."""

CACHED = 4096
"""Number of words, and of questions, whose meanings are kept: replies repeat theirs."""

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

    @property
    def is_contradictory(self) -> bool:
        """Whether it has several values of one attribute, as what "the red cube is a sphere" says has."""
        return len({kind for kind, _ in self.values}) < len(self.values)

    def contradicts(self, other: "Phrase", but: str | None) -> bool:
        """Whether the two cannot describe the same object, judging by attributes other than `but`."""
        if self.noun and other.noun and self.noun != other.noun:
            return True
        kinds = {kind for kind, _ in self.but(but)} & {kind for kind, _ in other.values}
        return kinds > {kind for kind, _ in self.values & other.values} & kinds


class Words:
    """The meanings of words in one world."""

    def __init__(
        self, answers: Iterable[str], attributes: Mapping[str, Iterable[str]], colors: Mapping[str, Color]
    ) -> None:
        """`answers` are all allowed answers, `attributes` the values of each attribute among them."""
        allowed = set(answers)
        known = {value: colors.get(value, color_named(value)) for value in attributes.get("color", ())}
        shades = meanings({value: color for value, color in known.items() if color is not None})
        others = {**lexicon.OTHER_VALUES, "color": [word for word, value in shades.items() if value is None]}
        self._values = {word: (kind, OTHER) for kind, words in others.items() for word in words}
        self._values |= {word: ("color", value) for word, value in shades.items() if value is not None}
        inexact = {*self._values}
        for kind, values in attributes.items():
            for value in values:
                synonyms = lexicon.SYNONYMS.get(value, ())
                inexact |= {*synonyms}
                forms = (value, *CLEVR_WORDS.get(value, ()), *lexicon.FORMS.get(value, ()), *synonyms)
                self._values |= {f"{form}{end}": (kind, value) for form in forms for end in ("", "s", "es")}
        self._counts = {word: str(number) for number, word in enumerate(lexicon.NUMBERS)} | {"single": "1"}
        self._counts = {word: number for word, number in self._counts.items() if number in allowed}
        self._spellings = (
            *(word for word in self._values if word.removesuffix("s") not in inexact),
            *self._counts,
        )
        shortened = {re.sub("[aeiou]", "", each): each for values in attributes.values() for each in values}
        self._abbreviations = {word: each for word, each in shortened.items() if len(word) > 1}
        self._numbers = {answer for answer in allowed if answer.isdecimal()}
        relations = allowed - self._numbers - {"yes", "no", *(value for _, value in self._values.values())}
        cached = lru_cache(CACHED)
        self._meant = cached(self._correction)
        self.value, self.count, self.single = cached(self._value), cached(self._count), cached(self._single)
        self.relations = {word: each for each in relations for word in (each, *lexicon.FORMS.get(each, ()))}

    def _value(self, token: str) -> tuple[str, str] | None:
        """The attribute and value that a word names; the value is `OTHER` if it is not an allowed answer."""
        if token.endswith("ish") and any(word[:3] == token[:3] for word in self._values):
            return ("color", OTHER)  # reddish
        return self._values.get(token.removesuffix("'s"))

    def values_of(self, kind: str) -> Iterator[tuple[str, str]]:
        """The values of an attribute."""
        return (value for value in self._values.values() if value[0] == kind)

    def _count(self, token: str) -> str | None:
        """The number that a word or digits name; `OTHER` if it is not an allowed answer."""
        if token[-1].isdigit():
            number = re.sub(r"\.0+$", "", token)
            return number if number in self._numbers else OTHER
        return OTHER if token in lexicon.LARGER else self._counts.get(token)

    def _single(self, token: str) -> str | None:
        """The answer that a word names by itself, of any kind."""
        if token in lexicon.YES or token in lexicon.NO:
            return "yes" if token in lexicon.YES else "no"
        value = self.value(token)
        return value[1] if value else self.count(token) or self.relations.get(token)

    def tokens(self, text: str, *, exact: bool = False) -> list[str]:
        """The words, numbers and punctuation marks of a plain text; misspelt answers are corrected.

        With `exact`, they are not.
        """
        found = _TOKEN.findall(text)
        if exact:
            return found
        if found and (len(found) == 1 or found[1] in (",", ":")):
            found[0] = lexicon.ABROAD.get(found[0], found[0])
        return [token if self.single(token) else self._meant(token) for token in found]

    def content(self, tokens: Sequence[str]) -> Iterator[str]:
        """The words of a text that describe objects or their relations, each in a canonical form."""
        for token in tokens:
            value = self.value(token)
            if value:
                yield value[1]
            elif token in lexicon.OF_OTHERS:
                yield "other"
            elif token in ("than", *lexicon.SIDES, *lexicon.COMPARISONS):
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

    def _correction(self, word: str) -> str:
        """The answer that a word misspells ("bleu", "metalic"), or else the word itself."""
        if word in self._abbreviations:
            return self._abbreviations[word]  # "grn"
        if len(word) < _SHORTEST or word in lexicon.NO_TYPOS:
            return word
        known = [each for each in self._spellings if each[0] == word[0]]
        exchanged = [each for each in known if sorted(each) == sorted(word)]
        long = [each for each in known if len(each) > _SHORTEST]
        return next(iter(exchanged or get_close_matches(word, long, 1, _LIKENESS)), word)


# Questions

YES_NO, COUNT, RELATION = "yes/no", "count", "relation"

_ASKS_WHETHER = re.compile(r"(?:is|are|do|does|did|has|have|can|was|were)\b")
_ASKS_HOW_MANY = re.compile(r"\bhow many\b|\bwhat(?: is|'s)?(?: the)?(?: total)? number\b")
_ASKS_FOR = re.compile(r".*\b(?:what|how|which)\b")
_KINDS = re.compile(
    r"(?P<size>size|(?<=how )(?:big|large|small))|(?P<color>colou?r)|(?P<shape>shape)"
    r"|(?P<material>material|made of)"
)
_BEFORE_PREDICATE = re.compile(r"are(?: not)?|(?:that|which) (?:is|are)(?: made of| a)?")
_ASKS_FOR_EXISTENCE = re.compile(
    r"\bany\b|\banything\b|^(?:is|are) there (?!more|fewer|exactly|an equal|as many|same|the|at)|\bvisible$"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, parsed from its words."""

    kind: str | None
    """"yes/no", "count", "relation" or an attribute; None if the wording does not say."""
    target: Phrase
    """The description of the object or objects that the question is about."""
    landmarks: tuple[Phrase, ...]
    """The other objects that it names."""
    clause: str
    """The last clause, which asks the question, as in "there is a red cube; what size is it?"."""
    clause_tokens: Sequence[str]
    tokens: Sequence[str]
    """The words of the whole question; `clause_tokens` has those of its last clause."""
    excluded: frozenset[tuple[str, str]]
    """Values that what it asks about lacks, as in "how many things are not red?"."""

    @property
    def asks_for_existence(self) -> bool:
        """Whether it only asks if an object of some description exists."""
        return self.kind == YES_NO and _ASKS_FOR_EXISTENCE.search(self.clause) is not None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The attributes that it names; a comparison that names none is one of numbers."""
        return tuple(kind for kind in lexicon.KINDS if kind in self.tokens)

    @property
    def comparisons(self) -> Mapping[str, str]:
        """Word of comparison -> what it means: a larger number is more, a larger object a different one."""
        return lexicon.COMPARISONS if self.kinds else lexicon.COMPARISONS_OF_NUMBERS

    @property
    def comparison(self) -> str | None:
        """How it compares its objects: "same", "more" and so on; None if it does not."""
        return next(filter(None, map(self.comparisons.get, self.clause_tokens)), None)

    def restatement_end(self, tokens: Sequence[str], words: Words) -> int | None:
        """Where a statement has finished repeating the question's whole description; None if it does not."""
        missing = {*words.content(self.tokens)}
        if len(missing) > 1:
            for k, token in enumerate(tokens):
                missing -= {*words.content([token])}
                if not missing:
                    return k + 1
        return None

    def is_about(self, phrase: Phrase) -> bool:
        """Whether a phrase of a reply may be about the question's object."""
        is_landmark = any(
            phrase.values and phrase.values <= landmark.values and not phrase.values <= self.target.values
            for landmark in self.landmarks
        )
        return not is_landmark and not phrase.contradicts(self.target, self.kind)


def read_question(question: str, words: Words, *, asked: Collection[str] = ()) -> Question:
    """Parses a question in plain lower case; `asked` are the answers that it asks for, if known."""
    clause = question.rpartition(";")[2].strip(" ?.")
    kind = kind_of_answer(next(iter(asked)), words) if asked else _kind(clause)
    tokens = words.tokens(question)
    asking = _ASKS_FOR.match(clause)
    parts = (clause[asking.end() :] if asking else "", clause, question)
    named = [each for part in parts for each in words.phrases(words.tokens(part)) if each.noun]
    objects = [
        *_asked_shape(words.tokens(parts[0]), words),
        *(each for each in named if each.noun == "object"),
    ]
    target = next(iter(named if kind == COUNT else objects), Phrase(0, 0, frozenset(), ""))
    clause_tokens = words.tokens(clause)
    predicate, is_negated = _predicate(clause_tokens if kind in (COUNT, YES_NO) else (), words)
    objects = [each for each in objects if not predicate or each.values not in (predicate, target.values)]
    if not is_negated:
        target = replace(target, values=target.values | predicate)
    is_other = (
        each.values != target.values and not {value for _, value in each.values} <= {*asked}
        for each in objects
    )
    landmarks = tuple(
        {each.values: each for each, other in zip(objects, is_other, strict=True) if other}.values()
    )
    excluded = predicate if is_negated else frozenset()
    return Question(kind, target, landmarks, clause, clause_tokens, tokens, excluded)


def _predicate(tokens: Sequence[str], words: Words) -> tuple[frozenset[tuple[str, str]], bool]:
    """The values that "how many cubes are red?" or "... are not red?" names, and whether they are negated."""
    phrases = list(words.phrases(tokens))
    for counted, said in pairwise(phrases):
        between = tokens[counted.end : said.begin]
        if counted.noun == "object" and "or" not in tokens and _BEFORE_PREDICATE.fullmatch(" ".join(between)):
            return said.values, "not" in between
    return frozenset(), False


def _asked_shape(tokens: Sequence[str], words: Words) -> Iterator[Phrase]:
    """The object of "what large matte shape is behind the cube?", which asks for the object's noun."""
    for phrase in islice(words.phrases(tokens), 1):
        if phrase.begin == 0 and not phrase.noun and tokens[phrase.end : phrase.end + 1] == ["shape"]:
            yield replace(phrase, noun="object")


def kind_of_answer(answer: str, words: Words) -> str:
    """The kind of question that has this answer."""
    value = words.value(answer)
    if value or answer in ("yes", "no"):
        return value[0] if value else YES_NO
    return COUNT if answer.isdecimal() else RELATION


def _kind(clause: str) -> str | None:
    if _ASKS_WHETHER.match(clause):
        return YES_NO
    if _ASKS_HOW_MANY.search(clause):
        return COUNT
    asking = _ASKS_FOR.match(clause)
    if not asking:
        return None
    if clause.endswith(("made of", "made of what")):
        return "material"
    found = _KINDS.search(clause, asking.end()) or _KINDS.search(clause)  # "the color of the cube is what?"
    return found.lastgroup if found else None
