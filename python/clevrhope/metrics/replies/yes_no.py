"""Yes or no, as one statement of a reply says it."""

from collections.abc import Mapping, Sequence
from itertools import takewhile

from clevrhope.metrics.replies import lexicon
from clevrhope.metrics.replies.questions import Question
from clevrhope.metrics.replies.values import EXACT, FITS, Given, is_landmark
from clevrhope.metrics.replies.words import Words

_PHRASES: Mapping[str, str] = {"right": "yes", "of course": "yes", "no way": "no"}
_OPPOSITES = {"more": "fewer", "fewer": "more", "same": "different"}
_BARE = {*lexicon.PRONOUNS, *lexicon.VERBS, *lexicon.ADVERBS, *lexicon.DENIALS}


def given_yes_no(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """Yes or no as words of their own, or else what a statement that repeats the question's words says."""
    phrase = _PHRASES.get(" ".join(tokens))
    given: dict[str, int] = {phrase: EXACT} if phrase else {}
    for k, token in enumerate(tokens):
        after = tokens[k + 1] if k + 1 < len(tokens) else ","
        is_alone = token in lexicon.ALWAYS_YES or not after[0].isalnum() or after in lexicon.BEFORE_CLAUSE
        if token in (*lexicon.YES, *lexicon.NO) and is_alone:
            is_denied = any(map(_denies, tokens[max(0, k - 2) : k]))
            given["yes" if (token in lexicon.YES) != is_denied else "no"] = EXACT
    answer = None if given else _by_restatement(tokens, question, words)
    return {answer: FITS} if answer else given


def _denies(token: str) -> bool:
    return token in lexicon.DENIALS or token.endswith("n't")


def _by_restatement(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """Yes where a statement says what the question asks, no where it denies it or says the opposite."""
    first = list(takewhile(lambda token: token[0].isalnum(), tokens))
    denies = any(map(_denies, first))
    if denies and all(token.partition("'")[0] in (*_BARE, *lexicon.OF_NOTHING) or _denies(token) for token in first):
        return "no"  # "they don't", "there isn't any"
    if {*first} <= _BARE and first[-1:] and first[-1] in lexicon.VERBS:
        return "yes"  # "sure is"
    if not any(map(_denies, tokens)) and not {*tokens}.isdisjoint(lexicon.HEDGES):
        return None
    asked = next(filter(None, map(lexicon.COMPARISONS.get, words.tokens(question.clause))), None)
    if question.asks_for_existence or asked is None:
        return _existence(tokens, question, words)
    return _comparison(tokens, asked, question, words)


def _existence(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """What "there are two red cubes" or "none of the cubes is red" says to a question for red cubes.

    A denial may say less of what there is not: without cubes there are no red ones.
    """
    wanted = list(words.content(words.tokens(question.clause)))
    denial = next((k for k, token in enumerate(tokens) if _denies(token)), None)
    if denial is not None:
        denied = list(words.content(tokens[denial + 1 :]))
        is_all = tokens[denial] in lexicon.NOTHING or {*_until_side(denied)} <= {*_until_side(wanted)}
        return "no" if is_all and denied and {*denied} <= {*wanted} else None
    numbers = {number for token in tokens if (number := words.count(token))}
    is_said = not {*tokens}.isdisjoint((*lexicon.VERBS, "there's", "see"))
    if not is_said:
        return None
    if numbers and not any(words.content(tokens)):
        return "no" if "0" in numbers else "yes"  # "there is one"
    target = {*question.target.values}
    is_found = any(target <= phrase.values for phrase in words.phrases(tokens) if not is_landmark(phrase, tokens))
    landmark = {word for each in question.landmarks for _, word in each.values} if "it" in tokens else {*()}
    if not is_found or not {*wanted} - landmark <= {*words.content(tokens)}:
        return None
    return "no" if "0" in numbers else "yes"


def _comparison(tokens: Sequence[str], asked: str, question: Question, words: Words) -> str | None:
    """What "they differ in size" or "there are more spheres than cubes" says to a question for the same or more."""
    said = next(filter(None, map(lexicon.COMPARISONS.get, tokens)), None)
    named = [question.target, *question.landmarks]
    kinds = {kind for kind in lexicon.KINDS if kind in question.clause}
    phrases = list(words.phrases(tokens))
    if said is None and "both" in tokens and any(kind in kinds for each in phrases for kind, _ in each.values):
        said = "same"  # "both are blue"
    is_of_others = any(all(each.contradicts(one, None) for one in named) for each in phrases if each.noun == "object")
    if said is None or is_of_others or any(kind in tokens and kind not in kinds for kind in lexicon.KINDS):
        return None
    if said in ("more", "fewer") and _is_exchanged(tokens, question, words):
        said = _OPPOSITES[said]
    if not any(map(_denies, tokens)):
        if said == asked:
            return "yes"
        return "no" if said == "same" or asked == "same" or said == _OPPOSITES[asked] else None
    return "no" if said == asked else "yes" if said == "different" and asked == "same" else None


def _is_exchanged(tokens: Sequence[str], question: Question, words: Words) -> bool:
    """Whether a statement compares the two the other way round: "more spheres than cubes"."""
    wanted, said = (" ".join(words.content(each)) for each in (words.tokens(question.clause), tokens))
    first, than, second = wanted.partition(" than ")
    return " than " in said and said.rpartition(" than ")[2] != second and said.endswith(" ".join(first.split()[1:]))


def _until_side(content: Sequence[str]) -> Sequence[str]:
    """The words before the first relation."""
    return list(takewhile(lambda word: word not in lexicon.SIDES, content))
