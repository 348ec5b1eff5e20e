"""The answer that a reply marks, read strictly, so that nothing else that a reply may contain earns a reward.

docs/training_vlms.md has the rules.
"""

import re
from collections.abc import Iterator

from clevrhope.replies import lexicon
from clevrhope.replies.statements import CLOSED, OPENED, plain
from clevrhope.replies.words import Question, Words, kind_of_answer

_MOST_WORDS = 3
_MARK = re.compile(
    r"<answer>(?P<tagged>.*?)(?:</answer>|\Z)"
    r"|\\boxed\s*\{(?P<boxed>(?:[^{}]|\{[^{}]*\})*)(?:\}|\Z)"
    r"|\banswer[*_ ]*:\s*(?P<line>[^\n]*)",
    re.DOTALL,
)
_MARKUP = re.compile(r"</?answer>|\\(?:boxed|text\w*|mathrm|mathbf)\b|\banswer[*_ ]*:|[\\*_$`\"{}]|\s'|'\s")
_PLAIN = re.compile(r"[\w\s.,!()'-]*")
"""Text without signs, such as "/" and "=", that join or compare answers."""
_FILLERS = frozenset(("a", "an", "the", "is", "it", "it's", "there", "of", *lexicon.NOUNS))


def read_marked(reply: str, question: Question, words: Words) -> str | None:
    """The only answer that a reply marks, outside its thoughts; None if it does not mark exactly one.

    A mark is `<answer>`, a LaTeX box, or "Answer:" up to the end of its line. It has at most three words, all
    spelt right: one answer of the kind that is asked for, articles, and words for any object. Marks that
    agree count as one.
    """
    marked = {_answer(text, question, words) for text in _marks(_without_thoughts(plain(reply)))}
    return marked.pop() if len(marked) == 1 else None


def _without_thoughts(text: str) -> str:
    """A text without blocks of reasoning, one that never ends and one that began before the text included."""
    rest = []
    while opened := OPENED.search(text):
        before, text = text[: opened.start()], text[opened.end() :]
        rest.append(_after_closing(before))
        closed = CLOSED.search(text)
        text = text[closed.end() :] if closed else ""
    return "\n".join([*rest, _after_closing(text)])


def _after_closing(text: str) -> str:
    return CLOSED.split(text)[-1]


def _marks(text: str) -> Iterator[str]:
    """The texts that a reply marks as its answer, without markup."""
    for mark in _MARK.finditer(text):
        yield _MARKUP.sub(" ", mark[mark.lastgroup or 0])


def _answer(text: str, question: Question, words: Words) -> str | None:
    """The answer in a marked text; None if it is not exactly one of the kind that is asked for."""
    tokens = [token for token in words.tokens(text, exact=True) if token.strip(",:()-")]
    if len(tokens) > _MOST_WORDS or not _PLAIN.fullmatch(text):
        return None
    answers = {words.single(token) for token in tokens if token not in _FILLERS}
    answer = answers.pop() if len(answers) == 1 else None
    return answer if answer and question.kind in (None, kind_of_answer(answer, words)) else None
