"""What one statement of a reply gives as an answer: a value, a number, yes or no, or any word."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice, takewhile

from clevrhope.metrics.replies import lexicon
from clevrhope.metrics.replies.words import OTHER, RELATION, Phrase, Question, Words

Given = Mapping[str, int]
"""Answer -> how closely a statement fits the question: `PART`, `FITS`, `EXACT` or `RESTATED`."""

PART, FITS, EXACT, RESTATED = range(4)


def given_values(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """The values of the attribute asked for that describe the question's object."""
    given: dict[str, int] = {}
    denied = denied_places(tokens, words)
    is_named = any(  # "size: small", "the shape visible is a cube"
        token == question.kind and not {":", "is", "="}.isdisjoint(tokens[k + 1 : k + 3])
        for k, token in enumerate(tokens)
    )
    restated = 0 if is_named else question.restatement_end(tokens, words)
    subject: Phrase | None = None
    for phrase in words.phrases(tokens):
        is_likened = tokens[phrase.begin - 1 : phrase.begin] == ["as"] == tokens[phrase.end : phrase.end + 1]
        if phrase.noun == "image" or is_likened or is_landmark(phrase, tokens):
            continue
        values = [value for kind, value in phrase.values if kind == question.kind]
        is_alone = values and not phrase.but(question.kind) and (question.kind == "shape" or not phrase.noun)
        described = subject if is_alone else phrase
        if not is_alone and phrase.noun:
            subject = phrase
        if described is None or question.is_about(described):
            fit = _fit(described, tokens, question)
            if restated is not None and (fit == EXACT or restated <= phrase.begin):
                fit = RESTATED
            if denied.isdisjoint(range(phrase.begin, phrase.end)):
                given |= dict.fromkeys(values, fit)
            elif not values and fit >= EXACT and phrase.values:
                given[OTHER] = EXACT  # "there is no red cube" to "what size is the red cube?"
    return given


def is_of_others(tokens: Sequence[str], question: Question) -> bool:
    """Whether a statement begins with "other" things, which the question does not ask about."""
    return not {"other", "others"}.isdisjoint(tokens[:2]) and {"other", "same", "else", "another"}.isdisjoint(
        question.tokens
    )


def _fit(described: Phrase | None, tokens: Sequence[str], question: Question) -> int:
    """`EXACT` if a statement is clearly about the question's object, `FITS` if it only may be."""
    if described is None or not described.noun:
        return FITS
    wanted, found = question.target.but(question.kind), described.but(question.kind)
    is_definite = described.begin > 0 and tokens[described.begin - 1] == "the"
    return EXACT if (wanted and wanted <= found) or (is_definite and found <= wanted) else FITS


def given_words(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """All relations that a statement names, or all answers if the question's kind is unknown."""
    denied = denied_places(tokens, words)
    subjects = (
        each for each in words.phrases(tokens) if each.noun == "object" and not is_landmark(each, tokens)
    )
    if not all(map(question.is_about, islice(subjects, 1))):
        return {}
    meaning = words.relations.get if question.kind == RELATION else words.single
    return {answer: FITS for k, token in enumerate(tokens) if k not in denied and (answer := meaning(token))}


def is_landmark(phrase: Phrase, tokens: Sequence[str]) -> bool:
    """Whether a phrase is the landmark of another object, as in "left of the red cube" or "behind it"."""
    k = phrase.begin - 1
    while k >= 0 and tokens[k] in lexicon.DETERMINERS:
        k -= 1
    if k < 0 or (k == phrase.begin - 1 and not phrase.noun):
        return False
    if tokens[k] == "of":
        return k > 0 and tokens[k - 1] in lexicon.BEFORE_OF
    return tokens[k] in lexicon.BEFORE_LANDMARK or (tokens[k] == "as" and tokens[k + 1] == "the")


def denies(token: str) -> bool:
    """Whether a word negates a statement."""
    return token in lexicon.DENIALS or token.endswith("n't")


def denied_places(tokens: Sequence[str], words: Words) -> set[int]:
    """The indices of the answers that a preceding "not" negates."""
    found: set[int] = set()
    is_denied = met = False  # whether a negation is in force, and whether it has reached an answer
    for k, token in enumerate(tokens):
        is_answer = words.single(token) is not None
        if denies(token):
            is_denied, met = True, False
            continue
        if not token[0].isalnum() or (met and not is_answer):
            is_denied = False
        if is_answer and is_denied:
            met = True
            found.add(k)
    return found


# Numbers

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
            fit = _count_fit(tokens[k:next_number], counted, question, words)
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


def _count_fit(tokens: Sequence[str], counted: Phrase | None, question: Question, words: Words) -> int:
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


# Yes and no

_ALONE = {"right": "yes", "of course": "yes", "no way": "no"}
_OPPOSITES = {"more": "fewer", "fewer": "more", "same": "different"}


def given_yes_no(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """Yes or no if a statement says the word, or else what it implies in the question's terms."""
    alone = _ALONE.get(" ".join(tokens))
    given: dict[str, int] = {alone: EXACT} if alone else {}
    for k, (token, after) in enumerate(zip(tokens, [*tokens[1:], ","], strict=False)):
        is_alone = token in lexicon.ALWAYS_YES or not after[0].isalnum() or after in lexicon.BEFORE_CLAUSE
        if token in (*lexicon.YES, *lexicon.NO) and is_alone:
            is_denied = any(map(denies, tokens[max(0, k - 2) : k]))
            given["yes" if (token in lexicon.YES) != is_denied else "no"] = EXACT
    answer = None if given else _by_meaning(tokens, question, words)
    return {answer: FITS} if answer else given


def _by_meaning(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """Yes if a statement asserts what the question asks, no if it denies it or asserts the opposite."""
    if tokens[1:2] == [","]:
        tokens = tokens[2:]  # "well, there is one"
    first = list(takewhile(lambda token: token[0].isalnum(), tokens))
    stems = {token.partition("'")[0] for token in first if not denies(token)}
    if any(map(denies, first)) and stems <= {*lexicon.BARE, *lexicon.OF_NOTHING}:
        return "no"  # "they don't", "there isn't any"
    if (
        first
        and stems <= {*lexicon.BARE, *lexicon.NUMBERS}
        and first[-1] in (*lexicon.VERBS, *lexicon.NUMBERS)
    ):
        return "yes"  # "sure is", "there are two"
    if not any(map(denies, tokens)) and not {*tokens}.isdisjoint(lexicon.HEDGES):
        return None
    asked = next(filter(None, map(lexicon.COMPARISONS.get, question.clause_tokens)), None)
    if question.asks_for_existence or asked is None:
        return _existence(tokens, question, words)
    return _comparison(tokens, asked, question, words)


def _existence(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """The answer that "there are two red cubes" or "none of the cubes is red" gives about red cubes.

    A denial may describe the objects less fully: if there are no cubes, there are no red ones.
    """
    wanted, target = {*words.content(question.clause_tokens)}, question.target.values
    phrases = list(words.phrases(tokens))
    denial = next((k for k, token in enumerate(tokens) if denies(token) or words.count(token) == "0"), None)
    if denial is not None:
        denied = {*words.content(tokens[denial + 1 :])}
        first = next((each.values for each in phrases if each.begin > denial), frozenset())
        is_all = tokens[denial] in lexicon.NOTHING or first <= target
        return "no" if denied and denied <= wanted and is_all else None
    is_said = any(token in lexicon.SAYING or words.count(token) for token in tokens)
    is_found = any(target <= each.values and not is_landmark(each, tokens) for each in phrases)
    if "it" in tokens:
        wanted -= {value for each in question.landmarks for _, value in each.values}
    return "yes" if is_said and is_found and wanted <= {*words.content(tokens)} else None


def _comparison(tokens: Sequence[str], asked: str, question: Question, words: Words) -> str | None:
    """The answer that "they differ in size" or "there are more spheres" gives to a comparing question."""
    phrases = list(words.phrases(tokens))
    kinds = [kind for kind in lexicon.KINDS if kind in question.tokens]
    named = [question.target, *question.landmarks]
    objects = [each for each in phrases if each.noun == "object"]
    is_of_others = any(all(each.contradicts(one, None) for one in named) for each in objects)
    if is_of_others or any(kind in tokens and kind not in kinds for kind in lexicon.KINDS):
        return None
    said = _compared(tokens, phrases, question)
    if said is None:
        own = [each.values for each in phrases if not is_landmark(each, tokens)] if "or" not in tokens else []
        values = {value for each in own for value in each if value[0] in kinds}
        said = "different" if len(values) > 1 else "same" if values and "both" in tokens else None
    if any(map(denies, tokens)):
        return "no" if said == asked else "yes" if (said, asked) == ("different", "same") else None
    is_no = said is not None and ("same" in (said, asked) or said == _OPPOSITES.get(asked))
    return "yes" if said == asked else "no" if is_no else None


def _compared(tokens: Sequence[str], phrases: Sequence[Phrase], question: Question) -> str | None:
    """How a statement compares the question's first objects with its second: "same", "more" and so on."""
    k = next((k for k, token in enumerate(tokens) if token in lexicon.COMPARISONS), len(tokens))
    after = [each for each in phrases if each.begin == k + 1]
    before = [each for each in reversed(phrases) if each.end <= k]
    said = next(map(lexicon.COMPARISONS.get, tokens[k:]), None)
    is_second = any(
        each.values in [one.values for one in question.landmarks] for each in (after or before)[:1]
    )
    return _OPPOSITES[said] if is_second and said in ("more", "fewer") else said
