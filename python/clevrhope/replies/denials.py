"""What a statement of a reply denies, and whether its words of denial and doubt can be understood."""

from collections.abc import Sequence
from itertools import pairwise

from clevrhope.replies import lexicon
from clevrhope.replies.words import Words


def denies(token: str) -> bool:
    """Whether a word negates a statement."""
    return token in lexicon.DENIALS or token.endswith("n't")


def denied_places(tokens: Sequence[str], words: Words) -> set[int]:
    """The indices of the answers that a preceding "not" negates."""
    found: set[int] = set()
    is_denied = met = False  # whether a negation is in force, and whether it has reached an answer
    for k, token in enumerate(tokens):
        is_answer = words.single(token) is not None
        if denies(token):
            is_denied, met = True, False
            continue
        if not token[0].isalnum() or (met and not is_answer and token not in ("or", "a", "an")):
            is_denied = False
        if is_answer and is_denied:
            met = True
            found.add(k)
    return found


def with_denial(tokens: Sequence[str]) -> Sequence[str]:
    """A statement with "no" for a word of absence: "no red cube is" for "the red cube is missing"."""
    k = next((k for k, token in enumerate(tokens) if token in lexicon.ABSENT), None)
    if k is None or {*lexicon.OF_STATE}.isdisjoint(tokens[max(0, k - 3) : k]):
        return tokens
    begin = next((j + 1 for j in reversed(range(k)) if tokens[j] in (",", "(", ")")), 0)
    clause = [token for token in tokens[begin:k] if not denies(token)]
    is_denied = len(clause) < k - begin
    while clause and clause[0] in lexicon.DETERMINERS:
        del clause[0]
    return [*tokens[:begin], *([] if is_denied else ["no"]), *clause, *tokens[k + 1 :]]


def with_one_denial(tokens: Sequence[str]) -> Sequence[str]:
    """A statement without its opening, if that denies or doubts the rest: pairs of denials cancel out.

    It is "no red cube" for "I doubt there is a red cube", and "there is a red cube" for "I can't deny that
    there is a red cube".
    """
    places = [
        k
        for k, (token, after) in enumerate(pairwise(tokens))
        if token in lexicon.TURNING
        and (after in ("that", "to") if token in (*lexicon.YES, *lexicon.NO) else after[0].isalnum())
    ]
    opening, rest = tokens[: places[-1] + 1 if places else 0], tokens[places[-1] + 1 if places else 0 :]
    said = {token for token in opening if not denies(token) and not token.endswith("ly")}
    n_denials = sum(denies(token) or token in lexicon.DENYING for token in tokens)
    is_of_yes = {*rest} <= {*lexicon.YES, *lexicon.NO}
    if not opening or is_of_yes or not said <= {*lexicon.TURNING, *lexicon.OF_OPENING}:
        return tokens
    if n_denials > 1 and not {*opening}.isdisjoint(lexicon.EXCLUDING):
        return []  # "I cannot rule out a red cube"
    clause = [token for token in rest if not denies(token)]
    while clause and clause[0] in (*lexicon.DETERMINERS, *lexicon.BEFORE_CLAIM):
        del clause[0]
    denial = "not" if clause[:1] and clause[0] in lexicon.BEFORE_CLAUSE else "no"
    return [*([denial] if n_denials % 2 else ["there", "is", "a"]), *clause] if clause else tokens


def without_doubt(tokens: Sequence[str]) -> Sequence[str]:
    """A statement, or nothing if it only says what is not so, as "I doubt that it is red" does."""
    plain = with_one_denial(tokens)
    return [] if plain is not tokens and plain[:1] in (["no"], ["not"]) else plain


def is_explained(tokens: Sequence[str], words: Words) -> bool:
    """Whether every word of a statement that asserts something is one that does not turn its meaning."""
    return all(
        token in lexicon.PLAIN
        or token in lexicon.NOUNS
        or not token[0].isalnum()
        or (token.endswith("ly") and token not in lexicon.NO_ADVERBS)
        or words.single(token) not in (None, "no")
        for token in tokens
    )
