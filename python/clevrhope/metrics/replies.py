"""Reads the answer out of a model's reply in free words.

The rules, each a choice of this project (docs/predictions.md describes them for users):

1. Case, markup and punctuation do not matter. Words for answers are the answers themselves, CLEVR's synonyms
   (big, tiny, metallic, shiny, matte, block, ball), plurals, "grey", number words and digits, and yes, yeah,
   yep, true, correct, no, nope, false.
2. A reply that is only one such word gives its answer, even one of another kind than the question asks for:
   it is wrong then, but not unreadable.
3. If a reply has "the answer is", "answer:" or the like, the text after the last of them counts, where it can
   be read.
4. The question's wording says which kind of answer it asks for: yes or no, a number, or a value of a type.
   In a reply of several words those of other kinds do not count: "there are 3 large cubes" is 3 to "how many"
   and large to "what size".
5. A reply to a yes-or-no question that begins with yes or no says that. To "how many", "no", "none" and
   "nothing" mean 0; to others "none" means no.
6. "Not" or "n't" denies the answers that follow it, up to "but" or the clause's end; they do not count.
7. Where a request says which answers are asked for (questions over several images do), only these count, in
   place of the kind that the wording says.
8. Of several different answers those that the question names itself are what the reply repeats of it; one
   must be left. Numbers that are not answers (eleven, 3.5) make a reply unreadable, as do two answers.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping

from clevrhope.dataset.native_reader import CLEVR_WORDS

YES_NO, COUNT = "yes/no", "count"

_YES = ("yes", "yeah", "yep", "true", "correct")
_NO = ("no", "nope", "false")
_NOTHING = ("none", "nothing", "nobody")
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LARGER = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "twenty", "dozen", "hundred")
_SPELLINGS = {"grey": "gray"}

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[a-z]+?n't\b|[a-z]+")
_TOKEN_OR_STOP = re.compile(rf"{_TOKEN.pattern}|[,.;:!?()\n\u2014]|\s[-\u2013]+\s")
_ANSWER_IS = re.compile(r"\b(?:final answer|answer|a)\s*(?:is|:|=|-)+\s*")
_ASKS_WHETHER = re.compile(r"(?:is|are|do|does|did|has|have|can|was|were)\b")
_ASKS_HOW_MANY = re.compile(r"\bhow many\b|\bwhat number\b|\bwhat is the number\b|\bwhat's the number\b")
_ASKS_FOR = re.compile(r"\b(?:what|how|which)\b")
_AFTER_WHAT: Mapping[str, tuple[str, ...]] = {
    "size": ("size",),
    "color": ("color", "colour"),
    "material": ("material", "made of"),
    "shape": ("shape",),
}
_AFTER_HOW: Mapping[str, tuple[str, ...]] = {"size": ("big", "large", "small")}
"""Attribute type -> what a question asks for it with."""
_NOT = ("not", "isn't", "aren't", "never", "neither", "nor")
_IN_A_ROW = ("a", "an", "the", "or")
"""What may stand between answers that one "not" denies."""

UNREADABLE = "?"
"""Stands for a number that is not an answer, among the answers that a reply names."""


class ReplyReader:
    """Reads replies to questions of one vocabulary."""

    def __init__(self, answers: Iterable[str], attributes: Mapping[str, Iterable[str]]) -> None:
        """`answers` are all that are allowed, `attributes` the types' values among them."""
        self._answers = set(answers)
        self._kind_of = {value: kind for kind, values in attributes.items() for value in values}
        self._kind_of |= dict.fromkeys(("yes", "no"), YES_NO)
        self._kind_of |= {answer: COUNT for answer in self._answers if answer.isdecimal()}
        self._words = {word: answer for word, answer in self._known() if answer in self._answers}

    def read(self, question: str, reply: str, *, asked: Collection[str] = ()) -> str | None:
        """The answer that a reply to a question gives; None where it cannot be read.

        `asked` are the answers that the question asks for, where that is known.
        """
        text = _plain(reply)
        tokens = _TOKEN.findall(text)
        if len(tokens) == 1 and tokens[0] not in _NOTHING:
            answer = self._answer(tokens[0])
            return None if answer == UNREADABLE else answer
        after = _ANSWER_IS.split(text)
        if len(after) > 1 and (found := self._among(question, after[-1], asked)):
            return found
        return self._among(question, text, asked)

    def kind(self, question: str) -> str | None:
        """What a question asks for: "yes/no", "count" or an attribute type; None where it does not say.

        The last clause of a question asks: "there is a red cube; what size is it?"
        """
        clause = _plain(question).rpartition(";")[2].strip(" ?.")
        if _ASKS_WHETHER.match(clause):
            return YES_NO
        if _ASKS_HOW_MANY.search(clause):
            return COUNT
        asking = list(_ASKS_FOR.finditer(clause))
        if not asking:
            return None
        if clause.endswith(("made of", "made of what")):
            return "material"
        word = asking[-1][0]
        rest = clause[asking[-1].end() :] or clause  # "the color of the cube is what?"
        found = {
            match.start(): kind
            for kind, names in (_AFTER_HOW if word == "how" else _AFTER_WHAT).items()
            for name in names
            if (match := re.search(rf"\b{name}\b", rest))
        }
        return found[min(found)] if found else None

    def _among(self, question: str, text: str, asked: Collection[str]) -> str | None:
        """The one answer of the question's kind that a text names; None where it names none or several."""
        kind = self._kind_of.get(next(iter(asked)), "relation") if asked else self.kind(question)
        counted = asked or {each for each in self._answers if kind in (None, self._kind_of.get(each))}
        tokens = _TOKEN.findall(text)
        if kind == YES_NO and tokens and self._answer(tokens[0]) in ("yes", "no"):
            return self._answer(tokens[0])
        found: dict[str, None] = {}
        for token in self._not_denied(text):
            answer = self._answer(token)
            if kind == COUNT and token in ("no", *_NOTHING):
                answer = "0" if "0" in self._answers else None
            if answer and (answer == UNREADABLE or answer in counted):
                found[answer] = None
        if UNREADABLE in found:
            found.pop(UNREADABLE)
            return None if kind in (None, COUNT) else _single(list(found))
        if len(found) > 1:
            repeated = {self._answer(token) for token in _TOKEN.findall(_plain(question))}
            return _single([each for each in found if each not in repeated])
        return _single(list(found))

    def _not_denied(self, text: str) -> Iterator[str]:
        """The tokens of a text but for the answers that it denies."""
        denies = met = False  # whether something is denied, and whether an answer was among it
        for token in _TOKEN_OR_STOP.findall(text):
            is_word = token[0].isalnum()
            is_answer = is_word and self._answer(token) is not None
            if token in _NOT or token.endswith("n't"):
                denies, met = True, False
            elif not is_word or token == "but" or (met and not is_answer and token not in _IN_A_ROW):
                denies = False
            met |= is_answer
            if is_word and not (denies and is_answer):
                yield token

    def _answer(self, token: str) -> str | None:
        """The answer that a token names; `UNREADABLE` for a number that is not an answer."""
        if token[0].isdigit():
            number = token.rstrip("0").rstrip(".") if re.fullmatch(r"\d+\.0+", token) else token
            return number if number in self._answers else UNREADABLE
        if token in _LARGER:
            return UNREADABLE
        return self._words.get(token)

    def _known(self) -> Iterable[tuple[str, str]]:
        for answer in self._answers:
            yield answer, answer
            for word in CLEVR_WORDS.get(answer, ()):
                yield word, answer
                yield f"{word}s", answer
            yield f"{answer}s", answer
        yield from _SPELLINGS.items()
        yield from ((word, "yes") for word in _YES)
        yield from ((word, "no") for word in (*_NO, *_NOTHING))
        yield from ((word, str(number)) for number, word in enumerate(_NUMBERS))


def _plain(text: str) -> str:
    """Lower case without markup and quotes; full-width digits and the like as plain ones, apostrophes too."""
    text = unicodedata.normalize("NFKC", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower()
    return re.sub(r'["*_`]', " ", text)


def _single(found: list[str]) -> str | None:
    return found[0] if len(found) == 1 else None
