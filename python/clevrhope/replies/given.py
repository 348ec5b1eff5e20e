"""What one statement of a reply gives as an answer, if that is a value, a relation or any word."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise

from clevrhope.replies import lexicon
from clevrhope.replies.denials import denied_places
from clevrhope.replies.words import OTHER, RELATION, Phrase, Question, Words

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
    phrases = list(words.phrases(tokens))
    for phrase, after in zip(phrases, [*phrases[1:], None], strict=False):
        between = {*tokens[phrase.end : after.begin]} if after else set()
        if after and phrase.noun and {"is", "are"} & between and between <= {*lexicon.OF_PREDICATE}:
            said = replace(phrase, values=phrase.values | after.but(question.kind))
            is_other = question.is_about(phrase) and said.contradicts(question.target, question.kind)
            phrase = said if is_other else phrase  # "the red one is small"
        is_likened = tokens[phrase.begin - 1 : phrase.begin] == ["as"] == tokens[phrase.end : phrase.end + 1]
        if [*tokens[max(0, phrase.begin - 3) : phrase.begin]] == [question.kind, "as", "the"]:
            given |= dict.fromkeys((value for kind, value in phrase.values if kind == question.kind), FITS)
        if phrase.noun == "image" or is_likened or is_landmark(phrase, tokens):
            continue
        values = [value for kind, value in phrase.values if kind == question.kind]
        is_alone = values and not phrase.but(question.kind) and (question.kind == "shape" or not phrase.noun)
        described = subject if is_alone else phrase
        is_second = tokens[phrase.end : phrase.end + 2] in (["are", "both"], ["both", "are"], ["are", "each"])
        if not is_alone and phrase.noun and not (is_second and subject and question.is_about(subject)):
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


def without_others(tokens: Sequence[str], question: Question, words: Words) -> Sequence[str]:
    """A statement up to "the others", if the question does not ask about other things."""
    k = next((k for k, token in enumerate(tokens) if token in ("other", "others")), None)
    if k is None or not {"other", "same", "else", "another"}.isdisjoint(question.tokens):
        return tokens
    return tokens[: max(0, k - 1)] if k < 2 or any(map(words.single, tokens[:k])) else tokens


def names_two(tokens: Sequence[str], question: Question, words: Words) -> bool:
    """Whether one of two objects that fit has one value and the other another: "one red, the other not"."""
    before, end = {*lexicon.BEFORE_ONE, *filter(words.value, tokens)}, len(tokens)
    begin = next((k for k in range(end) if tokens[k] == "one" and before.isdisjoint(tokens[:k][-1:])), end)
    middle = next((k for k in range(begin, end) if tokens[k] in ("other", "others")), end)
    phrases = [each for each in words.phrases(tokens) if each.begin >= begin]
    parts = [[x for x in phrases if x.begin < middle], [x for x in phrases if x.begin > middle][:2]]
    is_asked = question.kind in lexicon.KINDS and "other" not in question.tokens
    return is_asked and all(
        any(each.but(question.kind) != each.values for each in part)
        and not any(each.contradicts(question.target, question.kind) for each in part)
        for part in parts
    )


def without_elsewhere(tokens: Sequence[str], question: Question) -> Sequence[str]:
    """A statement without what it says is right of an object, if the question asks what is left of it."""
    sides = lexicon.SIDES.intersection(question.tokens)
    opposite = {lexicon.OPPOSITE_SIDES[side] for side in sides if side in lexicon.OPPOSITE_SIDES}
    if not opposite & {*tokens} or opposite & {*question.tokens}:
        return tokens
    if not sides & {*tokens}:
        return []
    ends = [k for k, token in enumerate(tokens) if token in (",", "and", "but", "while")]
    parts = [tokens[begin:end] for begin, end in pairwise([0, *ends, len(tokens)])]
    return [token for part in parts if sides & {*part} or not opposite & {*part} for token in part]


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
