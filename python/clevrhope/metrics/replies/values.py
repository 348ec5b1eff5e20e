"""The values that one statement of a reply gives to what a question is about."""

from collections.abc import Mapping, Sequence

from clevrhope.metrics.replies.questions import Question
from clevrhope.metrics.replies.words import NOTHING, OTHER, Phrase, Words

Given = Mapping[str, int]
"""Answer -> how closely a statement fits what the question is about: `PART`, `FITS` or `EXACT`."""

PART, FITS, EXACT = 0, 1, 2

DENIALS = ("not", "never", "neither", "nor", "no", "without", *NOTHING)
_IN_A_ROW = ("a", "an", "the", "or", "nor")
"""What may stand between answers that one "not" denies."""
_DETERMINERS = ("the", "a", "an", "another", "other", "this", "that", "only", "any")
_BEFORE_LANDMARK = ("behind", "than", "to", "in", "from", "near", "beside", "by", "between", "with")
_BEFORE_OF = ("left", "right", "front", "side", "back")
SIDES = frozenset(("behind", *_BEFORE_OF))
_BEFORE_SIDE = ("that", "is", "to", "on", "in", "the")


def given_values(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """The values of the question's type that describe what it is about."""
    given: dict[str, int] = {}
    denied = denied_places(tokens, words)
    subject: Phrase | None = None
    for phrase in words.phrases(tokens):
        if phrase.noun == "image" or is_landmark(phrase, tokens):
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
    """Whether a relation follows that is not the question's: "the thing right of it" where it has "left"."""
    after = [each for each in tokens[phrase.end : phrase.end + 4] if each not in _BEFORE_SIDE]
    is_related = not SIDES.isdisjoint(question.clause.split())
    return is_related and bool(after) and after[0] in SIDES and after[0] not in question.clause.split()


def _fit(described: Phrase | None, tokens: Sequence[str], question: Question) -> int:
    """Whether a statement says that it is about the question's object, or only may be."""
    if described is None or not described.noun:
        return FITS
    wanted, found = question.target.but(question.kind), described.but(question.kind)
    is_definite = described.begin > 0 and tokens[described.begin - 1] == "the"
    return EXACT if (wanted and wanted <= found) or (is_definite and found <= wanted) else FITS


def given_relations(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """The relations that the question's object is said to have."""
    given: dict[str, int] = {}
    denied = denied_places(tokens, words)
    phrases = [
        each for each in words.phrases(tokens) if each.noun == "object" and not is_landmark(each, tokens)
    ]
    for k, token in enumerate(tokens):
        subjects = [phrase for phrase in phrases if phrase.end <= k]
        if token in words.relations and k not in denied and (not subjects or question.is_about(subjects[-1])):
            given[words.relations[token]] = FITS
    return given


def given_anything(tokens: Sequence[str], words: Words) -> Given:
    """All answers that a statement names, for a question whose wording does not say what it asks for."""
    denied = denied_places(tokens, words)
    singles = (words.single(token) for k, token in enumerate(tokens) if k not in denied)
    return {answer: FITS for answer in singles if answer}


def is_landmark(phrase: Phrase, tokens: Sequence[str]) -> bool:
    """Whether a phrase is what another object is related to: "left of the red cube", "behind it"."""
    k = phrase.begin - 1
    while k >= 0 and tokens[k] in _DETERMINERS:
        k -= 1
    if k < 0 or (k == phrase.begin - 1 and not phrase.noun):
        return False
    if tokens[k] == "of":
        return k > 0 and tokens[k - 1] in _BEFORE_OF
    return tokens[k] in _BEFORE_LANDMARK or (tokens[k] == "as" and tokens[k + 1] == "the")


def denied_places(tokens: Sequence[str], words: Words) -> set[int]:
    """The places of the answers that a "not" before them denies."""
    found: set[int] = set()
    denies = met = False  # whether something is denied, and whether an answer was among it
    for k, token in enumerate(tokens):
        is_answer = words.single(token) is not None
        if token in DENIALS or token.endswith("n't"):
            denies, met = True, False
            continue
        if not token[0].isalnum() or (met and not is_answer and token not in _IN_A_ROW):
            denies = False
        if is_answer and denies:
            met = True
            found.add(k)
    return found
