"""How a statement of a reply compares the objects that a question compares."""

from collections.abc import Sequence

from clevrhope.replies import lexicon
from clevrhope.replies.denials import denies
from clevrhope.replies.given import is_landmark
from clevrhope.replies.words import Phrase, Question, Words

_FIRST, _SECOND = ("former", "first"), ("latter", "second")
"""Words for what a question names first and second."""
_OPPOSITES = {"more": "fewer", "fewer": "more", "same": "different"}


def compared(tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """The answer that "they differ in size" or "there are more spheres" gives to a comparing question."""
    asked = question.comparison
    exceptions = {token for k, token in enumerate(tokens) if "except" in tokens[max(0, k - 3) : k]}
    if exceptions & {*question.kinds}:
        return None  # "they are the same except for their size"
    k = next((k for k in range(1, len(tokens)) if [*tokens[k : k + 2]] == [",", "not"]), len(tokens))
    if not question.comparisons.keys().isdisjoint(tokens[:k]):
        tokens = tokens[:k]  # "different, not the same"
    phrases = list(words.phrases(tokens))
    named = [question.target, *question.landmarks]
    objects = [each for each in phrases if each.noun == "object"]
    is_of_others = any(all(each.contradicts(one, None) for one in named) for each in objects)
    if [*tokens[:1]] == ["no"] and lexicon.COMPARISONS.get(tokens[1]) == "different" and "in" not in tokens:
        return None  # "no different sizes" may be "no, different sizes"
    kinds = question.kinds or ("size",)
    of_others = [kind for kind in lexicon.KINDS if kind not in kinds]
    is_of_both = "nor" in tokens and not {*kinds, *(f"{kind}s" for kind in kinds)}.isdisjoint(tokens)
    if not is_of_both and not {*of_others, *(f"{kind}s" for kind in of_others)}.isdisjoint(tokens):
        return None
    last = tokens[-1].endswith("n't") or [*tokens[-2:]] in (["is", "not"], ["does", "not"])
    if asked == "same" and last and phrases and len(tokens) - phrases[-1].end <= 2:
        return "no"  # "the red cube is metal, the sphere is not"
    said = None if is_of_others else _said(tokens, phrases, question, words)
    if said is not None and any(map(denies, tokens)):
        if said == asked:
            return "no"
        return "yes" if (said, asked) == ("different", "same") else None
    if said is None and question.kinds:
        said = _by_values(tokens, phrases, question)
    elif said is None:
        said = _by_counts(tokens, phrases, question, words)
    if said == asked:
        return "yes"
    is_no = said is not None and ("same" in (said, asked) or said == _OPPOSITES.get(asked or ""))
    return "no" if is_no else None


def _said(tokens: Sequence[str], phrases: Sequence[Phrase], question: Question, words: Words) -> str | None:
    """How a statement compares the question's first objects with its second: "same", "more" and so on."""
    meaning = question.comparisons
    is_of_size = not question.kinds and phrases and {"than", *lexicon.OF_NUMBER[:6]}.isdisjoint(tokens)
    ignored = lexicon.OF_SIZE if is_of_size else ()  # "three larger cubes"
    k = next((k for k, token in enumerate(tokens) if token in meaning and token not in ignored), None)
    if k is None:
        return None
    is_verb = tokens[k] in lexicon.OUTNUMBERING
    j = k if is_verb else next((j for j in range(k, len(tokens)) if tokens[j] in ("than", "by")), len(tokens))
    second = _second(question, words)
    reference = next((each.values for each in phrases if each.begin > j), None)
    following = next((j for j in range(k + 1, len(tokens)) if tokens[j] not in lexicon.OF_NUMBER), None)
    after = [each.values for each in phrases if each.begin == following]
    before = [each.values for each in reversed(phrases) if each.end <= k]
    if meaning[tokens[k]] == "different" and any(each.begin == k + 1 and not each.values for each in phrases):
        return None  # "different objects are shown"
    subject = next(iter(before if is_verb else after or before), None)
    said = meaning[tokens[k]]
    if said not in ("more", "fewer"):
        return said
    places = [place for place, token in enumerate(tokens) if token in (*_FIRST, *_SECOND)]
    if places and {*_FIRST, *_SECOND}.isdisjoint(question.tokens):
        if len({tokens[place] in _SECOND for place in places}) < len(places):
            return None  # "the second is more than the second"
        is_flipped = (tokens[places[0]] in _SECOND) != (j < places[0])
    else:
        is_flipped = reference == question.target.values or _is_second(subject, second, question)
    return _OPPOSITES[said] if is_flipped else said


def _second(question: Question, words: Words) -> frozenset[tuple[str, str]] | None:
    """The values of the objects that the question names after "than", or else of its first landmark."""
    tokens = question.clause_tokens
    than = tokens.index("than") if "than" in tokens else len(tokens)
    after = (each.values for each in words.phrases(tokens) if each.begin > than and each.noun)
    return next(after, question.landmarks[0].values if question.landmarks else None)


def _is_second(
    subject: frozenset[tuple[str, str]] | None, second: frozenset[tuple[str, str]] | None, question: Question
) -> bool:
    """Whether a subject names the second objects that a question compares, fully or more than the first."""
    if subject is None or second is None:
        return False
    return subject == second or (subject <= second and not subject <= question.target.values)


def _by_values(tokens: Sequence[str], phrases: Sequence[Phrase], question: Question) -> str | None:
    """Whether the values that a statement gives for the question's objects are the same."""
    if any(token == "or" or denies(token) for token in tokens) or len(question.kinds) != 1:
        return None
    (kind,) = question.kinds
    own = [each.values for each in phrases if not is_landmark(each, tokens)]
    values = {value for each in own for value in each if value[0] == kind}
    objects = (question.target, *question.landmarks[:1])
    values_of = {
        k: {value for name, value in each.values if name == kind}
        for k, each in enumerate(objects)
        if each.but(kind) != each.values
    }
    subject: int | None = None
    for phrase in phrases:
        if is_landmark(phrase, tokens) and phrase.values not in [each.values for each in objects]:
            continue
        about = [k for k, each in enumerate(objects) if _is_same(phrase, tokens, each, kind)]
        if len(about) == 1:
            subject = about[0]
        elif phrase.but(kind):
            subject = None
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
    return bool(phrase.noun and found) and (found <= wanted or wanted <= found)


def _by_counts(
    tokens: Sequence[str], phrases: Sequence[Phrase], question: Question, words: Words
) -> str | None:
    """How the counts compare that a statement gives for the question's first and second objects."""
    counted = [each for each in phrases if each.values]
    numbers = [*filter(None, map(words.count, tokens))]
    if not counted and len(numbers) == 1 and not {"each", "both"}.isdisjoint(tokens):
        return "same"  # "two of each"
    if not phrases and len(numbers) == 2 and all(map(str.isdecimal, numbers)):
        first, second = map(int, numbers)
        if question.comparison == "same" or first == second:
            return "same" if first == second else "different"  # "two and two"
        if "versus" in tokens:
            return "more" if first > second else "fewer"
    if not counted or not question.landmarks or not {"or", "either"}.isdisjoint(tokens):
        return None
    has_number = any(numbers) or "no" in tokens

    def count(k: int) -> str | None:
        """The number that a token names, if there is a token at this place."""
        if not 0 <= k < len(tokens):
            return None
        if tokens[k] == "no":
            return "0"
        return "1" if has_number and tokens[k] in ("a", "an") else words.count(tokens[k])

    is_before = count(counted[0].begin - 1) is not None

    def count_of(phrase: Phrase) -> str | None:
        if is_before:
            return count(phrase.begin - 1)
        is_of_next = tokens[phrase.end + 1 : phrase.end + 2] == ["no"]  # "cubes, no spheres"
        return None if is_of_next else count(phrase.end) or count(phrase.end + 1)

    said: list[set[int]] = []
    for named in (question.target, question.landmarks[0]):
        counts = [count_of(each) for each in counted if each.values == named.values]
        said.append({int(number) for number in counts if number is not None and number.isdecimal()})
    without = {"more": 0, "fewer": 1}.get(question.comparison or "")
    if without is not None and said[without] == {0}:
        return "same"  # there cannot be more than none, or fewer
    if any(len(each) != 1 for each in said):
        return None
    (first,), (second,) = said
    if first == second:
        return "same"
    return "more" if first > second else "fewer"
