"""The statements of a model's reply, without its reasoning, its markup and what it retracts."""

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from clevrhope.replies import lexicon
from clevrhope.replies.rewordings import reworded

PLAIN, CONCLUSION, ANSWER = range(3)
"""How a statement is marked: not at all, by a word such as "so", or by a word such as "answer:"."""

_THOUGHT = r"(?:think|thinking|thoughts?|reasoning|analysis|scratchpad|reflection)"
OPENED = re.compile(rf"[<\[\u25c1]\|?(?:begin_of_)?{_THOUGHT}\|?[>\]\u25b7]")
CLOSED = re.compile(rf"[<\[\u25c1](?:\|?/\|?|\|?end_of_){_THOUGHT}\|?[>\]\u25b7]")
_TURN = re.compile(
    r"^ ?(?:(?:next )?question|q|user|human|prompt|assistant|system) ?:|<\|(?:im_end|end\w*|eot\w*)\|>|</s>",
    re.MULTILINE,
)
"""The text that begins another turn, or ends this one."""
_TAGGED = re.compile(r"<\|?(?:begin_of_)?([a-z_]+)\|?>([^<>]{1,60})<\|?(?:/|end_of_)\1\|?>\s*$")
"""A short text between tags at the end."""
_ANSWER_TAG = re.compile(r"<\|?(?:final_?)?answer\|?>")
_TAG = re.compile(r"(?<!<)<\|?/?[a-z_]+\b[^<>]*>|\[/?inst\]")

_BOXED = re.compile(r"\\boxed\s*\{")
_COMMAND = re.compile(r"\\[a-z]+\s*\{?")
_NEXT_KEY = re.compile(r",\s*(?=\"\w+\"\s*:)|[{}]")
_MARKUP = re.compile(r"[*\\$_`~^\"\u201c\u201d\u2018#|\[\]]|(?<![a-z])'|'(?![a-z])")
_OPTIONS = re.compile(r"\b(?:options|choices|answers) ?:(?:\n ?[-*\u2022] ?[^\n]+)+\n")
_RESULT = re.compile(r"(?:[\u2192\u21d2]|[-=]>)(?= *[\w ]{1,12}[.!]? ?(?:\n|$))")
"""An arrow to what ends a line."""
_ARROW = re.compile(r"[\u2192\u21d2]|[-=]>")

_TABLE_ROW = re.compile(r"^ ?\|.*$", re.MULTILINE)
_TOTAL_ROW = re.compile(r"^ ?\|[* ]*(?:grand |overall )?total[*: ]*\|[* ]*(\d+)[* ]*\|?$", re.MULTILINE)
_ASKS_FOR_ALL = re.compile(r"how many (?:object|thing)s(?: are| there| in (?:total|all))*\W*$")
"""A question to which the total of a table is the answer."""
_NUMBER = re.compile(r"(?:^|(?<=[\s:,])(?<!is ))\(?(\d+|[a-h])[.)]\s+(?=[a-z])", re.MULTILINE)
_END = re.compile(r"(?:(?<=[.!?;])(?=\s|$)|(?<=\u3002))(?!\s*or\b)|\n")
_ASKS = re.compile(r"(?:what|which|how|where|is|are|do|does|did|can|could|would|should|shall|will)\b")
_ANSWER_IS = re.compile(
    r"(?:(?:\b(?:answer|option|choice)|\u7b54\u6848)"
    r"(?:\s+to\s+(?:the|your|this|that)\s+question)?|^(?:a|ans))"
    r"\s*(?:(?::|=|-+>?|\u662f|\bis\b|\bwould be\b|\bmust be\b|\bshould be\b|$)\s*)+"
)
_SO = re.compile(
    r"(?:^|,|\band|\bthen|[\u2014:-])\s*(?:so|then|therefore|thus|hence|in conclusion|conclusion|overall"
    r"|in short|in summary|in total|total|adding (?:these|those|them)(?: (?:up|together))?)\b[:,=]?"
    r"|\b(?:for|gives|giving|makes|making) a total of\b"
    r"|\b(?:(?:gives?|giving|makes?|making|leaves?|leaving|brings?|bringing|yields?|totals?)(?: \w+){0,2}"
    r"|(?:comes?|adds? up|sums? up|amounts?|brings? \w+(?: \w+)?) to)"
    rf"(?: (?:a total of|just|only|with|exactly))*(?= {lexicon.NUMBER}\b)"
    r"|, (?:(?:which|this) (?:means|indicates|implies|tells (?:me|us)) that|(?:which )?mean(?:s|ing))\b"
    r"|\bso(?: that)? (?=(?:there|they|it|no|yes|the answer)\b)"
    rf"|\b(?:we|i|you|that) (?:get|have|end up with|leaves us with)(?= {lexicon.NUMBER}\.?$)"
    r"|\bi(?:'d| would| will|'ll)?\s(?:say|go with|guess|conclude|choose)\b"
)
_BUT = re.compile(r",?\s*\b(?:but|however)\b,?")
_CLAUSE = re.compile(
    rf"{_BUT.pattern}|,\s+and\s+(?=(?:the|\d+|one|two|three)\b)"
    r"|,\s+and\s+(?=(?:behind|in front|to the|on the|there(?:'s)?|it|they|i)\b)|\s(?:\u2014|-+)\s(?=[a-z])"
)
_WITHDRAWN = re.compile(
    r"(?:^|[,.;:!?\n\u2014\u2026-])\s*(?:no,?\s+|oh,\s+|hmm,\s+|oops,\s+)?"
    r"(?:wait|actually(?! ?[.!]?$)|correction|sorry(?! (?:to|about|for|if)\b)|hold on|scratch that"
    r"|on second \w+|on closer|i mean|i meant|let me (?:re-?check|double|correct|look again)|my mistake|oops"
    r"|or rather)\b[,:.!\u2026]*"
)
_NO = re.compile(r"[,.:;!?\n\u2026]\s*no[,.]\s+(?=[a-z\d])")
_SIZES = re.compile(r", (?:\w+ )?(?:smaller|larger|bigger|taller|shorter) than [^.;\n]*")
"""A comparison with another object, which says nothing of its own."""
_CONTRAST = re.compile(r",? (?:whereas|while)(?= (?:the|that|\w+ (?:is|are))\b)")
_UNLIKE = re.compile(r"\bunlike\b(?![^.;\n]*(?:\bnot\b|n't))")
_HEDGED = re.compile(r"\b(?:might|may|could(?! not)|maybe|perhaps|possibly)\b")
_REFUSED = re.compile(
    r"\b(?:can(?:no|')t|can not|could(?:n't| not)|unable|impossible|not possible|hard|difficult|not able"
    r"|do(?:n't| not)|too \w+)\s(?:\w+\s){0,2}?(?:be )?(?:determined?|tell|told|say|answer(?:ed)?|known?"
    r"|decide|discern|distinguish|make out (?:whether|if|wh\w+)|verify|identif(?:y|ied)|view|access|open"
    r"|(?:see|find|load|have) (?:\w+ )?(?:image|picture|photo|scene)s?)\b"
    r"|\b(?:isn't|is not|wasn't) (?:an? |any )?(?:image|picture|photo)\b|\bnone of the above\b"
    r"|(?:there(?:'s| is| was)|sorry,?|error:?) no (?:image|picture|photo)s?$"
    r"|\bthe (?:image|picture|photo) (?:is|was|(?:seems|appears) to be|did not|didn't|does not|doesn't)"
    r" (?:\w+ )?(?:missing|blank|load)\b(?! an?\b)"
    r"|\b(?:see|make out) (?:nothing|anything)(?: (?:in|on) .*| here| at all)?$"
    r"|\bnothing (?:is |was )?(?:visible|recognizable|can be seen|to see)\b"
    r"|\bnot (?:clearly visible|clear enough)\b"
    r"|\b(?:depends|hinges|depending) on\b"
    r"|\bno (?:image|picture|photo)s? (?:\w+ )?(?:provided|available|attached|given|uploaded|found|here)\b"
    r"|(?:n't|\b(?:not|cannot|unable|impossible|hard|difficult|no way))\b[^.,;:\n]{0,60}"
    r" (?:whether|if (?=(?:it|they|there|th[eo]|an?y?)\b))"
    r"|\bnot (?:sure|certain) that\b|\bm(?:ay|ight) or m(?:ay|ight) not\b"
    r"|\b(?:perhaps|maybe|possibly|could|may|might) [^.;\n]*\b(?:perhaps|maybe|possibly|or) not\b"
    r"|\b(?:unclear|unknown|undetermined|ambiguous|enough information|insufficient|not sure which)\b"
)
_UNSURE = re.compile(r"\W*(?:i(?:'m| am) )?(?:not (?:sure|certain)|unsure|uncertain|no idea)\W*")
_TWICE = re.compile(r"\w+(?: \w+)? \(\w+\)")
"""A text that says one thing twice, such as "light blue (cyan)"."""
_ASIDE = re.compile(r"\((?!\s*or\b)[^()]*\)")
_REASON = re.compile(
    r"\b(?:because|since|unlike|rather than|instead of|compared|as opposed|confidence"
    r"|(?<!as )(?:al)?though(?!,))\b"
)
_OPTION = re.compile(r"(?:^|(?<=\s))\(?([a-e])[.):] ?(\w+)(?=[.,;\s]|$)")
"""An option to choose from, such as "B. No", and the letter that stands for it."""
_LETTER = re.compile(
    r"(\b(?:answer|option|choice)(?: is)?:? |\b\w+ is:? (?=\())\(?([a-e])\)?(?=[.!\s]*$|,? because\b)",
    re.MULTILINE,
)
_YES_OR_NO = re.compile(r"\byes\s*(?:or|/)\s*no\b")
_VOID = re.compile(
    r"^(?:let me know|just let me|feel free|please|(?:i'm )?sorry if|if you (?:have|need|want|would|like))\b"
    r"|\b(?:thought|at first|initially|first counted|first read)\b|\bmiss(?:ing|ed) (?:one|some|any)\w*$"
    r"|\b(?:an?|the|and|or|of|to|in|that|with)$"
)
"""A statement that the reply has given up, or that breaks off."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a reply that makes a single claim."""

    text: str
    """The text in lower case, without markup."""
    mark: int = PLAIN
    is_refusal: bool = False
    """Whether it declines to answer."""


def read_statements(question: str, reply: str, *, no_withdraws: bool) -> list[Statement]:
    """The statements of a reply, in order; if its reasoning is cut off, only those marked as its answer.

    With `no_withdraws`, the word "no" retracts what precedes it, as in "red, no, blue".
    """
    text, ends = _after_thoughts(plain(reply))
    if _ASKS_FOR_ALL.match(plain(question)):
        text = _TOTAL_ROW.sub(r"\ntotal: \1\n", text)
    text = reworded(_without_markup(_own_turn(plain(question), text)))
    text = _WITHDRAWN.split(text)[-1]
    if no_withdraws:
        text = _CONTRAST.sub(".", _SIZES.sub("", _NO.split(text)[-1]))
    else:
        text = _UNLIKE.sub("which differs from", text)
    return [each for each in _split(text) if ends or each.mark >= ANSWER]


def plain(text: str) -> str:
    """The text in lower case, with entities decoded and with look-alike characters and spaces normalised."""
    text = unicodedata.normalize("NFKC", html.unescape(text)).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    text = _single_spaced(re.sub(r"-ish\b", "ish", text))
    return re.sub("[\N{VARIATION SELECTOR-16}\N{COMBINING ENCLOSING KEYCAP}]", "", text).lower()


def _single_spaced(text: str) -> str:
    """A text with runs of white space collapsed to one space or line end; patterns are slow on long runs."""
    return re.sub(r"\s+", lambda space: "\n" if "\n" in space[0] else " ", text)


def _after_thoughts(text: str) -> tuple[str, bool]:
    """The text after the last block of reasoning, or else before the first; whether the last block ends."""
    after = CLOSED.split(text)[-1]
    is_open = OPENED.search(after) is not None
    if not _has_words(after):
        after = OPENED.split(text)[0]
    return OPENED.sub("\n", after), not is_open


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _own_turn(question: str, text: str) -> str:
    """A reply without its repetition of the question, up to where another turn begins."""
    text = text.replace(question.strip(), " ").lstrip().removeprefix(question.strip(" ?"))
    return next(filter(_has_words, _TURN.split(text)), "")


def _without_markup(text: str) -> str:
    """A text with "answer: ..." in place of answer tags and LaTeX boxes, and a line for each item and key."""
    text = _ANSWER_TAG.sub(r"\nanswer: ", _TAGGED.sub(r"\nanswer: \2\n", text))
    text = _OPTIONS.sub("", _TABLE_ROW.sub("", _single_spaced(_TAG.sub("\n", text))))
    text = _NEXT_KEY.sub("\n", _COMMAND.sub(" ", _BOXED.sub(r"\nanswer: ", text)))
    text = _RESULT.sub(", so ", text) if len(_ARROW.findall(text)) == 1 else text
    text = _single_spaced(_MARKUP.sub(" ", _ARROW.sub(": ", text)))
    options = dict(_OPTION.findall(text))
    text = _LETTER.sub(
        lambda answer: f"answer: {options[answer[2]]}" if answer[2] in options else answer[0], text
    )
    is_list = [item[1] for item in _NUMBER.finditer(text)][:2] in (["1", "2"], ["a", "b"])
    return _NUMBER.sub("\n", text) if is_list else text


def _split(text: str) -> Iterator[Statement]:
    """The statements of a text; a question is not one, unless it is a guess at the end, such as "blue?"."""
    text = re.sub(r"\b(answer)\s*[:\-]*\s*\n\s*", r"\1: ", _YES_OR_NO.sub(" ", text))
    parts = [part.replace(", however,", "").strip() for part in _END.split(text)]
    parts = [part for part in parts if part.strip(" .!;")]
    guesses = [each for each in parts if each.endswith("?") and not _ASKS.match(each)]
    for k, part in enumerate(parts):
        is_guess = k + 1 == len(parts) and guesses == [part]
        if not part.endswith("?") or is_guess:
            yield from _clauses(part)
        elif k == 1 and _ASKS.match(part) and not _ANSWER_IS.search(" ".join(parts[k:])):
            return


def _clauses(sentence: str) -> Iterator[Statement]:
    """The statements of a sentence: the answer that it marks, or else its clauses."""
    answer = next(reversed(list(_ANSWER_IS.finditer(sentence))), None)
    before = sentence[: answer.start()] if answer else ""
    if answer and sentence[answer.end() :]:
        is_one_of_several = "if" in before.split() and _ANSWER_IS.search(before)  # each under a condition
        is_refusal = _REFUSED.search(before) is not None and not _BUT.search(before)
        text = sentence[answer.end() :]
        is_refusal = is_refusal or bool(is_one_of_several) or _UNSURE.fullmatch(text) is not None
        yield _statement(text, ANSWER, is_refusal=is_refusal)
        return
    for k, part in enumerate(_SO.split(sentence)):
        clauses = [clause for clause in _CLAUSE.split(part) if clause.strip(" .,!;:")]
        if len(clauses) > 1 and _REFUSED.search(clauses[0]) and _BUT.search(part):
            del clauses[0]  # "I cannot see it well, but it is red"
        for clause in clauses:
            yield _statement(clause, CONCLUSION if k > 0 or "=" in clause else PLAIN)


def _statement(text: str, mark: int, *, is_refusal: bool = False) -> Statement:
    """A statement without asides and reasons; it is empty if the text breaks off or was given up."""
    text = text.strip(" ,:.!?;\u3002")
    is_refusal = is_refusal or _REFUSED.search(text) is not None
    text = text if _TWICE.fullmatch(text) else _ASIDE.sub(" ", text).strip() or text
    reason = _REASON.search(text)
    if reason and not _HEDGED.search(text, reason.end()):
        text = text[: reason.start()] or text.partition(",")[2]
    text = text.strip(" ,:.!;")
    return Statement("" if _VOID.search(text) else text, mark, is_refusal)
