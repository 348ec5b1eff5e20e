"""The yes or no that one statement of a reply gives."""

from collections.abc import Sequence
from itertools import takewhile

from clevrhope.metrics.replies import lexicon
from clevrhope.metrics.replies.questions import Question
from clevrhope.metrics.replies.values import EXACT, FITS, Given, denies, is_landmark
from clevrhope.metrics.replies.words import Phrase, Words

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
