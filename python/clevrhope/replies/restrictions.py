"""Counts that a reply restricts after it named a number, as in "4 objects, half of which are red"."""

import re
from collections.abc import Sequence
from itertools import islice

from clevrhope.replies import lexicon
from clevrhope.replies.denials import denies
from clevrhope.replies.words import Question, Words

_N, _WHOLE = lexicon.NUMBER, r"of (?:which|them|these|those)\b"
_PART = re.compile(
    r"(?P<bound>\b(?:about|almost|nearly|over|than|least|most|roughly|around|approximately|maybe|perhaps) )?"
    rf"\b(?P<part>half|(?:{_N} )?(?:quarters?|thirds?)|most|some|many|several|few|majority|minority|not all"
    rf"|allbut {_N}|none(?! of the\b)|(?:only|just) the (?:first|second|third|fourth|fifth|last)(?: one)?"
    r"|(?:only|just) the [^,]{1,30}?(?= (?:is|are|has|have)\b)"
    rf"|(?<=\bof which ){_N}|(?<!\bof the ){_N}(?= {_WHOLE}| of the\b))"
    rf"(?P<whole> {_WHOLE}| of (?:the|all)\b[^,]{{1,30}}?(?= (?:is|are)\b))?"
    r"(?P<verb> (?:is|are|being|has|have)\b)?(?P<said>[^,]*?)(?= ,| and\b| but\b|$)"
)
"""A part of what was counted, and what is said of it."""
_MOST_PARTS = 20
"""Number of parts of a reply that are looked at, so that a long one takes no quadratic time."""


def restricted(number: str | None, tokens: Sequence[str], question: Question, words: Words) -> str | None:
    """The count that a reply gives if it says which part of the objects it counted are those asked about.

    To "how many are red?", it is 2 for "4, half of which are red", and None for "4, some of which are red".
    If nothing is said of a part, or nothing that is asked, it is `number`, which was read without a view to
    parts: 4 for "4 red cubes, half of which are small".
    """
    asked = question.target.values | question.excluded
    kinds, sides = {kind for kind, _ in asked}, lexicon.SIDES.intersection(question.tokens)
    text = " ".join(tokens)
    for match in islice(_PART.finditer(text), _MOST_PARTS):
        before = text[: match.start("part")].split()
        counted, said = [*before, *(match["whole"] or "").split()], match["said"].split()
        values = {value for value in map(words.value, said) if value and value[0] in kinds}
        known = {value for value in map(words.value, counted) if value}
        is_of_side = not sides.isdisjoint(said) and sides.isdisjoint(before)
        is_news = bool(values - known) or is_of_side or not kinds.isdisjoint(said)
        is_part = match["whole"] or match["verb"] or match["part"] in ("half", "none")
        if not is_part or not is_news or (asked and asked <= known and not is_of_side):
            continue
        named = {each for each in map(words.count, counted) if each and each.isdecimal()}
        part = _count(match, named, words)
        of_part = {str(part), *map(words.count, match["part"].split())}
        if number is not None and number not in named | of_part:
            continue
        is_asked = (is_of_side or values & asked) and "or" not in question.clause_tokens
        if part is None or match["bound"] or not is_asked:
            return None
        if bool(values & question.excluded) == any(map(denies, said)):
            return str(part)
        return str(int(*named) - part) if len(named) == 1 else None
    return number


def _count(match: re.Match[str], named: set[str], words: Words) -> int | None:
    """How many objects a part has, if that is certain; `named` are the numbers that were named before it."""
    first, last = match["part"].split()[0], match["part"].split()[-1]
    whole = int(*named) if len(named) == 1 else None
    if first in ("only", "just"):
        return None if last.endswith("s") else 1
    if first == "none":
        return 0
    if first == "half":
        return whole // 2 if whole is not None and whole % 2 == 0 else None
    number = words.count(last)
    if number is None or not number.isdecimal():
        return None
    if first == "allbut":
        return None if whole is None else whole - int(number)
    return int(number)
