"""The numbers that one statement of a reply gives of what a question counts."""

import re
from collections.abc import Mapping, Sequence

from clevrhope.metrics.replies.questions import Question
from clevrhope.metrics.replies.values import EXACT, FITS, PART, Given, denied_places, is_landmark
from clevrhope.metrics.replies.words import NOTHING, OTHER, Phrase, Words

_LABELS = ("image", "images", "picture", "pictures", "step", "figure", "option", "object", "item")
_BOUND = re.compile(r"\b(?:at least|at most|(?:more|fewer|less) than|over|up to|between) $")
_BEFORE_OBJECT = ("other", "others", "more", "such", "separate", "different", "are", "is")
_NOT_A_COUNT = ("the", "this", "that", "a", "another", "each", "every", "other", "which", "by", "any", "no")
"""Before "one", these make it a word for an object."""


def given_numbers(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """The numbers of what a question counts; `OTHER` for one that is not an answer, or only bounds it."""
    tokens = _after_equals(tokens)
    given: dict[str, int] = {}
    phrases = {phrase.begin: phrase for phrase in words.phrases(tokens)}
    not_counts = denied_places(tokens, words) | _labels(tokens)
    for k in range(len(tokens)):
        begin = _object_place(tokens, k + 1)
        counted = phrases.get(begin)
        number = words.count(tokens[k])
        if _is_none(tokens, k, counted):
            if counted is None or counted.values <= question.target.values:
                given["0"] = FITS
        elif number is None or k in not_counts or not _is_count(tokens, k, words):
            continue
        elif counted is None or not counted.contradicts(question.target, None):
            bound = _BOUND.search(" ".join([*tokens[:k], ""]))
            if _is_range(tokens, k, words) or (bound and bound[0].strip() not in question.clause):
                given[OTHER] = EXACT
            elif not bound:
                fit = _fit(tokens, k, phrases, question, words)
                if fit == PART and PART in given.values():
                    given[OTHER] = PART  # parts of a sum
                given[number] = max(given.get(number, PART), fit)
    return given


def _after_equals(tokens: Sequence[str]) -> Sequence[str]:
    """What an equation comes to."""
    return tokens[len(tokens) - tokens[::-1].index("=") :] if "=" in tokens else tokens


def _object_place(tokens: Sequence[str], k: int) -> int:
    """Where the object begins that a number before k counts."""
    while k < len(tokens) and tokens[k] in _BEFORE_OBJECT:
        k += 1
    return k


def _labels(tokens: Sequence[str]) -> set[int]:
    """The places of numbers that are names, or counted aloud: "image 1", "images 1 and 3", "1, 2, 3"."""
    found: set[int] = set()
    for k, token in enumerate(tokens):
        before, after = tokens[max(0, k - 2) : k], tokens[k + 1 : k + 3]
        is_named = not {*before[-1:]}.isdisjoint(_LABELS) or (k - 2 in found and before[1] in ("and", ","))
        is_aloud = len(after) == 2 and after[0] == "," and after[1].isdecimal()
        if token[0].isdigit() and (is_named or is_aloud):
            found.add(k)
    return found


def _is_none(tokens: Sequence[str], k: int, counted: Phrase | None) -> bool:
    """Whether a word says that there is nothing of a description: "none", "no cubes", "not ... any cubes"."""
    if tokens[k] in NOTHING or list(tokens[max(0, k - 2) : k + 1]) == ["not", "a", "single"]:
        return True
    if tokens[k] == "any" and not any(each == "not" or each.endswith("n't") for each in tokens[:k]):
        return False
    after = tokens[k + 1 : k + 2]
    is_of_something = counted is not None or (bool(after) and after[0] in _BEFORE_OBJECT)
    return (tokens[k] in ("no", "any") and is_of_something) or (tokens[k] == "any" and not after)


def _is_range(tokens: Sequence[str], k: int, words: Words) -> bool:
    """Whether another number is offered beside this one: "2 or 3", "2-3", "2+", "2 or more"."""
    if tokens[max(0, k - 1) : k] == ["or"] and any(map(words.count, tokens[:k])):
        return True
    sign, number = tokens[k + 1 : k + 2], tokens[k + 2 : k + 3]
    if not number:
        return sign == ["+"]
    is_bound = number[0] in ("more", "fewer", "less")
    return sign[0] in ("or", "to", "-", "/") and (is_bound or words.count(number[0]) is not None)


def _is_count(tokens: Sequence[str], k: int, words: Words) -> bool:
    """Whether a number is one of things: not the whole of "3 of the 5", nor the word in "the red one"."""
    before, after = tokens[k - 1] if k else "", tokens[k + 1] if k + 1 < len(tokens) else ""
    is_of_all = "of" in tokens[max(0, k - 3) : k] and "total" not in tokens[:k]
    if is_of_all and before in ("of", "the", "these", "those", "all"):
        return False
    is_object = before in _NOT_A_COUNT or words.value(before) is not None or after in ("of", "by")
    return tokens[k] != "one" or not is_object


def _fit(
    tokens: Sequence[str], k: int, phrases: Mapping[int, Phrase], question: Question, words: Words
) -> int:
    """How closely what the number at k counts fits what the question counts."""
    begin = _object_place(tokens, k + 1)
    between = tokens[k + 1 : begin]
    counted = phrases.get(begin)
    related = {landmark.values for landmark in question.landmarks}
    next_number = next((j for j in range(k + 1, len(tokens)) if words.count(tokens[j])), len(tokens))
    after = [each for each in phrases.values() if k < each.begin < next_number and is_landmark(each, tokens)]
    is_predicate = "is" in between or "are" in between  # "2 are red"
    if any(phrase.values in related for phrase in after) or (
        is_predicate and counted and counted.values in related
    ):
        return EXACT if len(related) == 1 else PART
    if counted is None or ("other" in between and "other" in question.clause):
        return FITS
    if counted.values != question.target.values:
        return FITS if is_predicate else PART
    return FITS if question.landmarks or "other" in question.clause or "else" in question.clause else EXACT
