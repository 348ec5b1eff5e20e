"""Yes or no, as one statement of a reply says it."""

from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile

from clevrhope.metrics.replies import lexicon
from clevrhope.metrics.replies.questions import Question
from clevrhope.metrics.replies.values import EXACT, FITS, Given, is_landmark
from clevrhope.metrics.replies.words import Phrase, Words

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
    is_said = not {*tokens}.isdisjoint((*lexicon.VERBS, "there's", "see", "a", "an"))
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
    """What "they differ in size" or "there are more spheres" says to a question for the same or for more."""
    phrases = list(words.phrases(tokens))
    kinds = {kind for kind in lexicon.KINDS if kind in question.tokens}
    named = [question.target, *question.landmarks]
    if any(kind in tokens and kind not in kinds for kind in lexicon.KINDS) or any(
        all(each.contradicts(one, None) for one in named) for each in phrases if each.noun == "object"
    ):
        return None
    k = next((k for k, token in enumerate(tokens) if token in lexicon.COMPARISONS), None)
    said = _by_values(tokens, phrases, kinds) if k is None else lexicon.COMPARISONS[tokens[k]]
    if k is not None and said in ("more", "fewer"):
        after = [each for each in phrases if each.begin == k + 1]
        subject = next(iter(after or [each for each in reversed(phrases) if each.end <= k]), question.target)
        if any(subject.values == each.values for each in question.landmarks):
            said = _OPPOSITES[said]
    if not any(map(_denies, tokens)):
        is_other = said == "same" or (said is not None and asked == "same") or said == _OPPOSITES[asked]
        return "yes" if said == asked else "no" if is_other else None
    return "no" if said == asked else "yes" if said == "different" and asked == "same" else None


def _by_values(tokens: Sequence[str], phrases: Sequence[Phrase], kinds: Collection[str]) -> str | None:
    """Whether objects are the same by values that are given for them: "both are red", "one is red, one blue"."""
    values = {value for each in phrases for kind, value in each.values if kind in kinds}
    if "or" in tokens or not values:
        return None
    return "different" if len(values) > 1 else "same" if "both" in tokens else None


def _until_side(content: Sequence[str]) -> Sequence[str]:
    """The words before the first relation."""
    return list(takewhile(lambda word: word not in lexicon.SIDES, content))
