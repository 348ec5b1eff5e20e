"""Extracts the answers from models' free-text replies, or leaves a reply unread.

docs/vlms.md has the rules. The reply is split into statements, each of which may give answers to the
question. Statements that are marked as the answer, conclude or are short take precedence, and those that
decide must agree on one answer.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from clevrhope.replies import lexicon
from clevrhope.replies.colors import Color
from clevrhope.replies.counts import given_numbers, joined_kinds
from clevrhope.replies.denials import without_doubt
from clevrhope.replies.given import PART, Given, given_values, given_words, names_two, without_others
from clevrhope.replies.marked import read_marked
from clevrhope.replies.restrictions import restricted
from clevrhope.replies.rewordings import reworded
from clevrhope.replies.statements import ANSWER, CONCLUSION, Statement, plain, read_statements
from clevrhope.replies.words import (
    CACHED,
    COUNT,
    OTHER,
    RELATION,
    YES_NO,
    Question,
    Words,
    kind_of_answer,
    read_question,
)
from clevrhope.replies.yes_no import contradicts, given_yes_no

_SHORT = 3
"""Maximum number of words in a statement that counts as short."""
_GIVEN = {YES_NO: given_yes_no, COUNT: given_numbers, RELATION: given_words, None: given_words}
"""Kind of question -> the function that reads a statement for it; all other kinds are attributes."""


class ReplyReader:
    """Reads replies to questions in one vocabulary."""

    def __init__(
        self,
        answers: Iterable[str],
        attributes: Mapping[str, Iterable[str]],
        *,
        colors: Mapping[str, Color] | None = None,
    ) -> None:
        """A reader of replies to questions about one world.

        Args:
            answers: all allowed answers.
            attributes: the values of each attribute among them.
            colors: the world's colors by name, from 0 to 255; a name that is not there means what it usually
                means, if that is known. They decide which words are read as which color.
        """
        self._answers = set(answers)
        self._words = Words(self._answers, attributes, colors or {})
        self._parsed = lru_cache(CACHED)(self._parse)

    def read(self, question: str, reply: str, *, asked: Collection[str] = ()) -> str | None:
        """The answer that a reply to a question gives; None if it gives none or several.

        `asked` are the answers that the question asks for, if known.
        """
        read = self._question(question, asked)
        statements = read_statements(question, reply, no_withdraws=read.kind != YES_NO)
        meanings = lexicon.SIGNS | (lexicon.ALONE if read.kind == YES_NO else {})
        answer = meanings.get(plain(reply).strip(" .!*\n")) or self._single_word(statements, read)
        is_marked = any(each.mark for each in statements)
        if not is_marked and any(map(self._is_list_of_answers, statements)):
            return None
        if answer is None:
            given = [self._given(each, read) for each in statements]
            tokens = self._words.tokens(" , ".join(each.text for each in statements))
            if not is_marked and names_two(tokens, read, self._words):
                return None
            if read.kind == YES_NO and self._is_contradicted(statements, given, read):
                return None
            answer = _decided(statements, given, read.kind)
            if answer is None and not any(given) and not any(each.is_refusal for each in statements):
                answer = self._compared(statements, read) or self._listed(statements, read)
            if read.kind == COUNT and not any(each.mark or each.is_refusal for each in statements):
                if of_kinds := joined_kinds([*map(self._tokens, statements)], read, self._words):
                    answer = _only([given_numbers(of_kinds, read, self._words)])
                answer = restricted(answer, tokens, read, self._words)
        return answer if answer in (asked or self._answers) else None

    def read_marked(self, question: str, reply: str, *, asked: Collection[str] = ()) -> str | None:
        """The answer that a reply marks, read strictly; None if it does not mark exactly one.

        Source: the rules in docs/training_vlms.md.
        """
        answer = read_marked(reply, self._question(question, asked), self._words)
        return answer if answer in (asked or self._answers) else None

    def asks_for_yes_or_no(self, question: str, *, asked: Collection[str] = ()) -> bool:
        """Whether a question asks for yes or no; `asked` as for `read`."""
        return self._question(question, asked).kind == YES_NO

    def _question(self, question: str, asked: Collection[str]) -> Question:
        return self._parsed(question, tuple(asked))

    def _parse(self, question: str, asked: tuple[str, ...]) -> Question:
        return read_question(reworded(plain(question)), self._words, asked=asked)

    def _is_list_of_answers(self, statement: Statement) -> bool:
        """Whether a statement is a list of answers that exclude each other, such as "yes no red blue"."""
        answers = {*map(self._words.single, self._tokens(statement))}
        kinds = {kind_of_answer(answer, self._words) for answer in answers if answer}
        return None not in answers and len(answers) - len(kinds) > 1

    def _tokens(self, statement: Statement) -> list[str]:
        return self._words.tokens(statement.text)

    def _given(self, statement: Statement, question: Question) -> Given:
        """The answers that a statement gives, of the kind the question asks for."""
        tokens: Sequence[str] = self._words.tokens(statement.text)
        if question.kind != YES_NO:
            tokens = without_others(without_doubt(tokens), question, self._words)
        given = _GIVEN.get(question.kind, given_values)
        return given(tokens, question, self._words)

    def _is_contradicted(
        self, statements: Sequence[Statement], given: Sequence[Given], question: Question
    ) -> bool:
        """Whether a reply begins with a plain yes or no, and its next statement says the opposite."""
        if len(statements) < 2 or len(statements[0].text.split()) != 1 or len(given[0]) != 1:
            return False
        tokens = self._words.tokens(statements[1].text)
        return not statements[1].mark and contradicts(next(iter(given[0])), tokens, question, self._words)

    def _compared(self, statements: Sequence[Statement], question: Question) -> str | None:
        """Yes or no if only all statements together compare what is asked, as in "3 cubes. 2 balls."."""
        if question.kind != YES_NO or question.asks_for_existence or question.comparison is None:
            return None
        text = " , ".join(each.text for each in statements)
        return _only([given_yes_no(self._words.tokens(text), question, self._words)])

    def _listed(self, statements: Sequence[Statement], question: Question) -> str | None:
        """The number in "4 objects in total: ..." if all that is listed after it is asked about."""
        tokens = [self._words.tokens(each.text) for each in statements if each.text]
        named = [next(self._words.phrases(each), None) for each in tokens]
        kinds = [question.target.values, *(each.values for each in question.landmarks)]
        kinds = kinds if "or" in question.tokens else kinds[:1]
        if question.kind != COUNT or len(named) < 2 or not named[0] or named[0].values:
            return None
        is_asked = all(each and any(kind <= each.values for kind in kinds) for each in named[1:])
        numbers = [*filter(None, map(self._words.count, tokens[0]))]
        return numbers[0] if is_asked and len(numbers) == 1 else None

    def _single_word(self, statements: Sequence[Statement], question: Question) -> str | None:
        """The answer in a one-word reply; the meaning of "none" and "right" depends on the question."""
        if len(statements) != 1:
            return None
        tokens = self._words.tokens(statements[0].text)
        if len(tokens) != 1 or statements[0].mark == ANSWER:
            return None
        value, number = self._words.value(tokens[0]), self._words.count(tokens[0])
        if question.asks_for_existence and number is not None and number.strip("0").isdecimal():
            return "yes"
        is_of_other_kind = value is not None and question.kind not in (None, value[0])
        if tokens[0] in ("zero", "0", *lexicon.NOTHING, *self._words.relations) or (
            is_of_other_kind and tokens[0] not in self._answers
        ):
            return None
        return self._words.single(tokens[0])


def _decided(statements: Sequence[Statement], given: Sequence[Given], kind: str | None) -> str | None:
    """The answer given by the statements that take precedence."""
    marked = [k for k, each in enumerate(statements) if each.mark == ANSWER and (given[k] or each.is_refusal)]
    conclusions = [k for k, each in enumerate(statements) if each.mark == CONCLUSION and given[k]]
    refused = [k for k, each in enumerate(statements) if each.is_refusal]
    if refused and refused[-1] >= max(marked or conclusions, default=0):
        return None
    longest = 0 if kind == YES_NO else 1 if kind == COUNT else _SHORT
    of_one = [not each.text.startswith(("all ", "every ", "most ")) for each in statements]
    short = [len(each.text.split()) <= longest for each in statements]
    ends = [k for k in {0, len(given) - 1} if given and short[k] and of_one[k]]
    deciding = [*conclusions[-1:], *(k for k in ends if given[k] and OTHER not in given[k])]
    if kind in lexicon.KINDS and not deciding:
        deciding = _closing(statements, given)
    parts = [each for each in given if each and {*each.values()} == {PART}]
    if kind == COUNT and len(parts) > 1 and len(parts) == sum(map(bool, given)) and not (marked or deciding):
        return None  # "two red cubes. Two blue cubes."
    return _only([given[k] for k in marked or deciding] or given)


def _closing(statements: Sequence[Statement], given: Sequence[Given]) -> list[int]:
    """The last statement that gives an answer, if it is a sentence after others that only list objects."""
    giving = [k for k, each in enumerate(given) if each]
    are_sentences = [not {*statements[k].text.split()}.isdisjoint(lexicon.VERBS) for k in giving]
    is_last = are_sentences[-1:] == [True] and not any(are_sentences[:-1])
    return giving[-1:] if is_last and len(giving) > 2 else []


def _only(given: Sequence[Given]) -> str | None:
    """The only answer among those that fit the question's object best; None if there is not exactly one."""
    closest = max((fit for each in given for fit in each.values()), default=0)
    answers = {answer for each in given for answer, fit in each.items() if fit == closest}
    return answers.pop() if len(answers) == 1 and OTHER not in answers else None
