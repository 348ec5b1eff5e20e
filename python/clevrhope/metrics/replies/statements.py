"""The statements of a model's reply, without its thoughts, its markup and what it withdraws."""

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_THOUGHT = r"(?:think|thinking|thoughts?|reasoning|analysis|scratchpad|reflection)"
_OPENED = re.compile(rf"[<\[\u25c1]\|?(?:begin_of_)?{_THOUGHT}\|?[>\]\u25b7]")
_CLOSED = re.compile(rf"[<\[\u25c1](?:\|?/\|?|\|?end_of_){_THOUGHT}\|?[>\]\u25b7]")
_TURN = re.compile(
    r"^\s*(?:question|q|user|human|prompt|assistant|system)\s*:|<\|(?:im_end|end\w*|eot\w*)\|>|</s>",
    re.MULTILINE,
)
"""What begins another turn, or ends this one."""

_ANSWER_TAG = re.compile(r"<\|?/?\|?(?:final_?)?answer\|?>")
_SPECIAL_TOKEN = re.compile(r"<\|[^<>|]*\|>|</?s>|\[/?inst\]")
_BOXED = re.compile(r"\\boxed\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\(?!boxed)[a-z]+\s*\{([^{}]*)\}")
_NEXT_KEY = re.compile(r",\s*(?=\"\w+\"\s*:)|[{}]")
_MARKUP = re.compile(r"\\[a-z]+|[\\$_`~^\"\u201c\u201d\u2018#|\[\]]|(?<![a-z])'|'(?![a-z])")

_TABLE_ROW = re.compile(r"^\s*\|.*$", re.MULTILINE)
_BULLET = re.compile(r"^\s*[-*+]\s+", re.MULTILINE)
_NUMBER = re.compile(r"(?:^|(?<=[\s:,]))\(?(\d+|[a-h])[.)]\s+(?=[a-z])", re.MULTILINE)
_LETTERS = "abcdefgh"
_SAYS = re.compile(r"\b(?:is|are|has|have|so|total|answer)\b|[:=]")
"""What an item of a list has if it says something, and does not only name an object."""

_END = re.compile(r"(?:(?<=[.!?;])|(?<=\u3002))(?=\s|$)(?!\s*or\b)|\n")
_ASKS = re.compile(r"(?:what|which|how|where|is|are|do|does|did|can|could|would|should|shall|will)\b")
_ANSWER_IS = re.compile(
    r"(?:(\bfinal\s+|\bcorrect\s+)?\b(?:answer|option|choice)"
    r"(?:\s+to\s+(?:the|your|this|that)\s+question)?|^a)"
    r"\s*(?:(?::|=|-+>?|\bis\b|\bwould be\b|\bmust be\b|\bshould be\b|$)\s*)+"
)
_IS_THE = re.compile(r"\s(?:is|was|would be)\s(?:the|my)\s*$")
_SO = re.compile(
    r"(?:^|,|\band|\bthen|[\u2014:-])\s*(?:so|then|therefore|thus|hence|in conclusion|conclusion|overall"
    r"|in short|in summary|in total|total|(?:for|gives|giving|makes|making) a total of)\b[:,=]?"
    r"|\bi(?:'d| would| will|'ll)?\s(?:say|go with|guess|conclude|choose)\b"
)
_BUT = re.compile(r",?\s*\b(?:but|however)\b,?")
_CLAUSE = re.compile(
    rf"{_BUT.pattern}|,?\s*\b(?:though|although|whereas|while)\b,?"
    r"|,\s+and\s+(?=(?:the|\d+|one|two|three)\b)|\s(?:\u2014|-+)\s(?=[a-z])"
)
_WITHDRAWN = re.compile(
    r"(?:^|[,.;:!?\n\u2014\u2026-])\s*(?:no,?\s+|oh,\s+|hmm,\s+|oops,\s+)?"
    r"(?:wait|actually|correction|sorry|hold on|scratch that|on second thought|on closer|i mean|i meant"
    r"|let me (?:re-?check|double|correct|look again)|my mistake|oops|or rather)\b[,:.!\u2026]*"
)
_NO = re.compile(r"[,.;!?\n\u2026]\s*no[,.]\s+(?=[a-z\d])")
_HEDGED = re.compile(r"\b(?:might|may|could|maybe|perhaps|possibly)\b")
_REFUSED = re.compile(
    r"\b(?:can(?:no|')t|can not|could(?:n't| not)|unable|impossible|not possible|hard|difficult|not able"
    r"|do(?:n't| not)|too \w+)\s(?:\w+\s){0,2}?(?:be )?(?:determined?|tell|told|say|answer(?:ed)?|known?"
    r"|decide|verify|identif(?:y|ied)|view|access|open|see (?:\w+ )?(?:image|picture|photo)s?)\b"
    r"|\bno (?:image|picture|photo)s? (?:\w+ )?(?:provided|available|attached|given|uploaded|found|here)\b"
    r"|\b(?:unclear|unknown|undetermined|ambiguous|enough information|insufficient)\b"
)
_PASSED = re.compile(r"\b(?:thought|considered|at first|initially|was going to)\b")
_REASON = re.compile(r"\b(?:because|since|unlike|rather than|instead of|compared|as opposed)\b")
_ASIDE = re.compile(r"\((?!\s*or\b)[^()]*\)")
_YES_OR_NO = re.compile(r"\byes\s*(?:or|/)\s*no\b")
_BROKEN_OFF = re.compile(r"\b(?:an?|the|and|or|of|to|in|that|with)$")


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a reply that says one thing."""

    text: str
    """In lower case, without markup."""
    is_answer: bool = False
    """Whether it is marked as the reply's answer, as after "answer:"."""
    is_final: bool = False
    """Whether it is marked as the final or correct one."""
    is_conclusion: bool = False
    """Whether it begins with a word such as "so"."""
    is_hedge: bool = False
    """Whether it says what may be, as with "could"."""
    is_refusal: bool = False
    """Whether it says that there is no answer."""


def read_statements(question: str, reply: str, *, no_withdraws: bool) -> list[Statement]:
    """The statements of a reply, in order; of a thought without an end, those marked as its answer.

    With `no_withdraws` the word no withdraws what stands before it: "red, no, blue".
    """
    text, ends = _after_thoughts(plain(reply))
    text = _after_withdrawal(_in_lines(_own_turn(plain(question), text)), no_withdraws)
    statements = list(_split(_without_items(text)))
    return statements if ends else [each for each in statements if each.is_answer]


def plain(text: str) -> str:
    """Lower case; one character for each that looks alike and for spaces; entities as what they stand for."""
    text = unicodedata.normalize("NFKC", html.unescape(text)).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    text = _single_spaced(re.sub(r"-ish\b", "ish", text))
    return re.sub("[\N{VARIATION SELECTOR-16}\N{COMBINING ENCLOSING KEYCAP}]", "", text).lower()


def _single_spaced(text: str) -> str:
    """A text with one space, or one end of a line, for several; patterns are slow on many."""
    return re.sub(r"\s+", lambda space: "\n" if "\n" in space[0] else " ", text)


def _after_thoughts(text: str) -> tuple[str, bool]:
    """A reply without the thoughts between tags, and whether the last of them ends."""
    text = re.sub(rf"{_OPENED.pattern}.*?{_CLOSED.pattern}", "\n", text, flags=re.DOTALL)
    text = _CLOSED.split(text)[-1]
    return _OPENED.sub("\n", text), _OPENED.search(text) is None


def _own_turn(question: str, text: str) -> str:
    """A reply without the question that it repeats, up to where it goes on with another question."""
    text = text.replace(question.strip(), " ")
    for turn in _TURN.finditer(text):
        if any(letter.isalnum() for letter in _TURN.sub("", text[: turn.start()])):
            text = text[: turn.start()]
            break
    return _SPECIAL_TOKEN.sub("\n", _TURN.sub("", text))


def _in_lines(text: str) -> str:
    """A reply with "answer: ..." on a line of its own for what HTML, LaTeX or JSON marks as one."""
    text = _BULLET.sub("\n\u2022 ", _TABLE_ROW.sub("", text)).replace("*", "")
    text = _ANSWER_TAG.sub(lambda tag: "\n" if "/" in tag[0] else "\nanswer: ", text)
    while (unwrapped := _COMMAND.sub(r" \1 ", text)) != text:
        text = unwrapped
    text = _NEXT_KEY.sub("\n", _BOXED.sub(r"\nanswer: \1\n", text))
    return _single_spaced(_MARKUP.sub(" ", text))


def _after_withdrawal(text: str, no_withdraws: bool) -> str:
    """What follows the last "wait" or "actually": what stood before it is withdrawn."""
    text = _WITHDRAWN.split(text)[-1]
    return _NO.split(text)[-1] if no_withdraws else text


def _without_items(text: str) -> str:
    """A text without the numbers of a list's items, and without items that only name an object."""
    if [item[1] for item in _NUMBER.finditer(text)][:2] in (["1", "2"], ["a", "b"]):
        text = _bulleted(text)
    lines = [line.strip() for line in text.split("\n")]
    names = [line for line in lines if line.startswith("\u2022") and not _SAYS.search(line)]
    return "\n".join(line.lstrip("\u2022 ") for line in lines if line not in names or len(names) == 1)


def _bulleted(text: str) -> str:
    """A text with bullets for 1., 2. and so on, or a., b. and so on, in order."""
    n = 0

    def bullet(item: re.Match[str]) -> str:
        nonlocal n
        is_next = item[1] in (str(n + 1), _LETTERS[n : n + 1])
        n += is_next
        return "\n\u2022 " if is_next else item[0]

    return _NUMBER.sub(bullet, text)


def _split(text: str) -> Iterator[Statement]:
    """The statements of a text; a question is none, but for a guess at the end: "blue?"."""
    text = re.sub(r"\b(answer)\s*[:\-]*\s*\n\s*", r"\1: ", _YES_OR_NO.sub(" ", text))
    parts = [part.replace(", however,", "").strip() for part in _END.split(text)]
    parts = [part for part in parts if part.strip(" .!;")]
    for k, part in enumerate(parts):
        is_guess = k + 1 == len(parts) and not _ASKS.match(part)
        if not part.endswith("?") or is_guess:
            yield from _clauses(part)


def _clauses(sentence: str) -> Iterator[Statement]:
    """The statements of a sentence: its marked answer, or else its clauses."""
    answer = next(reversed(list(_ANSWER_IS.finditer(sentence))), None)
    before = sentence[: answer.start()] if answer else ""
    if answer and (sentence[answer.end() :] or _IS_THE.search(before)):
        rest = sentence[answer.end() :] or _IS_THE.sub("", before)
        is_refusal = _REFUSED.search(before) is not None and not _BUT.search(before)
        yield _statement(rest, is_answer=True, is_final=answer[1] is not None, is_refusal=is_refusal)
        return
    for k, part in enumerate(_SO.split(sentence)):
        clauses = [clause for clause in _CLAUSE.split(part) if clause.strip(" .,!;:")]
        if len(clauses) > 1 and _REFUSED.search(clauses[0]) and _BUT.search(part):
            del clauses[0]  # "I cannot see it well, but it is red"
        for clause in clauses:
            yield _statement(clause, is_conclusion=k > 0 or "=" in clause)


def _statement(
    text: str,
    *,
    is_answer: bool = False,
    is_final: bool = False,
    is_conclusion: bool = False,
    is_refusal: bool = False,
) -> Statement:
    text = text.strip(" ,:.!?;\u3002")
    is_hedge, refuses = (pattern.search(text) is not None for pattern in (_HEDGED, _REFUSED))
    return Statement(_said(text), is_answer, is_final, is_conclusion, is_hedge, is_refusal or refuses)


def _said(text: str) -> str:
    """A statement without asides and reasons; nothing where it breaks off or is no longer held."""
    if _PASSED.search(text):
        return ""
    text = _ASIDE.sub(" ", text).strip() or text
    reason = _REASON.search(text)
    if reason:
        text = text[: reason.start()] or text.partition(",")[2]
    text = text.strip(" ,:.!;")
    return "" if _BROKEN_OFF.search(text) else text
