"""Counts that a reply restricts after it named a number, as in "4 objects, half of which are red"."""

import re
from collections.abc import Sequence
from itertools import islice

from clevrhope.metrics.replies import lexicon
from clevrhope.metrics.replies.denials import denies
from clevrhope.metrics.replies.words import Question, Words

_WHOLE = r"of (?:which|them|these|those)\b"
_PART = re.compile(
    r"(?P<bound>\b(?:about|almost|nearly|over|than|least|most|roughly|around|approximately|maybe|perhaps) )?"
    r"\b(?P<part>half|quarter|third|most|some|many|several|few|majority|minority|not all"
    rf"|allbut {lexicon.NUMBER}"
    r"|(?:only|just) the (?:first|second|third|fourth|fifth|last)(?: one)?"
    rf"|none(?= {_WHOLE})|(?<=\bof which ){lexicon.NUMBER}"
    rf"|(?<!\bof the ){lexicon.NUMBER}(?= {_WHOLE}| of the\b))"
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
        said = match["said"].split()
        values = {value for value in map(words.value, said) if value and value[0] in kinds}
        known = {value for value in map(words.value, before) if value}
        is_of_side = not sides.isdisjoint(said) and sides.isdisjoint(before)
        is_news = bool(values - known) or is_of_side or not kinds.isdisjoint(said)
        is_part = match["whole"] or match["verb"] or match["part"] == "half"
        if not is_part or not is_news or (asked and asked <= known and not is_of_side):
            continue
        counted = [*before, *(match["whole"] or "").split()]
        named = {number for number in map(words.count, counted) if number and number.isdecimal()}
        if number is not None and number not in named:
            continue
        part = _count(match["part"].split(), named, words)
        is_of_rest = bool(values & question.excluded) != any(map(denies, said))
        if str(part) == number and not is_of_rest:
            continue
        if part is None or match["bound"] or not (is_of_side or values & asked):
            return None
        if not is_of_rest:
            return str(part)
        return str(int(*named) - part) if len(named) == 1 else None
    return number


def _count(part: Sequence[str], named: set[str], words: Words) -> int | None:
    """How many objects a part has, if that is certain; `named` are the numbers that were named before it."""
    if part[0] in ("only", "just"):
        return 1
    if number := words.count(part[0]):
        return int(number) if number.isdecimal() else None
    if part[0] == "none":
        return 0
    whole = int(*named) if len(named) == 1 else 1
    if part[0] == "half":
        return None if whole % 2 else whole // 2
    left = words.count(part[-1]) if part[0] == "allbut" and len(named) == 1 else None
    return whole - int(left) if left and left.isdecimal() else None
