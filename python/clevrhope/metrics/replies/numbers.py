"""The numbers that one statement of a reply gives for the objects that a question counts."""

import re
from collections.abc import Sequence

from clevrhope.metrics.replies import lexicon
from clevrhope.metrics.replies.questions import Question
from clevrhope.metrics.replies.values import EXACT, FITS, PART, Given, denied_places, is_landmark
from clevrhope.metrics.replies.words import OTHER, Phrase, Words

_CONTEXT = 12
"""Number of words before and after a number that are searched for its meaning."""
_NUMBER = rf"(?:\d+|{'|'.join(lexicon.NUMBERS)})"
_NAMES = re.compile(
    rf"\b(?:images?|pictures?|step|figure|option|object|item)(?: {_NUMBER}(?: ,| and| maybe)*)* $"
    r"|(?<!\btotal )\bof(?: the| these| those| all)* $"  # "3 of the 5"
    r"|\b\d+ , $"  # "1, 2, 3"
)
"""The text before a number that is not a count."""
_BOUND = re.compile(r"\b(?:at least|at most|(?:more|fewer|less) than|over|up to|between) $")
_RANGE = re.compile(rf"(?:or|to|-|/) (?:more|fewer|less|{_NUMBER})\b|\+")
_OBJECT = re.compile(
    r"(?<!just )(?<!only )\b(?:the|this|that|an?|another|each|every|other|which|by|any|no) $"
)
"""The text before "one" if it stands for an object."""
_ONLY = re.compile(r"(?<!\bthe )\b(?:just|only|exactly)(?: the)? $")
_NONE = re.compile(r"\b(?:none|nothing|nobody|not a single|not one)$")
_NO = re.compile(r"\bno$|(?:\bnot|n't)\b.* any$|^any$")


def given_numbers(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """The counts that a statement gives; `OTHER` for one that is not an allowed answer or is only a bound."""
    if "=" in tokens:
        tokens = tokens[len(tokens) - tokens[::-1].index("=") :]  # the result of an equation
    given: dict[str, int] = {}
    denied, phrases = denied_places(tokens, words), list(words.phrases(tokens))
    begins, ends = {each.begin: each for each in phrases}, {each.end: each for each in phrases}
    next_number = len(tokens)
    for k in reversed(range(len(tokens))):
        number = words.count(tokens[k])
        begin = next(
            (j for j in range(k + 1, next_number) if tokens[j] not in lexicon.BEFORE_COUNTED), len(tokens)
        )
        headed = ends.get(k - 1) if tokens[k - 1] in (":", "=") else None  # "red cubes: 3"
        counted = begins.get(begin, headed)
        before = " ".join([*tokens[max(0, k - _CONTEXT) : k], ""])
        after = " ".join(tokens[k + 1 : k + _CONTEXT])
        if _is_none(before + tokens[k], after, counted):
            if counted is None or counted.values <= question.target.values:
                given = {"0": FITS} if k < 3 else {**given, "0": FITS}
        elif number and k not in denied and _is_count(before, tokens[k], after, words):
            is_second = tokens[k - 1] == "or" and any(map(words.count, tokens[max(0, k - _CONTEXT) : k]))
            fit = _fit(tokens[k:next_number], counted, question, words)
            if is_second or _RANGE.match(after) or _BOUND.search(before):
                fit, number = EXACT, OTHER
            if counted is None or _may_be(counted, fit, k, tokens, question):
                given[number] = max(given.get(number, PART), fit)
        next_number = k if number else next_number
    return given


def _may_be(counted: Phrase, fit: int, k: int, tokens: Sequence[str], question: Question) -> bool:
    """Whether a number may count what is asked about: red cubes in "2 cubes", but not in "I see 2 cubes"."""
    is_whole = (k == 0 and counted.end == len(tokens)) or "such" in tokens[k : k + 2]
    is_less = fit == PART and counted.values < question.target.values and not is_whole
    return not is_less and not counted.contradicts(question.target, None)


def _is_none(text: str, after: str, counted: Phrase | None) -> bool:
    """Whether a word says that no such object exists: "none", "no cubes", "not ... any cubes"."""
    is_of_something = counted is not None or after.startswith(lexicon.BEFORE_COUNTED) or not after
    return _NONE.search(text) is not None or (is_of_something and _NO.search(text) is not None)


def _is_count(before: str, token: str, after: str, words: Words) -> bool:
    """Whether a number counts objects: it is not a name, and not the "one" in "the red one"."""
    if _NAMES.search(before) or re.match(r", \d", after):
        return False
    is_value = words.value(before.split()[-1]) is not None if before.strip() else False
    is_object = is_value or _OBJECT.search(before) or after.startswith(("of ", "by "))
    return token != "one" or not is_object or _ONLY.search(before) is not None


def _fit(tokens: Sequence[str], counted: Phrase | None, question: Question, words: Words) -> int:
    """How closely the objects that a number counts fit those that the question counts."""
    related = [each.values for each in words.phrases(tokens) if is_landmark(each, tokens)]
    is_related = any(each.values in related for each in question.landmarks)
    is_other = not {"other", "else"}.isdisjoint(question.tokens)
    if is_related or question.restatement_end(tokens, words) is not None:
        return PART if is_related and len(question.landmarks) > 1 else EXACT
    if counted is None or tokens[1:2] in (["is"], ["are"]) or (is_other and "other" in tokens[:2]):
        return FITS
    if counted.values != question.target.values:
        return PART
    return FITS if question.landmarks or is_other else EXACT
