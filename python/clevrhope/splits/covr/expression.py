"""The language of `--covr-split`, which says which questions are held out: `compscope & has-quant-all`.

An expression consists of conditions, `!` (not), `&` (and), `|` (or) and parentheses; `!` binds most tightly
and `|` least. A condition is

- the name of a property, a row of `aliases` or `tpl-` and a template;
- `uses:` and a fragment of programs, as in `fragments`;
- `answer:` and an answer or a kind of answers, or `template:` and a template, both with `*` and `{a,b}`;
- `program-1` to `program-3` for drawn programs, and `program` for the draw that is made with the questions;
- `lexical-1` to `lexical-3` for drawn pairs of terms, and `lexical:red+cube` for a given pair.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from operator import and_, or_

import numpy as np

from clevrhope.errors import ConfigError, shown
from clevrhope.runtime.settings import join_or, suggestion
from clevrhope.splits.covr.aliases import aliases
from clevrhope.splits.covr.description import Description, TermPair, Words
from clevrhope.splits.covr.fragments import Flags, is_pattern, matches, parse_fragment, spellings, step_names
from clevrhope.splits.covr.lexical import LexicalDraw
from clevrhope.splits.covr.programs import PROGRAM_DRAWS, anonymised_programs

LEXICAL_DRAWS = (1, 2, 3)
"""Numbers of the lexical splits; the paper reports the mean of three draws."""

MOST_NESTED = 50
"""The deepest nesting of parentheses and `!`: far more than anybody needs."""

_INNER = r"(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*"
_TOKEN = re.compile(
    rf"\s*(?P<token>[&|!()]|uses:[\w*\[\]{{}},-]*(?:\({_INNER}\)?)?|(?:answer|template):[^\s&|!()]*|[\w:+-]+|\S)"
)
_NAME = re.compile(r"[\w:+-].*")
_DRAW = re.compile(r"(lexical|program)-(\d+)")

_Holds = Callable[[Description], Flags]


@dataclass(frozen=True)
class Condition:
    """A condition that can be checked on each question by itself.

    Attributes:
        text: as written.
        holds: returns the questions, as (N,) flags.
    """

    text: str
    holds: _Holds = field(compare=False, repr=False)


@dataclass(frozen=True)
class Draw:
    """Questions that name both terms of one of the pairs of a draw."""

    number: int


@dataclass(frozen=True)
class NamedPair:
    """Questions that name both terms of a pair."""

    pair: TermPair


@dataclass(frozen=True)
class Not:
    """Questions that do not match another expression."""

    inner: "Expression"


@dataclass(frozen=True)
class Both:
    """Questions that match all parts."""

    parts: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Either:
    """Questions that match at least one part."""

    parts: "tuple[Expression, ...]"


Leaf = Condition | Draw | NamedPair
Expression = Leaf | Not | Both | Either


def parse_expression(text: str, words: Words) -> Expression:
    """Parses an expression whose conditions are about these words.

    Raises:
        ConfigError: the text is not an expression, or names are unknown; says all that is wrong, where it
            is, and suggests similar names.
    """
    return _Parser(text, words).whole()


def leaves(expression: Expression) -> Iterator[Leaf]:
    """The conditions in an expression, from left to right."""
    match expression:
        case Not(inner):
            yield from leaves(inner)
        case Both(parts) | Either(parts):
            for part in parts:
                yield from leaves(part)
        case leaf:
            yield leaf


def holds(expression: Expression, questions: Description, draws: Mapping[int, LexicalDraw]) -> Flags:
    """(N,) whether an expression, with these draws of pairs, holds for each question."""
    match expression:
        case Condition(_, condition):
            return condition(questions)
        case NamedPair(pair):
            return questions.names_pair(pair)
        case Draw(number):
            return reduce(or_, map(questions.names_pair, draws[number].pairs))
        case Not(inner):
            return ~holds(inner, questions, draws)
        case Both(parts):
            return reduce(and_, (holds(part, questions, draws) for part in parts))
        case Either(parts):
            return reduce(or_, (holds(part, questions, draws) for part in parts))


class _NoExpressionError(Exception):
    """The text is not an expression from the parser's place on."""


class _Parser:
    """Reads tokens from left to right, and notes all that is wrong.

    Of a named property, only one of the alternatives in braces need exist, as datasets differ in their words.
    """

    def __init__(self, text: str, words: Words, *, of_property: bool = False) -> None:
        self.text = text
        self.words = words
        self.spellings = (lambda pattern: [pattern]) if of_property else spellings
        self.problems: list[str] = []
        templates = {f"tpl-{name.replace('_', '-')}": f"template:{name}" for name in words.templates}
        self.properties = {**{name: row.expression for name, row in aliases().items()}, **templates}
        self.tokens = [(match.start("token"), match["token"]) for match in _TOKEN.finditer(text)]
        self.at = 0

    def whole(self) -> Expression:
        expression: Expression | None = None
        try:
            expression = self.either(0)
            if self.peek() == ")":
                raise self.error('there is no "(" for this ")"')
            if self.peek():
                raise self.error(f'expected "&" or "|" before {shown(self.peek())}')
        except _NoExpressionError:  # the names in the rest can still be checked
            self.at += 1
            while self.peek():
                if _NAME.fullmatch(self.peek()):
                    self.condition(self.peek())
                self.at += 1
        if expression is None or self.problems:
            raise ConfigError(f"--covr-split {shown(self.text)}, {'; '.join(self.problems)}")
        return expression

    def either(self, depth: int) -> Expression:
        parts = [self.both(depth)]
        while self.take("|"):
            parts.append(self.both(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def both(self, depth: int) -> Expression:
        parts = [self.operand(depth)]
        while self.take("&"):
            parts.append(self.operand(depth))
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def operand(self, depth: int) -> Expression:
        if depth > MOST_NESTED:
            raise self.error(f"more than {MOST_NESTED} parentheses and negations inside each other")
        if self.take("!"):
            return Not(self.operand(depth + 1))
        if self.take("("):
            inner = self.either(depth + 1)
            if not self.take(")"):
                raise self.error('a "(" has no ")"' if not self.peek() else 'expected "&", "|" or ")"')
            return inner
        if not _NAME.fullmatch(self.peek()):
            got = shown(self.peek()) if self.peek() else "the end"
            raise self.error(f"expected a property, got {got}")
        expression = self.condition(self.peek())
        self.at += 1
        return expression

    def condition(self, text: str) -> Leaf:
        """What a condition stands for; notes what is wrong with it."""
        sort, is_sort, pattern = text.partition(":")
        if is_sort and sort in ("uses", "answer", "template"):
            return Condition(text, getattr(self, sort)(pattern))
        if sort == "lexical" and is_sort:
            return NamedPair(self.pair(pattern))
        if draw := _DRAW.fullmatch(text):
            return self.draw(text, *draw.groups())
        return Condition(text, self.property(text))

    def property(self, name: str) -> _Holds:
        if name == "program":
            return lambda questions: questions.in_program_split
        if (expression := self.properties.get(name)) is None:
            draws = [f"program-{n}" for n in PROGRAM_DRAWS] + [f"lexical-{n}" for n in LEXICAL_DRAWS]
            self.note_unknown("property", name, [*self.properties, "program", *draws])
            return _nothing

        def has_property(questions: Description) -> Flags:
            return holds(_Parser(expression, questions.words, of_property=True).whole(), questions, {})

        return has_property

    def uses(self, text: str) -> _Holds:
        names = step_names(self.words.functions)
        try:
            fragment = parse_fragment(text)
        except ValueError:
            self.error(f"expected a fragment of programs, as in uses:all(filter_color), got {shown(text)}")
            return _nothing
        known = list(dict.fromkeys(name.partition("[")[0] for name in names if name[:1] != "<"))
        for spelling in chain.from_iterable(map(self.spellings, fragment.names())):
            if not matches(spelling, names).any():
                self.note_unknown("function", spelling, names if "[" in spelling else known, known)
        return lambda questions: fragment.is_in(questions.steps)

    def answer(self, pattern: str) -> _Holds:
        return self.one_of("answer", pattern, answer_kinds(self.words), self.words.answers)

    def template(self, pattern: str) -> _Holds:
        return self.one_of("template", pattern, self.words.templates)

    def one_of(self, sort: str, pattern: str, *names: Sequence[str]) -> _Holds:
        """Questions whose answer or template has a name that matches the pattern, in one of its lists."""
        for spelling in self.spellings(pattern):
            if not (is_pattern(spelling) and any(matches(spelling, each).any() for each in names)):
                known = dict.fromkeys(name for of in names for name in of if name and name[:1] != "<")
                self.note_unknown(sort, spelling, list(known))
                return _nothing
        is_one = np.any([matches(pattern, each) for each in names], axis=0)
        return lambda questions: is_one[getattr(questions, f"{sort}s")]

    def draw(self, text: str, sort: str, digits: str) -> Leaf:
        numbers = LEXICAL_DRAWS if sort == "lexical" else PROGRAM_DRAWS
        if digits not in map(str, numbers):
            self.error(f"no draw {shown(text)}; there are {join_or([f'{sort}-{each}' for each in numbers])}")
        if sort == "lexical":
            return Draw(int(digits))
        return Condition(text, lambda questions: anonymised_programs(questions.steps).drawn(int(digits)))

    def pair(self, text: str) -> TermPair:
        terms = text.split("+")
        if len(terms) != 2:
            self.error(f"expected two terms, as in lexical:red+cube, got {shown(text)}")
            return "", ""
        for term in terms:
            if term not in self.words.terms:
                self.note_unknown("term", term, self.words.terms)
        first, second = sorted(terms)
        if first == second:
            self.error(f"a pair of {shown(first)} and itself; expected two terms")
        return first, second

    def peek(self) -> str:
        """The next token; empty at the end."""
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, token: str) -> bool:
        """Whether the next token is this one; if so, consumes it."""
        taken = self.peek() == token
        self.at += taken
        return taken

    def note_unknown(
        self, what: str, name: str, known: Sequence[str], listed: Sequence[str] | None = None
    ) -> None:
        """Notes an unknown name, with a similar one of `known` or else all that are listed."""
        hint = suggestion(name, known) or f"; there are: {', '.join(listed or known)}"
        self.error(f"unknown {what} {shown(name)}{hint}")

    def error(self, problem: str) -> _NoExpressionError:
        """Notes a problem at the next token; the error is for one from which on nothing can be read."""
        place = self.tokens[self.at][0] if self.at < len(self.tokens) else len(self.text)
        self.problems.append(f"character {place + 1}: {problem}")
        return _NoExpressionError(problem)


def answer_kinds(words: Words) -> list[str]:
    """The kind of each answer by number, "" for special tokens; nouns are shapes, as in COVR."""
    kinds = {"yes": "yes-no", "no": "yes-no"}
    for name in words.functions:
        function, _, value = name.removesuffix("]").partition("[")
        if function.startswith("filter_"):
            kinds[value] = "noun" if function == "filter_shape" else "attribute"
        elif function == "with_relation":
            kinds[value] = "relation"
    return [kinds.get(each) or ("number" if each.isdecimal() else "") for each in words.answers]


def _nothing(questions: Description) -> Flags:
    """No question: for conditions that are wrong."""
    return np.zeros(len(questions), bool)
