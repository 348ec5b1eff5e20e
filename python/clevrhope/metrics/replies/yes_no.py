"""Yes or no, as one statement of a reply says it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from clevrhope.metrics.replies.questions import Question
from clevrhope.metrics.replies.values import DENIALS, EXACT, FITS, SIDES, Given
from clevrhope.metrics.replies.words import NO, NOTHING, YES, Words

_ALWAYS = ("yes", "yeah", "yep", "yup")
_PHRASES: Mapping[str, str] = {"right": "yes", "of course": "yes", "no way": "no"}
_AFTER = ("there", "it", "they", "that", "this", "i", "the", "not", "its", "it's")
"""Before these, "no" is an answer and not "no cube"."""
_EMPTY_WORDS = (
    *("a", "an", "the", "this", "that", "which", "it", "its", "they", "them", "both", "i"),
    *("is", "are", "been", "be", "do", "does", "has", "have", "can", "see", "seen", "think", "made"),
    *("exist", "exists", "appear", "appears", "seem", "seems", "visible", "true", "case"),
    *("there", "any", "in", "of", "to", "at", "with", "across", "and", "also", "so", "like", "such"),
    *("really", "certainly", "image", "images", "picture", "scene"),
)
"""Words that do not change what a statement of existence or likeness says."""
_VERBS = ("is", "are", "do", "does", "has", "have")
_OPPOSITES: Mapping[str, str] = {
    "different": "same",
    "differ": "same",
    "fewer": "more",
    "more": "fewer",
    "less": "greater",
    "greater": "less",
}


def given_yes_no(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """Yes or no as words of their own, or else what a statement that repeats the question's words says."""
    phrase = _PHRASES.get(" ".join(tokens))
    given: dict[str, int] = {phrase: EXACT} if phrase else {}
    for k, token in enumerate(tokens):
        after = tokens[k + 1] if k + 1 < len(tokens) else ","
        is_alone = token in _ALWAYS or not after[0].isalnum() or after in _AFTER
        if token in (*YES, *NO) and is_alone:
            given["yes" if (token in YES) != _denies(tokens[max(0, k - 2) : k]) else "no"] = EXACT
    answer = None if given else _by_restatement(tokens, question, words)
    return {answer: FITS} if answer else given


def _denies(tokens: Sequence[str]) -> bool:
    return any(token == "not" or token.endswith("n't") for token in tokens)


def _by_restatement(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """Yes where a statement says what the question asks about, no where it denies it or says the opposite."""
    wanted, said = (list(_content(each, words)) for each in (words.tokens(question.clause), tokens))
    denial = next((k for k, token in enumerate(tokens) if token in DENIALS or token.endswith("n't")), None)
    if question.asks_for_existence:
        return _existence(tokens, wanted, denial, words)
    if not said:  # "they don't", "it is"
        return "no" if denial is not None else "yes" if tokens and tokens[-1] in _VERBS else None
    opposites = (k for k, word in enumerate(said) if word not in wanted and _OPPOSITES.get(word) in wanted)
    opposite = next(opposites, None)
    if opposite is not None:
        said[opposite] = _OPPOSITES[said[opposite]]
    is_opposite = opposite is not None or _is_exchanged(said, wanted)
    if is_opposite and denial is not None and "same" not in said:
        return None  # not fewer is not yet more
    if is_opposite or _says(said, wanted):
        return "no" if is_opposite != (denial is not None) else "yes"
    return None


def _existence(tokens: Sequence[str], wanted: Sequence[str], denial: int | None, words: Words) -> str | None:
    """What "there are two red cubes" or "none of the cubes is red" says to a question for red cubes.

    A denial may say less of what there is not: without cubes there are no red ones.
    """
    if denial is not None:
        denied = list(_content(tokens[denial + 1 :], words))
        of_target = [] if tokens[denial] in NOTHING else _until_side(denied)
        return "no" if {*denied} <= {*wanted} and {*of_target} <= {*_until_side(wanted)} else None
    numbers = {number for token in tokens if (number := words.count(token))}
    said = [word for word in _content(tokens, words) if words.count(word) is None]
    is_verb_alone = not {*tokens[-1:]}.isdisjoint(_VERBS)  # "yes, there are"
    is_number_of_them = bool(numbers) and not {*tokens}.isdisjoint(
        (*_VERBS, "there's", "see")
    )  # "there is one"
    if said != wanted and (said or not (is_number_of_them or is_verb_alone)):
        return None
    return "no" if "0" in numbers else "yes"


def _says(said: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a statement says the same as the question: in order, or up to "than", or a likeness in part."""
    until_than = list(takewhile(lambda word: word != "than", wanted))
    is_likeness = wanted.count("same") == 1 and "same" in said and {*said} <= {*wanted, "than"}
    is_comparison = len(said) == 1 and said[0] in wanted and said[0] in _OPPOSITES
    return said in (wanted, until_than) or is_likeness or is_comparison


def _is_exchanged(said: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a statement compares the two the other way round: "more spheres than cubes"."""
    if "than" not in wanted:
        return False
    than = wanted.index("than")
    return said == [wanted[0], *wanted[than + 1 :], "than", *wanted[1:than]] and said != wanted


def _until_side(content: Sequence[str]) -> Sequence[str]:
    """The words before the first relation."""
    return list(takewhile(lambda word: word not in SIDES, content))


def _content(tokens: Sequence[str], words: Words) -> Iterator[str]:
    """The words of a text that say something, each in one form."""
    for token in tokens:
        if (
            token[0].isalnum()
            and token.partition("'")[0] not in (*_EMPTY_WORDS, *DENIALS)
            and not token.endswith("n't")
        ):
            yield "same" if token == "equal" else words.single(token) or re.sub(r"(?<=[^s])s$", "", token)
