"""Reads the answer out of a model's reply in free words, or leaves the reply unread.

The rules, each a choice of this project (docs/predictions.md describes them for users):

1. A reply is its statements: without thoughts between tags, markup, the repeated question, questions of
   its own, reasons and what breaks off, without what stands before "wait" or "actually", and without what
   follows the start of another turn.
2. A reply that is a single word for an answer gives it, of whatever kind.
3. A statement gives the values that it has for what the question is about. Values of another object, what
   "not" denies and numbers of something else are not such values.
4. A statement that is marked as the answer decides. Where none is, the last conclusion ("so ...") and a first
   or last statement of a few words decide; where there are none, all statements do.
5. What decides has to give exactly one answer. A refusal that no conclusion follows leaves the reply unread.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from clevrhope.metrics.replies.numbers import given_numbers
from clevrhope.metrics.replies.questions import COUNT, RELATION, YES_NO, Question, read_question
from clevrhope.metrics.replies.statements import Statement, plain, read_statements
from clevrhope.metrics.replies.values import PART, Given, given_anything, given_relations, given_values
from clevrhope.metrics.replies.words import NOTHING, OTHER, TOKEN, Words
from clevrhope.metrics.replies.yes_no import given_yes_no

_SHORT = 3
"""Words of a statement that can be an answer by itself."""
_GIVEN = {YES_NO: given_yes_no, COUNT: given_numbers, RELATION: given_relations}
"""Kind of question -> what reads a statement for it; the others are attribute types."""


class ReplyReader:
    """Reads replies to questions of one vocabulary."""

    def __init__(self, answers: Iterable[str], attributes: Mapping[str, Iterable[str]]) -> None:
        """`answers` are all that are allowed, `attributes` the types' values among them."""
        self._answers = set(answers)
        self._words = Words(self._answers, attributes)

    def read(self, question: str, reply: str, *, asked: Collection[str] = ()) -> str | None:
        """The answer that a reply to a question gives; None where it gives none, or several.

        `asked` are the answers that the question asks for, where that is known.
        """
        read = read_question(plain(question), self._words, asked=asked)
        statements = read_statements(question, reply, no_withdraws=read.kind != YES_NO)
        answer = self._single_word(statements)
        if answer is None:
            given = [self._given(each, read) for each in statements]
            answer = _decided(statements, given, read.kind)
        return answer if answer in (asked or self._answers) else None

    def kind(self, question: str) -> str | None:
        """What a question asks for: "yes/no", "count" or an attribute type; None where it does not say."""
        return read_question(plain(question), self._words).kind

    def _given(self, statement: Statement, question: Question) -> Given:
        """The answers of the question's kind that a statement gives."""
        tokens = self._words.tokens(statement.text)
        if question.kind is None:
            return given_anything(tokens, self._words)
        given = _GIVEN.get(question.kind, given_values)
        return given(tokens, question, self._words)

    def _single_word(self, statements: Sequence[Statement]) -> str | None:
        """The answer that a reply of one word is; "none" and "right" depend on the question."""
        if len(statements) != 1 or statements[0].is_answer:
            return None
        tokens = self._words.tokens(statements[0].text)
        if len(tokens) != 1 or tokens[0] in (*NOTHING, *self._words.relations):
            return None
        return self._words.single(tokens[0])


def _decided(statements: Sequence[Statement], given: Sequence[Given], kind: str | None) -> str | None:
    """The answer of the statements that decide."""
    marked = [k for k, each in enumerate(statements) if each.is_answer and (given[k] or each.is_refusal)]
    if marked:
        final = [k for k in marked if statements[k].is_final] or marked
        return None if any(statements[k].is_refusal for k in final) else _only([given[k] for k in final])
    conclusions = [k for k, each in enumerate(statements) if each.is_conclusion and given[k]]
    refused = [k for k, each in enumerate(statements) if each.is_refusal]
    if refused and refused[-1] >= max(conclusions, default=0):
        return None
    ends = {
        k
        for k in (0, len(statements) - 1)
        if statements and OTHER not in given[k] and _is_short(statements[k], kind)
    }
    deciding = {k for k in {*conclusions[-1:], *ends} if given[k]}
    if not deciding:
        return _only(given)
    hedges = {k for k, each in enumerate(statements) if each.is_hedge and k > min(deciding)}
    return _only([given[k] for k in deciding | hedges])


def _is_short(statement: Statement, kind: str | None) -> bool:
    """Whether it is an answer by itself; "cubes: 2" is rather one of a list."""
    n_words = sum(token[0].isalnum() for token in TOKEN.findall(statement.text))
    return ":" not in statement.text and kind != YES_NO and n_words <= (1 if kind == COUNT else _SHORT)


def _only(given: Sequence[Given]) -> str | None:
    """The one answer among those that fit the question's object best; None where there is not exactly one."""
    closest = max((fit for each in given for fit in each.values()), default=0)
    answers = {answer for each in given for answer, fit in each.items() if fit == closest}
    if closest == PART and sum(map(bool, given)) > 1:
        return None  # parts of a sum that is not said
    return answers.pop() if len(answers) == 1 and OTHER not in answers else None
