"""The numbers that one statement of a reply gives for what a question counts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, takewhile

from clevrhope.replies import lexicon
from clevrhope.replies.denials import denied_places, denies, with_denial
from clevrhope.replies.given import EXACT, FITS, PART, Given, is_landmark, without_elsewhere
from clevrhope.replies.words import OTHER, Phrase, Question, Words

_CONTEXT = 12
"""Number of words before and after a number that are searched for its meaning."""
_NUMBER = lexicon.NUMBER
_WHOLE = ("which", "them", "these", "those")
_INCLUDING = ("including", "counting", "minus")
"""Words before an object that a count has counted too."""
_NAMES = re.compile(
    rf"\b(?:images?|pictures?|step|figure|option|object|item)(?: {_NUMBER}(?: ,| and| maybe)*)* $"
    r"|(?<!\btotal )\bof(?: the| these| those| all)* $"  # "3 of the 5"
    r"|\b\d+ , $"  # "1, 2, 3"
)
"""The text before a number that is not a count."""
_BOUND = re.compile(r"\b(?:at least|at most|(?:more|fewer|less) than|over|up to|between) $")
_RANGE = re.compile(
    rf"(?:or|to|-|/) (?:more|fewer|less|{_NUMBER})\b|\+"
    rf"|(?:\w+ ){{0,3}}, (?:maybe|possibly|perhaps) {_NUMBER}\b"
    r"|(?:\w+ ){0,2}(?:more|fewer|less) (?:\w+ ){0,3}than\b(?! (?:it|that|the)\b)"
    r"|(?:pairs|couples|groups|rows|columns|sets|stacks|lines)\b"
)
_OBJECT = re.compile(
    r"(?<!just )(?<!only )\b(?:(?:the|this|that|an?)(?: (?:left|right|front|back|middle|leftmost|rightmost))?"
    r"|another|each|every|other|which|by|any|no) $"
)
"""The text before "one" if it stands for an object."""
_ONLY = re.compile(r"(?<!\bthe )\b(?:just|only|exactly)(?: the)? $")
_NONE = re.compile(r"\b(?:none|neither|nothing|nobody|not a single|(?:not|\w+n't)(?: a single)? one)$")
_NO = re.compile(
    r"\bno$|(?:\bnot|n't)\b.* any$|^any$"
    r"|(?:\bthere (?:is|are)(?: not|n't)|(?:\bnot|n't) (?:see|find|spot|contain|have|show|include))"
    r"(?: even)? an?(?: single)?$"
)


def given_numbers(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """The counts that a statement gives; `OTHER` for one that is not an allowed answer or is only a bound."""
    tokens = without_elsewhere(tokens, question)
    if "=" in tokens:
        tokens = tokens[len(tokens) - tokens[::-1].index("=") :]  # the result of an equation
    if _includes_own(tokens, question, words):
        return {OTHER: EXACT}
    tokens = _explicit(with_denial(tokens), question, words)
    exception = _exception(tokens, question, words)
    if exception is not None:
        return exception
    given: dict[str, int] = {}
    denied, named = denied_places(tokens, words), list(words.phrases(tokens))
    phrases = list(_with_predicates(tokens, named, question))
    begins = {each.begin: (each, short) for each, short in zip(phrases, named, strict=True)}
    ends = {each.end: each for each in phrases}
    for part, whole in zip(named, phrases, strict=True):
        is_of_all = tokens[:1] in (["all"], ["every"], ["each"]) and not question.landmarks
        is_of_all = is_of_all and "except" not in tokens
        is_own = is_of_all and part.noun == "object" and part.values <= question.target.values
        if is_own and (question.excluded & whole.values or whole.contradicts(question.target, None)):
            return {"0": FITS}  # "all cubes are blue" if red ones are asked about
    is_all = question.restatement_end(tokens, words) is not None and not any(map(words.count, tokens))
    is_of_all = is_all and "or" in question.tokens
    is_negated = any(map(denies, question.tokens))
    next_number = len(tokens)
    counts, kinds = list[tuple[str, Phrase, int]](), list[tuple[str, Phrase, int]]()
    for k in reversed(range(len(tokens))):
        number = words.count(tokens[k])
        begin = next(
            (j for j in range(k + 1, next_number) if tokens[j] not in lexicon.BEFORE_COUNTED), len(tokens)
        )
        if tokens[k + 1 : k + 3] == ["of", "the"] and _has_predicate(begins.get(k + 3)):
            begin = k + 3  # "two of the cubes are red"
        headed = ends.get(k - 1) if tokens[k - 1] in (":", "=", "number") else None  # "red cubes: 3"
        counted, short = begins.get(begin, (headed, headed))
        before = " ".join([*tokens[max(0, k - _CONTEXT) : k], ""])
        after = " ".join(tokens[k + 1 : k + _CONTEXT])
        if _is_none(before + tokens[k], after, counted):
            if counted and not is_of_all and _is_one_kind(counted, question):
                kinds.append(("0", counted, PART))  # one of two kinds
            elif is_of_all or _covers(counted, short, question, is_restated=is_all):
                given = {"0": FITS} if k < 3 else {**given, "0": FITS}
        elif number and k not in denied and _is_count(before, tokens[k], after, words):
            is_second = tokens[k - 1] == "or" and any(map(words.count, tokens[max(0, k - _CONTEXT) : k]))
            fit = _count_fit(tokens[k:next_number], counted, question, words)
            is_range = _RANGE.match(after) and "more" not in question.tokens
            is_unlike = not is_negated and _is_denied(tokens[k + 1 : next_number])
            if is_second or is_range or is_unlike or _BOUND.search(before):
                fit, number = EXACT, OTHER
            kind = counted or _said_of_one(tokens, k, begins)
            kinds += [(number, kind, fit if counted else PART)] if kind else []
            if counted and fit < EXACT and _is_alternative(counted, question):
                number = OTHER
            if counted is None or _may_be(counted, fit, k, tokens, question):
                given[number] = max(given.get(number, PART), fit)
                counts += [(number, counted, fit)] if counted else []
        next_number = k if number else next_number
    further = [("1", each, PART) for each in phrases if _is_further(each, tokens)]
    counts += further if counts else []
    return _total(counts, question) or _total_of_kinds(kinds, question) or given


def _includes_own(tokens: Sequence[str], question: Question, words: Words) -> bool:
    """Whether a count includes the object whose others are asked for: "5, including the cube itself"."""
    if {"other", "else", "another"}.isdisjoint(question.tokens) or any(map(denies, tokens)):
        return False
    landmarks = [each.values for each in question.landmarks]
    for phrase in words.phrases(tokens):
        before = tokens[max(0, phrase.begin - 2) : phrase.begin]
        is_own = phrase.values and any(phrase.values <= each for each in landmarks)
        is_first = before == ["with", "the"] and phrase.begin == 2
        is_named = is_first or (before[-1:] == ["the"] and before[0] in _INCLUDING)
        is_itself = tokens[phrase.end : phrase.end + 1] == ["itself"] and before[:1] != ["except"]
        if is_own and (is_named or is_itself):
            return True
    return False


def _said_of_one(tokens: Sequence[str], k: int, begins: Mapping[int, tuple[Phrase, Phrase]]) -> Phrase | None:
    """What is said of a number without a noun, as a red ball in "one is a red ball"."""
    is_said = [*tokens[k + 1 : k + 3]] in (["is", "a"], ["is", "an"])
    return begins[k + 3][0] if is_said and k + 3 in begins else None


def _kinds(question: Question) -> list[frozenset[tuple[str, str]]]:
    """The kinds of objects that are counted together, such as red cubes and blue balls."""
    others = question.landmarks if "or" in question.clause_tokens else ()
    return [each.values for each in (question.target, *others)]


def _is_one_kind(phrase: Phrase, question: Question) -> bool:
    """Whether a phrase describes only some of several kinds that are counted together."""
    kinds = _kinds(question)
    return len(kinds) > 1 and not all(phrase.values <= kind for kind in kinds)


def joined_kinds(statements: Sequence[Sequence[str]], question: Question, words: Words) -> list[str]:
    """The words of statements that each count one of several kinds that are asked for, as a single statement.

    "No cubes, but 2 red balls" is split into such statements. There are no words if one says something else.
    """
    counting = [each for each in statements if "no" in each or any(map(words.count, each))]
    named = set()
    for tokens in counting:
        phrases = [each for each in words.phrases(tokens) if each.values]
        if len(phrases) != 1 or not any(phrases[0].values <= kind for kind in _kinds(question)):
            return []
        named.add(phrases[0].values)
    return [token for each in counting for token in (*each, ",")] if len(named) > 1 else []


def _is_further(phrase: Phrase, tokens: Sequence[str]) -> bool:
    """Whether a phrase names one more object, as in "two red cubes and a blue one"."""
    before = [*tokens[max(0, phrase.begin - 2) : phrase.begin]]
    is_one = before[-1:] in (["a"], ["an"], ["another"]) and before[:1] not in (["is"], ["are"], ["of"])
    return is_one and not is_landmark(phrase, tokens)


def _is_denied(tokens: Sequence[str]) -> bool:
    """Whether what follows a number denies what it counts, as in "3 of which are not cubes"."""
    clause = takewhile(lambda token: token[0].isalnum() and token not in ("and", "but", "no"), tokens)
    return any(map(denies, clause))


def _total(counts: Sequence[tuple[str, Phrase, int]], question: Question) -> Given:
    """The sum of the parts in "two large cubes and a small one"; `OTHER` if some may be counted twice."""
    parts = [each for each in counts if each[1].values > question.target.values]
    fits = max((fit for _, _, fit in parts), default=PART)
    if not 1 < len(parts) < 11 or len(parts) < len(counts) or {"or", "other", "else"} & {*question.tokens}:
        return {}
    is_apart = all(one.contradicts(other, None) for (_, one, _), (_, other, _) in combinations(parts, 2))
    numbers = [number for number, _, _ in parts]
    is_sum = is_apart and all(map(str.isdecimal, numbers))
    return {str(sum(map(int, numbers))) if is_sum else OTHER: fits}


def _total_of_kinds(counts: Sequence[tuple[str, Phrase, int]], question: Question) -> Given:
    """The sum of "two cubes, one red ball" if cubes or red balls are asked for; `OTHER` if it is unclear."""
    if "or" not in question.clause_tokens or len(counts) != 2 or counts[0][1].values == counts[1][1].values:
        return {}
    if max(fit for _, _, fit in counts) >= EXACT:
        return {}
    kinds = [question.target, *question.landmarks[:1]]
    is_apart = len(kinds) == len(question.landmarks) + 1 == 2 and kinds[0].contradicts(kinds[1], None)
    is_each = is_apart and all(
        any(kind.values <= phrase.values and not phrase.is_contradictory for _, phrase, _ in counts)
        for kind in kinds
    )
    numbers = [number for number, _, _ in counts]
    is_sum = is_each and all(map(str.isdecimal, numbers))
    return {str(sum(map(int, numbers))): FITS} if is_sum else {OTHER: PART}


def _explicit(tokens: Sequence[str], question: Question, words: Words) -> Sequence[str]:
    """A statement with a number for "both" and "just the"."""
    phrases = list(words.phrases(tokens))
    plurals = {each.begin for each in phrases if each.noun and tokens[each.end : each.end + 1] == ["are"]}
    k = next(
        (k for k, token in enumerate(tokens) if token in ("just", "only") and "the" in tokens[: k + 2]), 0
    )
    k += 1 + (tokens[k + 1 : k + 2] == ["the"])
    others = tokens[k : k + 1] in (["other"], ["one"])
    alone = next((each for each in phrases if each.begin in (k, k + others)), None)
    if {"just", "only"} & {*tokens[max(0, k - 2) : k]} and alone and not tokens[alone.end - 1].endswith("s"):
        landmarks = [each.values for each in question.landmarks]
        is_of_it = k > 2 and (tokens[0] in ("it", "it's") or phrases[0].values in landmarks)
        is_none = is_of_it and not others and {"other", "else", "another"} & {*question.tokens}
        return ["zero"] if is_none else ["one", *tokens[k:]]  # "it is the only red thing", "just the cube"
    return [
        "two"
        if token == "both" and (k + 1 in plurals or tokens[k + 1 : k + 2] in (["of"], ["are"]))
        else token
        for k, token in enumerate(tokens)
    ]


def _with_predicates(
    tokens: Sequence[str], phrases: Sequence[Phrase], question: Question
) -> Iterator[Phrase]:
    """Phrases with what is said of them, "three things are red", and the shape left out in "two red ones"."""
    own = [each for each in phrases if not is_landmark(each, tokens)]
    shapes = {value for each in own for value in each.values if value[0] == "shape"}
    asked = {value for value in question.target.values if value[0] == "shape"}
    said: dict[int, frozenset[tuple[str, str]]] = {}
    for k, (phrase, after) in reversed([*enumerate(pairwise(phrases))]):
        between = tokens[phrase.end : after.begin]
        is_said = phrase.noun and [*between[:1]] in (["is"], ["are"], ["has"], ["have"])
        if is_said and [*between[1:]] in ([], ["a"]):
            said[k] = after.values
        elif [*between[:1]] == ["and"] and len(between) == 2 and tokens[after.end : after.end + 1] == ["are"]:
            said[k] = said.get(k + 1, frozenset())  # "two cubes and one ball are red"
    for k, phrase in enumerate(phrases):
        values = phrase.values | said.get(k, frozenset())
        if (not phrase.noun or tokens[phrase.end - 1] in ("one", "ones")) and shapes <= asked:
            values |= asked
        yield replace(phrase, values=values)


def _has_predicate(phrases: tuple[Phrase, Phrase] | None) -> bool:
    return phrases is not None and phrases[0].values != phrases[1].values


def _exception(tokens: Sequence[str], question: Question, words: Words) -> Given | None:
    """The number in "of the 4 cubes, all but one are red" if those are asked about; None if it has none.

    It cannot be known if the statement does not give the number of all.
    """
    k = next((k for k, token in enumerate(tokens) if token in ("allbut", "except")), None)
    if k is not None and tokens[k] == "except" and any(map(denies, tokens)):
        return {}  # "nothing except the cube"
    left = words.count(tokens[k + 1]) if k is not None and k + 1 < len(tokens) else None
    is_of_one = k is not None and tokens[:1] == ["all"] and tokens[k + 1 : k + 2] in (["the"], ["that"])
    if is_of_one and any(map(words.count, tokens[:k])):
        return {}  # "all three except the red one"
    if k is None or left is None:
        return None
    phrases = list(words.phrases(tokens))
    said = {value for each in phrases if (each.begin > k) == (tokens[k] == "allbut") for value in each.values}
    named = {value for each in phrases for value in each.values}
    target = question.target.values
    is_opposite = any(kind == other and value != one for kind, value in said for other, one in target)
    is_asked = (target <= named and not target.isdisjoint(said)) or not question.excluded.isdisjoint(said)
    is_asked = is_asked and not is_opposite
    if not is_asked:
        return {} if tokens[k] == "allbut" else None
    if not question.excluded.isdisjoint(said) and not any(map(denies, tokens)):
        return {left: EXACT}  # "all but one are red" to "how many are not red?"
    whole = [number for number in map(words.count, [*tokens[:k], *tokens[k + 2 :]]) if number]
    if len(whole) != 1 or not (whole[0] + left).isdecimal():
        return {}
    return {str(int(whole[0]) - int(left)): EXACT}


def _may_be(counted: Phrase, fit: int, k: int, tokens: Sequence[str], question: Question) -> bool:
    """Whether a number may count what is asked about: red cubes in "2 cubes", but not in "I see 2 cubes"."""
    is_whole = (k == 0 and counted.end == len(tokens)) or "such" in tokens[k : k + 2]
    is_less = fit == PART and not question.target.values <= counted.values and not is_whole
    is_excluded = not counted.values.isdisjoint(question.excluded) and not any(
        map(denies, tokens[max(0, k - _CONTEXT) : k + _CONTEXT])
    )
    return not is_less and not is_excluded and not counted.contradicts(question.target, None)


def _is_alternative(counted: Phrase, question: Question) -> bool:
    """Whether a phrase names one kind of several that are counted: cubes in "cubes or red spheres"."""
    return "or" in question.clause_tokens and any(
        each.values and each.values <= counted.values for each in question.landmarks
    )


def _covers(counted: Phrase | None, short: Phrase | None, question: Question, *, is_restated: bool) -> bool:
    """Whether a phrase that is denied covers all that is counted: if there are no cubes, no cube is red.

    `short` is the phrase without what is said of it.
    """
    if counted is None or short is None:
        return True
    target = question.target
    is_of_kind = counted.values <= target.values or bool(question.kinds)
    return short.values <= target.values and (
        is_of_kind or (is_restated and not counted.contradicts(target, None))
    )


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
    asked = {*words.content(question.tokens)}
    if tokens[1:2] == ["of"] and {*tokens[2:3]} <= {*_WHOLE} and asked & {*words.content(tokens[3:])}:
        return EXACT  # "two of them are left of the cube"
    related = [each.values for each in words.phrases(tokens) if is_landmark(each, tokens)]
    is_related = any(each.values in related for each in question.landmarks)
    is_other = not {"other", "else"}.isdisjoint(question.tokens)
    is_restated = question.restatement_end(tokens, words) is not None
    is_less = counted is not None and not question.target.values <= {*counted.values, *question.excluded}
    if is_restated or not lexicon.OF_MATCHES.isdisjoint(tokens[1:]):
        return EXACT
    if is_related and not is_less:
        return PART if len(question.landmarks) > 1 else EXACT
    if counted is None and lexicon.SIDES & {*tokens} & {*question.tokens}:
        return EXACT  # "2 to the left"
    if counted is None or tokens[1:2] in (["is"], ["are"]) or (is_other and "other" in tokens[:2]):
        return FITS
    if counted.values != question.target.values:
        return PART
    return FITS if question.landmarks or is_other else EXACT
