"""Whether a statement of a reply says yes or no, in words or by what it asserts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from clevrhope.replies import lexicon
from clevrhope.replies.comparisons import compared
from clevrhope.replies.denials import denies, is_explained, with_denial, with_one_denial
from clevrhope.replies.given import EXACT, FITS, Given, is_landmark
from clevrhope.replies.words import OTHER, Phrase, Question, Words

_ONE_THERE = re.compile(
    r"(?:there is|there's|i (?:can )?see|i found) (?:\w+ly )?one (?:on|in|at|near|behind|next)\b"
)
_REST = re.compile(r"^(?:the (?:others|rest)(?: of (?:the \w+ts|them))?|everything else)(?: all)? (?=is|are)")
"""A subject that stands for all other objects."""


def given_yes_no(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """Yes or no if a statement says the word, or else what it implies in the question's terms."""
    if lexicon.ALONE.get(" ".join(tokens)) == "no":
        return {"no": EXACT}
    given: dict[str, int] = {}
    tokens = with_one_denial(tokens)
    said: list[int] = []
    for k, (token, after) in enumerate(zip(tokens, [*tokens[1:], ","], strict=False)):
        is_alone = token in lexicon.ALWAYS_ALONE or not after[0].isalnum() or after in lexicon.BEFORE_CLAUSE
        if token in (*lexicon.YES, *lexicon.NO) and is_alone:
            if {"would", "be", "to"} <= {*tokens[max(0, k - 8) : k]}:
                return {}  # "it would be wrong to say yes"
            is_denied = any(each != "no" and denies(each) for each in tokens[max(0, k - 2) : k])
            given["yes" if (token in lexicon.YES) != is_denied else "no"] = EXACT
            said.append(k)
    if len(said) == 1 and tokens[said[0]] in ("no", *lexicon.ALWAYS_ALONE):
        rests = (tokens[: said[0]], tokens[said[0] + 1 :])
        if any(contradicts(next(iter(given)), each, question, words) for each in rests):
            return dict.fromkeys(("yes", "no"), EXACT)
    if not tokens or (given and not (tokens[0] in lexicon.AGREEING and len(tokens) > 1)):
        return given
    answer = _by_meaning(tokens, question, words)
    opening, _, rest = " ".join(tokens).partition(" , ")
    if answer is None and rest.startswith(("it ", "it's ", "they ", "one ")):
        answer = lexicon.ALONE.get(opening)  # "sure, it is the one on the left"
    return {answer: FITS} if answer else given


def contradicts(answer: str, tokens: Sequence[str], question: Question, words: Words) -> bool:
    """Whether a statement after a plain yes or no says the opposite, as in "Yes. There is no red cube."."""
    while tokens and not tokens[0][0].isalnum():
        tokens = tokens[1:]
    while tokens and not tokens[-1][0].isalnum():
        tokens = tokens[:-1]
    is_of_existence = question.asks_for_existence and not {"there", "there's"}.isdisjoint(tokens[:4])
    if not is_of_existence or any(map(denies, question.tokens)):
        return False
    return _by_meaning(tokens, question, words) == ("no" if answer == "yes" else "yes")


def _by_meaning(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """Yes if a statement asserts what the question asks, no if it denies it or asserts the opposite."""
    tokens = _without_opening(tokens, words)
    is_hedged = not any(map(denies, tokens)) and not {*tokens}.isdisjoint(lexicon.HEDGES)
    tokens, question = _without_place(tokens, question, words)
    if not tokens:
        return None
    first = list(takewhile(lambda token: token[0].isalnum(), tokens))
    stems = {token.partition("'")[0] for token in first if not _negates(token) and not _is_adverb(token)}
    is_denial = any(map(_negates, first))
    asks_for_existence = question.asks_for_existence or question.comparison is None
    of_nothing = lexicon.OF_NOTHING if asks_for_existence else lexicon.OF_NO_LIKENESS
    is_said_of_none = not asks_for_existence and tokens[0] in lexicon.NOTHING
    is_unsure = "sure" in stems and any(map(_negates, first[: first.index("sure")]))
    if is_denial and stems <= {*lexicon.BARE, *of_nothing} and not is_unsure and not is_said_of_none:
        return "no"  # "they don't", "there isn't any"
    objects = lexicon.OBJECTS if asks_for_existence else ()
    objects += ("others", "another") if "other" in words.content(question.clause_tokens) else ()
    bare = {*lexicon.BARE, *objects, *lexicon.SIDES.intersection(question.clause_tokens)}
    is_such = (
        asks_for_existence and not lexicon.OF_MATCHES.isdisjoint(stems) and stems <= bare | {*of_nothing}
    )
    is_one = asks_for_existence and not question.landmarks and _ONE_THERE.match(" ".join(tokens))
    if first and not is_denial and stems <= bare and first[-1] in (*lexicon.VERBS, *objects):
        return "yes"  # "sure is", "there are two"
    if is_one or (is_such and not is_denial):
        return "yes"  # "there is one on the right", "one object matches that description"
    if is_hedged:
        return None
    tokens = with_denial(tokens)
    if not {*tokens}.isdisjoint(lexicon.DENYING):
        return OTHER
    read = _existence if asks_for_existence else compared
    answer = read(tokens, question, words)
    is_of_place = first and first[0] in ("to", "on", "in", "looking", *lexicon.SIDES)
    is_elsewhere = is_of_place and lexicon.SIDES.intersection(first[:4]).difference(question.clause_tokens)
    return None if asks_for_existence and answer == "no" and is_elsewhere else answer


def _without_opening(tokens: Sequence[str], words: Words) -> Sequence[str]:
    """A statement without "well," or "from what I can see,"."""
    comma = list(tokens).index(",") if "," in tokens[1:-1] else 0
    opening = tokens[:comma]
    is_empty = "except" not in opening
    is_empty &= not any(denies(each) or words.single(each) or each in lexicon.COMPARISONS for each in opening)
    if comma == 1 or (comma and is_empty and opening[-1] not in (*lexicon.VERBS, "it")):
        return tokens[comma + 1 :]
    return tokens[1:] if tokens[:1] == ["indeed"] else tokens


def _without_place(tokens: Sequence[str], question: Question, words: Words) -> tuple[Sequence[str], Question]:
    """A statement and a question that both say "left of the ball", without these words."""
    if question.comparison or len(question.landmarks) != 1:
        return tokens, question
    landmark = question.landmarks[0].values
    rest = _place_removed(tokens, landmark, question, words)
    of_question = _place_removed(question.clause_tokens, landmark, question, words)
    if rest is None or of_question is None:
        return tokens, question
    subject = next((each for each in words.phrases(rest) if each.begin <= 1), None)
    if subject and subject.values == landmark and {"has", "have"} & {*rest[subject.end : subject.end + 2]}:
        rest = rest[subject.end :]  # "the ball has a cube behind it"
    return rest, replace(question, landmarks=(), clause_tokens=of_question, tokens=of_question)


def _place_removed(
    tokens: Sequence[str], landmark: frozenset[tuple[str, str]], question: Question, words: Words
) -> Sequence[str] | None:
    """Tokens without a place such as "to the left of the ball"; None if they do not name the question's."""
    sides = [k for k, token in enumerate(tokens) if token in lexicon.SIDES]
    if len(sides) != 1 or tokens[sides[0]] not in question.clause_tokens:
        return None
    begin, end = sides[0], sides[0] + 1
    while end < len(tokens) and tokens[end] in ("of", "the", "that", "this"):
        end += 1
    reference = next((each for each in words.phrases(tokens) if each.begin == end), None)
    if reference and reference.values and reference.values <= landmark:
        end = reference.end
    elif tokens[end : end + 1] == ["it"]:
        end += 1
    elif tokens[begin - 1 : begin] != ["its"]:
        return None
    while begin and tokens[begin - 1] in lexicon.BEFORE_PLACE:
        begin -= 1
    return [*tokens[:begin], *tokens[end + (begin == 0 and tokens[end : end + 1] == [","]) :]]


def _is_adverb(token: str) -> bool:
    """Whether a word such as "surely" says nothing about an object."""
    return token.endswith("ly") and token not in lexicon.NO_ADVERBS


def _negates(token: str) -> bool:
    return denies(token) or token in ("zero", "0")


def _existence(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """The answer that "there are two red cubes" or "none of the cubes is red" gives about red cubes."""
    wanted = {*words.content(question.clause_tokens)}
    if "other" in wanted:
        tokens = _REST.sub("all other objects ", " ".join(tokens)).split()
    content = {*words.content(tokens)}
    denial = next((k for k, token in enumerate(tokens) if _negates(token)), None)
    is_only = not {"only", "unique"}.isdisjoint(tokens) and "other" in wanted and "other" not in content
    if is_only and not _is_plural(tokens):
        subject = next((each.values for each in words.phrases(tokens) if each.noun), frozenset())
        own = [each.values for each in (question.target, *question.landmarks)]
        if subject and tokens[0] not in ("it", "it's") and subject not in own:
            return "yes" if tokens[0] == "only" else None
        return "no" if denial is None or tokens[denial - 1] == "," else "yes"
    if not {"only", "unique", "all", "every"}.isdisjoint(tokens):
        opposite = {lexicon.OPPOSITE_SIDES.get(each, each) for each in wanted}
        its = [value for each in question.landmarks for _, value in each.values] if "it" in tokens else ()
        content.update(its)
        if opposite != wanted and opposite <= content and denial is None:
            return "no"  # "the only red cube is right of the sphere" to "is there one left of it?"
    if denial is not None:
        if "other" not in wanted and ("except" in tokens or "than" in tokens):
            return None  # "nothing other than the cube"
        after = tokens[denial + 1 : denial + 2 + (tokens[denial + 1 : denial + 2] in (["a"], ["any"]))]
        is_more = any(each in lexicon.ORDINALS or words.count(each) not in (None, "0", "1") for each in after)
        is_more &= "same" not in wanted  # "no two objects have the same shape"
        if is_more and tokens[denial - 1 : denial + 1] != [",", "not"]:
            return None  # "there is no second red cube"
        rest = {*tokens[denial + 1 :]}
        if any(map(denies, rest)) and {"nor", ",", "which"}.isdisjoint(rest) and tokens[denial] != "neither":
            return None  # "it is not without red cubes"
        if "nor" in tokens[denial:]:
            tokens = tokens[: tokens.index("nor", denial)]  # one of the two suffices
        if not is_more and _is_denied(tokens, denial, question, words):
            return "no"
        if tokens[denial - 1 : denial + 1] != [",", "not"]:
            return None
        excluded = next(iter(words.phrases(tokens[denial:])), None)
        tokens = tokens[: denial - 1]  # "there is a red cube, not a sphere"
        if excluded and excluded.values and excluded.values <= question.target.values:
            return "no"  # "it is a red sphere, not a cube"
    phrases = list(_with_predicates(tokens, question, words))
    target = question.target
    is_of_all = not {"all", "every", "each", "only", "both", "everything", "rest"}.isdisjoint(tokens)
    if is_of_all and {"other", "same"} <= wanted and {"other", "different"} <= content:
        return "no"  # "all other things are larger"
    is_of_all &= {"almost", "nearly", "mostly", "except", "most"}.isdisjoint(tokens)
    for first, whole in phrases if is_of_all else ():
        if (
            "only" in tokens[max(0, first.begin - 1) : first.begin]
            and tokens[0] != "the"
            and first.contradicts(target, None)
        ):
            return "no"  # "there are only blue cubes"
        if first.noun == "object" and first.values <= target.values and whole.contradicts(target, None):
            return "no"  # "all cubes are blue"
    is_said = any(token in lexicon.SAYING or words.count(token) for token in tokens)
    landmarks = [each.values for each in question.landmarks]
    named = [
        whole for first, whole in phrases if not is_landmark(first, tokens) and first.values not in landmarks
    ]
    is_found = any(target.values <= each.values for each in named)
    if "other" in wanted:
        alike = _compared(question, words)
        others = {
            k + 1 for k, each in enumerate(tokens) if each in ("another", "other") and tokens[k - 1] != "the"
        }
        is_same = any(first.begin in others and not alike.isdisjoint(first.values) for first, _ in phrases)
        is_same |= "same" in content & wanted and _is_likened(tokens, [each for each, _ in phrases], question)
        content |= wanted if is_same or ("same" in content and others) else {"other"}
    is_implied = "same" in wanted & content and "as" not in tokens  # "one rubber thing has the same color"
    if "it" in tokens or tokens[-1:] == ["there"] or is_implied:
        content |= {value for each in landmarks for _, value in each}
        content |= lexicon.SIDES if tokens[-1] == "there" else set()
    content |= {value for each in named for _, value in each.values}
    if not (is_said and is_found and wanted <= content):
        return None
    is_plain = is_explained(tokens, words) and not any(each.is_contradictory for _, each in phrases)
    return "yes" if is_plain else OTHER


def _is_likened(tokens: Sequence[str], phrases: Sequence[Phrase], question: Question) -> bool:
    """Whether a statement begins with another object, as in "the red cube is the same size as the ball"."""
    landmarks = [each.values for each in question.landmarks]
    subject = next((each for each in phrases if each.noun == "object"), None)
    if subject is None or subject.begin > 2 or subject.contradicts(question.target, None):
        return False
    references = [each for each in phrases if [*tokens[max(0, each.begin - 2) : each.begin]] == ["as", "the"]]
    is_own = any(subject.values <= each or each <= subject.values for each in landmarks)
    return not is_own and all(each.values in landmarks for each in references)


def _with_predicates(
    tokens: Sequence[str], question: Question, words: Words
) -> Iterator[tuple[Phrase, Phrase]]:
    """The phrases of a statement, alone and with what is said of them: red in "two of the cubes are red".

    "One" has the shape that the question asks for.
    """
    phrases = list(words.phrases(tokens))
    shapes = {value for value in question.target.values if value[0] == "shape"}
    for k, phrase in enumerate(phrases):
        values, end = phrase.values, phrase.end
        values |= shapes if tokens[end - 1] in ("one", "ones") else set()
        for after in phrases[k + 1 :] if phrase.noun else ():
            verbs = [token for token in tokens[end : after.begin] if not _is_adverb(token)]
            is_said = end > phrase.end or not {"is", "are", "which", "them", "made"}.isdisjoint(verbs)
            is_further = end > phrase.end and (after.noun or "and" not in verbs)
            is_identity = verbs == ["is", "the"] and {*tokens[: phrase.begin]} <= {"the", "only"}
            is_known = is_identity or {*verbs} <= {*lexicon.OF_PREDICATE, *lexicon.NUMBERS, "and"}
            if not is_said or is_further or not is_known:
                break
            values, end = values | after.values, after.end
        yield phrase, replace(phrase, values=values)


def _compared(question: Question, words: Words) -> set[tuple[str, str]]:
    """All values of the attributes in which a question compares objects, without those that it names."""
    named = {value for each in (question.target, *question.landmarks) for value in each.values}
    return {value for kind in question.kinds for value in words.values_of(kind)} - named


def _is_plural(tokens: Sequence[str]) -> bool:
    """Whether "the only red things", in the plural, is said of several."""
    k = next(k for k, token in enumerate(tokens) if token in ("only", "unique"))
    return any(token.endswith("s") and token not in ("is", "its") for token in tokens[k + 1 : k + 4])


def _is_denied(tokens: Sequence[str], k: int, question: Question, words: Words) -> bool:
    """Whether a denial at a place denies all that the question asks for.

    It may describe the objects less fully: if there are no cubes, there are no red ones.
    """
    wanted, target = {*words.content(question.clause_tokens)}, question.target.values
    compared = _compared(question, words)
    phrases = [each for each in words.phrases(tokens) if each.noun != "image"]
    before = [
        each.values - compared
        for each in phrases
        if each.end <= k and each.noun and not is_landmark(each, tokens)
    ]
    after = [each.values - compared for each in phrases if each.begin > k]
    ignored = {value for _, value in compared} - wanted | ({"same"} - wanted)
    denied = {*words.content(tokens[k + 1 :])} - ignored
    if not denied and {*tokens[k + 1 :]} <= {*lexicon.BARE, *lexicon.OF_NOTHING, *lexicon.DETERMINERS}:
        denied, after = {*words.content(tokens[:k])} - ignored, before  # "a red cube does not exist"
    first = next(iter(after), frozenset())
    is_other = "any" in tokens[k:] and before[-1:] == [each.values for each in question.landmarks[:1]]
    if (
        tokens[k] not in ("no", "neither", *lexicon.NOTHING)
        and before
        and not (before[-1] <= target or is_other)
    ):
        return False  # "the big cube is not red"
    is_the = bool(before) and before[0] <= target and tokens[0] == "the"
    is_of_it = is_the or (not before and tokens[0].partition("'")[0] in ("it", "they"))
    is_all = tokens[k] in lexicon.NOTHING or first <= target or before[-1:] == [target] or is_of_it
    return bool(denied) and denied <= wanted and is_all
