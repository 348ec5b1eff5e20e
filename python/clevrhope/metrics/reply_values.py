"""The answers that one statement of a reply gives to a question, for each kind of question."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from clevrhope.metrics.reply_questions import COUNT, RELATION, YES_NO, Question
from clevrhope.metrics.reply_words import NO, NOTHING, OTHER, YES, Phrase, Words

Given = Mapping[str, int]
"""Answer -> how closely a statement fits what the question is about: `PART`, `FITS` or `EXACT`."""

PART, FITS, EXACT = 0, 1, 2

_NOT = ("not", "never", "neither", "nor", "no", "without", *NOTHING)
_IN_A_ROW = ("a", "an", "the", "or", "nor")
"""What may stand between answers that one "not" denies."""
_DETERMINERS = ("the", "a", "an", "another", "other", "this", "that", "only", "any")
_BEFORE_LANDMARK = ("behind", "than", "to", "in", "from", "near", "beside", "by", "between", "with")
_SIDES = ("left", "right", "front", "side", "back")
_AT_SIDES = frozenset(("behind", *_SIDES))
_BEFORE_SIDE = ("that", "is", "to", "on", "in", "the")
_LABELS = ("image", "images", "picture", "pictures", "step", "figure", "option", "object", "item")
_BOUNDS = re.compile(r"\b(?:at least|at most|(?:more|fewer|less) than|over|up to|between) $")
_NOT_A_COUNT = ("the", "this", "that", "a", "another", "each", "every", "other", "which", "by", "any", "no")
"""Before "one", these make it a word for an object."""
_PRONOUNS = ("there", "it", "they", "that", "this", "i", "the", "not", "its", "it's")
_EMPTY_WORDS = frozenset(
    "a an the is are isn't aren't there any it its it's they them both do does have has be been that that's "
    "which in of to image images picture scene visible seen can see i this also and like such exists exist true case so really certainly at think across made with".split()
)
"""Words that do not change what a statement of existence or likeness says."""
_VERBS = ("is", "are", "do", "does", "has", "have")
_OPPOSITES = {"different": "same", "fewer": "more", "less": "greater", "more": "fewer", "greater": "less"}


def given_answers(text: str, question: Question, words: Words) -> Given:
    """The answers of the question's kind that a statement gives; `OTHER` for values that are not answers."""
    tokens = words.tokens(text)
    if question.kind == YES_NO:
        return _yes_or_no(tokens, question, words)
    if question.kind == COUNT:
        return _numbers(tokens, question, words)
    if question.kind == RELATION:
        return _relations(tokens, question, words)
    if question.kind is None:
        return _anything(tokens, words)
    return _values(tokens, question, words)


def _values(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """The values of the question's type that describe what it is about."""
    given: dict[str, int] = {}
    denied = _denied(tokens, words)
    subject: Phrase | None = None
    for phrase in words.phrases(tokens):
        if phrase.noun == "image" or _is_landmark(phrase, tokens):
            continue
        values = [value for kind, value in phrase.values if kind == question.kind]
        is_value_alone = (
            bool(values) and not phrase.but(question.kind) and (question.kind == "shape" or not phrase.noun)
        )
        described = subject if is_value_alone else phrase
        if not is_value_alone and phrase.noun:
            subject = phrase
        if described is None or (
            question.is_about(described) and not _is_elsewhere(described, tokens, question)
        ):
            fit = _fit(described, tokens, question)
            is_denied = not denied.isdisjoint(range(phrase.begin, phrase.end))
            if not is_denied:
                given |= dict.fromkeys(values, fit)
            elif not values and fit == EXACT and phrase.values:
                given[OTHER] = EXACT  # "there is no red cube" to "what size is the red cube?"
    return given


def _is_elsewhere(phrase: Phrase, tokens: Sequence[str], question: Question) -> bool:
    """Whether a relation follows that is not the question's: "the thing right of it" where it has "left of"."""
    after = [each for each in tokens[phrase.end : phrase.end + 4] if each not in _BEFORE_SIDE]
    is_related = not _AT_SIDES.isdisjoint(question.clause.split())
    return is_related and bool(after) and after[0] in _AT_SIDES and after[0] not in question.clause.split()


def _fit(described: Phrase | None, tokens: Sequence[str], question: Question) -> int:
    """Whether a statement says that it is about the question's object, or only may be."""
    if described is None or not described.noun:
        return FITS
    wanted, found = question.target.but(question.kind), described.but(question.kind)
    is_definite = described.begin > 0 and tokens[described.begin - 1] == "the"
    return EXACT if (wanted and wanted <= found) or (is_definite and found <= wanted) else FITS


def _numbers(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """The numbers of what the question counts."""
    if "=" in tokens:
        tokens = tokens[len(tokens) - tokens[::-1].index("=") :]
    given: dict[str, int] = {}
    denied = _denied(tokens, words)
    phrases = {phrase.begin: phrase for phrase in words.phrases(tokens)}
    labels: set[int] = set()
    for k, token in enumerate(tokens):
        begin = k + 1
        while begin < len(tokens) and tokens[begin] in (
            "other",
            "others",
            "more",
            "such",
            "separate",
            "different",
        ):
            begin += 1
        counted = phrases.get(begin)
        if token in NOTHING or _is_zero(tokens, k, begin, counted):
            if counted is None or (
                counted.values <= question.target.values and counted.noun in ("", question.target.noun)
            ):
                given["0"] = FITS
            continue
        number = words.count(token)
        if number is None or k in denied:
            continue
        if token[0].isdigit() and _is_label(tokens, k, labels):
            labels.add(k)
        elif _is_choice(tokens, k, words):
            given[OTHER] = EXACT
        elif _counts(tokens, k, words) and (
            counted is None or not counted.contradicts(question.target, None)
        ):
            before = " ".join(tokens[:k]) + " "
            bound = _BOUNDS.search(before)
            if not bound:
                is_other = "other" in tokens[k + 1 : begin] and "other" in question.clause
                fit = FITS if is_other else _closeness(counted, question)
                if fit == PART and PART in given.values():
                    given[OTHER] = PART  # parts of a sum
                given[number] = max(given.get(number, PART), fit)
            elif bound[0].strip() not in question.clause:
                given[OTHER] = EXACT
    return given


def _closeness(counted: Phrase | None, question: Question) -> int:
    if counted is None:
        return FITS
    if counted.values != question.target.values:
        return PART
    return FITS if question.landmarks or "other" in question.clause or "else" in question.clause else EXACT


def _is_zero(tokens: Sequence[str], k: int, begin: int, counted: Phrase | None) -> bool:
    """Whether "no" or "not ... any" here says that there is nothing of a description."""
    is_no = tokens[k] == "no" or (
        tokens[k] == "any" and any(each == "not" or each.endswith("n't") for each in tokens[:k])
    )
    return is_no and (counted is not None or begin > k + 1 or (tokens[k] == "any" and begin == len(tokens)))


def _is_label(tokens: Sequence[str], k: int, labels: set[int]) -> bool:
    """Whether a number is a name: "image 1", "images 1 and 3"."""
    before = tokens[k - 1] if k else ""
    return before in _LABELS or (before in ("and", ",") and k - 2 in labels)


def _is_choice(tokens: Sequence[str], k: int, words: Words) -> bool:
    """Whether another number is offered beside this one: "2 or 3", "2-3"."""
    after = tokens[k + 1 : k + 3]
    return len(after) == 2 and after[0] in ("or", "to", "-", "/") and words.count(after[1]) is not None


def _counts(tokens: Sequence[str], k: int, words: Words) -> bool:
    """Whether a number is one of things: not the whole of "3 of the 5", nor the word in "the red one"."""
    before = tokens[k - 1] if k else ""
    after = tokens[k + 1] if k + 1 < len(tokens) else ""
    if "of" in tokens[max(0, k - 3) : k] and before in ("of", "the", "these", "those", "all"):
        return False
    if tokens[k] != "one":
        return True
    return before not in _NOT_A_COUNT and words.value(before) is None and after not in ("of", "by")


def _relations(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """The relations that the question's object is said to have."""
    given: dict[str, int] = {}
    denied = _denied(tokens, words)
    phrases = [
        each for each in words.phrases(tokens) if each.noun == "object" and not _is_landmark(each, tokens)
    ]
    for k, token in enumerate(tokens):
        subjects = [phrase for phrase in phrases if phrase.end <= k]
        if token in words.relations and k not in denied and (not subjects or question.is_about(subjects[-1])):
            given[words.relations[token]] = FITS
    return given


def _anything(tokens: Sequence[str], words: Words) -> Given:
    """All answers that a statement names, for a question whose wording does not say what it asks for."""
    denied = _denied(tokens, words)
    singles = (words.single(token) for k, token in enumerate(tokens) if k not in denied)
    return {answer: FITS for answer in singles if answer}


def _yes_or_no(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """Yes or no as words of their own, or else what a statement that repeats the question's words says."""
    given: dict[str, int] = {}
    for k, token in enumerate(tokens):
        after = tokens[k + 1] if k + 1 < len(tokens) else ","
        if token in (*YES, *NO) and (token in YES[:4] or not after[0].isalnum() or after in _PRONOUNS):
            is_denied = "not" in tokens[max(0, k - 2) : k] or any(
                each.endswith("n't") for each in tokens[max(0, k - 2) : k]
            )
            given["yes" if (token in YES) != is_denied else "no"] = EXACT
    if given:
        return given
    answer = _by_restatement(tokens, question, words)
    return {answer: FITS} if answer else {}


def _by_restatement(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """Yes where a statement says what the question asks whether it holds, no where it denies it."""
    wanted = list(_content(words.tokens(question.clause), words))
    denial = next((k for k, token in enumerate(tokens) if token in _NOT or token.endswith("n't")), None)
    if question.asks_for_existence and denial is not None:
        denied = list(_content(tokens[denial + 1 :], words))
        of_target = set() if tokens[denial] in NOTHING else set(_until_side(denied))
        return "no" if set(denied) <= set(wanted) and of_target <= set(_until_side(wanted)) else None
    said = list(_content(tokens, words))
    holds = denial is None
    if question.asks_for_existence and any(map(words.count, tokens)):
        said = [word for word in said if words.count(word) is None] or wanted
    for k, word in enumerate(said):
        if _OPPOSITES.get(word) in wanted and word not in wanted:
            said[k], holds = _OPPOSITES[word], not holds
    is_likeness = wanted.count("same") == 1 and "same" in said and set(said) <= {*wanted, "than"}
    is_by_itself = not said and (not holds or (bool(tokens) and tokens[-1] in _VERBS))
    if "than" in wanted:
        than = wanted.index("than")
        if said == [wanted[0], *wanted[than + 1 :], "than", *wanted[1:than]]:
            said, holds = wanted, not holds
        elif said == wanted[:than]:
            said = wanted
    if said != wanted and not is_likeness and not is_by_itself:
        return None
    return "yes" if holds else "no"


def _until_side(content: Sequence[str]) -> Sequence[str]:
    """The words before the first relation."""
    return list(takewhile(lambda word: word not in _AT_SIDES, content))


def _content(tokens: Sequence[str], words: Words) -> Iterator[str]:
    for token in tokens:
        if token[0].isalnum() and token not in (*_EMPTY_WORDS, *_NOT) and not token.endswith("n't"):
            yield "same" if token == "equal" else words.single(token) or token.removesuffix("s")


def _is_landmark(phrase: Phrase, tokens: Sequence[str]) -> bool:
    """Whether a phrase is what another object is related to: "left of the red cube", "behind it"."""
    k = phrase.begin - 1
    while k >= 0 and tokens[k] in _DETERMINERS:
        k -= 1
    if k < 0 or (k == phrase.begin - 1 and not phrase.noun):
        return False
    if tokens[k] == "of":
        return k > 0 and tokens[k - 1] in _SIDES
    return tokens[k] in _BEFORE_LANDMARK or (tokens[k] == "as" and tokens[k + 1] == "the")


def _denied(tokens: Sequence[str], words: Words) -> set[int]:
    """The places of the answers that a "not" before them denies."""
    found: set[int] = set()
    denies = met = False  # whether something is denied, and whether an answer was among it
    for k, token in enumerate(tokens):
        is_answer = words.single(token) is not None
        if token in _NOT or token.endswith("n't"):
            denies, met = True, False
            continue
        if not token[0].isalnum() or (met and not is_answer and token not in _IN_A_ROW):
            denies = False
        if is_answer and denies:
            met = True
            found.add(k)
    return found
