"""Whether a statement of a reply says yes or no, in words or by what it asserts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from clevrhope.metrics.replies import lexicon
from clevrhope.metrics.replies.given import EXACT, FITS, Given, denies, is_landmark, with_denial
from clevrhope.metrics.replies.words import Phrase, Question, Words

_OPPOSITES = {"more": "fewer", "fewer": "more", "same": "different"}


def given_yes_no(tokens: Sequence[str], question: Question, words: Words) -> Given:
    """Yes or no if a statement says the word, or else what it implies in the question's terms."""
    given: dict[str, int] = {}
    for k, (token, after) in enumerate(zip(tokens, [*tokens[1:], ","], strict=False)):
        is_alone = token in lexicon.ALWAYS_YES or not after[0].isalnum() or after in lexicon.BEFORE_CLAUSE
        if token in (*lexicon.YES, *lexicon.NO) and is_alone:
            is_denied = any(map(denies, tokens[max(0, k - 2) : k]))
            given["yes" if (token in lexicon.YES) != is_denied else "no"] = EXACT
    if not tokens or (given and not (tokens[0] in lexicon.AGREEING and len(tokens) > 1)):
        return given
    answer = _by_meaning(tokens, question, words)
    return {answer: FITS} if answer else given


def _by_meaning(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """Yes if a statement asserts what the question asks, no if it denies it or asserts the opposite."""
    is_hedged = not any(map(denies, tokens)) and not {*tokens}.isdisjoint(lexicon.HEDGES)
    tokens = _without_opening(tokens, words)
    first = list(takewhile(lambda token: token[0].isalnum(), tokens))
    stems = {token.partition("'")[0] for token in first if not _negates(token)}
    is_denial = any(map(_negates, first))
    asks_for_existence = question.asks_for_existence or question.comparison is None
    of_nothing = lexicon.OF_NOTHING if asks_for_existence else lexicon.OF_NO_LIKENESS
    is_said_of_none = not asks_for_existence and tokens[0] in lexicon.NOTHING
    if is_denial and stems <= {*lexicon.BARE, *of_nothing} and "sure" not in stems and not is_said_of_none:
        return "no"  # "they don't", "there isn't any"
    objects = (*lexicon.NUMBERS, "just", "only", "exactly", "it") if asks_for_existence else ()
    sides = lexicon.SIDES.intersection(question.clause_tokens)
    is_bare = first and not is_denial and stems <= {*lexicon.BARE, *objects, *sides}
    if is_bare and first[-1] in (*lexicon.VERBS, *objects):
        return "yes"  # "sure is", "there are two"
    if is_hedged:
        return None
    read = _existence if asks_for_existence else _comparison
    return read(with_denial(tokens), question, words)


def _without_opening(tokens: Sequence[str], words: Words) -> Sequence[str]:
    """A statement without "well," or "from what I can see,"."""
    comma = list(tokens).index(",") if "," in tokens[1:-1] else 0
    opening = tokens[:comma]
    is_empty = not any(denies(each) or words.single(each) or each in lexicon.COMPARISONS for each in opening)
    if comma == 1 or (comma and is_empty and opening[-1] not in (*lexicon.VERBS, "it")):
        return tokens[comma + 1 :]
    return tokens[1:] if tokens[:1] == ["indeed"] else tokens


def _negates(token: str) -> bool:
    return denies(token) or token in ("zero", "0")


def _existence(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """The answer that "there are two red cubes" or "none of the cubes is red" gives about red cubes."""
    wanted, content = {*words.content(question.clause_tokens)}, {*words.content(tokens)}
    denial = next((k for k, token in enumerate(tokens) if _negates(token)), None)
    if not {"only", "unique"}.isdisjoint(tokens):
        if "other" in wanted and "other" not in content and not _is_plural(tokens):
            return "no" if denial is None else "yes"
        opposite = {lexicon.OPPOSITE_SIDES.get(each, each) for each in wanted}
        if opposite != wanted and opposite <= content and denial is None:
            return "no"  # "the only red cube is right of the sphere" to "is there one left of it?"
    if denial is not None:
        if _is_denied(tokens, denial, question, words):
            return "no"
        if tokens[denial - 1 : denial + 1] != [",", "not"]:
            return None
        tokens = tokens[: denial - 1]  # "there is a red cube, not a sphere"
    phrases = list(_with_predicates(tokens, question, words))
    target = question.target
    is_of_all = not {"all", "every", "each", "only"}.isdisjoint(tokens)
    for first, whole in phrases if is_of_all else ():
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
            k + 1
            for k, token in enumerate(tokens)
            if token in ("another", "other") and tokens[k - 1] != "the"
        }
        is_same = any(first.begin in others and not alike.isdisjoint(first.values) for first, _ in phrases)
        content |= wanted if is_same or ("same" in content and others) else {"other"}
    if "it" in tokens or tokens[-1:] == ["there"]:
        content |= {value for each in landmarks for _, value in each}
        content |= lexicon.SIDES if tokens[-1] == "there" else set()
    content |= {value for each in named for _, value in each.values}
    return "yes" if is_said and is_found and wanted <= content else None


def _with_predicates(
    tokens: Sequence[str], question: Question, words: Words
) -> Iterator[tuple[Phrase, Phrase]]:
    """The phrases of a statement, alone and with what is said of them: red in "two of the cubes are red".

    "One" has the shape that the question asks for.
    """
    phrases = list(words.phrases(tokens))
    shapes = {value for value in question.target.values if value[0] == "shape"}
    for phrase, after in zip(phrases, [*phrases[1:], None], strict=False):
        values = phrase.values | (shapes if tokens[phrase.end - 1] in ("one", "ones") else set())
        verbs = tokens[phrase.end : after.begin] if after else ()
        is_said = not {"is", "are", "which", "them"}.isdisjoint(verbs)
        if after and phrase.noun and is_said and {*verbs} <= {*lexicon.OF_PREDICATE, *lexicon.NUMBERS}:
            values |= after.values
        yield phrase, replace(phrase, values=values)


def _compared(question: Question, words: Words) -> set[tuple[str, str]]:
    """All values of the attributes in which a question compares objects, without those that it names."""
    named = {value for each in (question.target, *question.landmarks) for value in each.values}
    return {value for kind in question.kinds for value in words.values_of(kind)} - named


def _is_plural(tokens: Sequence[str]) -> bool:
    """Whether "the only red things", in the plural, is said of several."""
    k = next(k for k, token in enumerate(tokens) if token in ("only", "unique"))
    return any(token.endswith("s") and token != "is" for token in tokens[k + 1 : k + 4])


def _is_denied(tokens: Sequence[str], k: int, question: Question, words: Words) -> bool:
    """Whether a denial at a place denies all that the question asks for.

    It may describe the objects less fully: if there are no cubes, there are no red ones.
    """
    wanted, target = {*words.content(question.clause_tokens)}, question.target.values
    compared = _compared(question, words)
    phrases = [each for each in words.phrases(tokens) if each.noun != "image"]
    before = [each.values - compared for each in phrases if each.end <= k and each.noun]
    after = [each.values - compared for each in phrases if each.begin > k]
    ignored = {value for _, value in compared} - wanted
    denied = {*words.content(tokens[k + 1 :])} - ignored
    if not denied and {*tokens[k + 1 :]} <= {*lexicon.BARE, *lexicon.OF_NOTHING, *lexicon.DETERMINERS}:
        denied, after = {*words.content(tokens[:k])} - ignored, before  # "a red cube does not exist"
    first = next(iter(after), frozenset())
    if tokens[k] not in ("no", "neither", *lexicon.NOTHING) and before and not before[-1] <= target:
        return False  # "the big cube is not red"
    is_of_it = not before and tokens[0].partition("'")[0] in ("it", "they")
    is_all = tokens[k] in lexicon.NOTHING or first <= target or before[-1:] == [target] or is_of_it
    return bool(denied) and denied <= wanted and is_all


# Comparisons


def _comparison(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """The answer that "they differ in size" or "there are more spheres" gives to a comparing question."""
    asked = question.comparison
    phrases = list(words.phrases(tokens))
    named = [question.target, *question.landmarks]
    objects = [each for each in phrases if each.noun == "object"]
    is_of_others = any(all(each.contradicts(one, None) for one in named) for each in objects)
    of_others = [kind for kind in lexicon.KINDS if kind not in (question.kinds or ("size",))]
    if not {*of_others, *(f"{kind}s" for kind in of_others)}.isdisjoint(tokens):
        return None
    said = None if is_of_others else _said(tokens, phrases, question)
    if said is None:
        said = (
            _by_values(tokens, phrases, question)
            if question.kinds
            else _by_counts(tokens, phrases, question, words)
        )
    elif any(map(denies, tokens)):
        return "no" if said == asked else "yes" if (said, asked) == ("different", "same") else None
    is_no = said is not None and ("same" in (said, asked) or said == _OPPOSITES.get(asked or ""))
    return "yes" if said == asked else "no" if is_no else None


def _said(tokens: Sequence[str], phrases: Sequence[Phrase], question: Question) -> str | None:
    """How a statement compares the question's first objects with its second: "same", "more" and so on."""
    meaning = question.comparisons
    is_of_size = not question.kinds and phrases and {"than", *lexicon.OF_NUMBER[:6]}.isdisjoint(tokens)
    ignored = lexicon.OF_SIZE if is_of_size else ()  # "three larger cubes"
    k = next((k for k, token in enumerate(tokens) if token in meaning and token not in ignored), None)
    if k is None:
        return None
    is_verb = tokens[k] in lexicon.OUTNUMBERING
    j = k if is_verb else next((j for j in range(k, len(tokens)) if tokens[j] in ("than", "by")), len(tokens))
    second = [question.landmarks[0].values] if question.landmarks else []
    reference = next((each.values for each in phrases if each.begin > j), None)
    following = next((j for j in range(k + 1, len(tokens)) if tokens[j] not in lexicon.OF_NUMBER), None)
    after = [each.values for each in phrases if each.begin == following]
    before = [each.values for each in reversed(phrases) if each.end <= k]
    if meaning[tokens[k]] == "different" and any(each.begin == k + 1 and not each.values for each in phrases):
        return None  # "different objects are shown"
    subject = next(iter(before if is_verb else after or before), None)
    if reference in (question.target.values, *second):
        is_flipped = reference not in second
    else:
        is_flipped = subject in second
    said = meaning[tokens[k]]
    return _OPPOSITES[said] if is_flipped and said in ("more", "fewer") else said


def _by_values(tokens: Sequence[str], phrases: Sequence[Phrase], question: Question) -> str | None:
    """Whether the values that a statement gives for the question's objects are the same."""
    if any(token == "or" or denies(token) for token in tokens) or len(question.kinds) != 1:
        return None
    (kind,) = question.kinds
    own = [each.values for each in phrases if not is_landmark(each, tokens)]
    values = {value for each in own for value in each if value[0] == kind}
    objects = (question.target, *question.landmarks[:1])
    values_of: dict[int, set[str]] = {}
    subject: int | None = None
    for phrase in phrases:
        about = [k for k, each in enumerate(objects) if _is_same(phrase, tokens, each, kind)]
        subject = about[0] if len(about) == 1 else subject if not phrase.but(kind) else None
        if subject is not None:
            values_of.setdefault(subject, set()).update(
                value for name, value in phrase.values if name == kind
            )
    pairs = [*values_of.values()]
    if len(pairs) == 2 and all(len(each) == 1 for each in pairs):
        return "same" if pairs[0] == pairs[1] else "different"
    others = [
        each for each in phrases if each.noun == "object" and not _is_one_of(each, tokens, objects, kind)
    ]
    if not others and (len(values) > 1 or (values and "only" in tokens)):
        return "different"
    likening = ("both", "each", *(lexicon.ALIKE if len(values_of) == 2 else ()))
    return "same" if values and not {*likening}.isdisjoint(tokens) else None


def _is_one_of(phrase: Phrase, tokens: Sequence[str], named: Sequence[Phrase], kind: str) -> bool:
    is_pronoun = tokens[phrase.end - 1] in ("one", "ones")
    return is_pronoun or not phrase.but(kind) or any(_is_same(phrase, tokens, each, kind) for each in named)


def _is_same(phrase: Phrase, tokens: Sequence[str], named: Phrase, kind: str) -> bool:
    """Whether a phrase names an object that the question names, whatever its value of one attribute."""
    found, wanted = phrase.but(kind), named.but(kind)
    if tokens[phrase.end - 1].endswith("s"):
        return False
    return bool(phrase.noun and found) and (found <= wanted or wanted <= found)


def _by_counts(
    tokens: Sequence[str], phrases: Sequence[Phrase], question: Question, words: Words
) -> str | None:
    """How the counts compare that a statement gives for the question's first and second objects."""
    counted = [each for each in phrases if each.values]
    numbers = [*filter(None, map(words.count, tokens))]
    if not counted and len(numbers) == 1 and not {"each", "both"}.isdisjoint(tokens):
        return "same"  # "two of each"
    if not phrases and len(numbers) == 2 and question.comparison == "same":
        return "same" if numbers[0] == numbers[1] else "different"  # "two and two"
    if not counted or not question.landmarks or not {"or", "either"}.isdisjoint(tokens):
        return None

    def count(k: int) -> str | None:
        token = tokens[k] if 0 <= k < len(tokens) else ""
        return "0" if token == "no" else words.count(token) if token else None

    is_before = count(counted[0].begin - 1) is not None
    said: list[set[int]] = []
    for named in (question.target, question.landmarks[0]):
        ends = [each for each in counted if each.values == named.values]
        near = [
            count(each.begin - 1) if is_before else count(each.end) or count(each.end + 1) for each in ends
        ]
        said.append({int(number) for number in near if number is not None and number.isdecimal()})
    if any(len(each) != 1 for each in said):
        return None
    (first,), (second,) = said
    return "more" if first > second else "fewer" if first < second else "same"
